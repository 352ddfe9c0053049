"""Exact cycles in pictures: one head with ties, and two symmetric positive definite heads.

A cycle is plain data: its "tokens" (n, d), its "heads" (H, d, d), and the "orbit" (period, d) of its moving token.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from hardmax.cloud.tokens import Floats
from hardmax.plot.style import FAINT, HULL, HULL_EDGE, INK, Figure, color, house, panels

# Two directions for looking at three dimensions, the third axis rising to the right.
VIEW = np.array([[1.0, 0.28, 0.0], [0.0, 0.42, 1.0]])
Cycle = Mapping[str, Floats]
SIDES = 200  # points of a triangle's side when its cells are colored


@house()
def plot_one_head_cycles(smallest: Cycle, period_3: Cycle) -> Figure:
    """The smallest cycle of one head in dimension 3, and the cycle of period 3 in the plane that A turns."""
    figure, (left, right) = panels(2, 3.7, 3.2)
    _smallest(left, smallest)
    _period_3(right, period_3)
    return figure


@house()
def plot_cycle_in_triangle(cycle: Cycle) -> Figure:
    """Two symmetric positive definite heads on the triangle of their three leaders: cells, orbit, targets."""
    figure, axes = panels(3, 8.4 / 3, 3.1)
    orbit = cycle["orbit"]
    for h, ax in enumerate(axes[:2]):
        A = cycle["heads"][h]
        _cells(ax, A)
        for z, name in zip(orbit, "ab", strict=True):
            target = int((z @ A.T).argmax())
            _arrow(ax, _flat(z), _flat(np.eye(3)[target]), color(target))
            _token(ax, _flat(z), f"${name}$")
        ax.set_title(f"head {h + 1}")
    last = axes[2]
    _triangle(last)
    ends = [_pulls(cycle, z) for z in orbit]
    for z, after, end, name in zip(orbit, orbit[::-1], ends, "ab", strict=True):
        last.plot(*zip(_flat(z), _flat(end), strict=True), color=FAINT, linewidth=0.9, linestyle="--", zorder=1)
        last.plot(*_flat(end), "x", color=INK, markersize=6)
        _arrow(last, _flat(z), _flat(after), INK, bend=0.5)
        _token(last, _flat(z), f"${name}$")
    last.set_title("both: half way to the mean of the two")
    return figure


def _smallest(ax: Axes, cycle: Cycle) -> None:
    flat = cycle["tokens"] @ VIEW.T
    for i in range(4):
        for j in range(i):
            pair = {i, j} in ({0, 1}, {2, 3})
            ax.plot(*flat[[i, j]].T, color=HULL_EDGE, linewidth=1.6 if pair else 0.6, zorder=1)
    for i, name in enumerate(("(1, 1, 0)", "(1, -1, 0)", "(-1, 0, 1)", "(-1, 0, -1)")):
        ax.plot(*flat[i], "*", color=color(0 if i < 2 else 1), markersize=12)
        ax.annotate(name, flat[i], (6, 4 if i in (0, 2) else -11), textcoords="offset points", fontsize=8)
    z = flat[4]
    for i in (2, 3):
        ax.plot(*zip(z, flat[i], strict=True), color=color(1), linewidth=0.8, linestyle=":")
    for i in (0, 1):
        ax.plot(*zip(-z, flat[i], strict=True), color=color(0), linewidth=0.8, linestyle=":")
    _arrow(ax, z, -z, INK, bend=0.6)
    _arrow(ax, -z, z, INK, bend=0.6)
    for place, name, side in ((z, "1/3", "left"), (-z, "-1/3", "right")):
        ax.plot(*place, "o", color=INK, markersize=5, zorder=5)
        shift = (7 if side == "left" else -7, -3)
        ax.annotate(name, tuple(place), shift, textcoords="offset points", fontsize=8, ha=side)
    ax.set_title("one head, A = diag(-1, 3, 3): period 2")
    _frame(ax, flat, 0.25)


def _period_3(ax: Axes, cycle: Cycle) -> None:
    corners = cycle["tokens"][[0, 2, 4], :2]
    ax.fill(*corners.T, facecolor=HULL, edgecolor=HULL_EDGE, linewidth=0.8, zorder=0)
    for number, corner in enumerate(corners):
        ax.plot(*corner, "*", color=color(number), markersize=12)
        aside = (8, -3) if corner[0] > 0 else (-19, -3)
        ax.annotate(f"$p_{number + 1}$", corner, aside, textcoords="offset points", fontsize=9)
    orbit = cycle["orbit"][:, :2]
    A = cycle["heads"][0, :2, :2]
    for z, after in zip(orbit, np.roll(orbit, -1, axis=0), strict=True):
        target = int((corners @ (A @ z)).argmax())
        ax.plot(*zip(z, corners[target], strict=True), color=color(target), linewidth=0.8, linestyle=":")
        _arrow(ax, z, after, INK, bend=0.15)
        ax.plot(*z, "o", color=INK, markersize=5, zorder=4)
    ax.set_title("one head, symmetric part of A = I: period 3\n(a star: two leaders, above and below the plane)")
    _frame(ax, corners, 1.0)


def _pulls(cycle: Cycle, z: Floats) -> Floats:
    """The mean of the leaders that the heads choose at z."""
    return np.mean([np.eye(3)[int((z @ A.T).argmax())] for A in cycle["heads"]], axis=0)


def _flat(weights: Floats) -> Floats:
    """Weights of three leaders -> a point of an equilateral triangle, leader 2 on top."""
    corners = np.array([[0.0, 0.0], [0.5, np.sqrt(3) / 2], [1.0, 0.0]])
    return np.asarray(weights @ corners)


def _cells(ax: Axes, A: Floats) -> None:
    """Color the triangle by the leader that wins."""
    x, y = np.meshgrid(np.linspace(0, 1, SIDES), np.linspace(0, np.sqrt(3) / 2, SIDES))
    top = y / (np.sqrt(3) / 2)
    right = x - top / 2
    weights = np.stack([1 - top - right, top, right], axis=-1)
    inside = weights.min(axis=-1) >= -1e-9
    picture = np.zeros((*x.shape, 4))
    winner = (weights @ A.T).argmax(axis=-1)
    for leader in range(3):
        picture[inside & (winner == leader)] = to_rgba(color(leader), 0.22)
    ax.imshow(picture, origin="lower", extent=(0, 1, 0, np.sqrt(3) / 2), interpolation="nearest", zorder=0)
    _triangle(ax)


def _triangle(ax: Axes) -> None:
    corners = np.array([_flat(row) for row in np.eye(3)])
    ax.plot(*np.vstack([corners, corners[:1]]).T, color=HULL_EDGE, linewidth=0.8)
    for number, (corner, shift) in enumerate(zip(corners, ((-6, -11), (8, 0), (2, -11)), strict=True)):
        ax.plot(*corner, "*", color=color(number), markersize=12, zorder=4)
        ax.annotate(f"$e_{number + 1}$", corner, shift, textcoords="offset points", fontsize=9)
    _frame(ax, corners, 0.1)


def _arrow(ax: Axes, start: Floats, end: Floats, shade: str, bend: float = 0.0) -> None:
    style = {"arrowstyle": "-|>", "color": shade, "linewidth": 1.1, "shrinkA": 4, "shrinkB": 5,
             "connectionstyle": f"arc3,rad={bend}"}  # fmt: skip
    ax.annotate("", tuple(end), tuple(start), arrowprops=style, zorder=3)


def _token(ax: Axes, place: Floats, name: str) -> None:
    ax.plot(*place, "o", color=INK, markersize=5, zorder=5)
    ax.annotate(name, tuple(place), (0, -13), textcoords="offset points", fontsize=9, ha="center", zorder=6)


def _frame(ax: Axes, points: Floats, room: float) -> None:
    """No axes; limits that leave room around the points (a colored background would set its own)."""
    ax.set_aspect("equal")
    low, high = points.min(axis=0) - room, points.max(axis=0) + room
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.axis("off")
