"""The infinite-depth limit in closed form, with a certificate."""

from collections.abc import Sequence
from contextlib import nullcontext
from fractions import Fraction
from typing import Any, overload

import numpy as np

from hardmax.attention import small
from hardmax.attention.rules import Hardmax
from hardmax.attention.search import RESOLUTION, Search
from hardmax.attention.ties import rounding_bound, tie_band, wider
from hardmax.cloud.metric import Metric, metric
from hardmax.cloud.parameters import is_list, layer_count, step_size
from hardmax.cloud.tokens import Cloud, CloudLike, CloudsLike, Number, clouds, is_batch
from hardmax.cloud.tokens import cloud as one_cloud
from hardmax.dynamics.assembly import Problem, assemble, copies, ends_of, find_centers, of_tokens
from hardmax.dynamics.batch import Batch, for_each_step, of_cloud, run_each
from hardmax.dynamics.certificate import FOLLOWER, LEADER
from hardmax.dynamics.engine import Run
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.errors import NotCertified, NotExact

LARGE = 8192  # tokens from which on setting the ordinary ones aside pays
RATIONAL_POINTS = 300  # up to this many points, what float64 leaves open is settled in rational arithmetic
RATIONAL_BITS = 1 << 18  # of its numbers, which grow by those of 1 + alpha with every layer


@overload
def limit(  # type: ignore[overload-overlap]  # a string is a sequence of strings
    Z: CloudLike, alpha: Number = ..., A: CloudLike | None = ..., *, exact: bool = ..., tie_tolerance: float = ...,
    max_layers: int = ...,
) -> Equilibrium: ...  # fmt: skip
@overload
def limit(
    Z: CloudsLike, alpha: Number | Sequence[Number] = ..., A: CloudLike | None = ..., *, exact: bool = ...,
    tie_tolerance: float = ..., max_layers: int = ...,
) -> Batch[Equilibrium]: ...  # fmt: skip
@overload
def limit(
    Z: CloudLike, alpha: Sequence[Number], A: CloudLike | None = ..., *, exact: bool = ..., tie_tolerance: float = ...,
    max_layers: int = ...,
) -> Batch[Equilibrium]: ...  # fmt: skip
def limit(  # types as strings: help() shows their names
    Z: "CloudLike | CloudsLike",
    alpha: "Number | Sequence[Number]" = 0.5,
    A: "CloudLike | None" = None,
    *,
    exact: bool = False,
    tie_tolerance: float = 0.0,
    max_layers: int = 10_000,
) -> "Equilibrium | Batch[Equilibrium]":
    """Where every token ends when the number of layers goes to infinity, and how this is known.

    z_i^infinity = lim_k z_i^k under (1.1): a leader's vertex of K, or the A-projection of 0 onto a face of K. Most
    tokens are decided by the follow sets of layer 0; layers are run only until the last one is.
    Implements [AFZ24, Theorem 1.1].

    Departs: repeated tokens are one point with a multiplicity; zero tokens, which the theorem excludes, follow
    everybody and are handled; scores within rounding (plus `tie_tolerance`) of each other count as ties in float64.

    Args:
        Z: (n, d) tokens, or a ragged batch: a list of such clouds of one dimension, or a 3-D array.
        alpha: step size > 0, or a list of them: the result is then a Batch, all clouds with the first, and so on.
        A: (d, d) symmetric positive definite matrix; None is the identity.
        exact: rational arithmetic; numbers may be integers, Fractions, decimal strings or floats (binary value).
        tie_tolerance: scores within tie_tolerance |z_i|_A max_j |z_j|_A of the maximum count as equal to it.
        max_layers: give up after this many layers; sooner if alpha is so small that tokens hardly move within them.

    Returns:
        An Equilibrium; for a batch or several step sizes, a Batch of them.

    Raises:
        BadInput: the input cannot be used.
        NotCertified: no certificate could be computed within `max_layers`; its `known` holds what is certain.

    Example:
        >>> limit([[1, 1], [-1, 1], [1, -1], [-1, -1], [0.5, 0]], alpha=0.5).points[4]
        array([1., 0.])
    """
    if is_list(alpha):
        rest: dict[str, Any] = {"exact": exact, "tie_tolerance": tie_tolerance, "max_layers": max_layers}
        return for_each_step(Equilibrium, alpha, lambda step: limit(Z, step, A, **rest))
    Hardmax(tie_tolerance)  # checks the value
    max_layers = layer_count(max_layers, "max_layers")
    if exact and tie_tolerance:
        raise NotExact(f"tie_tolerance is {tie_tolerance}, but exact arithmetic needs no tolerance")
    if exact:
        from hardmax.dynamics.exact.limit import limit_exact

        def run(one: Any, report: None = None) -> Equilibrium:
            return limit_exact(one, alpha, A, max_layers=max_layers)

        return run_each(Equilibrium, Z, run) if is_batch(Z) else run(Z)
    if is_batch(Z):
        batch = clouds(Z)
        found = _limits(batch, step_size(alpha), metric(A, batch.dim), tie_tolerance, max_layers)
        return Batch(Equilibrium, found)
    one = one_cloud(Z)
    return _limits([one], step_size(alpha), metric(A, one.dim), tie_tolerance, max_layers)[0]


def _limits(
    batch: Sequence[Cloud], alpha: float, matrix: Metric, tie_tolerance: float, max_layers: int
) -> list[Equilibrium]:
    """Small clouds all in one compiled call; those with close scores, and large ones, one by one."""
    problem = Problem(alpha, matrix, float(tie_tolerance))
    found: dict[int, Equilibrium] = {}
    few = {b: cloud for b, cloud in enumerate(batch) if cloud.n <= small.SMALL}
    slowly = small.layer_by_layer([cloud.n for cloud in few.values()], batch[0].dim)
    if few and not slowly:
        found = _small_limits(few, problem, max_layers)
    for b, cloud in enumerate(batch):
        if b not in found:
            try:
                with small.counted() if slowly and b in few else nullcontext():
                    found[b] = _limit_by_layers(cloud, problem, max_layers)
            except NotCertified as error:
                if len(batch) == 1:
                    raise
                raise of_cloud(b, error) from error
    return [found[b] for b in range(len(batch))]


def _small_limits(batch: dict[int, Cloud], problem: Problem, max_layers: int) -> dict[int, Equilibrium]:
    offsets = np.concatenate([[0], np.cumsum([c.n for c in batch.values()])])
    tokens = (
        next(iter(batch.values())).tokens if len(batch) == 1 else np.concatenate([c.tokens for c in batch.values()])
    )
    flag = wider(tie_band(problem.tie_tolerance), rounding_bound(tokens.shape[1], problem.matrix))
    run = small.compiled()
    fused = run(tokens, offsets, problem.alpha, None, problem.matrix.normalized.A, flag, max_layers=max_layers)
    found = {}
    for k, (b, cloud) in enumerate(batch.items()):
        here = slice(offsets[k], offsets[k + 1])
        if (fused.lock_target[here] >= 0).all():  # who is compared too closely is locked onto nobody
            target = fused.lock_target[here].copy()  # not a part of what the others hold
            role = np.where(fused.leads[here], LEADER, FOLLOWER).astype(np.int8)
            found[b] = assemble(
                cloud.tokens, problem, fused.lock_layer[here].copy(), role, target, (),
                find_centers(role, target, fused.tokens[here].__getitem__), float(fused.margin[k]), 0,
            )  # fmt: skip
    return found


def _limit_by_layers(cloud: Cloud, problem: Problem, max_layers: int) -> Equilibrium:
    first: Search | None = None
    if cloud.n >= LARGE:
        from hardmax.dynamics import large

        known = (large.limit_in_plane if cloud.dim == 2 else large.limit_in_space)(cloud, problem, max_layers)
        if isinstance(known, Equilibrium):
            return known
        first = known
        del known
    run = Run(cloud, problem.alpha, problem.matrix, problem.tie_tolerance, max_layers, first=first)
    del first  # memory for the layers
    # Waiting until followers merge with their leaders in float64 is pointless where comparisons are undecided already
    # and rational arithmetic can take over.
    rational = len(cloud.points) <= RATIONAL_POINTS and problem.tie_tolerance == 0
    while True:
        look = run.look()
        if rational and run.undecided and run.inexact_ties == 0 and (not len(run.active) or run.unchanged_for >= 8):
            found = _settle_in_rationals(run, max_layers)
            if found is not None:
                return found
            rational = False
        if not len(run.active):
            decided = _decisions(run)
            del run, look  # memory for the result
            return assemble(cloud.tokens, problem, *decided)
        hopeless = run.stuck and problem.tie_tolerance == 0 and not (rational and run.inexact_ties == 0)
        if hopeless or run.layer >= max_layers or run.unchanged_for >= run.patience:
            raise _not_certified(run, max_layers)
        run.move(look)
        del look  # memory for the next


def _decisions(run: Run) -> tuple[Any, ...]:
    """What `assemble` needs to know of a run, for tokens instead of distinct points."""
    role, target, decided_at = of_tokens(run)
    clusters = find_centers(role, target, lambda some: ends_of(run, some) + 0.0)  # no -0.0
    margin = run.margin if run.small else min(run.margin, RESOLUTION)
    return decided_at, role, target, copies(run.cloud, run.groups), clusters, margin, run.undecided


def _settle_in_rationals(run: Run, max_layers: int) -> Equilibrium | None:
    """What float64 cannot decide (ties after layer 0, late leaders), for the same floats as rationals.

    Not where ties of the given tokens hold only within the tolerance: there the caller's intention and the binary
    values differ.
    """
    from hardmax.dynamics.exact.limit import limit_exact

    layers = RATIONAL_BITS // (1 + Fraction(run.alpha)).numerator.bit_length()
    try:
        found = limit_exact(run.cloud.tokens, run.alpha, run.metric.A, max_layers=min(max_layers, layers))
    except NotCertified:
        return None
    return Equilibrium(
        tokens=run.cloud.tokens,
        points=found.points.astype(np.float64),
        cluster=found.cluster,
        centers=found.centers.astype(np.float64),
        kind=found.kind,
        leader_since=found.leader_since,
        certificate=found.certificate,
    )


def _not_certified(run: Run, max_layers: int) -> NotCertified:
    cloud = run.cloud
    is_open = (run.role < 0)[cloud.point_of]
    token = int(np.flatnonzero(is_open)[0])
    points = np.where((run.role < 0)[:, None], run.points, run.base())[cloud.point_of]
    where = ", ".join(f"{x:.6g}" for x in points[token][:4])
    return NotCertified(
        f"no certificate for {int(is_open.sum())} of {cloud.n} tokens after {run.layer} layers "
        f"(first: token {token}, now at ({where}))",
        found=f"{run.undecided} comparisons closer than float64 rounding can decide; the other "
        f"{int((~is_open).sum())} tokens are certain",
        fix="exact=True decides every comparison for the given binary values (or for decimals given as strings)"
        if run.undecided
        else f"raise max_layers, now {max_layers}: a small alpha takes about 2/alpha layers",
        known={
            "certain": np.flatnonzero(~is_open),
            "open": np.flatnonzero(is_open),
            "points": points,
            "leaders": np.flatnonzero((run.role == LEADER)[cloud.point_of]),
            "layers": run.layer,
        },
    )
