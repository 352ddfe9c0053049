"""Calibrated probabilities for texts of every length.

A few words are weak evidence. A few numbers are therefore fitted to held-out texts and their beginnings,

    logits = b + sum_i (s <v, z_i^K> + c) / (n + n0):

a common scale s of the scores, the number n0 of neutral words and, for several classes and no layers, a shift c of the
scores of all words toward each class: without it, rare classes are predicted too seldom on unseen texts. The bias b
stays the same, so a text without a known word has the class frequencies as its probabilities. All of these numbers
become part of the model, so a logit is still the bias plus one contribution per word.

With several classes, no scale suits all texts: where it is right for most of them, the surest are too sure. So their
probabilities are the softmax of damped logits (`hardmax.sentiment.model.damped`), and the damping is fitted too.

They minimize the mean Brier score sum_c (p_c - y_c)^2. Like the log-loss, it is minimal for the true probabilities, but
no text counts more than 2: with the log-loss, a few wrong labels make the probabilities of all other texts too low.
"""

from dataclasses import dataclass

import numpy as np

from hardmax.io.scratch import empty, joined, kept
from hardmax.sentiment.lbfgs import minimize
from hardmax.sentiment.model import damped, lead
from hardmax.sentiment.word_scores import Examples, Floats, Ints, slices
from hardmax.text.vocabulary import AT_ONCE, Bags

BEGINNINGS = (6, 12, 24, 48, 96)  # terms
STAY = 1e-4  # score for n0 times e: texts of one length say nothing about n0, only about s / (n + n0)
EVERY = 0.3  # score for c = 1, and for damping = 1, divided by the number of texts: few texts say little about them
DAMPING, MOST_DAMPING = 0.3, 0.9  # from which the fit begins, and at most
STEPS = np.arange(-6.0, 4.0)  # in log s, from which the fit begins
LEAST, MOST = np.log([1e-3, 1e-3]), np.log([1e3, 1e6])  # of the logarithms of s and n0


@dataclass(frozen=True, eq=False)
class Calibration:
    """What was fitted.

    Attributes:
        scale: s.   neutral: n0.   every: (C',) c.   damping: of the probabilities of several classes.
    """

    scale: float
    neutral: float
    every: Floats
    damping: float = 0.0

    def logits(self, sizes: Ints, sums: Floats, bias: Floats) -> Floats:
        """(N, C') of texts with these numbers of known words and these sums of scores."""
        words = np.maximum(sizes + self.neutral, 1e-9)[:, None]
        return bias + (self.scale * sums + sizes[:, None] * self.every) / words


def beginnings(examples: Examples, weight: float = 1.0, one: bool = False) -> Examples:
    """The texts, and the first terms of those that are longer; these weigh `weight` times as much.

    With `one`, each text has at most one beginning, of a random length, which counts for all of them.
    """
    sizes, offsets, parts = examples.sizes, examples.bags.offsets, [examples]
    times = weight * (len(BEGINNINGS) if one else 1)
    lengths = np.random.default_rng(0).choice(BEGINNINGS, len(sizes)) if one else 0
    for length in BEGINNINGS:
        which = np.flatnonzero((sizes > length) & (lengths == length if one else True))
        ids, step = empty(len(which) * length, np.int32), AT_ONCE // length
        for a in range(0, len(which), step):
            places = offsets[which[a : a + step]][:, None] + np.arange(length)
            ids[a * length : (a + step) * length] = examples.bags.ids[places.ravel()]
        bags = Bags.of(ids, np.full(len(which), length))
        parts.append(Examples(bags, kept(examples.labels[which]), kept(times * examples.weight[which])))
    return together(parts)


def together(parts: list[Examples]) -> Examples:
    """Several parts, one after the other."""
    ids = joined((p.bags.ids for p in parts), np.int32)
    bags = Bags.of(ids, joined((p.sizes for p in parts), np.int64))
    labels = joined((p.labels for p in parts), np.int64).reshape(-1, *parts[0].labels.shape[1:])
    return Examples(bags, labels, joined((p.weight for p in parts), np.float64))


def brier(labels: Ints, weight: Floats, scores: Floats, doubt: float = 0.0) -> tuple[Floats, Floats]:
    """(N,) the weighted Brier scores of logits (N, C'), and the gradient of their sum by the logits.

    Args:
        doubt: the part of the labels that are taken as if they had been drawn at random.

    Example:
        >>> losses, slope = brier(np.array([1, 0]), np.ones(2), np.array([[0.0], [0.0]]))
        >>> losses.tolist(), slope.ravel().tolist()
        ([0.25, 0.25], [-0.25, 0.25])
    """
    weight = weight[:, None]
    if labels.ndim == 2 or scores.shape[1] == 1:
        p = np.exp(-np.logaddexp(0.0, -scores))
        off = p - (1.0 - doubt) * labels.reshape(p.shape) - 0.5 * doubt
        slope = off * p * (1.0 - p)
    else:
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        off = p - doubt / p.shape[1]
        off[np.arange(len(p)), labels] -= 1.0 - doubt
        slope = p * (off - (p * off).sum(axis=1, keepdims=True))
    return (weight * off**2).sum(axis=1), 2.0 * weight * slope


def undamped(slope: Floats, logits: Floats, bias: Floats, damping: float) -> Floats:
    """The gradient by the logits (N, C) from the one by the damped logits, for a fixed bias.

    Example:
        >>> undamped(np.array([[1.0, 0.0, 0.0]]), np.array([[8.0, -4.0, -4.0]]), np.zeros(3), 0.5).round(3).tolist()
        [[0.235, 0.049, 0.049]]
    """
    if not damping:
        return slope
    above = 1.0 + lead(logits)
    of_lead = np.full(logits.shape, -1.0 / logits.shape[1])
    of_lead[np.arange(len(logits)), logits.argmax(axis=1)] += 1.0  # the gradient of m
    pull = (slope * logits).sum(axis=1, keepdims=True)
    factor = ((1.0 + lead(bias[None])) / above) ** damping
    return np.asarray(factor * (slope - damping * pull / above * of_lead))


def calibrate(
    examples: Examples, sums: Floats, neutral: float, bias: Floats, doubt: float = 0.0, texts: int = 0, damps: int = 0
) -> Calibration:
    """Fit s, n0, c and the damping to held-out texts; see the module.

    Args:
        sums: (N, C') sum_i <v, z_i^K> of every text.   neutral: n0 to begin with.   bias: (C',) b.
        doubt: see `brier`; texts without one error would ask for an infinite scale.
        texts: how many of the examples are whole texts, if c is fitted; otherwise it is 0.   damps: the same for the
            damping.
    """
    sizes, total, usual = examples.sizes, examples.weight.sum(), np.log(max(neutral, 1e-3))
    losses, pull, pull_each = (empty(len(sizes), np.float64) for _ in range(3))  # of every text
    free = len(bias) if texts else 0  # numbers of c
    by_every = empty(len(sizes) * free, np.float64).reshape(len(sizes), free)
    by_damping = empty(len(sizes) if damps else 0, np.float64)

    def value(theta: Floats) -> tuple[float, Floats]:
        (scale, rest), every = np.exp(np.clip(theta[:2], LEAST, MOST)), theta[2 : 2 + free]
        damping, usual_lead = _damping(theta, damps), lead(bias[None])
        for some in slices(len(sizes), len(bias)):
            words = np.maximum(sizes[some] + rest, 1e-9)
            mean = sums[some] / words[:, None]
            scores, weight = scale * mean + bias, examples.weight[some] / total
            known = (sizes[some] / words)[:, None]
            if texts:
                scores += known * every
            calm = damped(scores, bias, damping)
            losses[some], error = brier(examples.labels[some], weight, calm, doubt)
            if damps:
                apart = np.log1p(usual_lead) - np.log1p(lead(scores))
                by_damping[some] = (error * calm * apart).sum(axis=1)
                error = undamped(error, scores, bias, damping)
            pull[some] = (error * mean).sum(axis=1)
            pull_each[some] = pull[some] / words
            if texts:
                by_every[some] = error * known
                pull_each[some] += (by_every[some] * every).sum(axis=1) / words / scale
        slope = np.array([scale * pull.sum(), scale * (-rest * pull_each.sum()), *by_every.sum(axis=0)])
        slope[:2] *= (theta[:2] > LEAST) & (theta[:2] < MOST)
        if damps:
            slope = np.append(slope, by_damping.sum() * (0.0 < theta[-1] < MOST_DAMPING))
        away = np.array([0.0, theta[1] - usual, *theta[2:]])
        stay = np.array([0.0, STAY, *np.full(len(theta) - 2, EVERY / max(texts, damps, 1))])
        return float(losses.sum()) + float((stay * away**2).sum()), slope + 2 * stay * away

    last = [DAMPING] * (damps > 0)
    starts = [np.array([step, usual, *np.zeros(free), *last]) for step in STEPS]  # the slope may vanish at s = 1
    begin = min(starts, key=lambda theta: value(theta)[0])
    theta = minimize(value, begin, 200, tolerance=1e-9)[0]
    scale, rest = np.exp(np.clip(theta[:2], LEAST, MOST)).tolist()
    return Calibration(scale, rest, theta[2 : 2 + free] if texts else np.zeros(len(bias)), _damping(theta, damps))


def _damping(theta: Floats, damps: int) -> float:
    return float(np.clip(theta[-1], 0.0, MOST_DAMPING)) if damps else 0.0
