"""Counterexample: the Frank-Wolfe rate fails for the particles 3 and -1 in one dimension, B = -1.

The layer x_i <- x_i + gamma_t (y_i - x_i), y_i in argmax_y <B x_i, y> over the tokens, is a Frank-Wolfe step for
E(x) = -<B x, x> / 2 over the hull of the *current* tokens. For B <= 0 the abstracts of arXiv 2508.09628 promise that
all tokens contract to the origin (first version), and the rate O(1/t) on E (later version). Frank-Wolfe has that rate
over a fixed set; here the set shrinks: 3 and -1 come to one side of the origin, which is outside the hull from then on.
"""

from fractions import Fraction
from random import Random
from typing import Any

from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.definition import Cloud, follow_sets, mean, toward

STATEMENT = (
    "d = 1, B = -1, particles 3 and -1: min E = 0 over their hull, E(x) = x^2/2, but after finitely many steps all "
    "particles have one sign, the one nearest to 0 stays at some m != 0, and E >= m^2/2 forever: no rate O(1/t)."
)
CITATION = "arXiv 2508.09628: B negative semidefinite"
KINDS = ("constant-exact", "open-loop-exact", "random-exact")
TRIALS = 60
FIELDS = ("tokens", "steps")
B = ((Fraction(-1),),)


def generate(rng: Random, kind: str) -> Case:
    """3 and -1, scaled; steps gamma < 1: all equal, 2/(t+2) from t = 1 on, or random."""
    scale = Fraction(rng.randint(1, 9), rng.randint(1, 9)) * rng.choice([1, -1])
    if kind == "constant-exact":
        steps = [Fraction(rng.randint(1, 19), 20)] * 40
    elif kind == "open-loop-exact":  # so many that the textbook bound 2 D^2 / (t+2) is passed
        scale, steps = Fraction(rng.choice([1, -1])), [Fraction(2, t + 2) for t in range(1, 700)]
    else:
        steps = [Fraction(rng.randint(2, 18), 20) for _ in range(40)]
    return Case(kind, {"tokens": ((3 * scale,), (-scale,)), "steps": tuple(steps)})


def check(case: Case) -> str | None:
    """The counterexample shows what it should; constant steps are also run by `hardmax.simulate`."""
    states = [case["tokens"]]
    for gamma in case["steps"]:
        states.append(_step(states[-1], gamma))
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
    if len(set(case["steps"])) == 1 and _by_package(case) != states:
        return "hardmax.simulate with A = -1 gives other particles"
    return None


def _step(X: Cloud, gamma: Any) -> Cloud:
    """x_i + gamma (y_i - x_i), y_i the mean of the tokens that maximize <B x_i, y>."""
    return tuple(toward(x, mean([X[j] for j in C]), gamma) for x, C in zip(X, follow_sets(X, B), strict=True))


def _by_package(case: Case) -> list[Cloud]:
    """gamma = alpha / (1 + alpha)."""
    from hardmax.dynamics.simulate import simulate

    gamma = case["steps"][0]
    layers = len(case["steps"])
    done: Any = simulate(case["tokens"], gamma / (1 - gamma), B, layers, definite=False, exact=True)
    return [tuple(tuple(z) for z in state.tolist()) for state in done.tokens]
