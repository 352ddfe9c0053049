"""The infinite-depth limit in rational arithmetic, with its certificate."""

from typing import Any

import numpy as np

from hardmax.cloud.parameters import exact_cloud, layer_count
from hardmax.dynamics.certificate import FOLLOWER, LEADER, Certificate, fingerprint
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.exact.descent import OPEN, Descent
from hardmax.dynamics.exact.follow import places_of
from hardmax.dynamics.exact.numbers import Objects, exact_metric, exact_step, over_common_denominator
from hardmax.errors import NotCertified


def limit_exact(Z: Any, alpha: Any, A: Any = None, max_layers: int = 10_000) -> Equilibrium:
    """Where every token ends at infinite depth, in Fractions, with a certificate.

    Implements [AFZ24, Theorem 1.1]. Departs: repeated tokens are one point with a multiplicity and lead together; a
    token at 0 is allowed, and ends at 0 ("face", the improper face K) if the mean of all tokens stays 0.

    Args:
        Z: (n, d) integers, Fractions, decimal strings, or floats at their exact binary value.
        A: symmetric positive definite, None for the identity.
        max_layers: how far to follow the dynamics before giving up.

    Raises:
        NotCertified: some token was not decided within `max_layers`.

    Example:
        >>> limit_exact([[1, 1], [1, -1], [-1, 1], [-1, -1], ["1/2", 0]], "1/2").points[4].tolist()
        [Fraction(1, 1), Fraction(0, 1)]
    """
    tokens = exact_cloud(Z)
    step, depth = exact_step(alpha), layer_count(max_layers)
    metric = exact_metric(A, tokens.shape[1])
    place = places_of(tokens)
    members: list[list[int]] = [[] for _ in range(max(place) + 1)]
    for i, p in enumerate(place):
        members[p].append(i)
    points = tokens[[m[0] for m in members]]
    matrix = None if metric is None else over_common_denominator(metric)[0]
    descent = Descent(points, [len(m) for m in members], step, matrix)
    if not descent.run(depth):
        raise _not_certified(descent, place, max_layers)

    limit = _spread(descent.base, place)
    leader_since = {i: descent.decided_at[p] for i, p in enumerate(place) if descent.role[p] == LEADER}
    certificate = _certificate(descent, place, members, tokens, step, metric, limit)
    cluster, centers, kind = _clusters(limit, leader_since)
    return Equilibrium(
        tokens=tokens,
        points=limit,
        cluster=cluster,
        centers=centers,
        kind=kind,
        leader_since=leader_since,
        certificate=certificate,
    )


def _certificate(
    descent: Descent, place: list[int], members: list[list[int]], tokens: Objects, alpha: Any, A: Any, limit: Objects
) -> Certificate:
    """From points to tokens: the target of each, and the sets that are followed as a whole."""
    groups: dict[tuple[int, ...], int] = {}
    target = np.empty(len(place), dtype=np.int64)
    for i, p in enumerate(place):
        C = descent.sets[p]
        if descent.role[p] in (LEADER, FOLLOWER):
            target[i] = members[C[0]][0]
        else:
            followed = tuple(sorted(j for w in C for j in members[w]))
            target[i] = -1 - groups.setdefault(followed, len(groups))
    return Certificate(
        alpha=alpha,
        A=A,
        decided_at=np.array([descent.decided_at[p] for p in place], dtype=np.int64),
        role=np.array([descent.role[p] for p in place], dtype=np.int8),
        target=target,
        groups=tuple(groups),
        limit=limit,
        margin=descent.margin,
        undecided=0,
        tie_tolerance=0.0,
        exact=True,
        method="rational",
        problem=fingerprint(tokens, alpha, A, 0.0),
    )


def _clusters(limit: Objects, leader_since: dict[int, int]) -> tuple[np.ndarray, Objects, tuple[str, ...]]:
    """The distinct limit points: vertices in the order of their leaders, then faces in the order of their tokens."""
    numbers: dict[tuple[Any, ...], int] = {}
    for i in [*sorted(leader_since), *range(len(limit))]:
        numbers.setdefault(tuple(limit[i]), len(numbers))
    vertices = {tuple(limit[i]) for i in leader_since}
    cluster = np.array([numbers[tuple(row)] for row in limit], dtype=np.int64)
    return (
        cluster,
        _spread(list(numbers), range(len(numbers))),
        tuple("vertex" if point in vertices else "face" for point in numbers),
    )


def _spread(points: Any, place: Any) -> Objects:
    """One row per token from one tuple per point."""
    result = np.empty((len(place), len(points[0])), dtype=object)
    for i, p in enumerate(place):
        result[i] = points[p]
    return result


def _not_certified(descent: Descent, place: list[int], max_layers: int) -> NotCertified:
    waiting = [i for i, p in enumerate(place) if descent.role[p] == OPEN]
    now = descent.cloud.fractions()
    best = [descent.base[p] or tuple(now[p]) for p in range(len(now))]
    return NotCertified(
        f"{len(waiting)} of {len(place)} tokens are not decided after {max_layers} layers",
        found=f"token {waiting[0]} still follows {len(descent.sets[place[waiting[0]]])} point(s) that may move",
        fix="raise max_layers",
        known={
            "certain": [i for i, p in enumerate(place) if descent.role[p] != OPEN],
            "open": waiting,
            "points": _spread(best, place),
            "leaders": [i for i, p in enumerate(place) if descent.role[p] == LEADER],
            "layers": descent.layer,
        },
    )
