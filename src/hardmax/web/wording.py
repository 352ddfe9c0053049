"""Errors as JSON: the same three texts as in Python and on the command line."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST_CHARACTERS = 300
# Pydantic's sentences about a value, and ours, which follow the name of the field.
SENTENCES = {
    r"^(?:Input|String|List|Tuple|Dictionary|Value) should (.*?)(?: after validation)?(, not \d+)?$": r"must \1\2",
    r"^Field required$": "is required",
    r"^Extra inputs are not permitted$": "is not a known field",
}


def error_document(what: str, found: str | None = None, fix: str | None = None) -> dict[str, Any]:
    """{"error": {"what", "found", "fix"}}; missing texts are null, long ones are cut.

    Example:
        >>> error_document("alpha is -1", fix="use a number > 0")
        {'error': {'what': 'alpha is -1', 'found': None, 'fix': 'use a number > 0'}}
    """
    texts = {"what": what, "found": found, "fix": fix}
    most = MOST_CHARACTERS
    return {"error": {k: v if v is None or len(v) <= most else v[: most - 4] + " ..." for k, v in texts.items()}}


def bug_document(error: Exception) -> dict[str, Any]:
    """What a caller is told about a bug: its kind; the details go to the log."""
    return error_document(f"{type(error).__name__}: this is a bug in hardmax", fix="please report it")


def validation_document(errors: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The first two of pydantic's complaints in our own words, and how many more there are.

    Example:
        >>> validation_document([{"loc": ("body", "alpha"), "msg": "Input should be greater than 0", "input": -1}])
        {'error': {'what': 'alpha must be greater than 0', 'found': '-1', 'fix': None}}
    """
    first, *others = errors
    kind, given = first.get("type"), first.get("input")
    if kind == "json_invalid":
        return error_document("the body is not JSON", found=str(first.get("ctx", {}).get("error", "")) or None)
    if kind == "model_attributes_type" and isinstance(given, bytes):
        return error_document("the body is not sent as JSON", fix="Content-Type: application/json")
    if kind == "model_attributes_type" and not _place(first.get("loc", ())):
        return error_document("the body is not a JSON object", found=_shown(given))
    what = "; ".join(_sentence(error) for error in (first, *others[:1]))
    more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
    # What is missing has no value, and our own checks repeat the values themselves.
    return error_document(what + more, None if kind in ("missing", "value_error") else _shown(given))


def _sentence(error: Mapping[str, Any]) -> str:
    """One of pydantic's complaints in our own words."""
    message, place = error["msg"].removeprefix("Value error, "), _place(error.get("loc", ()))
    for theirs, ours in SENTENCES.items():
        message, found = re.subn(theirs, ours, message)
        if found:
            return f"{place or 'the body'} {message}"
    return (f"{place}: " if place else "") + message[:1].lower() + message[1:]


def _place(parts: Sequence[Any]) -> str:
    """("body", "tokens", 3, 0) -> "tokens[3][0]"."""
    text = ""
    for part in parts[1:]:
        if not str(part).startswith("constrained-"):  # pydantic's name for one of several types
            text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple, dict)):
        return f"{type(value).__name__} of {len(value)}"
    shown = repr(value[:80] if isinstance(value, str) else value)[:100]
    return shown.encode("ascii", "backslashreplace").decode()
