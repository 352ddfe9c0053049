"""What a study returns: tables with intervals, where they come from, and how they are written."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.dynamics.document import json_text, write_whole

STUDENT_95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % interval, mean +- t s / sqrt(n) with Student's t.

    Example:
        >>> str(interval([0.8, 0.9, 1.0]))
        '0.9 ± 0.25'
    """

    mean: float
    half: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.3g}" if self.count < 2 else f"{self.mean:.3g} ± {self.half:.2g}"


def interval(values: Iterable[float]) -> Interval:
    """The mean of independent runs with its 95 % interval."""
    x = np.asarray(list(values), np.float64)
    if len(x) < 2:
        return Interval(float(x.mean()), float("nan"), len(x))
    t = STUDENT_95.get(len(x) - 1, 1.96 + 2.4 / (len(x) - 1))
    return Interval(float(x.mean()), float(t * x.std(ddof=1) / sqrt(len(x))), len(x))


@dataclass(frozen=True)
class Table:
    """Rows of one table; a cell is a text, a number or an Interval."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def markdown(self) -> str:
        """The table for a page of the manual."""
        lines = [f"| {' | '.join(self.columns)} |", "|" + "---|" * len(self.columns)]
        lines += [f"| {' | '.join(_cell(x) for x in row)} |" for row in self.rows]
        return "\n".join(lines)

    def column(self, name: str) -> list[Any]:
        """One column."""
        return [row[self.columns.index(name)] for row in self.rows]


@dataclass(frozen=True)
class Study:
    """The result of one study.

    Attributes:
        name, question: what was asked.
        settings: all that decides the numbers.   source: versions, seed, machine.
        tables: what was measured.
    """

    name: str
    question: str
    settings: dict[str, Any]
    source: dict[str, Any]
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """A table by its name."""
        return next(table for table in self.tables if table.name == name)

    def save(self, folder: str | Path) -> list[Path]:
        """Write one .csv a table, a .json with everything, a .md with the tables, and the figures."""
        from hardmax.plot.studies import draw_study
        from hardmax.plot.style import save_figure

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files = [self._csv(table, folder / f"{self.name}-{table.name}.csv") for table in self.tables]
        document = {
            "schema": "hardmax.study/1", "name": self.name, "question": self.question, "settings": self.settings,
            "source": self.source,
            "tables": {t.name: [dict(zip(t.columns, map(_plain, row), strict=True)) for row in t.rows]
                       for t in self.tables},
        }  # fmt: skip
        whole = json_text(document)
        files.append(write_whole(folder / f"{self.name}.json", lambda to: to.write_text(whole, "utf-8"), True))
        text = "\n\n".join(f"### {t.caption}\n\n{t.markdown()}" for t in self.tables)
        files.append(write_whole(folder / f"{self.name}.md", lambda to: to.write_text(text + "\n", "utf-8"), True))
        for name, figure in draw_study(self).items():
            files.append(save_figure(figure, folder / f"{self.name}-{name}.png"))
            files.append(save_figure(figure, folder / f"{self.name}-{name}.pdf"))
        return files

    def _csv(self, table: Table, path: Path) -> Path:
        with path.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow([part for c, x in zip(table.columns, table.rows[0], strict=True) for part in _heads(c, x)])
            for row in table.rows:
                writer.writerow([part for x in row for part in _parts(x)])
        return path


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


def _cell(x: Any) -> str:
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def _plain(x: Any) -> Any:
    return {"mean": x.mean, "half": x.half, "count": x.count} if isinstance(x, Interval) else x


def _heads(name: str, x: Any) -> Sequence[str]:
    return (name, f"{name} (95 %)") if isinstance(x, Interval) else (name,)


def _parts(x: Any) -> Sequence[Any]:
    return (x.mean, x.half) if isinstance(x, Interval) else (x,)
