"""The words of a review in the plane: at the first and the last layer, and as a movie between them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon
from numpy.typing import NDArray

from hardmax.errors import need
from hardmax.plot.style import INK, NEUTRAL, PALETTE, in_house
from hardmax.plot.words import plain_glyphs, shown

if TYPE_CHECKING:
    from hardmax.experiments.reproduce.review_clouds import WordCloud

POSITIVE, NEGATIVE = "#DCEBF5", "#FBE9DC"
NAMES = 14
BETWEEN = 3  # frames on the way from a layer to the next
SECONDS = 0.7  # that a layer lasts


@in_house
def plot_clouds(clouds: Sequence["WordCloud"], title: str = "") -> Figure:
    """A row for each review: its words at layer 0 and at the last layer.

    A star is a leader; other words have the color of the leader they end at; the two sides of the decoder are shaded;
    the cross is the mean, whose side decides.
    """
    figure = Figure(figsize=(7.8, 3.75 * len(clouds) + 0.35), layout="constrained")
    panels = figure.subplots(len(clouds), 2, squeeze=False)
    with plain_glyphs():
        for row, cloud in zip(panels, clouds, strict=True):
            for ax, layer in zip(row, (0, len(cloud.states) - 1), strict=True):
                _draw(ax, cloud, float(layer))
                ax.set_title(f"{cloud.label} review, layer {layer}", parse_math=False)
        if title:
            figure.suptitle(title, fontsize=12)
        figure.legend(handles=_legend(), loc="outside lower center", ncols=5, columnspacing=1.3, handletextpad=0.5)
    return figure


@in_house
def cloud_movie(cloud: "WordCloud", path: str | Path, *, dpi: int = 100) -> Path:
    """Write a .gif in which the words of a review walk to their leaders, layer after layer."""
    image = need("PIL.Image", "plot", "a .gif")
    path = Path(path)
    with plain_glyphs():
        frames = [image.fromarray(f).convert("P", palette=image.Palette.ADAPTIVE) for f in _frames(cloud, dpi)]
    times = [int(1000 * SECONDS / (BETWEEN + 1))] * len(frames)
    times[0], times[-1] = 1500, 3000
    frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, disposal=1)
    return path


def _frames(cloud: "WordCloud", dpi: int) -> Iterator[NDArray[np.uint8]]:
    figure = Figure(figsize=(4.6, 4.5), dpi=dpi, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    for step in range((len(cloud.states) - 1) * (BETWEEN + 1) + 1):
        layer = step / (BETWEEN + 1)
        ax.clear()
        _draw(ax, cloud, layer)
        ax.set_title(f"{cloud.label} review, layer {int(layer)}", parse_math=False)
        canvas.draw()
        figure.set_layout_engine("none")  # the first frame arranged everything; the others must not jump
        yield np.ascontiguousarray(np.array(canvas.buffer_rgba())[..., :3])


def _draw(ax: Any, cloud: "WordCloud", layer: float) -> None:
    """The words at a layer, or on the straight way between two."""
    low, part = int(layer), layer - int(layer)
    now = cloud.states[low] if part == 0 else (1 - part) * cloud.states[low] + part * cloud.states[low + 1]
    _box(ax, cloud)
    heads = np.flatnonzero(cloud.since >= 0)
    paint = {int(i): PALETTE[k % len(PALETTE)] for k, i in enumerate(heads)}
    shades = [paint.get(int(j), NEUTRAL) for j in cloud.leader]
    followers = np.flatnonzero(cloud.since < 0)
    if layer > 0:
        for i in followers:
            way = np.concatenate([cloud.states[: low + 1, i], now[i : i + 1]])
            ax.plot(*way.T, color=shades[i], linewidth=0.6, alpha=0.4, zorder=1.5)
    ax.scatter(*now[followers].T, s=24, c=[shades[i] for i in followers], edgecolors="white", linewidths=0.5, zorder=3)
    ax.scatter(*now[heads].T, s=125, marker="*", c=[paint[int(i)] for i in heads], edgecolors=INK, linewidths=0.6,
               zorder=4)  # fmt: skip
    center = cloud.counts @ now / cloud.counts.sum()
    ax.plot(*center, marker="X", markersize=8, color=INK, markeredgecolor="white", markeredgewidth=0.8, zorder=5)
    _names(ax, cloud, now, heads)


def _box(ax: Any, cloud: "WordCloud") -> None:
    """Limits that hold all layers, and the two sides of the decoder."""
    flat = cloud.states.reshape(-1, 2)
    low, high = flat.min(axis=0), flat.max(axis=0)
    middle, half = (low + high) / 2, 0.5 * np.maximum(high - low, 1e-9) * 1.22
    ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
    ax.set_ylim(middle[1] - half[1], middle[1] + half[1])
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_facecolor("white")
    length = float(np.hypot(*cloud.v))
    if length == 0:
        return
    along = cloud.v / length
    across = np.array([-along[1], along[0]])
    foot = -cloud.b / length * along
    far = 20 * float(np.hypot(*half)) + 2 * float(np.hypot(*(foot - middle)))
    edge = np.stack([foot - far * across, foot + far * across])
    for side, shade in ((along, POSITIVE), (-along, NEGATIVE)):
        ax.add_patch(Polygon(np.concatenate([edge, edge[::-1] + far * side]), facecolor=shade, linewidth=0, zorder=0))
    ax.plot(*edge.T, color="#8F8F8F", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)


def _names(ax: Any, cloud: "WordCloud", now: NDArray[np.float64], heads: NDArray[np.int64]) -> None:
    """Names of the leaders, those with most words first; one that would cover an earlier name is left out."""
    span = np.array([np.diff(ax.get_xlim())[0], np.diff(ax.get_ylim())[0]])
    size = span * np.array([0.17, 0.052])
    followers = np.array([cloud.counts[cloud.leader == i].sum() for i in heads])
    taken: list[NDArray[np.float64]] = []
    for i in heads[np.argsort(-followers, kind="stable")]:
        if len(taken) >= NAMES:
            return
        if all((np.abs(now[i] - other) > size).any() for other in taken):
            taken.append(now[i])
            right = now[i, 0] > ax.get_xlim()[0] + 0.72 * span[0]
            ax.annotate(
                shown(cloud.words[i], 16), now[i], xytext=(-9 if right else 9, 0), textcoords="offset points",
                ha="right" if right else "left", va="center", fontsize=9, parse_math=False, zorder=6,
                bbox={"facecolor": "white", "alpha": 0.7, "pad": 0.5, "linewidth": 0},
            )  # fmt: skip


def _legend() -> list[Any]:
    dot: dict[str, Any] = {"linestyle": "", "markeredgewidth": 0.5}
    return [
        Line2D([], [], marker="*", markersize=10, color=PALETTE[0], markeredgecolor=INK, label="leader", **dot),
        Line2D([], [], marker="o", color=PALETTE[0], markeredgecolor="white", label="ends at the leader of its color",
               **dot),
        Line2D([], [], marker="X", color=INK, markeredgecolor="white", label="mean", **dot),
        Patch(facecolor=POSITIVE, edgecolor="#B9CFDE", linewidth=0.6, label="positive side"),
        Patch(facecolor=NEGATIVE, edgecolor="#E3C6B0", linewidth=0.6, label="negative side"),
    ]  # fmt: skip
