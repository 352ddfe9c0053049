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
    large, wide = (float(np.abs(a).max(initial=0.0)) for a in (q, x))
    rough = len(x) > SMALL and 1e-100 < large < 1e100 and 1e-100 < wide < 1e100
    if rough:
        single_q, single_x = (q / large).astype(np.float32), (x / wide).astype(np.float32)
        error = (x.shape[1] + 4) * x.shape[1] * 2.0**-23
    start, size = 0, 64
    alive = np.arange(len(q))
    while start < len(x) and len(alive):
        keys = order[start : start + size]
        for part in np.array_split(alive, 1 + len(alive) * len(keys) // 4_000_000):
            chunk = part
            if rough:  # who cannot come near a best score, the rounding of float32 included, changes nothing
                highest = (single_q[part] @ single_x[keys].T).max(1)
                chunk = part[highest >= (best[part] - slack[part]) / (large * wide) - error]
            s, rows = q[chunk] @ x[keys].T, np.arange(len(chunk))
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
