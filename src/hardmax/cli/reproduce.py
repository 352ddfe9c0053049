"""`hardmax reproduce`: the figures and tables of the papers, beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardmax.cli import experiments, inputs
from hardmax.cli.output import print_json
from hardmax.errors import need

if TYPE_CHECKING:
    from hardmax.experiments.run import Result


def command(
    names: experiments.Names = None,
    output: experiments.Folder = Path("reproduction"),
    quick: experiments.Quick = False,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Number of epochs of the paper's training (default: 100, as there).")
    ] = None,
    seed: experiments.Seed = 0,
    listing: experiments.Listing = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what is finished with the same settings (this is the default).")
    ] = False,
    force: experiments.Again = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Reproduce the figures and tables of the papers and write a report with the paper's numbers beside ours.

    An interrupted run resumes when the same command is given again. Example: hardmax reproduce fig1 fig2 -o report
    """
    if listing:
        _list(names or [], json)
        return
    if resume and force:
        raise typer.BadParameter("--resume keeps what is finished, --force runs it again", param_hint="--force")
    from hardmax.experiments.item import select, whole

    select("reproduce", names or [])  # bad input is reported before a missing extra
    whole("--epochs", 1 if epochs is None else epochs, least=1)
    whole("--seed", seed, least=0)
    for package in ("matplotlib", "PIL"):
        need(package, "plot", "hardmax reproduce")  # every item draws: better to say so before the work
    found, report = experiments.run_group(
        "reproduce",
        names,
        output,
        seed=seed,
        quick=quick,
        force=force,
        silent=quiet or json,
        options={"epochs": epochs},
    )
    entries = [_entry(result, output) for result in found]
    about = {"schema": "hardmax.reproduce/1", "report": str(report), "quick": quick, "seed": seed, "items": entries}
    experiments.finish(found, about, _line, json)


def _entry(result: "Result", output: Path) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": result.item.name, "place": result.item.source, "status": result.status}
    if result.outcome is None:
        return {**entry, "files": [], "paper": None, "ours": None, "problem": result.problem, "fix": result.fix}
    outcome = result.outcome
    return {
        **entry, "seconds": result.seconds, "processor_seconds": result.processor_seconds,
        "files": experiments.files(result, output), "paper": outcome.paper, "ours": outcome.answer,
        "differs": outcome.differs, "numbers": outcome.numbers,
    }  # fmt: skip


def _line(result: "Result") -> str:
    assert result.outcome is not None
    return f"{result.item.name}: {result.status}\n  paper: {result.outcome.paper}\n  ours:  {result.outcome.answer}"


def _list(names: list[str], json: bool) -> None:
    from hardmax.experiments.item import select

    items = select("reproduce", names)
    if json:
        rows = [
            {"name": i.name, "aliases": list(i.aliases), "place": i.source, "title": i.title, "minutes": i.minutes}
            for i in items
        ]
        print_json({"schema": "hardmax.reproduce/1", "items": rows})
        return
    for item in items:
        also = f" ({', '.join(item.aliases)})" if item.aliases else ""
        time = f"{item.minutes:g} min" if item.minutes >= 1 else "seconds"
        print(f"{item.name + also:32s} {item.source:20s} {item.title} [{time}]")
