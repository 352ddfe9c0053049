"""HTML pages without a script: a document, tables, lists of facts. Everything that is text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from hardmax.io.documents import readable

NO_SCRIPT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #666; --paper: #fdfdfb; --line: #dcd9d0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e4de; --soft: #a5a29a; --paper: #1b1b1a; --line: #3c3b38; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 64rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; font-weight: 600; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .3rem; font-weight: 600; }
p { margin: .5rem 0; max-width: 46rem; }
.soft { color: var(--soft); }
figure { margin: 1rem 0; }
figcaption { color: var(--soft); font-size: .92rem; margin-top: .4rem; max-width: 46rem; }
figure img, figure svg { display: block; max-width: 100%; height: auto; background: #fff; padding: 8px;
  border: 1px solid var(--line); border-radius: 6px; }
figure.wide { overflow-x: auto; }
figure.wide img, figure.wide svg { min-width: 42rem; }
.pair { display: flex; flex-wrap: wrap; gap: 0 2.5rem; align-items: flex-start; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; margin: 1rem 0; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
"""


def page(title: str, body: Iterable[str], policy: str = "") -> str:
    """A whole HTML document around parts that are HTML already; `policy` is its Content-Security-Policy."""
    rule = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">\n' if policy else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{rule}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of text; every cell is escaped."""
    top = "".join(f'<th scope="col">{escape(str(h))}</th>' for h in head)
    lines = "\n".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll"><table>\n<caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """A list of names and values."""
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in pairs) + "</dl>"


def point(row: Iterable[Any]) -> str:
    return "(" + ", ".join(readable(x) for x in row) + ")"
