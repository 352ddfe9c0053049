"""The infinite-depth limit in closed form, with a certificate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import Hardmax
from hardmax.dynamics.certificate import LEADER, TIE, Certificate, fingerprint
from hardmax.dynamics.engine import RESOLUTION, Run
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.errors import NotCertified
from hardmax.tokens import Cloud, Floats, Ints, Metric, clouds, is_batch, metric, step_size
from hardmax.tokens import cloud as one_cloud

RATIONAL_POINTS = 300  # up to so many points, what float64 leaves open is settled in rational arithmetic


def limit(
    Z: Any,
    alpha: Any = 0.5,
    A: Any = None,
    *,
    exact: bool = False,
    tie_tolerance: float = 0.0,
    max_layers: int = 10_000,
) -> Equilibrium | list[Equilibrium]:
    """Where every token ends when the number of layers goes to infinity, and how this is known.

    z_i^infinity = lim_k z_i^k under (1.1): a leader's vertex of K, or the A-projection of 0 onto a face of K. Most
    tokens are decided by the follow sets of layer 0; layers are run only until the last one is.
    Implements [AFZ24, Theorem 1.1].

    Departs: repeated tokens are one point with a multiplicity; zero tokens, which the theorem excludes, follow
    everybody and are handled; scores within rounding (plus `tie_tolerance`) of each other count as ties in float64.

    Args:
        Z: (n, d) tokens, or a list of clouds (then a list of results is returned).
        alpha: step size > 0.
        A: (d, d) symmetric positive definite matrix; None is the identity.
        exact: rational arithmetic; numbers may be integers, Fractions, decimal strings or floats (binary value).
        tie_tolerance: scores within tie_tolerance |z_i|_A max_j |z_j|_A of the maximum count as equal to it.
        max_layers: give up after so many layers.

    Returns:
        An Equilibrium, or a list of them for a batch.

    Raises:
        BadInput: the input cannot be used.
        NotCertified: no certificate within `max_layers`; its `known` holds what is certain all the same.

    Example:
        >>> limit([[1, 1], [-1, 1], [1, -1], [-1, -1], [0.5, 0]], alpha=0.5).points[4]
        array([1., 0.])
    """
    if is_batch(Z):
        if exact:
            return [_limit_exact(one, alpha, A, max_layers) for one in Z]
        batch = clouds(Z)
        step, matrix = step_size(alpha), metric(A, batch[0].dim)
        return [_limit_float(one, step, matrix, tie_tolerance, max_layers) for one in batch]
    if exact:
        return _limit_exact(Z, alpha, A, max_layers)
    one = one_cloud(Z)
    return _limit_float(one, step_size(alpha), metric(A, one.dim), tie_tolerance, max_layers)


def _limit_exact(Z: Any, alpha: Any, A: Any, max_layers: int) -> Equilibrium:
    from hardmax.dynamics.rational import limit_exact

    return limit_exact(Z, alpha, A, max_layers=max_layers)


def _limit_float(cloud: Cloud, alpha: float, matrix: Metric, tie_tolerance: float, max_layers: int) -> Equilibrium:
    Hardmax(tie_tolerance)  # checks the value
    run = Run(cloud, alpha, matrix, tie_tolerance)
    # After so many layers without a new decision followers have merged with their leaders in float64.
    patience = 8 if len(cloud.points) <= RATIONAL_POINTS else int(40 / np.log1p(alpha)) + 8
    while True:
        look = run.look()
        if not len(run.active):
            return _equilibrium(run)
        if run.layer >= max_layers or run.unchanged_for >= patience:
            return _settle_in_rationals(run, max_layers)
        run.move(look)


def _settle_in_rationals(run: Run, max_layers: int) -> Equilibrium:
    """What float64 leaves open (ties on moving points, late leaders), decided for the same floats as rationals.

    Not where ties hold only within the tolerance: there the caller's intention and the binary values differ.
    """
    if run.inexact_ties == 0 and len(run.cloud.points) <= RATIONAL_POINTS:
        A = run.metric.A
        try:
            found = _limit_exact(run.cloud.tokens, run.alpha, A, max_layers)
        except NotCertified as error:
            raise _not_certified(run) from error
        return Equilibrium(
            tokens=run.cloud.tokens,
            points=found.points.astype(np.float64),
            cluster=found.cluster,
            centers=found.centers.astype(np.float64),
            kind=found.kind,
            leader_since=found.leader_since,
            certificate=found.certificate,
        )
    raise _not_certified(run)


def _not_certified(run: Run) -> NotCertified:
    cloud = run.cloud
    is_open = (run.role < 0)[cloud.point_of]
    token = int(np.flatnonzero(is_open)[0])
    points = np.where((run.role < 0)[:, None], run.points, run.base)[cloud.point_of]
    where = ", ".join(f"{x:.6g}" for x in points[token][:4])
    return NotCertified(
        f"no certificate for {int(is_open.sum())} of {cloud.n} tokens after {run.layer} layers "
        f"(first: token {token}, now at ({where}))",
        found=f"{run.undecided} comparisons closer than float64 rounding can decide; the other "
        f"{int((~is_open).sum())} tokens are certain",
        fix="exact=True decides every comparison for the given binary values (or for decimals given as strings)",
        known={
            "certified": np.flatnonzero(~is_open),
            "open": np.flatnonzero(is_open),
            "points": points,
            "leaders": np.flatnonzero((run.role == LEADER)[cloud.point_of]),
            "layers": run.layer,
        },
    )


def _equilibrium(run: Run) -> Equilibrium:
    cloud = run.cloud
    center_of, centers, kind = _centers(run)
    points = centers[center_of]
    copies = _copies(cloud)
    tie = run.role == TIE
    target = np.where(tie, run.target, cloud.first[np.where(tie, 0, run.target)])
    of = cloud.point_of
    certificate = Certificate(
        alpha=run.alpha,
        A=run.metric.A,
        decided_at=run.decided_at[of],
        role=run.role[of],
        target=target[of],
        groups=tuple(copies(group) for group in run.groups),
        limit=points[of],
        margin=run.margin if run.small else min(run.margin, RESOLUTION),
        undecided=run.undecided,
        tie_tolerance=float(run.tie_tolerance),
        exact=False,
        method="float64",
        problem=fingerprint(cloud.tokens, run.alpha, run.metric.A, float(run.tie_tolerance)),
    )
    leading = np.flatnonzero((run.role == LEADER)[of])
    return Equilibrium(
        tokens=cloud.tokens,
        points=certificate.limit,
        cluster=center_of[of],
        centers=centers,
        kind=kind,
        leader_since=dict(zip(leading.tolist(), certificate.decided_at[leading].tolist(), strict=True)),
        certificate=certificate,
    )


def _centers(run: Run) -> tuple[Ints, Floats, tuple[str, ...]]:
    """The distinct limit points, vertices first, and the one of each point."""
    leaders = np.flatnonzero(run.role == LEADER)
    center_of = np.full(len(run.role), -1, np.int64)
    center_of[leaders] = np.arange(len(leaders))
    single = run.target >= 0
    center_of[single] = center_of[run.target[single]]
    faces: list[Floats] = []
    scale = float(np.abs(run.base).max())
    for i in np.flatnonzero(run.role == TIE):
        # One limit reached through different ties can differ in the last bits of its float64 value.
        near = [c for c, t in enumerate(faces) if np.abs(t - run.base[i]).max() <= 1e-12 * scale]
        if not near:
            faces.append(run.base[i])
            near = [len(faces) - 1]
        center_of[i] = len(leaders) + near[0]
    centers = np.concatenate([run.base[leaders], np.array(faces).reshape(-1, run.cloud.dim)])
    return center_of, centers, ("vertex",) * len(leaders) + ("face",) * len(faces)


def _copies(cloud: Cloud) -> Any:
    """A function from sets of points to ascending tuples of all tokens at them."""
    if len(cloud.first) == cloud.n:
        return lambda group: tuple(group.tolist())
    order = np.argsort(cloud.point_of, kind="stable")
    start = np.concatenate([[0], np.cumsum(cloud.multiplicity)])

    def tokens_at(group: NDArray[np.int64]) -> tuple[int, ...]:
        return tuple(sorted(int(t) for p in group for t in order[start[p] : start[p + 1]]))

    return tokens_at
