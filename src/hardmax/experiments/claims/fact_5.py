"""Fact 5: the matrix A can be removed."""

from fractions import Fraction
from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, Undecided
from hardmax.experiments.claims.definition import Cloud, Point, dot
from hardmax.experiments.claims.runs import run

STATEMENT = "With A = R R^T and w = R^T z the layers are those of A = I: equal follow sets, and w^k = R^T z^k."
CITATION = "[AFZ24], fact 5"
KINDS = clouds.KINDS
TRIALS = 120
FIELDS = ("tokens", "alpha", "R", "layers")


def generate(rng: Random, kind: str) -> Case:
    """A cloud and a lower triangular R with nonzero diagonal."""
    case = clouds.cloud_case(rng, kind, float_layers=12)
    dim = len(case["tokens"][0])
    R: tuple[Point, ...] = tuple(
        tuple(
            Fraction(rng.choice([1, 2, 3]) if i == j else rng.randint(-2, 2) if j < i else 0, rng.choice([1, 2]))
            for j in range(dim)
        )
        for i in range(dim)
    )
    if not case.exact:
        R = tuple(tuple(float(x) for x in row) for row in R)
    return Case(kind, {"tokens": case["tokens"], "alpha": case["alpha"], "R": R, "layers": case["layers"]})


def check(case: Case) -> str | None:
    """Run both systems. In float64 positions agree within 1e-10, as long as no comparison was too close to decide."""
    R = case["R"]
    columns = list(zip(*R, strict=True))
    A = tuple(tuple(dot(x, y) for y in R) for x in R)
    data = {"alpha": case["alpha"], "layers": case["layers"]}
    given = run(Case(case.kind, {**data, "tokens": case["tokens"], "A": A}))
    plain = run(Case(case.kind, {**data, "tokens": _turned(case["tokens"], columns), "A": None}))
    if given.undecided or plain.undecided:
        raise Undecided("a comparison was closer than float64 rounding")
    for k in range(given.layers + 1):
        for i, z in enumerate(_turned(given.states[k], columns)):
            if any(abs(a - b) > 100 * plain.tolerance for a, b in zip(z, plain.states[k][i], strict=True)):
                return f"at layer {k} token {i} is elsewhere in the coordinates without A"
            if given.sets[k][i] != plain.sets[k][i]:
                return f"at layer {k} token {i} follows {given.sets[k][i]}, and {plain.sets[k][i]} without A"
    return None


def _turned(Z: Cloud, columns: list[Point]) -> Cloud:
    """w = R^T z for every token."""
    return tuple(tuple(dot(column, z) for column in columns) for z in Z)
