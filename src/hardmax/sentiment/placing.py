"""Where the words of a model stand: their scores, and the radii that decide who can lead.

Two facts decide the design. The gradient of the logit with respect to any word is a multiple of v (see
`layers_compiled`), so only the coordinates along v learn; and a word can lead only if no word of larger norm lies close
in direction. So a word is E_w = (x_w, sqrt(r_w^2 - |x_w|^2) u_w): x_w is learned, the radius r_w decides who leads, and
the direction u_w orthogonal to all score vectors is fixed.

Training has two phases. First the scores of the words are found without attention, a convex problem (`word_scores`).
Then every word gets one of three radii, and training continues through the hardmax layers:

- The strongest words have radius 1 and lead: <z_i, z_j> < 1 = <z_i, z_i> for any two of them. They are those of
  largest |x_w|, as many as put about `leaders` of them into a text; let s be the least |x_w| among them.
- A few of the most frequent words without opinion are poles, at x = 0 with radius R = 1 / sqrt(1 - (pole_reach s)^2) >
  1. Nearly every text has one of them, and it leads the words that say little: for a word on the unit circle, <z, pole>
  = R sqrt(1 - |x|^2) > 1 exactly if |x| < pole_reach s. So these words end at score 0 and not at that of a strong word.
- All others have radius `follower_radius` < 1 and follow the pole or the strong word in whose direction they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.sentiment.recipe import MOST_LEADERS, Recipe
from hardmax.sentiment.word_scores import Floats, Problem, Solution, times

POLES = 8
POLE_STEP = 0.02  # the more frequent of two poles has the larger radius, by this part of what it exceeds 1
NEUTRAL = 0.25  # a pole has |x| below this part of the weakest leader's
ROOM = 0.999  # |x_w| stays below this part of the radius


@dataclass(frozen=True, eq=False)
class Start:
    """Where training begins.

    Attributes:
        x: (V, m) positions along the scores.   pace: (V,) how fast words learn.
        part: (V,) the part of the texts that holds a word.
        sideways: (V, d - m) directions of unit length.   scores: (C', m).   bias: (C',).
    """

    x: Floats
    pace: Floats
    part: Floats
    sideways: Floats
    scores: Floats
    bias: Floats


def start(found: Solution, given: Problem, recipe: Recipe) -> Start:
    """Where the second phase begins: at the optimum of the first, turned and scaled such that |x_w| <= ROOM."""
    x, scores = found.x, given.directions
    if len(scores) > 1 and scores.shape[1] == len(scores) == int(recipe.dim) and given.examples.labels.ndim == 1:
        scores = _simplex(len(scores))  # what all classes have in common changes no probability
        x = times(x, scores)
    size = max(float(np.sqrt((x**2).sum(axis=1)).max(initial=0.0)) / ROOM, 1e-9)
    starts, _ = given.examples.by_word
    texts = np.zeros(len(x))
    texts[: len(starts) - 1] = np.diff(starts)
    pace = 0.1 + 0.9 * ranks(np.sqrt((given.strength**2).mean(axis=1) * texts)) ** 3
    sideways = np.zeros((len(x), max(int(recipe.dim) - x.shape[1], 0)))
    if sideways.shape[1]:
        sideways[:, 0] = 1.0
        if sideways.shape[1] > 1 and recipe.sideways_noise > 0:
            sideways += recipe.sideways_noise * np.random.default_rng((recipe.seed, 1)).standard_normal(sideways.shape)
            sideways /= np.sqrt((sideways**2).sum(axis=1, keepdims=True))
    return Start(x / size, pace, texts / max(len(given.share), 1), sideways, scores * size, given.prior)


def radii(x: Floats, part: Floats, recipe: Recipe) -> tuple[Floats, NDArray[np.int64]]:
    """(V,) radii, and the numbers of the poles; see the module.

    Example:
        >>> x, part = np.array([[0.9], [0.01], [-0.6], [0.2]]), np.array([0.1, 0.9, 0.1, 0.2])
        >>> radius, poles = radii(x, part, Recipe(leaders=0.2))
        >>> radius.round(3).tolist(), poles.tolist()
        ([1.0, 1.122, 1.0, 0.8], [1])
    """
    strength = np.sqrt((x**2).sum(axis=1))
    order = np.argsort(-strength, kind="stable")
    wanted = MOST_LEADERS if recipe.leaders is None else recipe.leaders
    leading = order[: max(1, int(np.searchsorted(np.cumsum(part[order]), wanted * (1 + 1e-9), side="right")))]
    radius = np.full(len(x), max(recipe.follower_radius, 1e-3))
    radius[leading] = 1.0
    reach = recipe.pole_reach * min(float(strength[leading[-1]]), ROOM)
    free = np.ones(len(x), bool)
    free[leading] = False
    neutral = np.flatnonzero((strength < NEUTRAL * strength[leading[-1]]) & free)
    poles = neutral[np.argsort(-part[neutral], kind="stable")[:POLES]]
    above = 1.0 / np.sqrt(1.0 - reach**2) - 1.0
    radius[poles] = 1.0 + above * (1.0 + POLE_STEP * np.arange(len(poles), 0, -1))
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


def directions(scores: int, dim: int, several: bool, seed: int) -> Floats:
    """(C', m) the directions in which the scores of words are learned: one for each class, if they fit.

    One dimension is kept free of scores, so that a word without opinion has somewhere to stand; the scores of classes
    that exclude each other need one dimension less than there are classes. In fewer dimensions classes are in order
    on a line, around a circle, or in random directions.

    Example:
        >>> directions(3, 3, False, 0).tolist(), directions(3, 2, False, 0).ravel().tolist()
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [-1.0, 0.0, 1.0])
    """
    m = max(1, dim - 1)
    if scores <= (m if several or scores == 1 else m + 1):
        return np.eye(scores)
    if m == 1:
        return np.linspace(-1.0, 1.0, scores)[:, None]
    if m == 2:
        angle = 2 * np.pi * np.arange(scores) / scores
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    vectors = np.random.default_rng((seed, 4)).standard_normal((scores, m))
    return np.asarray(vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True)))


def _simplex(classes: int) -> Floats:
    """(C, C - 1) orthonormal columns, each of which adds up to 0 (Helmert)."""
    columns = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        columns[:k, k - 1], columns[k, k - 1] = 1.0 / np.sqrt(k * (k + 1.0)), -np.sqrt(k / (k + 1.0))
    return columns
