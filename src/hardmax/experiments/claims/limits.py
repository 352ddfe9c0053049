"""The infinite-depth limit as the package finds it: certificate checked, layers run again by the definition."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hardmax.errors import NotCertified
from hardmax.experiments.claims import definition
from hardmax.experiments.claims.case import Case, Undecided, Violated, shown
from hardmax.experiments.claims.definition import Cloud, Matrix, Sets

MOST_LAYERS = 150  # a limit decided later than this is not run again layer by layer; its certificate is checked
BEYOND = 4  # layers that are run after the last decision


@dataclass(frozen=True)
class Limit:
    """Where every token ends.

    Attributes:
        points: where each token ends. leaders: {index: first layer at which it leads}.
        decided_at: per token the layer from which its follow set is constant. sets: that set (copies listed).
        states, follows: the first layers by the definition, up to a few after the last decision; empty if the decision
            falls too late.
    """

    points: Cloud
    leaders: dict[int, int]
    decided_at: tuple[int, ...]
    sets: Sets
    A: Matrix
    alpha: Any
    states: list[Cloud]
    follows: list[Sets]

    @property
    def vertices(self) -> Cloud:
        """The distinct points of the leaders."""
        return tuple(dict.fromkeys(self.points[i] for i in sorted(self.leaders)))


def limit_of(case: Case) -> Limit:
    """The limit by `hardmax.limit`; in float64 the limit of the binary values in Fractions stands beside it.

    Raises:
        Violated: the certificate does not hold, or float64 claims a proof and disagrees with rational arithmetic.
        Undecided: no certificate could be had.
    """
    tokens = tuple(tuple(map(Fraction, z)) for z in case["tokens"])
    A = None if case["A"] is None else tuple(tuple(map(Fraction, row)) for row in case["A"])
    exact = _exact_limit(tokens, Fraction(case["alpha"]), A)
    if not case.exact:
        _compare_floats(case, exact)
    return exact


def _exact_limit(tokens: Cloud, alpha: Fraction, A: Matrix) -> Limit:
    from hardmax.dynamics.limit import limit

    try:
        eq: Any = limit(tokens, alpha, A, exact=True)
    except NotCertified as error:
        raise Undecided(error.what) from error
    wrong = eq.certificate.check(eq.tokens)
    if wrong:
        raise Violated(f"the certificate of the limit does not hold: {wrong[0]}")
    proof = eq.certificate
    same = [tuple(j for j, y in enumerate(tokens) if y == z) for z in tokens]
    sets = tuple(same[t] if t >= 0 else proof.groups[-1 - t] for t in proof.target.tolist())
    states: list[Cloud] = []
    follows: list[Sets] = []
    if eq.layers <= MOST_LAYERS:
        states, follows = definition.run(tokens, alpha, A, eq.layers + BEYOND)
    return Limit(
        tuple(tuple(z) for z in eq.points.tolist()), dict(eq.leader_since), tuple(proof.decided_at.tolist()), sets, A,
        alpha, states, follows,
    )  # fmt: skip


def _compare_floats(case: Case, exact: Limit) -> None:
    """A float64 limit that calls itself proved is the exact one."""
    from hardmax.dynamics.limit import limit

    try:
        eq: Any = limit(case["tokens"], case["alpha"], case["A"])
    except NotCertified:
        return
    if eq.undecided:
        return
    wrong = eq.certificate.check(eq.tokens)
    if wrong:
        raise Violated(f"the float64 certificate of the limit does not hold: {wrong[0]}")
    if eq.leader_since != exact.leaders:
        raise Violated(f"float64 proves the leaders {eq.leader_since}; in Fractions they are {exact.leaders}")
    size = max(abs(x) for z in case["tokens"] for x in z)
    for i, (x, y) in enumerate(zip(eq.points.tolist(), exact.points, strict=True)):
        if any(abs(a - float(b)) > 1e-12 * size for a, b in zip(x, y, strict=True)):
            raise Violated(f"float64 proves that token {i} ends at {x}; in Fractions it ends at {shown(y)}")
