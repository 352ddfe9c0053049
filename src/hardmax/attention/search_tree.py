"""The search in a tree of boxes, for few dimensions: ties, bands, and clouds with corners.

The points are sorted along a space-filling curve, eight in a leaf; every node knows the box around its points. The box
bounds their scores without any slack: rounding is monotone, so with each coordinate replaced by the larger end of the
box (as the sign of q_k says) the same sequence of float64 operations gives a number >= the float64 score of every
point inside. Branches that cannot matter are cut; the answers are those of the plain search, bit for bit.
"""

from collections.abc import Callable

import numpy as np

from hardmax.attention.row_sets import RowSets, distinct
from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit, over_parts

LEAF = 8
FIRST_ROOM = 1 << 16  # for the indices of a part of the rows
LEVELS = 64  # more than the depth of any tree
EMPTY = 2**62  # index of the first point below a node without points


@njit(inline="always")
def score(q, z):  # type: ignore[no-untyped-def]
    """<q, z> as the sequential sum (q_0 z_0 + q_1 z_1) + ... in float64."""
    s = q[0] * z[0]
    for k in range(1, q.shape[0]):
        s += q[k] * z[k]
    return s


@njit(error_model="numpy")
def _curve(points, low, width, bits):  # type: ignore[no-untyped-def]
    """Position of each point on the Morton curve: the bits of its grid cell, interleaved."""
    n, d = points.shape
    codes = np.empty(n, np.int64)
    cells = np.empty(d, np.int64)
    for i in range(n):
        for k in range(d):
            share = (points[i, k] - low[k]) / width[k] if width[k] > 0 else 0.0
            cells[k] = min(np.int64(share * 2.0**bits), (1 << bits) - 1)
        code = 0
        for b in range(bits - 1, -1, -1):
            for k in range(d):
                code = (code << 1) | ((cells[k] >> b) & 1)
        codes[i] = code
    return codes


@njit(error_model="numpy")
def _boxes(points, ids, leaves):  # type: ignore[no-untyped-def]
    """Boxes (node, 0 low / 1 high, d) and the smallest index below each node of a heap; node 1 is the root."""
    m, d = points.shape
    box = np.empty((2 * leaves, 2, d))
    box[:, 0], box[:, 1] = np.inf, -np.inf
    least = np.full(2 * leaves, np.int64(EMPTY))
    for leaf in range(leaves):
        node = leaves + leaf
        for j in range(leaf * LEAF, min(m, (leaf + 1) * LEAF)):
            least[node] = min(least[node], ids[j])
            for k in range(d):
                box[node, 0, k] = min(box[node, 0, k], points[j, k])
                box[node, 1, k] = max(box[node, 1, k], points[j, k])
    for node in range(leaves - 1, 0, -1):
        least[node] = min(least[2 * node], least[2 * node + 1])
        for k in range(d):
            box[node, 0, k] = min(box[2 * node, 0, k], box[2 * node + 1, 0, k])
            box[node, 1, k] = max(box[2 * node, 1, k], box[2 * node + 1, 1, k])
    return box, least


@njit(error_model="numpy", inline="always")
def _bound(q, box, node):  # type: ignore[no-untyped-def]
    """A number >= the float64 score of every point in the box, by the operations of `score`."""
    s = q[0] * (box[node, 1, 0] if q[0] > 0 else box[node, 0, 0])
    for k in range(1, q.shape[0]):
        s += q[k] * (box[node, 1, k] if q[k] > 0 else box[node, 0, k])
    return s


@njit(error_model="numpy")
def _find(rows, start, stop, queries, floor, resolution, points, ids, box, least, target, best, second):  # type: ignore[no-untyped-def]
    """The two best scores of queries rows[start:stop]; floor[i] is a known score, or -inf."""
    leaves = box.shape[0] // 2
    stack, limit = np.empty(LEVELS, np.int64), np.empty(LEVELS)
    for r in range(start, stop):
        i = rows[r]
        q, near = queries[i], resolution[i]
        b, s, t = -np.inf, -np.inf, np.int64(EMPTY)
        stack[0], limit[0], height = 1, np.inf, 1
        while height > 0:
            height -= 1
            node, high = stack[height], limit[height]
            # Out of reach; too far below the best to be asked for; or no news: at most an equal second best score.
            if max(b, floor[i]) - high > near or (high <= s and (s < b or least[node] > t)):
                continue
            while node < leaves:  # go down the better side, keep the other for later
                left, right = 2 * node, 2 * node + 1
                x = _bound(q, box, left)
                y = _bound(q, box, right) if least[right] < EMPTY else -np.inf
                node, other = (left, right) if x >= y else (right, left)
                if min(x, y) > -np.inf:
                    stack[height], limit[height] = other, min(x, y)
                    height += 1
            leaf = (node - leaves) * LEAF
            for j in range(leaf, min(leaf + LEAF, points.shape[0])):
                x = score(q, points[j])
                if x > b:
                    b, s, t = x, b, ids[j]
                elif x == b:
                    s, t = b, min(t, ids[j])
                elif x > s:
                    s = x
        target[i], best[i], second[i] = t, b, s


@njit(error_model="numpy")
def _collect(start, stop, queries, floor, points, ids, box, least, counts, found):  # type: ignore[no-untyped-def]
    """Write the indices of all scores >= floor_i, query by query, until `found` is full.

    Returns the first query that is not done, and how many numbers were written for those before.
    """
    leaves = box.shape[0] // 2
    stack = np.empty(LEVELS, np.int64)
    written = 0
    for i in range(start, stop):
        q, before = queries[i], written
        stack[0], height = 1, 1
        while height > 0:
            height -= 1
            node = stack[height]
            if least[node] == EMPTY or _bound(q, box, node) < floor[i]:
                continue
            if node < leaves:
                stack[height], stack[height + 1] = 2 * node, 2 * node + 1
                height += 2
                continue
            leaf = (node - leaves) * LEAF
            for j in range(leaf, min(leaf + LEAF, points.shape[0])):
                if score(q, points[j]) >= floor[i]:
                    if written == found.shape[0]:
                        return i, before
                    found[written] = ids[j]
                    written += 1
        counts[i] = written - before
    return stop, written


def found_by(
    kernel: Callable[[int, int, Ints, Ints], tuple[int, int]], rows: int, work: float, multiple: int = 1
) -> RowSets:
    """The sets of indices that a kernel finds for the rows start..stop-1, one row after the other.

    The kernel is called with start, stop, an array for the number of indices of each row, and one for what it finds;
    where that is full, it returns how far it came. It finds equal sets in the same order.
    """
    counts, parts = np.zeros(rows, np.int64), list[tuple[int, Ints, list[Ints]]]()

    def part(start: int, stop: int) -> None:
        found = np.empty(max(FIRST_ROOM, 4 * (stop - start)), np.int64)
        while start < stop:
            done, length = kernel(start, stop, counts, found)
            if done == start:
                found = np.empty(4 * len(found), np.int64)
                continue
            parts.append((start, *distinct(counts[start:done], found[:length])))
            start = done

    over_parts(part, rows, work, multiple)
    which, sets = [np.empty(0, np.int64)], list[Ints]()
    for _, local, groups in sorted(parts, key=lambda part: part[0]):
        which.append(local + len(sets))
        sets += groups
    return RowSets.numbered(np.concatenate(which), sets)


class Tree:
    """The tree over points[subset] (all points if None); answers carry indices of `points`."""

    def __init__(self, points: Floats, subset: Ints | None = None) -> None:
        chosen = points if subset is None else points[subset]
        m, d = chosen.shape
        low = chosen.min(axis=0)
        bits = min(16, 62 // d)
        with np.errstate(over="ignore"):
            codes = _curve(chosen, low, chosen.max(axis=0) - low, bits) if d > 1 else chosen[:, 0]
        order = np.argsort(codes, kind="stable")
        self.points = np.ascontiguousarray(chosen[order])
        self.ids = order if subset is None else subset[order]
        leaves = 1
        while leaves * LEAF < m:
            leaves *= 2
        self.box, self.least = _boxes(self.points, self.ids, leaves)

    def find(
        self, queries: Floats, rows: Ints, floor: Floats, resolution: Floats, target: Ints, best: Floats, second: Floats
    ) -> None:
        """The two best scores of the queries in `rows`; exact where they differ by <= the resolution."""

        def part(start: int, stop: int) -> None:
            _find(
                rows, start, stop, queries, floor, resolution,
                self.points, self.ids, self.box, self.least, target, best, second,
            )  # fmt: skip

        over_parts(part, len(rows), 256.0 * len(rows))

    def collect(self, queries: Floats, floor: Floats) -> RowSets:
        """For each query all points with a score >= floor_i."""
        a = len(queries)

        def part(start: int, stop: int, counts: Ints, found: Ints) -> tuple[int, int]:
            done: tuple[int, int] = _collect(
                start, stop, queries, floor, self.points, self.ids, self.box, self.least, counts, found
            )
            return done

        return found_by(part, a, 256.0 * a)
