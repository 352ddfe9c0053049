"""Curves of training: losses and accuracies by epoch, and loss and objective against the Tikhonov parameter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from hardmax.plot.style import FAINT, INK, Figure, color, house, panels, tidy

History = Mapping[str, Sequence[float]]
DASHES: Any = ("solid", (0, (5, 1.5)), (0, (3, 1.2, 1, 1.2)), (0, (1, 1)))  # told apart without colors
EVERY = 10  # epochs between two markers


@house()
def plot_losses(soft: Mapping[int, History], hard: Mapping[int, History]) -> Figure:
    """Training losses by epoch, and how far apart softmax and hardmax are on the same weights.

    Args:
        soft: for each dimension loss and hardmax_loss of a training with softmax.
        hard: for each dimension the loss of a training with hardmax.
    """
    figure, (left, right) = panels(2, 4.3, 3.4, width_ratios=(1.35, 1))
    for number, d in enumerate(soft):
        epochs = np.arange(1, len(soft[d]["loss"]) + 1)
        shade = color(number)
        left.plot(np.arange(1, len(hard[d]["loss"]) + 1), hard[d]["loss"], color=shade, linewidth=1, alpha=0.75,
                  linestyle=(0, (4, 2)), label=f"trained with hardmax, d = {d}")  # fmt: skip
        left.plot(epochs, soft[d]["loss"], color=shade, linewidth=1.5, label=f"softmax, d = {d}")
        shown = _some(len(epochs))
        left.plot(epochs[shown], np.asarray(soft[d]["hardmax_loss"])[shown], color=shade, linestyle="", label="_",
                  marker="os^D"[number], markersize=6.5, markerfacecolor="none", markeredgewidth=1.1)  # fmt: skip
        gap = np.abs(np.subtract(soft[d]["loss"], soft[d]["hardmax_loss"]))
        right.plot(epochs, np.maximum(gap, 1e-9), color=shade, linewidth=1, marker="os^D"[number], markersize=4,
                   markevery=shown.tolist(), label=f"d = {d}")  # fmt: skip
    right.axhline(1e-3, color=INK, linewidth=0.8, linestyle=(0, (5, 3)))
    right.annotate("0.001", (1.0, 1e-3), xycoords=("axes fraction", "data"), xytext=(-3, 3), ha="right",
                   textcoords="offset points", fontsize=9)  # fmt: skip
    for ax, title in ((left, "(a)  training loss"), (right, "(b)  |softmax \u2212 hardmax|, same weights")):
        ax.set(yscale="log", xlabel="epoch", title=title)
        tidy(ax, alpha=0.7)
    _few_ticks(left, [float(x) for each in (soft, hard) for h in each.values() for x in h["loss"]])
    handles, labels = left.get_legend_handles_labels()
    handles.append(Line2D([], [], linestyle="", marker="o", markerfacecolor="none", color=INK))
    labels.append("hardmax, same weights")
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _some(count: int) -> Any:
    """Indices of the first, every tenth and the last epoch; every third if there are few."""
    step = EVERY if count > 2 * EVERY else 3
    return np.unique(np.r_[0, np.arange(step - 1, count, step), count - 1])


def _few_ticks(ax: Any, values: list[float]) -> None:
    """Plain numbers on a logarithmic axis of less than two decades."""
    low, high = min(values), max(values)
    ticks = [t for t in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if 0.8 * low <= t <= 1.3 * high]
    if len(ticks) < 2:
        ticks = [float(t) for t in np.unique(np.round(np.linspace(low, high, 4), 2))]
    ax.set_yticks(ticks, labels=[f"{t:g}" for t in ticks])
    ax.minorticks_off()


@house()
def plot_accuracies(
    paper: Mapping[int, History], ours: Mapping[int, Sequence[float]], printed: Mapping[int, float]
) -> Figure:
    """Accuracies on held-out reviews, by epoch: the paper's recipe on the left, ours on the right.

    Args:
        paper: for each dimension accuracy (training) and test_accuracy.
        ours: the test accuracies, for each dimension that was trained.
        printed: the paper's best accuracies, as short lines at the edge between the panels.
    """
    figure, (left, right) = panels(2, 4.3, 3.5, width_ratios=(2.2, 1), sharey=True)
    for number, (d, history) in enumerate(paper.items()):
        epochs = np.arange(1, len(history["test_accuracy"]) + 1)
        shade, dash = color(number), DASHES[number % len(DASHES)]
        left.plot(epochs, history["accuracy"], color=shade, linewidth=0.7, alpha=0.4, linestyle=dash)
        left.plot(epochs, history["test_accuracy"], color=shade, linewidth=1.4, linestyle=dash)
        best = int(np.argmax(history["test_accuracy"]))
        left.plot(epochs[best], history["test_accuracy"][best], marker="v", color=shade, markersize=6,
                  markeredgecolor="white", markeredgewidth=0.6, zorder=4)  # fmt: skip
        left.plot([1.005, 1.035], [printed[d]] * 2, transform=left.get_yaxis_transform(), color=shade, linewidth=2.2,
                  clip_on=False, solid_capstyle="butt")  # fmt: skip
        if d in ours:
            right.plot(np.arange(1, len(ours[d]) + 1), ours[d], color=shade, linewidth=1.4, linestyle=dash,
                       marker="o", markersize=3.5)  # fmt: skip
    left.set_title("(a)  the paper's recipe: test bold, training thin")
    right.set_title("(b)  our recipe: test")
    left.set(ylabel="accuracy", ylim=(0.48, 1.01))
    for ax in (left, right):
        ax.set_xlabel("epoch")
        tidy(ax, alpha=0.7)
    right.set_xticks(range(1, 1 + max(len(values) for values in ours.values())))
    if max(len(values) for values in ours.values()) > 12:
        right.locator_params(axis="x", nbins=6)
    handles = [
        Line2D([], [], color=color(k), linestyle=DASHES[k % len(DASHES)], linewidth=1.4, label=f"d = {d}")
        for k, d in enumerate(paper)
    ]
    handles.append(Line2D([], [], linestyle="", marker="v", color=INK, label="best epoch on the test set"))
    handles.append(Line2D([], [], linestyle="", marker="_", markersize=9, markeredgewidth=2.2, color=INK,
                          label="printed in the paper (best epoch)"))  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.2, handletextpad=0.5)
    return figure


@house()
def plot_tikhonov(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], curve: Sequence[Sequence[float]], threshold: float
) -> Figure:
    """Loss (filled) and objective (open) of every run on logarithmic axes, the line is the threshold; and one training.

    Args:
        runs: by title, runs with eps, start (such as "random"), loss, objective and threshold.
        curve, threshold: the loss by epoch of a training at eps = 0.0001, and the penalty of theta* there.
    """
    figure, (*axes, last) = panels(len(runs) + 1, 4.2, 3.6)
    for ax, (title, unsorted) in zip(axes, runs.items(), strict=True):
        rows = sorted(unsorted, key=lambda row: row["eps"])
        line = {row["eps"]: row["threshold"] for row in rows}
        ax.plot(list(line), list(line.values()), color=INK, linewidth=1, label=r"penalty of $\theta^*$")
        for number, start in enumerate(dict.fromkeys(row["start"] for row in unsorted)):
            some = [row for row in rows if row["start"] == start]
            x = [row["eps"] for row in some]
            style: dict[str, Any] = {"marker": "os"[number], "color": color(number), "linewidth": 0.8}
            ax.plot(x, [row["loss"] for row in some], label=f"loss, {start} start", **style)
            ax.plot(x, [row["objective"] for row in some], linestyle=":", markerfacecolor="white",
                    label=f"objective, {start} start", **style)  # fmt: skip
        ax.set(xlabel=r"$\epsilon$", title=title)
    last.plot([step for step, _ in curve if step], [loss for step, loss in curve if step], color=color(0), label="loss")
    last.axhline(threshold, color=INK, linewidth=1, label=r"penalty of $\theta^*$")
    last.set(xlabel="epoch", title=r"the authors' set-up, $\epsilon = 0.0001$")
    for ax in (*axes, last):
        ax.set(xscale="log", yscale="log")
        ax.grid(color=FAINT, linewidth=0.3)
        ax.legend()
    return figure
