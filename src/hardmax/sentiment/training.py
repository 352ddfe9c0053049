"""Training with exact hardmax layers forward and backward, and Adam.

The texts of a batch run in parallel, each writing to places of its own; the gradient of a word is then added up in the
order of the texts by one thread. So the result has the same bits for any number of threads.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardmax.jit import njit
from hardmax.sentiment.batches import Batch, run_bags, run_batch
from hardmax.sentiment.calibration import Calibration, undamped
from hardmax.sentiment.layers_numpy import Parameters, powers
from hardmax.sentiment.model import Label, SentimentModel, damped, probabilities, winners
from hardmax.sentiment.placing import ROOM, Start, positions
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.training_loop import Examples, Learner, Watch
from hardmax.sentiment.word_scores import Floats, times
from hardmax.text.vocabulary import Vocabulary

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # of Adam
LEAST_ALPHA = 1e-3
_NEARBY = 1e-5  # alpha +- this for the slope in alpha; the pattern stays, so the logit is smooth there


class Words(NamedTuple):
    """What `step_words` changes: arrays over the vocabulary.

    Attributes:
        x: (V, m) positions along the scores.   first, second: (V, m) the moments of Adam.
        radius, pace: (V,).   sideways: (V, d - m).   vectors: (V, d), made of x, radius and sideways.
        sums, stamp, touched: scratch.
    """

    x: Floats
    first: Floats
    second: Floats
    radius: Floats
    pace: Floats
    sideways: Floats
    vectors: Floats
    sums: Floats
    stamp: NDArray[np.int64]
    touched: NDArray[np.int64]


class Trainer(Learner):
    """The numbers of a model while they learn, with their moments."""

    def __init__(
        self, vocabulary: Vocabulary, classes: tuple[Label, ...], recipe: Recipe, begin: Start, neutral: float = 0.0,
        several: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(vocabulary, classes, recipe)
        self.several = several  # whether a text may have several labels
        self.begin, self.alpha = begin, recipe.alpha
        self.x, self.scores, self.bias = begin.x.copy(), begin.scores.copy(), begin.bias.copy()
        self.radius, self.pace = np.ones(len(self.x)), begin.pace
        self.layers = 0  # of the phase; the second has those of the recipe
        self.neutral, self.damping = neutral, 0.0
        self.calibration: Calibration | None = None  # for the end
        self.steps = 0
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
        """Begin the second phase: the words get their radii, and the layers run."""
        self.radius, self.layers = self.begin.radius.copy(), int(self.recipe.layers)
        self._fresh()

    # What a checkpoint holds.
    ARRAYS = ("x", "first", "second", "scores", "bias", "few_first", "few_second", "radius", "pace")

    def arrays(self) -> dict[str, Any]:
        """Everything that changes during training."""
        numbers = {"alpha": self.alpha, "phase_step": self.phase_step, "layers": self.layers}
        return {name: getattr(self, name) for name in self.ARRAYS} | numbers

    def set_arrays(self, stored: dict[str, Any]) -> None:
        """Go back to a stored state."""
        for name in self.ARRAYS:
            setattr(self, name, np.array(stored[name]))
        self.alpha = float(stored["alpha"])
        self.phase_step, self.layers = int(stored["phase_step"]), int(stored["layers"])
        self.vectors = positions(self.x, self.radius, self.begin.sideways)

    @property
    def model_parameters(self) -> Parameters:
        """The model as it is now, for the layers of this phase; scores are zero along the directions without any."""
        scores = np.zeros((len(self.scores), self.vectors.shape[1]))
        scores[:, : self.x.shape[1]] = self.scores
        return Parameters(self.vectors, powers(self.alpha, self.layers), self.layers, scores, self.bias, self.neutral)

    def model(self) -> SentimentModel:
        """The model as it is now."""
        now, card = self.model_parameters, {"settings": self.settings}
        numbers = now.vectors.astype(np.float32), now.scores, now.bias.copy(), self.alpha, int(self.recipe.layers)
        return SentimentModel(self.vocabulary, *numbers, self.classes, card, self.neutral, self.several, self.damping)

    def train(self, examples: Examples, watch: Watch) -> None:
        """The passes through the layers that were asked for, if any, and the calibration."""
        r = self.recipe
        if r.layers:
            self.place()
        solved = r.epochs is None and not r.train_alpha and watch.patience is None and self.begin.sideways.shape[1]
        if r.layers and not solved:
            self.go_through(examples, r.passes(len(examples.bags)), watch)
        elif watch.validation is not None:
            self.accuracies.append(self.accuracy(watch.validation))
        if self.calibration is not None:
            self.calibrate(self.calibration)

    @property
    def shifts(self) -> bool:
        """Whether what every word says besides can be part of the words: no layers, a direction for each class."""
        classes = len(self.bias) - (not self.several)
        return not self.layers and len(self.bias) > 1 and self.x.shape[1] >= classes

    def calibrate(self, found: Calibration) -> None:
        """Make a calibration part of the model: of its scores, its neutral words and, without layers, of every word."""
        self.scores, self.neutral, self.damping = self.scores * found.scale, found.neutral, found.damping
        if found.every.any():
            x = self.x + times(found.every[None], self.scores) / (self.scores[:, 0] ** 2).sum()
            size = float(np.sqrt((x**2).sum(axis=1)).max()) / ROOM
            self.x, self.scores = x / size, self.scores * size
            self.vectors = positions(self.x, self.radius, self.begin.sideways)

    def go_through(self, examples: Examples, epochs: int, watch: Watch) -> None:
        """Some epochs."""
        self.steps = -(-len(examples.bags) // self.recipe.batch_size) * epochs
        self.run(examples, epochs, watch)

    def learn(self, examples: Examples, texts: NDArray[np.int64]) -> float:
        """One step, with learning rates that fall linearly to 0."""
        return self.batch(examples, texts, 1.0 - self.phase_step / self.steps)

    def pass_once(self, examples: Examples) -> None:
        """One pass over some texts in their order, at the full learning rate (for streams)."""
        n, size = len(examples.bags), self.recipe.batch_size
        every = np.arange(n)
        if self.recipe.layers and not self.layers:
            self.place()
        total = sum(self.batch(examples, every[k : k + size], 1.0) for k in range(0, n, size))
        self.losses.append(total / max(n, 1))

    def accuracy(self, examples: Examples) -> float:
        """The part of the texts that are labeled correctly."""
        return float(self.right(run_bags(examples.bags, self.model_parameters)[0], examples.labels).mean())

    def right(self, logits: Floats, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(N,) whether texts are labeled correctly, in all labels if they may have several."""
        return winners(logits) == labels if labels.ndim == 1 else ((logits > 0) == labels).all(axis=1)

    def batch(self, examples: Examples, texts: NDArray[np.int64], fade: float) -> float:
        """One step on some of the texts with learning rates times `fade`; returns the summed loss."""
        r, K, every = self.recipe, self.layers, np.arange(len(texts))
        self.step += 1
        self.phase_step += 1
        nearby = np.empty((0, 0))
        if r.train_alpha and K:
            nearby = np.stack([powers(self.alpha + h, K) for h in (_NEARBY * self.alpha, -_NEARBY * self.alpha)])
        seed = (r.seed * 0x9E3779B9 + self.step) & 0xFFFFFFFFFFFFFFFF
        batch, out = run_batch(examples.bags, texts, self.model_parameters, r.dropout, seed, nearby)
        labels, weight = examples.labels[texts], examples.weight[texts]
        if self.several:
            error = probabilities(out.logits.reshape(-1, 1))[:, 1].reshape(labels.shape) - labels
            loss = float(-(weight[:, None] * np.log(np.maximum(1.0 - np.abs(error), 1e-300))).sum())
        else:
            error = probabilities(damped(out.logits, self.bias, self.damping))
            loss = float(-(weight * np.log(np.maximum(error[every, labels], 1e-300))).sum())
            error[every, labels] -= 1.0
            error = undamped(error, out.logits, self.bias, self.damping) if len(self.bias) > 1 else error[:, 1:]
        error = error * (weight / len(texts))[:, None]  # dloss/dlogit
        slope = (error * out.slopes).sum() / (2 * _NEARBY * self.alpha) if nearby.size else 0.0
        few = [times(error.T, self._means(batch, out.weights)).ravel(), error.sum(axis=0), [slope]]
        words = Words(self.x, self.first, self.second, self.radius, self.pace, self.begin.sideways, self.vectors,
                      *self._scratch)  # fmt: skip
        step_words(batch, out.weights, times(error, self.scores), words, self.phase_step, fade * r.learning_rate)
        self._few(np.concatenate(few), fade)
        return loss

    def _means(self, batch: Batch, c: Floats) -> Floats:
        """(B, m) means of the last layer along the score coordinates."""
        sizes = batch.offsets[batch.texts + 1] - batch.offsets[batch.texts]
        index = np.arange(c.size) + np.repeat(batch.offsets[:-1][batch.texts] - batch.places, sizes)
        columns = [c * self.x[batch.ids[index], k] for k in range(self.x.shape[1])]
        owner = np.repeat(np.arange(len(sizes)), sizes)
        return np.stack([np.bincount(owner, weights=col, minlength=len(sizes)) for col in columns], axis=1)

    def _few(self, gradient: Floats, fade: float) -> None:
        """Adam on scores, bias and alpha. With two classes the direction of v is fixed (turning it turns the plane)."""
        r = self.recipe
        self.few_first = FIRST * self.few_first + (1 - FIRST) * gradient
        self.few_second = SECOND * self.few_second + (1 - SECOND) * gradient**2
        one, two = 1 - FIRST**self.phase_step, 1 - SECOND**self.phase_step
        move = (self.few_first / one) / (np.sqrt(self.few_second / two) + SMALL)
        n, k = self.scores.size, self.bias.size
        rate = fade * r.score_rate * np.sqrt((self.begin.scores**2).sum(axis=1).mean())
        self.scores = self.scores - rate * move[:n].reshape(self.scores.shape)
        if not self.steps:  # in a stream; otherwise the bias stays what the classes alone say
            self.bias = self.bias - fade * r.bias_rate * move[n : n + k]
        if r.train_alpha and self.layers:
            self.alpha = max(LEAST_ALPHA, float(self.alpha - fade * r.alpha_rate * move[-1]))


@njit()
def step_words(batch: Any, c: Any, pull: Any, words: Any, step: Any, rate: Any) -> None:
    """One step of Adam on the words of a batch; words that do not occur are not touched (lazy Adam).

    The gradient of every word is added up in the order of the texts. Word w moves at rate * pace[w].

    Args:
        c: the weights of the words.
        pull: (B, m) gradient of the loss by the mean of each text, along the score coordinates; word i of text t gets
            c_i pull[t].
    """
    offsets, texts, x, m, s = batch.offsets, batch.texts, words.x, words.first, words.second
    radius, sideways, vectors = words.radius, words.sideways, words.vectors
    sums, stamp, touched, dims = words.sums, words.stamp, words.touched, words.x.shape[1]
    count = 0
    for t in range(texts.size):
        first = offsets[texts[t]]
        for p in range(offsets[texts[t] + 1] - first):
            weight = c[batch.places[t] + p]
            if weight != 0.0:
                w = batch.ids[first + p]
                if stamp[w] != step:
                    stamp[w] = step
                    touched[count] = w
                    count += 1
                    for k in range(dims):
                        sums[w, k] = 0.0
                for k in range(dims):
                    sums[w, k] += weight * pull[t, k]
    one, two = 1.0 - FIRST**step, 1.0 - SECOND**step
    for q in range(count):
        w = touched[q]
        square = 0.0
        for k in range(dims):
            g = sums[w, k]
            m[w, k] = FIRST * m[w, k] + (1.0 - FIRST) * g
            s[w, k] = SECOND * s[w, k] + (1.0 - SECOND) * g * g
            x[w, k] -= rate * words.pace[w] * (m[w, k] / one) / (np.sqrt(s[w, k] / two) + SMALL)
            square += x[w, k] * x[w, k]
        most = ROOM * radius[w]
        if square > most * most:
            shrink = most / np.sqrt(square)
            square = 0.0
            for k in range(dims):
                x[w, k] *= shrink
                square += x[w, k] * x[w, k]
        height = np.sqrt(max(radius[w] * radius[w] - square, 0.0))
        for k in range(dims):
            vectors[w, k] = x[w, k]
        for k in range(sideways.shape[1]):
            vectors[w, dims + k] = height * sideways[w, k]


class Continued(Trainer):
    """The state of training that a model stands for: x_w along the scores, and the radii of its vectors.

    A word E_w is split into x_w, its part in the space of the score vectors, and the rest, whose length is
    sqrt(r_w^2 - |x_w|^2) with r_w = |E_w| and whose direction stays. A model whose score vectors are not along the
    first axes (one trained with softmax) is turned first, which changes no prediction: the layers have A = I.

    Radii, and so who can lead, stay as they are; poles (x_w = 0, r_w > 1) stay at 0.
    """

    def __init__(self, model: SentimentModel, recipe: Recipe) -> None:
        vectors, scores, m = turned(np.asarray(model.embedding, np.float64), model.scores)
        x, rest = vectors[:, :m].copy(), vectors[:, m:]
        height = np.sqrt((rest**2).sum(axis=1))
        sideways = np.zeros_like(rest)
        if rest.shape[1]:
            sideways[:, 0] = 1.0
            there = height > 0
            sideways[there] = rest[there] / height[there, None]
        length = np.sqrt((x**2).sum(axis=1))
        radius = np.sqrt(length**2 + height**2) if rest.shape[1] else np.maximum(1.0, 1.01 * length)
        pace = np.where((length == 0) & (radius > 1), 0.0, 1.0)
        begin = Start(x, pace, radius, sideways, scores[:, :m].copy(), model.bias.copy(), [])
        recipe = replace(recipe, dim=model.dim, layers=model.layers, alpha=model.alpha)
        super().__init__(model.vocabulary, model.classes, recipe, begin, model.neutral_words)
        self.damping = model.damping
        self.place()
        self.card = {name: value for name, value in model.card.items() if name != "figures"}

    def model(self) -> SentimentModel:
        """The model as it is now; what its card says stays, except for figures."""
        made = super().model()
        return replace(made, card=self.card | made.card)

    def train(self, examples: Examples, watch: Watch) -> None:
        """The epochs of the last phase."""
        self.go_through(examples, self.recipe.passes(len(examples.bags)), watch)


def turned(vectors: Floats, scores: Floats) -> tuple[Floats, Floats, int]:
    """Vectors and scores in axes whose first m span the scores; unchanged if they do so already.

    Example:
        >>> vectors, scores, m = turned(np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]]))
        >>> m, abs(vectors).round(12).tolist(), (vectors @ scores.T).round(12).tolist()
        (1, [[4.0, 3.0]], [[8.0]])
    """
    m = max(1, int(np.linalg.matrix_rank(scores)))
    if not scores[:, m:].any():
        return vectors, scores, m
    axes = np.linalg.svd(scores)[2]
    return vectors @ axes.T, np.where(np.arange(scores.shape[1]) < m, scores @ axes.T, 0.0), m
