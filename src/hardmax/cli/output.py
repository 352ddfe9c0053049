"""What commands print: results on stdout, notes on stderr."""

import sys
from typing import Any


def print_json(document: dict[str, Any]) -> None:
    """Exactly one JSON document; floats read back to the same bits, Fractions are strings, infinities are null."""
    from hardmax.io.documents import json_text

    sys.stdout.write(json_text(document))


def note(text: str, quiet: bool) -> None:
    """A remark for the person at the terminal."""
    if not quiet:
        print(text, file=sys.stderr)


def point(z: Any, most: int = 6) -> str:
    """A token for reading: (1, 0.333333), long ones cut."""
    from hardmax.io.documents import readable

    return "(" + ", ".join(readable(x) for x in list(z)[:most]) + (", ..." if len(z) > most else "") + ")"


def indices(values: Any, most: int = 20) -> str:
    """Token indices for reading, long lists cut."""
    listed = [str(v) for v in list(values)[:most]]
    return " ".join(listed) + (f" ... ({len(values)} in all)" if len(values) > most else "") if listed else "none"


def undecided_advice(undecided: int) -> str:
    """What to say when float64 could not decide."""
    return (
        f"note: {undecided} comparisons were closer than float64 rounding can decide (ties within the tolerance); "
        "--exact decides them for the numbers as written"
    )
