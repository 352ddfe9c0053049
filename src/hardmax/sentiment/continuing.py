"""A trainer that continues from the parameters of a finished model, wherever the model comes from."""

from dataclasses import replace

import numpy as np

from hardmax.sentiment.model import SentimentModel
from hardmax.sentiment.placing import Start, positions
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.training import Trainer
from hardmax.sentiment.training_loop import Examples, Watch
from hardmax.sentiment.word_scores import Floats


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
        super().__init__(model.vocabulary, model.classes, like(recipe, model), begin)
        self.place()
        self.neutral, self.damping = model.neutral_words, model.damping
        self.vectors = positions(self.x, self.radius, sideways)
        self.card = {name: value for name, value in model.card.items() if name != "figures"}

    def model(self) -> SentimentModel:
        """The model as it is now; what its card says stays, except for figures."""
        made = super().model()
        return replace(made, card=self.card | made.card)

    def train(self, examples: Examples, watch: Watch) -> None:
        """The epochs of the last phase."""
        self.go_through(examples, self.recipe.passes(len(examples.bags)), watch)


def like(recipe: Recipe, model: SentimentModel) -> Recipe:
    """The recipe with the dimension, the depth and the alpha of a model."""
    return replace(recipe, dim=model.dim, layers=model.layers, alpha=model.alpha)


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
