"""The one palette: `palette.json` feeds the style sheet of the page, the pictures and the notebooks."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("palette.json")


@cache
def palette(theme: str = "light") -> dict[str, Any]:
    """Colors by name as "#rrggbb", `clusters` a list of them; themes "light" and "dark", "terminal" with escape codes.

    Example:
        >>> palette()["negative"], len(palette("dark")["clusters"])
        ('#0072B2', 14)
    """
    colors: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))[theme]
    return colors
