"""The constructed networks have no more blocks, width and parameters than promised."""

from typing import Any

from hardmax.experiments.claims import blocks, data_sets
from hardmax.experiments.claims.case import Case

STATEMENT = (
    "With N sequences, M = sum m_j target tokens and K <= N-1 rounds (0 for pool mean): style two has K + 2 blocks, "
    "bitwise K + 5 or K + 8, narrow at most K + 1.25 M + 5 of width 4, and none more than 2M + 2N + 1; "
    "attention has rank at most one, and there are at most 6 (d+3) (M+N) + 60 parameters."
)
CITATION = "[AFZ25], the interpolation theorem: 2 sum m^j + 2N + 1 blocks, O(d sum m^j) parameters"
KINDS = data_sets.KINDS
FIELDS = data_sets.FIELDS
TRIALS = 120
generate = data_sets.data_case


def check(case: Case) -> str | None:
    """Counted from the full matrices; M and N from the data. The package must count the same."""
    net = data_sets.build(case)
    N, dim = len(case["sequences"]), len(case["sequences"][0][0])
    M = sum(1 if isinstance(t, int) else len(set(t)) for t in case["targets"])
    bound = 2 * M + 2 * N + 1
    stack = blocks.exact_blocks(net)
    rounds = sum(any(map(any, sa[1])) and any(map(any, sa[3])) for _, sa in stack)
    allowed = {"two": (2, 2), "bitwise": (5, 8), "narrow": (3, 1.25 * M + 5)}[case["style"]]
    if rounds > (N - 1 if case["pool"] == "max" else 0):
        return f"{rounds} rounds of attention for {N} sequences with pool {case['pool']}"
    rest = len(stack) - rounds
    if not allowed[0] <= rest <= allowed[1] or (case["style"] == "bitwise" and rest not in allowed):
        return f"style {case['style']} has {len(stack)} blocks, {rounds} of them rounds, for M = {M} and N = {N}"
    if len(stack) > bound:
        return f"{len(stack)} blocks; the paper needs 2M + 2N + 1 = {bound}"
    width = max(len(ff[2]) for ff, _ in stack)
    if case["style"] == "narrow" and width > 4:
        return f"style narrow has a layer of width {width}"
    if any(_rank(matrix) > 1 for _, sa in stack for matrix in sa[1:]):
        return "an attention matrix has rank above one"
    if net.parameters > 6 * (dim + 3) * (M + N) + 60:
        return f"{net.parameters} parameters for d = {dim}, M = {M}, N = {N}"
    if (net.blocks, net.width, net.bound) != (len(stack), width, bound):
        return f"the network says it has {net.blocks} blocks of width {net.width}; there are {len(stack)} of {width}"
    return None


def _rank(matrix: Any) -> int:
    """The rank of a matrix of Fractions, by elimination."""
    rows, rank = [list(row) for row in matrix], 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] / rows[rank][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank
