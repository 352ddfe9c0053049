"""Pictures of the open questions: functions of the evidence as plain data, one figure or two a question."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hardmax.plot.open_cycles import cycle_in_triangle, one_head_cycles
from hardmax.plot.style import FAINT, INK, color, in_house

MARKERS = "osD^vP<>X"
Document = dict[str, Any]


@in_house
def draw(document: Document) -> dict[str, Figure]:
    """The figures of one question by name.

    Args:
        document: `Evidence.document()`, or what was read back from its .json file.
    """
    drawers: dict[str, Callable[[Document], dict[str, Figure]]] = {
        "matrices": _matrices,
        "one-head": lambda d: {"cycles": one_head_cycles()},
        "definite-heads": lambda d: {"cycle": cycle_in_triangle(), "search": _margins(d)},
        "merging": _merging,
        "feed-forward": lambda d: {"accuracy": _feed_forward(d)},
        "equal-size": lambda d: {"accuracy": _equal_size(d)},
    }
    return drawers[document["name"]](document)


def _matrices(document: Document) -> dict[str, Figure]:
    """The part of the clouds that ends at one point, against the dimension; whiskers are 95 % intervals."""
    rows = [row for row in document["tables"]["fates"] if "polygon" not in row["family"]]
    sizes = sorted({row["n"] for row in rows})
    families = list(dict.fromkeys(row["family"] for row in rows))
    figure = Figure(figsize=(3.3 * len(sizes) + 2.2, 3.3), layout="constrained")
    panels = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
    for ax, n in zip(panels, sizes, strict=True):
        for number, family in enumerate(families):
            mine = [row for row in rows if row["family"] == family and row["n"] == n]
            place = np.arange(len(mine)) + 0.07 * (number - len(families) / 2)
            _whiskers(ax, place, [row["one point"] for row in mine], number, family)
            ax.set_xticks(range(len(mine)), [str(row["d"]) for row in mine])
        ax.set_title(f"{n} tokens")
        ax.set_xlabel("dimension")
        ax.set_ylim(-0.03, 1.03)
    panels[0].set_ylabel("part that ends at one point")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return {"one-point": figure}


def _margins(document: Document) -> Figure:
    """The widest margin that linear programs find, for every size that was searched."""
    rows = document["tables"]["patterns"]
    figure = Figure(figsize=(4.8, 3.0), layout="constrained")
    ax = figure.add_subplot()
    names = [f"{r['heads']} heads, {r['leaders']} leaders, period {r['period']}" for r in rows]
    widths = [r["margin"] or 0.0 for r in rows]
    places = np.arange(len(rows))[::-1]
    ax.barh(places, widths, height=0.6, color=color(0))
    for place, row, width in zip(places, rows, widths, strict=True):
        text = f"{row['cycles']} of {row['programs']} programs" if row["cycles"] else f"none of {row['programs']}"
        ax.text(width + 0.002, place, text, va="center", fontsize=8, color=INK)
    ax.set_yticks(places, names)
    ax.set_xlim(0, 1.45 * max(widths) if max(widths) else 1)
    ax.set_xlabel("widest margin of a cycle (entries of A at most 1)")
    _plain_frame(ax)
    return figure


def _merging(document: Document) -> dict[str, Figure]:
    """Layers until merging on a logarithmic axis, with the integral; clusters and rest under localmax."""
    tables = document["tables"]
    figure = Figure(figsize=(7.4, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, (name, text) in enumerate((("pair", "pair, rescaled"), ("circle", "pair on the circle"))):
        rows = tables[name]
        beta = [r["beta"] for r in rows]
        left.plot(beta, [r["predicted"] for r in rows], color=color(number), linewidth=0.9)
        left.plot(beta, [r["layers"] for r in rows], MARKERS[number], color=color(number), markersize=4, label=text)
    clouds = [r for r in tables["clouds"] if r["median"]]
    shade = color(2)
    beta = [r["beta"] for r in clouds]
    left.vlines(beta, [r["first"] for r in clouds], [r["last"] for r in clouds], color=shade, linewidth=0.8, alpha=0.6)
    left.plot(
        beta, [r["median"] for r in clouds], "D", color=shade, markersize=4, label="16 tokens on the circle, median"
    )
    left.set_yscale("log")
    left.set_xlabel(r"$\beta$")
    left.set_ylabel("layers until all tokens are together")
    left.set_title("softmax; lines: the integral")
    left.legend(loc="lower right", fontsize=8)
    rows = tables["localmax"]
    place = np.arange(len(rows))
    for number, (name, text) in enumerate((("clusters", "clusters"), ("layers until rest", "layers until rest"))):
        cells = [r[name] for r in rows]
        half = [c["half"] if c["half"] is not None else 0.0 for c in cells]
        right.errorbar(place, [c["mean"] for c in cells], half, fmt=MARKERS[number] + "-", color=color(number),
                       linewidth=0.8, markersize=4, capsize=2, label=text)  # fmt: skip
    right.set_xticks(place, [f"{r['eps']:g}" for r in rows])
    right.set_yscale("log")
    right.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    right.minorticks_off()
    right.set_xlabel(r"$\epsilon$ of localmax")
    right.set_title("localmax, 16 tokens in the plane")
    right.legend(fontsize=8, loc="center left")
    for ax in (left, right):
        _plain_frame(ax)
        ax.grid(color=FAINT, linewidth=0.3)
    return {"layers": figure}


def _feed_forward(document: Document) -> Figure:
    """Accuracy by task and attention."""
    rows = [{**r, "task": f"{r['task']}, noise {r['noise']:g}"} for r in document["tables"]["accuracy"]]
    return _dots(rows, "task", "attention", "accuracy on fresh sequences", "attention: ")


def _equal_size(document: Document) -> Figure:
    """Accuracy by terms and number of layers."""
    return _dots(document["tables"]["accuracy"], "terms", "K", "accuracy on reviews kept aside", "K = ")


def _dots(rows: list[dict[str, Any]], group: str, kind: str, label: str, prefix: str) -> Figure:
    groups = list(dict.fromkeys(r[group] for r in rows))
    kinds = list(dict.fromkeys(r[kind] for r in rows))
    figure = Figure(figsize=(5.6, 0.5 * len(groups) + 1.3), layout="constrained")
    ax = figure.add_subplot()
    for number, one in enumerate(kinds):
        mine = [r for r in rows if r[kind] == one]
        place = [len(groups) - groups.index(r[group]) - 0.16 * (number - (len(kinds) - 1) / 2) for r in mine]
        half = [r["accuracy"]["half"] or 0.0 for r in mine]
        ax.errorbar([r["accuracy"]["mean"] for r in mine], place, xerr=half, fmt=MARKERS[number], color=color(number),
                    markersize=5, capsize=2, linewidth=1, label=f"{prefix}{one}")  # fmt: skip
    ax.set_yticks(range(len(groups), 0, -1), groups)
    ax.set_ylim(0.5, len(groups) + 0.5)
    ax.set_xlabel(f"{label} (mean, 95 % interval)")
    ax.grid(axis="x", color=FAINT, linewidth=0.3)
    _plain_frame(ax)
    figure.legend(loc="outside upper center", ncols=len(kinds))
    return figure


def _whiskers(ax: Axes, place: Any, shares: list[dict[str, Any]], number: int, label: str) -> None:
    part = np.array([s["count"] / s["trials"] for s in shares])
    low = part - np.array([s["low"] for s in shares])
    high = np.array([s["high"] for s in shares]) - part
    ax.errorbar(place, part, np.maximum([low, high], 0), fmt=MARKERS[number] + "-", color=color(number), linewidth=0.7,
                markersize=4, capsize=1.5, label=label)  # fmt: skip
    ax.grid(axis="y", color=FAINT, linewidth=0.3)
    _plain_frame(ax)


def _plain_frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
