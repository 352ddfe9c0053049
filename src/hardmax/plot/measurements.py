"""Measurements in pictures: functions of the rows of a table as plain data, {column: value} for each row.

A share is {"count", "trials", "low", "high"}; a mean is {"mean", "half", "count"}, `half` None for a single run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hardmax.plot.style import FAINT, INK, MARKERS, Figure, color, house, panels, tidy

Records = Sequence[Mapping[str, Any]]
RANKINGS = {"parts": "exact parts", "leaders": "leaders first", "score": "own score", "random": "by chance"}


def _where(rows: Records, **values: Any) -> list[Mapping[str, Any]]:
    """The rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def _each(rows: Records, name: str) -> list[Any]:
    """The values of a column, each once, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def _means(rows: Records, name: str) -> tuple[list[float], list[float]]:
    """The means of a column, and half of their intervals."""
    return [row[name]["mean"] for row in rows], [row[name]["half"] or 0.0 for row in rows]


def _whiskers(ax: Any, number: int, x: Any, y: Any, yerr: Any = None, line: str = "", **style: Any) -> None:
    """Points with their intervals, in the color and with the marker of a number; `line` joins them."""
    style = {"markersize": 4, "capsize": 2, **style}
    ax.errorbar(x, y, yerr, fmt=MARKERS[number] + line, color=color(number), **style)


def _one_legend(figure: Figure, axes: Any, **style: Any) -> None:
    """One legend for all panels, each label once."""
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), fontsize=8, **style)


@house()
def plot_fates(rows: Records) -> Figure:
    """The part of the clouds that ends at one point, against the dimension; whiskers are 95 % intervals."""
    rows = [row for row in rows if "polygon" not in row["family"]]
    sizes, families = sorted(_each(rows, "n")), _each(rows, "family")
    figure, axes = panels(len(sizes), 3.3, 3.3, 2.2, sharey=True)
    for ax, n in zip(axes, sizes, strict=True):
        for number, family in enumerate(families):
            mine = _where(rows, family=family, n=n)
            shares = [row["one point"] for row in mine]
            part = np.array([share["count"] / share["trials"] for share in shares])
            reach = [part - [share["low"] for share in shares], [share["high"] for share in shares] - part]
            place = np.arange(len(mine)) + 0.07 * (number - len(families) / 2)
            _whiskers(ax, number, place, part, np.maximum(reach, 0), "-", linewidth=0.7, capsize=1.5, label=family)
            ax.set_xticks(range(len(mine)), [str(row["d"]) for row in mine])
        tidy(ax, "y")
        ax.set(title=f"{n} tokens", xlabel="dimension", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("part that ends at one point")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return figure


@house()
def plot_residuals(rows: Records) -> Figure:
    """Measured minus expected number of leaders in standard errors against n, one marker for every dimension."""
    figure, (ax,) = panels(1, 5.2, 3.0)
    for level in (-3, 0, 3):
        ax.axhline(level, color=FAINT, linewidth=0.8, linestyle="-" if level == 0 else (0, (4, 3)))
    dims = sorted(_each(rows, "d"))
    for number, d in enumerate(dims):
        mine, shift = _where(rows, d=d), 1.05 ** (number - len(dims) / 2)
        ax.plot([row["n"] * shift for row in mine], [row["residual"] for row in mine], MARKERS[number],
                color=color(number), markersize=4.5, label=f"d = {d}")  # fmt: skip
    ax.set(xscale="log", xlabel="tokens n", ylabel="residual (standard errors)", ylim=(-4.2, 4.2))
    tidy(ax, "y")
    figure.legend(loc="outside right center")
    return figure


@house()
def plot_times(times: Mapping[float, Sequence[float]]) -> Figure:
    """The part of the clouds that is not decided by the time layers x ln(1+alpha), on a logarithmic axis."""
    figure, (ax,) = panels(1, 5.2, 3.2)
    for number, (alpha, found) in enumerate(sorted(times.items())):
        t = np.sort(found)
        left = 1 - np.arange(1, len(t) + 1) / len(t)
        ax.step(t[:-1], left[:-1], where="post", color=color(number), linewidth=1.2, label=f"alpha = {alpha:g}")
    ax.set(yscale="log", xlabel=r"layers $\times$ ln(1 + alpha)", ylabel="part not decided", xlim=(0, None))
    tidy(ax, "y")
    figure.legend(loc="outside right center")
    return figure


@house()
def plot_margins(rows: Records) -> Figure:
    """The widest margin that linear programs find, for every size that was searched."""
    figure, (ax,) = panels(1, 4.8, 3.0)
    names = [f"{r['heads']} heads, {r['leaders']} leaders, period {r['period']}" for r in rows]
    widths = [r["margin"] or 0.0 for r in rows]
    places = np.arange(len(rows))[::-1]
    ax.barh(places, widths, height=0.6, color=color(0))
    for place, row, width in zip(places, rows, widths, strict=True):
        text = f"{row['cycles']} of {row['programs']} programs" if row["cycles"] else f"none of {row['programs']}"
        ax.text(width + 0.002, place, text, va="center", fontsize=8, color=INK)
    ax.set_yticks(places, names)
    ax.set(xlim=(0, 1.45 * max(widths) if max(widths) else 1))
    ax.set_xlabel("widest margin of a cycle (entries of A at most 1)")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


@house()
def plot_merging(tables: Mapping[str, Records]) -> Figure:
    """Layers until merging on a logarithmic axis, with the integral; clusters and rest under localmax."""
    figure, (left, right) = panels(2, 3.7, 3.2)
    for number, (name, text) in enumerate((("pair", "pair, rescaled"), ("circle", "pair on the circle"))):
        beta, layers, predicted = ([r[column] for r in tables[name]] for column in ("beta", "layers", "predicted"))
        left.plot(beta, predicted, color=color(number), linewidth=0.9)
        left.plot(beta, layers, MARKERS[number], color=color(number), markersize=4, label=text)
    clouds = [r for r in tables["clouds"] if r["median"]]
    beta, median, first, last = ([r[column] for r in clouds] for column in ("beta", "median", "first", "last"))
    left.vlines(beta, first, last, color=color(2), linewidth=0.8, alpha=0.6)
    left.plot(beta, median, "D", color=color(2), markersize=4, label="16 tokens on the circle, median")
    left.set(yscale="log", xlabel=r"$\beta$", ylabel="layers until all tokens are together")
    left.set_title("softmax; lines: the integral")
    left.legend(loc="lower right", fontsize=8)
    rows = tables["localmax"]
    place = np.arange(len(rows))
    for number, name in enumerate(("clusters", "layers until rest")):
        _whiskers(right, number, place, *_means(rows, name), "-", linewidth=0.8, label=name)
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
    groups, kinds = _each(rows, group), _each(rows, kind)
    figure, (ax,) = panels(1, 5.6, 0.5 * len(groups) + 1.3)
    for number, one in enumerate(kinds):
        mine = _where(rows, **{kind: one})
        place = [len(groups) - groups.index(r[group]) - 0.16 * (number - (len(kinds) - 1) / 2) for r in mine]
        mean, half = _means(mine, "accuracy")
        _whiskers(ax, number, mean, place, xerr=half, markersize=5, linewidth=1, label=f"{prefix}{one}")
    ax.set_yticks(range(len(groups), 0, -1), groups)
    ax.set(ylim=(0.5, len(groups) + 0.5), xlabel=f"{label} (mean, 95 % interval)")
    tidy(ax, "x")
    figure.legend(loc="outside upper center", ncols=len(kinds))
    return figure


@house()
def plot_distances(rows: Records) -> Figure:
    """Hausdorff distance from the hull to the limit polytope against alpha, with (1+alpha)^-k beside it."""
    dims = sorted(_each(rows, "d"))
    figure, axes = panels(len(dims), 3.0, 3.1, sharey=True)
    for ax, d in zip(axes, dims, strict=True):
        mine = _where(rows, d=d, cloud=rows[0]["cloud"])
        largest = max(row["n"] for row in mine)
        for number, depth in enumerate(sorted(_each(rows, "layers"))):
            some = _where(mine, layers=depth, n=largest)
            x = [row["alpha"] for row in some]
            fine = np.geomspace(min(x), max(x) * 1.0001, 60)
            start = some[0]["Hausdorff distance"]["mean"] / some[0]["(1+alpha)^-k"]
            ax.plot(fine, start * (1 + fine) ** -float(depth), color=color(number), linewidth=0.8)
            _whiskers(ax, number, x, *_means(some, "Hausdorff distance"), label=f"layer {depth}")
        ax.set(title=f"d = {d}, n = {largest}", xlabel=r"$\alpha$", xscale="log", yscale="log")
        ax.grid(color=FAINT, linewidth=0.3)
    axes[0].set_ylabel("Hausdorff distance / radius")
    axes[0].legend(loc="lower left")
    return figure


@house()
def plot_decided(rows: Records) -> Figure:
    """Tokens whose infinite depth is decided, by depth and alpha, for every kind of cloud; the largest n of each d."""
    clouds = _each(rows, "cloud")
    figure, axes = panels(len(clouds), 2.7, 3.0, 1.2, sharey=True)
    for ax, cloud in zip(axes, clouds, strict=True):
        for number, d in enumerate(sorted(_each(rows, "d"))):
            mine = _where(rows, cloud=cloud, d=d)
            mine = [row for row in mine if row["n"] == max(row["n"] for row in mine)]
            alphas = sorted(_each(mine, "alpha"))[:: max(len(mine) // 6, 1)]
            for alpha, line in zip(alphas, "-:", strict=False):
                some = _where(mine, alpha=alpha)
                depths, left = [r["layers"] for r in some], [1 - r["tokens decided"]["mean"] for r in some]
                ax.plot(depths, left, line, marker=MARKERS[number], markersize=4, color=color(number), linewidth=0.9,
                        label=rf"d = {d}, $\alpha$ = {alpha:g}")  # fmt: skip
        ax.set_title(cloud.replace(", ", ",\n"), fontsize=9)
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.set(xlabel="layer", ylim=(-2e-5, 0.2), xticks=sorted(_each(rows, "layers")))
        ax.grid(color=FAINT, linewidth=0.3)
    axes[0].set_ylabel("tokens not decided yet")
    _one_legend(figure, axes, loc="outside right center")
    return figure


@house()
def plot_clusters(rows: Records, tokens: int) -> Figure:
    """Clusters and leaders of every variant."""
    dims = sorted(_each(rows, "d"))
    figure, axes = panels(len(dims), 4.2, 3.4, sharey=True)
    for ax, d in zip(axes, dims, strict=True):
        some = _where(rows, d=d)
        y = np.arange(len(some))
        for number, name in enumerate(("clusters", "leaders")):
            mean, half = _means(some, name)
            _whiskers(ax, number, mean, y + 0.12 * (2 * number - 1), xerr=half, markersize=4.5, label=name)
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
    mean, half = _means(rows, "accuracy")
    figure, (ax,) = panels(1, 5.2, 0.34 * len(rows) + 1.0)
    ax.axvline(mean[0], color=INK, linewidth=0.6, linestyle=":")
    _whiskers(ax, 0, mean, np.arange(len(rows)), xerr=half, markersize=5, capsize=3)
    ax.set_yticks(np.arange(len(rows)), [row[name] for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel(f"accuracy on held-out reviews, {rows[0]['accuracy']['count']} seeds, 95 % intervals")
    ax.grid(axis="x", color=FAINT, linewidth=0.3)
    return figure


@house()
def plot_faithfulness(rows: Records) -> Figure:
    """Comprehensiveness and sufficiency against the number of words, by ranking; one column of panels per model."""
    names = _each(rows, "model")
    tops = [name for name in rows[0] if name.startswith("k = ")]
    x = [int(name[4:]) for name in tops]
    figure = Figure(figsize=(1.9 * len(names) + 0.8, 4.6), layout="constrained")
    grid: Any = figure.subplots(2, len(names), sharex=True, sharey="row", squeeze=False)
    for what, line in zip(("comprehensiveness", "sufficiency"), grid, strict=True):
        for ax, name in zip(line, names, strict=True):
            for number, (ranking, label) in enumerate(RANKINGS.items()):
                for row in _where(rows, model=name, ranking=ranking, measure=what):
                    mean, half = zip(*(_means([row], top) for top in tops), strict=True)
                    _whiskers(ax, number, x, np.ravel(mean), np.ravel(half), "-", markersize=3, capsize=1.5,
                              linewidth=0.8, label=label)  # fmt: skip
            ax.set_xscale("log")
            ax.set_xticks(x, [str(k) for k in x])
            ax.minorticks_off()
            tidy(ax)
        line[0].set_ylabel(what)
    for ax, name in zip(grid[0], names, strict=True):
        ax.set_title(name.replace(", ", ",\n"), fontsize=8)
    figure.supxlabel("words named", fontsize=9)
    _one_legend(figure, grid[0], loc="outside upper center", ncols=4)
    return figure
