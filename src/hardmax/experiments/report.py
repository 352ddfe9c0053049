"""The results of a group as one self-contained HTML page and as one Markdown file.

Everything that comes from data (words of reviews above all) is escaped.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hardmax.experiments.item import GROUPS, Group, items
from hardmax.experiments.run import Result
from hardmax.experiments.table import Table
from hardmax.experiments.table import markdown_text as escaped
from hardmax.io.files import write_file

HEADS = {"paper": "paper", "answer": "ours", "differs": "what differs and why"}
QUICK = (
    " This is a quick run with less data and fewer steps, which shows that everything works. For numbers to compare,"
    " run it without --quick."
)


def write_reports(root: Path, package: str, results: Sequence[Result]) -> tuple[Path, Path]:
    """Write report.html and report.md of some items of a group, in their usual order; returns their paths."""
    from hardmax.html.page import page, render

    order = [item.name for item in items(package)]
    report = _report(GROUPS[package], sorted(results, key=lambda one: order.index(one.item.name)), len(order))
    html = page(report["title"], [render("report.html", root=root, **report)])
    return write_file(root / "report.html", html), write_file(root / "report.md", _markdown(**report))


def _report(group: Group, results: Sequence[Result], total: int) -> dict[str, Any]:
    """What both forms show: the items in one table, a section for each, and where the numbers come from."""
    done = [result for result in results if result.outcome is not None]
    left = ", ".join(result.item.name for result in results if result.outcome is None)
    opening = f"{len(done)} of {total} {group.plural}, made with hardmax {group.command}."
    opening += QUICK if any(result.provenance.get("quick") for result in done) else ""
    columns = _columns(results)
    origin: list[tuple[str, Any]] = []
    if done:
        made = done[0].provenance
        packages = ", ".join(f"{name} {version}" for name, version in made["packages"].items())
        origin = [("hardmax", made["version"]), ("python", made["python"]), ("packages", packages)]
        origin += [(key, made[key]) for key in ("machine", "seed")]
    return {
        "title": group.title, "opening": opening + (f" Not made: {left}." if left else ""), "about": group.about,
        "heads": [HEADS[name] for name in columns], "origin": origin,
        "sections": [_section(result, columns) for result in results],
    }  # fmt: skip


def _section(result: Result, columns: Sequence[str]) -> dict[str, Any]:
    """What one item found: its row of the summary, then its texts, pictures, tables and files."""
    item, outcome = result.item, result.outcome
    about = {"name": item.name, "title": item.title, "source": item.source, "tables": result.tables}
    about |= {"place": f"{item.title} ({item.source})" if item.source else item.title, "pictures": result.pictures}
    if outcome is None:
        problem = f"{result.status}: {result.problem}. {result.fix}"
        cells = [problem if name == "answer" else "" for name in columns]
        return {**about, "cells": cells, "facts": [], "closing": problem}
    files = ", ".join(f"{item.name}/{name}" for name in result.files) or "none"
    time = f"Made in {result.seconds:.1f} s ({result.processor_seconds:.1f} s of processor time)."
    facts = [(HEADS[name], getattr(outcome, name)) for name in _columns([result])]
    cells = [getattr(outcome, name) for name in columns]
    return {**about, "cells": cells, "facts": facts, "closing": f"Files: {files}. {time}"}


def _columns(results: Sequence[Result]) -> list[str]:
    """The texts that some item of the report has."""
    every = [result.outcome for result in results if result.outcome is not None]
    return [name for name in HEADS if name == "answer" or any(getattr(outcome, name) for outcome in every)]


def _markdown(
    title: str, opening: str, about: Sequence[Any], heads: Sequence[str], sections: Any, origin: Sequence[Any]
) -> str:
    """The report in Markdown; pictures are links to the files beside it."""
    parts = [f"# {escaped(title)}", escaped(opening), _list(about)]
    rows = [(section["place"], *section["cells"]) for section in sections]
    parts.append(Table("summary", "", ("what", *heads), rows).markdown())
    for section in sections:
        parts += [f"## {escaped(section['place'])}", _list(section["facts"])]
        parts += [f"![{escaped(one.text)}]({section['name']}/{one.file})" for one in section["pictures"]]
        parts += [f"{escaped(table.caption)}\n\n{table.markdown()}".strip() for table in section["tables"]]
        parts.append(escaped(section["closing"]))
    if origin:
        parts += ["## How it was made", _list(origin)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _list(pairs: Iterable[tuple[str, Any]]) -> str:
    return "\n".join(f"- **{escaped(key)}:** {escaped(text)}" for key, text in pairs)
