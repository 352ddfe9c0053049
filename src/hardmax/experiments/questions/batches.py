"""Many small clouds at once: plain float64 layers of one or several heads, and what became of each cloud.

Ties are not looked for: they have probability 0 in clouds that are drawn. What is not at rest at the end is run again
by `hardmax.simulate`, which decides.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate

FATES = ("several points", "one point", "zero", "cycle", "moving")
LONGEST_PERIOD = 24
NEAR = 1e-6  # of the cloud's size: the same point, or the origin


@dataclass(frozen=True)
class Run:
    """Layers and step size."""

    alpha: float = 1.0
    layers: int = 600


def fates(Z: Floats, heads: Floats, run: Run) -> list[str]:
    """What became of each cloud: one of FATES.

    Args:
        Z: (B, n, d) clouds.   heads: (H, B, d, d) matrices.

    Example:
        >>> fates(np.array([[[1.0], [-1.0], [0.5]]]), np.ones((1, 1, 1, 1)), Run())
        ['several points']
    """
    size = np.abs(Z).max(axis=(1, 2))
    last = Z
    for _ in range(run.layers):
        last = advance(last, heads, run.alpha)
    after = advance(last, heads, run.alpha)
    loud = np.abs(after - last).max(axis=(1, 2)) > 1e-9 * size
    apart = np.abs(last - last[:, :1]).max(axis=(1, 2))
    result = np.where(apart > NEAR * size, FATES[0], FATES[1]).tolist()
    for b in range(len(Z)):
        if np.abs(last[b]).max() <= NEAR * size[b]:
            result[b] = FATES[2]
        elif loud[b]:
            result[b] = _again(Z[b], heads[:, b], run)
    return result


def still_cycle(Z: Floats, heads: Floats, run: Run, period: int) -> list[bool]:
    """Whether each cloud comes back after `period` layers, and not before, once `run.layers` layers are over.

    Example:
        >>> still_cycle(np.array([[[1.0], [-1.0], [0.5]]]), np.ones((1, 1, 1, 1)), Run(layers=100), 2)
        [False]
    """
    for _ in range(run.layers):
        Z = advance(Z, heads, run.alpha)
    size, steps = np.abs(Z).max(axis=(1, 2)), [Z]
    for _ in range(period):
        steps.append(advance(steps[-1], heads, run.alpha))
    away = [np.abs(step - Z).max(axis=(1, 2)) / size for step in steps[1:]]
    back = away[-1] <= 1e-9
    for far in away[:-1]:
        back &= far > NEAR
    return [bool(x) for x in back]


def advance(Z: Floats, heads: Floats, alpha: float) -> Floats:
    """One layer of all clouds, z_i' = (z_i + alpha mean_h z_{j_h(i)}) / (1 + alpha), j_h = argmax <A_h z_i, z_j>."""
    pull = np.zeros_like(Z)
    for A in heads:
        scores = (Z @ A.transpose(0, 2, 1)) @ Z.transpose(0, 2, 1)
        pull += np.take_along_axis(Z, scores.argmax(axis=2)[:, :, None], axis=1)
    return np.asarray((Z + alpha / len(heads) * pull) / (1 + alpha))


def _again(Z: Floats, heads: Floats, run: Run) -> str:
    """The fate of one cloud according to the package's own engine."""
    traj: Any = simulate(Z, run.alpha, layers=run.layers + 2 * LONGEST_PERIOD, heads=list(heads), definite=False)
    last = traj.tokens[-1]
    if traj.outcome.kind == "periodic":
        return "cycle"
    if np.abs(last).max() <= NEAR * np.abs(Z).max():
        return "zero"
    if traj.outcome.kind not in ("settled", "undecided"):
        return "moving"
    return "several points" if np.abs(last - last[0]).max() > NEAR * np.abs(Z).max() else "one point"
