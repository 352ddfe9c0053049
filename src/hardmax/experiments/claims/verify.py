"""`verify`: check claims on random cases, and check a saved case again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, cast

from hardmax.errors import BadInput, whole
from hardmax.experiments.claims.claim import CHUNK, Claim, TimeOver, claims, load_violation, pool
from hardmax.experiments.context import Progress, provenance, silent
from hardmax.experiments.item import Outcome
from hardmax.experiments.run import Result, run_items
from hardmax.io.documents import write_json
from hardmax.io.files import write_file

MOST = 1_000_000_000  # trials of a claim in a limited time, if no number is given


@dataclass(frozen=True)
class Report:
    """What `verify` returns."""

    results: tuple[Result, ...]  # of each claim that was started
    waiting: tuple[str, ...]  # names of the claims that an interruption left unfinished
    files: tuple[Path, ...]  # the violating cases that were saved
    provenance: dict[str, Any]  # versions, seed, machine
    missed: tuple[str, ...] = ()  # names of the claims that a limited time did not reach

    @property
    def claims(self) -> list[dict[str, Any]]:
        """One row for each claim that was started.

        Its `trials` are those that were run, `exact` those of them in rational arithmetic, `violations` those in which
        the claim did not hold, and `undecided` those in which it could be neither confirmed nor refuted; `first` is the
        sentence of the first violation. `processor_seconds` counts all trials, those of earlier runs too, `seconds` is
        the time of this run on the clock.
        """
        rows, seed = [], self.provenance["seed"]
        for result in self.results:
            one, outcome = cast(Claim, result.item), cast(Outcome, result.outcome)
            about = {"name": one.name, "statement": one.title, "citation": one.source, "kinds": one.kinds}
            rows.append({**about, "seed": seed, **outcome.numbers, "seconds": result.seconds})
        return rows

    @property
    def total(self) -> dict[str, Any]:
        """The sums over all claims, in the form of a row of `claims`."""
        names = ("trials", "exact", "violations", "undecided", "seconds", "processor_seconds")
        return {"name": "all", "first": None, **{name: sum(row[name] for row in self.claims) for name in names}}

    @property
    def violations(self) -> int:
        """The number of trials in which a claim did not hold."""
        return sum(row["violations"] for row in self.claims)

    @property
    def interrupted(self) -> bool:
        """Whether some claims are unfinished."""
        return bool(self.waiting)

    def document(self) -> dict[str, Any]:
        """Plain data: the document of `hardmax verify --json`."""
        return {
            "schema": "hardmax.verify/1", "claims": self.claims, "violations": self.violations,
            "interrupted": self.interrupted, "waiting": self.waiting, "missed": self.missed,
            "files": [str(path) for path in self.files], **self.provenance,
        }  # fmt: skip

    def save(self, path: str | Path) -> Path:
        """Write the document to a .json file."""
        if Path(path).suffix.lower() != ".json":
            raise BadInput(f"{path}: a report of claims is written as .json", fix="give it the suffix .json")
        return write_file(Path(path), lambda to: write_json(self.document(), to))


def verify(
    names: Sequence[str] = (), *, trials: int | None = None, seed: int = 0, folder: str | Path | None = None,
    workers: int = 1, resume: bool = False, minutes: float | None = None, progress: Progress = silent,
) -> Report:  # fmt: skip
    """Check claims of the papers on random cases.

    Args:
        names: claims, or beginnings of their names; all of them if none is given.
        trials: the number of trials of every claim; None means each claim's own number, about half a minute in total.
        seed: with the same seed trial t of a claim is the same case, whatever else is run.
        folder: where violating cases are saved as JSON; None saves none.
        workers: the number of processes.
        resume: keep finished trials in the folder, and continue from those that it holds. The counts are the same as
            without an interruption, and more trials can be added later.
        minutes: run as many trials as fit into this time, all claims about equally often (at most `trials`); implies
            resume.
        progress: called with (trials done, trials in all, claim).

    Returns:
        A Report. Ctrl-C ends the run early; what was counted so far is returned.

    Raises:
        BadInput: there is no such claim, or the number of trials is below 1.

    Example:
        >>> verify(["fact-3"], trials=4).violations
        0
    """
    chosen, root = claims(names), None if folder is None else Path(folder)
    options = {"trials": trials, "workers": workers, "resume": resume or minutes is not None}
    if options["resume"] and root is None:
        raise BadInput("resume=True needs a folder to keep finished trials in", fix="give folder=...")
    total = sum(one.settings(options=options)["trials"] for one in chosen)
    results: dict[str, Result] = {}
    begun, counted, finished = monotonic(), 0, 0
    last = 0 if minutes is None else whole("trials", trials or MOST, 1)

    def over() -> bool:
        return minutes is not None and monotonic() - begun >= 60 * minutes

    def tell(done: float, _: float | None, what: str) -> None:
        if minutes is None:
            progress(counted + done, total, what)
        else:
            progress(monotonic() - begun, 60 * minutes, what)
            if done > 0 and over():
                raise TimeOver

    try:
        for most in [trials] if minutes is None else _rounds(last, CHUNK * workers):
            finished = 0
            for result in run_items(chosen, root, seed=seed, options={**options, "trials": most}, progress=tell):
                if result.outcome is None:
                    raise result.error or AssertionError("a claim without an outcome has an error")
                before = results.get(result.item.name)
                results[result.item.name] = replace(result, seconds=result.seconds + (before.seconds if before else 0))
                counted += result.outcome.numbers["trials"]
                finished += result.outcome.complete
                if over():
                    break
            if over() or finished < len(chosen):
                break
    finally:
        if workers > 1:
            pool(workers).shutdown(cancel_futures=True)
            pool.cache_clear()
    files = [Path(folder or "", name) for result in results.values() for name in result.files]
    missed = tuple(one.name for one in chosen if one.name not in results) if over() else ()
    waiting = () if over() else tuple(one.name for one in chosen[finished:])
    return Report(tuple(results.values()), waiting, tuple(files), provenance(seed), missed)


def _rounds(last: int, step: int) -> Iterator[int]:
    """Numbers of trials of every claim: `step` more in every round, later a quarter more, so that rounds stay few."""
    most = step
    while most < last:
        yield most
        most += max(step, most // (4 * step) * step)
    yield last


def replay(path: str | Path) -> Report:
    """Check the case of a file that `verify` saved once more."""
    one, case = load_violation(Path(path))
    again = replace(one, kinds=(case.kind,), trials=1, generate=lambda rng, kind: case)
    (result,) = run_items([again])
    if result.outcome is None or not result.outcome.complete:
        raise KeyboardInterrupt
    return Report((result,), (), (Path(path),), provenance())
