"""What an explorer returns: an answer in one sentence, tables with intervals, exact cases, where they come from."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any, TypeVar

from hardmax.dynamics.document import json_text, write_whole
from hardmax.errors import BadInput, MissingExtra
from hardmax.experiments.open_questions.cases import Case
from hardmax.experiments.studies.study import Interval, Table

Progress = Callable[[int, int, str], object]
NORMAL_95 = 1.959963984540054
S = TypeVar("S")


def silent(done: int, total: int, what: str) -> None:
    """Progress that nobody wants to hear of."""


def chosen(setting: type[S], seed: int, trials: int | None, quick: bool) -> S:
    """The settings of a run: the full or the quick ones, with this seed and, if given, this number of trials."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadInput(f"seed is {seed!r}; expected a whole number >= 0")
    if trials is not None and (isinstance(trials, bool) or not isinstance(trials, int) or trials < 1):
        raise BadInput(f"trials is {trials!r}; expected a whole number >= 1")
    made: Any = setting.quick() if quick else setting()  # type: ignore[attr-defined]
    result: S = replace(made, seed=seed, trials=made.trials if trials is None else trials)
    return result


@dataclass(frozen=True)
class Share:
    """`count` of `trials`, with the 95 % interval of Wilson, which stays inside [0, 1] and is honest at 0 and at 1.

        (p + q/2 +- z sqrt(p(1-p)/n + q/(4n))) / (1 + q),      z = 1.96, q = z^2/n

    Example:
        >>> str(Share(0, 100)), str(Share(3, 4))
        ('0/100 (0-3.7 %)', '3/4 (30.1-95.4 %)')
    """

    count: int
    trials: int

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.trials or self.trials < 1:
            raise BadInput(f"{self.count} of {self.trials} is not a share", fix="0 <= count <= trials, trials >= 1")

    @property
    def part(self) -> float:
        """count / trials."""
        return self.count / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval."""
        q = NORMAL_95**2 / self.trials
        middle, p = self.part + q / 2, self.part
        half = NORMAL_95 * sqrt(p * (1 - p) / self.trials + q / (4 * self.trials))
        # At the ends the formula is exact, but its rounding is not.
        low = 0.0 if self.count == 0 else (middle - half) / (1 + q)
        return low, 1.0 if self.count == self.trials else (middle + half) / (1 + q)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count}/{self.trials} ({_percent(low)}-{_percent(high)} %)"


@dataclass(frozen=True)
class Evidence:
    """The result of one explorer.

    Attributes:
        name, question: what was asked.
        answer: what was found, in a sentence made from the numbers.
        settings: all that decides the numbers.   source: versions, seed, machine.
        tables: what was measured; a cell is a text, a number, an `Interval` or a `Share`.
        cases: exact examples that can be replayed.
    """

    name: str
    question: str
    answer: str
    settings: dict[str, Any]
    source: dict[str, Any]
    tables: tuple[Table, ...]
    cases: tuple[Case, ...] = ()

    def table(self, name: str) -> Table:
        """A table by its name."""
        return next(table for table in self.tables if table.name == name)

    def document(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "schema": "hardmax.evidence/1", "name": self.name, "question": self.question, "answer": self.answer,
            "settings": self.settings, "source": self.source,
            "tables": {t.name: [dict(zip(t.columns, map(plain, row), strict=True)) for row in t.rows]
                       for t in self.tables},
            "cases": [case.document() for case in self.cases],
        }  # fmt: skip

    def markdown(self) -> str:
        """The question, the answer and the tables, as a page."""
        parts = [f"# {self.question}", self.answer]
        parts += [f"## {t.caption}\n\n{t.markdown()}" for t in self.tables]
        return "\n\n".join(parts) + "\n"

    def save(self, folder: str | Path, pictures: bool = True) -> list[Path]:
        """Write NAME.json, NAME.md, one .csv a table, the exact cases, and figures (.png, .pdf) if matplotlib is there.

        The .json file is written last: where it is, the rest is complete.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files = [self._csv(table, folder / f"{self.name}-{table.name}.csv") for table in self.tables]
        for case in self.cases:
            files.append(case.save(folder / f"{case.name}.json"))
        text, whole = self.markdown(), json_text(self.document())
        files.append(write_whole(folder / f"{self.name}.md", lambda to: to.write_text(text, "utf-8")))
        if pictures:
            files += self._pictures(folder)
        files.append(write_whole(folder / f"{self.name}.json", lambda to: to.write_text(whole, "utf-8")))
        return files

    def _pictures(self, folder: Path) -> list[Path]:
        try:
            from hardmax.plot.open_questions import draw
            from hardmax.plot.style import save_figure
        except (ImportError, MissingExtra):
            return []  # the numbers are complete without them
        figures = draw(self.document())
        return [
            save_figure(figure, folder / f"{self.name}-{part}{suffix}")
            for part, figure in figures.items()
            for suffix in (".png", ".pdf")
        ]

    def _csv(self, table: Table, path: Path) -> Path:
        def write(to: Path) -> None:
            with to.open("w", newline="", encoding="utf-8") as handle:
                writer = csv.writer(handle, lineterminator="\n")
                first = table.rows[0] if table.rows else table.columns
                writer.writerow([h for c, x in zip(table.columns, first, strict=True) for h in _heads(c, x)])
                writer.writerows([[part for x in row for part in _parts(x)] for row in table.rows])

        return write_whole(path, write)


def _percent(part: float) -> str:
    return f"{100 * part:.2g}" if part < 0.1 else f"{100 * part:.3g}"


def plain(x: Any) -> Any:
    """A cell as plain data."""
    if isinstance(x, Interval):
        return {"mean": x.mean, "half": x.half if x.count > 1 else None, "count": x.count}
    if isinstance(x, Share):
        low, high = x.interval
        return {"count": x.count, "trials": x.trials, "low": low, "high": high}
    return x


def _heads(name: str, x: Any) -> Sequence[str]:
    if isinstance(x, Share):
        return name, f"{name}: trials", f"{name}: low", f"{name}: high"
    return (name, f"{name} (95 %)") if isinstance(x, Interval) else (name,)


def _parts(x: Any) -> Sequence[Any]:
    if isinstance(x, Share):
        return x.count, x.trials, *x.interval
    return (x.mean, x.half) if isinstance(x, Interval) else (x,)
