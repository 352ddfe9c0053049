"""The results of a group as one self-contained HTML page and as one Markdown file: one layout, two ways to write it.

Everything that comes from data (words of reviews above all) is escaped.
"""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from hardmax.experiments.context import Picture
from hardmax.experiments.item import Group, group_of, items
from hardmax.experiments.run import Result
from hardmax.experiments.table import Table, markdown_text
from hardmax.io.files import write_file

HEADS = {"paper": "paper", "answer": "ours", "differs": "what differs and why"}
QUICK = (
    " This is a quick run with less data and fewer steps, which shows that everything works. For numbers to compare,"
    " run it without --quick."
)
# Text in cells may wrap here; the tables of numbers of the page do not.
WRAP = ' style="white-space:normal;text-align:left;vertical-align:top;min-width:11rem"'
Pairs = Iterable[tuple[str, str]]


def write_reports(root: Path, package: str, results: Sequence[Result]) -> tuple[Path, Path]:
    """Write report.html and report.md of some items of a group, in their usual order; returns their paths."""
    from hardmax.html.page import page

    order, group = [item.name for item in items(package)], group_of(package)
    found = sorted(results, key=lambda result: order.index(result.item.name))
    html = page(group.title, _layout(_Html(root), group, found, len(order)))
    text = "\n\n".join(_layout(_Markdown(), group, found, len(order))) + "\n"
    return write_file(root / "report.html", html), write_file(root / "report.md", text)


class _Html:
    """The parts of the page."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def title(self, text: str) -> str:
        return f"<h1>{escape(text)}</h1>"

    def heading(self, text: str, name: str = "") -> str:
        return f'<h2 id="{name}">{escape(text)}</h2>' if name else f"<h2>{escape(text)}</h2>"

    def text(self, text: str) -> str:
        return f"<p>{escape(text)}</p>"

    def facts(self, pairs: Pairs) -> str:
        from hardmax.html.page import facts

        return facts(pairs)

    def table(self, table: Table) -> str:
        from hardmax.html.page import table as html_table

        return html_table(table.caption, table.columns, table.texts())

    def summary(self, columns: Sequence[str], results: Sequence[Result]) -> str:
        """A table whose cells are sentences, with links to the sections."""
        head = "".join(f'<th scope="col"{WRAP}>{text}</th>' for text in ("what", *(HEADS[name] for name in columns)))
        lines = []
        for result in results:
            what = f'<a href="#{result.item.name}">{escape(result.item.title)}</a>'
            what += f'<br><span class="soft">{escape(result.item.source)}</span>' if result.item.source else ""
            cells = "".join(f"<td{WRAP}>{escape(text)}</td>" for _, text in _texts(result, columns))
            lines.append(f"<tr><td{WRAP}>{what}</td>{cells}</tr>")
        rows = "\n".join(lines)
        return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'

    def pictures(self, name: str, pictures: Sequence[Picture]) -> list[str]:
        """Wide ones below each other, then those with a width of their own side by side."""
        from hardmax.html.page import picture

        wide: list[str] = [picture(self.root / name / p.file, p.text) for p in pictures if p.width is None]
        small = [picture(self.root / name / p.file, p.text, width=p.width) for p in pictures if p.width is not None]
        return [*wide, '<div class="pair">', *small, "</div>"] if small else wide


class _Markdown:
    """The parts of the Markdown file; pictures are links to the files beside it."""

    def title(self, text: str) -> str:
        return f"# {markdown_text(text)}"

    def heading(self, text: str, name: str = "") -> str:
        return f"## {markdown_text(text)}"

    def text(self, text: str) -> str:
        return markdown_text(text)

    def facts(self, pairs: Pairs) -> str:
        return "\n".join(f"- **{markdown_text(key)}:** {markdown_text(text)}" for key, text in pairs)

    def table(self, table: Table) -> str:
        return f"{markdown_text(table.caption)}\n\n{table.markdown()}".strip()

    def summary(self, columns: Sequence[str], results: Sequence[Result]) -> str:
        """The same table without links."""
        rows = [(_place(result), *(text for _, text in _texts(result, columns))) for result in results]
        return Table("summary", "", ("what", *(HEADS[name] for name in columns)), rows).markdown()

    def pictures(self, name: str, pictures: Sequence[Picture]) -> list[str]:
        return [f"![{markdown_text(picture.text)}]({name}/{picture.file})" for picture in pictures]


def _layout(to: _Html | _Markdown, group: Group, results: Sequence[Result], total: int) -> list[str]:
    """The whole report: the items in one table, a section for each, and where the numbers come from."""
    done = [result for result in results if result.outcome is not None]
    left = ", ".join(result.item.name for result in results if result.outcome is None)
    opening = f"{len(done)} of {total} {group.plural}, made with hardmax {group.command}."
    opening += QUICK if any(result.provenance.get("quick") for result in done) else ""
    parts = [to.title(group.title), to.text(opening + (f" Not made: {left}." if left else ""))]
    parts += [to.facts(group.about)] if group.about else []
    parts.append(to.summary(_columns(results), results))
    for result in results:
        parts += [to.heading(_place(result), result.item.name), *_section(to, result)]
    origin = next((result.provenance for result in done), None)
    if origin is not None:
        packages = ", ".join(f"{name} {version}" for name, version in origin["packages"].items())
        about = {"hardmax": origin["version"], "python": origin["python"], "packages": packages}
        pairs = [*about.items(), *((key, str(origin[key])) for key in ("machine", "seed"))]
        parts += [to.heading("How it was made"), to.facts(pairs)]
    return parts


def _section(to: _Html | _Markdown, result: Result) -> list[str]:
    """What one item found, its pictures, tables and files."""
    if result.outcome is None:
        return [to.text(_problem(result))]
    files = ", ".join(f"{result.item.name}/{name}" for name in result.files) or "none"
    time = f"Made in {result.seconds:.1f} s ({result.processor_seconds:.1f} s of processor time)."
    return [
        to.facts(_texts(result, _columns([result]))),
        *to.pictures(result.item.name, result.pictures),
        *map(to.table, result.tables),
        to.text(f"Files: {files}. {time}"),
    ]


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
