"""Fact 2: the A-norm of a token never falls."""

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.definition import dot, mean, minus, norm2, times
from hardmax.experiments.claims.runs import TOLERANCE, run

STATEMENT = (
    "Followed tokens lie in the half-space H_i = {z : <A z_i, z - z_i> >= 0}, so |z_i'|_A^2 >= |z_i|_A^2 + "
    "g^2 |m_i - z_i|_A^2, g = alpha/(1+alpha), m_i their mean: norms never fall, nonzero tokens stay nonzero."
)
CITATION = "[AFZ24, Fig. 1], the half-space, and fact 2"
KINDS = clouds.KINDS
TRIALS = 150
FIELDS = ("tokens", "alpha", "A", "layers")
generate = clouds.cloud_case


def check(case: Case) -> str | None:
    """Every token at every layer; in float64 within 1e-12 of the largest squared norm."""
    done = run(case)
    g = done.alpha / (1 + done.alpha)
    slack = 0 if case.exact else TOLERANCE * max(norm2(z, done.A) for z in done.states[0])
    for k in range(done.layers):
        for i, z in enumerate(done.states[k]):
            followed = [done.states[k][j] for j in done.sets[k][i]]
            seen, goal = times(done.A, z), mean(followed)
            if any(dot(seen, minus(y, z)) < -slack for y in followed):
                return f"at layer {k} token {i} follows a token outside its half-space"
            after = norm2(done.states[k + 1][i], done.A)
            if after + slack < norm2(z, done.A) + g * g * norm2(minus(goal, z), done.A):
                return f"the norm of token {i} gains too little from layer {k} to {k + 1}"
            if any(z) and not any(done.states[k + 1][i]):
                return f"token {i} becomes 0 at layer {k + 1}"
    return None
