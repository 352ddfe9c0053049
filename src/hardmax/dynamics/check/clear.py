"""The replay of a small cloud in which nothing is close and nothing is tied, compiled.

It accepts what `Replay` accepts, by the same conditions, and gives up where it cannot: where scores are close, where a
token is said to be tied, where numbers are too small or too large, and where anything is wrong, which `Replay` then
tells. So no verdict depends on it.
"""

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, FOLLOWER, LEADER
from hardmax.jit import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SMALLEST = 1e-100  # norm whose square loses no digits


@njit()
def clear_margin(
    start: Floats, A: Floats, decided: Ints, role: Ints, target: Ints, limit: Floats, alpha: float, flag: Floats
) -> float:
    """The narrowest decision, relative to |z_i|_A max|z|_A, if all claims hold; -1 if that is not clear.

    Args:
        flag: numbers (own, own_k, cloud_k): gaps of up to (own + own_k k) |z_i|_A max|z|_A + cloud_k k max|z|_A^2 are
            close at layer k.
    """
    n, d = start.shape
    x, ahead, offset = start.T.copy(), np.empty((d, n)), np.zeros((d, n))
    q, norm, score = np.empty((d, n)), np.empty(n), np.empty(n)
    margin, last = np.inf, decided.max()
    for layer in range(last + 1):
        q[:] = 0.0
        for k in range(d):
            for m in range(d):
                q[k] += A[k, m] * x[m]
        norm[:] = 0.0
        for k in range(d):
            norm += q[k] * x[k]
        norm = np.sqrt(np.maximum(norm, 0.0))
        largest, near = norm.max(), 32 * (layer + 1) * EPS * np.abs(x).max()
        if not (norm.min() > SMALLEST and largest < 1 / SMALLEST):
            return -1.0
        own, cloud = flag[0] + flag[1] * layer, flag[2] * layer
        for i in range(n):
            if decided[i] < layer:
                continue
            score[:] = 0.0
            for k in range(d):
                score += q[k, i] * x[k]
            best, second, top = -np.inf, -np.inf, -1
            for j in range(n):
                if score[j] > second:
                    if score[j] > best:
                        best, second, top = score[j], best, j
                    else:
                        second = score[j]
            if not best - second > 2 * (own * norm[i] * largest + cloud * largest * largest):
                return -1.0
            if best - second < np.inf:
                margin = min(margin, (best - second) / (norm[i] * largest))
            follows = top != i and role[top] == LEADER and decided[top] <= layer
            if decided[i] > layer:
                if top == i or follows:
                    return -1.0
                for k in range(d):
                    ahead[k, i] = (x[k, i] + alpha * x[k, top]) / (1 + alpha)
                continue
            as_said = (role[i] == LEADER and top == i) or (role[i] == FOLLOWER and follows)
            if not as_said or target[i] != top:
                return -1.0
            for k in range(d):
                if not abs(limit[i, k] - x[k, top]) <= near:
                    return -1.0
                offset[k, i] = x[k, i] - limit[i, k]
        for i in range(n):
            if decided[i] > layer:
                x[:, i] = ahead[:, i]
            else:
                x[:, i] = limit[i] + (1 + alpha) ** float(decided[i] - layer - 1) * offset[:, i]
    return margin
