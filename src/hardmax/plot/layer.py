"""One layer of a trajectory as shapes and colors, and the row of panels of [AFZ24, Fig. 2]."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from hardmax.dynamics.trajectory import Trajectory
from hardmax.plot.style import FAINT, INK, Figure, color, house, save_figure
from hardmax.plot.view import MOST_MARKERS, View, dress, marker_area, shade, shown_axes, thinned, view

PAPER_LAYERS = (0, 1, 2, 5, 30)
PANEL = 2.1  # width of a panel in inches
MOST_HALVES = 300  # two-colored markers are drawn one by one
MOST_TRAILS = 500
LEGEND: Any = {"handletextpad": 0.3, "columnspacing": 1.4, "borderpad": 0}
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Roles:
    """What each of n tokens looks like at one layer."""

    star: NDArray[np.bool_]  # (n,) the token follows itself and nothing else
    face: Ints  # (n,) number of the color of the token that is followed; -1 for ties between three or more
    half: Ints  # (n,) number of the second color for ties between two points, else -1
    tie: NDArray[np.bool_]  # (n,) the token follows two different points or more
    pair: Ints  # (n, 2) the two tokens of such a tie (elsewhere 0)
    ring: Ints  # (n,) number of the own color if others follow a token that does not follow itself, else -1


@dataclass(frozen=True, eq=False)
class Colors:
    """One color number for every token that is followed; leaders come first. Copies of one point share it."""

    number: Ints  # (n,) the number of each token, -1 if no token ever follows it
    copy_of: Ints  # (n,) the first token at the same point


def first_copies(tokens: NDArray[Any]) -> Ints:
    """(n,) the index of the first equal row. Equal tokens stay equal forever, so layer 0 decides.

    Example:
        >>> first_copies(np.array([[1, 0], [2, 0], [1, 0]]))
        array([0, 1, 0])
    """
    first: dict[tuple[Any, ...], int] = {}
    return np.array([first.setdefault(tuple(row), i) for i, row in enumerate(tokens.tolist())], dtype=np.int64)


def colors(traj: Trajectory, layers: tuple[int, ...]) -> Colors:
    """Give every leader a color, and then every other token that is followed alone, or by a pair, in these layers."""
    copy_of = first_copies(traj.tokens[0])
    order = dict.fromkeys(int(copy_of[i]) for i in traj.leaders)
    seen: set[tuple[int, ...]] = set()
    for k in layers:
        seen |= set(traj.follows(k))
    others = set()
    for followed in seen:
        distinct = {int(copy_of[j]) for j in followed}
        if len(distinct) <= 2:
            others |= distinct
    order |= dict.fromkeys(sorted(others - set(order)))
    number = np.full(traj.n, -1, dtype=np.int64)
    for c, i in enumerate(order):
        number[i] = c
    return Colors(number[copy_of], copy_of)


def roles(traj: Trajectory, layer: int, paint: Colors) -> Roles:
    """Shapes and colors of all tokens at one layer."""
    n = traj.n
    star, tie = np.zeros(n, bool), np.zeros(n, bool)
    face, half = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    pair = np.zeros((n, 2), dtype=np.int64)
    followed_by_others = np.zeros(n, bool)
    known: dict[tuple[int, ...], list[int]] = {}  # few distinct sets, many tokens
    for i, followed in enumerate(traj.follows(layer)):
        distinct = known.get(followed)
        if distinct is None:
            distinct = known[followed] = sorted({int(paint.copy_of[j]) for j in followed})
        me = int(paint.copy_of[i])
        star[i] = distinct == [me]
        tie[i] = len(distinct) > 1
        if len(distinct) <= 2:
            face[i] = paint.number[distinct[0]]
            if tie[i]:
                half[i], pair[i] = paint.number[distinct[1]], distinct
            for j in distinct:
                if j != me:
                    followed_by_others[j] = True
    ring = np.where(followed_by_others[paint.copy_of] & ~star, paint.number, -1)
    return Roles(star, face, half, tie, pair, ring)


@house()
def plot_layer(
    traj: Trajectory, layer: int = -1, ax: Any = None, *, legend: bool = True, title: str | None = None
) -> Axes:
    """Draw the tokens of one layer as [AFZ24, Fig. 2] does.

    A star follows itself; a circle follows another token and has its color (both colors for a tie of two, gray for
    more); a token that is followed although it does not follow itself has an edge of its own color; the hull of the
    leaders so far is shaded; thin lines show the way since layer 0 (for at most 500 tokens); + is the origin.

    Args:
        ax: axes to draw on (projection="3d" for tokens in space); None makes a new figure, which `plt.show()` shows.

    Returns:
        The axes.
    """
    layer = traj._layer(layer)
    where = view(traj.tokens, ax)
    ax = shown_axes(where) if ax is None else ax
    paint = colors(traj, (layer,))
    seen = draw_layer(ax, traj, layer, where, paint)
    dress(ax, where)
    ax.set_title(title if title is not None else "\n".join(filter(None, [f"layer {layer}", where.note])))
    if legend:
        below(ax.figure, [seen], anchor=ax)
    return ax


def draw_layer(ax: Any, traj: Trajectory, layer: int, where: View, paint: Colors, between: float = 0.0) -> Roles:
    """Hull, trails and markers of one layer; `between` in (0, 1) moves tokens toward the next layer for movies."""
    place = layer - traj.first_layer
    shown = where(traj.tokens[place])
    if between:
        shown = shown + between * (where(traj.tokens[place + 1]) - shown)
    seen = roles(traj, layer, paint)
    leading = np.array([i for i, since in traj.leader_since.items() if since <= layer], dtype=np.int64)
    shade(ax, shown[leading], where)
    if place > 0 and traj.n <= MOST_TRAILS and where.kind != "line":
        _trails(ax, where(traj.tokens[: place + 1]), shown, seen)
    _markers(ax, shown, seen, traj.n)
    return seen


def _trails(ax: Any, ways: NDArray[np.float64], now: NDArray[np.float64], seen: Roles) -> None:
    ways = np.concatenate([ways, now[None]])
    moved = np.abs(ways - ways[0]).max(axis=(0, 2)) > 0
    for i in np.flatnonzero(moved):
        shade = color(-1 if seen.tie[i] else seen.face[i])
        ax.plot(*ways[:, i].T, color=shade, linewidth=0.8, alpha=0.45, zorder=1, solid_capstyle="round")


def _markers(ax: Any, shown: NDArray[np.float64], seen: Roles, n: int) -> None:
    area = marker_area(n)
    special = seen.star | seen.tie | (seen.ring >= 0)
    drawn = thinned(n, seen.star | ((seen.ring >= 0) if n <= 200_000 else seen.star))
    halves = drawn[seen.half[drawn] >= 0]
    if len(halves) > MOST_HALVES:
        halves = halves[:0]
    plain = np.setdiff1d(drawn[~seen.star[drawn]], halves)
    ringed = seen.ring >= 0
    # gray for ties of three and more, and for pairs when there are too many of them to be drawn in two colors
    face = [color(-1 if seen.tie[i] else seen.face[i]) for i in plain]
    edge = [color(seen.ring[i]) if ringed[i] else (INK if seen.tie[i] else "white") for i in plain]
    width = [1.6 if ringed[i] else (0.8 if seen.tie[i] else 0.5) for i in plain]
    thin = min(1.0, np.sqrt(area / 30)) if area > 8 else 0.0
    order = np.argsort(special[plain], kind="stable")
    face, edge, width = [face[k] for k in order], [edge[k] for k in order], [width[k] * thin for k in order]
    draw_markers(ax, shown[plain[order]], "o", area, face, edge, width, gid="circles", zorder=2, raster=n > 2000)
    for i in halves:
        side, other = _side(*shown[seen.pair[i]])
        first, second = color((seen.half if other else seen.face)[i]), color((seen.face if other else seen.half)[i])
        rim, width_of_rim = (color(seen.ring[i]), 1.6) if ringed[i] else (INK, 0.7)
        ax.plot(
            *(shown[i : i + 1]).T, marker="o", linestyle="none", fillstyle=side, markersize=np.sqrt(area) * 1.08,
            markerfacecolor=first, markerfacecoloralt=second, markeredgecolor=rim, markeredgewidth=width_of_rim,
            zorder=2.5, gid="tie",
        )  # fmt: skip
    stars = np.flatnonzero(seen.star)
    draw_markers(ax, shown[stars], "*", max(4.2 * area, 40), [color(seen.face[i]) for i in stars], gid="stars")


def draw_markers(
    ax: Any, points: NDArray[np.float64], shape: str, area: float, face: list[str], edge: Any = INK, width: Any = 0.6,
    *, gid: str, zorder: float = 3, raster: bool = False,
) -> None:  # fmt: skip
    """Markers at some points; `raster`: as pixels in a vector file, for clouds of many tokens."""
    space = {"depthshade": False} if hasattr(ax, "zaxis") else {}
    ax.scatter(
        *points.T, s=area, marker=shape, c=face, edgecolors=edge, linewidths=width, zorder=zorder, gid=gid,
        rasterized=raster, **space,
    )  # fmt: skip


def _side(first: Any, second: Any) -> tuple[str, bool]:
    """How to divide a marker so that each half lies toward the token it follows: the half that is filled first, and
    whether it belongs to the second token."""
    gap = first - second
    if len(gap) == 2 and abs(gap[1]) > abs(gap[0]):
        return "top", bool(gap[1] < 0)
    return "left", bool(gap[0] > 0)


def below(figure: Any, seen: Sequence[Roles], anchor: Any = None, columns: int = 5) -> None:
    """One line under the picture that explains the marks that occur in it, and only those."""
    entries: list[Line2D] = []
    if any(each.star.any() for each in seen):
        entries.append(mark("follows itself", "*", color(0), INK, 10, 0.6))
    if any((~each.star & ~each.tie).any() for each in seen):
        entries.append(mark("follows the token of this color", "o", color(0), "white", width=0.5))
    if any((each.half >= 0).any() for each in seen):
        halves: Any = {"fillstyle": "left", "markerfacecoloralt": color(1)}
        entries.append(mark("follows two (a tie)", "o", color(0), INK, width=0.7, **halves))
    if any((each.tie & (each.half < 0)).any() for each in seen):
        entries.append(mark("follows several", "o", color(-1), INK, width=0.8))
    if any((each.ring >= 0).any() for each in seen):
        entries.append(mark("is followed by its edge color", "o", color(0), color(1), width=1.6))
    entries += thinned_out(len(seen[0].star))
    if anchor is None:
        figure.legend(handles=entries, loc="outside lower center", ncols=min(len(entries), columns), **LEGEND)
    else:
        under(anchor, entries)


def mark(text: str, shape: str, face: str, edge: str, size: float = 6.5, width: float = 1.0, **more: Any) -> Line2D:
    """An entry of a legend: a marker and what it means."""
    look = {"markerfacecolor": face, "markeredgecolor": edge, "markersize": size, "markeredgewidth": width, **more}
    return Line2D([], [], linestyle="none", marker=shape, label=text, **look)


def thinned_out(n: int) -> list[Line2D]:
    """The entry of a legend for a cloud too large to be drawn whole."""
    return [mark(f"({n:,} tokens, evenly thinned out)", "", FAINT, FAINT, 0, 0)] if n > MOST_MARKERS else []


def under(ax: Any, entries: list[Line2D]) -> None:
    """A legend of two columns a fixed distance under the axes, whatever their height."""
    drop = ScaledTranslation(0, 0.06 if hasattr(ax, "zaxis") else -0.27, ax.figure.dpi_scale_trans)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + drop}
    ax.legend(handles=entries, ncols=min(len(entries), 2), **place, **LEGEND)


@house()
def plot_panels(traj: Trajectory, layers: Sequence[int] | None = None, *, title: str | None = None) -> Figure:
    """The panel row of [AFZ24, Fig. 2]: the same cloud at several layers, one scale, one set of colors.

    Args:
        layers: which layers; by default 0, 1, 2, 5, 30 as far as they were run, and the last.

    Returns:
        The figure.
    """
    if layers is None:
        layers = list(dict.fromkeys([k for k in PAPER_LAYERS if traj.first_layer <= k <= traj.layers] + [traj.layers]))
    chosen = tuple(traj._layer(int(k)) for k in layers)
    where = view(traj.tokens)
    columns = min(len(chosen), 6)
    lines = -(-len(chosen) // columns)
    head = 0.42 + (0.3 if title or where.note else 0.0)
    tight = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, wspace=0.02)
    figure = Figure(figsize=(PANEL * columns + 0.3, lines * (PANEL * where.ratio + 0.3) + head), layout=tight)
    style = {"projection": "3d"} if where.kind == "space" else {}
    paint = colors(traj, chosen)
    seen = []
    for p, k in enumerate(chosen):
        ax = figure.add_subplot(lines, columns, p + 1, **style)
        seen.append(draw_layer(ax, traj, k, where, paint))
        dress(ax, where, ticks=p % columns == 0)
        ax.set_title(f"layer {k}", pad=4)
    heading = "\n".join(filter(None, [title, where.note]))
    if heading:
        figure.suptitle(heading, fontsize=11)
    below(figure, seen)
    return figure


def save_panels(traj: Trajectory, path: Path, **options: Any) -> None:
    """Write the panel row; `options` go to `plot_panels`."""
    save_figure(plot_panels(traj, **options), path)
