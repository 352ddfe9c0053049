"""Stage 0: the direction u along which tokens are read (lemma L1).

For almost every u the map x -> <u, x> is injective on a finite set of tokens. Among such directions some leave wider
gaps between sequences than others, and one learned from the labels leaves fewer runs of equal labels.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.problem import Problem
from hardmax.errors import BadInput

# The smallest of N gaps is about x / N^2 with probability e^-x: the best of T directions gains ln T, so few are enough.
TRIES = 32
# How far a given direction is turned, relative to its length, when it does not separate the sequences as it is.
TURNS = (0.0, 2.0**-24, 2.0**-16, 2.0**-10)


def directions(problem: Problem, direction: ArrayLike | None = None, seed: int = 0) -> Iterator[Floats]:
    """Directions to try, the most promising first, scaled so that |<u, x>| is at most a few units.

    Args:
        direction: None for random ones, "ridge" for one learned from the targets, or an array (d,).
    """
    tokens = problem.batch.values
    largest = max(float(tokens.max()), -float(tokens.min()))
    scale = 2.0 ** -np.ceil(np.log2(largest)) if largest else 1.0
    rng = np.random.default_rng(seed)
    if direction is None:
        candidates, means = rng.standard_normal((TRIES, problem.batch.dim)) * scale, sequence_means(problem)
        scores = [smallest_gap(means @ u, problem.labels) for u in candidates]
        yield from candidates[np.argsort(scores, kind="stable")[::-1][:4]]
        return
    u = _given(problem, direction, scale)
    noise = rng.standard_normal(len(u)) * np.linalg.norm(u) / np.sqrt(len(u))
    for turn in TURNS:
        yield u + turn * noise


def sequence_means(problem: Problem) -> Floats:
    """(N, d) the mean token of each sequence."""
    return problem.batch.reduce(np.add) / problem.batch.lengths[:, None]


def smallest_gap(z: Floats, labels: Ints) -> float:
    """The smallest gap between neighbors that must be told apart, relative to the range."""
    order = np.argsort(z, kind="stable")
    gaps, sorted_labels = np.diff(z[order]), labels[order]
    gaps = gaps[sorted_labels[1:] != sorted_labels[:-1]]
    return float(gaps.min() / max(np.ptp(z), 1e-300)) if len(gaps) else np.inf


def _given(problem: Problem, direction: ArrayLike, scale: float) -> Floats:
    if isinstance(direction, str):
        if direction != "ridge":
            raise BadInput(f"direction is {direction!r}", fix="use None, 'ridge' or an array with one number per axis")
        u = _ridge(problem, scale)
    else:
        try:
            u = np.array(direction, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BadInput(f"direction is {direction!r}; expected {problem.batch.dim} numbers") from error
        if u.shape != (problem.batch.dim,) or not np.isfinite(u).all() or not u.any():
            raise BadInput(f"direction has shape {u.shape}; expected {problem.batch.dim} finite numbers, not all 0")
    return u / 2.0 ** np.ceil(np.log2(np.abs(u).max())) * scale


def _ridge(problem: Problem, scale: float, penalty: float = 1e-3) -> Floats:
    """The leading direction of a ridge regression of the targets on the mean tokens.

    B = (M^T M + penalty tr(M^T M)/d I)^{-1} M^T Y with centered means M and one-hot labels (or mean targets) Y; u is
    the first left singular vector of B: for two classes the ridge direction itself.
    """
    means = sequence_means(problem) * scale
    means -= means.mean(axis=0)
    if problem.classes is None:
        Y = problem.wanted.reduce(np.add, problem.targets[problem.wanted.values])
        Y /= problem.wanted.lengths[:, None]
    else:
        Y = np.eye(len(problem.targets))[problem.wanted.values]
    Y = Y - Y.mean(axis=0)
    gram = means.T @ means
    gram[np.diag_indices_from(gram)] += penalty * max(np.trace(gram), 1e-300) / len(gram)
    coefficients = np.linalg.solve(gram, means.T @ Y)
    left, strength, _ = np.linalg.svd(coefficients, full_matrices=False)
    if strength[0] == 0:
        raise BadInput("direction='ridge' found nothing: the mean tokens do not vary with the targets")
    u: Floats = left[:, 0] * np.where(left[np.argmax(np.abs(left[:, 0])), 0] < 0, -1.0, 1.0)
    return u
