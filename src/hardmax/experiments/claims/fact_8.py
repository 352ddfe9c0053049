"""Fact 8: zero tokens follow everybody."""

from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, shown
from hardmax.experiments.claims.definition import mean
from hardmax.experiments.claims.limits import limit_of
from hardmax.experiments.claims.runs import run

STATEMENT = (
    "A token at 0 follows everybody and moves to alpha/(1+alpha) times the mean of all tokens. It ends at 0 only if "
    "that mean is 0 at every layer; otherwise it is nonzero from then on and Theorem 1.1 covers it."
)
CITATION = "[AFZ24], fact 8"
KINDS = clouds.KINDS
TRIALS = 100
FIELDS = ("tokens", "alpha", "A", "layers")


def generate(rng: Random, kind: str) -> Case:
    """A cloud with one token at 0; every second one symmetric, so that the mean is 0."""
    case = clouds.cloud_case(rng, kind, largest=6)
    tokens = list(case["tokens"])
    if rng.random() < 0.5:
        tokens = list(dict.fromkeys([*tokens, *(tuple(-x for x in z) for z in tokens)]))
    zero = tuple(0 * x for x in tokens[0])
    tokens.insert(rng.randint(0, len(tokens)), zero)
    return Case(kind, {**case.data, "tokens": tuple(tokens)})


def check(case: Case) -> str | None:
    """The layers, and in rational arithmetic the limit that the package gives."""
    done = run(case)
    for k, Z in enumerate(done.states):
        for i, z in enumerate(Z):
            if any(z):
                continue
            if len(done.sets[k][i]) != len(Z):
                return f"token {i} is 0 at layer {k} and follows only {done.sets[k][i]}"
            goal = tuple(x * done.alpha / (1 + done.alpha) for x in mean(Z))
            if k < done.layers and not done.same(done.states[k + 1][i], goal):
                return f"token {i} is 0 at layer {k} and moves to {shown(done.states[k + 1][i])}"
    if not case.exact:
        return None
    lim = limit_of(case)
    for i, p in enumerate(lim.points):
        if not any(p) and any(any(mean(Z)) or any(Z[i]) for Z in lim.states):
            return f"token {i} is said to end at 0, but the mean of all tokens is not always 0"
    return None
