"""The largest scores, by the checkers' own means: no code is shared with the searches of the engine."""

import numpy as np

from hardmax.cloud.tokens import Floats, Ints

SMALL = 1024  # up to this many distinct tokens all gaps are exact


def strongest(q: Floats, q_norm: Floats, x: Floats, norm: Floats, band: Floats) -> tuple[Floats, Ints, Floats]:
    """For every query the largest <q, x_j>, its j, and the gap to the second largest.

    Keys in order of falling norm, in growing blocks; a query leaves once |q| |x| cannot come near its best any more
    (Cauchy-Schwarz), so that the gap is exact where it is small and a lower bound elsewhere.
    """
    order = np.argsort(-norm, kind="stable")
    best, second = np.full(len(q), -np.inf), np.full(len(q), -np.inf)
    top = np.zeros(len(q), np.int64)
    slack = np.maximum(band, 2.0**-19 * q_norm * norm.max()) if len(x) > SMALL else np.full(len(q), np.inf)
    start, size = 0, 64
    alive = np.arange(len(q))
    while start < len(x) and len(alive):
        keys = order[start : start + size]
        for chunk in np.array_split(alive, 1 + len(alive) * len(keys) // 4_000_000):
            s = q[chunk] @ x[keys].T
            rows = np.arange(len(chunk))
            j = s.argmax(1)
            value = s[rows, j]
            s[rows, j] = -np.inf
            runner = s.max(1)
            better = value > best[chunk]
            second[chunk] = np.maximum(
                runner, np.where(better, np.maximum(best[chunk], second[chunk]), np.maximum(value, second[chunk]))
            )
            best[chunk] = np.where(better, value, best[chunk])
            top[chunk] = np.where(better, keys[j], top[chunk])
        start, size = start + size, min(4 * size, 4096)
        if start < len(x):
            alive = alive[q_norm[alive] * norm[order[start]] >= best[alive] - slack[alive]]
    return best, top, best - second


def by_direction(q: Floats, x: Floats, wide: float) -> tuple[Floats, Ints, Floats]:
    """For every query in the plane the largest <q, x_j>, its j, and the gap to the next, if at most wide |q|.

    Queries of about one direction are compared with the same few candidates: a point that loses to another one by more
    than `wide` from both ends of a cone of less than a half turn loses to it everywhere in the cone.
    """
    best, gap = np.empty(len(q)), np.empty(len(q))
    top = np.empty(len(q), np.int64)
    angle = np.arctan2(q[:, 1], q[:, 0])
    order = np.argsort(angle)
    for block in np.array_split(order, 1 + len(order) // 4096):
        first, last = float(angle[block[0]]), float(angle[block[-1]])
        keys = np.arange(len(x))
        if last - first < 3.0:
            ends = np.array([first - 1e-12, last + 1e-12])
            scores = x @ np.stack((np.cos(ends), np.sin(ends)))
            for winner in scores.argmax(axis=0):
                keys = keys[~(scores[winner] - scores[keys] > wide).all(axis=1)]
        scores = np.ascontiguousarray(x[keys] @ q[block].T)
        which, columns = scores.argmax(axis=0), np.arange(len(block))
        best[block], top[block] = scores[which, columns], keys[which]
        scores[which, columns] = -np.inf
        gap[block] = best[block] - scores.max(axis=0)
    return best, top, gap
