"""`hardmax demo`: the whole product once, and an HTML report."""

import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.output import print_json


def command(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the report.")] = Path("demo-report"),
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the training of the classifier.")] = False,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Run the whole product once and write an HTML report.

    It simulates the four configurations of the paper's Fig. 2 and certifies their limits, compiles an exact
    classifier, and trains a classifier on 25,000 film reviews (extra imdb).
    """
    inputs.check_output(output, force)

    from hardmax.demo.report import write_demo

    silent = quiet or json
    if not silent and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("demo", total=None)
            report = write_demo(
                output,
                lambda done, total, what: bar.update(task, completed=done, total=total, description=what),
                quick=quick,
            )
    else:
        report = write_demo(output, None if silent else _lines(), quick=quick)
    files = sorted(str(p) for p in output.rglob("*") if p.is_file())
    if json:
        print_json(
            {"schema": "hardmax.demo/1", "report": str(report), "files": files,
             "figures": [f for f in files if f.endswith((".png", ".gif", ".svg"))]}
        )  # fmt: skip
    else:
        print(report)


def _lines() -> Callable[[int, int, str], None]:
    """A line for every step, and within a step one every few seconds."""
    last = [-1, 0.0]

    def tell(done: int, total: int, what: str) -> None:
        if done != last[0] or monotonic() - last[1] > 3:
            print(f"[{done}/{total}] {what}", file=sys.stderr, flush=True)
            last[:] = [done, monotonic()]

    return tell
