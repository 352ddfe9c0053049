"""The stages of an exact construction: a row of panels as [AFZ25, Fig. 5], one stage alone, or a movie."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hardmax.errors import BadInput
from hardmax.plot.movie import frames, write_gif
from hardmax.plot.style import INK, Figure, color, house, panels, tidy

if TYPE_CHECKING:
    from hardmax.construction.stages import Stage, Stages

# What a stage shows, for a reader who sees the picture first.
CAPTIONS = {
    "input": "sequences overlap",
    "separate": "each on an interval of its own",
    "leaders": "each token has a leader's number",
    "collapse": "tokens meet in their leader",
    "place": "leaders move onto the targets",
}
AXES = {"separate": ("key", ""), "leaders": ("key", "number")}  # of other stages: the first two coordinates
MARKERS = "osD^vP<>"


@house()
def plot_stages(stages: "Stages") -> Figure:
    """One panel for the input and for the end of every stage: coordinates 0 and 1 of all tokens.

    Every sequence has a color and a marker of its own; stars are points in which tokens have met; open squares are the
    targets. Each panel has its own scale: keys are far apart, and leaders wait below the targets.

    Example:
        >>> import hardmax as hx
        >>> net = hx.construct([[[0, 0], [1, 1]], [[0, 1]]], [[[2, 0], [2, 1]], [[0, 0]]], style="narrow", pool="max")
        >>> len(plot_stages(net.stages([[[0, 0], [1, 1]], [[0, 1]]])).axes)
        5
    """
    figure, axes = panels(len(stages), 2.5, 2.5 * 1.32)
    for letter, (ax, stage) in zip("abcdefghijklmnop", zip(axes, stages, strict=True), strict=False):
        _draw(ax, stages, stage)
        ax.set_title(f"({letter}) {stage.name}{_count(stage)}\n{CAPTIONS.get(stage.name, '')}", fontsize=9)
    figure.legend(handles=_legend(stages), loc="outside lower center", ncols=min(8, len(_legend(stages))))
    return figure


@house()
def plot_stage(stages: "Stages", which: int | str = -1, ax: Any = None) -> Axes:
    """One stage, or one step of `net.stages(sequences, every="block")`, by number or by name."""
    stage = stages[which]
    ax = Figure(figsize=(4.2, 4.0), layout="constrained").add_subplot() if ax is None else ax
    _draw(ax, stages, stage)
    block = "input" if stage.first < 0 else f"block {stage.last} ({stage.name})"
    ax.set_title(f"{block}\n{CAPTIONS.get(stage.name, '')}")
    return ax


@house()
def stages_movie(stages: "Stages", path: str | Path, *, dpi: int = 110) -> Path:
    """Step through `net.stages(sequences, every="block")`: one frame for each, as a .gif."""
    path = Path(path)
    if path.suffix.lower() != ".gif":
        raise BadInput(f"{path}: stages are written as .gif", fix="use the suffix .gif")
    figure = Figure(figsize=(4.4, 4.2), dpi=dpi)
    figure.subplots_adjust(left=0.15, right=0.96, top=0.86, bottom=0.12)
    ax = figure.add_subplot()
    pictures = frames(figure, ax, range(len(stages)), lambda k: plot_stage(stages, k, ax))
    return write_gif(pictures, path, 600, 1800, 1800)


def _draw(ax: Axes, stages: "Stages", stage: "Stage") -> None:
    dim = stages.targets.shape[1]
    if stage.name in ("input", "place"):
        x, y = _plane(stages.targets).T
        ax.scatter(x, y, s=110, marker="s", facecolors="none", edgecolors=INK, linewidths=0.9, zorder=2)
    for j, cloud in enumerate(stage.clouds):
        points, counts = np.unique(_plane(cloud), axis=0, return_counts=True)
        alone = counts == 1 if len(cloud) > 1 else np.ones(len(points), dtype=bool)
        style: dict[str, Any] = {"color": color(j), "edgecolors": "white", "linewidths": 0.5, "zorder": 3}
        ax.scatter(points[alone, 0], points[alone, 1], s=34, marker=MARKERS[j % len(MARKERS)], alpha=0.9, **style)
        ax.scatter(points[~alone, 0], points[~alone, 1], s=120, marker="*", **style)
    ax.margins(0.12)
    if not np.ptp([y for cloud in stage.clouds for y in _plane(cloud)[:, 1]]) and stage.name == "separate":
        ax.set_ylim(-1, 1)
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks([0.0])  # all tokens are on a line
    else:
        ax.locator_params(nbins=5)
    names = AXES.get(stage.name, ("$x_0$", "$x_1$"))
    ax.set(xlabel=names[0] if dim > 1 else "$x_0$", ylabel=names[1] if dim > 1 else "")
    ax.tick_params(length=2)
    ax.ticklabel_format(useOffset=False)
    tidy(ax, alpha=0.6)


def _plane(tokens: Any) -> Any:
    """Coordinates 0 and 1; all that happens between the first and the last layer happens there."""
    return np.pad(tokens, ((0, 0), (0, 1)))[:, :2]  # the second is zero if there is only one


def _count(stage: "Stage") -> str:
    return "" if stage.first < 0 else f", {stage.blocks} block{'s' if stage.blocks != 1 else ''}"


def _legend(stages: "Stages") -> list[Line2D]:
    clouds = stages[0].clouds
    handles = [
        Line2D([], [], linestyle="", marker=MARKERS[j % len(MARKERS)], color=color(j), label=f"sequence {j}")
        for j in range(min(6, len(clouds)))
    ]
    if len(clouds) > 6:
        handles.append(Line2D([], [], linestyle="", label=f"and {len(clouds) - 6} more"))
    handles.append(Line2D([], [], linestyle="", marker="*", markersize=9, color=INK, label="tokens that have met"))
    target: dict[str, Any] = {"marker": "s", "markersize": 8, "markerfacecolor": "none", "markeredgecolor": INK}
    handles.append(Line2D([], [], linestyle="", label="target", **target))
    return handles
