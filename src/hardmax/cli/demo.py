"""`hardmax demo`: the whole product once, and an HTML report."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.output import print_json


def command(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the report.")] = Path("demo-report"),
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Run the whole product once and write an HTML report.

    It simulates the four configurations of the paper's Fig. 2, certifies their limits and draws them.
    """
    inputs.check_output(output, force)

    from hardmax.plot.report import write_demo

    silent = quiet or json
    if not silent and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("demo", total=None)
            report = write_demo(
                output,
                progress=lambda done, total, what: bar.update(task, completed=done, total=total, description=what),
            )
    else:
        report = write_demo(
            output,
            progress=lambda done, total, what: None if silent else print(f"[{done}/{total}] {what}", file=sys.stderr),
        )
    files = sorted(str(p) for p in output.rglob("*") if p.is_file())
    if json:
        print_json(
            {"schema": "hardmax.demo/1", "report": str(report), "files": files,
             "figures": [f for f in files if f.endswith((".png", ".gif", ".svg"))]}
        )  # fmt: skip
    else:
        print(report)
