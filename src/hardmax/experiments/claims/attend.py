"""One attention layer of the package, on tokens of a case."""

from typing import Any

from hardmax.experiments.claims.definition import Cloud, Matrix


def package_attention(tokens: Cloud, score: Matrix) -> Cloud:
    """x_i -> mean_{l in C_i} x_l with the score <Q x_i, Q x_l>, by `hardmax.transformer`; None is Q = I."""
    import numpy as np

    from hardmax.cloud.ragged import ragged
    from hardmax.transformer.blocks import AttentionLayer

    x = np.array([[float(a) for a in z] for z in tokens])
    one = np.eye(x.shape[1])
    Q = one if score is None else np.array([[float(a) for a in row] for row in score])
    moved: Any = AttentionLayer(0.0, Q, Q, one, one).apply(x, ragged([x]))
    return tuple(tuple(z) for z in moved.tolist())


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
