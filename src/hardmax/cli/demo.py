"""`hardmax demo`: a tour of all features, and an HTML report."""

from pathlib import Path
from typing import Annotated

from typer import Option

from hardmax.cli import inputs
from hardmax.cli.output import show
from hardmax.io.progress import telling


def command(
    output: Annotated[Path, inputs.output("Folder for the report.")] = Path("demo-report"),
    quick: Annotated[bool, Option("--quick", help="Skip training the classifier.")] = False,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Try all features once and write an HTML report.

    The demo simulates the four configurations of the paper's Fig. 2 and certifies their limits, compiles an exact
    classifier, and trains a classifier on 25,000 film reviews (extra imdb).

    Example: hardmax demo -o report
    """
    inputs.check_folder(output)
    inputs.check_output(output, force)

    from hardmax.demo.report import write_demo

    with telling(quiet or json, "running the demo") as tell:
        report = write_demo(output, tell, quick=quick)
    files = sorted(str(p) for p in output.rglob("*") if p.is_file())
    figures = [file for file in files if file.endswith((".png", ".gif", ".svg"))]
    document = {"schema": "hardmax.demo/1", "report": str(report), "files": files, "figures": figures}
    show(json, document, str(report))
