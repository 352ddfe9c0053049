"""Layers one after another: one entry for the paper's system, its variants, and rational arithmetic."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import Hardmax, Head, Rule, Sublayer
from hardmax.attention.ties import Band, rounding_bound, tie_band, wider
from hardmax.cloud.metric import Metric, metric
from hardmax.cloud.parameters import layer_count, step_size
from hardmax.cloud.tokens import Batch, Cloud, Floats, Ints, clouds, is_batch
from hardmax.cloud.tokens import cloud as one_cloud
from hardmax.dynamics.trajectory import FollowSets, Outcome, Trajectory, TrajectoryBatch
from hardmax.errors import BadInput, NotExact

if TYPE_CHECKING:
    from hardmax.attention.fused import Fused

HARDMAX = Hardmax()
SMALL = 1024  # up to so many tokens all layers run in one compiled call


def simulate(
    Z: Any,
    alpha: Any = 0.5,
    A: Any = None,
    layers: int = 30,
    *,
    rule: Rule | None = None,
    normalization: str = "rescale",
    V: Any = None,
    heads: Sequence[Head | Any] | None = None,
    causal: bool = False,
    feed_forward: Sublayer | None = None,
    definite: bool = True,
    exact: bool = False,
) -> Trajectory | TrajectoryBatch:
    """Run the dynamics for a number of layers.

    z_i^{k+1} = (z_i^k + alpha mean_{j in C_i} z_j^k) / (1 + alpha), C_i = argmax_j <A z_i^k, z_j^k>.
    Implements [AFZ24, eq. (1.1a), (1.1b)].

    Departs: equal tokens are merged first and weigh in the means with their multiplicity; in float64, scores within
    rounding (plus the rule's `tie_tolerance`) of the maximum count as ties; a zero token follows everybody.

    Args:
        Z: (n, d) tokens, or a ragged batch: a list of such clouds of one dimension, or a 3-D array.
        alpha: step size > 0.
        A: (d, d) matrix of the scores; None is the identity. Symmetric positive definite unless definite=False.
        layers: how many layers, >= 0.
        rule: Hardmax() (the paper), Softmax, Localmax, Uniform, RandomFollow, Chain.
        normalization: "rescale" (the paper's 1/(1+alpha)), "none", or "sphere" (unit length after every layer).
        V: value matrix; with "rescale" z' = (I + alpha V)^-1 (z + alpha V m).
        heads: several heads, each Head(A, V) or a matrix A; their values are averaged. Excludes A and V.
        causal: token i sees the tokens 0..i only.
        feed_forward: sublayer after the attention of each layer: FeedForward(W, U, b) or a function on (n, d) arrays.
        definite: False allows any real A, which the theorem does not cover.
        exact: rational arithmetic (Hardmax only); numbers may be integers, Fractions, decimal strings or floats.

    Returns:
        A Trajectory; for a batch a TrajectoryBatch.

    Raises:
        BadInput: the input cannot be used, or numbers overflow during a run without normalization.
        NotExact: exact=True with something that has no rational value (softmax, the sphere, a Python function).

    Example:
        >>> simulate([[1, 0], [-1, 0], [0.5, 0]], alpha=1.0, layers=2).tokens[:, 2, 0]
        array([0.5  , 0.75 , 0.875])
    """
    rule = HARDMAX if rule is None else rule
    layers = layer_count(layers)
    papers = normalization == "rescale" and V is None and heads is None and not causal and feed_forward is None
    if papers and isinstance(rule, Hardmax) and not exact:
        alpha = step_size(alpha)
        if is_batch(Z):
            batch = clouds(Z)
            matrix = metric(A, batch.dim, definite)
            if matrix.definite:
                return _simulate_batch(batch, alpha, matrix, layers, rule)
        else:
            cloud = one_cloud(Z)
            matrix = metric(A, cloud.dim, definite)
            if matrix.definite:
                return _simulate_one(cloud, alpha, matrix, layers, rule)
    options: dict[str, Any] = {
        "normalization": normalization, "V": V, "heads": heads, "causal": causal, "feed_forward": feed_forward,
        "definite": definite,
    }  # fmt: skip
    if not exact:
        from hardmax.dynamics.variants import simulate_variant

        return _each(Z, lambda one: simulate_variant(one, alpha, layers, A=A, rule=rule, **options))

    from hardmax.dynamics.exact.layers import simulate_exact

    if not isinstance(rule, Hardmax):
        raise NotExact(f"{rule} has no rational values", fix="exact=True goes with rule=Hardmax() only")
    if rule.tie_tolerance:
        raise NotExact(f"tie_tolerance is {rule.tie_tolerance}, but exact arithmetic needs no tolerance")
    return _each(Z, lambda one: simulate_exact(one, alpha, A, layers, **options))


def _each(Z: Any, run: Any) -> Trajectory | TrajectoryBatch:
    """One cloud, or each cloud of a batch."""
    if not is_batch(Z):
        trajectory: Trajectory = run(Z)
        return trajectory
    if len(Z) == 0:
        raise BadInput("Z is an empty batch", fix="give at least one cloud")
    done: list[Trajectory] = []
    for b, one in enumerate(Z):
        try:
            done.append(run(one))
        except BadInput as error:
            raise BadInput(f"cloud {b} of the batch: {error.what}", found=error.found, fix=error.fix) from error
        if done[b].dim != done[0].dim:
            raise BadInput(f"Z[{b}] has dimension {done[b].dim}, but Z[0] has dimension {done[0].dim}")
    return _batch_of(done)


def _simulate_one(cloud: Cloud, alpha: float, matrix: Metric, layers: int, rule: Hardmax) -> Trajectory:
    if cloud.n <= SMALL:
        trajectory = _simulate_small(cloud, alpha, matrix, layers, rule)
        if trajectory is not None:
            return trajectory
    return _simulate_layers(cloud, alpha, matrix, layers, rule)


def _simulate_small(cloud: Cloud, alpha: float, matrix: Metric, layers: int, rule: Hardmax) -> Trajectory | None:
    """All layers in one compiled call; None if some comparison is too close for it."""
    flag = _flag_band(rule.tie_tolerance, cloud.dim, matrix)
    fused = _compiled()(cloud.tokens, np.array([0, cloud.n]), alpha, layers, matrix.normalized.A, flag, history=True)
    return None if fused.flagged[0] else _SmallTrajectory(cloud, alpha, matrix, rule, fused)


@cache
def _compiled() -> Any:
    """The compiled call. An import statement of its own would cost a tenth of the time of ten tokens."""
    from hardmax.attention.fused import run_fused

    return run_fused


class _SmallTrajectory(Trajectory):
    """A trajectory of the compiled call. What it tells beyond the tokens is worked out when first asked for: for ten
    tokens that takes longer than the layers themselves."""

    cloud: Cloud
    fused: "Fused"

    def __init__(self, cloud: Cloud, alpha: float, matrix: Metric, rule: Hardmax, fused: "Fused") -> None:
        self.__dict__.update(
            tokens=fused.history, alpha=alpha, A=matrix.A, rule=rule, normalization="rescale", undecided=0, exact=False,
            cloud=cloud, fused=fused, sets=self._sets,
        )  # fmt: skip

    @cached_property
    def leader_since(self) -> dict[int, int]:
        leads = np.flatnonzero(self.fused.leads)
        return dict(zip(leads.tolist(), self.fused.lock_layer[leads].tolist(), strict=True))

    @cached_property
    def outcome(self) -> Outcome:
        done = bool((self.fused.lock_target >= 0).all())
        return _outcome(self.tokens, self.alpha, int(self.fused.lock_layer.max()) if done else None)

    def _sets(self, layer: int) -> FollowSets:
        targets: Any = self.fused.targets
        return _expand(self.cloud, targets[layer], {})


@lru_cache(maxsize=64)
def _flag_band(tie_tolerance: float, dim: int, matrix: Metric) -> Band:
    return wider(tie_band(tie_tolerance), rounding_bound(dim, matrix))


def _simulate_layers(cloud: Cloud, alpha: float, matrix: Metric, layers: int, rule: Hardmax) -> Trajectory:
    """Any size, any ties: layer by layer on distinct points."""
    from hardmax.dynamics.engine import Look, Run

    run = Run(cloud, alpha, matrix, rule.tie_tolerance)
    of = cloud.point_of
    tokens = np.empty((layers + 1, cloud.n, cloud.dim))
    looks: list[Look] = []
    for layer in range(layers + 1):
        np.take(run.points, of, axis=0, out=tokens[layer])
        look = run.look()
        looks.append(look)
        if not len(run.active):
            for later in range(layer + 1, layers + 1):
                np.take(run.decided_points(later), of, axis=0, out=tokens[later])
            break
        if layer < layers:
            run.move(look)

    def sets(layer: int) -> FollowSets:
        target = np.where(run.role >= 0, run.target, -1)
        ties = {int(i): run.groups[-1 - target[i]] for i in np.flatnonzero((run.role >= 0) & (target < 0))}
        if layer < len(looks):  # what was not decided before this layer
            look = looks[layer]
            target[look.active] = look.target
            later = set(look.active.tolist())  # their ties, if any, are those of this layer, not of their decision
            ties = {i: group for i, group in ties.items() if i not in later} | look.ties
        return _expand(cloud, target, ties)

    leading = np.flatnonzero((run.role == 0)[of])
    since = run.decided_at[of[leading]]
    return Trajectory(
        tokens, alpha, matrix.A, dict(zip(leading.tolist(), since.tolist(), strict=True)),
        _outcome(tokens, alpha, None if len(run.active) else int(run.decided_at.max()), run.undecided), sets, rule,
        undecided=run.undecided,
    )  # fmt: skip


def _outcome(tokens: Floats, alpha: float, decided: int | None, undecided: int = 0) -> Outcome:
    """Settled or moving, judged by the tokens; and whether every follow set is final, from layer `decided` on."""
    from hardmax.dynamics.outcome import detect

    outcome = detect(tokens, alpha=alpha, undecided=undecided)
    if decided is None or undecided:
        return outcome
    return replace(outcome, detail=f"{outcome.detail}; every follow set is final from layer {decided} on")


def _expand(cloud: Cloud, target: NDArray[Any], ties: dict[int, Ints]) -> FollowSets:
    """Sets of points -> sets of tokens, all copies listed. `target` is by point, or by token if n = len(target)."""
    if len(cloud.first) == cloud.n:
        singles = [(t,) for t in target.tolist()]
        for i, group in ties.items():
            singles[i] = tuple(group.tolist())
        return tuple(singles)
    order = np.argsort(cloud.point_of, kind="stable").tolist()
    ends = np.cumsum(cloud.multiplicity).tolist()
    at = [tuple(order[e - c : e]) for e, c in zip(ends, cloud.multiplicity.tolist(), strict=True)]
    if len(target) == cloud.n:  # by token, naming first copies
        by_token = cloud.point_of[target].tolist()
        return tuple(at[p] for p in by_token)
    by_point = [at[t] for t in target.tolist()]
    for i, group in ties.items():
        by_point[i] = tuple(sorted(t for p in group.tolist() for t in at[p]))
    return tuple(by_point[p] for p in cloud.point_of.tolist())


def _simulate_batch(batch: Batch, alpha: float, matrix: Metric, layers: int, rule: Hardmax) -> TrajectoryBatch:
    def make(b: int) -> Trajectory:
        return _simulate_one(batch[b], alpha, matrix, layers, rule)

    offsets = batch.offsets
    if np.diff(offsets).max() > SMALL:
        return _batch_of([make(b) for b in range(len(batch))])
    flag = _flag_band(rule.tie_tolerance, batch.dim, matrix)
    fused = _compiled()(batch.tokens, offsets, alpha, layers, matrix.normalized.A, flag)
    leads = np.flatnonzero(fused.leads)
    starts = offsets.tolist()
    ends = np.searchsorted(leads, offsets).tolist()
    last = [fused.tokens[s:e] for s, e in pairwise(starts)]
    leaders = [leads[s:e] - o for (s, e), o in zip(pairwise(ends), starts, strict=False)]
    undecided = 0
    for b in np.flatnonzero(fused.flagged).tolist():
        careful = make(b)
        last[b], leaders[b] = careful.tokens[-1], careful.leaders
        undecided += careful.undecided
    return TrajectoryBatch(last, leaders, undecided, make)


def _batch_of(done: list[Trajectory]) -> TrajectoryBatch:
    return TrajectoryBatch(
        [t.tokens[-1] for t in done], [t.leaders for t in done], sum(t.undecided for t in done), done.__getitem__
    )
