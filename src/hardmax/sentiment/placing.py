"""The positions of a model's words: their scores, and the radii that decide which words can lead.

Two facts decide the design. The gradient of the logit with respect to any word is a multiple of v (see
`layers_compiled`), so only the coordinates along v learn; and a word can lead only if no word of larger norm lies close
in direction. So a word is E_w = (x_w, sqrt(r_w^2 - |x_w|^2) u_w): x_w is learned, the radius r_w decides who leads, and
the direction u_w orthogonal to all score vectors is fixed.

Training has two phases. First the scores of the words are found without attention, a convex problem (`word_scores`).
Then every word gets one of three radii, which decide who leads, and the scores are found again for that pattern:

- The strongest words have radius 1 and lead: <z_i, z_j> < 1 = <z_i, z_i> for any two of them. They are those of
  largest |x_w|, as many as put about `leaders` of them into a text, and they keep |x_w| >= s.
- A few of the most frequent words without opinion are poles, at x = 0 with a radius R between 1 / sqrt(1 - (pole_reach
  s)^2) and 1 / sqrt(1 - s^2). For a word on the unit circle <z, pole> = R sqrt(1 - |x|^2), which is more than 1 if |x|
  < pole_reach s, and less if |x| >= s: no strong word follows a pole.
- All others have radius `follower_radius` < 1 and keep |x_w| <= follower_radius pole_reach s: a text that has a pole
  has it lead all of these words.

In such a text a strong word therefore counts with its own score, and every other word with the part (1 + alpha)^-K of
its score that it keeps on its way to the pole. With these weights the logit is linear in the scores, and the second
phase lowers the loss of the first within the limits on |x_w|: the selection is part of what is learned. Only words
whose best weight is between these limits lose anything, and s is chosen such that they are few.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.layers_numpy import powers
from hardmax.sentiment.lbfgs import Bounds, dot, minimize
from hardmax.sentiment.recipe import MOST_LEADERS, Recipe
from hardmax.sentiment.word_scores import Floats, Problem, Solution, times

Steps = tuple[int, Callable[[int, float], object] | None]  # at most how many, and whom to tell
POLES = 8
SPREAD = 0.1  # strong words whose scores have to grow get different ones: equal words would tie
ADAPT = 1  # steps from the scores without attention; more fit the training texts better, but not held-out ones
NEUTRAL = 0.25  # a pole has |x| below this part of the weakest leader's
ROOM = 0.999  # |x_w| stays below this part of the radius
LEAST_KEPT = 1e-100  # of the score of a word that follows; below, its square would be 0


@dataclass(frozen=True, eq=False)
class Start:
    """Where training begins.

    Attributes:
        x: (V, m) positions along the scores.   pace: (V,) how fast words learn.   radius: (V,).
        sideways: (V, d - m) directions of unit length.   scores: (C', m).   bias: (C',).
        losses: of the steps by which the scores were found.
    """

    x: Floats
    pace: Floats
    radius: Floats
    sideways: Floats
    scores: Floats
    bias: Floats
    losses: list[float]


def start(
    found: Solution, given: Problem, recipe: Recipe, layers: int, penalty: float,
    tell: Callable[[int, float], object] | None = None,
) -> Start:  # fmt: skip
    """The optimum of the first phase or, with layers, of the second; turned and scaled such that |x_w| <= ROOM."""
    x, scores = found.x, given.directions
    turn: Floats | None = None
    if len(scores) > 1 and scores.shape[1] == len(scores) == int(recipe.dim) and given.examples.labels.ndim == 1:
        scores = turn = _simplex(len(scores))  # what all classes have in common changes no probability
        x = times(x, scores)
    pace = 0.1 + 0.9 * ranks(np.sqrt((given.strength**2).mean(axis=1) * given.part)) ** 3
    sideways = np.zeros((len(x), max(int(recipe.dim) - x.shape[1], 0)))
    radius, losses, unit = np.ones(len(x)), found.losses, 0.0
    if sideways.shape[1]:
        sideways[:, 0] = 1.0
        if sideways.shape[1] > 1 and recipe.sideways_noise > 0:
            sideways += recipe.sideways_noise * np.random.default_rng((recipe.seed, 1)).standard_normal(sideways.shape)
            sideways /= np.sqrt((sideways**2).sum(axis=1, keepdims=True))
        if layers:
            least, strong, poles = chosen(x, given.part, recipe, layers)
            every = found.every if turn is None else times(found.every[None], turn)[0]
            x, more = select(x, every, replace(given, directions=scores), turn, penalty, strong, poles,
                             (least, _kept(recipe, layers)), (ADAPT, tell))  # fmt: skip
            losses, unit, pace[poles] = losses + more, least, 0.0
    size = max(float(np.sqrt((x**2).sum(axis=1)).max(initial=0.0)) / ROOM, 1e-9)
    if unit:
        radius = radii(strong, poles, unit / size, recipe, len(x))
    return Start(x / size, pace, radius, sideways, scores * size, given.prior, losses)


def _kept(recipe: Recipe, layers: int) -> tuple[float, float]:
    """The part of its score that a follower of a pole counts with, and its most |x| as a part of s."""
    if (1.0 + recipe.alpha) ** -layers < LEAST_KEPT:
        raise BadInput(
            f"with layers={layers:,} and alpha={recipe.alpha:g} the words that follow keep nothing of their scores",
            fix="use fewer layers, or a smaller alpha",
        )
    most = min(max(recipe.follower_radius, 1e-3), ROOM) * max(recipe.pole_reach, 1e-3)
    return float(powers(recipe.alpha, layers)[layers]), most


def chosen(x: Floats, part: Floats, recipe: Recipe, layers: int) -> tuple[float, NDArray[np.int64], NDArray[np.int64]]:
    """The least score s of strong words, the strong words, and the poles; see the module.

    A word whose score was a little too small to lead has to shrink to what a follower can have, one that just leads has
    to grow to s. The cube root divides the distance between the two.

    Args:
        x: (V, m) scores without attention.   part: (V,) the part of the texts that holds a word.

    Example:
        >>> x, part = np.array([[0.9], [0.01], [-0.6], [0.2]]), np.array([0.1, 0.9, 0.1, 0.2])
        >>> least, strong, poles = chosen(x, part, Recipe(leaders=0.2), 8)
        >>> round(least, 2), strong.tolist(), poles.tolist()
        (0.76, [0, 2], [1])
    """
    strength = np.sqrt((x**2).sum(axis=1))
    order = np.argsort(-strength, kind="stable")
    wanted = MOST_LEADERS if recipe.leaders is None else recipe.leaders
    strong = order[: max(1, int(np.searchsorted(np.cumsum(part[order]), wanted * (1 + 1e-9), side="right")))]
    weakest = float(strength[strong[-1]])
    free = np.ones(len(x), bool)
    free[strong] = False
    neutral = np.flatnonzero((strength < NEUTRAL * weakest) & free)
    keep, most = _kept(recipe, layers)
    least = max(weakest, 1e-9) * min(2.0, float(np.cbrt(1.0 / (keep * most))))
    return least, strong, neutral[np.argsort(-part[neutral], kind="stable")[:POLES]]


def select(
    x: Floats, every: Floats, given: Problem, turn: Floats | None, penalty: float, strong: NDArray[np.int64],
    poles: NDArray[np.int64], limits: tuple[float, tuple[float, float]], steps: Steps,
) -> tuple[Floats, list[float]]:  # fmt: skip
    """Scores of a lower loss, where strong words lead and the others follow a pole; with many steps its least.

    Args:
        x, every: the optimum without attention, and what all words have in common there.
        given: the problem, with the directions of x.   turn: (C, m) from x to the coordinates of the penalty, or None.
        limits: s, the part of its score that a follower counts with, and its most |x| as a part of s.
    """
    least, (keep, most) = limits
    counts, low, high = np.full(len(x), keep), np.zeros(len(x)), np.full(len(x), keep * most * least)
    counts[strong], high[strong], high[poles] = 1.0, np.inf, 0.0
    low[strong] = least * (1.0 + SPREAD * ranks(np.sqrt((x[strong] ** 2).sum(axis=1))))
    g = given.strength
    unit = np.sqrt((g**2).mean(axis=1))

    def value(theta: Floats) -> tuple[float, Floats]:
        now = theta.reshape(x.shape) * unit[:, None]
        loss, slope, _ = given.loss(now, np.zeros(x.shape[1]))
        away = now - every if turn is None else times(now - every, turn.T)
        cost = away / g**2
        slope += penalty * (cost if turn is None else times(cost, turn))
        return loss + 0.5 * penalty * dot(away.ravel(), cost.ravel()), (slope * unit[:, None]).ravel()

    begin = (x / unit[:, None]).ravel()
    theta, losses = minimize(value, begin, *steps, bounds=Bounds(low / unit, high / unit))
    return theta.reshape(x.shape) * (unit / counts)[:, None], losses


def radii(strong: NDArray[np.int64], poles: NDArray[np.int64], least: float, recipe: Recipe, size: int) -> Floats:
    """(V,) radii; the more frequent of two poles has the larger one, and none reaches the strong words.

    Example:
        >>> recipe = Recipe(pole_reach=0.8, follower_radius=0.9)
        >>> radii(np.array([0, 2]), np.array([1]), 0.5, recipe, 4).round(3).tolist()
        [1.0, 1.12, 1.0, 0.9]
    """
    radius = np.full(size, min(max(recipe.follower_radius, 1e-3), ROOM))
    radius[strong] = 1.0
    reach = 1.0 - (1.0 - recipe.pole_reach) * np.arange(1, len(poles) + 1) / max(len(poles) + 1, 2)
    radius[poles] = 1.0 / np.sqrt(1.0 - (reach * min(least, ROOM)) ** 2)
    return radius


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
