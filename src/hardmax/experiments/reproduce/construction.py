"""The stages of the exact construction for three sequences with outputs of 1, 1 and 2 tokens [AFZ25, Fig. 5].

Departs: the stages are those of this package's construction (style "narrow", pool "max"), which needs 9 blocks where
the theorem allows 2 M + 2 N + 1 = 15.
"""

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.build import construct
from hardmax.construction.network import Network
from hardmax.experiments import Context, Outcome, reproduction

LEVELS = ("certificate", "float64", "dense", "rational")
# Among the first forty, the seed whose keys are closest together: the panels show all sequences on one scale.
SEED = 31


def example() -> tuple[list[Floats], list[Floats]]:
    """Three overlapping sequences of eight tokens in the plane, and their 1 + 1 + 2 targets."""
    base = np.random.default_rng(0).uniform(-1, 1, (24, 2))
    shifts = np.array([[-0.25, 0.1], [0.25, 0.2], [0.0, -0.3]])
    sequences = [base[8 * j : 8 * j + 8] + shifts[j] for j in range(3)]
    targets = [[[-1.6, 1.2]], [[1.6, 1.3]], [[-0.9, -1.6], [1.5, -1.4]]]
    return sequences, [np.array(target) for target in targets]


def build() -> tuple[Network, list[Floats], list[Floats]]:
    """The network for the example, with its data."""
    sequences, targets = example()
    return construct(sequences, targets, style="narrow", pool="max", seed=SEED), sequences, targets


@reproduction(
    "construction-stages", "The stages of the exact construction", aliases=("stages",), source="[AFZ25] Fig. 5",
    minutes=0.2,
)  # fmt: skip
def construction_stages(context: Context) -> Outcome:
    """Build the network, verify it, draw its stages and a movie of all blocks."""
    context.tell(0, None, "constructing and verifying")
    net, sequences, targets = build()
    report = net.verify(sequences, targets, levels=LEVELS)
    stages = net.stages(sequences)
    text = "Five panels: input, separate, choose leaders, collapse, place."
    context.figure("construction-stages", "stages:plot_stages", stages, text=text)
    context.tell(0, None, "a movie of the blocks")
    text, steps = "The tokens of three sequences, block by block.", net.stages(sequences, every="block")
    context.movie("construction-stages", "stages:stages_movie", steps, text=text, width=440)
    rows = [
        (stage.name, j, i, *token)
        for stage in stages
        for j, cloud in enumerate(stage.clouds)
        for i, token in enumerate(cloud.tolist())
    ]
    context.table("construction-stages", "", rows, ("stage", "sequence", "token", "x_0", "x_1"), show=False)
    by_stage = [(stage.name, stage.blocks) for stage in stages]
    context.table("blocks", "Blocks by stage", by_stage, ("stage", "blocks"), csv=False)
    counts = {"blocks": net.blocks, "bound": net.bound, "parameters": net.parameters}
    return Outcome(
        f"{net.blocks} blocks, {net.parameters} parameters; "
        + ("exact on all sequences" if report.exact else "NOT exact")
        + f" at the levels {', '.join(LEVELS)} (largest float64 error {report.max_error:g}).",
        "Tokens are separated, leaders are chosen, the others collapse onto them, the leaders move to the targets: "
        f"2 M + 2 N + 1 = {net.bound} blocks for N = 3 sequences with M = 4 output tokens in all.",
        "The stages are those of this package's own construction (style narrow), which needs fewer blocks; the "
        "sequences and targets are our own.",
        {**counts, "exact": bool(report.exact), "max_error": float(report.max_error)},
    )
