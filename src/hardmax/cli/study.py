"""`hardmax study`: three studies with random clouds and real reviews."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.cli import experiments, inputs
from hardmax.cli.output import print_json

if TYPE_CHECKING:
    from hardmax.experiments.run import Result

SCHEMA = "hardmax.study/1"


def command(
    names: experiments.Names = None,
    output: experiments.Folder = Path("studies"),
    quick: experiments.Quick = False,
    seed: experiments.Seed = 0,
    listing: experiments.Listing = False,
    force: experiments.Again = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Run the studies of finite depth, robustness and ablation, and write tables, figures and a report.

    An interrupted run resumes when the same command is given again. Example: hardmax study finite-depth -o studies
    """
    if listing:
        _list(names or [], json)
        return
    found, report = experiments.run_group(
        "studies", names, output, seed=seed, quick=quick, force=force, silent=quiet or json
    )
    entries = [_entry(result, output) for result in found]
    about = {"schema": SCHEMA, "report": str(report), "quick": quick, "seed": seed, "studies": entries}
    experiments.finish(found, about, experiments.answer_line, json)


def _entry(result: "Result", output: Path) -> dict[str, Any]:
    entry = {"name": result.item.name, "question": result.item.title, "status": result.status}
    if result.outcome is None:
        return {**entry, "problem": result.problem, "fix": result.fix}
    return {
        **entry, "answer": result.outcome.answer, "numbers": result.outcome.numbers, "settings": result.settings,
        "tables": experiments.tables(result), "files": experiments.files(result, output), "seconds": result.seconds,
    }  # fmt: skip


def _list(names: list[str], json: bool) -> None:
    from hardmax.experiments.item import select

    items = select("studies", names)
    if json:
        rows = [{"name": item.name, "question": item.title, "minutes": item.minutes} for item in items]
        print_json({"schema": SCHEMA, "studies": rows})
        return
    for item in items:
        print(f"{item.name:15s} {item.title} [{item.minutes:g} min]")
