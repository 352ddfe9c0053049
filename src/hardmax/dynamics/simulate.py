"""Layers one after another: one entry for the paper's system, its variants, and rational arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.attention import small
from hardmax.attention.rules import Hardmax, Head, Rule, Sublayer, as_rule
from hardmax.attention.ties import Band, rounding_bound, tie_band, wider
from hardmax.cloud.metric import Metric, metric
from hardmax.cloud.parameters import is_list, layer_count, step_size
from hardmax.cloud.tokens import Cloud, CloudLike, Clouds, CloudsLike, Floats, Ints, Number, clouds, is_batch
from hardmax.cloud.tokens import cloud as one_cloud
from hardmax.dynamics.batch import Batch, for_each_step, run_each
from hardmax.dynamics.follow_sets import SetTable
from hardmax.dynamics.history import KEPT, TokenHistory, check_room
from hardmax.dynamics.trajectory import Outcome, Problem, Trajectory
from hardmax.errors import BadInput, NotExact
from hardmax.io.progress import Report, reporting

if TYPE_CHECKING:
    from hardmax.attention.fused import Fused

HARDMAX = Hardmax()


class Options(TypedDict, total=False):
    """The keyword arguments of `simulate`, for its overloads."""

    rule: Rule | str | None
    normalization: str
    V: CloudLike | None
    heads: Sequence[Head | CloudLike] | None
    causal: bool
    feed_forward: Sublayer | None
    definite: bool
    exact: bool
    keep: Literal["all", "last"]
    progress: bool | Report


@overload
def simulate(  # type: ignore[overload-overlap]  # a string is a sequence of strings
    Z: CloudLike, alpha: Number = ..., A: CloudLike | None = ..., layers: int = ..., **options: Unpack[Options]
) -> Trajectory: ...
@overload
def simulate(
    Z: CloudsLike,
    alpha: Number | Sequence[Number] = ...,
    A: CloudLike | None = ...,
    layers: int = ...,
    **options: Unpack[Options],
) -> Batch[Trajectory]: ...
@overload
def simulate(
    Z: CloudLike, alpha: Sequence[Number], A: CloudLike | None = ..., layers: int = ..., **options: Unpack[Options]
) -> Batch[Trajectory]: ...  # fmt: skip
def simulate(  # types as strings: help() shows their names
    Z: "CloudLike | CloudsLike",
    alpha: "Number | Sequence[Number]" = 0.5,
    A: "CloudLike | None" = None,
    layers: int = 30,
    *,
    rule: "Rule | str | None" = None,
    normalization: str = "rescale",
    V: "CloudLike | None" = None,
    heads: "Sequence[Head | CloudLike] | None" = None,
    causal: bool = False,
    feed_forward: "Sublayer | None" = None,
    definite: bool = True,
    exact: bool = False,
    keep: Literal["all", "last"] = "all",
    progress: "bool | Report" = False,
) -> "Trajectory | Batch[Trajectory]":
    """Run the dynamics for a number of layers.

    z_i^{k+1} = (z_i^k + alpha mean_{j in C_i} z_j^k) / (1 + alpha), C_i = argmax_j <A z_i^k, z_j^k>.
    Implements [AFZ24, eq. (1.1a), (1.1b)].

    Departs: equal tokens are merged first and weigh in the means with their multiplicity; in float64, scores within
    rounding (plus the rule's `tie_tolerance`) of the maximum count as ties; a zero token follows everybody.

    Args:
        Z: (n, d) tokens, or a ragged batch: a list of such clouds of one dimension, or a 3-D array.
        alpha: step size > 0, or a list of them: the result is then a Batch, all clouds with the first, and so on.
        A: (d, d) matrix of the scores; None is the identity. Symmetric positive definite unless definite=False.
        layers: the number of layers, >= 0.
        rule: Hardmax() (the paper), Softmax, Localmax, Uniform, RandomFollow, Chain; or a name such as "softmax".
        normalization: "rescale" (the paper's 1/(1+alpha)), "none", or "sphere" (unit length after every layer).
        V: value matrix; with "rescale" z' = (I + alpha V)^-1 (z + alpha V m).
        heads: several heads, each Head(A, V) or a matrix A; their values are averaged. Excludes A and V.
        causal: token i sees the tokens 0..i only.
        feed_forward: sublayer after the attention of each layer: FeedForward(W, U, b) or a function on (n, d) arrays.
        definite: False allows any real A, which the theorem does not cover.
        exact: rational arithmetic (Hardmax only); numbers may be integers, Fractions, decimal strings or floats.
        keep: "last" stores the last layer only, for long runs; its outcome is then judged by the last few layers.
        progress: True shows a progress bar on stderr; or a function that is called with (layers done, layers).

    Returns:
        A Trajectory, which keeps all of this in `problem`; for a batch or several step sizes, a Batch of them.

    Raises:
        BadInput: the input cannot be used, or numbers overflow during a run without normalization.
        NotExact: exact=True with something that has no rational value (softmax, the sphere, a Python function).

    Example:
        >>> simulate([[1, 0], [-1, 0], [0.5, 0]], alpha=1.0, layers=2).tokens[:, 2, 0]
        array([0.5  , 0.75 , 0.875])
    """
    options: dict[str, Any] = {
        "normalization": normalization, "V": V, "heads": heads, "causal": causal, "feed_forward": feed_forward,
        "definite": definite, "keep": keep,
    }  # fmt: skip
    if is_list(alpha):
        rest = options | {"rule": rule, "exact": exact, "progress": progress}
        return for_each_step(Trajectory, alpha, lambda step: simulate(Z, step, A, layers, **rest))
    rule = HARDMAX if rule is None else as_rule(rule)
    layers = layer_count(layers)
    if keep not in KEPT:
        raise BadInput(f'keep is {keep!r}; expected "all" or "last"')
    papers = normalization == "rescale" and V is None and heads is None and not causal and feed_forward is None
    if papers and isinstance(rule, Hardmax) and not exact:
        alpha = step_size(alpha)
        batch = is_batch(Z)
        given: Any = clouds(Z) if batch else one_cloud(Z)
        matrix = metric(A, given.dim, definite)
        if matrix.definite:
            with reporting(progress, "simulating") as report:
                task = _Task(alpha, matrix, layers, rule, keep, report)
                return _simulate_batch(given, task) if batch else _simulate_one(given, task)
    run: Any
    if not exact:
        from hardmax.dynamics.variants import simulate_variant

        run = partial(simulate_variant, alpha=alpha, layers=layers, A=A, rule=rule, **options)
    else:
        from hardmax.dynamics.exact.layers import simulate_exact

        if not isinstance(rule, Hardmax):
            raise NotExact(f"{rule} has no rational values", fix="exact=True needs rule=Hardmax()")
        if rule.tie_tolerance:
            raise NotExact(f"tie_tolerance is {rule.tie_tolerance}, but exact arithmetic needs no tolerance")
        run = partial(simulate_exact, alpha=alpha, A=A, layers=layers, **options)
    with reporting(progress, "simulating") as report:
        if is_batch(Z):
            return run_each(Trajectory, Z, run, report)
        return run(Z, report=report)


class _Task(NamedTuple):
    """The arguments of a run except for the tokens, checked."""

    alpha: float
    matrix: Metric
    layers: int
    rule: Hardmax
    keep: str
    report: Report | None = None


def _simulate_one(cloud: Cloud, task: _Task) -> Trajectory:
    if cloud.n <= small.SMALL and task.keep == "all":
        check_room(task.layers, cloud.n, cloud.dim)
        if small.layer_by_layer([cloud.n], cloud.dim):
            with small.counted():
                return _simulate_layers(cloud, task)
        # All layers in one compiled call, unless some comparison is too close for it.
        matrix, rule = task.matrix, task.rule
        flag = _flag_band(rule.tie_tolerance, cloud.dim, matrix)
        fused = small.compiled()(
            cloud.tokens, np.array([0, cloud.n]), task.alpha, task.layers, matrix.normalized.A, flag, history=True
        )
        if not fused.flagged[0]:
            return _SmallTrajectory(cloud, task.alpha, matrix, rule, fused)
    return _simulate_layers(cloud, task)


class _SmallTrajectory(Trajectory):
    """A trajectory of the compiled call. What it tells beyond the tokens is worked out when first asked for: for ten
    tokens that takes longer than the layers themselves."""

    _made: tuple[Cloud, float, Metric, Hardmax, "Fused"]

    def __init__(self, *made: Any) -> None:
        self.__dict__.update(tokens=made[-1].history, undecided=0, _made=made)

    def __reduce__(self) -> tuple[type[Trajectory], tuple[Any, ...]]:
        return Trajectory, tuple(self.__getstate__().values())

    @cached_property
    def problem(self) -> Problem:
        _, alpha, matrix, rule, _ = self._made
        return Problem(alpha, (Head(matrix.A),), rule)

    @cached_property
    def leader_since(self) -> dict[int, int]:
        fused = self._made[-1]
        leads = np.flatnonzero(fused.leads)
        return dict(zip(leads.tolist(), fused.lock_layer[leads].tolist(), strict=True))

    @cached_property
    def outcome(self) -> Outcome:
        _, alpha, _, _, fused = self._made
        done = bool((fused.lock_target >= 0).all())
        return _outcome(self.tokens, alpha, int(fused.lock_layer.max()) if done else None)

    @cached_property
    def sets(self) -> SetTable:
        cloud, _, _, _, fused = self._made
        targets: Any = fused.targets
        which = cloud.point_of[targets[: fused.stopped[0] + 1]].astype(np.int32)
        return SetTable.of_points(cloud, which, [], self.layers)


_SmallTrajectory.__name__ = _SmallTrajectory.__qualname__ = "Trajectory"  # what messages about attributes show


@lru_cache(maxsize=64)
def _flag_band(tie_tolerance: float, dim: int, matrix: Metric) -> Band:
    return wider(tie_band(tie_tolerance), rounding_bound(dim, matrix))


def _simulate_layers(cloud: Cloud, task: _Task) -> Trajectory:
    """Any size, any ties: layer by layer on distinct points."""
    from hardmax.dynamics.engine import Run

    alpha, matrix, layers, rule, keep, report = task
    run = Run(cloud, alpha, matrix, rule.tie_tolerance)
    of, m = cloud.point_of, len(cloud.points)
    history = TokenHistory(layers, cloud.n, cloud.dim, keep)
    which: list[NDArray[np.int32]] = []  # for each layer the number of the set that each token follows
    numbers: dict[bytes, int] = {}  # of sets of several points

    def number(group: Ints) -> int:
        return numbers.setdefault(group.tobytes(), m + len(numbers))

    for layer in range(layers + 1):
        np.take(run.points, of, axis=0, out=history[layer])
        before = run.role >= 0
        look = run.look()
        follows = np.where(before, run.target, -1).astype(np.int32)
        tied = np.flatnonzero(before & (follows < 0))
        if len(tied):
            follows[tied] = np.array([number(group) for group in run.groups])[-1 - follows[tied]]
        follows[look.active] = look.target
        for i, group in look.ties.items():
            follows[i] = number(group)
        if keep == "last":
            which.clear()
        which.append(follows[of])
        if report is not None:
            report(layer, layers)
        if not len(run.active):
            for later in range(max(layer + 1, history.oldest), layers + 1):
                np.take(run.decided_points(later), of, axis=0, out=history[later])
            break
        if layer < layers:
            run.move(look)
    groups = [np.frombuffer(group, np.int64) for group in numbers]
    leading = np.flatnonzero((run.role == 0)[of])
    decided = None if len(run.active) else int(run.decided_at.max())
    return Trajectory(
        tokens=history.kept(),
        problem=Problem(alpha, (Head(matrix.A),), rule),
        leader_since=dict(zip(leading.tolist(), run.decided_at[of[leading]].tolist(), strict=True)),
        outcome=_outcome(history.last_layers(), alpha, decided, run.undecided, history.oldest),
        sets=SetTable.of_points(cloud, np.array(which), groups, layers - history.first_layer),
        undecided=run.undecided,
        first_layer=history.first_layer,
    )


def _outcome(tokens: Floats, alpha: float, decided: int | None, undecided: int = 0, first_layer: int = 0) -> Outcome:
    """Settled or moving, judged by the tokens; and whether every follow set is final, from layer `decided` on."""
    from hardmax.dynamics.outcome import detect

    outcome = detect(tokens, alpha=alpha, undecided=undecided, first_layer=first_layer)
    if decided is None or undecided:
        return outcome
    return replace(outcome, detail=f"{outcome.detail}; every follow set is final from layer {decided} on")


@dataclass(frozen=True, eq=False)
class _Trajectories(Sequence[Trajectory]):
    """The trajectories of a batch, each computed when it is first used."""

    clouds: Sequence[Cloud]
    task: _Task

    def __len__(self) -> int:
        return len(self.clouds)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return replace(self, clouds=self.clouds[index])
        return _simulate_one(self.clouds[index], self.task)


def _simulate_batch(batch: Clouds, task: _Task) -> Batch[Trajectory]:
    report, task = task.report, task._replace(report=None)
    alpha, matrix, layers, rule, *_ = task
    each = _Trajectories(batch, task)
    offsets = batch.offsets
    sizes = np.diff(offsets)
    if sizes.max() > small.SMALL or small.layer_by_layer(sizes.tolist(), batch.dim):
        return run_each(Trajectory, batch, lambda cloud: _simulate_one(cloud, task), report)
    flag = _flag_band(rule.tie_tolerance, batch.dim, matrix)
    fused = small.compiled()(batch.tokens, offsets, alpha, layers, matrix.normalized.A, flag)
    leads = np.flatnonzero(fused.leads)
    starts = offsets.tolist()
    ends = np.searchsorted(leads, offsets).tolist()
    last = [fused.tokens[s:e] for s, e in pairwise(starts)]
    leaders = [leads[s:e] - o for (s, e), o in zip(pairwise(ends), starts, strict=False)]
    undecided = [0] * len(batch)
    for b in np.flatnonzero(fused.flagged).tolist():
        careful = each[b]
        last[b], leaders[b], undecided[b] = careful.tokens[-1], careful.leaders, careful.undecided
    return Batch(Trajectory, each, last=last, leaders=leaders, _undecided=undecided)
