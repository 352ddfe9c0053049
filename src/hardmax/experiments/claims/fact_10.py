"""Fact 10, the float trap: a test of C_i = {i} layer by layer loses leaders in float64."""

from fractions import Fraction
from operator import eq
from random import Random
from typing import Any

from hardmax.experiments.claims import definition
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.clouds import distinct
from hardmax.experiments.claims.definition import leads

STATEMENT = (
    "A follower i comes so close to its leader l that after some tens of layers plain float64 has C_l != {l}, the "
    "leader is lost, or C_i != {l}, the follower is frozen beside it; exactly, both sets hold forever. Leaders kept "
    "cumulatively are the exact ones at any depth."
)
CITATION = "[AFZ24], fact 10"
KINDS = ("integers",)
TRIALS = 60
FIELDS = ("tokens", "alpha", "layers")
ALPHAS = (1, 3, 7)


def generate(rng: Random, kind: str) -> Case:
    """Small integer tokens and alpha = 2^r - 1, for which the merger can be proved, coordinate by coordinate.

    x = l + delta moves to (x + alpha l) / 2^r. For l != 0 the sum is rounded to a grid at least 2^(r-1) times as coarse
    as that of l, and 2^r l lies on it: once |delta| is below half of that grid the sum is rounded to 2^r l, and x
    becomes l. Where l = 0 the coordinate does not enter <l, x>. So <l, x> = <l, l> in the end, to the bit,
    unless rounding has made l or x follow something else before that.
    """
    dim, n = rng.randint(1, 3), rng.randint(2, 8)
    tokens = distinct([[Fraction(rng.randint(-9, 9)) for _ in range(dim)] for _ in range(n)]) or ((Fraction(1),) * dim,)
    return Case(kind, {"tokens": tokens, "alpha": Fraction(rng.choice(ALPHAS)), "layers": 90})


def check(case: Case) -> str | None:
    """The trap closes in plain float64, does not in Fractions, and `hardmax.simulate` in float64 steps over it.

    Plain float64 is the definition with == between float64 scores. For every follower i of a leader l in Fractions it
    must be wrong about C_l or C_i at some layer. The run of the package must list the leaders that Fractions have
    found by then, unless it says itself that a comparison was too close.
    """
    from hardmax.dynamics.simulate import simulate

    tokens, layers = case["tokens"], case["layers"]
    exact_states, exact_sets = definition.run(tokens, case["alpha"], None, layers)
    settled = min(12, layers)  # who follows a leader by now has the other layers to merge with it
    early = exact_sets[settled]
    rounded = tuple(tuple(float(x) for x in z) for z in tokens)
    states, sets = definition.run(rounded, float(case["alpha"]), None, layers)
    for i, followed in enumerate(early):
        leader = followed[0]
        same = all(map(eq, states[settled][leader], exact_states[settled][leader]))  # no rounding so far
        if len(followed) == 1 and leader != i and early[leader] == followed and same:
            if not exact_sets[-1][leader] == exact_sets[-1][i] == followed:
                return f"leader {leader} or its follower {i} changes in Fractions"
            if all(of_layer[leader] == of_layer[i] == (leader,) for of_layer in sets[settled:]):
                return f"plain float64 is right about leader {leader} and token {i} at all {layers} layers"
    done: Any = simulate(rounded, float(case["alpha"]), None, layers)
    if done.undecided:
        return None
    both = list(zip(exact_states, exact_sets, strict=True))
    wanted = [i for i in range(len(tokens)) if any(leads(Z, of_layer, i) for Z, of_layer in both)]
    found = done.leaders.tolist()
    if found != wanted:
        return f"after {layers} layers the run lists the leaders {found}; in Fractions they are {wanted}"
    return None
