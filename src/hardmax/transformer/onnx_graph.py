"""Blocks as an ONNX graph in float64 (extra `onnx`): input `tokens` (n, d), output `outputs` (n, d), any n.

Departs: a runtime adds in an order of its own. On the data of a `bitwise` network the output bits are the same for any
order (the snap removes the noise); elsewhere the last bits may differ.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput, need
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer

OPSET = 18


def write_onnx(stack: Sequence[Block], dim: int, path: Path) -> Path:
    """Write the graph to a file."""
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
