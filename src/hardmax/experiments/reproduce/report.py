"""The papers beside our runs, on one self-contained HTML page and in one Markdown file.

Everything that comes from data (words of reviews above all) is escaped.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from hardmax.experiments.reproduce.items import ITEMS, Outcome, Table
from hardmax.experiments.reproduce.runner import Finished
from hardmax.io.files import write_file

TITLE = "The papers, run again"
PAPERS = (
    ("[AFZ24]", "Alcalde, Fantuzzi, Zuazua, Clustering in pure-attention hardmax transformers and its role in "
     "sentiment analysis, SIAM J. Math. Data Sci. 7(3):1367-1393 (2025), arXiv 2407.01602"),
    ("[AFZ25]", "the same authors, Exact sequence interpolation with transformers, arXiv 2502.02270"),
)  # fmt: skip
HEAD = ("what", "paper", "ours", "what differs and why")
# Text in cells may wrap here; the tables of numbers of the page do not.
WRAP = ' style="white-space:normal;text-align:left;vertical-align:top;min-width:11rem"'


def write_reports(folder: Path, found: Sequence[Finished]) -> tuple[Path, Path]:
    """Write report.html and report.md for some items, in the order of the papers; returns their paths."""
    place = {item.name: k for k, item in enumerate(ITEMS)}
    items = sorted(found, key=lambda each: place[each.item.name])
    texts = {"report.html": html_report(folder, items), "report.md": markdown_report(items)}
    paths = [_write_text(folder / name, text) for name, text in texts.items()]
    return paths[0], paths[1]


def _write_text(path: Path, text: str) -> Path:
    return write_file(path, text)


def html_report(folder: Path, items: Sequence[Finished]) -> str:
    """One page with the table of all items, then a section for each."""
    from hardmax.html.page import facts, page

    body = [
        f"<h1>{TITLE}</h1>",
        f"<p>{escape(_opening(items))}</p>",
        facts(PAPERS),
        _summary(items),
    ]
    for each in items:
        body += _section(folder, each)
    origin = next((each.origin for each in items if each.origin), None)
    if origin:
        body += ["<h2>How it was made</h2>", facts(_origin(origin))]
    return page(TITLE, body)


def _opening(items: Sequence[Finished]) -> str:
    done = [each for each in items if each.outcome is not None]
    quick = any((each.origin or {}).get("quick") for each in done)
    text = f"{len(done)} of {len(ITEMS)} figures and tables of two papers, made again by this package."
    if quick:
        text += " This is a quick run with less data and fewer steps: it shows that everything works; for numbers to "
        text += "compare, run it without --quick."
    left = [each.item.name for each in items if each.outcome is None]
    return text + (f" Not made: {', '.join(left)}." if left else "")


def _summary(items: Sequence[Finished]) -> str:
    top = "".join(f'<th scope="col"{WRAP}>{h}</th>' for h in HEAD)
    lines = []
    for each in items:
        what = f'<a href="#{each.item.name}">{escape(each.item.title)}</a>'
        what += f'<br><span class="soft">{escape(each.item.place)}</span>'
        cells = "".join(f"<td{WRAP}>{escape(text)}</td>" for text in _row(each))
        lines.append(f"<tr><td{WRAP}>{what}</td>{cells}</tr>")
    return (
        f'<div class="scroll"><table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _row(each: Finished) -> tuple[str, str, str]:
    if each.outcome is None:
        return "", f"{each.status}: {each.problem}", each.fix
    return each.outcome.paper, each.outcome.ours, each.outcome.differs


def _section(folder: Path, each: Finished) -> list[str]:
    from hardmax.html.page import facts, picture, table

    heading = f'<h2 id="{each.item.name}">{escape(each.item.title)}</h2>'
    if each.outcome is None:
        return [heading, f'<p class="soft">{escape(each.status)}: {escape(each.problem)}. {escape(each.fix)}</p>']
    outcome = each.outcome
    rows = zip(("paper", "ours", "differs"), _row(each), strict=True)
    parts = [heading, f'<p class="soft">{escape(each.item.place)}</p>', facts(rows)]
    here = folder / each.item.name
    wide = [p for p in outcome.pictures if p.width is None]
    small = [p for p in outcome.pictures if p.width is not None]
    parts += [picture(here / p.file, p.text) for p in wide]
    if small:
        parts += ['<div class="pair">', *(picture(here / p.file, p.text, width=p.width) for p in small), "</div>"]
    parts += [table(t.caption, t.head, t.rows) for t in outcome.tables]
    files = ", ".join(f"{each.item.name}/{name}" for name in outcome.files)
    parts.append(
        f'<p class="soft">Files: {escape(files)}. Made in {each.seconds:.1f} s '
        f"({each.processor_seconds:.1f} s of processor time).</p>"
    )
    return parts


def _origin(origin: dict[str, Any]) -> list[tuple[str, str]]:
    packages = ", ".join(f"{name} {version}" for name, version in origin["packages"].items())
    first = [("hardmax", origin["version"]), ("python", origin["python"]), ("packages", packages)]
    return [(key, str(value)) for key, value in (*first, ("machine", origin["machine"]), ("seed", origin["seed"]))]


def markdown_report(items: Sequence[Finished]) -> str:
    """The same in Markdown; pictures are links to the files beside it."""
    lines = [f"# {TITLE}", "", cell(_opening(items)), "", *(f"- **{key}** {text}" for key, text in PAPERS), ""]
    lines += _pipes(HEAD, [(f"{each.item.title} ({each.item.place})", *_row(each)) for each in items])
    for each in items:
        lines += ["", f"## {each.item.title}", ""]
        if each.outcome is None:
            lines.append(cell(f"{each.status}: {each.problem}. {each.fix}"))
            continue
        lines += _details(each, each.outcome)
    origin = next((each.origin for each in items if each.origin), None)
    if origin:
        lines += ["", "## How it was made", "", *(f"- {key}: {cell(text)}" for key, text in _origin(origin))]
    return "\n".join(lines) + "\n"


def _details(each: Finished, outcome: Outcome) -> list[str]:
    lines = [f"- **{key}** {cell(text)}" for key, text in zip(("paper:", "ours:", "differs:"), _row(each), strict=True)]
    for picture in outcome.pictures:
        lines += ["", f"![{cell(picture.text)}]({each.item.name}/{picture.file})"]
    for one in outcome.tables:
        lines += ["", cell(one.caption), "", *_pipes(one.head, one.rows)]
    return [*lines, "", f"Files: {', '.join(f'`{each.item.name}/{name}`' for name in outcome.files)}"]


def _pipes(head: Sequence[str], rows: Sequence[Sequence[Any]] | Table) -> list[str]:
    every = [head, ["---"] * len(head), *rows]  # type: ignore[misc]
    return ["| " + " | ".join(cell(c) if k != 1 else str(c) for c in row) + " |" for k, row in enumerate(every)]


def cell(value: Any) -> str:
    """Text for Markdown: what would be read as a mark, a tag or the end of a cell is escaped.

    Example:
        >>> cell("a|b <i> *c*")
        'a\\\\|b &lt;i&gt; \\\\*c\\\\*'
    """
    text = escape(" ".join(str(value).split()), quote=False)
    return "".join("\\" + c if c in "\\|*_`[]#" else c for c in text)
