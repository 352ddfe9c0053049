"""Words from texts in pictures: shown as they are, never read as formulas, and without warnings about rare letters."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.palette import palette
from hardmax.sentiment.highlight import visible

FOR, AGAINST = palette()["positive"], palette()["negative"]  # what speaks for the class, and what speaks against it


def shown(value: Any, most: int = 26) -> str:
    """A word for a picture: control characters become visible, and long words are cut.

    Example:
        >>> shown("great"), len(shown("a" * 500)) <= 26
        ('great', True)
    """
    text = visible(str(value), "")
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def name_points(
    ax: Any,
    points: Iterable[tuple[NDArray[np.float64], str]],
    room: NDArray[np.float64],
    most: int,
    aside: int = 7,
    edge: float = 1.0,
) -> None:
    """Write names beside points, the most important first; a name that would cover an earlier one is left out.

    Args:
        points: pairs of a place (2,) and its name.
        room: width and height that a name takes, in the units of the axes.
        most: the largest number of names.
        aside: distance from the point in typographic points.
        edge: names beyond this part of the width stand to the left of their points.
    """
    taken: list[NDArray[np.float64]] = []
    low, high = ax.get_xlim()
    for place, name in points:
        if len(taken) >= most:
            return
        if all((np.abs(place - other) > room).any() for other in taken):
            taken.append(place)
            left = place[0] > low + edge * (high - low)
            ax.annotate(
                name, place, xytext=(-aside if left else aside, 0), textcoords="offset points",
                ha="right" if left else "left", va="center", fontsize=9, parse_math=False, zorder=6,
                bbox={"facecolor": "white", "alpha": 0.7, "pad": 0.5, "linewidth": 0},
            )  # fmt: skip


@contextmanager
def plain_glyphs() -> Iterator[None]:
    """Draw a box for letters that the typeface lacks (some scripts, emoji), without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support", category=UserWarning)
        yield
