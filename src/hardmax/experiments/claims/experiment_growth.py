"""First experiment: without the normalization 1/(1+alpha) tokens grow without bound."""

from random import Random
from typing import Any

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, Undecided
from hardmax.experiments.claims.definition import norm2
from hardmax.experiments.claims.runs import TOLERANCE, run

STATEMENT = (
    "With z_i' = z_i + alpha m_i the tokens of layer k are (1+alpha)^k times the normalized ones, so "
    "|z_i^k|_A >= (1+alpha)^k |z_i^0|_A: every nonzero token grows without bound."
)
CITATION = "[AFZ24], first experiment"
KINDS = clouds.KINDS
TRIALS = 100
FIELDS = ("tokens", "alpha", "A", "layers")


def generate(rng: Random, kind: str) -> Case:
    """A cloud of distinct tokens that are not 0."""
    return clouds.cloud_case(rng, kind, layers=6, float_layers=10)


def check(case: Case) -> str | None:
    """Both runs of the package; in float64 within 1e-12 of the size, where no comparison was too close to decide."""
    from hardmax.dynamics.simulate import simulate

    done = run(case)
    options: dict[str, Any] = {"normalization": "none", "exact": case.exact}
    grown: Any = simulate(case["tokens"], case["alpha"], case["A"], case["layers"], **options)
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
