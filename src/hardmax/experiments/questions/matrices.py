"""Question: what happens when A is not symmetric, or not positive definite? And many small clouds at once.

Clouds of standard normal tokens, matrices of eight families, one head; and regular polygons turned by a rotation. Every
run ends in one of five ways: at several points, at one point, at the origin, in a cycle, or it still moves.

Batches of clouds run in plain float64 layers of one or several heads. They do not look for ties, which have probability
0 in clouds that are drawn. What is not at rest at the end is run again by `hardmax.simulate`, which decides.
"""

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments import Context, Outcome, Share, question
from hardmax.experiments.questions.cases import load

FATES = ("several points", "one point", "zero", "cycle", "moving")
LONGEST_PERIOD = 24
NEAR = 1e-6  # of the cloud's size: the same point, or the origin
ALPHA = 1.0
FAMILIES = (
    "definite", "definite + 1 antisymmetric", "definite + 10 antisymmetric", "general", "indefinite", "antisymmetric",
    "rotation", "negative definite",
)  # fmt: skip
POLYGON = "rotation, regular polygon"


def fates(Z: Floats, heads: Floats, layers: int) -> list[str]:
    """The fate of each of (B, n, d) clouds with (H, B, d, d) heads, one of FATES.

    Example:
        >>> fates(np.array([[[1.0], [-1.0], [0.5]]]), np.ones((1, 1, 1, 1)), 600)
        ['several points']
    """
    size = np.abs(Z).max(axis=(1, 2))
    last = Z
    for _ in range(layers):
        last = advance(last, heads, ALPHA)
    after = advance(last, heads, ALPHA)
    loud = np.abs(after - last).max(axis=(1, 2)) > 1e-9 * size
    result = list(map(_at_rest, last, size))
    for b in np.flatnonzero(loud):
        if result[b] != "zero":
            result[b] = _again(Z[b], heads[:, b], layers)
    return result


def count_fates(draw: Callable[[int], tuple[Floats, Floats]], trials: int, layers: int, at_once: int) -> dict[str, int]:
    """How often each fate occurs; `draw` makes some clouds and their heads, at most `at_once` of them."""
    sizes = [min(at_once, trials - begin) for begin in range(0, trials, at_once)]
    found = Counter(fate for count in sizes for fate in fates(*draw(count), layers))
    return {fate: found[fate] for fate in FATES}


def _at_rest(Z: Floats, size: float) -> str:
    """The fate of a cloud that has come to rest, by its last layer and the size of its first."""
    if np.abs(Z).max() <= NEAR * size:
        return "zero"
    return "several points" if np.abs(Z - Z[0]).max() > NEAR * size else "one point"


def still_cycle(Z: Floats, heads: Floats, layers: int, period: int) -> list[bool]:
    """Whether each cloud comes back after `period` layers, and not before, once `layers` layers are over.

    Example:
        >>> still_cycle(np.array([[[1.0], [-1.0], [0.5]]]), np.ones((1, 1, 1, 1)), 100, 2)
        [False]
    """
    for _ in range(layers):
        Z = advance(Z, heads, ALPHA)
    size, steps = np.abs(Z).max(axis=(1, 2)), [Z]
    for _ in range(period):
        steps.append(advance(steps[-1], heads, ALPHA))
    away = np.array([np.abs(step - Z).max(axis=(1, 2)) / size for step in steps[1:]])
    return list(map(bool, (away[-1] <= 1e-9) & (away[:-1] > NEAR).all(axis=0)))


def advance(Z: Floats, heads: Floats, alpha: float) -> Floats:
    """One layer of all clouds, z_i' = (z_i + alpha mean_h z_{j_h(i)}) / (1 + alpha), j_h = argmax <A_h z_i, z_j>."""
    pull = np.zeros_like(Z)
    for A in heads:
        scores = (Z @ A.transpose(0, 2, 1)) @ Z.transpose(0, 2, 1)
        pull += np.take_along_axis(Z, scores.argmax(axis=2)[:, :, None], axis=1)
    return np.asarray((Z + alpha / len(heads) * pull) / (1 + alpha))


def _again(Z: Floats, heads: Floats, layers: int) -> str:
    """The fate of one cloud according to the package's own engine."""
    traj: Any = simulate(Z, ALPHA, layers=layers + 2 * LONGEST_PERIOD, heads=list(heads), definite=False)
    if traj.outcome.kind == "periodic":
        return "cycle"
    fate = _at_rest(traj.tokens[-1], np.abs(Z).max())
    return fate if fate == "zero" or traj.outcome.kind in ("settled", "undecided") else "moving"


def draw_matrix(family: str, d: int, rng: np.random.Generator) -> Floats:
    """One matrix of a family; all are scaled to about the same size.

    Example:
        >>> A = draw_matrix("rotation", 3, np.random.default_rng(0))
        >>> bool(np.allclose(A @ A.T, np.eye(3)))
        True
    """
    N = rng.standard_normal((d, d))
    if family == "rotation":
        Q, triangle = np.linalg.qr(N)
        Q = Q * np.sign(np.diag(triangle))
        Q[:, 0] *= np.sign(np.linalg.det(Q))
        return np.asarray(Q)
    if family.startswith("definite + "):
        M = rng.standard_normal((d, d))
        return np.asarray(N @ N.T / d + float(family.split()[2]) * (M - M.T) / 2)
    made = {"definite": N @ N.T / d, "negative definite": -(N @ N.T) / d, "indefinite": (N + N.T) / 2,
            "antisymmetric": (N - N.T) / 2}  # fmt: skip
    return np.asarray(made.get(family, N))


@question(
    "matrices",
    "A not symmetric or not positive definite: do tokens settle, cycle, or collapse to 0?",
    quick={"trials": 60, "dims": (2, 3), "tokens": (5,), "layers": 300},
)
def matrices(
    context: Context, *, trials: int = 300, dims: tuple[int, ...] = (2, 3, 4, 8), tokens: tuple[int, ...] = (5, 20),
    layers: int = 600,
) -> Outcome:  # fmt: skip
    """Count the fates of random clouds by family, dimension and number of tokens."""
    cells = [*product(FAMILIES, dims, tokens), (POLYGON, 2, tokens[0])]

    def counts(family: str, d: int, n: int) -> dict[str, int]:
        rng = np.random.default_rng((context.seed, [*FAMILIES, POLYGON].index(family), d, n))

        def draw(count: int) -> tuple[Floats, Floats]:
            A = np.stack([draw_matrix(family.partition(",")[0], d, rng) for _ in range(count)])
            shape = (count, n, d)
            return rng.standard_normal(shape) if family != POLYGON else np.broadcast_to(polygon(n), shape), A[None]

        return count_fates(draw, trials, layers, 200)

    found = context.sweep(cells, "{}, d = {}, n = {}", counts, trials=trials, layers=layers)
    rows = [(*cell, *(Share(of[fate], trials) for fate in FATES)) for cell, of in found.items()]
    total = {fate: sum(of[fate] for (family, *_), of in found.items() if family != POLYGON) for fate in FATES}
    caption = f"{trials} clouds per row, alpha = {ALPHA:g}, at most {layers} layers: count (95 % interval)"
    table = context.table("fates", caption, rows, ("family", "d", "n", *FATES))
    context.case(load("square-collapses-to-zero")[0])
    text = "The part of the clouds that ends at one point, by dimension."
    context.figure("one-point", "measurements:plot_fates", table.records(), text=text)
    runs = sum(total.values())
    return Outcome(
        f"Of {runs:,} random runs of normal clouds {Share(total['cycle'], runs)} were cycles, "
        f"{Share(total['zero'], runs)} went to 0, {Share(total['moving'], runs)} were still moving after {layers} "
        f"layers; the others came to rest at one point ({total['one point']:,}) or at several "
        f"({total['several points']:,}). Cycles exist all the same (question one-head), with ties, which random clouds "
        "do not have; and a regular polygon that is turned far enough goes to 0."
    )


def polygon(n: int) -> Floats:
    """The corners of a regular polygon on the unit circle."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])
