"""The limit of a large cloud: ordinary tokens go to their leaders at once, the engine runs on the others."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.ties import rounding_bound, tie_band, wider
from hardmax.cloud.metric import lengths
from hardmax.cloud.tokens import Cloud, Floats, Ints
from hardmax.dynamics.assembly import Problem, assemble, copies, find_centers
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.dynamics.engine import RESOLUTION, SMALL, Run
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.origin import Origin, origin_of
from hardmax.dynamics.passive import Cells, History
from hardmax.dynamics.plane import Plane

CHUNK = 1 << 15  # tokens looked at together: they stay in the cache
SAMPLE = 8192
COUNTED = 1 << 16  # tokens by which cells are chosen
PROBE = 1 << 14  # tokens that tell the number of layers
MOST_ATTEMPTS = 6
LOW = 0.97  # of the least best score of a token that is not settled at layer 0: ordinary tokens are shorter


@dataclass(frozen=True, eq=False)
class Rest:
    """The limit of the tokens that are not ordinary, by their place among them; see `Certificate`."""

    index: Ints  # of each in the whole cloud, ascending
    decided_at: Ints
    role: NDArray[np.int8]
    target: Ints
    groups: tuple[tuple[int, ...], ...]
    cluster: Ints
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

    def whole_groups(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.index[list(group)].tolist()) for group in self.groups)


def limit_in_plane(tokens: Floats, problem: Problem, max_layers: int) -> Equilibrium | None:
    """The limit, bit for bit as the engine computes it on the whole cloud; None if only that can."""
    n = len(tokens)
    if few_distinct(tokens[: 4 * SMALL]):
        return None
    plane = Plane(problem.matrix, problem.alpha, reach(problem), tokens[:: max(32, n // SAMPLE)])
    parts = [slice(start, start + CHUNK) for start in range(0, n, CHUNK)]
    for part in parts:
        plane.add(tokens[part], part.start)
    plane.seal()
    if plane.failed:
        return None
    system, code, origin = plane.system.index, np.empty(n, np.int32), origin_of(tokens, problem)
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
        leader, since = np.empty((2, len(alone)), np.int64)
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
    decided_at, target, cluster = (
        a.take(code) for a in (cells.since, system[first[cells.leader]], rest.cluster[first[cells.leader]])
    )
    followed = first[leader]
    decided_at[alone], target[alone], cluster[alone] = since, system[followed], rest.cluster[followed]
    margin = min(rest.margin, history.margin)
    del code, alone, leader, since, followed, found, history, cells, plane  # memory for the result
    role = np.full(n, FOLLOWER, np.int8)
    role[system], decided_at[system], cluster[system] = rest.role, rest.decided_at, rest.cluster
    target[system] = rest.whole_target()
    groups, undecided = rest.whole_groups(), rest.undecided
    if origin is not None and origin.stays:
        more = origin.undecided(tokens, problem, decided_at, target, rest.centers.take(cluster, axis=0), groups)
        if more is None:
            return None
        groups, undecided = (*groups, tuple(range(n))), undecided + more
    return assemble(
        tokens, problem, decided_at, role, target, groups, (cluster, rest.centers, rest.kind), margin, undecided,
    )  # fmt: skip


def system_and_cells(
    plane: Plane, tokens: Floats, index: Ints, sample: Floats, problem: Problem, max_layers: int,
    origin: Origin | None = None,
) -> tuple[Rest, History, Cells] | None:  # fmt: skip
    """The limit of the system, its layers, and what they do to all tokens of a cell; None if that is not enough."""
    history = History(plane)
    rest = limit_of_rest(tokens, index, problem, max_layers, history.note, origin)
    if rest is None:
        return None
    history.probe(sample[:: 1 + len(sample) // PROBE], max_layers)
    return rest, history, Cells(history, sample)


def limit_by_norm(run: Run, problem: Problem, max_layers: int) -> Equilibrium | None:
    """The same in three and more dimensions, with the first search of a run that has not begun.

    A follower w of a leader l is ordinary if it has a clear gap at layer 0 and |w|_A < low. Nobody looks at it later:
    a query q of layer k >= 1 with best score b sees w^k = l + rho^k (w - l) at

        <q, w^k> = (1 - rho^k) <q, l> + rho^k <q, w> <= b - rho^k (b - |q|_A low),

    which is out of reach as long as rho^k (b / |q|_A - low) > reach max|z|_A: tested at every layer. At layer 0 no
    ordinary token is followed, or in a tie, if the others have best scores above |q|_A low.
    """
    found = _short_followers(run)
    if found is None:
        return None
    ordinary, target, low, margin = found
    run.drop_search()  # memory for what follows
    tokens, of = run.cloud.tokens, run.cloud.point_of
    index = np.flatnonzero(~ordinary[of])

    def unseen(rest: Run) -> bool:
        return rest.layer == 0 or rest.rho**rest.layer * (rest.lowest - low) > max(rest.blur, RESOLUTION) * rest.largest

    rest = limit_of_rest(tokens[index], index, problem, max_layers, unseen)
    if rest is None:
        return None
    run.forget()
    n, first = len(tokens), run.cloud.first
    role, decided_at = np.full(n, FOLLOWER, np.int8), np.zeros(n, np.int64)
    cluster_of = np.zeros(len(ordinary), np.int64)
    cluster_of[of[index]] = rest.cluster
    cluster, targets = cluster_of[target][of], first[target][of]
    role[index], decided_at[index], cluster[index] = rest.role, rest.decided_at, rest.cluster
    targets[index] = rest.whole_target()
    del found, ordinary, target, cluster_of  # memory for the result
    return assemble(
        tokens, problem, decided_at, role, targets, rest.whole_groups(), (cluster, rest.centers, rest.kind),
        min(rest.margin, margin), rest.undecided,
    )  # fmt: skip


def _short_followers(run: Run) -> tuple[NDArray[np.bool_], Ints, float, float] | None:
    """Which points are ordinary, the target of every point, `low`, and the narrowest gap; None if too few are."""
    s = run.search()
    if run.small or not s.scores.query_norms.all():
        return None
    target, clear = s.found.target, s.found.gap > s.flag
    leads = clear & (target == np.arange(len(target)))
    settled = clear & leads[target] & ~leads
    low = LOW * float((s.found.best / s.scores.query_norms)[~settled].min())
    ordinary = settled & (s.scores.point_norms < low)
    if run.metric.A is not None:  # the longest point sets the width of bands
        size = lengths(run.points)
        ordinary &= size <= size[leads].max(initial=0.0)
    if 2 * ordinary.sum() < len(target):
        return None
    won = clear & np.isfinite(s.found.gap)
    return ordinary, target, low, float((s.found.gap[won] / s.scale[won]).min(initial=np.inf))


def reach(problem: Problem) -> float:
    """The largest gap that the engine looks at, in units of |z_i|_A max|z|_A, with room for a number of layers."""
    flag = wider(tie_band(problem.tie_tolerance), rounding_bound(2, problem.matrix))
    return max(RESOLUTION, 2 * flag.own)


def few_distinct(tokens: Floats) -> bool:
    """Whether there may be so few distinct tokens that all of their gaps are reported."""
    return len(set(map(tuple, tokens.tolist()))) <= SMALL


def limit_of_rest(
    tokens: Floats, index: Ints, problem: Problem, max_layers: int, unseen: Callable[[Run], bool],
    origin: Origin | None = None,
) -> Rest | None:  # fmt: skip
    """Run the engine on the tokens that are not ordinary; None if it would have to look at the ordinary ones.

    Args:
        unseen: called after every look; whether nobody looks at an ordinary token.
        origin: what is known of a token at 0, which follows everyone.
    """
    if origin is None and not tokens.any(axis=1).all():
        return None
    cloud = Cloud(tokens)
    run = Run(cloud, problem.alpha, problem.matrix, problem.tie_tolerance, max_layers)
    run.small = False
    if origin is not None:
        origin.begin(run)
    while True:
        look = run.look()
        if not unseen(run):
            return None
        if not len(run.active) and (origin is None or not origin.waits(run)):
            break
        if run.layer >= max_layers or run.unchanged_for >= run.patience:
            return None
        run.move(look) if origin is None else origin.move(run, look)
    if origin is not None:
        origin.end(run)
    of = cloud.point_of
    tied = run.role == TIE
    target = np.where(tied, run.target, cloud.first[np.where(tied, 0, run.target)])[of]
    role = run.role[of]
    cluster, centers, kind = find_centers(role, target, run.base[of])
    return Rest(
        index, run.decided_at[of], role, target, copies(cloud, run.groups), cluster, centers, kind,
        min(run.margin, RESOLUTION), run.undecided,
    )  # fmt: skip
