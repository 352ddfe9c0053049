"""Make the research note: `python scripts/paper.py` writes paper.html, and paper.pdf where a Chromium is installed.

The tables of docs/paper.md and of the pages beside it are those of stored runs, docs/studies/NAME.json. They stand
between comments, <!-- NAME: table --> and <!-- end -->; `--fill` writes them, a test compares. To store new runs:

    hardmax explore laws -o evidence && python scripts/paper.py --store evidence/laws
    hardmax study ablation -o studies && python scripts/paper.py --store studies/ablation
"""

import argparse
import json
import re
import shutil
import subprocess
from pathlib import Path

from formulas import Formulas, Letters

from hardmax.experiments.table import read_table

ROOT = Path(__file__).parent.parent
NOTE, STORED = ROOT / "docs" / "paper.md", ROOT / "docs" / "studies"
BLOCK = re.compile(r"<!-- ([a-z-]+): (\S+) -->\n.*?<!-- end -->", re.DOTALL)
STYLE = """@page { size: A4; margin: 20mm }
body { font: 10.5pt/1.38 Georgia, serif; max-width: 46em; margin: auto }
table { border-collapse: collapse; font-size: 8.5pt; margin: 1em 0 }
td, th { border-bottom: 1px solid #ccc; padding: 1px 6px }
pre { font-size: 9pt } img { display: block; max-width: 72%; margin: auto }
h1 { font-size: 19pt } h2 { font-size: 14pt; margin-top: 1.6em }"""


def filled(text: str) -> str:
    """A page with the tables and the answers of the stored runs."""

    def block(found: re.Match[str]) -> str:
        run, name = found.groups()
        if not (STORED / f"{run}.json").exists():  # a block of somebody else, such as the benchmarks'
            return found[0]
        record = json.loads((STORED / f"{run}.json").read_text(encoding="utf-8"))
        tables = {table["name"]: read_table(table) for table in record["tables"]}
        body = record["answer"] if name == "answer" else f"{tables[name].caption}:\n\n{tables[name].markdown()}"
        return f"<!-- {run}: {name} -->\n{body}\n<!-- end -->"

    return BLOCK.sub(block, text)


def pages() -> list[Path]:
    """All pages with tables of stored runs."""
    every = sorted((ROOT / "docs").rglob("*.md"))
    return [path for path in every if BLOCK.search(path.read_text(encoding="utf-8"))]


def store(folder: Path) -> None:
    """Keep the tables, the answer, the origin and the figures of a run."""
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    kept = {name: record[name] for name in ("answer", "numbers", "settings", "provenance", "tables")}
    (STORED / f"{folder.name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for picture in folder.glob("*.png"):
        shutil.copy(picture, ROOT / "docs" / "images" / "studies" / f"{folder.name}-{picture.name}")


def html(text: str) -> str:
    """The note as one page; pictures are found beside the Markdown file."""
    import markdown

    body = markdown.markdown(text, extensions=["tables", Formulas(), Letters()])
    return f'<!doctype html><meta charset="utf-8"><title>Hardmax attention</title><style>{STYLE}</style>{body}\n'


def main() -> None:
    """Store a run, fill the tables, or make the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="folder of a run, such as evidence/laws; implies --fill")
    parser.add_argument("--fill", action="store_true", help="write the tables into the pages")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "paper.html")
    given = parser.parse_args()
    if given.store:
        store(given.store)
    if given.store or given.fill:
        for path in pages():
            path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
        return
    page = html(NOTE.read_text(encoding="utf-8")).replace('src="images/', f'src="{(NOTE.parent / "images").as_uri()}/')
    given.output.write_text(page, encoding="utf-8")
    print(given.output)
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser:
        pdf = given.output.with_suffix(".pdf")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={pdf}"]
        subprocess.run([browser, *options, given.output.as_uri()], check=True, capture_output=True, timeout=120)
        print(pdf)


if __name__ == "__main__":
    main()
