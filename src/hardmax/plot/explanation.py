"""An explanation as a picture (bars of the words, terms in the plane), and movies of words over the layers."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.plot.movie import Frame, frames, write_gif
from hardmax.plot.style import AGAINST, FAINT, FOR, INK, Figure, house, save_figure
from hardmax.sentiment.explain import Explanation
from hardmax.sentiment.highlight import visible
from hardmax.sentiment.plane import flat_states, label_order

BARS = 14
LABELS = 10
BETWEEN = 3  # frames between two layers
PAUSE = 150  # milliseconds between two frames


@house()
def plot_explanation(ex: Explanation) -> Figure:
    """Bars of the words on the left, the terms in the plane on the right."""
    figure = Figure(figsize=(10.5, 4.6), dpi=100, layout="constrained")
    bars, plane = figure.subplots(1, 2, width_ratios=(1, 1.35))
    figure.suptitle(_headline(ex), parse_math=False, fontsize=12)
    _bars(bars, ex)
    _plane(plane, ex, flat_states(ex), float(ex.layers))
    plane.set_title(f"{len(ex.terms)} terms after {ex.layers} layers", parse_math=False)
    return figure


def save_picture(ex: Explanation, path: Path) -> Path:
    """Write the picture; the same explanation gives the same bytes."""
    return save_figure(plot_explanation(ex), path, dpi=150)


@house()
def save_movie(ex: Explanation, path: Path) -> Path:
    """Write a .gif in which followers move to their leaders, one layer after the other."""
    flat = flat_states(ex)
    ax = Figure(figsize=(6.4, 4.4), dpi=110, layout="constrained").add_subplot()

    def draw(layer: float) -> None:
        _plane(ax, ex, flat, layer)
        ax.set_title(f"{_headline(ex)}\nlayer {int(layer)}", parse_math=False)

    return write_gif(walk(ax, len(flat) - 1, draw), path, PAUSE, 4 * PAUSE, 8 * PAUSE)


def walk(ax: Any, layers: int, draw: Callable[[float], None]) -> Iterator[Frame]:
    """Frames of words that walk from layer to layer; `draw` takes a layer, or a place between two."""
    return frames(ax.figure, ax, (step / (BETWEEN + 1) for step in range(layers * (BETWEEN + 1) + 1)), draw)


def at_layer(states: NDArray[np.float64], layer: float) -> NDArray[np.float64]:
    """The words (n, 2) at a layer, or on the straight line between two."""
    k = min(int(layer), len(states) - 1)
    part = layer - int(layer)
    return states[k] if part == 0 else (1 - part) * states[k] + part * states[k + 1]


def _headline(ex: Explanation) -> str:
    return f"{shown(ex.label)}, probability {ex.probability:.4f}, logit {ex.logit:+.3f} = bias {ex.bias:+.3f} + words"


def _bars(ax: Any, ex: Explanation) -> None:
    largest = ex.largest(BARS)
    names = [shown(word.word) for word in largest]
    parts = [word.effect or 0.0 for word in largest]
    same = ex.label == ex.toward  # the colors are those of the classes, as in the plane
    places = -np.arange(len(parts))
    ax.barh(places, parts, color=[FOR if (p > 0) == same else AGAINST for p in parts], height=0.7)
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.set_yticks(places, labels=[""] * len(parts))
    most = max([abs(p) for p in parts], default=1.0) or 1.0
    for y, name, part in zip(places, names, parts, strict=True):
        # The name stands on the other side of the axis than its bar.
        side = "right" if part > 0 else "left"
        ax.text(-0.03 * most if part > 0 else 0.03 * most, y, name, ha=side, va="center", parse_math=False)
    ax.set_xlim(-1.15 * most, 1.15 * most)
    ax.set_title(f"effect of deleting a word: what\n{shown(ex.label)} loses in log-odds", parse_math=False)
    ax.tick_params(left=False)
    ax.spines[["left", "right", "top"]].set_visible(False)
    below = [f"{len(some)} {what}" for what, some in ex.rest(BARS)] or ["no known word"] * (not parts)
    ax.set_xlabel(", ".join(below), parse_math=False)
    if not parts:
        ax.set_ylim(-1, 1)


def _plane(ax: Any, ex: Explanation, flat: NDArray[np.float64], layer: float) -> None:
    """The words at a layer, or on the straight line between two layers; their starts and paths stay visible."""
    now = at_layer(flat, layer)
    own, names = ex.contributions, ex.term_names
    leaders = label_order(ex)
    followers = np.setdiff1d(np.arange(len(own)), leaders)
    paint = np.where(own > 0, FOR, AGAINST)
    for i in followers:
        ax.plot(*np.stack([flat[0, i], now[i]]).T, color=FAINT, linewidth=0.6, zorder=1)
    ax.scatter(*flat[0, followers].T, s=10, facecolors="none", edgecolors=FAINT, linewidths=0.7, zorder=2)
    ax.scatter(*now[followers].T, s=14, c=paint[followers].tolist(), zorder=3)
    ax.scatter(*now[leaders].T, s=60, c=paint[leaders].tolist(), edgecolors=INK, linewidths=0.8, zorder=4)
    if flat.shape[1]:
        low, high = flat.min(axis=(0, 1)), flat.max(axis=(0, 1))
        margin = 0.08 * np.maximum(high - low, 1e-9)
        ax.set(xlim=(low[0] - margin[0], high[0] + 1.8 * margin[0]), ylim=(low[1] - margin[1], high[1] + margin[1]))
        places = flat[-1] if len(flat) == 1 else now
        room = np.maximum(high - low, 1e-9) * np.array([0.2, 0.055])
        name_points(ax, ((places[i], shown(names[i])) for i in leaders), room, LABELS)
    ax.axvline(0.0, color=FAINT, linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
    across = "across" if ex.study.parameters.vectors.shape[1] <= 2 else "across (principal direction)"
    ax.set(xlabel="along the score" if flat.shape[1] else "", ylabel=across, xticks=[], yticks=[])


def shown(value: Any, most: int = 26) -> str:
    """A word for a picture: control characters become visible, and long words are cut.

    Example:
        >>> shown("great"), len(shown("a" * 500)) <= 26
        ('great', True)
    """
    text = visible(str(value), "")
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def name_points(
    ax: Any,
    points: Iterable[tuple[NDArray[np.float64], str]],
    room: NDArray[np.float64],
    most: int,
    aside: int = 7,
    edge: float = 1.0,
) -> None:
    """Write names beside points, the most important first; a name that would cover an earlier one is left out.

    Args:
        points: pairs of a place (2,) and its name.
        room: width and height that a name takes, in the units of the axes.
        most: the largest number of names.
        aside: distance from the point in typographic points.
        edge: names beyond this part of the width stand to the left of their points.
    """
    taken: list[NDArray[np.float64]] = []
    low, high = ax.get_xlim()
    for place, name in points:
        if len(taken) >= most:
            return
        if all((np.abs(place - other) > room).any() for other in taken):
            taken.append(place)
            left = place[0] > low + edge * (high - low)
            ax.annotate(
                name, place, xytext=(-aside if left else aside, 0), textcoords="offset points",
                ha="right" if left else "left", va="center", fontsize=9, parse_math=False, zorder=6,
                bbox={"facecolor": "white", "alpha": 0.7, "pad": 0.5, "linewidth": 0},
            )  # fmt: skip
