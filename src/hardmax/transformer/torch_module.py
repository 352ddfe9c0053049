"""Blocks as a torch.nn.Module in float64 (extra `torch`), with the same output bits as the dense NumPy evaluation.

The bits agree because both add every sum from its first term to its last: torch.cumsum and np.add.accumulate are
sequential, and products and sums are separate operations (no fused multiply-add).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import need
from hardmax.transformer.blocks import Block


def torch_module(stack: Sequence[Block], dim: int) -> Any:
    """An nn.Module: forward(x, temperature=None) for x (n, d) or (batch, n, d), without padding."""
    torch = need("torch", "torch", "to_torch()")

    def tensor(array: Any) -> Any:
        return torch.nn.Parameter(torch.tensor(np.asarray(array, dtype=np.float64)), requires_grad=False)

    class FeedForwardModule(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self, block: Block) -> None:
            super().__init__()
            ff = block.ff
            self.U, self.b, self.W, self.eta = tensor(ff.U), tensor(ff.b), tensor(ff.W), tensor(ff.eta)
            self.reads, self.writes = ff.reads.tolist(), ff.writes.tolist()

        def forward(self, x: Any) -> Any:
            pre = torch.zeros((*x.shape[:-1], len(self.b)), dtype=x.dtype)
            for position, k in enumerate(self.reads):
                pre = pre + x[..., k, None] * self.U[:, position]
            hidden = torch.relu(pre + self.b)
            out = x * self.eta if float(self.eta) else torch.zeros_like(x)
            for position, k in enumerate(self.writes):
                out[..., k] = out[..., k] + torch.cumsum(hidden * self.W[position], -1)[..., -1]
            return out

    class AttentionModule(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self, block: Block) -> None:
            super().__init__()
            sa = block.sa
            self.rho, self.Q, self.K = tensor(sa.rho), tensor(sa.Q), tensor(sa.K)
            self.left, self.right = tensor(sa.left), tensor(sa.right)
            self.identity = sa.is_identity
            self.used = {name: _used(getattr(sa, name)) for name in ("Q", "K", "left", "right")}

        def combine(self, name: str, x: Any) -> Any:
            matrix = getattr(self, name)
            out = torch.zeros((*x.shape[:-1], matrix.shape[0]), dtype=x.dtype)
            for k in self.used[name]:
                out = out + x[..., k, None] * matrix[:, k]
            return out

        def forward(self, x: Any, temperature: float | None) -> Any:
            if self.identity:
                return x
            queries, keys, values = (self.combine(name, x) for name in ("Q", "K", "right"))
            scores = queries[..., :, None, 0] * keys[..., None, :, 0]
            for h in range(1, queries.shape[-1]):
                scores = scores + queries[..., :, None, h] * keys[..., None, :, h]
            top = scores.amax(-1, keepdim=True)
            weights = (scores == top).to(x.dtype) if temperature is None else torch.exp((scores - top) / temperature)
            total = torch.cumsum(weights, -1)[..., -1]
            attended = [
                torch.cumsum(weights * values[..., None, :, r], -1)[..., -1] / total for r in range(values.shape[-1])
            ]
            return x * self.rho + self.combine("left", torch.stack(attended, -1))

    class TransformerModule(torch.nn.Module):  # type: ignore[name-defined]
        """FF, SA, FF, SA, ... in float64."""

        def __init__(self) -> None:
            super().__init__()
            self.dim = dim
            self.ff = torch.nn.ModuleList(FeedForwardModule(block) for block in stack)
            self.sa = torch.nn.ModuleList(AttentionModule(block) for block in stack)

        def forward(self, x: Any, temperature: float | None = None) -> Any:
            for ff, sa in zip(self.ff, self.sa, strict=True):
                x = sa(ff(x), temperature)
            return x

    return TransformerModule()


def _used(matrix: Floats) -> list[int]:
    return np.flatnonzero(matrix.any(axis=0)).tolist()
