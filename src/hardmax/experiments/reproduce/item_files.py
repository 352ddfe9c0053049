"""Files that say where they come from: data with versions, seed, machine and settings; figures in two formats."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hardmax.experiments.provenance import provenance
from hardmax.experiments.reproduce.items import Context
from hardmax.io.documents import write_json
from hardmax.io.files import write_file


def origin(context: Context) -> dict[str, Any]:
    """Versions, machine, seed, and whether it was the quick run."""
    return {**provenance(context.seed), "quick": context.quick}


def write_data(context: Context, name: str, settings: dict[str, Any], data: dict[str, Any]) -> str:
    """Write name.json: the data of an item with its settings and where it comes from."""
    document = {
        "schema": f"hardmax.reproduce.{name}/1",
        "settings": settings,
        "provenance": origin(context),
        **data,
    }
    write_file(context.folder / f"{name}.json", lambda to: write_json(document, to))
    return f"{name}.json"


def write_table(context: Context, name: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write name.csv."""

    def write(to: Path) -> None:
        with to.open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(head)
            lines.writerows(rows)

    write_file(context.folder / f"{name}.csv", write)
    return f"{name}.csv"


def write_figure(context: Context, name: str, figure: Any, dpi: int = 200) -> tuple[str, str]:
    """Write name.png and name.pdf."""
    from hardmax.plot.style import save_figure
    from hardmax.plot.words import plain_glyphs

    with plain_glyphs():
        for suffix in (".png", ".pdf"):
            write_file(context.folder / f"{name}{suffix}", lambda to: save_figure(figure, to, dpi=dpi))
    return f"{name}.png", f"{name}.pdf"
