"""Figures of the dynamics as the paper has them: the geometry of a follow set, and four clouds at five layers."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from hardmax.dynamics.trajectory import Trajectory
from hardmax.plot.layer import below, colors, draw_layer
from hardmax.plot.style import FAINT, HULL, INK, Figure, color, house, panels
from hardmax.plot.view import dress, view

if TYPE_CHECKING:
    from hardmax.experiments.reproduce.dynamics import FollowSet

OTHER = "#7A7A7A"


@house()
def plot_follow_sets(found: Sequence["FollowSet"]) -> Figure:
    """One panel for each follow set, as [AFZ24, Fig. 1]: the line along A z_i with the projections of all tokens, the
    half-space H_i shaded, and the followed tokens as stars. Tokens are numbered from 1, as in the paper."""
    figure, axes = panels(len(found), 3.6, 3.6)
    for letter, ax, each in zip("abcdefgh", axes, found, strict=False):
        _geometry(ax, each)
        identity = np.array_equal(each.matrix, np.eye(2))
        entries = "; ".join(", ".join(f"{x:g}" for x in row) for row in each.matrix)
        ax.set_title(f"({letter})  A = I" if identity else f"({letter})  A = ({entries})".replace("-", "\u2212"))
    figure.legend(handles=_marks(), loc="outside lower center", ncols=4, handletextpad=0.4, columnspacing=1.6)
    return figure


def _marks() -> list[Any]:
    """The legend of the geometry."""
    dot: dict[str, Any] = {"linestyle": "", "marker": "o", "markeredgewidth": 0.6}
    return [
        Line2D([], [], color=color(0), markeredgecolor=INK, label="token i", **dot),
        Line2D([], [], linestyle="", marker="*", markersize=10, color=color(1), markeredgecolor=INK,
               markeredgewidth=0.6, label="followed: the largest projection on $Az_i$"),
        Line2D([], [], color=OTHER, markeredgecolor="white", label="other tokens", **dot),
        Patch(facecolor=HULL, edgecolor="#B3AE9C", linewidth=0.8, label="half-space $H_i$"),
    ]  # fmt: skip


def _geometry(ax: Any, each: "FollowSet") -> None:
    Z, i = each.tokens, each.token
    reach = 1.25 * float(np.abs(Z).max())
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    along = each.direction / np.linalg.norm(each.direction)
    across = np.array([-along[1], along[0]])
    far = 4 * reach
    edge = np.stack([Z[i] - far * across, Z[i] + far * across])
    ax.add_patch(
        Polygon(np.concatenate([edge, edge[::-1] + far * along]), facecolor=HULL, edgecolor="none", alpha=0.7, zorder=0)
    )
    ax.plot(*edge.T, color="#B3AE9C", linewidth=0.8, zorder=0.5)
    ax.plot(*np.stack([-far * along, far * along]).T, color=INK, linewidth=0.7, zorder=1)
    feet = (Z @ along)[:, None] * along
    best = Z[each.follows[0]] @ along
    level = best * along
    ax.plot(*np.stack([level - far * across, level + far * across]).T, color=color(1), linewidth=0.8,
            linestyle=(0, (5, 3)), zorder=0.6)  # fmt: skip
    for j, (token, foot) in enumerate(zip(Z, feet, strict=True)):
        shade = color(1) if j in each.follows else FAINT
        ax.plot(*np.stack([token, foot]).T, color=shade, linewidth=0.9, linestyle=(0, (1.5, 1.5)), zorder=1.5)
        ax.plot(*foot, marker="o", markersize=2.8, color=shade, zorder=2)
    others = [j for j in range(len(Z)) if j != i and j not in each.follows]
    ax.scatter(*Z[others].T, s=30, color=OTHER, edgecolors="white", linewidths=0.5, zorder=3)
    ax.scatter(*Z[list(each.follows)].T, s=150, marker="*", color=color(1), edgecolors=INK, linewidths=0.6, zorder=4)
    ax.scatter(*Z[i], s=46, color=color(0), edgecolors=INK, linewidths=0.7, zorder=4)
    ax.plot(0, 0, marker="+", color=INK, markersize=7, markeredgewidth=0.9, zorder=3)
    tip = (best + 0.17 * reach) * along  # beyond all projections, where the label has room
    ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.1, "shrinkA": 0},
                zorder=2.5)  # fmt: skip
    _say(ax, Z[i], f"$z_{{{i + 1}}}$", color(0), -across)
    for j in (*each.follows, *others):
        shade = color(1) if j in each.follows else OTHER
        _say(ax, Z[j], f"$z_{{{j + 1}}}$", shade, across if (Z[j] - feet[j]) @ across > 0 else -across)
    _say(ax, tip, f"$Az_{{{i + 1}}}$", INK, -across)
    corner = np.array([0.93, 0.93]) * reach
    ax.text(*corner, f"$H_{{{i + 1}}}$", ha="right", va="top", color="#8A8678", fontsize=12)


def _say(ax: Any, at: Any, text: str, shade: str, side: Any) -> None:
    ax.annotate(
        text, at, xytext=11 * np.asarray(side), textcoords="offset points", ha="center", va="center", color=shade,
        fontsize=11, zorder=6, bbox={"facecolor": "white", "alpha": 0.75, "pad": 0.3, "linewidth": 0},
    )  # fmt: skip


@house()
def plot_configurations(runs: Sequence[Trajectory], layers: Sequence[int], names: Iterable[str]) -> Figure:
    """Rows of panels as [AFZ24, Fig. 2]: one row per trajectory, one column per layer."""
    views = [view(traj.tokens) for traj in runs]
    heights = [where.ratio for where in views]
    tight = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    figure = Figure(figsize=(1.75 * len(layers) + 0.35, 1.75 * sum(heights) + 0.75), layout=tight)
    panels = figure.subplots(len(runs), len(layers), squeeze=False, height_ratios=heights)
    seen = []
    for row, (traj, where, name) in enumerate(zip(runs, views, names, strict=True)):
        paint = colors(traj, tuple(layers))
        for column, k in enumerate(layers):
            ax = panels[row, column]
            seen.append(draw_layer(ax, traj, k, where, paint))
            dress(ax, where, ticks=False)
            ax.tick_params(length=0)
            if row == 0:
                ax.set_title(f"layer {k}", pad=4)
        panels[row, 0].set_ylabel(f"({'abcdefgh'[row]})  {name}", fontsize=9.5)
    below(figure, seen)
    return figure
