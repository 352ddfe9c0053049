"""Where tokens end at infinite depth, and the ways they take."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.trajectory import Trajectory
from hardmax.plot.layer import MOST_TRAILS, draw_markers, first_copies, mark, thinned_out, under
from hardmax.plot.style import INK, color, house, save_figure
from hardmax.plot.view import View, dress, marker_area, new_axes, shade, shown_axes, thinned, view


@house()
def plot_limit(eq: Equilibrium, ax: Any = None, *, legend: bool = True, title: str | None = None) -> Axes:
    """Draw the start and the limit of every token, and the limit polytope K.

    A star is a vertex of K (a leader), a diamond a limit on a face of K; small circles are the initial tokens in the
    color of the point where they end, with a thin line to it (for at most 500 tokens).

    Args:
        ax: axes to draw on (projection="3d" for tokens in space); None makes a new figure, which `plt.show()` shows.

    Returns:
        The axes.
    """
    n = len(eq.tokens)
    where = _view(eq, ax)
    ax = shown_axes(where) if ax is None else ax
    start, end, centers = where(eq.tokens), where(eq.points), where(eq.centers)
    vertex = np.array([k == "vertex" for k in eq.kind])
    shade(ax, centers[vertex], where)
    if n <= MOST_TRAILS and where.kind != "line":
        for i in np.flatnonzero(np.abs(end - start).max(axis=1) > 0):
            way = np.stack([start[i], end[i]])
            ax.plot(*way.T, color=color(eq.cluster[i]), linewidth=0.7, alpha=0.4, zorder=1)
    drawn = thinned(n, np.zeros(n, bool))
    area = marker_area(n)
    face, width = [color(eq.cluster[i]) for i in drawn], 0.4 if area > 8 else 0.0
    draw_markers(ax, start[drawn], "o", 0.55 * area, face, "white", width, gid="start", zorder=2, raster=n > 2000)
    for gid, shape, which, size in (("vertices", "*", vertex, 4.2), ("faces", "D", ~vertex, 1.3)):
        face = [color(c) for c in np.flatnonzero(which).tolist()]
        draw_markers(ax, centers[which], shape, max(size * area, 9.5 * size), face, width=0.7, gid=gid)
    dress(ax, where)
    ax.set_title(title if title is not None else "\n".join(filter(None, [_heading(eq), where.note])))
    if legend:
        entries = [mark("initial token, in the color of its limit", "o", color(0), "white", 5.5)]
        if "vertex" in eq.kind:
            entries.append(mark("leader: a vertex of $K$", "*", color(0), INK, 10))
        if "face" in eq.kind:
            entries.append(mark("limit on a face of $K$", "D", color(len(eq.kind) - 1), INK, 5.5))
        under(ax, entries + thinned_out(n))
    return ax


@house()
def limit_figure(eq: Equilibrium, **options: Any) -> Figure:
    """The picture of `plot_limit` on a figure of its own, for files and pages: no window is opened for it."""
    figure = plot_limit(eq, new_axes(_view(eq)), **options).figure
    assert isinstance(figure, Figure)
    return figure


def _view(eq: Equilibrium, ax: Any = None) -> View:
    return view(np.stack([eq.tokens, eq.points]), ax)


def _heading(eq: Equilibrium) -> str:
    count = int(sum(k == "vertex" for k in eq.kind))
    state = f"decided at layer {eq.layers}" if eq.undecided == 0 else f"{eq.undecided} comparisons undecided"
    return f"limit: {count} leader{'s' if count != 1 else ''}, {state}"


@house()
def plot_trails(traj: Trajectory, ax: Any = None, *, title: str | None = None) -> Axes:
    """Draw the way of every token through all layers, in the color of the leader it is nearest to at the end.

    Gray is equally near to several. Tokens on a line (d = 1) are drawn over the layers. Dots mark the layers, stars the
    leaders at the end.

    Returns:
        The axes.
    """
    where = view(traj.tokens, ax)
    ax = shown_axes(where if where.kind != "line" else _over_layers(where, traj.layers)) if ax is None else ax
    shown = where(traj.tokens)
    if where.kind == "line":
        shown[..., 1] = np.arange(traj.layers + 1)[:, None]
    leaders = np.unique(first_copies(traj.tokens[0])[traj.leaders]) if len(traj.leaders) else np.zeros(0, np.int64)
    near = _nearest(traj, leaders)
    drawn = thinned(traj.n, np.isin(np.arange(traj.n), leaders))[: 10 * MOST_TRAILS]
    if where.kind != "line":
        shade(ax, shown[-1][leaders], where)
    fine = traj.n <= MOST_TRAILS
    dots: dict[str, Any] = {"marker": "o" if fine else None, "markersize": 2.2, "markeredgewidth": 0}
    line = {"linewidth": 1.0 if fine else 0.4, "alpha": 0.7 if fine else 0.35, "zorder": 1, "rasterized": not fine}
    for i in drawn:
        ax.plot(*shown[:, i].T, color=color(near[i]), **line, **dots)
    draw_markers(ax, shown[-1][leaders], "*", 150, [color(c) for c in range(len(leaders))], gid="stars")
    if where.kind == "line":
        ax.set(xlim=(where.low[0], where.high[0]), ylim=(traj.layers + 0.5, -0.5), ylabel="layer")
        ax.spines[["right", "top"]].set_visible(False)
    else:
        dress(ax, where)
    ax.set_title(title if title is not None else "\n".join(filter(None, [f"layers 0 to {traj.layers}", where.note])))
    return ax


def _over_layers(where: View, layers: int) -> View:
    """A plane of the same width, whose height grows with the number of layers."""
    width = float(where.high[0] - where.low[0])
    tall = width * float(np.clip(layers / 30, 0.4, 1.2))
    return View("plane", where.center, where.axes, np.array([0.0, 0.0]), np.array([width, tall]))


def _nearest(traj: Trajectory, leaders: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) which of the leaders each token is nearest to at the last layer; -1 if none, or several."""
    last = traj.tokens[-1].astype(np.float64)
    best, near = np.full(traj.n, np.inf), np.full(traj.n, -1, dtype=np.int64)
    for c, leader in enumerate(leaders):
        distance = np.linalg.norm(last - last[leader], axis=1)
        level = np.isclose(distance, best, rtol=1e-6, atol=0)
        near = np.where(level, -1, np.where(distance < best, c, near))
        best = np.minimum(best, distance)
    return near


def save_limit(eq: Equilibrium, path: Path, **options: Any) -> None:
    """Write the picture of a limit; `options` go to `plot_limit`."""
    save_figure(limit_figure(eq, **options), path)
