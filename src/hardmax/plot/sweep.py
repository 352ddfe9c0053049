"""The rows of a sweep in a picture: curves of means with intervals, or a phase diagram."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.plot.style import MARKERS, Figure, color, house, panels, tidy

Columns = Mapping[str, Sequence[Any]]
Law = Callable[[float, Any], float]  # of x and the group


def means(columns: Columns, keys: Sequence[str], value: str) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Mean and half of its 95 % interval (Student) of a column, for every combination of the keys.

    Example:
        >>> found = means({"n": [1, 1, 2], "y": [1.0, 3.0, 5.0]}, ["n"], "y")
        >>> found[(1,)][0], round(found[(1,)][1], 2), found[(2,)]
        (2.0, 12.71, (5.0, 0.0))
    """
    from scipy.stats import t

    for name in (*keys, value):
        if name not in columns:
            raise BadInput(f"there is no column {name!r}", found=", ".join(columns))
    groups: dict[tuple[Any, ...], list[float]] = {}
    for *key, y in zip(*(columns[name] for name in keys), columns[value], strict=True):
        if y is not None and y == y:
            groups.setdefault(tuple(key), []).append(float(y))
    if not groups:
        raise BadInput(f"the column {value!r} has no numbers to draw")
    found = {}
    for group, values in sorted(groups.items(), key=lambda item: item[0]):
        n = len(values)
        half = float(t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0
        found[group] = float(np.mean(values)), half
    return found


@house()
def plot_curves(
    columns: Columns, x: str, y: str, by: str | None = None, scales: tuple[str, str] = ("linear", "linear"),
    law: Law | None = None,
) -> Figure:  # fmt: skip
    """The mean of y against x, one curve for each value of `by`; whiskers are 95 % intervals, lines the law."""
    found = means(columns, [x, by] if by else [x], y)
    figure, (ax,) = panels(1, 5.6, 3.8)
    for number, group in enumerate(sorted({key[1] for key in found}) if by else [None]):
        points = [(key[0], *value) for key, value in found.items() if not by or key[1] == group]
        at, mean, half = (np.array(column) for column in zip(*points, strict=True))
        style = MARKERS[number % len(MARKERS)] + ("" if law else "-")
        ax.errorbar(at, mean, half, fmt=style, color=color(number), markersize=4, linewidth=0.8, capsize=2,
                    label=f"{by} = {group:g}" if isinstance(group, int | float) else group)  # fmt: skip
        if law is not None:
            ax.plot(at, [law(v, group) for v in at.tolist()], color=color(number), linewidth=0.8)
    ax.set(xlabel=x, ylabel=f"mean {y.replace('_', ' ')}", xscale=scales[0], yscale=scales[1])
    tidy(ax)
    if by:
        ax.legend()
    return figure


@house()
def plot_phase(columns: Columns, x: str, y: str, value: str) -> Figure:
    """The mean of a column over two others, as a field of colors; cells without a run stay empty."""
    found = means(columns, [x, y], value)
    at_x, at_y = (sorted({key[k] for key in found}) for k in (0, 1))
    field = np.array([[found.get((a, b), (np.nan, 0.0))[0] for a in at_x] for b in at_y])
    figure, (ax,) = panels(1, 5.6, 4.0)
    image = ax.imshow(field, origin="lower", aspect="auto", cmap="viridis")
    ax.set_xticks(range(len(at_x)), [f"{v:g}" for v in at_x])
    ax.set_yticks(range(len(at_y)), [f"{v:g}" for v in at_y])
    ax.set(xlabel=x, ylabel=y)
    figure.colorbar(image, ax=ax, label=f"mean {value.replace('_', ' ')}")
    return figure


def plot_rows(columns: Columns, plan: Mapping[str, Any]) -> Figure:
    """The picture that the [plot] section of a sweep describes; law = "expected_leaders" adds that law."""
    unknown = set(plan) - {"kind", "x", "y", "by", "color", "x_scale", "y_scale", "law"}
    kind = plan.get("kind", "curves")
    if unknown or kind not in ("curves", "phase") or not {"x", "y"} <= set(plan):
        raise BadInput("the plan of the plot is not valid", found=repr(dict(plan)),
                       fix="use kind (curves or phase), x, y, by, color, x_scale, y_scale")  # fmt: skip
    if kind == "phase":
        return plot_phase(columns, plan["x"], plan["y"], plan.get("color", "clusters"))
    scales = plan.get("x_scale", "linear"), plan.get("y_scale", "linear")
    law = None
    if plan.get("law") == "expected_leaders" and (plan["x"], plan.get("by")) == ("n", "d"):
        from hardmax.theory import expected_leaders

        law = lambda n, d: expected_leaders(round(n), d)  # noqa: E731
    return plot_curves(columns, plan["x"], plan["y"], plan.get("by"), scales, law)
