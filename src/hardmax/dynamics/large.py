"""The limit of a large cloud: ordinary tokens go to their leaders at once, the engine runs on the others."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import RESOLUTION, Search, search
from hardmax.attention.ties import Band, rounding_bound, taken, tie_band, wider
from hardmax.cloud.metric import Metric, lengths
from hardmax.cloud.tokens import Cloud, Floats, Ints, Numbers, compact
from hardmax.dynamics.assembly import Problem, assemble, copies, ends_of, find_centers, of_tokens
from hardmax.dynamics.bodies import Hull
from hardmax.dynamics.certificate import FOLLOWER, LEADER, Group, group_of
from hardmax.dynamics.engine import SMALL, Run
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.origin import Origin, origin_of
from hardmax.dynamics.passive import Cells, History
from hardmax.dynamics.plane import Plane

CHUNK = 1 << 15  # tokens looked at together: they stay in the cache
SAMPLE = 8192
COUNTED = 1 << 16  # tokens by which cells are chosen
PROBE = 1 << 14  # tokens that tell the number of layers
MOST_ATTEMPTS = 6
LOW = 0.97  # of the least best score of a token that is not settled at layer 0: tokens in the ball are shorter
MOST = 0.6  # of the tokens: a ball that holds more is not compared with a polytope
FEW_FACETS = 4  # dimensions in which a polytope has few facets
LASTING = 3  # layers for which nobody should see ordinary tokens
WORTH = 0.2  # of the tokens: fewer are not set aside


@dataclass(frozen=True, eq=False)
class Rest:
    """The limit of the tokens that are not ordinary, by their place among them; see `Certificate`."""

    index: Ints  # of each in the whole cloud, ascending
    decided_at: Numbers
    role: NDArray[np.int8]
    target: Numbers
    groups: tuple[Group, ...]
    cluster: Numbers
    centers: Floats
    kind: tuple[str, ...]
    margin: float
    undecided: int

    def whole_target(self) -> Ints:
        """Targets as indices of the whole cloud."""
        return np.where(self.target >= 0, self.index[np.maximum(self.target, 0)], self.target)

    def leads(self) -> Ints:
        """Places of the leaders."""
        return np.flatnonzero(self.role == LEADER)

    def whole_groups(self) -> tuple[Group, ...]:
        return tuple(tuple(self.index[list(group)].tolist()) for group in self.groups)


def limit_in_plane(cloud: Cloud, problem: Problem, max_layers: int) -> Equilibrium | None:
    """The limit, bit for bit as the engine computes it on the whole cloud; None if only that can."""
    tokens, n = cloud.tokens, cloud.n
    if few_distinct(tokens[: 4 * SMALL]):
        return None
    plane = Plane(problem.matrix, problem.alpha, reach(problem), tokens[:: max(32, n // SAMPLE)])
    parts = [slice(start, start + CHUNK) for start in range(0, n, CHUNK)]
    for part in parts:
        plane.add(tokens[part], part.start)
    plane.seal()
    if plane.failed:
        return None
    system, code, origin = plane.system.index, np.empty(n, np.int32), origin_of(cloud, problem)
    if origin is not None:
        system = np.union1d(system, origin.index)
    for attempt in range(MOST_ATTEMPTS):
        if 2 * len(system) > n:
            return None
        found = system_and_cells(
            plane, tokens[system], system, tokens[:: 1 + n // COUNTED], problem, max_layers, origin
        )
        if found is None:
            return None
        rest, history, cells = found
        for part in parts:
            code[part] = cells.of(tokens[part])
        code[system] = 0
        alone = np.flatnonzero(code < 0)
        leader, since = np.empty((2, len(alone)), np.int32)
        for at in range(0, len(alone), CHUNK):
            some = slice(at, at + CHUNK)
            leader[some], since[some], _ = history.take(tokens.take(alone[some], axis=0))
        if (leader >= 0).all():
            break
        # Tokens that join may bring along others: rather than try again and again, all of them do.
        joins = (leader < 0) | (attempt > 3)
        system = np.sort(np.concatenate((system, alone[joins])))
    else:
        return None
    first = history.run.cloud.first  # of the points that are followed, as places in the rest
    ends = system[first], rest.cluster[first]  # whom those follow who follow a point, and where they end
    decided_at, target, cluster = (
        taken(compact(a, n), code) for a in (cells.since, *(end[cells.leader] for end in ends))
    )
    decided_at[alone], target[alone], cluster[alone] = since, *(end[leader] for end in ends)
    margin = min(rest.margin, history.margin)
    del code, alone, leader, since, found, history, cells, plane  # memory for the result
    role = np.full(n, FOLLOWER, np.int8)
    role[system], decided_at[system], cluster[system] = rest.role, rest.decided_at, rest.cluster
    target[system] = rest.whole_target()
    groups, undecided = rest.whole_groups(), rest.undecided
    if origin is not None and origin.stays:
        more = origin.undecided(tokens, problem, decided_at, target, (rest.centers, cluster), groups)
        if more is None:
            return None
        groups, undecided = (*groups, group_of(range(n), n)), undecided + more
    return assemble(
        tokens, problem, decided_at, role, target, groups, (cluster, rest.centers, rest.kind), margin, undecided,
    )  # fmt: skip


def system_and_cells(
    plane: Plane, tokens: Floats, index: Ints, sample: Floats, problem: Problem, max_layers: int,
    origin: Origin | None = None,
) -> tuple[Rest, History, Cells] | None:  # fmt: skip
    """The limit of the system, its layers, and what they do to all tokens of a cell; None if that is not enough."""
    history = History(plane)
    rest = limit_of_rest(run_of(Cloud(tokens), problem, max_layers), index, history.note, origin)
    if rest is None:
        return None
    history.probe(sample[:: 1 + len(sample) // PROBE], max_layers)
    return rest, history, Cells(history, sample)


def limit_in_space(cloud: Cloud, problem: Problem, max_layers: int) -> Equilibrium | Search | None:
    """The same in other dimensions; the search of layer 0, if it tells that the engine is needed for the whole cloud.

    A follower w of a leader l is ordinary if it has a clear gap at layer 0 and is inside a body from which nobody sees
    it later: a query q = A z of layer k with best score b sees w^k = l + rho^k (w - l) at

        <q, w^k> = (1 - rho^k) <q, l> + rho^k <q, w> <= b - rho^k depth |z|_A,

    which is out of reach as long as rho^k depth > reach max|z|_A: tested at every layer, at layer 0 for all who are not
    followers with a clear gap.
    """
    if len(cloud.points) <= SMALL:
        return None
    origin = origin_of(cloud, problem)
    cloud.forget("multiplicity")
    found = search(cloud.points, None, problem.matrix, flag_of(problem, cloud.dim), False)
    norms, target = found.scores.query_norms, found.found.target
    if np.count_nonzero(norms == 0.0) > (origin is not None):
        return found
    leads = found.clear & (target == np.arange(len(target)))
    settled = found.clear & leads[target] & ~leads
    others = np.flatnonzero(~settled & (norms > 0.0))
    lowest, blur = float((found.found.best[others] / norms[others]).min()), (found.flag[others] / norms[others]).max()
    ordinary, depth = _ordinary(cloud.points, settled, leads, norms, lowest, problem.matrix)
    rho = 1.0 / (1.0 + problem.alpha)
    lasting = rho**LASTING * depth(lowest) > 2.0 * RESOLUTION * found.largest
    if not lasting or not depth(lowest) > 2.0 * blur or np.count_nonzero(ordinary) < WORTH * len(ordinary):
        return found
    points = np.flatnonzero(~ordinary)
    index = points if cloud.all_distinct else np.flatnonzero(~cloud.of_tokens(ordinary))
    rows = points if origin is None else points[norms[points] > 0.0]
    del norms, leads, settled, ordinary, others  # memory for what follows
    first = found.of(rows, points)
    margin, target = found.margin(flag_of(problem, cloud.dim), 0, target), compact(target, cloud.n)
    del found, rows, points
    cloud.forget("points")
    if first is None:
        return None

    def unseen(rest: Run) -> bool:
        behind = rest.rho**rest.layer * depth(rest.lowest)
        return rest.layer == 0 or behind > 2.0 * max(rest.blur, RESOLUTION) * rest.largest  # twice: it is rounded

    run = run_of(Cloud(first.scores.points if cloud.all_distinct else cloud.tokens[index]), problem, max_layers)
    run.first = first
    del first  # memory for the layers
    rest = limit_of_rest(run, index, unseen, origin)
    if rest is None:
        return None
    del run  # memory for the result
    n = cloud.n
    role, decided_at = np.full(n, FOLLOWER, np.int8), np.zeros(n, target.dtype)
    cluster = np.zeros(len(target), target.dtype)
    cluster[index if cloud.all_distinct else cloud.point_of[index]] = rest.cluster
    cluster = taken(cluster, target)
    if not cloud.all_distinct:
        cluster, target = (taken(a, cloud.point_of) for a in (cluster, taken(cloud.first, target)))
    role[index], decided_at[index], cluster[index] = rest.role, rest.decided_at, rest.cluster
    target[index] = rest.whole_target()
    groups, undecided = rest.whole_groups(), rest.undecided
    if origin is not None and origin.stays:
        more = origin.undecided(cloud.tokens, problem, decided_at, target, (rest.centers, cluster), groups)
        if more is None:
            return None
        groups, undecided = (*groups, group_of(range(n), n)), undecided + more
    return assemble(
        cloud.tokens, problem, decided_at, role, target, groups, (cluster, rest.centers, rest.kind),
        min(rest.margin, margin), undecided,
    )  # fmt: skip


def _ordinary(
    points: Floats, settled: NDArray[np.bool_], leads: NDArray[np.bool_], norms: Floats, lowest: float, matrix: Metric
) -> tuple[NDArray[np.bool_], Callable[[float], float]]:
    """Which points are ordinary, and the depth of the body that holds them for queries of best scores from b |z|_A on.

    The body is a ball, or a polytope if that holds more. Whoever is not settled has a best score of lowest |z|_A at
    least.
    """
    low = LOW * lowest
    ordinary = settled & (norms < low)
    if matrix.A is not None:  # the longest point sets the width of bands
        size = lengths(points)
        ordinary &= size <= size[leads].max(initial=0.0)
    if 2 <= points.shape[1] <= FEW_FACETS and np.count_nonzero(ordinary) < MOST * len(points):
        inside, hull = settled.copy(), Hull(matrix.normalized, points[leads])
        for start in range(0, len(points), CHUNK):
            some = start + np.flatnonzero(settled[start : start + CHUNK])
            inside[some[hull.outer(points.take(some, axis=0))]] = False
        if np.count_nonzero(inside) > np.count_nonzero(ordinary):
            return inside, lambda best: float(hull.depth(np.zeros(1))[0])
    return ordinary, lambda best: best - low


def reach(problem: Problem) -> float:
    """The largest gap that the engine looks at, in units of |z_i|_A max|z|_A, with room for a number of layers."""
    return max(RESOLUTION, 2 * flag_of(problem, 2).own)


def flag_of(problem: Problem, dim: int) -> Band:
    """The widths within which scores are looked at closely."""
    return wider(tie_band(problem.tie_tolerance), rounding_bound(dim, problem.matrix))


def few_distinct(tokens: Floats) -> bool:
    """Whether there may be so few distinct tokens that all of their gaps are reported."""
    return len(set(map(tuple, tokens.tolist()))) <= SMALL


def run_of(cloud: Cloud, problem: Problem, max_layers: int) -> Run:
    """A run on the tokens of a large cloud that are not ordinary: as in all of it, narrow gaps alone are found."""
    run = Run(cloud, problem.alpha, problem.matrix, problem.tie_tolerance, max_layers)
    run.small = False
    return run


def limit_of_rest(run: Run, index: Ints, unseen: Callable[[Run], bool], origin: Origin | None = None) -> Rest | None:
    """Run the engine on the tokens that are not ordinary; None if it would have to look at the ordinary ones.

    Args:
        index: their places in the whole cloud.
        unseen: called after every look; whether nobody looks at an ordinary token.
        origin: what is known of a token at 0, which follows everyone.
    """
    cloud = run.cloud
    if origin is None and not cloud.tokens.any(axis=1).all():
        return None
    if origin is not None:
        origin.begin(run)
    while True:
        look = run.look()
        if not unseen(run):
            return None
        if not len(run.active) and (origin is None or not origin.waits(run)):
            break
        if run.layer == run.max_layers or run.unchanged_for >= run.patience:
            return None
        run.move(look) if origin is None else origin.move(run, look)
        del look  # memory for the next
    if origin is not None:
        origin.end(run)
    role, target, decided_at = of_tokens(run)
    cluster, centers, kind = find_centers(role, target, lambda some: ends_of(run, some))
    return Rest(
        index, decided_at, role, target, copies(cloud, run.groups), cluster, centers, kind,
        min(run.margin, RESOLUTION), run.undecided,
    )  # fmt: skip
