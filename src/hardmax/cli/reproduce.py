"""`hardmax reproduce`: the figures and tables of the papers, beside ours."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hardmax.cli import inputs, texts
from hardmax.cli.output import note, print_json
from hardmax.errors import BadInput, need

MARK = "report.md"  # a folder that holds it was made by this command


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="What to make; --list shows the names. Default: all."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the report.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Less data, fewer steps: everything within minutes.")] = False,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Epochs of the paper's training (default: its 100).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of all random choices.")] = 0,
    show: Annotated[bool, typer.Option("--list", help="Show what can be made, and how long it takes.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what is finished with the same settings (this is the default).")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Make everything anew, trained models included.")] = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Make the figures and tables of the papers again and write a report that shows both.

    An interrupted run goes on when the same command is given again. Example: hardmax reproduce fig1 fig2 -o report
    """
    from hardmax.experiments.reproduce.items import ITEMS, named

    items = named(names or ())
    if show:
        _list(items, json)
        return
    if resume and force:
        raise typer.BadParameter("--resume keeps what is finished, --force makes it anew", param_hint="--force")
    if epochs is not None and epochs < 1:
        raise BadInput(f"--epochs is {epochs}", fix="1 or more")
    if seed < 0:
        raise BadInput(f"--seed is {seed}", fix="0 or more")
    _check_folder(output)
    for package in ("matplotlib", "PIL"):
        need(package, "plot", "hardmax reproduce")  # every item draws: better to say so before the work
    silent = quiet or json
    try:
        found = _make(items, output, {"quick": quick, "seed": seed, "epochs": epochs}, force, silent)
    except KeyboardInterrupt:
        done = _report(output, [])[1]
        print(f"\ninterrupted; {done} of {len(ITEMS)} finished, training is kept up to its last epoch\n"
              f"  resume: {_again()}", file=sys.stderr)  # fmt: skip
        sys.exit(130)
    report, _ = _report(output, found)
    document = {
        "schema": "hardmax.reproduce/1",
        "report": str(report),
        "quick": quick,
        "seed": seed,
        "items": [_entry(each, output) for each in found],
    }
    if json:
        print_json(document)
    else:
        for each in found:
            print(_line(each))
        print(report)
    raise typer.Exit(_exit_code(found))


def _make(items: Any, output: Path, options: dict[str, Any], force: bool, silent: bool) -> list[Any]:
    """Make the items, telling how far they are."""
    from hardmax.experiments.reproduce.items import Context, minutes
    from hardmax.experiments.reproduce.runner import run_items

    if not options["quick"] and len(items) > 1:
        note(f"about {minutes(items):.0f} min on two cores; an interrupted run goes on where it stopped", silent)
    found: list[Any] = []
    with texts.telling(silent, f"making {len(items)} of the papers' figures and tables") as tell:

        def inside(done: float, total: float | None, what: str) -> None:
            item = items[min(len(found), len(items) - 1)]
            tell(done, total, f"[{len(found) + 1}/{len(items)}] {item.name}: {what}")

        base = Context(output, output, tell=inside, note=lambda text: note(text, silent), **options)
        for each in run_items(items, output, base, anew=force):
            found.append(each)
            if each.outcome is None:
                note(f"{each.item.name}: {each.problem}\n  fix:   {each.fix}", silent)
    return found


def _report(output: Path, found: list[Any]) -> tuple[Path, int]:
    """Write the report of this run's items and of those that were finished earlier; returns it and their number."""
    from hardmax.experiments.reproduce.report import write_reports
    from hardmax.experiments.reproduce.runner import finished_in

    if not output.is_dir():
        return output, 0
    every = {**finished_in(output), **{each.item.name: each for each in found}}
    return write_reports(output, list(every.values()))[0], sum(each.outcome is not None for each in every.values())


def _check_folder(output: Path) -> None:
    """Refuse a folder with other things in it: items are replaced there."""
    from hardmax.experiments.reproduce.items import ITEMS
    from hardmax.experiments.reproduce.runner import MODELS

    if output.exists() and not output.is_dir():
        raise BadInput(f"{output} is a file; expected the name of a folder", fix="another name after -o")
    if not output.parent.is_dir():
        raise BadInput(f"{output}: the folder {output.parent} does not exist", fix="create the folder first")
    if output.is_dir():
        known = {MODELS, "report.html", MARK, *(item.name for item in ITEMS)}
        other = sorted(p.name for p in output.iterdir() if p.name not in known)
        if other and not (output / MARK).exists():
            raise BadInput(
                f"{output} holds other things than a report", found=", ".join(other[:5]), fix="an empty or a new folder"
            )


def _entry(each: Any, output: Path) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": each.item.name, "place": each.item.place, "status": each.status}
    if each.outcome is None:
        return {**entry, "files": [], "paper": None, "ours": None, "problem": each.problem, "fix": each.fix}
    outcome = each.outcome
    return {
        **entry,
        "seconds": each.seconds,
        "processor_seconds": each.processor_seconds,
        "files": [str(output / each.item.name / name) for name in outcome.files],
        "paper": outcome.paper,
        "ours": outcome.ours,
        "differs": outcome.differs,
        "numbers": outcome.numbers,
    }


def _line(each: Any) -> str:
    if each.outcome is None:
        return f"{each.item.name}: {each.status}: {each.problem}"
    return f"{each.item.name}: {each.status}\n  paper: {each.outcome.paper}\n  ours:  {each.outcome.ours}"


def _exit_code(found: list[Any]) -> int:
    """0 if all are there, 7 if some are, else what stopped the first."""
    bad = [each for each in found if each.outcome is None]
    if not bad:
        return 0
    return 7 if len(bad) < len(found) else int(bad[0].exit_code)


def _list(items: Any, json: bool) -> None:
    if json:
        rows = [{"name": i.name, "aliases": list(i.aliases), "place": i.place, "title": i.title, "minutes": i.minutes}
                for i in items]  # fmt: skip
        print_json({"schema": "hardmax.reproduce/1", "items": rows})
        return
    for item in items:
        also = f" ({', '.join(item.aliases)})" if item.aliases else ""
        time = f"{item.minutes:g} min" if item.minutes >= 1 else "seconds"
        print(f"{item.name + also:32s} {item.place:20s} {item.title} [{time}]")


def _again() -> str:
    """The command that goes on from here: the same one, without --force."""
    return shlex.join(["hardmax", *(word for word in sys.argv[1:] if word != "--force")])
