"""All scores, the slow way: what every search must agree with."""

import numpy as np

from hardmax.attention.search import Scores

EPS = 2.0**-52


def scores(Q, Z):
    """All scores by a sequential sum, the order of operations the searches promise."""
    S = np.multiply.outer(Q[:, 0], Z[:, 0])
    for k in range(1, Z.shape[1]):
        S = S + np.multiply.outer(Q[:, k], Z[:, k])
    return S


def norms(Q, Z):
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", Q, Z), 0.0))


def agree(Z, A=None, rows=None, units=2.0**-20, definite=True, condition=1.0, band_units=64 * EPS):
    """Assert that find and collect give what the oracle gives; return the gaps of the oracle."""
    Z = np.unique(Z, axis=0)
    Z = np.ascontiguousarray(np.random.default_rng(len(Z)).permutation(Z))
    Q = Z if A is None else np.ascontiguousarray(Z @ A.T)
    N = norms(Q, Z) if definite else np.zeros(len(Z))
    own = np.arange(len(Z)) if rows is None else np.asarray(rows)
    scale = N.max() if definite else np.linalg.norm(Z, axis=1).max()
    size = N[own] if definite else np.linalg.norm(Q, axis=1)[own]
    resolution = units * size * scale
    S = scores(Q[own], Z)
    target = S.argmax(1)
    best = S[np.arange(len(own)), target]
    rest = S.copy()
    rest[np.arange(len(own)), target] = -np.inf
    gap = best - rest.max(1)

    asked = Scores(Q[own], N[own], Z, N, condition)
    found = asked.find(resolution, own)
    np.testing.assert_array_equal(found.target, target)
    np.testing.assert_array_equal(found.best, best)
    close = gap <= resolution
    np.testing.assert_array_equal(found.gap[close], gap[close])
    assert np.all(found.gap[~close] > resolution[~close])

    band = band_units * size * scale
    indptr, indices = asked.collect(best, band).rows(np.arange(len(own)))
    inside = (best - band)[:, None] <= S
    np.testing.assert_array_equal(indptr, np.concatenate(([0], np.cumsum(inside.sum(1)))))
    np.testing.assert_array_equal(indices, np.nonzero(inside)[1])
    return gap


def cloud(kind, n, d, rng):
    """Random and tie-rich clouds."""
    g = rng.standard_normal((n, d))
    if kind == "gaussian":
        return g
    if kind == "ball":
        return g / np.linalg.norm(g, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)
    if kind == "sphere":
        return g / np.linalg.norm(g, axis=1, keepdims=True)
    if kind == "cube":
        return rng.uniform(-1, 1, (n, d))
    if kind == "lattice":
        return rng.integers(-3, 4, (n, d)).astype(float)
    if kind == "fine lattice":
        return rng.integers(-40, 41, (n, d)) / 64
    if kind == "collinear":
        return rng.integers(-50, 51, (n, 1)) * rng.integers(-2, 3, (1, d)) + rng.integers(-2, 3, (1, d)) * 1.0
    if kind == "rounded line":
        return rng.standard_normal((n, 1)) * rng.standard_normal((1, d)) + rng.standard_normal((1, d))
    if kind == "near-duplicates":
        return g[rng.integers(0, max(1, n // 8), n)] + 1e-15 * rng.integers(-2, 3, (n, d))
    if kind == "two scales":
        return g * 10.0 ** rng.uniform(-30, 0, (n, 1))
    raise ValueError(kind)


KINDS = [
    "gaussian", "ball", "sphere", "cube", "lattice", "fine lattice",
    "collinear", "rounded line", "near-duplicates", "two scales",
]  # fmt: skip


def with_guesses(all_gaps, rng, q, x, guesses):
    """The norms of keys and queries, what `all_gaps` finds, guesses of the kind that is asked for, and slacks."""
    norm, q_norm = np.linalg.norm(x, axis=1), np.linalg.norm(q, axis=1)
    best, top, gap = all_gaps(q, x)
    guess = {
        "right": top, "random": rng.integers(0, len(x), len(q)), "the shortest": np.full(len(q), norm.argmin())
    }[guesses]  # fmt: skip
    return norm, q_norm, best, top, gap, guess, rng.choice([1e-9, 1e-2, 0.3], len(q)) * q_norm * norm.max()
