"""What the compiled parts of the check have in common: products, the two best of them, and sorting by classes."""

import numpy as np

from hardmax.dynamics.check.claims import Floats, Ints
from hardmax.jit import bare_njit, njit


@bare_njit()
def product(q: Floats, i: int, x: Floats, j: int) -> float:
    total = 0.0
    for k in range(x.shape[1]):
        total += q[i, k] * x[j, k]
    return total


@bare_njit()
def keep_best(score: float, i: int, j: int, guess: Ints, best: Floats, second: Floats) -> bool:
    """Take down that query i has this score with key j, which is not its guess; whether it is the best one now."""
    if score > best[i]:
        best[i], second[i], guess[i] = score, best[i], j
        return True
    if score > second[i]:
        second[i] = score
    return False


@njit()
def sorted_by(classes: Ints, count: int) -> Ints:
    """The order of rising classes 0, 1, ..., count - 1; equal ones stay in their order."""
    start = np.zeros(count + 1, np.int64)
    for c in classes:
        start[c + 1] += 1
    for c in range(count):
        start[c + 1] += start[c]
    order = np.empty(len(classes), np.int64)
    for i, c in enumerate(classes):
        order[start[c]] = i
        start[c] += 1
    return order
