"""Errors as JSON: the same three texts as in Python and on the command line."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST_CHARACTERS = 300


def error_document(what: str, found: str | None = None, fix: str | None = None) -> dict[str, Any]:
    """{"error": {"what", "found", "fix"}}; absent texts are null, long ones are cut.

    Example:
        >>> error_document("alpha is -1", fix="a number > 0")
        {'error': {'what': 'alpha is -1', 'found': None, 'fix': 'a number > 0'}}
    """
    return {"error": {"what": _cut(what), "found": _cut(found), "fix": _cut(fix)}}


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MOST_CHARACTERS:
        return text
    return text[: MOST_CHARACTERS - 4] + " ..."


def validation_document(errors: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The first of pydantic's complaints in our own words, and how many more there are.

    Example:
        >>> validation_document([{"loc": ("body", "alpha"), "msg": "Input should be greater than 0", "input": -1}])
        {'error': {'what': 'alpha: input should be greater than 0', 'found': '-1', 'fix': None}}
    """
    listed = list(errors)
    if not listed:
        return error_document("the request cannot be read")
    first = listed[0]
    place = _place(first.get("loc", ()))
    message = str(first.get("msg", "not usable"))
    message = message.removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if first.get("type") == "json_invalid":
        return error_document("the body is not JSON", found=str(first.get("ctx", {}).get("error", "")) or None)
    if place == "" and first.get("type") == "model_attributes_type":
        given = first.get("input")
        if isinstance(given, bytes):
            return error_document("the body is not sent as JSON", fix="Content-Type: application/json")
        return error_document("the body is not a JSON object", found=_shown(given))
    more = f" (and {len(listed) - 1} more)" if len(listed) > 1 else ""
    # What is missing has no value, and our own checks repeat the values themselves.
    silent = first.get("type") in ("missing", "value_error")
    found = None if silent else _shown(first.get("input"))
    return error_document(f"{place}: {message}{more}" if place else f"{message}{more}", found)


def _place(parts: Sequence[Any]) -> str:
    """("body", "tokens", 3, 0) -> "tokens[3][0]"."""
    text = ""
    for part in parts[1:] if parts and parts[0] in ("body", "query", "path", "header") else parts:
        if str(part).startswith("constrained-"):  # pydantic's name for one of several types
            continue
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple, dict)):
        return f"{type(value).__name__} of {len(value)}"
    shown = repr(value[:80] if isinstance(value, str) else value)[:100]
    return shown.encode("ascii", "backslashreplace").decode()
