"""Write the measured tables of the documentation and README.md: `python scripts/benchmark_page.py`.

Every benchmark stores its tables in benchmarks/results (benchmarks/record.py). A table stands between the comments
`<!-- bench: NAME -->` and `<!-- end -->`; below it, its origin is named. `readme` is made from rows of the others. A
test compares the pages with the stored results.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [*(ROOT / "docs" / name for name in ("benchmarks.md", "testing.md", "index.md")), ROOT / "README.md"]
BLOCK = re.compile(r"<!-- bench: (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def table(name: str) -> dict[str, Any]:
    """A stored table: head, rows, origin."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table as Markdown.

    Example:
        >>> print(markdown(["n", "time"], [["10", "16 us"]]))
        | n | time |
        |---|---|
        | 10 | 16 us |
    """
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)])


def origin(of: dict[str, Any]) -> str:
    """Where a table comes from, in a line."""
    packages = ", ".join(f"{name} {version}" for name, version in sorted(of["packages"].items()))
    return f"*{of['processor']}, {of['machine']}; Python {of['python']}, {packages}.*"


def block(name: str) -> str:
    """What stands between the comments."""
    if name == "readme":
        return readme()
    stored = table(name)
    return f"{markdown(stored['head'], stored['rows'])}\n\n{origin(stored['origin'])}"


def row_of(name: str, first: tuple[str, ...]) -> dict[str, str]:
    """The row of a stored table that begins with these cells."""
    stored = table(name)
    found = next(row for row in stored["rows"] if tuple(row[: len(first)]) == first)
    return dict(zip(stored["head"], found, strict=True))


def readme() -> str:
    """The figures that say most, with their peers."""
    layer = row_of("engine-layer", ("100,000", "2"))
    batch = row_of("engine-batch", ("15,000",))
    limit = row_of("engine-limit", ("Gaussian", "1,000,000", "2"))
    first = row_of("start", ("`hardmax limit --preset square-ties`",))
    ours, theirs, ratio = (table("classifier-speed")["rows"][k][-1] for k in (0, 1, 2))
    explanations = table("classifier-explanations")
    cost = explanations["head"].index("per text")
    by = {row[0].split(",")[0]: row[cost] for row in reversed(explanations["rows"])}  # the default number of samples
    explain, peers = by["hardmax"], [f"{name} {by[name]}" for name in ("LIME", "SHAP partition")]
    training = table("construct-training")["rows"][0]
    rows = [
        ["one layer, 100,000 tokens in the plane", layer["hardmax"],
         f"dense NumPy {layer['dense NumPy']}, torch {layer['torch (float32)']}, FAISS {layer['FAISS (float32)']}"
         " as long"],
        ["15,000 clouds of 128 tokens, 8 layers", batch["hardmax"],
         f"stacked NumPy {batch['stacked NumPy']}, torch {batch['torch (float32)']} as long"],
        ["certified limit of 1,000,000 tokens in the plane", limit["limit"],
         f"the limit takes {limit['in sorts']}x as long as `np.sort` of 1,000,000 numbers"],
        ["first `hardmax limit` after installation", f"{first['first']} s",
         f"`import sklearn` takes {float(first['first']) / float(first['first / import sklearn']):.2f} s"],
        ["label 1,000 film reviews from raw text", f"{ours} ms", f"TF-IDF + logistic regression {theirs} ms ({ratio})"],
        ["explain one review, with the effect of every word (warm)", explain, ", ".join(peers)],
        ["memorize 10,000 random labels", training[0], f"torch, trained ten times as long: {training[1]}"],
    ]  # fmt: skip
    made = markdown(["task (processor time, 2 cores)", "hardmax", "alternatives, measured in the same run"], rows)
    return re.sub(r"(\d+\.\d+) ms", lambda found: f"{float(found[1]):.3g} ms", made)


def filled(text: str) -> str:
    """A page with its tables as they are stored."""
    return BLOCK.sub(lambda m: f"<!-- bench: {m[1]} -->\n{block(m[1])}\n<!-- end -->", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page.relative_to(ROOT))
