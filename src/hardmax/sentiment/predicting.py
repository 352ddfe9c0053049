"""Many bags through a model at once, compiled and in threads."""

import numpy as np
from numpy.typing import NDArray

from hardmax.jit import over_parts
from hardmax.sentiment.batch import run_batch
from hardmax.text.vocabulary import Bags

_PART = 16  # texts that a thread takes at a time
_NONE = np.empty((0, 0))
_CHUNK = 8192  # texts whose weights are held at once


def run_bags(
    bags: Bags,
    vectors: NDArray[np.float64],
    rest: NDArray[np.float64],
    layers: int,
    scores: NDArray[np.float64],
    bias: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores (B, C') and numbers of leaders (B,)."""
    logits, heads = np.empty((len(bags), len(bias))), np.zeros(len(bags), np.int64)
    texts = np.arange(len(bags))
    for begin in range(0, len(bags), _CHUNK):
        part = texts[begin : begin + _CHUNK]
        batch_through(bags, part, vectors, rest, layers, scores, bias, logits[begin:], heads[begin:])
    return logits, heads


def batch_through(
    bags: Bags,
    texts: NDArray[np.int64],
    vectors: NDArray[np.float64],
    rest: NDArray[np.float64],
    layers: int,
    scores: NDArray[np.float64],
    bias: NDArray[np.float64],
    logits: NDArray[np.float64],
    heads: NDArray[np.int64],
    drop: float = 0.0,
    seed: int = 0,
    nearby: NDArray[np.float64] = _NONE,
    slopes: NDArray[np.float64] = _NONE,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """One batch; returns the weights of its words and where each text's weights begin."""
    sizes = np.diff(bags.offsets)[texts]
    places = np.cumsum(sizes) - sizes
    weights = np.empty(int(sizes.sum()))
    shared = bags.ids, bags.offsets, texts, places
    model = vectors, rest, layers, scores, bias, drop, np.uint64(seed), nearby, logits, weights, heads, slopes
    over_parts(lambda a, b: run_batch(*shared, a, b, *model), len(texts), 100.0 * weights.size, _PART)
    return weights, places
