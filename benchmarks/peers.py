"""What people use today, each doing one layer of the hardmax dynamics with A = I for some of the tokens.

All take the tokens Z (n, d), the step alpha and how many tokens to move (the first `count`), and return their new
positions. The first two compute the definition in float64, ties included; torch and FAISS look for one maximum in
float32, which is less work and not always the same answer.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Layer = Callable[[np.ndarray, float, int], np.ndarray]
SCORES_AT_ONCE = 4_000_000  # 32 MB of float64 scores: blocks of rows that stay near the processor


def literal(Z: np.ndarray, alpha: float, count: int) -> np.ndarray:
    """The definition token by token, as the scripts of the paper do it."""
    new = np.empty((count, Z.shape[1]))
    for i in range(count):
        scores = Z @ Z[i]
        followed = np.flatnonzero(scores == scores.max())
        new[i] = (Z[i] + alpha * Z[followed].mean(axis=0)) / (1 + alpha)
    return new


def dense(Z: np.ndarray, alpha: float, count: int) -> np.ndarray:
    """Matrix products of blocks of rows; means only where there is a tie."""
    new = np.empty((count, Z.shape[1]))
    for rows in _blocks(len(Z), count):
        scores = Z[rows] @ Z.T
        best = scores.argmax(axis=1)
        target = Z[best]
        tied = scores >= scores[np.arange(len(best)), best][:, None]
        for i in np.flatnonzero(np.count_nonzero(tied, axis=1) > 1):
            target[i] = Z[tied[i]].mean(axis=0)
        new[rows] = (Z[rows] + alpha * target) / (1 + alpha)
    return new


def torch_argmax(Z: np.ndarray, alpha: float, count: int) -> np.ndarray:
    """torch matmul and argmax in float32."""
    import torch

    tokens = torch.from_numpy(Z.astype(np.float32))
    new = torch.empty((count, Z.shape[1]))
    for rows in _blocks(len(Z), count):
        best = (tokens[rows] @ tokens.T).argmax(dim=1)
        new[rows] = (tokens[rows] + alpha * tokens[best]) / (1 + alpha)
    return new.numpy()


def faiss_flat(Z: np.ndarray, alpha: float, count: int) -> np.ndarray:
    """FAISS IndexFlatIP: exhaustive maximum inner product in float32."""
    import faiss

    keys = Z.astype(np.float32)
    index = faiss.IndexFlatIP(Z.shape[1])
    index.add(keys)
    _, best = index.search(keys[:count], 1)
    return (keys[:count] + alpha * keys[best[:, 0]]) / (1 + alpha)


def dense_batch(batch: np.ndarray, alpha: float, layers: int) -> np.ndarray:
    """Stacked matrix products for clouds of one length, (B, n, d); no ties."""
    Z = batch
    for _ in range(layers):
        best = np.matmul(Z, Z.transpose(0, 2, 1)).argmax(axis=2)
        Z = (Z + alpha * np.take_along_axis(Z, best[:, :, None], axis=1)) / (1 + alpha)
    return Z


def torch_batch(batch: np.ndarray, alpha: float, layers: int) -> np.ndarray:
    """torch bmm and argmax in float32 for clouds of one length; no ties."""
    import torch

    Z: Any = torch.from_numpy(batch.astype(np.float32))
    for _ in range(layers):
        best = torch.bmm(Z, Z.transpose(1, 2)).argmax(dim=2)
        Z = (Z + alpha * torch.gather(Z, 1, best[:, :, None].expand(-1, -1, Z.shape[2]))) / (1 + alpha)
    return Z.numpy()


def _blocks(n: int, count: int) -> list[slice]:
    rows = max(1, SCORES_AT_ONCE // n)
    return [slice(start, min(start + rows, count)) for start in range(0, count, rows)]


PEERS: dict[str, Layer] = {"literal": literal, "NumPy": dense, "torch": torch_argmax, "FAISS": faiss_flat}
