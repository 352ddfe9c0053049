"""Figures of the three studies."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from hardmax.plot.style import FAINT, INK, color, in_house

if TYPE_CHECKING:
    from hardmax.experiments.studies.study import Study

MARKERS = "osD^vP"


@in_house
def draw_study(study: "Study") -> dict[str, Figure]:
    """Name -> figure, for the tables of a study."""
    if study.name == "finite-depth":
        return {"distance": _distance(study), "decided": _decided(study)}
    if study.name == "robustness":
        return {"dynamics": _clusters(study), "accuracy": _bars(study, "layer")}
    return {"accuracy": _bars(study, "attention"), "faithfulness": _faithfulness(study)}


def _distance(study: "Study") -> Figure:
    """Median distance to the limit against alpha at each depth, with (1+alpha)^-k beside it."""
    table = study.table("by-depth")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    dims = sorted({row["d"] for row in rows})
    middle = sorted({row["n"] for row in rows})[len({row["n"] for row in rows}) // 2]
    figure = Figure(figsize=(3.0 * len(dims), 3.1), layout="constrained")
    axes = figure.subplots(1, len(dims), sharey=True, squeeze=False)[0]
    for ax, d in zip(axes, dims, strict=True):
        for number, depth in enumerate(sorted({row["layers"] for row in rows})):
            some = [
                row for row in rows
                if row["d"] == d and row["layers"] == depth and row["n"] == middle and row["cloud"] == rows[0]["cloud"]
            ]  # fmt: skip
            x = [row["alpha"] for row in some]
            fine = np.geomspace(min(x), max(x) * 1.0001, 60)
            start = some[0]["median distance"].mean / some[0]["(1+alpha)^-k"]
            ax.plot(fine, start * (1 + fine) ** -float(depth), color=color(number), linewidth=0.8)
            ax.errorbar(
                x, [row["median distance"].mean for row in some], yerr=[row["median distance"].half for row in some],
                fmt=MARKERS[number], markersize=4, color=color(number), capsize=2, label=f"layer {depth}",
            )  # fmt: skip
        ax.set_title(f"d = {d}")
        ax.set_xlabel(r"$\alpha$")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(color=FAINT, linewidth=0.3)
    axes[0].set_ylabel("median distance to the limit / radius")
    axes[0].legend(loc="lower left")
    return figure


def _decided(study: "Study") -> Figure:
    """Tokens whose infinite depth is decided, by depth and alpha, for every kind of cloud in the plane and above."""
    table = study.table("by-depth")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    clouds = list(dict.fromkeys(row["cloud"] for row in rows))
    alphas = sorted({row["alpha"] for row in rows})
    largest = max(row["n"] for row in rows)
    figure = Figure(figsize=(3.2 * len(clouds), 3.0), layout="constrained")
    axes = figure.subplots(1, len(clouds), sharey=True, squeeze=False)[0]
    for ax, cloud in zip(axes, clouds, strict=True):
        for number, d in enumerate(sorted({row["d"] for row in rows})):
            for alpha, style in ((alphas[0], "-"), (alphas[-1], ":")):
                some = [r for r in rows if (r["cloud"], r["d"], r["alpha"], r["n"]) == (cloud, d, alpha, largest)]
                ax.plot(
                    [r["layers"] for r in some], [1 - r["tokens decided"].mean for r in some], style,
                    marker=MARKERS[number], markersize=4, color=color(number), linewidth=0.9,
                    label=rf"d = {d}, $\alpha$ = {alpha:g}",
                )  # fmt: skip
        ax.set_title(f"{cloud}, n = {largest}")
        ax.set_xlabel("layer")
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.set_ylim(-2e-5, 0.2)
        ax.set_xticks(sorted({row["layers"] for row in rows}))
        ax.grid(color=FAINT, linewidth=0.3)
    axes[0].set_ylabel("tokens not decided yet")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8)
    return figure


def _clusters(study: "Study") -> Figure:
    """Clusters and leaders of every variant."""
    table = study.table("dynamics")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    dims = sorted({row["d"] for row in rows})
    figure = Figure(figsize=(4.2 * len(dims), 3.4), layout="constrained")
    axes = figure.subplots(1, len(dims), sharey=True, squeeze=False)[0]
    for ax, d in zip(axes, dims, strict=True):
        some = [row for row in rows if row["d"] == d]
        y = np.arange(len(some))
        for number, name in enumerate(("clusters", "leaders")):
            ax.errorbar(
                [row[name].mean for row in some], y + 0.12 * (2 * number - 1), xerr=[row[name].half for row in some],
                fmt=MARKERS[number], markersize=4.5, capsize=2, color=color(number), label=name,
            )  # fmt: skip
        ax.set_yticks(y, [row["variant"] for row in some])
        ax.set_title(f"d = {d}")
        ax.set_xlabel(f"of {study.settings['dynamics']['tokens']} tokens")
        ax.set_xlim(left=0)
        ax.grid(axis="x", color=FAINT, linewidth=0.3)
    axes[0].invert_yaxis()
    axes[0].legend(loc="lower right")
    return figure


def _bars(study: "Study", name: str) -> Figure:
    """Accuracy with its interval, one line a variant."""
    table = study.table("accuracy")
    names, values = table.column(name), table.column("accuracy")
    figure = Figure(figsize=(5.2, 0.34 * len(names) + 1.0), layout="constrained")
    ax = figure.add_subplot()
    y = np.arange(len(names))
    ax.axvline(values[0].mean, color=INK, linewidth=0.6, linestyle=":")
    ax.errorbar(
        [v.mean for v in values], y, xerr=[0.0 if np.isnan(v.half) else v.half for v in values], fmt="o", markersize=5,
        capsize=3, color=color(0),
    )  # fmt: skip
    ax.set_yticks(y, names)
    ax.invert_yaxis()
    ax.set_xlabel(f"accuracy on reviews kept aside, {values[0].count} seeds, 95 % intervals")
    ax.grid(axis="x", color=FAINT, linewidth=0.3)
    return figure


def _faithfulness(study: "Study") -> Figure:
    """Comprehensiveness and sufficiency of three rankings, for every kind of attention."""
    table = study.table("faithfulness")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    names = list(dict.fromkeys(row["attention"] for row in rows))
    rankings = {"parts": "exact parts", "score": "own score", "random": "words by chance"}
    figure = Figure(figsize=(8.6, 0.34 * len(names) + 1.3), layout="constrained")
    axes: Any = figure.subplots(1, 2, sharey=True)
    for ax, what in zip(axes, ("comprehensiveness", "sufficiency"), strict=True):
        for number, (ranking, label) in enumerate(rankings.items()):
            some = [row[what] for row in rows if row["ranking"] == ranking]
            ax.errorbar(
                [v.mean for v in some], np.arange(len(names)) + 0.17 * (number - 1), fmt=MARKERS[number], markersize=4,
                xerr=[0.0 if np.isnan(v.half) else v.half for v in some], capsize=2, color=color(number), label=label,
            )  # fmt: skip
        better = "more is better" if what == "comprehensiveness" else "less is better"
        ax.set_xlabel(f"{what} ({better})")
        ax.grid(axis="x", color=FAINT, linewidth=0.3)
    axes[0].set_yticks(np.arange(len(names)), names)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return figure
