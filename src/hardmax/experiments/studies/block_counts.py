"""Block counts: how large are the networks of [AFZ25] and ours, in blocks, width and parameters together?

The interpolation theorem needs 2M + 2N + 1 blocks with hardmax and 2M + 3N with softmax, of width 4, for N sequences
with M target tokens. `narrow` has the same width; `bitwise` and `two` trade blocks for width.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from hardmax.construction.build import construct
from hardmax.experiments import Context, Outcome, study

STYLES = (("narrow", "mean"), ("narrow", "max"), ("bitwise", "mean"), ("bitwise", "max"), ("two", "mean"))
TASKS = ("classes", "targets")


def data(task: str, N: int, d: int, seed: int) -> tuple[list[Any], list[Any], int]:
    """N normal sequences of 2 to 12 tokens in R^d with random classes 0, 1, or 1 to 2 target tokens each; and M."""
    rng = np.random.default_rng((seed, N, d))
    sequences = [rng.standard_normal((int(rng.integers(2, 13)), d)) for _ in range(N)]
    if task == "classes":
        return sequences, [int(rng.integers(0, 2)) for _ in range(N)], N
    targets = [rng.standard_normal((int(rng.integers(1, 3)), d)) for _ in range(N)]
    return sequences, targets, sum(map(len, targets))


@study(
    "block-counts",
    "How many blocks, of what width, with how many parameters: the paper's construction and ours?",
    minutes=2,
    quick={"sizes": ((10, 2),)},
)
def block_counts(
    context: Context, *, sizes: Sequence[tuple[int, int]] = ((10, 2), (10, 16), (50, 2), (50, 16), (200, 2))
) -> Outcome:
    """Build every style for both tasks and all sizes."""
    rows: list[tuple[Any, ...]] = []
    for task, (N, d) in product(TASKS, sizes):
        context.tell(len(rows), None, f"{task}, N = {N}, d = {d}")
        sequences, targets, M = data(task, N, d, context.seed)
        about = (task, N, M, d)
        rows.append((*about, "[AFZ25], hardmax", 2 * M + 2 * N + 1, 4, "", ""))
        rows.append((*about, "[AFZ25], softmax", 2 * M + 3 * N, 4, "", ""))
        for style, pool in STYLES:
            net = construct(sequences, targets, style=style, pool=pool)
            exact = "yes" if net.verify(sequences, targets, levels=("rational",)).exact else "no"
            rows.append((*about, f"{style}, {pool}", net.blocks, net.width, net.parameters, exact))
    columns = ("task", "N", "M", "d", "network", "blocks", "width", "parameters", "exact")
    records = context.table("block-counts", "Blocks, width and parameters", rows, columns).records()
    narrow = [row for row in records if row["network"] == "narrow, max"]
    share = [row["blocks"] / (2 * row["M"] + 2 * row["N"] + 1) for row in narrow]
    wide = [row for row in records if row["network"] == "bitwise, mean"]
    return Outcome(
        f"At width 4 and without ties (narrow, max) our networks have {min(share):.0%} to {max(share):.0%} of the "
        f"paper's 2M + 2N + 1 blocks. With {wide[0]['blocks']} blocks the width grows to "
        f"{max(row['width'] for row in wide)}. All {sum(row['exact'] == 'yes' for row in records)} networks "
        "are exact in rational arithmetic.",
        numbers={"share": share},
    )
