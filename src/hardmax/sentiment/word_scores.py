"""Scores of the words without attention: a convex problem, solved to its optimum.

Without layers the scores of a text are b + sum_i x_i D^T / (n + n0) over its n terms, where row c of D (C', m) is the
direction of class c: the identity, or fewer dimensions than classes if there are very many. The vectors x minimize

    mean_t weight_t loss_t + penalty / 2 |u|^2,    x = g u,

with the logistic loss, and g a power of the size of the naive-Bayes log-odds of every word along every direction: words
that already differ between the classes are free to differ, others pay [Wang & Manning, ACL 2012, where the power is 1].
A smaller power trusts the most distinctive words less, whose log-odds are the least certain. g is scaled such that a
text has features of length 1 on average, so the same penalties suit texts of any length and number.

The optimum is found by L-BFGS (`hardmax.sentiment.lbfgs`). Sums over texts and over words run in threads, each in an
order of its own, and no sum is left to a library that might split it by the number of threads: the bits are the same
for any number.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.io.scratch import empty, kept
from hardmax.jit import njit, over_parts
from hardmax.sentiment.lbfgs import MEMORY, dot, minimize
from hardmax.text.vocabulary import AT_ONCE, Bags, spans

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SMOOTHING = 0.3  # added to the counts of the log-odds, where nothing else is chosen
FLOOR = 0.1  # the least log-odds: a word that says nothing by itself may still learn
NUMBERS = 1 << 17  # in one array over texts, while the loss is computed
_PART = 64
_ROWS = 8  # of a product, at a time


@dataclass(frozen=True, eq=False)
class Examples:
    """Texts to learn from: bags, class numbers, weights.

    Attributes:
        labels: (N,) class numbers, or (N, L) of 0 and 1 if a text may have several of L labels.
    """

    bags: Bags
    labels: Ints
    weight: Floats

    def take(self, which: NDArray[np.integer[Any]]) -> "Examples":
        """Some of the texts."""
        return Examples(self.bags.take(which), kept(self.labels[which]), kept(self.weight[which]))

    @cached_property
    def sizes(self) -> Ints:
        """(N,) numbers of terms."""
        offsets = self.bags.offsets
        return np.subtract(offsets[1:], offsets[:-1], out=empty(offsets.size - 1, np.int64))

    @cached_property
    def counts(self) -> Ints:
        """In how many texts each word is, up to the last word that is in any."""
        ids = self.bags.ids
        counts = np.zeros(int(ids.max(initial=-1)) + 1, np.int64)
        for a in range(0, ids.size, AT_ONCE):
            counts += np.bincount(ids[a : a + AT_ONCE], minlength=counts.size)
        return counts

    @cached_property
    def by_word(self) -> tuple[Ints, NDArray[np.int32]]:
        """Word w is in the texts texts[starts[w]:starts[w + 1]]."""
        ids = self.bags.ids
        starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        texts = empty(ids.size, np.int32)
        _transpose(ids, self.bags.offsets, starts[:-1].copy(), texts)
        return starts, texts


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimized.

    Attributes:
        examples: the texts.   directions: (C', m).   neutral: n0.
        strength: (V, m) g.   prior: (C',) the bias.   part: (V,) the part of the texts that holds a word.
    """

    examples: Examples
    directions: Floats
    neutral: float
    strength: Floats
    prior: Floats
    part: Floats

    def loss(self, x: Floats, every: Floats) -> tuple[float, Floats, Floats]:
        """The mean loss of the vectors x, and of `every` (m,) that each word adds besides; its gradients by both."""
        losses, by_every, by_word = self._room
        for some in slices(len(losses), max(self.directions.shape)):
            losses[some], by_every[some], by_word[some] = self._parts(some, x, every)
        gradient = np.zeros_like(x)
        starts, texts = self.examples.by_word
        work = 4.0 * texts.size * x.shape[1]
        over_parts(lambda a, b: _gather(a, b, starts, texts, by_word, gradient), len(starts) - 1, work, _PART)
        return float(losses.sum()), gradient, by_every.sum(axis=0)

    def _parts(self, some: slice, x: Floats, every: Floats) -> tuple[Floats, Floats, Floats]:
        """Of some texts (n,) the parts of the loss, and (n, m) of its gradients by `every` and by each word."""
        bags, labels, weight = self.examples.bags, self.examples.labels, self.examples.weight
        sizes, offsets = self.examples.sizes[some], bags.offsets[some.start : some.stop + 1]
        share, means = _share(sizes, self.neutral), np.empty((len(sizes), x.shape[1]))
        work = 4.0 * (offsets[-1] - offsets[0]) * x.shape[1]
        over_parts(lambda a, b: _means(a, b, bags.ids, offsets, share, x, means), len(sizes), work, _PART)
        known = (sizes * share)[:, None]
        means += known * every
        scores = (means if self._plain else times(means, self.directions.T)) + self.prior
        losses, error = grade(labels[some], weight[some] / self._weight, scores)
        pull = error if self._plain else times(error, self.directions)
        return losses, pull * known, pull * share[:, None]

    @cached_property
    def _weight(self) -> float:
        return float(self.examples.weight.sum())

    @cached_property
    def _plain(self) -> bool:
        return is_identity(self.directions)

    @cached_property
    def _room(self) -> tuple[Floats, Floats, Floats]:
        """Room for the parts of all texts: added up at the end, they have the same sum for slices of any size."""
        n, m = len(self.examples.bags), self.directions.shape[1]
        return empty(n, np.float64), empty(n * m, np.float64).reshape(n, m), empty(n * m, np.float64).reshape(n, m)


def slices(count: int, columns: int) -> Iterator[slice]:
    """Neighboring texts of which this many numbers each fit into memory together.

    Example:
        >>> [(s.start, s.stop) for s in slices(5, NUMBERS // 3)]
        [(0, 3), (3, 5)]
    """
    step = max(1, NUMBERS // columns)
    return (slice(a, min(a + step, count)) for a in range(0, count, step))


def grade(labels: Ints, weight: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """(N,) the weighted losses of scores (N, C'), and the gradient of their sum by the scores."""
    losses, error = np.empty(len(scores)), scores.copy()
    labels = labels[:, None] if scores.shape[1] == 1 and labels.ndim == 1 else labels  # of two classes, the second
    kernel = _grade_one if labels.ndim == 1 else _grade_each
    over_parts(lambda a, b: kernel(a, b, labels, weight, error, losses), len(scores), 50.0 * scores.size, _PART)
    return losses, error


def problem(
    examples: Examples,
    size: int,
    directions: Floats,
    neutral: float,
    smoothing: float = SMOOTHING,
    power: float = 1.0,
) -> Problem:
    """The problem of some texts over a vocabulary of `size` terms, with a power of the log-odds of these.

    `smoothing` texts are added to the counts of the log-odds: with more, words that few texts have are less free.
    """
    mass, total = _masses(examples, directions)
    classes, strength = len(mass), np.full((size, directions.shape[1]), FLOOR**power)
    starts, _ = examples.by_word
    plain = is_identity(directions)
    for some in slices(len(starts) - 1, classes):
        counts, every = _counts(examples, some, classes)
        inside = np.log(counts + smoothing) - np.log(mass + 2 * smoothing)
        outside = np.log(every - counts + smoothing) - np.log(total - mass + 2 * smoothing)
        odds = (inside - outside)[:, -len(directions) :]  # with two classes in favor of the second
        strength[some] = ((odds if plain else times(odds, directions)) ** 2 + FLOOR**2) ** (power / 2)
    square, bags, feature = (strength**2).mean(axis=1), examples.bags, empty(len(examples.bags), np.float64)
    for a, b in spans(bags.offsets):
        owners = np.repeat(np.arange(b - a), examples.sizes[a:b])
        terms = square[bags.ids[bags.offsets[a] : bags.offsets[b]]]
        share = _share(examples.sizes[a:b], neutral)
        feature[a:b] = np.bincount(owners, weights=terms, minlength=b - a) * share**2 * examples.weight[a:b]
    strength /= np.sqrt(max(feature.sum() / total, 1e-300))
    texts = np.zeros(size)
    texts[: len(starts) - 1] = np.diff(starts)
    prior = prior_of(examples, directions)
    return Problem(examples, directions, neutral, strength, prior, texts / max(len(bags), 1))


def prior_of(examples: Examples, directions: Floats) -> Floats:
    """(C',) the bias: what the frequencies of the classes alone say."""
    mass, total = _masses(examples, directions)
    if examples.labels.ndim == 2:
        part = (mass + 1.0) / (total + 2.0)
        return np.asarray(np.log(part) - np.log1p(-part))
    part = (mass + 1.0) / (total + len(mass))
    return np.asarray(np.log(part[1:] / part[0]) if len(directions) == 1 else np.log(part) - np.log(part).mean())


def _masses(examples: Examples, directions: Floats) -> tuple[Floats, float]:
    """(C,) the weight of the texts of each class, and the weight of all texts."""
    if examples.labels.ndim == 2:
        mass = (examples.labels * examples.weight[:, None]).sum(axis=0)
    else:
        mass = np.bincount(examples.labels, weights=examples.weight, minlength=max(2, len(directions)))
    return np.asarray(mass), examples.weight.sum()


def _share(sizes: Ints, neutral: float) -> Floats:
    """(N,) 1 / (n + n0)."""
    return np.asarray(1.0 / np.maximum(sizes + neutral, 1e-9))


def _counts(examples: Examples, some: slice, classes: int) -> tuple[Floats, Floats]:
    """(n, classes) weighted numbers of texts of each class that hold each of some words, and (n, 1) of all classes."""
    (starts, texts), labels = examples.by_word, examples.labels.reshape(len(examples.bags), -1)
    starts, several = starts[some.start : some.stop + 1], examples.labels.ndim == 2
    counts, every = np.zeros((len(starts) - 1, classes)), np.zeros((len(starts) - 1, 1))
    over_parts(lambda a, b: _count(a, b, starts, texts, labels, several, examples.weight, counts, every), len(every),
               4.0 * (starts[-1] - starts[0]), _PART)  # fmt: skip
    return counts, every


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum: the word vectors x = g u + every (V, m), `every` (m,), and the loss after every step."""

    every: Floats
    x: Floats
    losses: list[float]


def solve(
    given: Problem,
    penalty: float,
    start: Solution | None = None,
    most: int = 100,
    tell: Callable[[int, float], object] | None = None,
    memory: int = MEMORY,
) -> Solution:
    """Minimize, from the optimum for other settings if there is one; at most `most` steps, with `memory`."""
    g, split = given.strength, given.strength.size
    room = np.empty_like(g)  # for products

    def value(theta: Floats) -> tuple[float, Floats]:
        u = theta[:split].reshape(g.shape)
        loss, by_x, by_every = given.loss(np.multiply(g, u, out=room), theta[split:])
        square = dot(theta[:split], theta[:split], room.ravel())
        by_x *= g
        by_x += np.multiply(penalty, u, out=room)
        return loss + 0.5 * penalty * square, np.concatenate([by_x.ravel(), by_every])

    begin = np.zeros(split) if start is None else ((start.x - start.every) / g).ravel()
    start_every = np.zeros(g.shape[1]) if start is None else start.every
    theta, losses = minimize(value, np.concatenate([begin, start_every]), most, tell, memory=memory)
    return Solution(theta[split:], g * theta[:split].reshape(g.shape) + theta[split:], losses)


def is_identity(matrix: Floats) -> bool:
    """Whether a product with the matrix changes nothing."""
    return matrix.shape[0] == matrix.shape[1] and bool((matrix == np.eye(len(matrix))).all())


def times(a: Floats, b: Floats) -> Floats:
    """a @ b added up in a fixed order.

    Example:
        >>> times(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 4.0]])).tolist()
        [[3.0, 8.0]]
    """
    a, b, total = np.ascontiguousarray(a), np.ascontiguousarray(b), np.zeros((a.shape[0], b.shape[1]))
    over_parts(lambda i, j: _times(i, j, a, b, total), len(a), 2.0 * a.size * b.shape[1], _ROWS)
    return total


@njit()
def _times(start: Any, stop: Any, a: Any, b: Any, out: Any) -> None:
    """A few rows at a time, so that b is not read again for each of them."""
    for first in range(start, stop, _ROWS):
        for k in range(a.shape[1]):
            for i in range(first, min(first + _ROWS, stop)):
                for j in range(b.shape[1]):
                    out[i, j] += a[i, k] * b[k, j]


@njit()
def _transpose(ids: Any, offsets: Any, place: Any, texts: Any) -> None:
    for t in range(offsets.size - 1):
        for p in range(offsets[t], offsets[t + 1]):
            w = ids[p]
            texts[place[w]] = t
            place[w] += 1


@njit()
def _count(start: Any, stop: Any, starts: Any, texts: Any, labels: Any, several: Any, weight: Any, counts: Any,
           every: Any) -> None:  # fmt: skip
    for w in range(start, stop):
        for p in range(starts[w], starts[w + 1]):
            t = texts[p]
            every[w, 0] += weight[t]
            if several:
                for k in range(labels.shape[1]):
                    counts[w, k] += weight[t] * labels[t, k]
            else:
                counts[w, labels[t, 0]] += weight[t]


@njit()
def _means(start: Any, stop: Any, ids: Any, offsets: Any, share: Any, x: Any, out: Any) -> None:
    """out[t] = share[t] times the sum of the vectors of text t."""
    for t in range(start, stop):
        for k in range(x.shape[1]):
            out[t, k] = 0.0
        for p in range(offsets[t], offsets[t + 1]):
            for k in range(x.shape[1]):
                out[t, k] += x[ids[p], k]
        for k in range(x.shape[1]):
            out[t, k] *= share[t]


@njit()
def _gather(start: Any, stop: Any, starts: Any, texts: Any, pull: Any, out: Any) -> None:
    """out[w] = sum of pull[t] over the texts t that hold word w."""
    for w in range(start, stop):
        for p in range(starts[w], starts[w + 1]):
            for k in range(pull.shape[1]):
                out[w, k] += pull[texts[p], k]


@njit()
def _grade_one(start: Any, stop: Any, labels: Any, weight: Any, scores: Any, losses: Any) -> None:
    """One of three or more classes per text: scores become the gradient of the loss by them."""
    for t in range(start, stop):
        top = scores[t, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[t, k])
        total, own = 0.0, scores[t, labels[t]] - top
        for k in range(scores.shape[1]):
            scores[t, k] = np.exp(scores[t, k] - top)
            total += scores[t, k]
        losses[t] = weight[t] * (np.log(total) - own)
        for k in range(scores.shape[1]):
            scores[t, k] *= weight[t] / total
        scores[t, labels[t]] -= weight[t]


@njit()
def _grade_each(start: Any, stop: Any, labels: Any, weight: Any, scores: Any, losses: Any) -> None:
    """Any number of labels per text, or one of two classes: each label has a sigmoid of its own."""
    for t in range(start, stop):
        losses[t] = 0.0
        for k in range(scores.shape[1]):
            s = scores[t, k] if labels[t, k] == 1 else -scores[t, k]
            e = np.exp(-abs(s))
            losses[t] += weight[t] * (np.log1p(e) + max(-s, 0.0))
            p = (e if s > 0.0 else 1.0) / (1.0 + e)  # the probability of the other answer
            scores[t, k] = weight[t] * (-p if labels[t, k] == 1 else p)
