"""One layer of a trajectory, and the panel row of Fig. 2 of [AFZ24]."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from hardmax.dynamics.trajectory import Trajectory
from hardmax.plot.roles import Colors, Roles, colors, roles
from hardmax.plot.style import FAINT, INK, color, in_house, save_figure
from hardmax.plot.view import View, dress, marker_area, new_axes, shade, thinned, view

PAPER_LAYERS = (0, 1, 2, 5, 30)
MOST_HALVES = 300  # two-colored markers are drawn one by one
MOST_TRAILS = 500


@in_house
def plot_layer(
    traj: Trajectory,
    layer: int = -1,
    ax: Any = None,
    *,
    trails: bool = True,
    legend: bool = True,
    title: str | None = None,
    ticks: bool = True,
) -> Axes:
    """Draw the tokens of one layer as [AFZ24, Fig. 2] does.

    A star follows itself; a circle follows another token and has its color (both colors for a tie of two, gray for
    more); a token that is followed although it does not follow itself has an edge of its own color; the hull of the
    leaders so far is shaded; thin lines show the way since layer 0; + is the origin.

    Args:
        ax: axes to draw on (projection="3d" for tokens in space); None makes a new figure, `result.figure`.
        trails: draw the way of each token (for at most 500 tokens).

    Returns:
        The axes.
    """
    layer = traj._layer(layer)
    where = view(traj.tokens, flat=ax is not None and not hasattr(ax, "zaxis"))
    ax = new_axes(where) if ax is None else ax
    paint = colors(traj, (layer,))
    seen = draw_layer(ax, traj, layer, where, paint, trails=trails)
    dress(ax, where, ticks)
    ax.set_title(title if title is not None else "\n".join(filter(None, [f"layer {layer}", where.note])))
    if legend:
        below(ax.figure, [seen], anchor=ax)
    return ax


def draw_layer(
    ax: Any, traj: Trajectory, layer: int, where: View, paint: Colors, trails: bool = True, between: float = 0.0
) -> Roles:
    """Hull, trails and markers of one layer; `between` in (0, 1) moves tokens toward the next layer for movies."""
    shown = where(traj.tokens[layer])
    if between:
        shown = shown + between * (where(traj.tokens[layer + 1]) - shown)
    seen = roles(traj, layer, paint)
    leading = np.array([i for i, since in traj.leader_since.items() if since <= layer], dtype=np.int64)
    shade(ax, shown[leading], where)
    if trails and layer > 0 and traj.n <= MOST_TRAILS and where.kind != "line":
        _trails(ax, where(traj.tokens[: layer + 1]), shown, seen)
    _markers(ax, shown, seen, traj.n)
    return seen


def _trails(ax: Any, ways: NDArray[np.float64], now: NDArray[np.float64], seen: Roles) -> None:
    ways = np.concatenate([ways, now[None]])
    moved = np.abs(ways - ways[0]).max(axis=(0, 2)) > 0
    for i in np.flatnonzero(moved):
        ax.plot(
            *ways[:, i].T,
            color=color(-1 if seen.tie[i] else seen.face[i]),
            linewidth=0.8,
            alpha=0.45,
            zorder=1,
            solid_capstyle="round",
        )


def _markers(ax: Any, shown: NDArray[np.float64], seen: Roles, n: int) -> None:
    area = marker_area(n)
    special = seen.star | seen.tie | (seen.ring >= 0)
    drawn = thinned(n, seen.star | ((seen.ring >= 0) if n <= 200_000 else seen.star))
    halves = drawn[seen.half[drawn] >= 0]
    if len(halves) > MOST_HALVES:
        halves = halves[:0]
    plain = np.setdiff1d(drawn[~seen.star[drawn]], halves)
    raster = n > 2000  # a vector file with a hundred thousand circles helps nobody
    space = {"depthshade": False} if hasattr(ax, "zaxis") else {}
    ringed = seen.ring >= 0
    # gray for ties of three and more, and for pairs when there are too many of them to be drawn in two colors
    face = [color(-1 if seen.tie[i] else seen.face[i]) for i in plain]
    edge = [color(seen.ring[i]) if ringed[i] else (INK if seen.tie[i] else "white") for i in plain]
    width = [1.6 if ringed[i] else (0.8 if seen.tie[i] else 0.5) for i in plain]
    thin = min(1.0, np.sqrt(area / 30)) if area > 8 else 0.0
    order = np.argsort(special[plain], kind="stable")
    ax.scatter(
        *shown[plain[order]].T,
        s=area,
        c=[face[k] for k in order],
        edgecolors=[edge[k] for k in order],
        linewidths=[width[k] * thin for k in order],
        zorder=2,
        rasterized=raster,
        gid="circles",
        **space,
    )
    for i in halves:
        side, other = _side(*shown[seen.pair[i]])
        ax.plot(
            *(shown[i : i + 1]).T,
            marker="o",
            linestyle="none",
            fillstyle=side,
            markersize=np.sqrt(area) * 1.08,
            markerfacecolor=color((seen.half if other else seen.face)[i]),
            markerfacecoloralt=color((seen.face if other else seen.half)[i]),
            markeredgecolor=color(seen.ring[i]) if ringed[i] else INK,
            markeredgewidth=1.6 if ringed[i] else 0.7,
            zorder=2.5,
            gid="tie",
        )
    stars = np.flatnonzero(seen.star)
    ax.scatter(
        *shown[stars].T,
        s=max(4.2 * area, 40),
        marker="*",
        c=[color(seen.face[i]) for i in stars],
        edgecolors=INK,
        linewidths=0.6,
        zorder=3,
        gid="stars",
        **space,
    )


def _side(first: Any, second: Any) -> tuple[str, bool]:
    """How to divide a marker so that each half lies toward the token it follows: the half that is filled first, and
    whether it belongs to the second token."""
    gap = first - second
    if len(gap) == 2 and abs(gap[1]) > abs(gap[0]):
        return "top", bool(gap[1] < 0)
    return "left", bool(gap[0] > 0)


def below(figure: Any, seen: Sequence[Roles], anchor: Any = None, columns: int = 5) -> None:
    """One line under the picture that explains the marks that occur in it, and only those."""

    def mark(shape: str, face: str, edge: str, width: float, size: float = 6.5, **more: Any) -> Line2D:
        return Line2D(
            [], [], linestyle="none", marker=shape, markerfacecolor=face, markeredgecolor=edge, markeredgewidth=width,
            markersize=size, **more,
        )  # fmt: skip

    entries: list[tuple[Line2D, str]] = []
    if any(each.star.any() for each in seen):
        entries.append((mark("*", color(0), INK, 0.6, 10), "follows itself"))
    if any((~each.star & ~each.tie).any() for each in seen):
        entries.append((mark("o", color(0), "white", 0.5), "follows the token of this color"))
    if any((each.half >= 0).any() for each in seen):
        entries.append(
            (mark("o", color(0), INK, 0.7, fillstyle="left", markerfacecoloralt=color(1)), "follows two (a tie)")
        )
    if any((each.tie & (each.half < 0)).any() for each in seen):
        entries.append((mark("o", color(-1), INK, 0.8), "follows several"))
    if any((each.ring >= 0).any() for each in seen):
        entries.append((mark("o", color(0), color(1), 1.6), "is followed by its edge color"))
    if len(seen[0].star) > 20_000:
        entries.append((mark("", FAINT, FAINT, 0), f"({len(seen[0].star):,} tokens, evenly thinned out)"))
    options: dict[str, Any] = {"handletextpad": 0.3, "columnspacing": 1.4, "borderpad": 0}
    handles, labels = [h for h, _ in entries], [text for _, text in entries]
    if anchor is None:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(entries), columns), **options)
    else:
        under(anchor, handles, labels, **options)


def under(ax: Any, handles: list[Line2D], labels: list[str], **options: Any) -> None:
    """A legend of two columns a fixed distance under the axes, whatever their height."""
    drop = ScaledTranslation(0, 0.06 if hasattr(ax, "zaxis") else -0.27, ax.figure.dpi_scale_trans)
    ax.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + drop,
        ncols=min(len(labels), 2),
        **options,
    )


@in_house
def plot_panels(
    traj: Trajectory,
    layers: Sequence[int] | None = None,
    *,
    trails: bool = True,
    title: str | None = None,
    width: float = 2.1,
) -> Figure:
    """The panel row of [AFZ24, Fig. 2]: the same cloud at several layers, one scale, one set of colors.

    Args:
        layers: which; by default 0, 1, 2, 5, 30 as far as they were run, and the last.
        width: of one panel, in inches.

    Returns:
        The figure.
    """
    chosen = _chosen(traj, layers)
    where = view(traj.tokens)
    columns = min(len(chosen), 6)
    lines = -(-len(chosen) // columns)
    head = 0.42 + (0.3 if title or where.note else 0.0)
    tight = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, wspace=0.02)
    figure = Figure(figsize=(width * columns + 0.3, lines * (width * where.ratio + 0.3) + head), layout=tight)
    style = {"projection": "3d"} if where.kind == "space" else {}
    paint = colors(traj, chosen)
    seen = []
    for p, k in enumerate(chosen):
        ax = figure.add_subplot(lines, columns, p + 1, **style)
        seen.append(draw_layer(ax, traj, k, where, paint, trails=trails))
        dress(ax, where, ticks=p % columns == 0)
        ax.set_title(f"layer {k}", pad=4)
    heading = "\n".join(filter(None, [title, where.note]))
    if heading:
        figure.suptitle(heading, fontsize=11)
    below(figure, seen)
    return figure


def _chosen(traj: Trajectory, layers: Sequence[int] | None) -> tuple[int, ...]:
    if layers is None:
        return tuple(dict.fromkeys([k for k in PAPER_LAYERS if k <= traj.layers] + [traj.layers]))
    return tuple(traj._layer(int(k)) for k in layers)


def save_panels(traj: Trajectory, path: Path, **options: Any) -> None:
    """Write the panel row; `options` go to `plot_panels`."""
    save_figure(plot_panels(traj, **options), path)
