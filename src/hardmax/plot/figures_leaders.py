"""Leaders over many reviews: how many there are, and which words they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hardmax.plot.style import FAINT, INK, color, in_house
from hardmax.plot.words import AGAINST, FOR, plain_glyphs

TITLES = {"paper": "(a)  the paper's recipe", "ours": "(b)  our recipe"}


@in_house
def plot_leader_counts(counts: Mapping[str, Mapping[int, NDArray[np.int64]]]) -> Figure:
    """How many words lead in a review: a box for each dimension (median, quartiles, 5 % to 95 %; a cross is the mean).

    Args:
        counts: recipe ("paper", "ours") -> dimension -> numbers of leaders by review.
    """
    figure = Figure(figsize=(7.6, 3.2), layout="constrained")
    panels = figure.subplots(1, len(counts), sharey=True, squeeze=False)[0]
    for ax, (recipe, by_dim) in zip(panels, counts.items(), strict=True):
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
        ax.set_title(TITLES.get(recipe, recipe))
        ax.set_yscale("log")
        _tidy(ax, "y")
    edges = [np.quantile(values, (0.05, 0.95)) for by_dim in counts.values() for values in by_dim.values()]
    low, high = min(edge[0] for edge in edges), max(edge[1] for edge in edges)
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500) if 0.7 * low <= t <= 1.4 * high]
    panels[0].set_yticks(ticks, labels=[str(t) for t in ticks])
    panels[0].minorticks_off()
    panels[0].set_ylabel("leaders in a review")
    return figure


@in_house
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
    figure = Figure(figsize=(7.6, 0.24 * rows + 1.1), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    with plain_glyphs():
        for ax, (recipe, words) in zip(panels, found.items(), strict=True):
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
            _tidy(ax, "x")
        figure.legend(handles=_signs(), loc="outside lower center", ncols=3)
    return figure


def _signs() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=FOR, label="speaks for positive"),
        Patch(facecolor=AGAINST, hatch="////", edgecolor="white", linewidth=0, label="speaks for negative"),
        Line2D([], [], linestyle="", marker="o", markersize=3.5, color=INK, label="named in the paper"),
    ]


def _tidy(ax: Any, axis: Any) -> None:
    ax.grid(axis=axis, color=FAINT, linewidth=0.3, alpha=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
