"""`hardmax explore`: open questions of the theory, probed with saved evidence."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardmax.cli import inputs, texts
from hardmax.cli.output import note, print_json

if TYPE_CHECKING:
    from hardmax.experiments.questions.runner import Report

DEFAULT_FOLDER = Path("hardmax-evidence")


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Questions (see --list). Default: all.")
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the evidence.")] = DEFAULT_FOLDER,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, help="Random trials for every row. Default: by question.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all random choices.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: a minute or two for all questions.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Print the questions and stored cases; stop.")] = False,
    replay: Annotated[
        str | None,
        typer.Option("--replay", metavar="CASE", help="Check an exact case: a stored name, a .json file, or all."),
    ] = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Explore open questions; an interrupted run goes on with the same command, and exact cases can be replayed.

    Exit code 6 if a replayed case does not hold. Example: hardmax explore --replay two-definite-heads-period-2
    """
    silent = quiet or json
    if replay is not None:
        if names:
            raise typer.BadParameter("--replay CASE runs no question", param_hint="NAME")
        _replay(replay, json)
        return

    from hardmax.experiments.questions import registry, runner

    if listing:
        _list(registry.select(names or []), json)
        return
    try:
        with texts.telling(silent, "exploring") as tell:
            report = runner.run(
                names or [], output, seed=seed, trials=trials, quick=quick, force=force, progress=tell
            )  # fmt: skip
    except KeyboardInterrupt:
        again = shlex.join(["hardmax", *(a for a in sys.argv[1:] if a != "--force")])
        print(f"\ninterrupted; what is done is in {output}\n  resume: {again}", file=sys.stderr)
        sys.exit(130)
    if json:
        print_json(report.document())
    else:
        _print(report, output)
    for error in report.missing.values():
        note(f"warning: {error}", silent)
    if report.missing:
        raise typer.Exit(7)


def _replay(name: str, json: bool) -> None:
    from hardmax.experiments.questions.cases import load, stored
    from hardmax.experiments.questions.cases import replay as check

    results: list[dict[str, Any]] = []
    for each in stored() if name == "all" else [name]:
        case, changed = load(each)
        wrong = [*changed, *check(case)]
        results.append({
            "name": case.name, "statement": case.statement, "kind": case.kind, "matrices": case.matrices,
            "heads": len(case.heads), "n": len(case.tokens), "dim": len(case.tokens[0]), "alpha": str(case.alpha),
            "period": case.period, "ties": case.ties, "holds": not wrong, "wrong": wrong,
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
    from hardmax.experiments.questions.cases import load, stored
    from hardmax.experiments.questions.registry import QUESTIONS

    if json:
        cases = [{"name": name, "statement": load(name)[0].statement} for name in stored()]
        asked = [{"name": name, "question": QUESTIONS[name]} for name in names]
        print_json({"schema": "hardmax.explore/1", "questions": asked, "cases": cases})
        return
    for name in names:
        print(f"{name:15s} {QUESTIONS[name]}")
    print("\nexact cases, for --replay:")
    for name in stored():
        print(f"  {name}")


def _print(report: "Report", folder: Path) -> None:
    for answer in report.answers:
        spent = "kept from an earlier run" if answer.kept else f"{answer.seconds:.1f} s"
        print(f"{answer.name} ({spent})\n  {answer.document['question']}\n  {answer.document['answer']}")
    about = report.source
    print(f"evidence: {folder}  (seed {about['seed']}, hardmax {about['version']}, {about['machine']})")
