"""Figures that show themselves in a notebook. They belong to no window, so that drawing needs no `pyplot`."""

from io import BytesIO
from typing import Any

import matplotlib.figure


class Figure(matplotlib.figure.Figure):
    """A figure of matplotlib whose picture a notebook shows when the figure is the last value of a cell.

    Example:
        >>> Figure(figsize=(1, 1))._repr_png_()[1:4]
        b'PNG'
    """

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png", metadata={"Software": None})
        return picture.getvalue()


def panels(count: int, width: float, height: float, more: float = 0.0, **options: Any) -> tuple[Figure, Any]:
    """A figure with a row of panels, each `width` wide, and `more` for what stands beside them; options of subplots."""
    figure = Figure(figsize=(width * count + more, height), layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False, **options)[0]
