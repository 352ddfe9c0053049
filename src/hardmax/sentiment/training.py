"""Training: exact hardmax forward and backward, Adam, the same bits for any number of threads.

Texts of a batch run in parallel, each writing to places of its own; the gradient of a word is then added up in the
order of the texts by one thread. All random choices come from (seed, epoch) and (seed, step, text, word), none from a
generator's state, so that a run that was stopped continues as if it had not been.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.checkpoint import fingerprint, read_checkpoint, write_checkpoint
from hardmax.sentiment.layers_numpy import powers
from hardmax.sentiment.model import probabilities, winners
from hardmax.sentiment.predicting import batch_through, run_bags
from hardmax.sentiment.recipe import ROOM, Floats, Recipe, Start, positions, radii, start
from hardmax.sentiment.updating import FIRST, SECOND, SMALL, step_words
from hardmax.text.vocabulary import Bags

LEAST_ALPHA = 1e-3
_NEARBY = 1e-5  # alpha +- this for the slope in alpha; the pattern stays, so the logit is smooth there


@dataclass(frozen=True)
class Progress:
    """Where training is: after `step` of `steps` batches, `epoch` of `epochs` complete; loss of the epoch so far."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    seconds: float
    validation: float | None = None


@dataclass(frozen=True, eq=False)
class Examples:
    """Texts to learn from: bags, class numbers, weights."""

    bags: Bags
    labels: NDArray[np.int64]
    weight: Floats


@dataclass(eq=False)
class Trainer:
    """The numbers that learn, with their moments. `run` makes passes; `model_parts` is what came out."""

    recipe: Recipe
    begin: Start
    step: int = 0
    alpha: float = 0.0
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.alpha = self.alpha or self.recipe.alpha
        self.x, self.scores, self.bias = self.begin.x.copy(), self.begin.scores.copy(), self.begin.bias.copy()
        self.radius, self.pace = np.ones(len(self.x)), self.begin.pace
        self.layers = 0  # of the phase; the second has those of the recipe
        self.epoch_loss = 0.0
        self._fresh()

    def _fresh(self) -> None:
        """Moments of Adam at the beginning of a phase. Scores, bias and alpha share one small dense Adam."""
        self.first, self.second = np.zeros_like(self.x), np.zeros_like(self.x)
        self.few_first = np.zeros(self.scores.size + self.bias.size + 1)
        self.few_second = self.few_first.copy()
        self.phase_step = 0
        size = len(self.x)
        self._scratch = np.empty_like(self.x), np.zeros(size, np.int64), np.empty(size, np.int64)
        self.vectors = positions(self.x, self.radius, self.begin.sideways)

    def place(self) -> None:
        """Begin the second phase: give the words their radii; poles stay at score 0."""
        self.pace = self.begin.pace.copy()
        if self.begin.sideways.shape[1]:  # with scores in every direction there is no place for a pole
            self.radius, poles = radii(self.x, self.begin.part, self.recipe)
            self.x[poles], self.pace[poles] = 0.0, 0.0
            length = np.sqrt((self.x**2).sum(axis=1))
            self.x *= np.minimum(1.0, ROOM * self.radius / np.maximum(length, 1e-300))[:, None]
        self.layers = self.recipe.layers
        self._fresh()

    # What a checkpoint holds.
    ARRAYS = ("x", "first", "second", "scores", "bias", "few_first", "few_second", "radius", "pace")
    WHOLE = ("step", "phase_step", "layers")

    def state(self) -> dict[str, Any]:
        """Everything that changes during training."""
        floats = {"alpha": self.alpha, "epoch_loss": self.epoch_loss}
        lists = {"losses": self.losses, "accuracies": self.accuracies}
        return {name: getattr(self, name) for name in self.ARRAYS + self.WHOLE} | floats | lists

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a stored state."""
        for name in self.ARRAYS:
            setattr(self, name, np.array(state[name]))
        for name in self.WHOLE:
            setattr(self, name, int(state[name]))
        self.alpha, self.epoch_loss = float(state["alpha"]), float(state["epoch_loss"])
        self.losses, self.accuracies = list(map(float, state["losses"])), list(map(float, state["accuracies"]))
        self.vectors = positions(self.x, self.radius, self.begin.sideways)

    @property
    def full_scores(self) -> Floats:
        """(C', d): zero along the directions without scores."""
        d = self.begin.sideways.shape[1] + self.x.shape[1]
        full = np.zeros((len(self.scores), d))
        full[:, : self.x.shape[1]] = self.scores
        return full

    def batch(self, examples: Examples, texts: NDArray[np.int64], fade: float) -> float:
        """One step on some of the texts with learning rates times `fade`; returns the summed loss."""
        r, K = self.recipe, self.layers
        self.step += 1
        self.phase_step += 1
        logits, heads = np.empty((len(texts), len(self.bias))), np.empty(len(texts), np.int64)
        slopes, nearby = np.zeros_like(logits), np.empty((0, 0))
        if r.train_alpha and K:
            nearby = np.stack([powers(self.alpha + h, K) for h in (_NEARBY * self.alpha, -_NEARBY * self.alpha)])
        full = self.full_scores
        run = self.vectors, powers(self.alpha, K), K, full, self.bias, logits, heads
        seed = (r.seed * 0x9E3779B9 + self.step) & 0xFFFFFFFFFFFFFFFF
        c, places = batch_through(examples.bags, texts, *run, r.dropout, seed, nearby, slopes)
        labels, weight = examples.labels[texts], examples.weight[texts]
        p = probabilities(logits)
        loss = float(-(weight * np.log(np.maximum(p[np.arange(len(texts)), labels], 1e-300))).sum())
        error = p
        error[np.arange(len(texts)), labels] -= 1.0
        error = (error if len(self.bias) > 1 else error[:, 1:]) * (weight / len(texts))[
            :, None
        ]  # dloss/dlogit, (B, C')
        pull = _times(error, self.scores)
        means = self._means(examples.bags, texts, places, c)
        few = np.concatenate(
            [
                _times(error.T, means).ravel(),
                error.sum(axis=0),
                [(error * slopes).sum() / (2 * _NEARBY * self.alpha)] if nearby.size else [0.0],
            ]
        )
        shared = self.x, self.first, self.second, self.radius, self.pace, self.begin.sideways, self.vectors
        rate = fade * (r.learning_rate if K else r.warm_rate)
        bags = examples.bags
        step_words(bags.ids, bags.offsets, texts, places, c, pull, *shared, *self._scratch, self.phase_step, rate)
        self._few(few, fade)
        return loss

    def _means(self, bags: Bags, texts: NDArray[np.int64], places: NDArray[np.int64], c: Floats) -> Floats:
        """(B, m) means of the last layer along the score coordinates."""
        sizes = np.diff(bags.offsets)[texts]
        index = np.arange(c.size) + np.repeat(bags.offsets[:-1][texts] - places, sizes)
        columns = [c * self.x[bags.ids[index], k] for k in range(self.x.shape[1])]
        owner = np.repeat(np.arange(len(texts)), sizes)
        return np.stack([np.bincount(owner, weights=col, minlength=len(texts)) for col in columns], axis=1)

    def _few(self, gradient: Floats, fade: float) -> None:
        """Adam on scores, bias and alpha. With two classes the direction of v is fixed (turning it turns the plane)."""
        r = self.recipe
        self.few_first = FIRST * self.few_first + (1 - FIRST) * gradient
        self.few_second = SECOND * self.few_second + (1 - SECOND) * gradient**2
        move = (self.few_first / (1 - FIRST**self.phase_step)) / (
            np.sqrt(self.few_second / (1 - SECOND**self.phase_step)) + SMALL
        )
        n, k = self.scores.size, self.bias.size
        self.scores = self.scores - fade * r.scale_rate * move[:n].reshape(self.scores.shape)
        self.bias = self.bias - fade * r.bias_rate * move[n : n + k]
        if r.train_alpha and self.layers:
            self.alpha = max(LEAST_ALPHA, float(self.alpha - fade * r.alpha_rate * move[-1]))

    def run(
        self,
        examples: Examples,
        validation: Examples | None = None,
        progress: Callable[[Progress], object] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        checkpoint_seconds: float = 5.0,
    ) -> None:
        """All epochs of both phases, with learning rates that fall linearly to 0 in each."""
        r, n = self.recipe, len(examples.bags)
        per_epoch = -(-n // r.batch_size)
        first, second = r.passes(n)
        warm, epochs = per_epoch * first, first + second
        steps = per_epoch * epochs
        mark = fingerprint(examples, r.as_dict()) if checkpoint else ""
        if checkpoint and resume and Path(checkpoint).exists():
            self.restore(read_checkpoint(checkpoint, mark))
        begun = saved = time.monotonic()
        while self.step < steps:
            epoch, place = divmod(self.step, per_epoch)
            if self.step == warm and not self.layers:
                self.place()
            length = warm if epoch < first else steps - warm
            order = np.random.default_rng((r.seed, 2, epoch)).permutation(n)
            for k in range(place, per_epoch):
                texts = order[k * r.batch_size : (k + 1) * r.batch_size]
                self.epoch_loss += self.batch(examples, texts, 1.0 - self.phase_step / length)
                seen = min((k + 1) * r.batch_size, n)
                last = k == per_epoch - 1
                if last:
                    self.losses.append(self.epoch_loss / n)
                    self.epoch_loss = 0.0
                    if validation is not None:
                        self.accuracies.append(self.accuracy(validation))
                if progress is not None:
                    loss = self.losses[-1] if last else self.epoch_loss / seen
                    accuracy = self.accuracies[-1] if self.accuracies else None
                    now = time.monotonic() - begun
                    progress(Progress(epoch + last, epochs, self.step, steps, loss, now, accuracy))
                if checkpoint and (last or time.monotonic() - saved > checkpoint_seconds):
                    write_checkpoint(checkpoint, self.state(), mark)
                    saved = time.monotonic()

    def pass_once(self, examples: Examples) -> None:
        """One pass over some texts in their order, at the full learning rate (for streams).

        The first one is made twice: without attention, to find the radii, and then with it.
        """
        n, size = len(examples.bags), self.recipe.batch_size
        every = np.arange(n)
        if self.recipe.layers and not self.layers:
            for k in range(0, n, size):
                self.batch(examples, every[k : k + size], 1.0)
            self.place()
        total = sum(self.batch(examples, every[k : k + size], 1.0) for k in range(0, n, size))
        self.losses.append(total / max(n, 1))

    def accuracy(self, examples: Examples) -> float:
        """Part of the texts that are labeled right."""
        K = self.layers
        logits, _ = run_bags(examples.bags, self.vectors, powers(self.alpha, K), K, self.full_scores, self.bias)
        return float((winners(logits) == examples.labels).mean())


def prepare(examples: Examples, classes: int, size: int, ngrams: int, recipe: Recipe, stream: bool = False) -> Trainer:
    """A trainer at the beginning; in a stream all words learn alike, as the counts of its first part say little."""
    if size == 0:
        raise BadInput("no word occurs often enough to be learned", fix="smaller min_texts, or more texts")
    recipe = recipe.settled(examples.bags)
    begin = start(examples.bags, examples.labels, classes, size, examples.weight, recipe, ngrams)
    return Trainer(recipe, replace(begin, pace=np.ones(size)) if stream else begin)


def _times(a: Floats, b: Floats) -> Floats:
    """a @ b added up in a fixed order: a library's matrix product may depend on its number of threads."""
    total = np.zeros((a.shape[0], b.shape[1]))
    for k in range(a.shape[1]):
        total += a[:, k, None] * b[k]
    return total
