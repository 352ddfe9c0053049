"""A journal of finished runs, so that what was interrupted goes on where it was."""

import json
from pathlib import Path
from typing import Any


class Journal:
    """Finished runs, one JSON object a line, so that an interrupted study goes on where it was.

    A run is known by its settings; a line that a kill cut short is left out.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.done: dict[str, dict[str, Any]] = {}
        if path is None or not path.exists():
            return
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            self.done[entry["key"]] = entry["value"]

    def get(self, settings: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a run with these settings, if it is finished."""
        return self.done.get(_key(settings))

    def put(self, settings: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
        """Note a finished run."""
        self.done[_key(settings)] = value
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps({"key": _key(settings), "value": value}) + "\n")
        return value


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
