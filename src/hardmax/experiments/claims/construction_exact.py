"""The constructed networks give every target exactly."""

from hardmax.experiments.claims import blocks, data_sets
from hardmax.experiments.claims.case import Case

STATEMENT = (
    "For every set of sequences that can be told apart the constructed transformer maps each onto its target set, "
    "exactly: the stored float64 parameters in rational arithmetic; in style bitwise float64 itself, bit for bit."
)
CITATION = "[AFZ25], the interpolation theorem"
KINDS = data_sets.KINDS
FIELDS = data_sets.FIELDS
TRIALS = 120
generate = data_sets.data_case


def check(case: Case) -> str | None:
    """Every unit and every score of every block in Fractions, for every sequence."""
    net = data_sets.build(case)
    targets = data_sets.wanted(case)
    for j, sequence in enumerate(case["sequences"]):
        if blocks.outputs(net, sequence) != targets[j]:
            return f"sequence {j} does not have exactly its target tokens as outputs"
    if case["style"] == "bitwise":
        given = [[[float(x) for x in z] for z in sequence] for sequence in case["sequences"]]
        for j, out in enumerate(net.forward(given)):
            if {tuple(z) for z in out.tolist()} != {tuple(float(x) for x in z) for z in targets[j]}:
                return f"the float64 output for sequence {j} is not its target bit for bit"
    return None
