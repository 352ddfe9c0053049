"""Fact 2: the A-norm of a token never falls."""

from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.definition import mean, minus, norm2
from hardmax.experiments.claims.runs import TOLERANCE, run

STATEMENT = "|z_i'|_A^2 >= |z_i|_A^2 + g^2 |m_i - z_i|_A^2, g = alpha/(1+alpha), m_i the mean of the followed tokens."
CITATION = "[AFZ24], fact 2"
KINDS = clouds.KINDS
TRIALS = 150
FIELDS = ("tokens", "alpha", "A", "layers")


def generate(rng: Random, kind: str) -> Case:
    """A cloud of distinct tokens that are not 0."""
    return clouds.cloud_case(rng, kind)


def check(case: Case) -> str | None:
    """Every token at every layer; in float64 within 1e-12 of the largest squared norm. Nonzero tokens stay nonzero."""
    done = run(case)
    g = done.alpha / (1 + done.alpha)
    slack = 0 if case.exact else TOLERANCE * max(norm2(z, done.A) for z in done.states[0])
    for k in range(done.layers):
        for i, z in enumerate(done.states[k]):
            goal = mean([done.states[k][j] for j in done.sets[k][i]])
            after = norm2(done.states[k + 1][i], done.A)
            if after + slack < norm2(z, done.A) + g * g * norm2(minus(goal, z), done.A):
                return f"the norm of token {i} gains too little from layer {k} to {k + 1}"
            if any(z) and not any(done.states[k + 1][i]):
                return f"token {i} becomes 0 at layer {k + 1}"
    return None
