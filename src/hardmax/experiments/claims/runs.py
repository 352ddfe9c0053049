"""Layers and limits as the package computes them, compared with the definition."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import NotCertified
from hardmax.experiments.case import Case
from hardmax.experiments.claims import definition
from hardmax.experiments.claims.claim import Undecided, Violated
from hardmax.experiments.claims.definition import Cloud, Matrix, Point, Sets, cloud_of, converted
from hardmax.io.documents import point

# In float64 a score may miss the maximum by this part of sum |A z_i| |z_j|, a coordinate its value by this part of the
# largest one. Rounding is about 1e-15 of either.
TOLERANCE = 1e-12
MOST_LAYERS = 150  # a limit decided later than this is not run again layer by layer; its certificate is checked
BEYOND = 4  # layers that are run after the last decision


@dataclass(frozen=True)
class Run:
    """Z^0..Z^K with their follow sets, and what the package says of leaders."""

    states: list[Cloud]
    sets: list[Sets]
    alpha: Any
    A: Matrix
    tolerance: Any  # 0 for rational arithmetic; in float64 TOLERANCE times the largest coordinate of the input
    leader_since: dict[int, int]  # {index: first layer at which it leads}
    undecided: int = 0  # comparisons that float64 could not decide

    @property
    def layers(self) -> int:
        """The number of layers."""
        return len(self.states) - 1

    def same(self, x: Point, y: Point) -> bool:
        """Whether two points are equal, within the tolerance."""
        return all(abs(a - b) <= self.tolerance for a, b in zip(x, y, strict=True))


def run(case: Case, layers: int | None = None, **options: Any) -> Run:
    """Run the case with `hardmax.simulate` and compare every layer with the definition.

    Raises:
        Violated: a follow set or a token is not what the definition says.
    """
    from hardmax.dynamics.simulate import simulate

    depth = case["layers"] if layers is None else layers
    done: Any = simulate(case["tokens"], case["alpha"], case["A"], depth, exact=case.exact, **options)
    states = [cloud_of(state) for state in done.tokens]
    sets = [done.follows(k) for k in range(depth + 1)]
    size = max(abs(x) for z in case["tokens"] for x in z)
    found = Run(
        states, sets, case["alpha"], case["A"], 0 if case.exact else TOLERANCE * size, dict(done.leader_since),
        done.undecided,
    )  # fmt: skip
    if states[0] != case["tokens"]:
        raise Violated("the first state of the run is not the input")
    if case.exact:
        _compare(found)
    else:
        _compare_floats(found)
    return found


def _compare(done: Run) -> None:
    """Every follow set and every token of every layer, exactly."""
    for k, Z in enumerate(done.states):
        wanted = definition.follow_sets(Z, done.A)
        if done.sets[k] != wanted:
            i = next(i for i, followed in enumerate(wanted) if followed != done.sets[k][i])
            raise Violated(f"at layer {k} token {i} follows {done.sets[k][i]}; the definition gives {wanted[i]}")
        if k < done.layers and done.states[k + 1] != definition.layer(Z, done.alpha, wanted):
            raise Violated(f"the tokens of layer {k + 1} are not those of the definition")


def _compare_floats(done: Run) -> None:
    """Followed tokens have the largest score, and moves go where they should, to rounding; exact ties are kept."""
    exact = definition.follow_sets(converted(done.states[0], Fraction), converted(done.A, Fraction))
    for i, followed in enumerate(exact):
        if not set(followed) <= set(done.sets[0][i]):
            raise Violated(f"at layer 0 token {i} follows {done.sets[0][i]}; the definition gives {followed}")
    for k, Z in enumerate(done.states):
        cloud: Floats = np.array(Z)
        seen = cloud if done.A is None else cloud @ np.array(done.A).T
        scores, sizes = seen @ cloud.T, np.abs(seen) @ np.abs(cloud).T
        for i, followed in enumerate(done.sets[k]):
            if scores[i].max() - scores[i, followed].min() > TOLERANCE * sizes[i].max():
                raise Violated(f"at layer {k} token {i} follows {followed}, whose score is not the largest")
        if k < done.layers:
            moved = definition.layer(Z, done.alpha, done.sets[k])
            if not all(done.same(x, y) for x, y in zip(moved, done.states[k + 1], strict=True)):
                raise Violated(f"the tokens of layer {k + 1} are not the means that the follow sets give")


@dataclass(frozen=True)
class Limit:
    """Where every token ends."""

    points: Cloud
    leaders: dict[int, int]  # {index: first layer at which it leads}
    decided_at: tuple[int, ...]  # per token the layer from which its follow set is constant
    sets: Sets  # that follow set, with the copies of tokens
    A: Matrix
    # The first layers by the definition, up to a few after the last decision; empty if the decision falls too late.
    states: list[Cloud]
    follows: list[Sets]

    @property
    def vertices(self) -> Cloud:
        """The distinct points of the leaders."""
        return tuple(dict.fromkeys(self.points[i] for i in sorted(self.leaders)))


def limit_of(case: Case) -> Limit:
    """The limit by `hardmax.limit`; in float64 it is compared with the limit of the same numbers in Fractions.

    Raises:
        Violated: the certificate does not hold, or float64 claims a proof and disagrees with rational arithmetic.
        Undecided: no certificate could be computed.
    """
    from hardmax.dynamics.limit import limit

    tokens, A, alpha = converted(case["tokens"], Fraction), converted(case["A"], Fraction), Fraction(case["alpha"])
    try:
        eq: Any = limit(tokens, alpha, A, exact=True)
    except NotCertified as error:
        raise Undecided(error.what) from error
    proof = eq.certificate
    if wrong := proof.check(eq.tokens):
        raise Violated(f"the certificate of the limit does not hold: {wrong[0]}")
    same = [tuple(j for j, y in enumerate(tokens) if y == z) for z in tokens]
    sets = tuple(same[t] if t >= 0 else proof.groups[-1 - t] for t in proof.target.tolist())
    early = definition.run(tokens, alpha, A, eq.layers + BEYOND) if eq.layers <= MOST_LAYERS else ([], [])
    found = Limit(cloud_of(eq.points), dict(eq.leader_since), tuple(proof.decided_at.tolist()), sets, A, *early)
    if not case.exact:
        _compare_limits(case, found)
    return found


def _compare_limits(case: Case, exact: Limit) -> None:
    """A float64 limit with a proof must be the exact one."""
    from hardmax.dynamics.limit import limit

    try:
        eq: Any = limit(case["tokens"], case["alpha"], case["A"])
    except NotCertified:
        return
    if eq.undecided:
        return
    if wrong := eq.certificate.check(eq.tokens):
        raise Violated(f"the float64 certificate of the limit does not hold: {wrong[0]}")
    if eq.leader_since != exact.leaders:
        raise Violated(f"float64 proves the leaders {eq.leader_since}; in Fractions they are {exact.leaders}")
    size = max(abs(x) for z in case["tokens"] for x in z)
    for i, (x, y) in enumerate(zip(eq.points.tolist(), exact.points, strict=True)):
        if any(abs(a - float(b)) > 1e-12 * size for a, b in zip(x, y, strict=True)):
            raise Violated(f"float64 proves that token {i} ends at {x}; in Fractions it ends at {point(y)}")
