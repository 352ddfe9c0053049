"""Ways to keep part of a data set aside.

Neighbors in a list of reviews are often about the same film. A random part kept aside then shares films with the rest,
and models that lean on names look 1 to 3 points better than they are. Contiguous blocks keep neighbors together.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput

Indices = NDArray[np.int64]


def by_blocks(labels: ArrayLike, part: float = 0.1, blocks: int = 10) -> tuple[Indices, Indices]:
    """Indices to learn from, and indices kept aside: for each class `blocks` runs of neighbors, evenly spaced.

    Example:
        >>> learn, aside = by_blocks([0] * 10 + [1] * 10, part=0.2, blocks=1)
        >>> aside.tolist()
        [0, 1, 10, 11]
    """
    if not 0 < part < 1 or blocks < 1:
        raise BadInput("part must lie between 0 and 1, blocks be 1 or more", found=f"part={part}, blocks={blocks}")
    given = np.asarray(labels)
    aside = np.zeros(len(given), bool)
    for label in np.unique(given):
        members = np.flatnonzero(given == label)
        edges = np.linspace(0, len(members), min(blocks, len(members)) + 1).astype(int)
        for a, b in pairwise(edges):
            aside[members[a : a + round((b - a) * part)]] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def at_random(count: int, part: float = 0.3, seed: int = 0) -> tuple[Indices, Indices]:
    """A random part kept aside; 30 % is the protocol of [AFZ24, section 6] (on the 50,000 reviews together).

    Example:
        >>> learn, aside = at_random(10)
        >>> len(learn), len(aside)
        (7, 3)
    """
    order: NDArray[Any] = np.random.default_rng(seed).permutation(count)
    cut = count - round(count * part)
    return np.sort(order[:cut]), np.sort(order[cut:])
