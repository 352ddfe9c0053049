"""`hardmax explore`: open questions of the theory, explored with saved evidence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardmax.cli import experiments, inputs
from hardmax.cli.output import print_json

if TYPE_CHECKING:
    from hardmax.experiments.run import Result


def command(
    names: experiments.Names = None,
    output: experiments.Folder = Path("hardmax-evidence"),
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, help="Number of random trials per row. Default: by question.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed for all random choices.")] = 0,
    quick: experiments.Quick = False,
    listing: Annotated[bool, typer.Option("--list", help="Print the questions and the stored cases and stop.")] = False,
    replay: Annotated[
        str | None,
        typer.Option("--replay", metavar="CASE", help="Check an exact case: a stored name, a .json file, or all."),
    ] = None,
    force: experiments.Again = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Explore open questions. An interrupted run resumes with the same command; exact cases can be replayed.

    Exit code 6 if a replayed case does not hold. Example: hardmax explore --replay two-definite-heads-period-2
    """
    if replay is not None:
        if names:
            raise typer.BadParameter("--replay CASE does not run questions", param_hint="NAME")
        _replay(replay, json)
        return
    if listing:
        _list(names or [], json)
        return
    from hardmax.experiments.provenance import provenance

    found, report = experiments.run_group(
        "questions", names, output, seed=seed, quick=quick, force=force, silent=quiet or json,
        options={"trials": trials}, replace=False,
    )  # fmt: skip
    document = {
        "schema": "hardmax.explore/1",
        "report": str(report),
        "questions": [_entry(result, output) for result in found if result.outcome is not None],
        "missing": {result.item.name: result.problem for result in found if result.outcome is None},
        "source": provenance(seed),
    }
    experiments.finish(found, document, experiments.answer_line, json)


def _entry(result: "Result", output: Path) -> dict[str, Any]:
    assert result.outcome is not None
    return {
        "name": result.item.name, "question": result.item.title, "answer": result.outcome.answer,
        "settings": result.settings, "tables": experiments.tables(result), "files": experiments.files(result, output),
        "seconds": result.seconds, "kept": result.status == "kept",
    }  # fmt: skip


def _replay(name: str, json: bool) -> None:
    from hardmax.experiments.questions.cases import check, load, stored

    results: list[dict[str, Any]] = []
    for each in stored() if name == "all" else [name]:
        case, changed = load(each)
        wrong = [*changed, *check(case)]
        results.append({
            "name": case["name"], "statement": case["statement"], "kind": case.kind, "matrices": case["matrices"],
            "heads": len(case["heads"]), "n": len(case["tokens"]), "dim": len(case["tokens"][0]),
            "alpha": str(case["alpha"]), "period": case["period"], "ties": case["ties"], "holds": not wrong,
            "wrong": wrong,
        })  # fmt: skip
    if json:
        print_json({"schema": "hardmax.explore/1", "cases": results})
    else:
        for result in results:
            print(f"{result['name']}: {'holds' if result['holds'] else 'DOES NOT HOLD'}")
            print(f"  {result['statement']}")
            shape = f"n = {result['n']}, d = {result['dim']}, heads {result['heads']}, alpha = {result['alpha']}"
            print(f"  {shape}, {result['matrices']}, {result['kind']} of period {result['period']}")
            for text in result["wrong"]:
                print(f"  wrong: {text}")
    if not all(result["holds"] for result in results):
        raise typer.Exit(6)


def _list(names: list[str], json: bool) -> None:
    from hardmax.experiments.item import select
    from hardmax.experiments.questions.cases import load, stored

    items = select("questions", names)
    if json:
        cases = [{"name": name, "statement": load(name)[0]["statement"]} for name in stored()]
        asked = [{"name": item.name, "question": item.title} for item in items]
        print_json({"schema": "hardmax.explore/1", "questions": asked, "cases": cases})
        return
    for item in items:
        print(f"{item.name:15s} {item.title}")
    print("\nexact cases, for --replay:")
    for name in stored():
        print(f"  {name}")
