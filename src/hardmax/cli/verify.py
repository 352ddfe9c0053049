"""`hardmax verify`: claims of the papers, tested on random cases."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, BadParameter, Exit, Option

from hardmax.cli import inputs
from hardmax.cli.output import interrupted, note, show
from hardmax.errors import BadInput
from hardmax.io.progress import telling

if TYPE_CHECKING:
    from hardmax.experiments.claims.verify import Report

DEFAULT_FOLDER = Path("hardmax-violations")


def command(
    claims: Annotated[
        list[str] | None,
        Argument(
            metavar="CLAIM...",
            help="Names of claims, or beginnings of names such as fact or theorem-1.1. Default: all.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        Option(min=1, help="Number of cases per claim. By default all claims together take about half a minute."),
    ] = None,
    seed: inputs.AnySeed = 0,
    listing: Annotated[bool, Option("--list", help="Print the claims and exit.")] = False,
    output: Annotated[
        Path, inputs.output("Folder for violating cases, created only if one is found; with --resume also for counts.")
    ] = DEFAULT_FOLDER,
    workers: Annotated[int, Option(min=1, help="Number of processes.")] = 1,
    resume: Annotated[
        bool,
        Option("--resume", help="Keep finished trials in the output folder and continue from those already there."),
    ] = False,
    minutes: Annotated[
        float | None,
        Option(min=0, help="Run as many trials as fit into this time, all claims equally often, with --resume."),
    ] = None,
    replay: Annotated[Path | None, Option(help="Check only the case in this file, saved by an earlier run.")] = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Test claims of the papers on random cases; exact cases are decided in rational arithmetic.

    The absence of violations is evidence, not a proof. If a claim is violated, the case is saved and the exit code
    is 6.

    Example: hardmax verify theorem-1.1 --trials 100000 --workers 2 --resume
    """
    silent = quiet or json
    if replay is not None and claims:
        raise BadParameter("--replay FILE already names its claim; leave out the names of claims", param_hint="CLAIM")
    if output.exists() and not output.is_dir():
        raise BadInput(f"{output} is a file; expected a folder for violating cases", fix="use another name after -o")
    from hardmax.experiments.claims import claim, verify

    chosen = claim.claims(claims or [])  # an unknown name is refused before anything is printed
    if listing:
        listed = [
            {"name": c.name, "statement": c.title, "citation": c.source, "kinds": c.kinds, "trials": c.trials}
            for c in chosen
        ]
        lines = (
            f"{c.name}  {c.source}\n    {c.title}\n    cases: {', '.join(c.kinds)}; {c.trials} by default"
            for c in chosen
        )
        return show(json, {"schema": "hardmax.verify/1", "claims": listed}, *lines)
    if replay is not None:
        report = verify.replay(replay)
    else:
        with telling(silent, "checking claims") as tell:
            report = verify.verify(
                claims or [], trials=trials, seed=seed, folder=output, workers=workers, resume=resume, minutes=minutes,
                progress=tell,
            )  # fmt: skip
    show(json, report.document(), *_lines(report))
    if replay is None:
        for path in report.files:
            note(f"saved {path}; check it again: {shlex.join(['hardmax', 'verify', '--replay', str(path)])}", silent)
    if report.interrupted:
        kept = resume or minutes is not None
        again = ["verify", *(claims or [] if kept else report.waiting), "--seed", str(seed)]
        again += ["--workers", str(workers)] if workers > 1 else []
        again += ["--minutes", f"{minutes:g}"] if minutes is not None else ["--resume"] if resume else []
        again += ["--trials", str(trials)] if trials else []
        again += ["-o", str(output)] if output != DEFAULT_FOLDER else []
        interrupted("the counts so far are above", *again)
    if report.violations:
        raise Exit(6)


def _lines(report: "Report") -> Iterator[str]:
    wide = max(len(row["name"]) for row in report.claims)
    yield f"{'claim':{wide}s} {'trials':>9s} {'exact':>9s} {'violations':>10s} {'seconds':>9s} {'processor':>9s}"
    for row in [*report.claims, report.total]:
        counts = f"{row['trials']:9,d} {row['exact']:9,d} {row['violations']:10,d}"
        yield f"{row['name']:{wide}s} {counts} {row['seconds']:9.1f} {row['processor_seconds']:9.1f}"
        if row["first"] is not None:
            yield f"  violated: {row['first']}"
        if row["undecided"]:
            yield f"  undecided: {row['undecided']:,} of the trials"
    if report.missed:
        yield f"not reached in this time: {', '.join(report.missed)}"
    about = report.provenance
    drawn = "" if about["seed"] is None else f"seed {about['seed']}, "
    yield f"{drawn}hardmax {about['version']}, Python {about['python']}, {about['machine']}"
