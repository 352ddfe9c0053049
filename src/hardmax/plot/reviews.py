"""Reviews in pictures: their words in the plane, at the first and the last layer or as a movie, and their leaders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon
from numpy.typing import NDArray

from hardmax.plot.explanation import at_layer, name_points, shown, walk
from hardmax.plot.movie import write_gif
from hardmax.plot.style import AGAINST, FOR, INK, NEUTRAL, PALETTE, Figure, color, house, panels, tidy, tint

if TYPE_CHECKING:
    from hardmax.experiments.reproduce.words import WordCloud

NAMES = 14
PAUSE = 175  # milliseconds between two frames
TITLES = {"paper": "(a)  the paper's recipe", "ours": "(b)  our recipe"}


@house()
def plot_clouds(clouds: Sequence["WordCloud"], title: str = "") -> Figure:
    """A row for each review: its words at layer 0 and at the last layer.

    A star is a leader; other words have the color of the leader they end at; the two sides of the decoder are shaded;
    the cross is the mean, whose side decides.
    """
    figure = Figure(figsize=(7.8, 3.75 * len(clouds) + 0.35), layout="constrained")
    grid = figure.subplots(len(clouds), 2, squeeze=False)
    for row, cloud in zip(grid, clouds, strict=True):
        for ax, layer in zip(row, (0, len(cloud.states) - 1), strict=True):
            _draw(ax, cloud, float(layer))
    if title:
        figure.suptitle(title, fontsize=12)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=5, columnspacing=1.3, handletextpad=0.5)
    return figure


@house()
def cloud_movie(cloud: "WordCloud", path: str | Path) -> Path:
    """Write a .gif in which the words of a review walk to their leaders, layer after layer."""
    ax = Figure(figsize=(4.6, 4.5), dpi=100, layout="constrained").add_subplot()
    pictures = walk(ax, len(cloud.states) - 1, lambda layer: _draw(ax, cloud, layer))
    return write_gif(pictures, Path(path), PAUSE, 1500, 3000)


def _draw(ax: Any, cloud: "WordCloud", layer: float) -> None:
    """The words at a layer, or on the straight line between two."""
    now = at_layer(cloud.states, layer)
    ax.set_title(f"{cloud.label} review, layer {int(layer)}", parse_math=False)
    _box(ax, cloud)
    heads = np.flatnonzero(cloud.since >= 0)
    paint = {int(i): PALETTE[k % len(PALETTE)] for k, i in enumerate(heads)}
    shades = [paint.get(int(j), NEUTRAL) for j in cloud.leader]
    followers = np.flatnonzero(cloud.since < 0)
    if layer > 0:
        for i in followers:
            way = np.concatenate([cloud.states[: int(layer) + 1, i], now[i : i + 1]])
            ax.plot(*way.T, color=shades[i], linewidth=0.6, alpha=0.4, zorder=1.5)
    ax.scatter(*now[followers].T, s=24, c=[shades[i] for i in followers], edgecolors="white", linewidths=0.5, zorder=3)
    ax.scatter(*now[heads].T, s=125, marker="*", c=[paint[int(i)] for i in heads], edgecolors=INK, linewidths=0.6,
               zorder=4)  # fmt: skip
    center = cloud.counts @ now / cloud.counts.sum()
    ax.plot(*center, marker="X", markersize=8, color=INK, markeredgecolor="white", markeredgewidth=0.8, zorder=5)
    followed = np.array([cloud.counts[cloud.leader == i].sum() for i in heads])
    room = np.array([np.diff(ax.get_xlim())[0], np.diff(ax.get_ylim())[0]]) * np.array([0.17, 0.052])
    ordered = heads[np.argsort(-followed, kind="stable")]  # leaders with most words first
    name_points(ax, ((now[i], shown(cloud.words[i], 16)) for i in ordered), room, NAMES, aside=9, edge=0.72)


def _box(ax: Any, cloud: "WordCloud") -> None:
    """Limits that hold all layers, and the two sides of the decoder."""
    flat = cloud.states.reshape(-1, 2)
    low, high = flat.min(axis=0), flat.max(axis=0)
    middle, half = (low + high) / 2, 0.5 * np.maximum(high - low, 1e-9) * 1.22
    (left, right), (bottom, top) = zip(middle - half, middle + half, strict=True)
    ax.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], facecolor="white")
    length = float(np.hypot(*cloud.v))
    if length == 0:
        return
    along = cloud.v / length
    across = np.array([-along[1], along[0]])
    foot = -cloud.b / length * along
    far = 20 * float(np.hypot(*half)) + 2 * float(np.hypot(*(foot - middle)))
    edge = np.stack([foot - far * across, foot + far * across])
    for side, shade in ((along, tint(FOR, 0.14)), (-along, tint(AGAINST, 0.14))):
        ax.add_patch(Polygon(np.concatenate([edge, edge[::-1] + far * side]), facecolor=shade, linewidth=0, zorder=0))
    ax.plot(*edge.T, color="#8F8F8F", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)


def _legend() -> list[Any]:
    dot: dict[str, Any] = {"linestyle": "", "markeredgewidth": 0.5}
    return [
        Line2D([], [], marker="*", markersize=10, color=PALETTE[0], markeredgecolor=INK, label="leader", **dot),
        Line2D([], [], marker="o", color=PALETTE[0], markeredgecolor="white", label="ends at the leader of its color",
               **dot),
        Line2D([], [], marker="X", color=INK, markeredgecolor="white", label="mean", **dot),
        Patch(facecolor=tint(FOR, 0.14), edgecolor=tint(FOR, 0.3), linewidth=0.6, label="positive side"),
        Patch(facecolor=tint(AGAINST, 0.14), edgecolor=tint(AGAINST, 0.3), linewidth=0.6, label="negative side"),
    ]  # fmt: skip


@house()
def plot_leader_counts(counts: Mapping[str, Mapping[int, NDArray[np.int64]]]) -> Figure:
    """How many words lead in a review: a box for each dimension (median, quartiles, 5 % to 95 %; a cross is the mean).

    `counts`: recipe ("paper", "ours") -> dimension -> numbers of leaders by review.
    """
    figure, axes = panels(len(counts), 7.6 / len(counts), 3.2, sharey=True)
    for ax, (recipe, by_dim) in zip(axes, counts.items(), strict=True):
        for place, values in enumerate(by_dim.values()):
            drawn = ax.boxplot(
                values, positions=[place], widths=0.55, whis=(5, 95), showfliers=False, patch_artist=True,
                showmeans=True, meanprops={"marker": "x", "markeredgecolor": INK, "markersize": 5},
                medianprops={"color": INK, "linewidth": 1.2}, manage_ticks=False,
            )  # fmt: skip
            for box in drawn["boxes"]:
                box.set(facecolor=color(place), alpha=0.55, edgecolor=INK, linewidth=0.7)
            for line in (*drawn["whiskers"], *drawn["caps"]):
                line.set(color=INK, linewidth=0.7)
        ax.set_xticks(range(len(by_dim)), labels=[f"d = {d}" for d in by_dim])
        ax.set(title=TITLES.get(recipe, recipe), yscale="log")
        tidy(ax, "y", alpha=0.8)
    edges = [np.quantile(values, (0.05, 0.95)) for by_dim in counts.values() for values in by_dim.values()]
    low, high = min(edge[0] for edge in edges), max(edge[1] for edge in edges)
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500) if 0.7 * low <= t <= 1.4 * high]
    axes[0].set_yticks(ticks, labels=[str(t) for t in ticks])
    axes[0].minorticks_off()
    axes[0].set_ylabel("leaders in a review")
    return figure


@house()
def plot_leader_words(
    found: Mapping[str, Sequence[Mapping[str, Any]]], known: Sequence[str], texts: Mapping[str, int]
) -> Figure:
    """The most frequent leaders as bars, one panel for each recipe.

    Args:
        found: recipe -> [{word, count, score}], the most frequent first; the color is the sign of the score.
        known: words that the paper names; they have a dot before them.
        texts: recipe -> the number of reviews that were counted.
    """
    rows = max((len(each) for each in found.values()), default=1)
    figure, axes = panels(len(found), 7.6 / len(found), 0.24 * rows + 1.1)
    for ax, (recipe, words) in zip(axes, found.items(), strict=True):
        places = -np.arange(len(words))
        counts = np.array([word["count"] for word in words], float)
        paint = [FOR if word["score"] > 0 else AGAINST for word in words]
        hatch = ["" if word["score"] > 0 else "////" for word in words]
        bars = ax.barh(places, counts, color=paint, height=0.72, edgecolor="white", linewidth=0.4)
        for bar, pattern in zip(bars, hatch, strict=True):
            bar.set_hatch(pattern)
        names = [("\u2022 " if word["word"].lower() in known else "") + word["word"] for word in words]
        ax.set_yticks(places)
        ax.set_yticklabels(names, parse_math=False, fontsize=9.5, color=INK)
        ax.set_title(f"{TITLES.get(recipe, recipe)}: {texts[recipe]:,} reviews")
        ax.set_xlabel("reviews in which the word leads")
        ax.tick_params(axis="y", length=0)
        ax.margins(y=0.02)
        ax.locator_params(axis="x", nbins=5)
        tidy(ax, "x", alpha=0.8)
    signs = [
        Patch(facecolor=FOR, label="favors positive"),
        Patch(facecolor=AGAINST, hatch="////", edgecolor="white", linewidth=0, label="favors negative"),
        Line2D([], [], linestyle="", marker="o", markersize=3.5, color=INK, label="named in the paper"),
    ]
    figure.legend(handles=signs, loc="outside lower center", ncols=3)
    return figure
