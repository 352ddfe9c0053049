"""What the first experiment of [AFZ24] shows: convergence, leaders at the vertices, growth without normalization.

And what remains of leaders when A is nowhere positive: at most one.
"""

from fractions import Fraction
from functools import partial
from math import ceil, log1p
from random import Random
from typing import Any

from hardmax.errors import NotCertified
from hardmax.experiments.case import Case
from hardmax.experiments.claims import definition
from hardmax.experiments.claims.claim import Undecided
from hardmax.experiments.claims.clouds import EXACT_KINDS, cloud_case, cloud_claim, integers, limit_claim
from hardmax.experiments.claims.definition import Cloud, cloud_of, dot, in_hull, norm2
from hardmax.experiments.claims.runs import TOLERANCE, limit_of, run
from hardmax.io.documents import point

ALPHAS = (Fraction(1, 10), Fraction(1, 5), Fraction(1, 4))
CLOSE = 0.01  # part of the largest coordinate


@limit_claim(
    "experiment-convergence", "[AFZ24], first experiment", trials=24,
    cases=partial(cloud_case, largest=6, alphas=ALPHAS, identity=True),
)  # fmt: skip
def small_alpha_converges(case: Case) -> str | None:
    """Distinct nonzero tokens with A = I and a small alpha come close to a finite set of points, and stay close.

    K layers after the last decision, (1+alpha)^-K < 1e-5, every token is within 1 % of its limit.

    One percent, because a token that follows followers comes in as k (1+alpha)^-k, or with a higher power of k.
    """
    extra = ceil(12 / log1p(case["alpha"]))
    limits, decided = _limits(case)
    layers = decided + extra
    if case.exact:
        states, _ = definition.run(case["tokens"], case["alpha"], None, layers)
    else:
        states = run(case, layers).states
    size = max(abs(x) for z in case["tokens"] for x in z)
    for state in (states[-1], states[-1 - extra // 20]):
        for i, (z, p) in enumerate(zip(state, limits, strict=True)):
            if max(abs(a - b) for a, b in zip(z, p, strict=True)) > CLOSE * float(size):
                return f"token {i} is not within 1 % of its limit after {layers} layers"
    return None


def _limits(case: Case) -> tuple[Cloud, int]:
    """The limits, and the layer at which the last of them is decided."""
    if case.exact:
        lim = limit_of(case)
        if not lim.states:
            raise Undecided("decided too late to be run layer by layer")
        return lim.points, max(lim.decided_at)
    from hardmax.dynamics.limit import limit

    try:
        eq: Any = limit(case["tokens"], case["alpha"])
    except NotCertified as error:
        raise Undecided(error.what) from error
    return cloud_of(eq.points), min(eq.layers, 200)


@cloud_claim(
    "experiment-leaders", "[AFZ24], first experiment", trials=48, cases=partial(cloud_case, largest=8, identity=True)
)
def leaders_are_the_vertices(case: Case) -> str | None:
    """Leaders stay where they are, and the vertices of the convex hull of all limits are the leaders' points.

    A limit is a vertex if it is not a convex combination of the others: one linear program in Fractions each.
    """
    done = run(case)
    for i, since in done.leader_since.items():
        if any(Z[i] != done.states[since][i] for Z in done.states[since:]):
            return f"leader {i} has moved after layer {since}"
    lim = limit_of(case)
    points = list(dict.fromkeys(lim.points))
    for p in points:
        others = [q for q in points if q != p]
        vertex = not others or not in_hull(p, others)
        if vertex != (p in lim.vertices):
            is_it = "a" if vertex else "not a"
            return f"the limit {point(p)} is {is_it} vertex of the hull of the limits; leaders differ"
    return None


@cloud_claim(
    "experiment-growth", "[AFZ24], first experiment", trials=100, cases=partial(cloud_case, layers=6, float_layers=10)
)
def tokens_grow_without_normalization(case: Case) -> str | None:
    """With z_i' = z_i + alpha m_i the tokens of layer k are (1+alpha)^k times the normalized ones, so |z_i^k|_A >=
    (1+alpha)^k |z_i^0|_A: every nonzero token grows without bound.

    Both runs of the package; in float64 within 1e-12 of the size, where no comparison was too close to decide.
    """
    from hardmax.dynamics.simulate import simulate

    done = run(case)
    given = case["tokens"], case["alpha"], case["A"], case["layers"]
    grown: Any = simulate(*given, normalization="none", exact=case.exact)
    if done.undecided or grown.undecided:
        raise Undecided("a comparison was closer than float64 rounding")
    first = [norm2(z, done.A) for z in done.states[0]]
    for k, Z in enumerate(done.states):
        factor = (1 + done.alpha) ** k
        for i, z in enumerate(Z):
            big = grown.tokens[k, i].tolist()
            if any(abs(a - factor * b) > factor * done.tolerance * (k + 1) for a, b in zip(big, z, strict=True)):
                return f"token {i} of layer {k} is not (1+alpha)^{k} times the normalized one"
            low = factor * factor * first[i]
            if norm2(tuple(big), done.A) < (low if case.exact else low * (1 - 100 * TOLERANCE * (k + 1))):
                return f"token {i} has not grown by (1+alpha)^{k} at layer {k}"
    return None


def nowhere_positive(rng: Random, kind: str) -> Case:
    """A cloud with an antisymmetric A, or with A = K - N N^T for an antisymmetric K."""
    case = cloud_case(rng, rng.choice(EXACT_KINDS))
    dim = len(case["tokens"][0])
    N, K = integers(rng, dim, dim, 2), integers(rng, dim, dim, 3)
    shift = int(kind == "negative-exact")
    A = [[K[i][j] - K[j][i] - shift * dot(N[i], N[j]) for j in range(dim)] for i in range(dim)]
    return Case(kind, {**case.data, "A": tuple(map(tuple, A))})


@cloud_claim(
    "one-leader", "our Lemma 4 on leaders as in [AFZ24, Def. 1.1]", trials=100, cases=nowhere_positive,
    kinds=("antisymmetric-exact", "negative-exact"),
)  # fmt: skip
def one_leader_at_most(case: Case) -> str | None:
    """If <A x, x> <= 0 for all x (A antisymmetric, or negative semidefinite), at most one point leads.

    Two leaders l, m give <A l, l - m> > 0 and <A m, m - l> > 0, in sum <A (l - m), l - m> > 0. Every layer of the run.
    """
    done = run(case, definite=False)
    points = {done.states[since][i] for i, since in done.leader_since.items()}
    return None if len(points) <= 1 else f"{len(points)} points lead: {', '.join(map(point, sorted(points)))}"
