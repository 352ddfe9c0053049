"""How a model begins: the settings of training, and where the words stand before the first step.

Two facts decide the design. The gradient of the logit with respect to any word is a multiple of v (see the kernel),
so only the coordinates along v learn; and a word can lead only if no word of larger norm lies close in direction. So
a word is E_w = (x_w, sqrt(r_w^2 - |x_w|^2) u_w): x_w is learned, the radius r_w decides who leads, and the direction
u_w orthogonal to all score vectors is fixed.

Training has two phases. First the scores of the words are learned without attention (all radii 1). Then every word
gets one of three radii, and all is trained on through the hardmax layers:

- The strongest words have radius 1 and lead: <z_i, z_j> < 1 = <z_i, z_i> for any two of them. They are those of
  largest |x_w|, so many that about `strong` of them are in a text; let s be the least |x_w| among them.
- A few of the most frequent words without opinion are poles, at x = 0 with radius R = 1 / sqrt(1 - (calm s)^2) > 1. A
  text has one of them, nearly always, and it leads the words that say little: of a word on the unit circle, <z, pole> =
  R sqrt(1 - |x|^2) > 1 exactly if |x| < calm s. So they end at score 0 and not at that of some strong word.
- All others have radius `low` < 1 and follow the pole or the strong word in whose direction they are.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.text.vocabulary import Bags

Floats = NDArray[np.float64]
LEAST_STEPS = 200
MOST_LEADERS = 11.0
TERMS_A_LEADER = 8.0  # a leader for so many terms, in short texts
POLES = 8
POLE_STEP = 1e-3  # the more frequent of two poles has the larger radius, by this
NEUTRAL = 0.15  # a pole has |x| below this
ROOM = 0.999  # |x_w| stays below this part of the radius


@dataclass(frozen=True)
class Recipe:
    """The settings of training.

    Attributes:
        dim, layers, alpha, train_alpha: of the model.
        strong: about how many words of a text lead, the pole apart. None: one for every 8 terms, at most 11.
        calm, low: how far a pole reaches, and the radius of the words that follow: see above.
        spread: size of random directions orthogonal to the scores (only for dim > 2; more spread, more leaders).
        smoothing: added to counts in the log-odds; None: by the size of the data.
        slope: x_w begins at clip(slope * log-odds * pace), the pace growing with |log-odds| sqrt(texts).
        scale: length of the score vectors at the beginning.
        warm_rate, learning_rate: of x_w in the first and the second phase; that of the scores is `scale_rate`, of the
            bias `bias_rate`, of alpha `alpha_rate`.
        dropout: part of a text's words left out at each step.
        warm_epochs, epochs: passes of the two phases; in each the learning rates fall linearly to 0. With layers = 0
            there is only the first. None: 4 and 3, and as many as make 200 steps for small data.
        batch_size, seed: of the steps.
    """

    dim: int = 2
    layers: int = 8
    alpha: float = 0.15
    train_alpha: bool = False
    strong: float | None = None
    calm: float = 0.75
    low: float = 0.8
    spread: float = 0.0
    smoothing: float | None = None
    slope: float = 0.4
    scale: float = 100.0
    warm_rate: float = 0.005
    learning_rate: float = 0.003
    scale_rate: float = 0.3
    bias_rate: float = 0.01
    alpha_rate: float = 0.01
    dropout: float = 0.4
    batch_size: int = 256
    warm_epochs: int | None = None
    epochs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        whole = {"dim": 1, "layers": 0, "batch_size": 1, "warm_epochs": 1, "epochs": 1, "seed": 0}
        for name, least in whole.items():
            value = getattr(self, name)
            if value is None and name.endswith("epochs"):
                continue
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise BadInput(f"{name} must be a whole number from {least} on", found=repr(value))
        between = {"low": (0.0, 1.0), "calm": (0.0, 1.0), "dropout": (0.0, 0.99)}
        for name, (lowest, most) in between.items():
            if not lowest <= getattr(self, name) <= most:
                raise BadInput(f"{name} must lie between {lowest} and {most}", found=repr(getattr(self, name)))
        for name in ("alpha", "strong", "scale", "warm_rate", "learning_rate", "slope"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise BadInput(f"{name} must be positive", found=repr(getattr(self, name)))
        if self.smoothing is not None and not self.smoothing > 0:
            raise BadInput("smoothing must be positive, or None", found=repr(self.smoothing))

    def passes(self, count: int) -> tuple[int, int]:
        """How many epochs the two phases have for so many texts.

        Example:
            >>> Recipe().passes(25_000), Recipe().passes(256), Recipe(layers=0, warm_epochs=2).passes(256)
            ((4, 3), (200, 200), (2, 0))
        """
        least = -(-LEAST_STEPS // -(-count // self.batch_size))
        second = self.epochs if self.epochs is not None else max(3, least)
        first = self.warm_epochs if self.warm_epochs is not None else max(4, least)
        return first, second if self.layers else 0

    def settled(self, bags: Bags) -> "Recipe":
        """The recipe with a number of leaders that suits the texts, where it was left open.

        Example:
            >>> long, short = (Bags(np.zeros(n, np.int32), np.array([0, n])) for n in (300, 40))
            >>> Recipe().settled(long).strong, Recipe().settled(short).strong
            (11.0, 5.0)
        """
        if self.strong is not None:
            return self
        terms = bags.ids.size / max(len(bags), 1)
        return replace(self, strong=float(min(MOST_LEADERS, max(1.0, terms / TERMS_A_LEADER))))

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain numbers."""
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in asdict(self).items()}


@dataclass(frozen=True, eq=False)
class Start:
    """Where training begins.

    Attributes:
        x: (V, m) positions along the scores.   pace: (V,) how fast words learn.   part: (V,) of the texts hold a word.
        sideways: (V, d - m) directions of unit length.   scores: (C', m).   bias: (C',).
    """

    x: Floats
    pace: Floats
    part: Floats
    sideways: Floats
    scores: Floats
    bias: Floats


def start(
    bags: Bags, labels: NDArray[np.int64], classes: int, size: int, weight: Floats, recipe: Recipe, ngrams: int
) -> Start:
    """Positions and scores from the counts of the training data."""
    a = recipe.smoothing
    if a is None:  # 50 for words and 25 for n-grams on 25,000 texts
        a = max(0.5, len(bags) / (500.0 if ngrams == 1 else 1000.0))
    counts, mass = _class_counts(bags, labels, classes, size, weight)
    odds = _log_odds(counts, mass, a)  # (V, classes): in favor of each class against the others
    if classes == 2:
        odds = odds[:, 1:]
    texts = counts.sum(axis=1)
    pace = 0.1 + 0.9 * ranks(np.sqrt((odds**2).mean(axis=1) * texts)) ** 3
    directions = _directions(classes, recipe.dim)  # (C', m)
    wish = recipe.slope * pace[:, None] * odds @ directions / np.sqrt(max(1, len(directions) - 1))
    length = np.sqrt((wish**2).sum(axis=1, keepdims=True))
    x = wish / np.maximum(1.0, length / 0.98)
    rng = np.random.default_rng((recipe.seed, 1))
    sideways = np.zeros((size, recipe.dim - directions.shape[1]))
    if sideways.shape[1]:
        sideways[:, 0] = 1.0
        if sideways.shape[1] > 1 and recipe.spread > 0:
            sideways += recipe.spread * rng.standard_normal(sideways.shape)
            sideways /= np.sqrt((sideways**2).sum(axis=1, keepdims=True))
    prior = np.log((mass + 1.0) / (mass.sum() + classes))
    bias = np.array([prior[1] - prior[0]]) if classes == 2 else prior - prior.mean()
    return Start(x, pace, texts / mass.sum(), sideways, recipe.scale * directions, bias)


def radii(x: Floats, part: Floats, recipe: Recipe) -> tuple[Floats, NDArray[np.int64]]:
    """(V,) radii, and the numbers of the poles; see the module.

    Example:
        >>> x, part = np.array([[0.9], [0.01], [-0.6], [0.2]]), np.array([0.1, 0.9, 0.1, 0.2])
        >>> radius, poles = radii(x, part, Recipe(strong=0.2))
        >>> radius.round(3).tolist(), poles.tolist()
        ([1.0, 1.121, 1.0, 0.8], [1])
    """
    strength = np.sqrt((x**2).sum(axis=1))
    order = np.argsort(-strength, kind="stable")
    strong = MOST_LEADERS if recipe.strong is None else recipe.strong
    leading = order[: max(1, int(np.searchsorted(np.cumsum(part[order]), strong * (1 + 1e-9), side="right")))]
    radius = np.full(len(x), max(recipe.low, 1e-3))
    radius[leading] = 1.0
    calm = recipe.calm * min(float(strength[leading[-1]]), ROOM)
    free = np.ones(len(x), bool)
    free[leading] = False
    neutral = np.flatnonzero((strength < NEUTRAL) & free)
    poles = neutral[np.argsort(-part[neutral], kind="stable")[:POLES]]
    radius[poles] = 1.0 / np.sqrt(1.0 - calm**2) + POLE_STEP * np.arange(len(poles), 0, -1)
    return radius, poles


def ranks(values: Floats) -> Floats:
    """Ranks from 0 to 1; equal values in their order.

    Example:
        >>> ranks(np.array([5.0, 1.0, 3.0])).tolist()
        [1.0, 0.0, 0.5]
    """
    rank = np.empty(len(values))
    rank[np.argsort(values, kind="stable")] = np.linspace(0.0, 1.0, len(values)) if len(values) > 1 else 1.0
    return rank


def positions(x: Floats, radius: Floats, sideways: Floats) -> Floats:
    """The vectors E_w = (x_w, sqrt(r_w^2 - |x_w|^2) u_w), (V, d)."""
    if sideways.shape[1] == 0:
        return x.copy()
    height = np.sqrt(np.maximum(radius**2 - (x**2).sum(axis=1), 0.0))
    return np.concatenate([x, height[:, None] * sideways], axis=1)


def _class_counts(
    bags: Bags, labels: NDArray[np.int64], classes: int, size: int, weight: Floats
) -> tuple[Floats, Floats]:
    """(V, classes) weighted numbers of texts of each class that hold each term, and (classes,) of all texts."""
    lengths = np.diff(bags.offsets)
    of_word, of_text = np.repeat(labels, lengths), np.repeat(weight, lengths)
    counts = np.bincount(bags.ids.astype(np.int64) * classes + of_word, weights=of_text, minlength=size * classes)
    mass = np.bincount(labels, weights=weight, minlength=classes)
    return counts.reshape(size, classes).astype(np.float64), mass.astype(np.float64)


def _log_odds(counts: Floats, mass: Floats, a: float) -> Floats:
    others = counts.sum(axis=1, keepdims=True) - counts
    inside = np.log(counts + a) - np.log(mass + 2 * a)
    outside = np.log(others + a) - np.log(mass.sum() - mass + 2 * a)
    return np.asarray(inside - outside)


def _directions(classes: int, dim: int) -> Floats:
    """Unit score vectors (C', m) in m = min(dim - 1, classes - 1) dimensions, at least one: a simplex if it fits.

    One dimension is kept free of scores, so that a word without opinion has somewhere to stand.
    """
    if classes == 2:
        return np.ones((1, 1))
    m = max(1, min(dim - 1, classes - 1))
    if m == classes - 1:
        simplex = np.eye(classes) - 1.0 / classes
        basis = np.linalg.svd(simplex)[2][:m]
        vectors = simplex @ basis.T
        return np.asarray(vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True)))
    if m == 1:
        return np.linspace(-1.0, 1.0, classes)[:, None]
    angle = 2 * np.pi * np.arange(classes) / classes
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([circle, np.zeros((classes, m - 2))], axis=1)
