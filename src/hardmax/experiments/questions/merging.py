"""Question: how long do clusters live under softmax and localmax before they merge?

Under softmax two leaders give each other the weight w = 1 / (1 + exp(beta gap)), gap the difference of their scores,
and merge, slowly. A pair (0, +-y) moves by dy/dt = -2 g w y with g = alpha/(1+alpha), gap = 2 y^2, a pair at the angles
+-f of the circle by df/dt = -g w sin 2f with gap = 1 - cos 2f; `predicted` and `predicted_on_circle` integrate this.
Measured: layers for both pairs, for random clouds on the circle, and for localmax.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hardmax.attention.rules import Localmax
from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments import Context, Outcome, interval, question
from hardmax.experiments.studies.variants import clusters

MERGED = 0.01  # of the first distance (or of a right angle): together
ALPHA = 1.0
PULL = ALPHA / (1 + ALPHA)  # g
HEIGHT = 1.0  # of the upright pair
ANGLE = 90.0  # between the two tokens on the circle, in degrees
CLOUD_TOKENS = 16


def softmax_layer(Z: Floats, beta: Floats, alpha: float, sphere: bool) -> Floats:
    """One softmax layer of a batch, w_ij = exp(beta s_ij) / sum_l exp(beta s_il); rescaled, or put on the sphere.

    Args:
        Z: (B, n, d).   beta: (B,) one for each cloud.
    """
    scores = (Z @ Z.transpose(0, 2, 1)) * beta[:, None, None]
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    moved = Z + alpha * (weights @ Z) / weights.sum(axis=2, keepdims=True)
    if sphere:
        return np.asarray(moved / np.linalg.norm(moved, axis=2, keepdims=True))
    return np.asarray(moved / (1 + alpha))


def layers_to_merge(Z: Floats, beta: Floats, alpha: float, sphere: bool, near: float, most: int) -> Floats:
    """For each cloud the first layer at which all its tokens are within `near` of the first one; inf if none is.

    Example:
        >>> layers_to_merge(np.array([[[0.0, 1.0], [0.0, -1.0]]]), np.zeros(1), 1.0, False, 0.5, 10)
        array([2.])
    """
    result = np.full(len(Z), np.inf)
    left = np.arange(len(Z))
    for layer in range(most + 1):
        done = np.linalg.norm(Z - Z[:, :1], axis=2).max(axis=1) <= near
        result[left[done]] = layer
        Z, beta, left = Z[~done], beta[~done], left[~done]
        if not len(left):
            break
        Z = softmax_layer(Z, beta, alpha, sphere)
    return result


def predicted(beta: float) -> float:
    """Layers until the upright pair merges when beta is large: the integral of (1 + exp(2 beta y^2)) / (2 g y) dy."""
    y = np.geomspace(HEIGHT * MERGED, HEIGHT, 4001)
    return float(np.trapezoid((1 + np.exp(2 * beta * y**2)) / (2 * PULL * y), y))


def predicted_on_circle(beta: float) -> float:
    """The same for the pair on the circle."""
    f = np.geomspace(float(np.arcsin(MERGED / 2)), float(np.radians(ANGLE)) / 2, 4001)
    return float(np.trapezoid((1 + np.exp(beta * (1 - np.cos(2 * f)))) / (PULL * np.sin(2 * f)), f))


def fit(x: Sequence[float] | Floats, times: Sequence[float] | Floats) -> Any:
    """log T = intercept + slope * x by least squares: an object with slope, stderr and rvalue.

    Example:
        >>> round(float(fit([1, 2, 3], [np.e, np.e**3, np.e**5]).slope), 6)
        2.0
    """
    from scipy.stats import linregress

    return linregress(x, np.log(times))


@question(
    "merging",
    "Softmax and localmax: how long until clusters merge, against beta (and eps)?",
    quick={
        "trials": 4, "pair_betas": (1, 2, 3), "circle_betas": (2, 4, 6), "cloud_betas": (1, 4), "eps": (0.0, 0.2, 0.8),
        "most_layers": 3000,
    },
)  # fmt: skip
def merging(
    context: Context, *, trials: int = 20,
    pair_betas: tuple[float, ...] = (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5),
    circle_betas: tuple[float, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    cloud_betas: tuple[float, ...] = (1, 1.5, 2, 2.5, 3, 3.5),
    eps: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6), most_layers: int = 40_000,
) -> Outcome:  # fmt: skip
    """Measure times to merge and fit their growth; `trials` random clouds for every beta and eps."""
    half = float(np.radians(ANGLE)) / 2
    on_circle = [[np.cos(half), np.sin(half)], [np.cos(half), -np.sin(half)]]
    upright = [[0.0, HEIGHT], [0.0, -HEIGHT]]
    runs = {
        "pair": partial(_pairs, upright, pair_betas, 2 * HEIGHT * MERGED, most_layers, predicted),
        "circle": partial(_pairs, on_circle, circle_betas, MERGED, most_layers, predicted_on_circle),
        "clouds": partial(_clouds, context.seed, trials, cloud_betas, most_layers),
        "localmax": partial(_localmax, context.seed, trials, eps),
    }
    cells = [(name,) for name in runs]
    found = context.sweep(cells, "time to merge: {}", lambda name: runs[name](), settings=context.settings)
    pair, circle, clouds, localmax = found.values()
    fits = [
        _fit_row("pair, rescaled", pair, 2 * HEIGHT**2),
        _fit_row("pair, on the circle", circle, 1 - float(np.cos(np.radians(ANGLE)))),
    ]
    of_pairs = ("beta", "layers", "predicted")
    fit_columns = ("case", "slope", "standard error", "R2", "gap at the start", "slope of the prediction",
                   "R2 of a power law")  # fmt: skip
    records = {
        name: context.table(name, caption, some, columns).records()
        for name, caption, some, columns in (
            ("pair", f"Pair (0, +-{HEIGHT:g}), rescaled layers, alpha = {ALPHA:g}", pair, of_pairs),
            ("circle", f"Pair at {ANGLE:g} degrees on the unit circle", circle, of_pairs),
            ("fits", "log(beta * layers) = c + slope * beta over the upper half of the betas", fits, fit_columns),
            ("clouds", f"{CLOUD_TOKENS} random tokens on the circle, {trials} clouds: layers until one cluster",
             [_cloud_row(*row) for row in clouds], ("beta", "median", "first", "last", "not merged")),
            ("localmax", f"Localmax, {CLOUD_TOKENS} random tokens in the plane, {trials} clouds",
             [(e, interval(c), interval(t)) for e, c, t in localmax], ("eps", "clusters", "layers until rest")),
        )
    }  # fmt: skip
    text = "Layers until clusters merge, against beta and against eps."
    context.figure("layers", "measurements:plot_merging", records, text=text)
    said = "; ".join(
        f"{name}: log(beta * layers) grows by {slope:.3g} +- {error:.1g} per unit of beta, the gap of the scores at "
        f"the start is {gap:.3g} (R2 {r2:.5f}; a power law {power:.4f})"
        for name, slope, error, r2, gap, _, power in fits
    )
    return Outcome(f"Exponentially long in beta. {said}. Under localmax a pair merges at once or never.")


def _pairs(
    pair: Any, betas: Sequence[float], near: float, most: int, predict: Callable[[float], float]
) -> list[list[float]]:
    """Beta, the layers until a pair of tokens merges, and the prediction, where the pair merges at all."""
    Z = np.broadcast_to(np.array(pair), (len(betas), 2, 2))
    times = layers_to_merge(Z, np.array(betas), ALPHA, predict is predicted_on_circle, near, most)
    return [[float(b), float(t), predict(float(b))] for b, t in zip(betas, times, strict=True) if np.isfinite(t)]


def _clouds(seed: int, trials: int, betas: Sequence[float], most: int) -> list[list[Any]]:
    """Beta, the layers until all tokens of a random cloud are together, and how many clouds do not merge."""
    angle = np.random.default_rng((seed, 1)).uniform(0, 2 * np.pi, (trials, CLOUD_TOKENS))
    Z = np.stack([np.cos(angle), np.sin(angle)], axis=2)
    every = [layers_to_merge(Z, np.full(len(Z), float(beta)), ALPHA, True, MERGED, most) for beta in betas]
    return [
        [float(beta), times[np.isfinite(times)].tolist(), int(np.isinf(times).sum())]
        for beta, times in zip(betas, every, strict=True)
    ]


def _localmax(seed: int, trials: int, eps: Sequence[float]) -> list[list[Any]]:
    """Eps, and the clusters and layers until rest of random clouds."""
    clouds = np.random.default_rng((seed, 2)).standard_normal((trials, CLOUD_TOKENS, 2))
    result: list[list[Any]] = []
    for e in eps:
        counts, times = [], []
        for Z in clouds:
            traj: Any = simulate(Z, ALPHA, layers=200, rule=Localmax(e))
            loud = np.flatnonzero(np.abs(np.diff(traj.tokens, axis=0)).max(axis=(1, 2)) > 1e-9)
            counts.append(clusters(traj.tokens[-1]))
            times.append(int(loud[-1]) + 1 if len(loud) else 0)
        result.append([e, counts, times])
    return result


def _cloud_row(beta: float, times: list[float], missed: int) -> tuple[Any, ...]:
    """The median over all clouds; those that did not merge count as later than the last one that did."""
    every = sorted(times) + [float("inf")] * missed
    middle = float(np.median(every)) if np.isfinite(every[len(every) // 2]) else None
    return beta, middle, min(times, default=None), max(times, default=None), missed


def _fit_row(name: str, rows: list[list[float]], gap: float) -> tuple[Any, ...]:
    betas, times, guesses = np.array(rows[len(rows) // 2 :] if len(rows) >= 6 else rows).T
    line, guess, power = fit(betas, betas * times), fit(betas, betas * guesses), fit(np.log(betas), times)
    return name, *map(float, (line.slope, line.stderr, line.rvalue**2, gap, guess.slope, power.rvalue**2))
