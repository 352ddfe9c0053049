"""Which texts of a data set to learn from, and which to hold out."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput

Indices = NDArray[np.int64]


def by_blocks(labels: ArrayLike, part: float = 0.1, blocks: int = 10) -> tuple[Indices, Indices]:
    """Indices to learn from, and indices to hold out: for each class `blocks` runs of neighbors, evenly spaced.

    A class of few texts has fewer runs, so that the same part of every class is held out.

    Neighbors in a list of reviews are often about the same film. A random held-out part then shares films with the
    rest, and models that rely on names look 1 to 3 points better than they are. Blocks keep neighbors together.

    Example:
        >>> learn, held_out = by_blocks([0] * 10 + [1] * 10, part=0.2, blocks=1)
        >>> held_out.tolist()
        [0, 1, 10, 11]
    """
    if not 0 < part < 1 or blocks < 1:
        raise BadInput(
            "part must be between 0 and 1, and blocks must be at least 1", found=f"part={part}, blocks={blocks}"
        )
    given = np.asarray(labels)
    held_out = np.zeros(len(given), bool)
    for label in np.unique(given):
        members = np.flatnonzero(given == label)
        runs = max(1, min(blocks, round(len(members) * part)))
        edges = np.linspace(0, len(members), runs + 1).astype(int)
        sizes = np.diff(np.round(edges * part).astype(int))  # together the part of all, however short the runs are
        for begin, size in zip(edges, sizes, strict=False):
            held_out[members[begin : begin + size]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def at_random(count: int, part: float = 0.3, seed: int = 0) -> tuple[Indices, Indices]:
    """Indices to learn from, and a random part to hold out.

    30 % is the protocol of [AFZ24, section 6] (on all 50,000 reviews together).

    Example:
        >>> learn, held_out = at_random(10)
        >>> len(learn), len(held_out)
        (7, 3)
    """
    order: Indices = np.random.default_rng(seed).permutation(count)
    cut = count - round(count * part)
    return np.sort(order[:cut]), np.sort(order[cut:])
