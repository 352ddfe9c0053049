"""Measurements in pictures: functions of the rows of a table as plain data, {column: value} for each row.

A share is {"count", "trials", "low", "high"}; a mean is {"mean", "half", "count"}, `half` None for a single run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hardmax.plot.figure import Figure
from hardmax.plot.style import FAINT, INK, color, house, tidy

MARKERS = "osD^vP<>X"
Records = Sequence[Mapping[str, Any]]
RANKINGS = {"parts": "exact parts", "leaders": "leaders first", "score": "own score", "random": "by chance"}


def _means(rows: Records, name: str) -> tuple[list[float], list[float]]:
    """The means of a column, and half of their intervals."""
    return [row[name]["mean"] for row in rows], [row[name]["half"] or 0.0 for row in rows]


def _panels(count: int, width: float, height: float, more: float = 0.0) -> tuple[Figure, Any]:
    """A row of panels with one scale."""
    figure = Figure(figsize=(width * count + more, height), layout="constrained")
    return figure, figure.subplots(1, count, sharey=True, squeeze=False)[0]


@house()
def plot_fates(rows: Records) -> Figure:
    """The part of the clouds that ends at one point, against the dimension; whiskers are 95 % intervals."""
    rows = [row for row in rows if "polygon" not in row["family"]]
    sizes = sorted({row["n"] for row in rows})
    families = list(dict.fromkeys(row["family"] for row in rows))
    figure, panels = _panels(len(sizes), 3.3, 3.3, 2.2)
    for ax, n in zip(panels, sizes, strict=True):
        for number, family in enumerate(families):
            mine = [row for row in rows if row["family"] == family and row["n"] == n]
            shares = [row["one point"] for row in mine]
            part = np.array([share["count"] / share["trials"] for share in shares])
            reach = [part - [share["low"] for share in shares], [share["high"] for share in shares] - part]
            place = np.arange(len(mine)) + 0.07 * (number - len(families) / 2)
            ax.errorbar(place, part, np.maximum(reach, 0), fmt=MARKERS[number] + "-", color=color(number),
                        linewidth=0.7, markersize=4, capsize=1.5, label=family)  # fmt: skip
            ax.set_xticks(range(len(mine)), [str(row["d"]) for row in mine])
        tidy(ax, "y")
        ax.set(title=f"{n} tokens", xlabel="dimension", ylim=(-0.03, 1.03))
    panels[0].set_ylabel("part that ends at one point")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


@house()
def plot_margins(rows: Records) -> Figure:
    """The widest margin that linear programs find, for every size that was searched."""
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
    ax.spines[["top", "right"]].set_visible(False)
    return figure


@house()
def plot_merging(tables: Mapping[str, Records]) -> Figure:
    """Layers until merging on a logarithmic axis, with the integral; clusters and rest under localmax."""
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
    for number, name in enumerate(("clusters", "layers until rest")):
        right.errorbar(place, *_means(rows, name), fmt=MARKERS[number] + "-", color=color(number),
                       linewidth=0.8, markersize=4, capsize=2, label=name)  # fmt: skip
    right.set_xticks(place, [f"{r['eps']:g}" for r in rows])
    right.set_yscale("log")
    right.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    right.minorticks_off()
    right.set(xlabel=r"$\epsilon$ of localmax", title="localmax, 16 tokens in the plane")
    right.legend(fontsize=8, loc="center left")
    for ax in (left, right):
        tidy(ax)
    return figure


@house()
def plot_dots(rows: Records, group: str, kind: str, label: str, prefix: str) -> Figure:
    """Accuracies with their intervals: one line per `group`, one marker per `kind`."""
    groups = list(dict.fromkeys(r[group] for r in rows))
    kinds = list(dict.fromkeys(r[kind] for r in rows))
    figure = Figure(figsize=(5.6, 0.5 * len(groups) + 1.3), layout="constrained")
    ax = figure.add_subplot()
    for number, one in enumerate(kinds):
        mine = [r for r in rows if r[kind] == one]
        place = [len(groups) - groups.index(r[group]) - 0.16 * (number - (len(kinds) - 1) / 2) for r in mine]
        mean, half = _means(mine, "accuracy")
        ax.errorbar(mean, place, xerr=half, fmt=MARKERS[number], color=color(number),
                    markersize=5, capsize=2, linewidth=1, label=f"{prefix}{one}")  # fmt: skip
    ax.set_yticks(range(len(groups), 0, -1), groups)
    ax.set(ylim=(0.5, len(groups) + 0.5), xlabel=f"{label} (mean, 95 % interval)")
    tidy(ax, "x")
    figure.legend(loc="outside upper center", ncols=len(kinds))
    return figure


@house()
def plot_distances(rows: Records) -> Figure:
    """Hausdorff distance from the hull to the limit polytope against alpha, with (1+alpha)^-k beside it."""
    dims = sorted({row["d"] for row in rows})
    figure, axes = _panels(len(dims), 3.0, 3.1)
    for ax, d in zip(axes, dims, strict=True):
        mine = [row for row in rows if row["d"] == d and row["cloud"] == rows[0]["cloud"]]
        largest = max(row["n"] for row in mine)
        for number, depth in enumerate(sorted({row["layers"] for row in rows})):
            some = [row for row in mine if row["layers"] == depth and row["n"] == largest]
            x = [row["alpha"] for row in some]
            fine = np.geomspace(min(x), max(x) * 1.0001, 60)
            start = some[0]["Hausdorff distance"]["mean"] / some[0]["(1+alpha)^-k"]
            ax.plot(fine, start * (1 + fine) ** -float(depth), color=color(number), linewidth=0.8)
            ax.errorbar(x, *_means(some, "Hausdorff distance"), fmt=MARKERS[number], markersize=4, color=color(number),
                        capsize=2, label=f"layer {depth}")  # fmt: skip
        ax.set(title=f"d = {d}, n = {largest}", xlabel=r"$\alpha$", xscale="log", yscale="log")
        ax.grid(color=FAINT, linewidth=0.3)
    axes[0].set_ylabel("Hausdorff distance / radius")
    axes[0].legend(loc="lower left")
    return figure


@house()
def plot_decided(rows: Records) -> Figure:
    """Tokens whose infinite depth is decided, by depth and alpha, for every kind of cloud; the largest n of each d."""
    clouds = list(dict.fromkeys(row["cloud"] for row in rows))
    figure, axes = _panels(len(clouds), 2.7, 3.0, 1.2)
    for ax, cloud in zip(axes, clouds, strict=True):
        for number, d in enumerate(sorted({row["d"] for row in rows})):
            mine = [row for row in rows if (row["cloud"], row["d"]) == (cloud, d)]
            mine = [row for row in mine if row["n"] == max(row["n"] for row in mine)]
            for alpha, style in zip(
                sorted({row["alpha"] for row in mine})[:: max(len(mine) // 6, 1)], "-:", strict=False
            ):
                some = [row for row in mine if row["alpha"] == alpha]
                ax.plot(
                    [r["layers"] for r in some], [1 - r["tokens decided"]["mean"] for r in some], style,
                    marker=MARKERS[number], markersize=4, color=color(number), linewidth=0.9,
                    label=rf"d = {d}, $\alpha$ = {alpha:g}",
                )  # fmt: skip
        ax.set_title(cloud.replace(", ", ",\n"), fontsize=9)
        ax.set_xlabel("layer")
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.set(ylim=(-2e-5, 0.2), xticks=sorted({row["layers"] for row in rows}))
        ax.grid(color=FAINT, linewidth=0.3)
    axes[0].set_ylabel("tokens not decided yet")
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside right center", fontsize=8)
    return figure


@house()
def plot_clusters(rows: Records, tokens: int) -> Figure:
    """Clusters and leaders of every variant."""
    dims = sorted({row["d"] for row in rows})
    figure, axes = _panels(len(dims), 4.2, 3.4)
    for ax, d in zip(axes, dims, strict=True):
        some = [row for row in rows if row["d"] == d]
        y = np.arange(len(some))
        for number, name in enumerate(("clusters", "leaders")):
            mean, half = _means(some, name)
            ax.errorbar(
                mean, y + 0.12 * (2 * number - 1), xerr=half, fmt=MARKERS[number], markersize=4.5, capsize=2,
                color=color(number), label=name,
            )  # fmt: skip
        ax.set_yticks(y, [row["variant"] for row in some])
        ax.set(title=f"d = {d}", xlabel=f"of {tokens} tokens")
        ax.set_xlim(left=0)
        ax.grid(axis="x", color=FAINT, linewidth=0.3)
    axes[0].invert_yaxis()
    axes[0].legend(loc="lower right")
    return figure


@house()
def plot_accuracy_by(rows: Records, name: str) -> Figure:
    """Accuracy with its interval, one line per variant."""
    names, (mean, half) = [row[name] for row in rows], _means(rows, "accuracy")
    figure = Figure(figsize=(5.2, 0.34 * len(names) + 1.0), layout="constrained")
    ax = figure.add_subplot()
    y = np.arange(len(names))
    ax.axvline(mean[0], color=INK, linewidth=0.6, linestyle=":")
    ax.errorbar(mean, y, xerr=half, fmt="o", markersize=5, capsize=3, color=color(0))
    ax.set_yticks(y, names)
    ax.invert_yaxis()
    ax.set_xlabel(f"accuracy on held-out reviews, {rows[0]['accuracy']['count']} seeds, 95 % intervals")
    ax.grid(axis="x", color=FAINT, linewidth=0.3)
    return figure


@house()
def plot_faithfulness(rows: Records) -> Figure:
    """Comprehensiveness and sufficiency against the number of words, by ranking; one column of panels per model."""
    names = list(dict.fromkeys(row["model"] for row in rows))
    tops = [name for name in rows[0] if name.startswith("k = ")]
    x = [int(name[4:]) for name in tops]
    figure = Figure(figsize=(1.9 * len(names) + 0.8, 4.6), layout="constrained")
    panels: Any = figure.subplots(2, len(names), sharex=True, sharey="row", squeeze=False)
    for what, line in zip(("comprehensiveness", "sufficiency"), panels, strict=True):
        for ax, name in zip(line, names, strict=True):
            for number, (ranking, label) in enumerate(RANKINGS.items()):
                some = [row for row in rows if (row["model"], row["ranking"], row["measure"]) == (name, ranking, what)]
                for row in some:
                    mean, half = zip(*(_means([row], top) for top in tops), strict=True)
                    ax.errorbar(x, np.ravel(mean), np.ravel(half), fmt=MARKERS[number] + "-", markersize=3, capsize=1.5,
                                linewidth=0.8, color=color(number), label=label)  # fmt: skip
            ax.set_xscale("log")
            ax.set_xticks(x, [str(k) for k in x])
            ax.minorticks_off()
            tidy(ax)
        line[0].set_ylabel(what)
    for ax, name in zip(panels[0], names, strict=True):
        ax.set_title(name.replace(", ", ",\n"), fontsize=8)
    figure.supxlabel("words named", fontsize=9)
    handles = {label: handle for ax in panels[0] for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, fontsize=8)
    return figure
