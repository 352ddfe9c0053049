"""Loss and objective against the Tikhonov parameter, with the threshold of the theorem."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hardmax.plot.style import FAINT, INK, color, in_house

if TYPE_CHECKING:
    from hardmax.experiments.tikhonov import Tikhonov


@in_house
def plot_tikhonov(result: "Tikhonov", ax: Any = None) -> Axes:
    """Loss (filled) and objective (open) of every run on logarithmic axes; the line is eps |theta*|^2."""
    ax = Figure(figsize=(4.8, 3.8), layout="constrained").add_subplot() if ax is None else ax
    eps = np.array(sorted({row.eps for row in result.rows}))
    ax.plot(eps, eps * result.norm, color=INK, linewidth=1, label=r"threshold $\epsilon\,|\theta^*|^2$")
    shapes = {"random": "o", "interpolator": "s"}
    for number, (start, marker) in enumerate(shapes.items()):
        rows = sorted((row for row in result.rows if row.start == start), key=lambda row: row.eps)
        x = [row.eps for row in rows]
        shade = color(number)
        ax.plot(x, [row.loss for row in rows], marker=marker, color=shade, linewidth=0.8, label=f"loss, {start} start")
        ax.plot(
            x,
            [row.objective for row in rows],
            marker=marker,
            color=shade,
            linestyle=":",
            linewidth=0.8,
            markerfacecolor="white",
            label=f"objective, {start} start",
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(r"$\epsilon$")
    s = result.setting
    ax.set_title(f"one softmax block, N = {s.sequences}, d = {s.dim}, n = {s.tokens}, {s.steps} steps")
    ax.grid(color=FAINT, linewidth=0.3)
    ax.legend()
    return ax
