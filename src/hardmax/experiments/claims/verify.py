"""`verify`: check claims on random cases, and check a saved case again."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput
from hardmax.experiments.claims.claim import Claim, Undecided, claims, load_violation
from hardmax.experiments.context import Progress, silent
from hardmax.experiments.provenance import provenance
from hardmax.experiments.run import run_items
from hardmax.io.documents import write_json
from hardmax.io.files import write_file


@dataclass(frozen=True)
class ClaimResult:
    """The counts of one claim.

    Attributes:
        trials: how many were run.   violations: in how many of them the claim did not hold.
        undecided: in how many it could be neither confirmed nor refuted; they are among the trials.
        first: the sentence of the first violation.
    """

    name: str
    statement: str
    citation: str
    kinds: tuple[str, ...]
    seed: int | None
    trials: int
    violations: int
    undecided: int
    seconds: float
    first: str | None


@dataclass(frozen=True)
class Report:
    """What `verify` returns.

    Attributes:
        claims: one result for each claim that was started.
        waiting: names of the claims that an interruption left unfinished.
        files: the violating cases that were saved.
        provenance: versions, seed, machine.
    """

    claims: tuple[ClaimResult, ...]
    waiting: tuple[str, ...]
    files: tuple[Path, ...]
    provenance: dict[str, Any]

    @property
    def violations(self) -> int:
        """The number of trials in which a claim did not hold."""
        return sum(result.violations for result in self.claims)

    @property
    def interrupted(self) -> bool:
        """Whether some claims are unfinished."""
        return bool(self.waiting)

    def document(self) -> dict[str, Any]:
        """Plain data: the document of `hardmax verify --json`."""
        return {
            "schema": "hardmax.verify/1",
            "claims": [asdict(result) for result in self.claims],
            "violations": self.violations,
            "interrupted": self.interrupted,
            "waiting": self.waiting,
            "files": [str(path) for path in self.files],
            **self.provenance,
        }

    def save(self, path: str | Path) -> Path:
        """Write the document to a .json file."""
        if Path(path).suffix.lower() != ".json":
            raise BadInput(f"{path}: a report of claims is written as .json", fix="give it the suffix .json")
        return write_file(Path(path), lambda to: write_json(self.document(), to))


def verify(
    names: Sequence[str] = (),
    *,
    trials: int | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Progress = silent,
) -> Report:
    """Check claims of the papers on random cases.

    Args:
        names: claims, or beginnings of their names; all of them if none is given.
        trials: the number of trials of every claim; None means each claim's own number, half a minute in all.
        seed: with the same seed trial t of a claim is the same case, whatever else is run.
        folder: where violating cases are saved as JSON; None saves none.
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
    options = {"trials": trials}
    total = sum(one.settings(options=options)["trials"] for one in chosen)
    results: list[ClaimResult] = []
    files: list[Path] = []

    def tell(done: float, _: float | None, what: str) -> None:
        progress(sum(result.trials for result in results) + done, total, what)

    finished = 0
    for result in run_items(chosen, root, seed=seed, options=options, progress=tell):
        if result.outcome is None:
            raise result.error or AssertionError("a claim without an outcome has an error")
        results.append(_counted(chosen[len(results)], seed, result.seconds, result.outcome.numbers))
        files += [root / name for name in result.files] if root else []
        finished += result.outcome.complete
    waiting = tuple(one.name for one in chosen[finished:])
    return Report(tuple(results), waiting, tuple(files), provenance(seed))


def _counted(one: Claim, seed: int | None, seconds: float, numbers: dict[str, Any]) -> ClaimResult:
    return ClaimResult(one.name, one.title, one.source, one.kinds, seed, seconds=seconds, **numbers)


def replay(path: str | Path) -> Report:
    """Check the case of a file that `verify` saved once more.

    Raises:
        BadInput: the file cannot be used.
    """
    one, case = load_violation(Path(path))
    start, sentence, undecided = time.monotonic(), None, 0
    try:
        sentence = one.judge(case)
    except Undecided:
        undecided = 1
    numbers = {"trials": 1, "violations": int(sentence is not None), "undecided": undecided, "first": sentence}
    result = replace(_counted(one, None, time.monotonic() - start, numbers), kinds=(case.kind,))
    return Report((result,), (), (Path(path),), provenance())
