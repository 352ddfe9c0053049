"""The arrays that one bag of words needs on its way through the layers, made once for many bags."""

from typing import Any, NamedTuple

import numpy as np

from hardmax.jit import njit

# Rows of the scratch. A row serves several steps that do not overlap.
SQUARE, TURN, BEST, SECOND, SCORE, LENGTH, REACH, SHARE = range(8)
OPEN, RING, HULL, WHO, SOME, ORDER, CHOICE = range(7)
SPARE = 80  # a row is longer than the longest bag by this


class Room(NamedTuple):
    """What a bag of n words leaves behind, and scratch.

    Attributes:
        z: (n, d) in, the words.
        leader: (n,) the leader that each word ends at (for a leader: itself).
        since: (n,) for a leader the layer at which it began to lead, else -1.
        settled: (n,) layer from which a word follows its leader forever (layers + 1: not within these layers).
        moving: (n,) the words that have not settled at layer 0, in order.
        history: (layers + 1, n, d) the states of the moving words; of all words if a tie came up.
        target, tied: (layers + 1, n) whom a moving word follows, or -1 for a tie; and the least score that is tied.
        columns: (d, n + SPARE) scratch: words, a column each.
        stage: (n + SPARE, d) scratch: where the words are that may be followed.
        floats, integers: (rows, n + SPARE) scratch.
    """

    z: Any
    leader: Any
    since: Any
    settled: Any
    moving: Any
    history: Any
    target: Any
    tied: Any
    columns: Any
    stage: Any
    floats: Any
    integers: Any


@njit()
def room_for(longest: Any, d: Any, layers: Any) -> Any:
    """Room for bags of up to `longest` words."""
    return Room(
        np.empty((longest, d)),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty((layers + 1, longest, d)),
        np.empty((layers + 1, longest), np.int64),
        np.empty((layers + 1, longest)),
        np.empty((d, longest + SPARE)),
        np.empty((longest + SPARE, d)),
        np.empty((SHARE + 1, longest + SPARE)),
        np.empty((CHOICE + 1, longest + SPARE), np.int64),
    )
