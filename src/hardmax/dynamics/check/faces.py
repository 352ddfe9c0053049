"""Rows that are tied with all tokens on a face of the smallest box that holds the cloud, without any pairs.

See `box`: the tokens v with v_k = c_k(q) wherever q_k is not 0 score most. They are a *face*, and score the same to the
last bit, because they differ only where q_k is 0. All others score less by min_k |q_k| step_k at least, where step_k is
the distance of the side of the box to the nearest token beside it.

A face has a number with bits k and d + k, which tell whether x_k is the largest or the least one. Tokens have such a
number as well, and are on a face if they have all of its bits. There are few different numbers, and many tokens.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import Floats, Ints
from hardmax.dynamics.check.means import sums_are_exact, weighted_mean

if TYPE_CHECKING:
    from hardmax.dynamics.check.replay import Replay

DIMENSIONS = 31  # at most: two bits for each
MATCHES = 1 << 22  # of faces and numbers of tokens: compared at once
Bools = NDArray[np.bool_]


@dataclass(eq=False)
class Faces:
    """The faces that some rows follow; it stands in for `FollowSets`.

    Attributes:
        rows, which: the rows, and which of the faces each follows.
        level: at layer 0, whether all tokens that a row follows score the same exactly, as here they do.
        codes, size, first: the number of each face, how many tokens are on it, and the first one.
        sides, outer: the numbers of all tokens, and those with another one than 0.
    """

    rows: Ints
    which: Ints
    level: Bools
    codes: Ints
    size: Ints
    first: Ints
    sides: Ints
    outer: Ints

    def follow(self, rows: Ints, group: Ints) -> Bools:
        """Which of these rows (by their place in `rows`) follow exactly this group of ascending tokens."""
        faces, place = np.unique(self.which[rows], return_inverse=True)
        here = np.bitwise_and.reduce(self.sides[group])
        codes = self.codes[faces]
        return np.asarray(((here & codes == codes) & (self.size[faces] == len(group)))[place])

    def members(self, face: int) -> Ints:
        return np.flatnonzero(self.sides & self.codes[face] == self.codes[face])

    def means(self, x: Floats, weight: Floats, rows: Ints) -> Floats:
        """The mean of the face that each of these rows follows, rounded as the tie rule has it."""
        faces, place = np.unique(self.which[rows], return_inverse=True)
        means = np.empty((len(faces), x.shape[1]))
        if not sums_are_exact(x, weight):
            means[:] = [weighted_mean(x[m], weight[m]) for m in map(self.members, faces)]
            return means[place]
        number, kind = np.unique(self.sides[self.outer], return_inverse=True)
        columns = [weight * column for column in x.T] + [weight]
        sums = np.stack([np.bincount(kind, column[self.outer]) for column in columns], axis=1)
        inner = np.array([column.sum() for column in columns]) - sums.sum(axis=0)
        number, sums = np.append(0, number), np.concatenate((inner[None], sums))
        for some, on in _matches(self.codes[faces], number):
            total = on.astype(np.float64) @ sums
            means[some] = total[:, :-1] / total[:, -1:]
        return means[place]


def faces_of(replay: "Replay", layer: int, x: Floats, looking: Ints, q: Floats, room: Floats) -> Faces | None:
    """The rows of tokens that follow faces of at least two tokens, which score more than all others by over `room`.

    The queries q are the places of these tokens times powers of two, and A is the identity.
    """
    dim = x.shape[1]
    looks = np.flatnonzero((x[looking] == 0).any(axis=1))
    if not len(looks) or dim > DIMENSIONS:
        return None
    code, least = np.zeros(len(looks), np.int64), np.full(len(looks), np.inf)
    sides, moved = np.zeros(len(x), np.int64), np.zeros(len(x), np.int64)
    for k in range(dim):
        column, query = np.ascontiguousarray(x[:, k]), q[looks, k]  # it may be 0 where the place is not
        for bit, sign in ((1 << k, 1.0), (1 << (dim + k), -1.0)):
            height = sign * column
            end = height.max()
            at = height == end
            step = end - height[~at].max(initial=-np.inf)
            asks = sign * column[looking[looks]] > 0
            sides[at] |= bit
            code[asks] |= bit
            least[asks] = np.minimum(least[asks], np.abs(query[asks]) * step)
            if layer > 0:
                moved[at & replay.has_moved(layer, k)] |= bit
    sure = np.flatnonzero(least > 1.001 * room[looks])
    codes, which = np.unique(code[sure], return_inverse=True)
    outer = np.flatnonzero(sides)
    number, first, count = np.unique(sides[outer], return_index=True, return_counts=True)
    first = outer[first]
    if inner := len(x) - len(outer):
        number, first, count = np.append(number, 0), np.append(first, sides.argmin()), np.append(count, inner)
    size, begin = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    for some, on in _matches(codes, number):
        size[some] = on @ count
        begin[some] = np.where(on, first, len(x)).min(axis=1)
    good = size > 1
    behind = np.flatnonzero(moved)  # hardly ever one: followers on the face that may be behind one another
    for side, offset in np.unique(np.stack((sides[behind], moved[behind])), axis=1).T:
        good &= (side & codes != codes) | (offset & codes == 0)
    kept = np.flatnonzero(good[which])
    if not len(kept):
        return None
    return Faces(looks[sure[kept]], which[kept], np.ones(len(kept), bool), codes, size, begin, sides, outer)


def _matches(codes: Ints, number: Ints) -> "list[tuple[slice, Bools]]":
    step = max(1, MATCHES // max(1, len(number)))
    parts = (slice(start, start + step) for start in range(0, len(codes), step))
    return [(part, number & codes[part, None] == codes[part, None]) for part in parts]
