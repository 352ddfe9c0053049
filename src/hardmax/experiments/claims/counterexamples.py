"""Two counterexamples to readings of arXiv 2508.09628; "violated" means that one does not show what it should.

The Frank-Wolfe rate: the layer x_i <- x_i + gamma_t (y_i - x_i), y_i in argmax_y <B x_i, y> over the tokens, is a
Frank-Wolfe step for E(x) = -<B x, x> / 2 over the hull of the *current* tokens. For B <= 0 the abstracts promise that
all tokens contract to the origin (first version), and the rate O(1/t) on E (later version). Frank-Wolfe has that rate
over a fixed set; here the set shrinks: 3 and -1 come to one side of the origin, which is outside the hull from then on.
"""

from fractions import Fraction
from random import Random
from typing import Any

from hardmax.experiments.case import Case
from hardmax.experiments.claims.claim import claim
from hardmax.experiments.claims.clouds import integers
from hardmax.experiments.claims.definition import Cloud, cloud_of, follow_sets, in_hull, mean, minus, toward

B = ((Fraction(-1),),)
V = ((Fraction(3, 2), Fraction(0)), (Fraction(0), Fraction(7, 3)))


def two_tokens(rng: Random, kind: str) -> Case:
    """(0, 1) and (2, 3), or two other tokens of which one follows the other and both coordinates differ."""
    while True:
        scale = Fraction(rng.randint(1, 9), rng.randint(1, 9))
        tokens: Cloud = ((Fraction(0), scale), (2 * scale, 3 * scale))
        if rng.random() < 0.7:
            tokens = integers(rng, 2, 2, 9)
        sets = follow_sets(tokens)
        if all(minus(tokens[1], tokens[0])) and sets != ((0,), (1,)) and all(len(C) == 1 for C in sets):
            return Case(kind, {"tokens": tokens, "V": V})


@claim(
    "counterexample-hull", "arXiv 2508.09628: for general V the hull can grow", trials=100, cases=two_tokens,
    kinds=("pair-exact",), fields=("tokens", "V"),
)  # fmt: skip
def hull_can_grow(case: Case) -> str | None:
    """With V = diag(3/2, 7/3) and z' = (I+V)^{-1} (z + V m), that is z' = z + P (m - z) with P = (I+V)^{-1} V =
    diag(3/5, 7/10), a token leaves the convex hull; with V = c I it never does.

    The counterexample shows what it should: with V some token of the next layer is outside, with c I none is.

    The layer is computed from the formula in Fractions and by `hardmax.simulate` with alpha = 1; both must agree.
    """
    Z = case["tokens"]
    moved = _layer(Z, case["V"])
    if all(in_hull(z, Z) for z in moved):
        return "no token has left the convex hull"
    if _states(Z, 1, None, 1, V=case["V"])[1] != moved:
        return "hardmax.simulate with this value matrix does not give the layer of the formula"
    for c in (Fraction(1, 2), Fraction(1), Fraction(3)):
        scalar = ((c, Fraction(0)), (Fraction(0), c))
        moved = _layer(Z, scalar)
        if not all(in_hull(z, Z) for z in moved) or _states(Z, 1, None, 1, V=scalar)[1] != moved:
            return f"with V = {c} I a token has left the convex hull"
    return None


def _layer(Z: Cloud, V: Any) -> Cloud:
    """z + P (m - z) with P = (I+V)^{-1} V for a diagonal V."""
    goals = [mean([Z[j] for j in followed]) for followed in follow_sets(Z)]
    P = [V[i][i] / (1 + V[i][i]) for i in range(len(V))]
    return tuple(tuple(a + p * (b - a) for a, b, p in zip(z, m, P, strict=True)) for z, m in zip(Z, goals, strict=True))


def _states(*given: Any, **options: Any) -> list[Cloud]:
    """The layers of `hardmax.simulate` in rational arithmetic."""
    from hardmax.dynamics.simulate import simulate

    done: Any = simulate(*given, exact=True, **options)
    return [cloud_of(state) for state in done.tokens]


def two_particles(rng: Random, kind: str) -> Case:
    """3 and -1, scaled; steps gamma < 1: all equal, 2/(t+2) from t = 1 on, or random."""
    scale = Fraction(rng.randint(1, 9), rng.randint(1, 9)) * rng.choice([1, -1])
    if kind == "constant-exact":
        steps = [Fraction(rng.randint(1, 19), 20)] * 40
    elif kind == "open-loop-exact":  # enough to pass the textbook bound 2 D^2 / (t+2)
        scale, steps = Fraction(rng.choice([1, -1])), [Fraction(2, t + 2) for t in range(1, 700)]
    else:
        steps = [Fraction(rng.randint(2, 18), 20) for _ in range(40)]
    return Case(kind, {"tokens": ((3 * scale,), (-scale,)), "steps": tuple(steps)})


@claim(
    "counterexample-frank-wolfe", "arXiv 2508.09628: B negative semidefinite", trials=60, cases=two_particles,
    kinds=("constant-exact", "open-loop-exact", "random-exact"), fields=("tokens", "steps"),
)  # fmt: skip
def frank_wolfe_rate_fails(case: Case) -> str | None:
    """d = 1, B = -1, particles 3 and -1: min E = 0 over their hull, E(x) = x^2/2, but after finitely many steps all
    particles have one sign, the one nearest to 0 stays at some m != 0, and E >= m^2/2 forever: no rate O(1/t).

    The counterexample shows what it should; constant steps are also run by `hardmax.simulate`.
    """
    states = [case["tokens"]]
    for gamma in case["steps"]:  # x_i + gamma (y_i - x_i), y_i the mean of the tokens that maximize <B x_i, y>
        X = states[-1]
        goals = [mean([X[j] for j in followed]) for followed in follow_sets(X, B)]
        states.append(tuple(toward(x, y, gamma) for x, y in zip(X, goals, strict=True)))
    places = [[x for (x,) in state] for state in states]
    if not min(places[0]) < 0 < max(places[0]):
        return "the origin is not inside the hull of the particles"
    since = next((t for t, xs in enumerate(places) if min(xs) > 0 or max(xs) < 0), None)
    if since is None:
        return f"the origin is still in the hull after {len(case['steps'])} steps"
    nearest = min(abs(x) for x in places[since])
    for t, xs in enumerate(places[since:], since):
        if min(abs(x) for x in xs) != nearest:
            return f"the particle nearest to the origin has moved at step {t}"
    energy, diameter = nearest * nearest / 2, max(places[0]) - min(places[0])
    # Textbook: E(x_t) - min E <= 2 D^2 / (t+2) over a fixed hull of diameter D (E has curvature 1).
    if case.kind == "open-loop-exact" and energy <= 2 * diameter**2 / (len(case["steps"]) + 2):
        return f"after {len(case['steps'])} steps the energy {energy} is still within the textbook bound"
    if len(set(case["steps"])) == 1:
        gamma = case["steps"][0]  # alpha / (1 + alpha)
        if _states(case["tokens"], gamma / (1 - gamma), B, len(case["steps"]), definite=False) != states:
            return "hardmax.simulate with A = -1 gives other particles"
    return None
