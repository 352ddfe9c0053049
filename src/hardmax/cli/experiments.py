"""`hardmax reproduce`, `explore` and `study`: named experiments that run into a folder with a report."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Exit, Option

from hardmax.cli import inputs
from hardmax.cli.output import interrupted, note, show
from hardmax.errors import BadInput, need, whole
from hardmax.io.progress import telling

if TYPE_CHECKING:
    from hardmax.experiments.run import Result

Names = Annotated[list[str] | None, Argument(metavar="NAME...", help="Names from --list. Default: all.")]
Quick = Annotated[bool, Option("--quick", help="Use less data and fewer steps, so that everything takes minutes.")]
Listing = Annotated[bool, Option("--list", help="Print the names and exit.")]
Folder = Annotated[Path, inputs.output("Folder for the results and the report.")]
Again = Annotated[bool, Option("--force", help="Run everything again, including trained models.")]


def reproduce(
    names: Names = None,
    output: Folder = Path("reproduction"),
    quick: Quick = False,
    epochs: Annotated[
        int | None, Option(help="Number of epochs of the paper's training. Default: 100, as in the paper.")
    ] = None,
    seed: inputs.AnySeed = 0,
    listing: Listing = False,
    resume: Annotated[
        bool, Option("--resume", help="Keep what is finished with the same settings (this is the default).")
    ] = False,
    force: Again = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Reproduce the figures and tables of the papers and write a report with the paper's numbers beside ours.

    To resume an interrupted run, give the same command again.

    Example: hardmax reproduce fig1 fig2 -o report
    """
    from hardmax.experiments.item import select

    items = select("reproduce", names or [])  # bad input is reported before a missing extra
    if listing:
        rows = [
            {"name": i.name, "aliases": list(i.aliases), "place": i.source, "title": i.title, "minutes": i.minutes}
            for i in items
        ]
        lines = []
        for item in items:
            also = f" ({', '.join(item.aliases)})" if item.aliases else ""
            time = f"{item.minutes:g} min" if item.minutes >= 1 else "seconds"
            lines.append(f"{item.name + also:32s} {item.source:20s} {item.title} [{time}]")
        return show(json, {"schema": "hardmax.reproduce/1", "items": rows}, *lines)
    if resume and force:
        raise BadParameter("--resume keeps what is finished, --force runs it again", param_hint="--force")
    whole("--epochs", 1 if epochs is None else epochs, least=1)
    whole("--seed", seed, least=0)
    for package in ("matplotlib", "PIL"):
        need(package, "plot", "hardmax reproduce")  # every item draws: better to say so before the work
    found, report = _run(
        "reproduce", names, output, quiet or json, seed=seed, quick=quick, force=force, options={"epochs": epochs}
    )

    def entry(result: "Result") -> dict[str, Any]:
        about = {"name": result.item.name, "place": result.item.source, "status": result.status}
        if result.outcome is None:
            return about | {"files": [], "paper": None, "ours": None, "problem": result.problem, "fix": result.fix}
        outcome = result.outcome
        return about | {
            "seconds": result.seconds, "processor_seconds": result.processor_seconds, "files": _files(result, output),
            "paper": outcome.paper, "ours": outcome.answer, "differs": outcome.differs, "numbers": outcome.numbers,
        }  # fmt: skip

    def line(result: "Result") -> str:
        assert result.outcome is not None
        return f"{result.item.name}: {result.status}\n  paper: {result.outcome.paper}\n  ours:  {result.outcome.answer}"

    about = {"schema": "hardmax.reproduce/1", "report": str(report), "quick": quick, "seed": seed}
    _finish(found, about | {"items": [entry(result) for result in found]}, line, json)


def explore(
    names: Names = None,
    output: Folder = Path("hardmax-evidence"),
    trials: Annotated[
        int | None, Option(min=1, help="Number of random trials per row. The default depends on the question.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed for all random choices.")] = 0,
    quick: Quick = False,
    listing: Annotated[bool, Option("--list", help="Print the questions and the stored cases and exit.")] = False,
    replay: Annotated[
        str | None, Option(metavar="CASE", help="Check an exact case: a stored name, a .json file, or all.")
    ] = None,
    force: Again = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Explore open questions of the theory and save the evidence. Exact cases can be replayed.

    To resume an interrupted run, give the same command again. The exit code is 6 if a replayed case does not hold.

    Example: hardmax explore --replay two-definite-heads-period-2
    """
    if replay is not None:
        if names:
            raise BadParameter("--replay CASE does not run questions", param_hint="NAME")
        return _replay(replay, json)
    if listing:
        from hardmax.experiments.item import select
        from hardmax.experiments.questions.cases import load, stored

        items = select("questions", names or [])
        listed = {
            "schema": "hardmax.explore/1",
            "questions": [{"name": item.name, "question": item.title} for item in items],
            "cases": [{"name": name, "statement": load(name)[0]["statement"]} for name in stored()],
        }
        lines = [f"{item.name:15s} {item.title}" for item in items]
        return show(json, listed, *lines, "\nexact cases, for --replay:", *(f"  {name}" for name in stored()))
    from hardmax.experiments.context import provenance

    found, report = _run(
        "questions", names, output, quiet or json, seed=seed, quick=quick, force=force, options={"trials": trials},
        replace=False,
    )  # fmt: skip
    document: dict[str, Any] = {
        "schema": "hardmax.explore/1",
        "report": str(report),
        "questions": [
            _answer(result, output) | {"kept": result.status == "kept"}
            for result in found
            if result.outcome is not None
        ],
        "missing": {result.item.name: result.problem for result in found if result.outcome is None},
        "source": provenance(seed),
    }
    _finish(found, document, _answer_line, json)


def study(
    names: Names = None,
    output: Folder = Path("studies"),
    quick: Quick = False,
    seed: inputs.AnySeed = 0,
    listing: Listing = False,
    force: Again = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Run the studies (finite depth, mechanism, robustness, ablation, block counts), with tables, figures and a report.

    To resume an interrupted run, give the same command again.

    Example: hardmax study finite-depth -o studies
    """
    if listing:
        from hardmax.experiments.item import select

        items = select("studies", names or [])
        rows = [{"name": item.name, "question": item.title, "minutes": item.minutes} for item in items]
        lines = [f"{item.name:15s} {item.title} [{item.minutes:g} min]" for item in items]
        return show(json, {"schema": "hardmax.study/1", "studies": rows}, *lines)
    found, report = _run("studies", names, output, quiet or json, seed=seed, quick=quick, force=force)

    def entry(result: "Result") -> dict[str, Any]:
        about = {"name": result.item.name, "question": result.item.title, "status": result.status}
        if result.outcome is None:
            return about | {"problem": result.problem, "fix": result.fix}
        first = {"answer": result.outcome.answer, "numbers": result.outcome.numbers}
        return about | first | _answer(result, output)

    about = {"schema": "hardmax.study/1", "report": str(report), "quick": quick, "seed": seed}
    _finish(found, about | {"studies": [entry(result) for result in found]}, _answer_line, json)


def _run(
    package: str, names: list[str] | None, output: Path, silent: bool, *, quick: bool, **how: Any
) -> tuple["list[Result]", Path]:
    """Run the named items of a group into a folder; returns their results and the path of the report.

    After Ctrl-C the report of everything that is finished is written, and the command that resumes is printed.
    """
    from hardmax.experiments.item import GROUPS, minutes, select
    from hardmax.experiments.run import run_items

    items = select(package, names or [])
    _check_folder(package, output)
    if not quick and len(items) > 1 and minutes(items) >= 1:
        note(f"about {minutes(items):.0f} min on two cores; an interrupted run can be resumed", silent)
    found: list[Result] = []
    try:
        with telling(silent, f"running {len(items)} of the {GROUPS[package].plural}") as tell:
            for result in run_items(
                items, output, quick=quick, progress=tell, note=lambda text: note(text, silent), **how
            ):
                found.append(result)
                if result.outcome is None:
                    note(f"{result.item.name}: {result.problem}\n  fix:   {result.fix}", silent)
    except KeyboardInterrupt:
        _report(package, output, found)
        done = f"{len(found)} of {len(items)} finished; the finished results are in {output}"
        interrupted(done, *(word for word in sys.argv[1:] if word != "--force"))
    return found, _report(package, output, found)


def _finish(found: "list[Result]", document: dict[str, Any], line: "Callable[[Result], str]", json: bool) -> None:
    """Print the results, and exit with 0 if all succeeded, 7 if some did, else with the code of the first error."""
    failed = "{0.item.name}: {0.status}: {0.problem}"
    lines = [line(result) if result.outcome else failed.format(result) for result in found]
    show(json, document, *lines, document["report"])
    bad = [result for result in found if result.outcome is None]
    raise Exit(0 if not bad else 7 if len(bad) < len(found) else bad[0].exit_code)


def _files(result: "Result", output: Path) -> list[str]:
    return [str(output / result.item.name / name) for name in result.files]


def _answer(result: "Result", output: Path) -> dict[str, Any]:
    """A question or a study with its answer, as plain data."""
    assert result.outcome is not None
    return {
        "name": result.item.name, "question": result.item.title, "answer": result.outcome.answer,
        "settings": result.settings, "tables": {table.name: table.records() for table in result.tables},
        "files": _files(result, output), "seconds": result.seconds,
    }  # fmt: skip


def _answer_line(result: "Result") -> str:
    """The summary of a question or a study for the terminal."""
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
    """Refuse a folder with other files in it, because results are replaced there."""
    from hardmax.experiments.context import JOURNAL, MODELS
    from hardmax.experiments.item import items

    inputs.check_folder(output)
    if output.is_dir() and not (output / "report.md").exists():
        known = {MODELS, JOURNAL, "report.html", *(item.name for item in items(package))}
        other = sorted(path.name for path in output.iterdir() if path.name not in known)
        if other:
            what, fix = f"{output} contains files that are not part of a report", "use an empty or a new folder"
            raise BadInput(what, found=", ".join(other[:5]), fix=fix)


def _replay(name: str, json: bool) -> None:
    from hardmax.experiments.questions.cases import check, load, stored

    results: list[dict[str, Any]] = []
    lines = []
    for each in stored() if name == "all" else [name]:
        case, changed = load(each)
        wrong = [*changed, *check(case)]
        heads, n, dim = len(case["heads"]), len(case["tokens"]), len(case["tokens"][0])
        results.append({
            "name": case["name"], "statement": case["statement"], "kind": case.kind, "matrices": case["matrices"],
            "heads": heads, "n": n, "dim": dim, "alpha": str(case["alpha"]), "period": case["period"],
            "ties": case["ties"], "holds": not wrong, "wrong": wrong,
        })  # fmt: skip
        lines += [
            f"{case['name']}: {'DOES NOT HOLD' if wrong else 'holds'}",
            f"  {case['statement']}",
            f"  n = {n}, d = {dim}, heads {heads}, alpha = {case['alpha']}, {case['matrices']}, {case.kind} of period "
            f"{case['period']}",
            *(f"  wrong: {text}" for text in wrong),
        ]
    show(json, {"schema": "hardmax.explore/1", "cases": results}, *lines)
    if not all(result["holds"] for result in results):
        raise Exit(6)
