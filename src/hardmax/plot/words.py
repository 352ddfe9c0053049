"""Words of other people in pictures: shown as they are, never read as formulas, without a fuss about rare letters."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hardmax.sentiment.highlight import visible

FOR, AGAINST = "#0072B2", "#D55E00"


def shown(value: Any, most: int = 26) -> str:
    """A word for a picture: control characters made visible, long ones cut.

    Example:
        >>> shown("great"), len(shown("a" * 500)) <= 26
        ('great', True)
    """
    text = visible(str(value), "")
    return text if len(text) <= most else text[: most - 1] + "\u2026"


@contextmanager
def plain_glyphs() -> Iterator[None]:
    """The typeface lacks some scripts and emoji; a box in their place is better than a refusal."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support", category=UserWarning)
        yield
