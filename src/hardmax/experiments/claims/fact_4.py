"""Fact 4: tokens never collide in finite time."""

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.definition import dot, mean, minus, norm2, times
from hardmax.experiments.claims.runs import TOLERANCE, run

STATEMENT = (
    "The map from tokens to followed means is monotone, <A (z_i - z_j), m_i - m_j> >= 0, so "
    "|z_i' - z_j'|_A >= |z_i - z_j|_A / (1+alpha): distinct tokens stay distinct."
)
CITATION = "[AFZ24], fact 4"
KINDS = clouds.KINDS
TRIALS = 120
FIELDS = ("tokens", "alpha", "A", "layers")
generate = clouds.cloud_case


def check(case: Case) -> str | None:
    """Both inequalities for every pair at every layer, squared; in float64 within 1e-12 of the largest squared norm.

    That tokens stay distinct is asked of rational arithmetic only: in float64 followers do merge with their leaders.
    """
    done = run(case)
    slack = 0 if case.exact else 4 * TOLERANCE * max(norm2(z, done.A) for z in done.states[0])
    for k in range(done.layers):
        Z, after = done.states[k], done.states[k + 1]
        goals = [mean([Z[j] for j in C]) for C in done.sets[k]]
        for i in range(len(Z)):
            for j in range(i):
                apart = minus(Z[i], Z[j])
                if dot(times(done.A, apart), minus(goals[i], goals[j])) < -slack:
                    return f"at layer {k} the means of tokens {j} and {i} are ordered against the tokens"
                gap = norm2(minus(after[i], after[j]), done.A)
                if (1 + done.alpha) ** 2 * (gap + slack) < norm2(apart, done.A):
                    return f"tokens {j} and {i} come too close from layer {k} to {k + 1}"
                if case.exact and after[i] == after[j] and Z[i] != Z[j]:
                    return f"tokens {j} and {i} meet at layer {k + 1}"
    return None
