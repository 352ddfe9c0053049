"""Question: how long does a cycle of hardmax heads live under softmax with inverse temperature beta?

At least of the order exp(gamma beta), gamma = min <A_h l, l - x> over heads h, leaders l, and the places x of all other
tokens along the cycle (docs/paper.md, Theorem 15). Measured: the layer at which the steps of the token have become half
as long as the first one, beside the growth of ln(beta T) that is expected, gamma or more for each unit of beta.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from hardmax.experiments import Case, Context, Outcome, question
from hardmax.experiments.claims.definition import dot, minus, times
from hardmax.experiments.questions.cases import layer
from hardmax.experiments.questions.cycles import at_alpha, wide_cycle
from hardmax.jit import njit

GROWTH = "growth of ln(beta T) per unit of beta"
CYCLES = {
    "two-definite-heads-period-2, alpha = 4": (at_alpha, "4", (16, 18, 20, 22, 24)),
    "two-definite-heads-period-2, alpha = 10": (at_alpha, "10", (16, 18, 20, 22, 24)),
    "two-definite-heads-wide-cycle, alpha = 1": (wide_cycle, "1", (8, 10, 12, 14, 16)),
}


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
    """The first layer from which the moving token goes less than half of its first way in a whole period.

    Args:
        Z: (n, d).   heads: (H, d, d).   moving: the index of the token.   most: is returned if it lives longer.
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
    rows: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    for number, (name, (make, alpha, betas)) in enumerate(CYCLES.items()):
        context.tell(number, len(CYCLES), name)
        case = make(Fraction(alpha))
        key = {"oscillation": name, "betas": betas, "most": most_layers}
        lived = context.memo(key, _lifetimes, case, betas, most_layers)
        found = [(beta, T) for beta, T in zip(betas, lived, strict=True) if most_layers > T]
        rows += [{"cycle": name, "beta": beta, "layers": T} for beta, T in found]
        gap = least_gap(case)
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
