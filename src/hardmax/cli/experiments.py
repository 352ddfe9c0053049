"""What `reproduce`, `explore` and `study` share: options, progress, the folder with its report, exit codes."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardmax.cli import texts
from hardmax.cli.output import note, print_json
from hardmax.errors import BadInput

if TYPE_CHECKING:
    from hardmax.experiments.run import Result

Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Names, as --list shows. Default: all.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed for all random choices.")]
Quick = Annotated[bool, typer.Option("--quick", help="Use less data and fewer steps: everything within minutes.")]
Listing = Annotated[bool, typer.Option("--list", help="Print the names and stop.")]
Folder = Annotated[Path, typer.Option("-o", "--output", help="Folder for the results and the report.")]
Again = Annotated[bool, typer.Option("--force", help="Run everything again, including trained models.")]


def run_group(
    package: str,
    names: list[str] | None,
    output: Path,
    *,
    seed: int,
    quick: bool,
    force: bool,
    silent: bool,
    options: dict[str, Any] | None = None,
    replace: bool = True,
) -> tuple["list[Result]", Path]:
    """Run the named items of a group into a folder; returns their results and the path of the report.

    After Ctrl-C the report of everything that is finished is written, and the command that resumes is printed.
    """
    from hardmax.experiments.item import GROUPS, minutes, select
    from hardmax.experiments.run import run_items

    group, items = GROUPS[package], select(package, names or [])
    _check_folder(package, output)
    if not quick and len(items) > 1 and minutes(items) >= 1:
        note(f"about {minutes(items):.0f} min on two cores; an interrupted run can be resumed", silent)
    found: list[Result] = []
    try:
        with texts.telling(silent, f"running {len(items)} of the {group.plural}") as tell:
            for result in run_items(
                items, output, seed=seed, quick=quick, options=options, force=force, replace=replace, progress=tell,
                note=lambda text: note(text, silent),
            ):  # fmt: skip
                found.append(result)
                if result.outcome is None:
                    note(f"{result.item.name}: {result.problem}\n  fix:   {result.fix}", silent)
    except KeyboardInterrupt:
        _report(package, output, found)
        again = shlex.join(["hardmax", *(word for word in sys.argv[1:] if word != "--force")])
        print(
            f"\ninterrupted; {len(found)} of {len(items)} finished; what is done is in {output}\n  resume: {again}",
            file=sys.stderr,
        )
        sys.exit(130)
    return found, _report(package, output, found)


def finish(found: "list[Result]", document: dict[str, Any], line: "Callable[[Result], str]", json: bool) -> None:
    """Print the results, and leave with 0 if all are there, 7 if some are, else with the code of the first error.

    Args:
        line: the lines for one result that is there.
    """
    if json:
        print_json(document)
    else:
        for result in found:
            missing = f"{result.item.name}: {result.status}: {result.problem}"
            print(missing if result.outcome is None else line(result))
        print(document["report"])
    bad = [result for result in found if result.outcome is None]
    raise typer.Exit(0 if not bad else 7 if len(bad) < len(found) else bad[0].exit_code)


def files(result: "Result", output: Path) -> list[str]:
    """The paths of the files of a result."""
    return [str(output / result.item.name / name) for name in result.files]


def tables(result: "Result") -> dict[str, Any]:
    """The rows of the tables of a result as plain data, by the name of the table."""
    return {table.name: table.records() for table in result.tables}


def answer_line(result: "Result") -> str:
    """A question or a study with its answer."""
    assert result.outcome is not None
    spent = "kept from an earlier run" if result.status == "kept" else f"{result.seconds:.1f} s"
    return f"{result.item.name} ({spent})\n  {result.item.title}\n  {result.outcome.answer}"


def _report(package: str, output: Path, found: "list[Result]") -> Path:
    """Write the report of this run's items and of those that were finished earlier."""
    from hardmax.experiments.report import write_reports
    from hardmax.experiments.run import finished_in

    every = {**finished_in(package, output), **{result.item.name: result for result in found}}
    if not every:
        return output
    output.mkdir(exist_ok=True)
    return write_reports(output, package, list(every.values()))[0]


def _check_folder(package: str, output: Path) -> None:
    """Refuse a folder with other things in it, because results are replaced there."""
    from hardmax.experiments.context import JOURNAL, MODELS
    from hardmax.experiments.item import items

    if output.exists() and not output.is_dir():
        raise BadInput(f"{output} is a file; expected a folder", fix="use another name after -o")
    if not output.parent.is_dir():
        raise BadInput(f"{output}: the folder {output.parent} does not exist", fix="create the folder first")
    if output.is_dir() and not (output / "report.md").exists():
        known = {MODELS, JOURNAL, "report.html", *(item.name for item in items(package))}
        other = sorted(path.name for path in output.iterdir() if path.name not in known)
        if other:
            shown = ", ".join(other[:5])
            raise BadInput(f"{output} holds other files than a report", found=shown, fix="use an empty or a new folder")
