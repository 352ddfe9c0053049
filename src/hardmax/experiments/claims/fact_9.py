"""Fact 9: repeated tokens are one point with a multiplicity."""

from collections import Counter
from fractions import Fraction
from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.definition import Cloud, Matrix, Number, follow_sets, leads
from hardmax.experiments.claims.runs import run

STATEMENT = (
    "Copies of a token stay copies and never have C_i = {i}; the system is that of the distinct points, their "
    "multiplicities as weights in the means, and copies of a leader lead together."
)
CITATION = "[AFZ24], fact 9"
KINDS = clouds.KINDS
TRIALS = 120
FIELDS = ("tokens", "alpha", "A", "layers")


def generate(rng: Random, kind: str) -> Case:
    """A cloud of which some tokens come two or three times, in any order."""
    case = clouds.cloud_case(rng, kind, largest=7)
    tokens = [z for z in case["tokens"] for _ in range(rng.choice([1, 1, 2, 3]))]
    rng.shuffle(tokens)
    return Case(kind, {**case.data, "tokens": tuple(tokens)})


def check(case: Case) -> str | None:
    """Against the weighted system of distinct points, written down a second time; float64 within 1e-12."""
    done = run(case)
    weight = Counter(done.states[0])
    points = tuple(weight)
    at = [points.index(z) for z in done.states[0]]
    current: Cloud = points
    for k, (Z, sets) in enumerate(zip(done.states, done.sets, strict=True)):
        for i, followed in enumerate(sets):
            copies = [j for j in range(len(Z)) if at[j] == at[i]]
            if any(Z[j] != Z[i] or sets[j] != followed for j in copies):
                return f"copies of token {i} part at layer {k}"
            points_followed = {at[j] for j in followed}
            if any(at[j] in points_followed and j not in followed for j in range(len(Z))):
                return f"token {i} follows some copies of a token and not the others at layer {k}"
            if followed == (i,) and len(copies) > 1:
                return f"token {i} has copies and still follows itself alone at layer {k}"
            if not done.same(Z[i], current[at[i]]):
                return f"token {i} is not where its point with multiplicities is at layer {k}"
            if case.exact and leads(Z, sets, i) and done.leader_since.get(i, k + 1) > k:
                return f"token {i} leads at layer {k} and is not listed"
        if case.exact:
            current = _weighted(current, [weight[p] for p in points], done.alpha, done.A)
        else:  # float64 follows the sets of the run: near ties are its own decision
            current = tuple(Z[at.index(p)] for p in range(len(points)))
            current = _moved(current, [weight[p] for p in points], done.alpha, _points_of(sets, at))
    return None


def _weighted(Z: Cloud, weights: list[int], alpha: Number, A: Matrix) -> Cloud:
    return _moved(Z, weights, alpha, follow_sets(Z, A))


def _points_of(sets: tuple[tuple[int, ...], ...], at: list[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted({at[j] for j in sets[at.index(p)]})) for p in range(max(at) + 1))


def _moved(Z: Cloud, weights: list[int], alpha: Number, sets: tuple[tuple[int, ...], ...]) -> Cloud:
    """z' = (z + alpha sum_j mu_j z_j / sum_j mu_j) / (1 + alpha) over the followed points."""
    moved = []
    for z, followed in zip(Z, sets, strict=True):
        total = sum(weights[j] for j in followed)
        part = Fraction(1, total) if isinstance(z[0], Fraction) else 1.0 / total
        goal = [part * sum(weights[j] * Z[j][c] for j in followed) for c in range(len(z))]
        moved.append(tuple((a + alpha * b) / (1 + alpha) for a, b in zip(z, goal, strict=True)))
    return tuple(moved)
