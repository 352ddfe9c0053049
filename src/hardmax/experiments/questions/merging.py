"""Question: how long do clusters live under softmax and localmax before they merge?

Under hardmax two leaders stand forever. Under softmax each gives the other the weight w = 1 / (1 + exp(beta gap)), gap
the difference of their scores, and they merge, slowly. Pair (0, +-y), rescaled layers: y' = y (1 - 2 g w), g =
alpha/(1+alpha), gap = 2 y^2. With the layer as time, dy/dt = -2 g w y and

    T(y0 -> y1) = integral_{y1}^{y0} (1 + exp(2 beta y^2)) / (2 g y) dy ~ exp(2 beta y0^2) / (8 g beta y0^2),

so log(beta T) grows like 2 y0^2 beta: the gap at the start is the rate. On the circle, with tokens at the angles +-f,
dT = (1 + exp(beta (1 - cos 2f))) / (g sin 2f) df in the same way. Measured: layers for a pair in the plane and on the
circle, for random clouds on the circle, and for localmax, where a pair within eps merges at once and one beyond never.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hardmax.attention.rules import Localmax
from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.journal import Journal
from hardmax.experiments.provenance import provenance
from hardmax.experiments.questions.evidence import Evidence, Progress, explorer
from hardmax.experiments.studies.robustness import clusters
from hardmax.experiments.tables import Table, interval

QUESTION = "Softmax and localmax: how long until clusters merge, against beta (and eps)?"
MERGED = 0.01  # of the first distance (or of a right angle): together


@dataclass(frozen=True)
class Setting:
    """What is measured; `trials` random clouds for every beta."""

    trials: int = 20
    seed: int = 0
    alpha: float = 1.0
    height: float = 1.0
    angle: float = 90.0
    pair_betas: tuple[float, ...] = (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5)
    circle_betas: tuple[float, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    cloud_betas: tuple[float, ...] = (1, 1.5, 2, 2.5, 3, 3.5)
    cloud_tokens: int = 16
    eps: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    most_layers: int = 40_000

    @staticmethod
    def quick() -> "Setting":
        return Setting(
            trials=4, pair_betas=(1, 2, 3), circle_betas=(2, 4, 6), cloud_betas=(1, 4), eps=(0.0, 0.2, 0.8),
            most_layers=3000,
        )  # fmt: skip


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


def predicted(beta: float, y0: float, y1: float, alpha: float) -> float:
    """The integral above: layers from height y0 to y1 when beta is large."""
    y = np.geomspace(y1, y0, 4001)
    g = alpha / (1 + alpha)
    return float(np.trapezoid((1 + np.exp(2 * beta * y**2)) / (2 * g * y), y))


def predicted_on_circle(beta: float, f0: float, f1: float, alpha: float) -> float:
    """The same for two tokens at the angles +-f on the unit circle, from f0 to f1."""
    f = np.geomspace(f1, f0, 4001)
    g = alpha / (1 + alpha)
    return float(np.trapezoid((1 + np.exp(beta * (1 - np.cos(2 * f)))) / (g * np.sin(2 * f)), f))


@dataclass(frozen=True)
class Line:
    """log T = intercept + slope * x by least squares, with the standard error of the slope and R^2."""

    slope: float
    error: float
    r2: float


def fit(x: Sequence[float], times: Sequence[float]) -> Line:
    """A line through log T.

    Example:
        >>> round(fit([1, 2, 3], [np.e, np.e**3, np.e**5]).slope, 6)
        2.0
    """
    X, y = np.asarray(x, float), np.log(np.asarray(times, float))
    dx = X - X.mean()
    slope = float(dx @ y / (dx @ dx))
    rest = y - y.mean() - slope * dx
    spare = max(len(X) - 2, 1)
    total = float(((y - y.mean()) ** 2).sum())
    return Line(
        slope, float(np.sqrt(rest @ rest / spare / (dx @ dx))), 1 - float(rest @ rest) / total if total else 1.0
    )


@explorer(Setting)
def explore(setting: Setting, tell: Progress, notes: Journal) -> Evidence:
    """Measure times to merge and fit their growth."""
    parts: list[tuple[str, Any]] = [("pair", _pair), ("circle", _circle), ("clouds", _clouds), ("localmax", _localmax)]
    rows: dict[str, list[list[Any]]] = {}
    for number, (name, measure) in enumerate(parts):
        tell(number, len(parts), f"time to merge: {name}")
        key: dict[str, Any] = {"merging": name, **asdict(setting)}
        known = notes.get(key)
        rows[name] = (known or notes.put(key, {"rows": measure(setting)}))["rows"]
    pair, circle = rows["pair"], rows["circle"]
    clouds = [_cloud_row(beta, times, missed) for beta, times, missed in map(tuple, rows["clouds"])]
    gap = 2 * setting.height**2
    circle_gap = 1 - float(np.cos(np.radians(setting.angle)))
    fits = [
        _fit_row("pair, rescaled", pair, gap),
        _fit_row("pair, on the circle", circle, circle_gap),
    ]
    tables = (
        Table("pair", f"Pair (0, +-{setting.height:g}), rescaled layers, alpha = {setting.alpha:g}",
              ("beta", "layers", "predicted"), tuple(map(tuple, pair))),
        Table("circle", f"Pair at {setting.angle:g} degrees on the unit circle", ("beta", "layers", "predicted"),
              tuple(map(tuple, circle))),
        Table("fits", "log(beta * layers) = c + slope * beta over the upper half of the betas",
              ("case", "slope", "standard error", "R2", "gap at the start", "slope of the prediction",
               "R2 of a power law"), tuple(fits)),
        Table("clouds", f"{setting.cloud_tokens} random tokens on the circle, {setting.trials} clouds: layers until "
              "one cluster", ("beta", "median", "first", "last", "not merged"), tuple(clouds)),
        Table("localmax", f"Localmax, {setting.cloud_tokens} random tokens in the plane, {setting.trials} clouds",
              ("eps", "clusters", "layers until rest"),
              tuple((eps, interval(c), interval(t)) for eps, c, t in map(tuple, rows["localmax"]))),
    )  # fmt: skip
    settings: dict[str, Any] = asdict(setting)
    return Evidence("merging", QUESTION, _answer(fits), settings, provenance(setting.seed), tables)


def _pair(setting: Setting) -> list[list[float]]:
    betas = np.array(setting.pair_betas)
    Z = np.broadcast_to(np.array([[0.0, setting.height], [0.0, -setting.height]]), (len(betas), 2, 2))
    near = 2 * setting.height * MERGED
    times = layers_to_merge(Z, betas, setting.alpha, False, near, setting.most_layers)
    return [
        [float(b), float(t), predicted(float(b), setting.height, setting.height * MERGED, setting.alpha)]
        for b, t in zip(betas, times, strict=True)
        if np.isfinite(t)
    ]


def _circle(setting: Setting) -> list[list[float]]:
    betas, half = np.array(setting.circle_betas), np.radians(setting.angle) / 2
    pair = np.array([[np.cos(half), np.sin(half)], [np.cos(half), -np.sin(half)]])
    Z = np.broadcast_to(pair, (len(betas), 2, 2))
    times = layers_to_merge(Z, betas, setting.alpha, True, MERGED, setting.most_layers)
    near = np.arcsin(MERGED / 2)
    return [
        [float(b), float(t), predicted_on_circle(float(b), float(half), float(near), setting.alpha)]
        for b, t in zip(betas, times, strict=True)
        if np.isfinite(t)
    ]


def _clouds(setting: Setting) -> list[list[Any]]:
    angle = np.random.default_rng((setting.seed, 1)).uniform(0, 2 * np.pi, (setting.trials, setting.cloud_tokens))
    Z = np.stack([np.cos(angle), np.sin(angle)], axis=2)
    result: list[list[Any]] = []
    for beta in setting.cloud_betas:
        times = layers_to_merge(Z, np.full(len(Z), float(beta)), setting.alpha, True, MERGED, setting.most_layers)
        merged = times[np.isfinite(times)]
        result.append([float(beta), merged.tolist(), int(len(times) - len(merged))])
    return result


def _localmax(setting: Setting) -> list[list[Any]]:
    rng = np.random.default_rng((setting.seed, 2))
    clouds = rng.standard_normal((setting.trials, setting.cloud_tokens, 2))
    result: list[list[Any]] = []
    for eps in setting.eps:
        counts, times = [], []
        for Z in clouds:
            traj: Any = simulate(Z, setting.alpha, layers=200, rule=Localmax(eps))
            steps = np.abs(np.diff(traj.tokens, axis=0)).max(axis=(1, 2))
            loud = np.flatnonzero(steps > 1e-9)
            counts.append(clusters(traj.tokens[-1]))
            times.append(int(loud[-1]) + 1 if len(loud) else 0)
        result.append([eps, counts, times])
    return result


def _cloud_row(beta: float, times: list[float], missed: int) -> tuple[Any, ...]:
    """The median over all clouds; those that did not merge count as later than the last one that did."""
    every = sorted(times) + [float("inf")] * missed
    middle = float(np.median(every)) if np.isfinite(every[len(every) // 2]) else None
    return beta, middle, min(times, default=None), max(times, default=None), missed


def _fit_row(name: str, rows: list[list[float]], gap: float) -> tuple[Any, ...]:
    upper = rows[len(rows) // 2 :] if len(rows) >= 6 else rows
    betas, times = [r[0] for r in upper], [r[1] for r in upper]
    line = fit(betas, [b * t for b, t in zip(betas, times, strict=True)])
    guess = fit(betas, [r[0] * r[2] for r in upper]).slope
    power = fit([float(np.log(b)) for b in betas], times)
    return name, line.slope, line.error, line.r2, gap, guess, power.r2


def _answer(fits: list[tuple[Any, ...]]) -> str:
    parts = [
        f"{name}: log(beta * layers) grows by {slope:.3g} +- {error:.1g} per unit of beta, the gap of the scores at "
        f"the start is {gap:.3g} (R2 {r2:.5f}; a power law {power:.4f})"
        for name, slope, error, r2, gap, _, power in fits
    ]
    return "Exponentially long in beta. " + "; ".join(parts) + ". Under localmax a pair merges at once or never."
