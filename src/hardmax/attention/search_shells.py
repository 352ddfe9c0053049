"""The search by norm shells, for d >= 3 (any d): float32 filters, float64 decides.

A point z_j can have score b for query i only if |z_j| >= b / |z_i| (Cauchy-Schwarz, in the A-norm where A is definite:
<A z_i, z_j> <= |z_i|_A |z_j|_A; else <q_i, z_j> <= |q_i| |z_j|). So the points are taken in order of falling norm, in
shells of growing size; after each shell the queries whose best score no later point can reach are done.

Why float32 loses nothing. With u = 2^-24 the float32 score errs by at most (d + 3) u |q_i| max|z| =: e (conversion of
both factors, d fused steps). If s_j >= best - resolution in float64, then its float32 score is >= best - resolution
- e, and `best` itself is >= any float32 score - e. A block of points whose float32 maximum stays below that threshold
holds no point that matters; every other block is looked at again and its points are scored in float64.
"""

import numpy as np

from hardmax.attention.row_sets import RowSets
from hardmax.attention.search_dense import TINY, largest_coordinate
from hardmax.attention.search_tree import found_by, score
from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit, over_parts
from hardmax.jit.vectors import BLOCK, LANES, QUERIES, reached

FIRST_SHELLS = (2, 10, 42)  # blocks after the first shells; each later one is four times larger
RECORDS = 32  # blocks remembered for each query before they are looked at
UNIT32 = 2.0**-24
CHUNK = 1 << 17  # queries that go through all shells together, to save memory


@njit(error_model="numpy")
def _pack(points, scale, order, first, keys, ids):  # type: ignore[no-untyped-def]
    """Blocks of float32 keys (block, d, 128) from points[order]; the last block is filled up with copies, id -1."""
    m, d = order.shape[0], points.shape[1]
    for b in range(first, keys.shape[0]):
        for x in range(BLOCK):
            r = b * BLOCK + x
            j = order[r] if r < m else order[b * BLOCK]
            ids[b, x] = j if r < m else -1
            for k in range(d):
                keys[b, k, x] = np.float32(points[j, k] * scale)


@njit(error_model="numpy")
def _float32_scores(tile, t, keys, b, acc):  # type: ignore[no-untyped-def]
    """acc[x] = float32 score of query t of the tile with key x of block b."""
    for x in range(BLOCK):
        acc[x] = tile[0, 0, t] * keys[b, 0, x]
    for k in range(1, keys.shape[1]):
        for x in range(BLOCK):
            acc[x] += tile[0, k, t] * keys[b, k, x]


@njit(error_model="numpy", inline="always")
def _some(acc, start, bar):  # type: ignore[no-untyped-def]
    """Whether one of the next 16 numbers is >= bar (without a branch, so it becomes one comparison of vectors)."""
    hits = 0
    for x in range(start, start + 16):
        hits |= acc[x] >= bar
    return hits != 0


@njit(error_model="numpy")
def _look(queries, i, tile, t, keys, ids, b, bar, points, own, best, second, target, acc):  # type: ignore[no-untyped-def]
    """Score in float64 the points of block b whose float32 score is >= bar; keep the two best of query i.

    Ties keep the smallest index. The query's own token is left out: the search started from it.
    """
    _float32_scores(tile, t, keys, b, acc)
    for start in range(0, BLOCK, 16):
        if not _some(acc, start, bar):
            continue
        for x in range(start, start + 16):
            j = ids[b, x]
            if acc[x] >= bar and j >= 0 and j != own[i]:
                s = queries[i, 0] * points[j, 0]  # `score`, without the cost of slices
                for k in range(1, points.shape[1]):
                    s += queries[i, k] * points[j, k]
                if s > best[i]:
                    best[i], second[i], target[i] = s, best[i], j
                elif s == best[i]:
                    second[i], target[i] = s, min(target[i], j)
                elif s > second[i]:
                    second[i] = s


@njit(error_model="numpy")
def _search(  # type: ignore[no-untyped-def]
    rows, start, stop, queries, unit, length, reach, resolution, own,
    points, scale, longest, keys, ids, tops, first, target, best, second,
):  # fmt: skip
    """One shell (blocks `first`.. of keys) for the queries rows[start:stop], four at a time."""
    d, blocks = points.shape[1], keys.shape[0]
    tile = np.empty((1, d, QUERIES), np.float32)
    maxima = np.empty((QUERIES, LANES), np.float32)
    bar = np.empty(QUERIES, np.float32)
    need, error, wide = np.empty(QUERIES), np.empty(QUERIES), np.empty(QUERIES)
    back, shrink = np.empty(QUERIES), np.empty(QUERIES)
    count = np.empty(QUERIES, np.int64)
    record = np.empty((QUERIES, RECORDS), np.int64)
    height = np.empty((QUERIES, RECORDS), np.float32)
    acc = np.empty(BLOCK, np.float32)
    unscale = 1 / scale
    for r in range(start, stop, QUERIES):
        width = min(QUERIES, stop - r)
        for t in range(QUERIES):
            i = rows[min(r + t, stop - 1)]
            count[t] = 0
            for k in range(d):
                tile[0, k, t] = np.float32(queries[i, k] * unit[i])
            error[t] = (d + 4) * UNIT32 * length[i] * longest + 1e-30
            wide[t] = resolution[i] * unit[i] * scale
            level = best[i] * unit[i] * scale - wide[t] - error[t]
            bar[t] = np.float32(level - 2 * UNIT32 * abs(level)) if t < width else np.inf
            back[t], shrink[t] = 1 / unit[i], 1 / reach[i]
            need[t] = (best[i] - resolution[i]) * shrink[t] if t < width else np.inf
        least = min(min(need[0], need[1]), min(need[2], need[3]))
        for b in range(first, blocks):
            if tops[b] < least:
                break
            hits = reached(tile, 0, keys, b, bar, maxima)
            if hits == 0:
                continue
            for t in range(width):
                if (hits >> t) & 1 == 0:
                    continue
                i = rows[r + t]
                high = maxima[t, 0]
                for x in range(1, LANES):
                    high = max(high, maxima[t, x])
                if count[t] == RECORDS:  # many near-ties: look at the blocks now, which raises the bar for the rest
                    for c in range(RECORDS):
                        if height[t, c] >= bar[t]:
                            _look(
                                queries, i, tile, t, keys, ids, record[t, c], bar[t], points, own,
                                best, second, target, acc,
                            )  # fmt: skip
                    count[t] = 0
                record[t, count[t]], height[t, count[t]] = b, high
                count[t] += 1
                level = high - wide[t] - 2 * error[t]
                level -= 2 * UNIT32 * abs(level)
                if level > bar[t]:
                    bar[t] = np.float32(level)
                    need[t] = max(need[t], ((high - error[t]) * unscale * back[t] - resolution[i]) * shrink[t])
                    least = min(min(need[0], need[1]), min(need[2], need[3]))
        for t in range(width):
            i = rows[r + t]
            for c in range(count[t]):
                if height[t, c] >= bar[t]:
                    _look(queries, i, tile, t, keys, ids, record[t, c], bar[t], points, own, best, second, target, acc)


@njit(error_model="numpy")
def _gather(  # type: ignore[no-untyped-def]
    start, stop, queries, unit, length, reach, floor, points, scale, longest, keys, ids, tops, counts, found,
):  # fmt: skip
    """Write the indices of all scores >= floor_i, query by query, until `found` is full; four are asked at a time.

    Returns the first query that is not done, and how many numbers were written for those before.
    """
    d, blocks = points.shape[1], keys.shape[0]
    tile = np.empty((1, d, QUERIES), np.float32)
    maxima = np.empty((QUERIES, LANES), np.float32)
    bar, acc = np.empty(QUERIES, np.float32), np.empty(BLOCK, np.float32)
    need = np.empty(QUERIES)
    mixed, of = np.empty(found.shape[0], np.int64), np.empty(found.shape[0], np.int8)  # of the queries of one tile
    size = 0
    for r in range(start, stop, QUERIES):
        width, before = min(QUERIES, stop - r), size
        for t in range(QUERIES):
            i = min(r + t, stop - 1)
            for k in range(d):
                tile[0, k, t] = np.float32(queries[i, k] * unit[i])
            level = floor[i] * unit[i] * scale - (d + 4) * UNIT32 * length[i] * longest - 1e-30
            bar[t] = np.float32(level - 2 * UNIT32 * abs(level)) if t < width else np.inf
            need[t] = floor[i] / reach[i] if t < width else np.inf
            counts[i] = 0
        least = min(min(need[0], need[1]), min(need[2], need[3]))
        for b in range(blocks):
            if tops[b] < least:
                break
            hits = reached(tile, 0, keys, b, bar, maxima)
            for t in range(width):
                if (hits >> t) & 1 == 0:
                    continue
                i = r + t
                _float32_scores(tile, t, keys, b, acc)
                for x in range(BLOCK):
                    j = ids[b, x]
                    if acc[x] >= bar[t] and j >= 0 and score(queries[i], points[j]) >= floor[i]:
                        if size == found.shape[0]:
                            return r, before
                        found[size], of[size - before] = j, t
                        counts[i] += 1
                        size += 1
        mixed[: size - before] = found[before:size]
        place = before
        for t in range(width):
            for e in range(size - before):
                if of[e] == t:
                    found[place] = mixed[e]
                    place += 1
    return stop, size


@njit(error_model="numpy")
def own_scores(queries, points, own, rows, target, best, second):  # type: ignore[no-untyped-def]
    """Start every query at its own token."""
    for r in range(rows.shape[0]):
        i = rows[r]
        target[i], best[i], second[i] = own[i], score(queries[i], points[own[i]]), -np.inf


@njit(error_model="numpy")
def scaled_lengths(x, scale):  # type: ignore[no-untyped-def]
    """(n,) Euclidean lengths of the rows times a power of two that keeps the squares in range."""
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(x.shape[1]):
            s += (x[i, k] * scale[i]) * (x[i, k] * scale[i])
        out[i] = np.sqrt(s)
    return out


@njit(error_model="numpy")
def _sizes(x):  # type: ignore[no-untyped-def]
    """(n,) the largest coordinate of each row, without its sign; needs no copy of the rows."""
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[i] = max(out[i], abs(x[i, k]))
    return out


def euclidean_bounds(queries: Floats, points: Floats) -> tuple[Floats, Floats]:
    """(reach, norms) with <q_i, z_j> <= |q_i| |z_j| <= reach_i * norms_j for the float64 numbers, rounding included."""
    m, d = points.shape
    scale, unit = _powers(points, queries)
    norms = scaled_lengths(points, np.full(m, scale)) / scale
    return scaled_lengths(queries, unit) / unit * (1 + 8 * (d + 2) * 2.0**-52), norms


def _powers(points: Floats, queries: Floats) -> tuple[float, Floats]:
    """Powers of two that bring the points, and each query, to coordinates of size 1."""
    scale = float(np.ldexp(1.0, -max(int(np.frexp(largest_coordinate(points))[1]), -1000)))
    return scale, np.ldexp(1.0, -np.maximum(np.frexp(_sizes(queries))[1], -1000))


class Shells:
    """Points in order of falling norm and the bounds of their scores; keys are packed when a shell asks for them."""

    def __init__(self, queries: Floats, points: Floats, reach: Floats, norms: Floats) -> None:
        m, d = points.shape
        self.queries, self.points, self.reach, self.norms = queries, points, reach, norms
        self.scale, self.unit = _powers(points, queries)
        self.length = scaled_lengths(queries, self.unit)
        self.longest = float(scaled_lengths(points, np.full(m, self.scale)).max())
        self.order = np.empty(0, np.int64)
        self.keys = np.empty((0, d, BLOCK), np.float32)
        self.ids = np.empty((0, BLOCK), np.int64)
        self.tops = np.empty(0)
        self.size = m  # points that take part, or all that are left of them

    def widen(self, blocks: int) -> None:
        """Have at least `blocks` blocks of keys packed (or all points)."""
        m, d = self.points.shape
        blocks = min(blocks, -(-self.size // BLOCK))
        have = len(self.keys)
        if blocks <= have:
            return
        count = min(self.size, blocks * BLOCK)
        if count > len(self.order):
            ready = min(m, FIRST_SHELLS[-1] * BLOCK)
            if count <= ready < m // 4:
                front = np.flatnonzero(self.norms >= np.partition(self.norms, m - ready)[m - ready])
                self.order = front[np.argsort(-self.norms[front])[:ready]]
            else:
                # The same front (ties of norms may be cut anywhere), then the rest: no point twice, none lost.
                rest = np.ones(m, bool)
                rest[self.order] = False
                others = np.flatnonzero(rest)
                low = -self.norms[others]
                by, front = np.argsort(low), self.order
                del low, rest  # memory for the order
                self.order = np.empty(m, np.int64)
                self.order[: len(front)] = front
                np.take(others, by, out=self.order[len(front) :], mode="clip")  # other modes make a copy
                del by, others  # memory for the keys
        keys, ids = np.empty((blocks, d, BLOCK), np.float32), np.empty((blocks, BLOCK), np.int64)
        keys[:have], ids[:have] = self.keys, self.ids
        _pack(self.points, self.scale, self.order[:count], have, keys, ids)
        self.keys, self.ids = keys, ids
        self.tops = self.norms[self.order[: blocks * BLOCK : BLOCK]] + TINY

    def find(self, rows: Ints, resolution: Floats, own: Ints, target: Ints, best: Floats, second: Floats) -> None:
        """The two best scores of the (non-zero) queries in `rows`; exact where they differ by <= the resolution."""
        for start in range(0, len(rows), CHUNK):
            self.through(rows[start : start + CHUNK], resolution, own, target, best, second)

    def through(
        self, rows: Ints, resolution: Floats, own: Ints, target: Ints, best: Floats, second: Floats, most: int = 99
    ) -> int:
        """Search shell after shell, at most so many; the number of queries that are not done."""
        own_scores(self.queries, self.points, own, rows, target, best, second)
        active, first, shell = rows, 0, 0
        while len(active) and first * BLOCK < self.size:
            stop = FIRST_SHELLS[shell] if shell < len(FIRST_SHELLS) else 4 * first
            if first:
                need = (best[active] - resolution[active]) / self.reach[active]
                left = need <= self.tops[first - 1]
                active, need = active[left], need[left]  # memory for the keys
            if shell == most:
                break
            self.widen(stop)
            if first:
                left = need <= self.tops[first]
                active = self._alike(active[left], need[left], first)
                if not len(active):
                    break
            self._shell(active, first, stop, resolution, own, target, best, second)
            first, shell = min(stop, len(self.keys)), shell + 1
        return len(active)

    def _alike(self, rows: Ints, need: Floats, first: int) -> Ints:
        """The queries in an order in which those that stop at about the same norm share a tile.

        Only 256 classes, in their old order within a class: neighbors in memory mostly stay together.
        """
        high, low = self.tops[first], self.tops[-1]  # below `low` all need the whole shell
        if not high > low:
            return rows
        share = (np.clip(need, low, high) - low) / (high - low)
        return rows[np.argsort((255.0 * share).astype(np.uint8), kind="stable")]

    def _shell(
        self,
        rows: Ints,
        first: int,
        stop: int,
        resolution: Floats,
        own: Ints,
        target: Ints,
        best: Floats,
        second: Floats,
    ) -> None:
        """Search the blocks first..stop-1 for the queries in `rows`."""
        keys, ids, tops = self.keys[:stop], self.ids[:stop], self.tops[:stop]

        def part(start: int, end: int) -> None:
            _search(
                rows, start, end, self.queries, self.unit, self.length, self.reach, resolution, own,
                self.points, self.scale, self.longest, keys, ids, tops, first, target, best, second,
            )  # fmt: skip

        over_parts(part, len(rows), float(len(rows)) * (len(keys) - first) * BLOCK, QUERIES)

    def collect(self, floor: Floats) -> RowSets:
        """For each (non-zero) query all points with a score >= floor_i."""
        a, m = len(self.queries), len(self.points)
        self.widen(-(-m // BLOCK))

        def part(start: int, stop: int, counts: Ints, found: Ints) -> tuple[int, int]:
            done: tuple[int, int] = _gather(
                start, stop, self.queries, self.unit, self.length, self.reach, floor,
                self.points, self.scale, self.longest, self.keys, self.ids, self.tops, counts, found,
            )  # fmt: skip
            return done

        return found_by(part, a, float(a) * m, QUERIES)
