"""The results of a group as one self-contained HTML page and as one Markdown file.

Everything that comes from data (words of reviews above all) is escaped.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from hardmax.experiments.item import Group, group_of, items
from hardmax.experiments.run import Result
from hardmax.experiments.table import Table, markdown_text
from hardmax.io.files import write_file

HEADS = {"paper": "paper", "answer": "ours", "differs": "what differs and why"}
# Text in cells may wrap here; the tables of numbers of the page do not.
WRAP = ' style="white-space:normal;text-align:left;vertical-align:top;min-width:11rem"'


def write_reports(root: Path, package: str, results: Sequence[Result]) -> tuple[Path, Path]:
    """Write report.html and report.md of some items of a group, in their usual order; returns their paths."""
    order = [item.name for item in items(package)]
    found = sorted(results, key=lambda result: order.index(result.item.name))
    group = group_of(package)
    page = write_file(root / "report.html", html_report(root, group, found, len(order)))
    return page, write_file(root / "report.md", markdown_report(group, found, len(order)))


def html_report(root: Path, group: Group, results: Sequence[Result], total: int) -> str:
    """One page: a table of all items, then a section for each."""
    from hardmax.html.page import facts, page

    body = [f"<h1>{escape(group.title)}</h1>", f"<p>{escape(_opening(group, results, total))}</p>"]
    body += [facts(group.about)] if group.about else []
    body += [_summary(results), *(part for result in results for part in _section(root, result))]
    origin = _origin(results)
    return page(group.title, [*body, "<h2>How it was made</h2>", facts(origin)] if origin else body)


def markdown_report(group: Group, results: Sequence[Result], total: int) -> str:
    """The same in Markdown; pictures are links to the files beside it."""
    lines = [f"# {group.title}", "", markdown_text(_opening(group, results, total)), ""]
    lines += [f"- **{key}** {text}" for key, text in group.about] + [""] * bool(group.about)
    columns = _columns(results)
    rows = [(_place(result), *(text for _, text in _texts(result, columns))) for result in results]
    lines.append(Table("summary", "", ("what", *(HEADS[name] for name in columns)), rows).markdown())
    for result in results:
        lines += ["", f"## {markdown_text(result.item.title)}", "", *_details(result)]
    origin = _origin(results)
    if origin:
        lines += ["", "## How it was made", "", *(f"- {key}: {markdown_text(text)}" for key, text in origin)]
    return "\n".join(lines) + "\n"


def _opening(group: Group, results: Sequence[Result], total: int) -> str:
    done = [result for result in results if result.outcome is not None]
    left = [result.item.name for result in results if result.outcome is None]
    text = f"{len(done)} of {total} {group.plural}, made with hardmax {group.command}."
    if any(result.provenance.get("quick") for result in done):
        text += (
            " This is a quick run with less data and fewer steps, which shows that everything works. For numbers to"
            " compare, run it without --quick."
        )
    return text + (f" Not made: {', '.join(left)}." if left else "")


def _columns(results: Sequence[Result]) -> list[str]:
    """The texts that some item of the report has."""
    every = [result.outcome for result in results if result.outcome is not None]
    return [name for name in HEADS if name == "answer" or any(getattr(outcome, name) for outcome in every)]


def _texts(result: Result, columns: Sequence[str]) -> list[tuple[str, str]]:
    """What the paper says, what was found and what differs, each with its head."""
    if result.outcome is None:
        return [(HEADS[name], _problem(result) if name == "answer" else "") for name in columns]
    return [(HEADS[name], getattr(result.outcome, name)) for name in columns]


def _problem(result: Result) -> str:
    return f"{result.status}: {result.problem}. {result.fix}"


def _place(result: Result) -> str:
    return result.item.title + (f" ({result.item.source})" if result.item.source else "")


def _summary(results: Sequence[Result]) -> str:
    columns = _columns(results)
    head = "".join(f'<th scope="col"{WRAP}>{text}</th>' for text in ("what", *(HEADS[name] for name in columns)))
    lines = []
    for result in results:
        what = f'<a href="#{result.item.name}">{escape(result.item.title)}</a>'
        what += f'<br><span class="soft">{escape(result.item.source)}</span>' if result.item.source else ""
        cells = "".join(f"<td{WRAP}>{escape(text)}</td>" for _, text in _texts(result, columns))
        lines.append(f"<tr><td{WRAP}>{what}</td>{cells}</tr>")
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _section(root: Path, result: Result) -> list[str]:
    """Facts, pictures, tables and files of one item as HTML."""
    from hardmax.html.page import facts, table
    from hardmax.html.result import picture

    item = result.item
    parts = [f'<h2 id="{item.name}">{escape(item.title)}</h2>']
    if result.outcome is None:
        return [*parts, f'<p class="soft">{escape(_problem(result))}</p>']
    parts += [f'<p class="soft">{escape(item.source)}</p>'] if item.source else []
    parts.append(facts(_texts(result, _columns([result]))))
    folder = root / item.name
    parts += [picture(folder / p.file, p.text) for p in result.pictures if p.width is None]
    small = [picture(folder / p.file, p.text, width=p.width) for p in result.pictures if p.width is not None]
    parts += ['<div class="pair">', *small, "</div>"] if small else []
    parts += [table(t.caption, t.columns, t.texts()) for t in result.tables]
    return [*parts, f'<p class="soft">Files: {escape(_files(result))}. {_time(result)}</p>']


def _details(result: Result) -> list[str]:
    """The same in Markdown."""
    if result.outcome is None:
        return [markdown_text(_problem(result))]
    lines = [f"- **{head}:** {markdown_text(text)}" for head, text in _texts(result, _columns([result]))]
    for picture in result.pictures:
        lines += ["", f"![{markdown_text(picture.text)}]({result.item.name}/{picture.file})"]
    for table in result.tables:
        lines += ["", markdown_text(table.caption), "", table.markdown()]
    return [*lines, "", f"Files: {_files(result, '`')}"]


def _files(result: Result, quote: str = "") -> str:
    return ", ".join(f"{quote}{result.item.name}/{name}{quote}" for name in result.files) or "none"


def _time(result: Result) -> str:
    return f"Made in {result.seconds:.1f} s ({result.processor_seconds:.1f} s of processor time)."


def _origin(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Versions, machine and seed of the first item that has them."""
    origin: dict[str, Any] = next((result.provenance for result in results if result.provenance), {})
    if not origin:
        return []
    packages = ", ".join(f"{name} {version}" for name, version in origin["packages"].items())
    rest = [("machine", str(origin["machine"])), ("seed", str(origin["seed"]))]
    return [("hardmax", origin["version"]), ("python", origin["python"]), ("packages", packages), *rest]
