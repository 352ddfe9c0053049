"""Questions: how long do clusters live under softmax and localmax before they merge, and cycles of hardmax heads?

Clusters: under softmax two leaders give each other the weight w = 1 / (1 + exp(beta gap)), gap the difference of their
scores, and merge, slowly. A pair (0, +-y) moves by dy/dt = -2 g w y with g = alpha/(1+alpha), gap = 2 y^2, a pair at
the angles +-f of the circle by df/dt = -g w sin 2f with gap = 1 - cos 2f; `predicted` and `predicted_on_circle`
integrate this. Measured: layers for both pairs, for random clouds on the circle, and for localmax.

Cycles live at least of the order exp(gamma beta), gamma = min <A_h l, l - x> over heads h, leaders l, and the places x
of all other tokens along the cycle (docs/paper.md, Theorem 15). Measured: the layer at which the steps of the token
have become half as long as the first one, beside the growth of ln(beta T) that is expected, gamma or more for each unit
of beta.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from hardmax.attention.rules import Localmax
from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments import Case, Context, Outcome, interval, question
from hardmax.experiments.claims.definition import dot, minus, times
from hardmax.experiments.questions.cases import layer
from hardmax.experiments.questions.cycles import at_alpha, wide_cycle
from hardmax.experiments.studies.variants import clusters
from hardmax.jit import njit

MERGED = 0.01  # of the first distance (or of a right angle): together
ALPHA = 1.0
PULL = ALPHA / (1 + ALPHA)  # g
HEIGHT = 1.0  # of the upright pair
ANGLE = 90.0  # between the two tokens on the circle, in degrees
CLOUD_TOKENS = 16
GROWTH = "growth of ln(beta T) per unit of beta"
CYCLES = {
    "two-definite-heads-period-2, alpha = 4": (at_alpha, "4", (16, 18, 20, 22, 24)),
    "two-definite-heads-period-2, alpha = 10": (at_alpha, "10", (16, 18, 20, 22, 24)),
    "two-definite-heads-wide-cycle, alpha = 1": (wide_cycle, "1", (8, 10, 12, 14, 16)),
}


def softmax_layer(Z: Floats, beta: Floats, alpha: float, sphere: bool) -> Floats:
    """One softmax layer of (B, n, d) clouds with (B,) betas, w_ij = exp(beta s_ij) / sum_l exp(beta s_il)."""
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
    for k in range(most + 1):
        done = np.linalg.norm(Z - Z[:, :1], axis=2).max(axis=1) <= near
        result[left[done]] = k
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


def least_gap(case: Case) -> Fraction:
    """gamma of a stored cycle, in rational arithmetic.

    Example:
        >>> least_gap(at_alpha(Fraction(4)))
        Fraction(7, 12)
    """
    tokens, moving = case["tokens"], set(case["moving"])
    gaps = []
    for _ in range(case["period"]):
        for A in case["heads"]:
            for i, leader in enumerate(tokens):
                if i not in moving:
                    seen = times(A, leader)
                    gaps += [dot(seen, minus(leader, x)) for j, x in enumerate(tokens) if j != i]
        tokens, _ = layer(tokens, case["alpha"], case["heads"])
    return min(gaps)


@njit()
def lifetime(Z: Any, heads: Any, alpha: Any, beta: Any, moving: Any, period: Any, most: Any) -> Any:
    """The first layer at which the way of the moving token over a period is less than half as long as at first.

    `moving` is the index of the token among the (n, d) of Z; `most` is returned if the cycle lives longer.
    """
    n, d = Z.shape
    z, new, seen, weight, past = Z.copy(), np.empty((n, d)), np.empty(d), np.empty(n), np.zeros(period)
    first = 0.0
    for k in range(most):
        new[:] = 0.0
        for h in range(heads.shape[0]):
            for i in range(n):
                for c in range(d):  # loops: array expressions take Numba several times as long to compile
                    seen[c] = 0.0
                    for e in range(d):
                        seen[c] += heads[h, c, e] * z[i, e]
                top = -np.inf
                for j in range(n):
                    score = 0.0
                    for c in range(d):
                        score += seen[c] * z[j, c]
                    weight[j] = beta * score
                    top = max(top, weight[j])
                total = 0.0
                for j in range(n):
                    weight[j] = np.exp(weight[j] - top)
                    total += weight[j]
                for j in range(n):
                    for c in range(d):
                        new[i, c] += weight[j] / (total * heads.shape[0]) * z[j, c]
        step = 0.0
        for c in range(d):
            step += ((new[moving, c] - z[moving, c]) * alpha / (1.0 + alpha)) ** 2
        for i in range(n):
            for c in range(d):
                z[i, c] = (z[i, c] + alpha * new[i, c]) / (1.0 + alpha)
        past[k % period] = np.sqrt(step)
        if k == period - 1:
            first = past.sum()
        elif k >= period and past.sum() < 0.5 * first:
            return k
    return most


@question(
    "oscillation",
    "How long does a cycle of definite heads live under softmax, against beta?",
    quick={"most_layers": 20_000},
)
def oscillation(context: Context, *, most_layers: int = 400_000) -> Outcome:
    """Measure the lifetime of each cycle, and compare its growth with the least gap of the leaders."""
    rows, fits = list[dict[str, Any]](), list[dict[str, Any]]()
    cases = {name: make(Fraction(alpha)) for name, (make, alpha, _) in CYCLES.items()}

    def lifetimes(name: str, betas: tuple[float, ...]) -> list[int]:
        return _lifetimes(cases[name], betas, most_layers)

    cells = [(name, betas) for name, (_, _, betas) in CYCLES.items()]
    for (name, betas), lived in context.sweep(cells, "{}", lifetimes, most=most_layers).items():
        found = [(beta, T) for beta, T in zip(betas, lived, strict=True) if most_layers > T]
        rows += [{"cycle": name, "beta": beta, "layers": T} for beta, T in found]
        gap = least_gap(cases[name])
        steps = np.diff([np.log(beta * T) for beta, T in found]) / np.diff([beta for beta, _ in found])
        slope = float(steps[-1]) if len(steps) else float("nan")
        fits.append({"cycle": name, "gamma": str(gap), "gamma as a number": float(gap), GROWTH: slope,
                     "lifetimes measured": len(found)})  # fmt: skip
    context.table("lifetimes", "Layers until the steps are half as long", rows)
    context.table("growth", "Growth between the two largest beta measured", fits)
    return Outcome(
        "Exponentially long. Between the two largest beta ln(beta T) grows by "
        + ", ".join(f"{fit[GROWTH]:.3f} (gamma = {fit['gamma']})" for fit in fits)
        + " for each unit of beta; that T is at least exp((gamma - eta) beta) is proved.",
        numbers={fit["cycle"]: {"gamma": fit["gamma as a number"], "slope": fit[GROWTH]} for fit in fits},
    )


def _lifetimes(case: Case, betas: tuple[float, ...], most: int) -> list[int]:
    Z, heads = (np.array(case[name], dtype=np.float64) for name in ("tokens", "heads"))
    given = (case["moving"][0], case["period"], most)
    return [int(lifetime(Z, heads, float(case["alpha"]), float(beta), *given)) for beta in betas]
