"""The support search: for each query the points with the largest scores. Chooses the algorithm that fits the data.

For queries q_i = A z_i and distinct points z_j: the follow set C_i = argmax_j <q_i, z_j> [AFZ24, eq. (1.1b)] needs the
largest score, how far the runner-up is, and, where that is close, everything within a band of the maximum.

Departs: scores are float64 numbers, computed in one order of operations by every algorithm; which of two nearly equal
scores is larger in exact arithmetic is not decided here.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.row_sets import RowSets
from hardmax.attention.search_dense import TINY, collect_dense, faint_rows, find_dense, find_longest, norm_reach
from hardmax.attention.ties import WIDEST, Band, blocks
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Floats, Ints, index_type
from hardmax.jit.ways import Job
from hardmax.shapes import Array, Float, Int, checked

if TYPE_CHECKING:
    from hardmax.attention.search_shells import Shells

DENSE_POINTS = 64  # up to this many points, or queries, comparing everything is fastest
DENSE_QUERIES = 4
FEW_FOR_A_TREE = 64  # queries: building a tree costs about as much as comparing this many with every point
TREE_DIMENSIONS = 4  # boxes bound scores well in few dimensions only
CONE_QUERIES, CONE_SAMPLE = 4096, 512  # from how many queries on cones may pay beyond space, and how many of them tell
CONES_FROM = {4: 1 << 15, 5: 1 << 18}  # queries by dimension; in others cones pay only where many queries are tied

# Relative gaps up to the resolution are computed exactly: all of them in small clouds; in large ones those that could
# be the narrowest, since a figure for every gap would cost far more than finding the targets.
RESOLUTION = 2.0**-20

# What goes the plain way, the dense search, while its compiled code is not in memory; by dimension, 3 for all above 2.
_FIND = {1: Job("search_tree._find"), 2: Job("search_plane._search"), 3: Job("search_shells._search")}
_COLLECT = {True: Job("search_tree._collect"), False: Job("search_shells._gather")}


@checked
@dataclass(frozen=True, eq=False)
class Found:
    """The best point of each query.

    Attributes:
        target: (a,) index of the point with the largest score; the smallest index among equal float64 scores.
        best: (a,) that score.
        gap: (a,) best minus the largest score of the other points where that is <= the resolution asked for; else inf.
        tied: what `collect` gives for the queries with a gap of at most `close`, if the search came across it.
    """

    target: Int[Array, " a"]
    best: Float[Array, " a"]
    gap: Float[Array, " a"]
    tied: RowSets | None = None


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores <q_i, z_j> of queries q_i = A z_i with distinct points z_j, which are never all computed.

    Attributes:
        queries: (a, d) rows q_i, and `query_norms` (a,) the A-norms |z_i|_A of the querying tokens.
        points: (m, d) rows z_j, and `point_norms` (m,) their A-norms.
        condition: the condition number of A. If it is infinite, the norms are not used: <q_i, z_j> <= |z_i|_A |z_j|_A
            needs an A that is symmetric positive definite.
    """

    queries: Floats
    query_norms: Floats
    points: Floats
    point_norms: Floats
    condition: float = 1.0

    def __post_init__(self) -> None:
        for name in ("queries", "points"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))

    def of(self, rows: Ints) -> "Scores":
        """Those of some queries."""
        return replace(self, queries=self.queries[rows], query_norms=self.query_norms[rows])

    def find(
        self, resolution: Floats | float, own: Ints | None = None, close: Floats | None = None
    ) -> Found:  # fmt: skip
        """Best point and gap of each query: argmax_j <q_i, z_j>, and best_i - max_{j != target_i} <q_i, z_j>.

        Args:
            resolution: (a,) gaps up to this are exact float64 differences; larger ones come back as inf. A number
                stands for its multiples by |z_i|_A.
            own: (a,) index in `points` of the querying token, a lower bound of its best score; None: all points ask.
            close: (a,) at most the resolution; see `Found.tied`.

        Example:
            >>> Z = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
            >>> N = np.array([1.0, 3.0, 1.0])
            >>> Scores(Z, N, Z, N).find(np.inf)
            Found(target=array([1, 1, 2]), best=array([3., 9., 1.]), gap=array([2., 6., 1.]), tied=None)
        """
        queries, points = self.queries, self.points
        a, dim = queries.shape
        target, best, second = np.zeros(a, np.int64), np.zeros(a), np.full(a, -np.inf)
        zero = faint_rows(queries, np.arange(a), 0.0)  # every score is 0: a tie of all points
        if len(zero):
            second[zero] = 0.0 if len(points) > 1 else -np.inf
        asked, job, tied = a - len(zero), _FIND[min(dim, 3)], None
        dense = len(points) <= DENSE_POINTS or asked <= DENSE_QUERIES
        plain = dense or job.plain(asked * points.size)
        if dim == 3 and not plain:  # the other ways need more memory
            tied = self._by_cones(resolution, close, target, best, second)
        if tied is None:
            every = np.arange(a)
            rows, widths = np.delete(every, zero) if len(zero) else every, self._each(resolution)
            if dense:
                find_dense(queries, points, rows, target, best, second)
            elif plain:
                reach = norm_reach(self.query_norms, dim, self.condition)
                with job.counted():
                    if reach is None or widths.min() == np.inf:
                        find_dense(queries, points, rows, target, best, second)
                    else:
                        find_longest(queries, reach, points, self.point_norms, rows, widths, target, best, second)
            elif dim == 1:
                from hardmax.attention.search_tree import Tree

                Tree(points).find(queries, rows, np.full(a, -np.inf), widths, target, best, second)
            elif dim == 2:
                from hardmax.attention.search_plane import find_plane

                find_plane(queries, rows, points, widths, target, best, second)
            else:
                own = every if own is None else np.ascontiguousarray(own, np.int64)
                tied = self._find_in_space(rows, widths, own, resolution, close, target, best, second)
            del every, rows, widths
        if not plain:
            job.ready = True
        gap = np.subtract(best, second, out=second)
        gap[~(gap <= self._each(resolution))] = np.inf
        if tied is None or close is None:
            return Found(target, best, gap)
        number, sets = tied
        if len(zero):
            number[zero] = len(sets)
            sets = [*sets, np.arange(len(points))]
        return Found(target, best, gap, RowSets.numbered(number[gap <= close].astype(np.int64), sets))

    def _each(self, resolution: Floats | float) -> Floats:
        """The resolution of each query."""
        if isinstance(resolution, np.ndarray):
            return np.ascontiguousarray(resolution, np.float64)
        every = self.query_norms
        return np.full(len(every), np.inf) if resolution == np.inf else resolution * every

    def _by_cones(
        self, resolution: Floats | float, close: Floats | None, target: Ints, best: Floats, second: Floats
    ) -> tuple[NDArray[np.int32], list[Ints]] | None:  # fmt: skip
        """The numbers of the sets of close points, and the sets; None if numbers are not ordinary."""
        from hardmax.attention.search_cones import find_by_cones

        none, number = np.empty(0), np.full(len(self.queries), -1, np.int32)
        close = none if close is None else np.ascontiguousarray(close, np.float64)
        if isinstance(resolution, np.ndarray):
            widths = np.ascontiguousarray(resolution, np.float64), 1.0
        else:
            widths = np.ascontiguousarray(self.query_norms, np.float64), float(resolution)
        sets = find_by_cones(self.queries, self.points, *widths, close, target, best, second, number)
        return None if sets is None else (number, sets)

    def _find_in_space(
        self, rows: Ints, widths: Floats, own: Ints, resolution: Floats | float, close: Floats | None, target: Ints,
        best: Floats, second: Floats,
    ) -> tuple[NDArray[np.int32], list[Ints]] | None:  # fmt: skip
        """By shells, or by cones, if these suit the cloud."""
        from hardmax.attention.search_shells import Shells

        if self.queries.shape[1] > 3:
            shells = Shells(self.queries, self.points, *self._bounds())
            suited = self._suits_cones(shells, rows, widths, own, target, best, second)
            if not suited:
                shells.find(rows, widths, own, target, best, second)
                return None
            del shells  # memory for the cones
            tied = self._by_cones(resolution, close, target, best, second)
            if tied is not None:
                return tied
        Shells(self.queries, self.points, *self._bounds()).find(rows, widths, own, target, best, second)
        return None

    def _suits_cones(
        self, shells: "Shells", rows: Ints, resolution: Floats, own: Ints, target: Ints, best: Floats, second: Floats
    ) -> bool:
        """Whether the first shells are not enough for some of the queries, and cones will soon have few candidates."""
        from hardmax.attention.search_shells import FIRST_SHELLS

        if len(rows) < CONE_QUERIES:
            return False
        dim = self.queries.shape[1]
        some = rows[:: 1 + len(rows) // CONE_SAMPLE].copy()  # of a view the search would be compiled again
        left = shells.through(some, resolution, own, target, best, second, len(FIRST_SHELLS))
        ties = np.count_nonzero(best[some] - second[some] <= resolution[some])
        many = dim in CONES_FROM and len(rows) >= CONES_FROM[dim]
        return bool(many or 4 * ties > len(some)) and 5 * left > len(some)

    def collect(self, best: Floats, band: Floats) -> RowSets:
        """For each query the set of all j with <q_i, z_j> >= best_i - band_i.

        Example:
            >>> Z = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
            >>> N = np.sqrt([1.0, 2.0, 1.0])
            >>> Scores(Z[:1], N[:1], Z, N).collect(np.ones(1), np.zeros(1)).sets()
            [array([0, 1])]
        """
        queries, points, floor = self.queries, self.points, best - band
        a, (m, dim) = len(queries), points.shape
        job = _COLLECT[dim <= TREE_DIMENSIONS]
        if m <= DENSE_POINTS or a == 0 or job.plain(a * points.size):
            with job.counted():
                return collect_dense(queries, floor, points)
        zero = faint_rows(queries, np.arange(a), 0.0)
        if len(zero):
            return self._collect_around(zero, best, band)
        # Few points can reach the floor of any query: those of large norm, and in the plane those near the boundary.
        reach, norms = self._bounds()
        kept = np.flatnonzero(norms + TINY >= (floor / reach).min())
        if len(kept) < m:
            points, norms = points[kept], norms[kept]
        if dim == 2:
            from hardmax.attention.search_plane import FILTER_FROM, near_boundary

            if len(points) >= FILTER_FROM:
                inner = near_boundary(points, queries, floor)
                points, norms, kept = points[inner], norms[inner], kept[inner]
        few = FEW_FOR_A_TREE if dim <= TREE_DIMENSIONS else DENSE_QUERIES
        if len(points) <= DENSE_POINTS or a <= few:
            found = collect_dense(queries, floor, points)
        elif dim <= TREE_DIMENSIONS:
            from hardmax.attention.search_tree import Tree

            found = Tree(points).collect(queries, floor)
            job.ready = True
        else:
            from hardmax.attention.search_shells import Shells

            found = Shells(queries, points, reach, norms).collect(floor)
            job.ready = True
        return found if len(kept) == m else found.renamed(kept)

    def _bounds(self) -> tuple[Floats, Floats]:
        """(reach, norms) with <q_i, z_j> <= reach_i * (norms_j + TINY) for the float64 numbers, rounding included."""
        reach = norm_reach(self.query_norms, self.points.shape[1], self.condition)
        if reach is not None:
            return reach, self.point_norms
        from hardmax.attention.search_shells import euclidean_bounds

        return euclidean_bounds(self.queries, self.points)

    def _collect_around(self, zero: Ints, best: Floats, band: Floats) -> RowSets:
        """`collect` where the queries in `zero` score 0 with every point: all, or none if the floor is above 0."""
        rows = np.delete(np.arange(len(self.queries)), zero)
        found, everyone = self.of(rows).collect(best[rows], band[rows]), np.arange(len(self.points))
        sets = found.sets()
        which = np.empty(len(self.queries), np.int64)
        which[rows], which[zero] = found.which, len(sets) + (best[zero] > band[zero])
        return RowSets.numbered(which, [*sets, everyone, everyone[:0]])


@dataclass(frozen=True)
class Search:
    """What is known of some points at a layer before anything is decided, all (a,) but `scores` and `largest`.

    Attributes:
        scores: of these points with all points; their queries and A-norms are in units of `power`.
        power: factors of the queries, powers of two.
        flag: scores within these of the best are too close for float64.
        found: the best point and the gap to the second.
        largest: max_j |z_j|_A.
    """

    scores: Scores
    power: Floats
    flag: Floats
    found: Found
    largest: float

    @property
    def scale(self) -> Floats:
        """|z_i|_A max|z|_A, the unit of margins."""
        return self.scores.query_norms * self.largest

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Whether float64 can tell whom they follow."""
        return self.found.gap > self.flag

    def width(self, band: Band, layer: int, rows: Ints | slice) -> Floats:
        """Scores within these of the best are within a band, for some of the points."""
        return _width(band.at(layer), self.scores.query_norms[rows], self.largest, self.power[rows])

    def margin(self, band: Band, layer: int, target: Ints) -> float:
        """The narrowest decision, in units of `scale`, of those who have a target and a gap beyond a band."""
        margin = np.inf
        for part in blocks(len(target)):
            gap = self.found.gap[part]
            won = (target[part] >= 0) & (gap > self.width(band, layer, part)) & np.isfinite(gap)
            scale = self.scores.query_norms[part][won] * self.largest
            margin = min(margin, float((gap[won] / scale).min(initial=np.inf)))
        return margin

    def of(self, rows: Ints, points: Ints) -> "Search | None":
        """The same for some of the points, among points that are all they can see; None if they see others."""
        place = np.full(len(self.scores.points), -1, index_type(len(self.scores.points)))
        place[points] = np.arange(len(points))
        whole, tied = self.scores, self.found.tied
        seen = whole.points.take(points, axis=0)
        same = whole.queries is whole.points and len(rows) == len(points)
        norms = whole.point_norms[points]
        queries = seen if same else whole.queries.take(rows, axis=0)
        some = replace(
            whole, queries=queries, query_norms=norms if same else whole.query_norms[rows], points=seen,
            point_norms=norms,
        )  # fmt: skip
        target = place[self.found.target[rows]].astype(np.int64)
        if tied is not None:
            number = np.full(len(self.flag), -1, np.int32)
            number[self.found.gap <= self.flag] = tied.which
            number = number[rows]
            tied = replace(tied, which=number[number >= 0].astype(np.int64)).used().renamed(place)
        if (target < 0).any() or (tied is not None and (tied.members < 0).any()):
            return None
        found = Found(target, self.found.best[rows], self.found.gap[rows], tied)
        return Search(some, self.power[rows], self.flag[rows], found, self.largest)


@np.errstate(over="ignore")
def _width(coefficients: tuple[float, float], own: Floats, largest: float, power: Floats) -> Floats:
    a, b = coefficients
    power = power[:1] if power.strides == (0,) else power  # one number for all
    width = a * own
    width *= largest
    width += np.minimum(b * largest * largest * power, WIDEST)
    return np.asarray(width)


def search(
    points: Floats, active: Ints | None, metric: Metric, flag: Band, small: bool, layer: int = 0,
    largest: float | None = None,
) -> Search:  # fmt: skip
    """Find whom the points `active` follow, and the gaps: up to the resolution, or all of them if the cloud is small.

    None: all points. Scores, bands and gaps of a query are all in units of its power of two.
    """
    queries, scaled, power = metric.normalized.looks(points)
    norms = scaled / power if np.ndim(power) else scaled
    largest = float(norms.max()) if largest is None else largest
    power = np.broadcast_to(power, len(queries))
    if active is None or len(active) == len(queries):
        active, q, own = None, queries, scaled
    else:
        q, own, power = queries[active], scaled[active], power[active]
    width = _width(flag.at(layer), own, largest, power)
    scores = Scores(q, own, points, norms, metric.condition)
    resolution: Floats | float = np.inf if small else RESOLUTION * largest
    if not small and (width > resolution * own).any():  # seldom, so there is no array of these numbers
        resolution = np.maximum(width, resolution * own)
    return Search(scores, power, width, scores.find(resolution, active, width), largest)
