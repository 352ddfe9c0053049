"""Pictures of the laws of random clouds: residuals of the number of leaders, and the time until all is decided."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hardmax.plot.style import FAINT, MARKERS, Figure, color, house, panels, tidy


@house()
def plot_residuals(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Measured minus expected number of leaders in standard errors against n, one marker for every dimension."""
    figure, (ax,) = panels(1, 5.2, 3.0)
    for level in (-3, 0, 3):
        ax.axhline(level, color=FAINT, linewidth=0.8, linestyle="-" if level == 0 else (0, (4, 3)))
    dims = sorted({row["d"] for row in rows})
    for number, d in enumerate(dims):
        mine = [row for row in rows if row["d"] == d]
        shift = 1.05 ** (number - len(dims) / 2)
        ax.plot([row["n"] * shift for row in mine], [row["residual"] for row in mine], MARKERS[number],
                color=color(number), markersize=4.5, label=f"d = {d}")  # fmt: skip
    ax.set(xscale="log", xlabel="tokens n", ylabel="residual (standard errors)", ylim=(-4.2, 4.2))
    tidy(ax, "y")
    figure.legend(loc="outside right center")
    return figure


@house()
def plot_times(times: Mapping[float, Sequence[float]]) -> Figure:
    """The part of the clouds that is not decided by the time layers x ln(1+alpha), on a logarithmic axis."""
    figure, (ax,) = panels(1, 5.2, 3.2)
    for number, (alpha, found) in enumerate(sorted(times.items())):
        t = np.sort(found)
        left = 1 - np.arange(1, len(t) + 1) / len(t)
        ax.step(t[:-1], left[:-1], where="post", color=color(number), linewidth=1.2, label=f"alpha = {alpha:g}")
    ax.set(yscale="log", xlabel=r"layers $\times$ ln(1 + alpha)", ylabel="part not decided", xlim=(0, None))
    tidy(ax, "y")
    figure.legend(loc="outside right center")
    return figure
