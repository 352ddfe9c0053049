"""Question: how many tokens of a random cloud lead, and when is everything decided?

Leaders at layer 0 are counted and compared with the exact laws of `hardmax.theory` (proofs in docs/paper.md). Time is
layers x ln(1+alpha): in one unit of it a follower covers the part 1 - 1/e of its way, whatever alpha is. Late leaders
are tokens that lead at some layer but not at layer 0.
"""

from collections.abc import Callable, Iterator
from math import log1p
from typing import Any

import numpy as np

from hardmax import theory
from hardmax.cloud.tokens import Floats
from hardmax.dynamics.limit import limit
from hardmax.experiments import Context, Outcome, interval, question

AT_ONCE = 1 << 22  # scores that are held at the same time
OTHERS: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("normal, A = diag(4, 1)", 100, 2, {"A": ((4.0, 0.0), (0.0, 1.0))}),
    ("normal, covariance diag(4, 1)", 100, 2, {"covariance": ((4.0, 0.0), (0.0, 1.0))}),
    ("normal, covariance diag(4, 1), A its inverse", 100, 2,
     {"A": ((0.25, 0.0), (0.0, 1.0)), "covariance": ((4.0, 0.0), (0.0, 1.0))}),
    ("normal, A = (1 1 0; -1 1 0; 0 0 2)", 100, 3, {"A": ((1.0, 1.0, 0.0), (-1.0, 1.0, 0.0), (0.0, 0.0, 2.0))}),
    ("normal, A = diag(1, -1)", 100, 2, {"A": ((1.0, 0.0), (0.0, -1.0))}),
    ("ball", 100, 2, {"cloud": "ball"}),
    ("ball", 400, 3, {"cloud": "ball"}),
    ("sphere", 100, 3, {"cloud": "sphere"}),
)  # fmt: skip
FAR = 3.0  # standard errors


def count_leaders(Z: Floats, A: Any = None) -> Floats:
    """How many tokens of each cloud lead at layer 0; Z is (clouds, n, d), without ties.

    Example:
        >>> count_leaders(np.array([[[1.0], [-2.0], [0.5]]])).tolist()
        [2.0]
    """
    queries = Z if A is None else Z @ np.asarray(A, dtype=np.float64).T
    scores = queries @ Z.transpose(0, 2, 1)
    return np.asarray((scores.argmax(axis=2) == np.arange(Z.shape[1])).sum(axis=1), dtype=np.float64)


def draw(count: int, n: int, d: int, rng: np.random.Generator, cloud: str = "normal", covariance: Any = None) -> Floats:
    """(count, n, d) independent tokens: normal, in the unit ball, or on the unit sphere."""
    Z = rng.standard_normal((count, n, d))
    if cloud != "normal":
        Z /= np.linalg.norm(Z, axis=2, keepdims=True)
        return np.asarray(Z * rng.random((count, n, 1)) ** (1 / d)) if cloud == "ball" else Z
    return Z if covariance is None else np.asarray(Z @ np.linalg.cholesky(np.asarray(covariance)).T)


@question(
    "laws",
    "How many tokens of a random cloud lead, and after how many layers is everything decided?",
    quick={"trials": 60, "sizes": (20, 100), "dims": (2, 3), "alphas": (0.1, 1.0), "late": ((30, 2),), "clouds": 60},
)
def laws(
    context: Context,
    *,
    trials: int = 1000,
    sizes: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000),
    dims: tuple[int, ...] = (2, 3, 4, 5, 8),
    alphas: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 4.0),
    late: tuple[tuple[int, int], ...] = (
        (10, 2), (30, 2), (100, 2), (300, 2), (1000, 2), (100, 3), (300, 3), (1000, 3),
    ),
    clouds: int = 1500,
) -> Outcome:  # fmt: skip
    """Compare counts of leaders with the laws; measure decision times and late leaders.

    Args:
        trials: clouds for every count of leaders.   sizes, dims: n and d of the cells.
        alphas: step sizes of the decision times (n = 100, d = 2).
        late: (n, d) for which late leaders are counted, alpha = 1/2.   clouds: for each decision time and late count.
    """

    def counts(n: int, d: int, about: dict[str, Any], seed: int) -> list[float]:
        rng, found = np.random.default_rng((context.seed, n, d, seed)), list[float]()
        shape = {name: about[name] for name in ("cloud", "covariance") if name in about}
        step = max(1, AT_ONCE // n**2)
        for begin in range(0, trials, step):
            found += count_leaders(draw(min(step, trials - begin), n, d, rng, **shape), about.get("A")).tolist()
        return found

    def row(n: int, d: int, about: dict[str, Any], seed: int) -> tuple[Any, ...]:
        key = {"leaders": [n, d, about], "trials": trials, "seed": context.seed}
        found = context.memo(key, counts, n, d, about, seed)
        law, measured = theory.expected_leaders(n, d, **about), np.array(found)
        error = float(measured.std(ddof=1)) / len(found) ** 0.5
        residual = (float(measured.mean()) - law) / error if error else 0.0
        return interval(found), law, residual, float(measured.var(ddof=1))

    cells = [(n, d) for d in dims for n in sizes]
    rows = []
    for number, (n, d) in enumerate(cells):
        context.tell(number, len(cells), f"leaders, n = {n}, d = {d}")
        rows.append((n, d, *row(n, d, {}, 0), theory.leader_variance(n, d), theory.leader_asymptotics(n, d)))
    columns: tuple[str, ...] = ("n", "d", "leaders", "law", "residual", "variance", "its law", "leading term")
    caption = f"Leaders at layer 0 of {trials} standard normal clouds; the residual is in standard errors"
    table = context.table("leaders", caption, rows, columns)
    more = [(name, n, d, *row(n, d, about, 1 + k)[:3]) for k, (name, n, d, about) in enumerate(OTHERS)]
    caption = "Other clouds and matrices (expected number by the law)"
    others = context.table("others", caption, more, ("cloud", "n", "d", "leaders", "law", "residual"))
    layers = {alpha: _measured(context, 100, 2, alpha, "layers", clouds) for alpha in alphas}
    times = {alpha: sorted(log1p(alpha) * k for k in some) for alpha, some in layers.items()}
    caption = f"Time until everything is decided, layers x ln(1+alpha): {clouds} clouds, n = 100, d = 2"
    columns = ("alpha", "time", "median", "95 %", "P(time > 2)", "P(time > 3)", "distance to the row above")
    decided = context.table("times", caption, _time_rows(times), columns)
    after = [_late_row(n, d, _measured(context, n, d, 0.5, "late leaders", clouds)) for n, d in late]
    caption = f"Leaders that are not yet leaders at layer 0, alpha = 1/2, {clouds} clouds"
    columns = ("n", "d", "late leaders", "for each leader", "clouds with one", "latest layer")
    lates = context.table("late", caption, after, columns)
    text = "Residuals of the number of leaders in standard errors, for every n and d."
    context.figure("residuals", "measurements:plot_residuals", table.records(), text=text)
    text = "The part of the clouds that is not decided yet, against layers x ln(1+alpha), for several alpha."
    context.figure("times", "measurements:plot_times", times, text=text)
    residuals = [*table.column("residual"), *others.column("residual")]
    within = sum(abs(x) <= FAR for x in residuals)
    (first, second), parts = decided.rows[:2], lates.column("for each leader")
    return Outcome(
        f"The law of the number of leaders holds within {FAR:g} standard errors in {within} of {len(residuals)} cells. "
        f"Everything is decided at the mean time {first[1]} for alpha = {first[0]:g}; the distributions for this alpha "
        f"and for {second[0]:g} are {second[-1]:.3f} apart (Kolmogorov-Smirnov). For each leader of layer 0 there "
        f"are {min(parts):.2g} to {max(parts):.2g} late leaders.",
        numbers={"cells": len(residuals), "within": within},
    )


MEASURES: dict[str, Callable[[Any], Any]] = {  # of the limit of a cloud
    "layers": lambda eq: eq.layers,
    "late leaders": lambda eq: [int(k) for k in eq.leader_since.values() if k > 0],
}


def _measured(context: Context, n: int, d: int, alpha: float, of: str, count: int) -> list[Any]:
    """A measurement of the limits of random clouds, in batches; kept when it is finished."""

    def run() -> list[Any]:
        rng, step = np.random.default_rng((context.seed, n, d, 77)), max(1, 100_000 // n)
        batches = (rng.standard_normal((min(step, count - begin), n, d)) for begin in range(0, count, step))
        limits: Iterator[Any] = (eq for batch in batches for eq in limit(list(batch), alpha))
        return list(map(MEASURES[of], limits))

    key = {"n": n, "d": d, "alpha": alpha, "of": of}
    return list(context.memo({"limits": key, "clouds": count, "seed": context.seed}, run))


def _time_rows(times: dict[float, list[float]]) -> list[tuple[Any, ...]]:
    from scipy.stats import ks_2samp

    rows: list[tuple[Any, ...]] = []
    for (alpha, found), last in zip(times.items(), [None, *times.values()], strict=False):
        away = "" if last is None else float(ks_2samp(last, found).statistic)
        tails = [sum(t > far for t in found) / len(found) for far in (2, 3)]
        rows.append((alpha, interval(found), *np.quantile(found, (0.5, 0.95)).tolist(), *tails, away))
    return rows


def _late_row(n: int, d: int, found: list[list[int]]) -> tuple[Any, ...]:
    """The mean number of late leaders, for each leader of layer 0, how many clouds have one, and the latest layer."""
    late, latest = interval(map(len, found)), max((k for layers in found for k in layers), default=0)
    return n, d, late, late.mean / theory.expected_leaders(n, d), sum(map(bool, found)), latest
