"""Blocks in other libraries: a torch.nn.Module (extra `torch`) and an ONNX graph (extra `onnx`), both in float64.

torch gives the bits of the dense NumPy evaluation, because both add every sum from its first term to its last:
torch.cumsum and np.add.accumulate are sequential, and products and sums are separate operations (no fused
multiply-add). An ONNX runtime adds in an order of its own: on the data of a `bitwise` network the output bits are the
same for any order (the snap removes the noise); elsewhere the last bits may differ.

torch and onnx are optional, so their objects have the type Any here.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput, need
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer

OPSET = 18


def torch_module(stack: Sequence[Block], dim: int) -> Any:
    """An nn.Module: forward(x, temperature=None) for x (n, d) or (batch, n, d), without padding."""
    torch = need("torch", "torch", "to_torch()")

    def tensor(array: Any) -> Any:
        return torch.nn.Parameter(torch.tensor(np.asarray(array, dtype=np.float64)), requires_grad=False)

    class FeedForwardModule(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self, ff: FeedForwardLayer) -> None:
            super().__init__()
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
        def __init__(self, sa: AttentionLayer) -> None:
            super().__init__()
            self.rho, self.Q, self.K = tensor(sa.rho), tensor(sa.Q), tensor(sa.K)
            self.left, self.right = tensor(sa.left), tensor(sa.right)
            self.identity = sa.is_identity
            matrices = {"Q": sa.Q, "K": sa.K, "left": sa.left, "right": sa.right}
            self.used = {name: np.flatnonzero(matrix.any(axis=0)).tolist() for name, matrix in matrices.items()}

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
            self.ff = torch.nn.ModuleList(FeedForwardModule(block.ff) for block in stack)
            self.sa = torch.nn.ModuleList(AttentionModule(block.sa) for block in stack)

        def forward(self, x: Any, temperature: float | None = None) -> Any:
            for ff, sa in zip(self.ff, self.sa, strict=True):
                x = sa(ff(x), temperature)
            return x

    return TransformerModule()


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Run torch on one thread, and give it its threads back afterwards.

    Our matrices are small: threads would only wait for each other, and the last bits of sums would depend on them.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def write_onnx(stack: Sequence[Block], dim: int, path: Path) -> Path:
    """Write a graph with the input `tokens` (n, d) and the output `outputs` (n, d), for any n."""
    onnx = need("onnx", "onnx", "to_onnx()")
    graph = _Graph(onnx)
    x = "tokens"
    for block in stack:
        x = graph.feed_forward(block.ff, x, dim)
        if not block.sa.is_identity:
            x = graph.attention(block.sa, x)
    graph.node("Identity", [x], "outputs")
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    ends = [[helper.make_tensor_value_info(name, double, ["n", dim])] for name in ("tokens", "outputs")]
    body = helper.make_graph(graph.nodes, "hardmax", *ends, initializer=graph.constants)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="hardmax")
    model.ir_version = 9
    onnx.checker.check_model(model)
    if not path.parent.is_dir():
        raise BadInput(f"{path}: the folder {path.parent} does not exist", fix="create the folder first")
    onnx.save(model, str(path))
    return path


class _Graph:
    """Nodes and constants, named as they come."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, inputs: list[str], output: str | None = None, **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, value: Any, kind: Any = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(value, dtype=kind), name))
        return name

    def times(self, x: str, matrix: Floats) -> str:
        """(n, m) x matrix^T."""
        return self.node("MatMul", [x, self.constant(matrix.T)])

    def feed_forward(self, ff: FeedForwardLayer, x: str, dim: int) -> str:
        if len(ff.reads):
            read = self.node("Gather", [x, self.constant(ff.reads, np.int64)], axis=1)
            pre = self.node("Add", [self.times(read, ff.U), self.constant(ff.b)])
        else:  # constant units: 0 x + b
            pre = self.node("Add", [self.times(x, np.zeros((ff.width, dim))), self.constant(ff.b)])
        parts = []
        if len(ff.writes):
            written = self.times(self.node("Relu", [pre]), ff.W)
            parts.append(self.times(written, np.eye(dim)[:, ff.writes]))  # 0 and 1 only: no rounding
        if ff.eta or not parts:
            parts.append(self.node("Mul", [x, self.constant(ff.eta)]))
        return parts[0] if len(parts) == 1 else self.node("Add", parts)

    def attention(self, sa: AttentionLayer, x: str) -> str:
        keys = self.node("Transpose", [self.times(x, sa.K)], perm=[1, 0])
        scores = self.node("MatMul", [self.times(x, sa.Q), keys])
        top = self.node("ReduceMax", [scores, self.constant([1], np.int64)], keepdims=1)
        follows = self.node("Cast", [self.node("Equal", [scores, top])], to=self.onnx.TensorProto.DOUBLE)
        size = self.node("ReduceSum", [follows, self.constant([1], np.int64)], keepdims=1)
        mean = self.node("Div", [self.node("MatMul", [follows, self.times(x, sa.right)]), size])
        moved = self.times(mean, sa.left)
        return self.node("Add", [self.node("Mul", [x, self.constant(sa.rho)]), moved])
