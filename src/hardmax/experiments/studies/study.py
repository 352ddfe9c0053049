"""What a study returns: tables with intervals, where they come from, and how they are written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardmax.experiments.tables import Table
from hardmax.io.documents import json_text
from hardmax.io.files import write_file


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
        files = [table.write_csv(folder / f"{self.name}-{table.name}.csv") for table in self.tables]
        document = {
            "schema": "hardmax.study/1", "name": self.name, "question": self.question, "settings": self.settings,
            "source": self.source,
            "tables": {t.name: t.records() for t in self.tables},
        }  # fmt: skip
        whole = json_text(document)
        files.append(write_file(folder / f"{self.name}.json", whole))
        text = "\n\n".join(f"### {t.caption}\n\n{t.markdown()}" for t in self.tables)
        files.append(write_file(folder / f"{self.name}.md", text + "\n"))
        for name, figure in draw_study(self).items():
            files.append(save_figure(figure, folder / f"{self.name}-{name}.png"))
            files.append(save_figure(figure, folder / f"{self.name}-{name}.pdf"))
        return files
