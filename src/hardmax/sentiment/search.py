"""Whom a word follows, in any dimension, and the arrays that one bag of words needs on its way through the layers.

`follows` decides about one word, ties and copies included, and defines the answer. <z_i, z_j> <= |z_i||z_j|, so with
the words in order of decreasing norm the search for the best j stops as soon as |z_i||z_j| is below the best score
found so far (which starts at <z_i, z_i>).

`compare` takes many words at once through a list of candidates, in loops that the compiler turns into vector
instructions, and returns the best and the second-best score: where the two are clearly apart there is no tie.
"""

from typing import Any, NamedTuple

import numpy as np

from hardmax.jit import bare_njit, njit

BUCKETS = 64
TINY = 1e-3  # words shorter than this part of the longest get its band: a word that is 0 up to rounding counts as 0
BAND = 1e-12  # scores within this part of |z_i| max|z_j| are a tie: more than rounding, far less than words differ by

# Rows of the scratch. A row serves several steps that do not overlap.
SQUARE, TURN, BEST, SECOND, SCORE, LENGTH, REACH, SHARE = range(8)
OPEN, RING, HULL, WHO, SOME, ORDER, CHOICE = range(7)
SPARE = 80  # a row is longer than the longest bag by this


class Workspace(NamedTuple):
    """What the layers find out about a bag of n words, and scratch arrays; made once for many bags.

    Attributes:
        z: (n, d) in, the words.
        leader: (n,) the leader that each word ends at (for a leader: itself).
        since: (n,) for a leader the layer at which it began to lead, else -1.
        settled: (n,) layer from which a word follows its leader forever (layers + 1: not within these layers).
        moving: (n,) the words that have not settled at layer 0, in order.
        history: (layers + 1, n, d) the states of the moving words; of all words if a tie came up.
        target, tied: (layers + 1, n) whom a moving word follows, or -1 for a tie; and the least score that is tied.
        columns: (d, n + SPARE) scratch: the words, one per column.
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
def workspace_for(longest: Any, d: Any, layers: Any) -> Any:
    """A workspace for bags of up to `longest` words."""
    return Workspace(
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


@bare_njit()
def _same(z: Any, i: Any, j: Any, band: Any) -> Any:
    for x in range(z.shape[1]):  # noqa: SIM110 (compiled)
        if abs(z[i, x] - z[j, x]) > band:
            return False
    return True


@bare_njit()
def dot(z: Any, i: Any, j: Any) -> Any:
    """<z_i, z_j>, added up coordinate by coordinate."""
    total = z[i, 0] * z[j, 0]
    for x in range(1, z.shape[1]):
        total += z[i, x] * z[j, x]
    return total


@bare_njit()
def by_norm(z: Any, n: Any, norm: Any, order: Any, reach: Any, counts: Any) -> None:
    """Words in order of falling norm, up to buckets: reach[p] bounds the norms of order[p], order[p + 1], ...

    `counts` is scratch for BUCKETS + 1 integers.
    """
    largest = 0.0
    for i in range(n):
        norm[i] = np.sqrt(dot(z, i, i))
        largest = max(largest, norm[i])
    scale = (BUCKETS - 0.001) / largest if largest > 0 else 0.0
    counts[: BUCKETS + 1] = 0
    for i in range(n):
        counts[int((largest - norm[i]) * scale) + 1] += 1
    for b in range(BUCKETS):
        counts[b + 1] += counts[b]
    for i in range(n):
        b = int((largest - norm[i]) * scale)
        order[counts[b]] = i
        counts[b] += 1
    bound = 0.0
    for p in range(n - 1, -1, -1):
        bound = max(bound, norm[order[p]])
        reach[p] = bound * (1.0 + 2.0 * BAND)


@bare_njit()
def follows(z: Any, i: Any, n: Any, norm: Any, order: Any, reach: Any) -> Any:
    """The j with the largest <z_i, z_j>, whether a word elsewhere scores the same (a tie), the least tied score."""
    best, arg, tie = dot(z, i, i), i, False
    band = BAND * max(norm[i], TINY * reach[0]) * reach[0]
    for p in range(n):
        if norm[i] * reach[p] < best - band:
            break
        j = order[p]
        score = dot(z, i, j)
        if score > best + band:
            best, arg, tie = score, j, False
        elif score >= best - band and j != arg:
            if not _same(z, j, arg, BAND * reach[0]):
                tie = True
            elif arg != i and j < arg:
                arg = j  # of copies the first
    return arg, tie, best - band


@njit()
def follow_many(z: Any, who: Any, arg: Any, tie: Any, least: Any) -> None:
    """`follows` for every i in `who`, into the three arrays."""
    n = len(z)
    norm, order, reach = np.empty(n), np.empty(n, np.int64), np.empty(n)
    by_norm(z, n, norm, order, reach, np.empty(BUCKETS + 1, np.int64))
    for row in range(len(who)):
        arg[row], tie[row], least[row] = follows(z, who[row], n, norm, order, reach)


@bare_njit()
def compare(
    words: Any, count: Any, some: Any, stage: Any, first: Any, last: Any, score: Any, best: Any, second: Any, arg: Any
) -> None:
    """Best score, second score and best candidate of every word, among those known and some[first:last].

    Args:
        words: (d, count or more) the words, one per column.
        stage: (last or more, d) where the candidates `some` are.
        score: (count,) scratch.
        best, second, arg: (count,) in and out; begin with -inf, -inf and anything.
    """
    d = stage.shape[1]
    for h in range(first, last):
        j = some[h]
        if d == 2:
            for p in range(count):
                score[p] = words[0, p] * stage[h, 0] + words[1, p] * stage[h, 1]
        else:
            for p in range(count):
                score[p] = words[0, p] * stage[h, 0]
            for x in range(1, d):
                for p in range(count):
                    score[p] += words[x, p] * stage[h, x]
        for p in range(count):
            new, old = score[p], best[p]  # read once: a choice between two places in memory is slow
            above = new > old
            low = old if above else new
            second[p] = low if low > second[p] else second[p]
            arg[p] = j if above else arg[p]
            best[p] = new if above else old
