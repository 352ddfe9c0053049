"""The two layers of a block by their definition, in Fractions, and the attention layer of the package to compare with.

Written for this purpose alone: every unit and every score is computed, and no code is shared with the package.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hardmax.experiments.claims.definition import Cloud, Matrix, Number, cloud_of, converted, dot, mean

Rows = Sequence[Sequence[Any]]


def attention(x: Cloud, rho: Number, Q: Rows, K: Rows, V: Rows) -> Cloud:
    """x_i -> rho x_i + mean_{l in C_i} V x_l, C_i = argmax_l <Q x_i, K x_l>. Implements the attention of [AFZ25].

    Example:
        >>> attention(((1, 0), (3, 0)), 0, [[1, 0]], [[1, 0]], [[1, 0], [0, 1]])
        ((3, 0), (3, 0))
    """
    queries, keys, values = ([tuple(_dot(row, z) for row in matrix) for z in x] for matrix in (Q, K, V))
    out = []
    for z, query in zip(x, queries, strict=True):
        scores = [_dot(query, key) for key in keys]
        best = max(scores)
        followed = [v for v, score in zip(values, scores, strict=True) if score == best]
        goal = followed[0] if len(followed) == 1 else mean([tuple(map(Fraction, v)) for v in followed])
        out.append(tuple(rho * a + b for a, b in zip(z, goal, strict=True)))
    return tuple(out)


def feed_forward(x: Cloud, eta: Number, U: Rows, b: Sequence[Any], W: Rows) -> Cloud:
    """x -> eta x + W relu(U x + b) for every token. Implements the feed-forward of [AFZ25]."""
    out = []
    for z in x:
        hidden = [max(Fraction(0), _dot(row, z) + bias) for row, bias in zip(U, b, strict=True)]
        out.append(tuple(eta * a + _dot(row, hidden) for a, row in zip(z, W, strict=True)))
    return tuple(out)


def outputs(net: Any, sequence: Cloud) -> set[tuple[Any, ...]]:
    """The set of output tokens of a constructed network, from its stored float64 parameters, without rounding."""
    x = sequence
    for ff, sa in exact_blocks(net):
        x = attention(feed_forward(x, *ff), *sa)
    return set(x)


def exact_blocks(net: Any) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """((eta, U, b, W), (rho, Q, K, V)) of every block, full matrices of Fractions."""
    found = []
    for block in net.stack:
        ff, sa = block.ff, block.sa
        forward = (ff.eta, ff.full_U(net.dim), ff.b, ff.full_W(net.dim))
        rho, Q, K, left, right = map(_exact, (sa.rho, sa.Q, sa.K, sa.left, sa.right))
        V = [[_dot(row, column) for column in zip(*right, strict=True)] for row in left]
        found.append((tuple(map(_exact, forward)), (rho, Q, K, V)))
    return found


def _exact(value: Any) -> Any:
    """A number or an array, also nested lists of numbers, in Fractions."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_exact(v) for v in value] if isinstance(value, list) else Fraction(value)


def _dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """<x, y>; zeros are left out, which most parameters are."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a and b]
    return dot([a for a, _ in pairs], [b for _, b in pairs]) if pairs else 0


def package_attention(tokens: Cloud, score: Matrix) -> Cloud:
    """x_i -> mean_{l in C_i} x_l with the score <Q x_i, Q x_l>, by `hardmax.transformer`; None is Q = I."""
    import numpy as np

    from hardmax.cloud.ragged import ragged
    from hardmax.transformer.blocks import AttentionLayer

    x = np.array(converted(tokens, float))
    one = np.eye(x.shape[1])
    Q = one if score is None else np.array(converted(score, float))
    return cloud_of(AttentionLayer(0.0, Q, Q, one, one).apply(x, ragged([x])))


def far_apart(found: Cloud, wanted: Cloud) -> int | None:
    """The first token that is not where it should be within 1e-12 of the largest coordinate."""
    size = max(abs(float(a)) for z in wanted for a in z)
    for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
        if any(abs(a - float(b)) > 1e-12 * size for a, b in zip(x, y, strict=True)):
            return i
    return None


def identity(dim: int) -> list[list[int]]:
    """The identity matrix."""
    return [[int(i == j) for j in range(dim)] for i in range(dim)]
