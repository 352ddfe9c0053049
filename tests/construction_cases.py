"""Data sets for the exact construction, small enough for every level, and the definition of a block, literally."""

from fractions import Fraction

import numpy as np

a, b, c = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]


def _random(n, dim, seed, longest=12, lattice=False):
    rng = np.random.default_rng(seed)
    vocabulary = rng.integers(0, 5, (25, dim)).astype(float) if lattice else rng.standard_normal((40, dim))
    sequences, seen = [], set()
    while len(sequences) < n:
        ids = rng.integers(0, len(vocabulary), rng.integers(1, longest + 1))
        if len(sequences) % 2:  # a near-copy of the one before
            ids = np.append(sequences[-1][1], ids[:1])
        tokens = vocabulary[ids]
        key = tuple(sorted(map(tuple, tokens)))
        if key not in seen:
            seen.add(key)
            sequences.append((tokens, ids))
    return [tokens for tokens, _ in sequences], rng


def labeled(n, dim, seed=0, classes=3, **options):
    sequences, rng = _random(n, dim, seed, **options)
    return sequences, rng.integers(0, classes, n).tolist()


def interpolated(n, dim, seed=0, most=3, **options):
    sequences, rng = _random(n, dim, seed, **options)
    counts = [min(int(rng.integers(1, most + 1)), len(np.unique(s, axis=0))) for s in sequences]
    return sequences, [rng.standard_normal((m, dim)) for m in counts]


def _scaled(data, factor):
    return [s * factor for s in data[0]], data[1]


CASES = {
    "two words": ([[a, b], [c]], ["yes", "no"]),
    "one sequence": ([[a, b]], ["only"]),
    "one class": ([[a], [b], [a, b]], [7, 7, 7]),
    "multiplicity tells": ([[a, b], [a, a, b], [a, b, b]], [0, 1, 2]),
    "duplicates agree": ([[a, b], [b, a], [a, a, b, b], [c]], ["x", "x", "x", "y"]),
    "equal means": ([[[-1.0, 0.0], [1.0, 0.0]], [[-2.0, 0.0], [2.0, 0.0]], [[0.0, 0.0]]], [0, 1, 2]),
    "labels of many kinds": ([[a], [b], [c], [a, b]], [None, ("t", 1), 2.5, "text"]),
    "random": labeled(40, 3),
    "lattice": labeled(60, 2, seed=1, lattice=True),
    "large numbers": _scaled(labeled(20, 2, seed=2), 2.0**600),
    "small numbers": _scaled(labeled(20, 2, seed=3), 2.0**-600),
    "one target each": ([[a, b], [c], [a, c]], [[[0.1, 0.2]], [[3.0, -4.0]], [[0.1, 0.2]]]),
    "split": ([[a, b], [a, b, c]], [[[0.5, 0.25], [0.1, 0.2]], [[0.1, 0.2], [7.0, 7.0], [1e-3, 1e3]]]),
    "duplicates split alike": ([[a, b], [b, a, b, a]], [[[0.1, 0.2], [0.3, 0.4]], [[0.3, 0.4], [0.1, 0.2]]]),
    "interpolation": interpolated(25, 3),
    "lattice interpolation": interpolated(20, 2, seed=5, lattice=True),
    "no coordinate is special": interpolated(8, 5, seed=6),
}
LINE_CASES = {
    "on a line": ([[[0.0], [1.0]], [[0.5]], [[2.0], [3.0]]], ["x", "y", "x"]),
    "interpolation on a line": interpolated(10, 1, seed=7),
}


def distinct_sets(sequences, targets):
    """The same data without sequences whose set of tokens was there before: what `max` can tell apart."""
    seen, kept = set(), []
    for j, sequence in enumerate(sequences):
        tokens = frozenset(map(tuple, np.asarray(sequence).tolist()))
        if tokens not in seen:
            seen.add(tokens)
            kept.append(j)
    return [sequences[j] for j in kept], [targets[j] for j in kept]


def target_sets(sequences, targets):
    """The sets of tokens that the network has to put out, in Fractions; classes are numbered as documented."""
    if isinstance(targets[0], (list, np.ndarray)):
        return [{tuple(Fraction(float(x)) for x in row) for row in np.atleast_2d(t)} for t in targets]
    classes = list(dict.fromkeys(targets))
    if len({type(label) for label in classes}) == 1 and isinstance(classes[0], (int, str, float)):
        classes = sorted(classes)
    dim = len(sequences[0][0])
    return [{(Fraction(classes.index(t)), *[Fraction(0)] * (dim - 1))} for t in targets]


def literal_outputs(blocks, sequence):
    """The set of output tokens, by the definition: every unit, Fractions, nothing clever.

    Args:
        blocks: dicts with eta, U, b, W, rho, Q, K, V as full matrices.
    """
    x = [[Fraction(float(v)) for v in token] for token in sequence]
    for p in blocks:
        x = [_literal_ff(p, token) for token in x]
        x = _literal_sa(p, x)
    return {tuple(token) for token in x}


def _dot(row, x):
    return sum((Fraction(float(w)) * v for w, v in zip(row, x, strict=True) if w), Fraction(0))


def _literal_ff(p, x):
    hidden = [max(Fraction(0), _dot(row, x) + Fraction(float(bias))) for row, bias in zip(p["U"], p["b"], strict=True)]
    return [Fraction(float(p["eta"])) * v + _dot(row, hidden) for v, row in zip(x, p["W"], strict=True)]


def _literal_sa(p, x):
    values = [[_dot(row, token) for row in p["V"]] for token in x]
    queries = [[_dot(row, token) for row in p["Q"]] for token in x]
    keys = [[_dot(row, token) for row in p["K"]] for token in x]
    out = []
    for token, query in zip(x, queries, strict=True):
        scores = [sum((q * k for q, k in zip(query, key, strict=True)), Fraction(0)) for key in keys]
        follows = [v for v, s in zip(values, scores, strict=True) if s == max(scores)]
        mean = [sum(column) / len(follows) for column in zip(*follows, strict=True)]
        out.append([Fraction(float(p["rho"])) * v + m for v, m in zip(token, mean, strict=True)])
    return out


def full_blocks(net):
    """The parameters of a network as full matrices."""
    return [
        {
            "eta": block.ff.eta, "U": block.ff.full_U(net.dim), "b": block.ff.b, "W": block.ff.full_W(net.dim),
            "rho": block.sa.rho, "Q": block.sa.Q, "K": block.sa.K, "V": block.sa.V,
        }
        for block in net.stack
    ]  # fmt: skip
