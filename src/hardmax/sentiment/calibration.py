"""Probabilities that mean what they say, for texts of every length.

Few words are little evidence. From texts that a model has not learned, and from their beginnings, two numbers are
fitted such that the mean log-loss is least,

    logits = b + s sum_i <v, z_i^K> / (n + n0):

a common scale s of the scores and the number n0 of neutral words. b stays what the classes alone say: a text without
a known word has their frequencies as its probabilities. Both become part of the model, so that a logit is still the
bias plus one part per word.
"""

from dataclasses import dataclass

import numpy as np

from hardmax.io.scratch import empty, joined, kept
from hardmax.sentiment.word_scores import Examples, Floats, grade, minimize, slices
from hardmax.text.vocabulary import AT_ONCE, Bags

BEGINNINGS = (6, 12, 24, 48, 96)  # terms
STAY = 1e-4  # log-loss for n0 times e: texts of one length say nothing about n0, only about s / (n + n0)
LEAST, MOST = np.log([1e-3, 1e-3]), np.log([1e3, 1e6])  # of the logarithms of s and n0


@dataclass(frozen=True)
class Calibration:
    """The fitted scale s and neutral words n0, and the log-loss they lead to."""

    scale: float
    neutral: float
    loss: float


def beginnings(examples: Examples, weight: float = 1.0) -> Examples:
    """The texts, and the first terms of those that are longer; these weigh `weight` times as much."""
    sizes, offsets, parts = examples.sizes, examples.bags.offsets, [examples]
    for length in BEGINNINGS:
        which = np.flatnonzero(sizes > length)
        ids, step = empty(len(which) * length, np.int32), AT_ONCE // length
        for a in range(0, len(which), step):
            places = offsets[which[a : a + step]][:, None] + np.arange(length)
            ids[a * length : (a + step) * length] = examples.bags.ids[places.ravel()]
        bags = Bags.of(ids, np.full(len(which), length))
        parts.append(Examples(bags, kept(examples.labels[which]), kept(weight * examples.weight[which])))
    return together(parts)


def together(parts: list[Examples]) -> Examples:
    """Several parts, one after the other."""
    ids = joined((p.bags.ids for p in parts), np.int32)
    bags = Bags.of(ids, joined((p.sizes for p in parts), np.int64))
    labels = joined((p.labels for p in parts), np.int64).reshape(-1, *parts[0].labels.shape[1:])
    return Examples(bags, labels, joined((p.weight for p in parts), np.float64))


def calibrate(examples: Examples, sums: Floats, neutral: float, bias: Floats) -> Calibration:
    """Fit s and n0 to held-out texts; see the module.

    Args:
        sums: (N, C') sum_i <v, z_i^K> of every text.   neutral: n0 to begin with.   bias: (C',) b.
    """
    sizes, total = examples.sizes, examples.weight.sum()
    losses, pull, pull_each = (empty(len(sizes), np.float64) for _ in range(3))  # of every text

    def value(theta: Floats) -> tuple[float, Floats]:
        scale, rest = np.exp(np.clip(theta, LEAST, MOST))
        for some in slices(len(sizes), len(bias)):
            words = np.maximum(sizes[some] + rest, 1e-9)
            mean = sums[some] / words[:, None]
            weight = examples.weight[some] / total
            losses[some], error = grade(examples.labels[some], weight, scale * mean + bias)
            pull[some] = (error * mean).sum(axis=1)
            pull_each[some] = pull[some] / words
        away = theta[1] - begin[1]
        slope = scale * np.array([pull.sum(), -rest * pull_each.sum()])
        slope *= (theta > LEAST) & (theta < MOST)  # texts without one error would ask for an infinite scale
        return losses.sum() + STAY * away**2, slope + np.array([0.0, 2 * STAY * away])

    begin = np.array([0.0, np.log(max(neutral, 1e-3))])
    theta, values = minimize(value, begin, 200, tolerance=1e-9)
    theta = np.clip(theta, LEAST, MOST)
    return Calibration(float(np.exp(theta[0])), float(np.exp(theta[1])), values[-1] if values else value(theta)[0])
