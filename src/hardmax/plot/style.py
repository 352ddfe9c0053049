"""How pictures look: one palette, one typeface, and files that are the same bytes for the same result.

Figures show themselves in a notebook. They belong to no window, so that drawing needs no `pyplot`.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import matplotlib.figure
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import FigureBase

from hardmax.palette import palette

MARKERS = "osD^vP<>X"
# Told apart by people with any of the common color deficiencies: Okabe and Ito without black and yellow, then the
# "muted" scheme of Paul Tol. With more leaders than colors the colors repeat.
PALETTE = tuple(palette()["clusters"])
NEUTRAL = "#9A9A9A"  # follows three tokens or more
INK = "#222222"
FAINT = "#B8B8B8"
HULL = palette()["hull"]  # the shaded hull of the leaders
HULL_EDGE = palette()["hull-edge"]

FOR, AGAINST = palette()["positive"], palette()["negative"]  # what speaks for a class, and what against it

SETTINGS: Any = {
    "font.family": "STIXGeneral",  # ships with matplotlib: a picture looks the same on every machine
    "mathtext.fontset": "stix",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.6,
    "axes.labelcolor": INK,
    "axes.unicode_minus": True,
    "text.color": INK,
    "xtick.color": "#666666",
    "ytick.color": "#666666",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.hashsalt": "hardmax",  # the ids inside an .svg do not change from run to run
    "figure.dpi": 100,
}


@contextmanager
def house() -> Iterator[None]:
    """The look of this package, in a `with` block or for a function; the caller's own settings come back afterwards.

    Letters that the typeface lacks (some scripts, emoji) become boxes, without a warning.
    """
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support", category=UserWarning)
        yield


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


def color(number: int) -> str:
    """The color with this number; a negative number is neutral."""
    return NEUTRAL if number < 0 else PALETTE[number % len(PALETTE)]


def tint(shade: str, part: float) -> str:
    """A color mixed with white, of which `part` is the color.

    Example:
        >>> tint("#000000", 0.2)
        '#cccccc'
    """
    red, green, blue = (1 - part * (1 - x) for x in to_rgb(shade))
    return to_hex((red, green, blue))


def tidy(ax: Any, axis: Any = "both", alpha: float = 1.0) -> None:
    """A faint grid behind the data, and no frame above and to the right."""
    ax.grid(axis=axis, color=FAINT, linewidth=0.3, alpha=alpha)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def save_figure(figure: FigureBase, path: str | Path, dpi: int = 200) -> Path:
    """Write a figure to .png, .svg or .pdf, without the date and the version in it."""
    path = Path(path)
    dateless: dict[str, dict[str, Any]] = {
        ".png": {"Software": None},
        ".svg": {"Date": None, "Creator": None},
        ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    _write(figure, path, dpi=dpi, metadata=dateless.get(path.suffix.lower()))
    return path


def svg_text(figure: FigureBase, description: str) -> str:
    """The figure as an <svg> element for a page, with a description for readers who cannot see it."""
    from html import escape

    buffer = StringIO()
    _write(figure, buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    element = text[text.index("<svg") :]
    label = f'<svg role="img" aria-label="{escape(description, quote=True)}"'
    return element.replace("<svg", label, 1)


@house()
def _write(figure: FigureBase, to: Path | StringIO, **options: Any) -> None:
    whole: Any = figure.figure  # a part of a figure is saved with the rest
    whole.savefig(to, bbox_inches="tight", pad_inches=0.06, **options)
