"""A model as an ONNX graph: numbers of terms in, scores and probabilities out.

The graph has no words in it: ONNX runtimes have no tokenizer that could follow our rules. It takes `terms` (B, N)
int64, the numbers of the distinct known terms of every text, rows filled up with -1, as `SentimentModel.vocabulary`
gives them. All arithmetic is float64.
"""

from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput, need
from hardmax.io.files import write_file
from hardmax.sentiment.layers_numpy import BAND, TINY
from hardmax.sentiment.model import SentimentModel, lead
from hardmax.text.words import RULES

OPSET = 18
NOBODY = -1e300  # the score with a place that holds no term


def export_onnx(model: SentimentModel, path: str | Path, *, force: bool = True) -> Path:
    """Write the graph: input `terms` (B, N), outputs `logits` (B, C') and `probabilities` (B, C).

        z_i <- (z_i + alpha mean_{j in C_i} z_j) / (1 + alpha), C_i = {j: <z_i, z_j> >= max_l <z_i, z_l> - band},
        logits = b + V sum_i z_i / (n + n0),    probabilities = softmax(`hardmax.sentiment.model.damped` logits).

    Raises:
        MissingExtra: onnx is not installed.
    """
    onnx = need("onnx", "onnx", "an ONNX file")
    path = Path(path)
    if path.suffix.lower() != ".onnx":
        raise BadInput(f"{path} does not end in .onnx", fix="give a name such as model.onnx")
    graph = _graph(onnx, model)
    onnx.checker.check_model(graph)
    return write_file(path, lambda to: onnx.save(graph, str(to)), force=force)


def term_matrix(model: SentimentModel, texts: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """(B, N) the input of the graph for some texts; N is at least 1.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> model = load_model("imdb-words")
        >>> rows = term_matrix(model, ["great film", "great"])
        >>> rows.shape, bool(rows[1, 0] == rows[0, 0]), int(rows[1, 1])
        ((2, 2), True, -1)
    """
    bags = model.vocabulary.bags(texts)
    sizes = np.diff(bags.offsets)
    rows = np.full((len(texts), max(1, int(sizes.max(initial=0)))), -1, np.int64)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = bags.ids
    return rows


class _Graph:
    """Nodes and constants, named as they come."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def axes(self, *axes: int) -> str:
        return self.constant(axes, np.int64)

    def double(self, x: str) -> str:
        return self.node("Cast", x, to=self.onnx.TensorProto.DOUBLE)

    def layer(self, z: str, there: str, empty: str, alpha: float) -> str:
        """(B, N, d) one layer; places without a term stay at 0."""
        length = self.node("Sqrt", self.node("ReduceSum", self.node("Mul", z, z), self.axes(2), keepdims=1))
        top = self.node("ReduceMax", length, self.axes(1), keepdims=1)
        least = self.node("Max", length, self.node("Mul", top, self.constant(TINY)))
        band = self.node("Mul", self.node("Mul", least, top), self.constant(BAND))
        scores = self.node("MatMul", z, self.node("Transpose", z, perm=[0, 2, 1]))
        scores = self.node("Where", empty, self.constant(NOBODY), scores)
        bar = self.node("Sub", self.node("ReduceMax", scores, self.axes(2), keepdims=1), band)
        follows = self.double(self.node("GreaterOrEqual", scores, bar))
        count = self.node("ReduceSum", follows, self.axes(2), keepdims=1)
        mean = self.node("Div", self.node("MatMul", follows, z), count)
        step = self.node("Mul", mean, self.constant(alpha / (1.0 + alpha)))
        kept = self.node("Mul", z, self.constant(1.0 / (1.0 + alpha)))
        return self.node("Mul", self.node("Add", kept, step), there)

    def damped(self, logits: str, model: SentimentModel) -> str:
        """(B, C) the scores whose softmax are the probabilities."""
        top = self.node("ReduceMax", logits, self.axes(1), keepdims=1)
        ahead = self.node("Sub", top, self.node("ReduceMean", logits, self.axes(1), keepdims=1))
        part = self.node(
            "Div", self.constant(1.0 + lead(model.bias[None])), self.node("Add", ahead, self.constant(1.0))
        )
        return self.node("Mul", logits, self.node("Pow", part, self.constant(model.damping)))


def _graph(onnx: Any, model: SentimentModel) -> Any:
    g, helper, kinds = _Graph(onnx), onnx.helper, onnx.TensorProto
    known = g.node("GreaterOrEqual", "terms", g.constant(0, np.int64))  # (B, N)
    there = g.node("Unsqueeze", g.double(known), g.axes(2))  # (B, N, 1)
    empty = g.node("Unsqueeze", g.node("Not", known), g.axes(1))  # (B, 1, N)
    vectors = g.constant(np.asarray(model.embedding), np.asarray(model.embedding).dtype)
    place = g.node("Max", "terms", g.constant(0, np.int64))
    z = g.node("Mul", g.double(g.node("Gather", vectors, place, axis=0)), there)
    for _ in range(model.layers):
        z = g.layer(z, there, empty, model.alpha)
    count = g.node("ReduceSum", there, g.axes(1), keepdims=0)  # (B, 1)
    least = g.node("Max", g.node("Add", count, g.constant(model.neutral_words)), g.constant(1e-300))
    mean = g.node("Div", g.node("ReduceSum", z, g.axes(1), keepdims=0), least)
    logits = g.node("Add", g.node("MatMul", mean, g.constant(model.scores.T)), g.constant(model.bias), name="logits")
    if len(model.bias) == 1:
        g.node("Softmax", g.node("Concat", g.node("Mul", logits, g.constant(0.0)), logits, axis=1), axis=1,
               name="probabilities")  # fmt: skip
    else:
        g.node("Softmax", g.damped(logits, model) if model.damping else logits, axis=1, name="probabilities")
    ends = [
        [helper.make_tensor_value_info("terms", kinds.INT64, ["texts", "most terms"])],
        [
            helper.make_tensor_value_info("logits", kinds.DOUBLE, ["texts", len(model.bias)]),
            helper.make_tensor_value_info("probabilities", kinds.DOUBLE, ["texts", len(model.classes)]),
        ],
    ]
    body = helper.make_graph(g.nodes, "hardmax", *ends, initializer=g.constants)
    made = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="hardmax")
    made.ir_version = 9
    for key, value in {"classes": list(model.classes), "ngrams": model.vocabulary.ngrams, "words": RULES}.items():
        made.metadata_props.add(key=key, value=dumps(value, default=str))
    return made
