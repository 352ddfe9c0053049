"""What an explorer returns: an answer in one sentence, tables with intervals, exact cases, where they come from."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from hardmax.errors import BadInput, MissingExtra
from hardmax.experiments.journal import Journal
from hardmax.experiments.questions.cases import Case
from hardmax.experiments.tables import Table
from hardmax.io.documents import json_text
from hardmax.io.files import write_file

Progress = Callable[[int, int, str], object]
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
            "tables": {t.name: t.records() for t in self.tables},
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
        files = [table.write_csv(folder / f"{self.name}-{table.name}.csv") for table in self.tables]
        for case in self.cases:
            files.append(case.save(folder / f"{case.name}.json"))
        text, whole = self.markdown(), json_text(self.document())
        files.append(write_file(folder / f"{self.name}.md", text))
        if pictures:
            files += self._pictures(folder)
        files.append(write_file(folder / f"{self.name}.json", whole))
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


def explorer(setting: type[S]) -> Callable[[Callable[..., Evidence]], Callable[..., Evidence]]:
    """Make `explore(seed, trials, quick, progress, journal)` of a function of (settings, progress, journal).

    Args:
        setting: the module's settings; `chosen` takes the full or the quick ones.
    """

    def make(measure: Callable[..., Evidence]) -> Callable[..., Evidence]:
        @wraps(measure)
        def explore(
            seed: int = 0,
            trials: int | None = None,
            quick: bool = False,
            progress: Progress | None = None,
            journal: Journal | None = None,
            **options: Any,
        ) -> Evidence:
            run = chosen(setting, seed, trials, quick)
            return measure(run, progress or silent, journal or Journal(None), **options)

        return explore

    return make
