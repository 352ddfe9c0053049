"""Run claims: so many trials each, violations counted and saved, an interruption kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput
from hardmax.experiments.claims.case import Case, Undecided
from hardmax.experiments.claims.registry import Claim, select
from hardmax.experiments.claims.violations import judge, load_violation, save_violation
from hardmax.experiments.provenance import provenance

MOST_SAVED = 20  # files per claim; further violations are counted only
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class ClaimResult:
    """What the trials of one claim gave.

    Attributes:
        trials: how many were run. violations: in how many the claim did not hold.
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
        claims: one result per claim that was begun.
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
        """In how many trials a claim did not hold."""
        return sum(result.violations for result in self.claims)

    @property
    def interrupted(self) -> bool:
        """Whether claims are left."""
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
        from hardmax.io.documents import write_json
        from hardmax.io.files import write_file

        if Path(path).suffix.lower() != ".json":
            raise BadInput(f"{path}: a report of claims is written as .json", fix="give it the suffix .json")
        return write_file(Path(path), lambda to: write_json(self.document(), to))


def verify(
    names: Sequence[str] = (),
    *,
    trials: int | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check claims of the papers on random cases.

    Args:
        names: claims, or beginnings of their names; none means all.
        trials: of every claim; None means each claim's own number, half a minute in all.
        seed: with the same seed trial t of a claim is the same case, whatever else is run.
        folder: where violating cases are saved as JSON; None saves none.
        progress: called with (trials done, trials in all, claim).

    Returns:
        A Report. Ctrl-C ends the run early; what was counted so far is returned.

    Raises:
        BadInput: no such claim, or a number of trials below 1.

    Example:
        >>> verify(["fact-3"], trials=4).violations
        0
    """
    if trials is not None and (isinstance(trials, bool) or not isinstance(trials, int) or trials < 1):
        raise BadInput(f"trials is {trials!r}; expected a whole number from 1 on")
    chosen = select(names)
    counts = {claim.name: trials or claim.trials for claim in chosen}
    run = _Run(seed, None if folder is None else Path(folder), sum(counts.values()), progress)
    results: list[ClaimResult] = []
    for claim in chosen:
        results.append(run.claim(claim, counts[claim.name]))
        if results[-1].trials < counts[claim.name]:
            break
    finished = {r.name for r in results if r.trials == counts[r.name]}
    waiting = tuple(claim.name for claim in chosen if claim.name not in finished)
    return Report(tuple(results), waiting, tuple(run.files), run.provenance)


def replay(path: str | Path) -> Report:
    """Check the case of a file that `verify` saved once more.

    Raises:
        BadInput: the file cannot be used.
    """
    claim, case = load_violation(Path(path))
    start, sentence, undecided = time.perf_counter(), None, 0
    try:
        sentence = judge(claim, case)
    except Undecided:
        undecided = 1
    result = ClaimResult(
        claim.name, claim.statement, claim.citation, (case.kind,), None, 1, int(sentence is not None), undecided,
        time.perf_counter() - start, sentence,
    )  # fmt: skip
    return Report((result,), (), (Path(path),), provenance())


class _Run:
    """Counts over all claims, and where violations go."""

    def __init__(self, seed: int, folder: Path | None, total: int, progress: Progress | None) -> None:
        self.seed, self.folder, self.total, self.progress = seed, folder, total, progress
        self.done, self.files = 0, list[Path]()
        self.provenance = provenance(seed)

    def claim(self, claim: Claim, trials: int) -> ClaimResult:
        """All trials of a claim; fewer if the run is interrupted."""
        start, done, undecided, sentences = time.perf_counter(), 0, 0, list[str]()
        try:
            for trial in range(trials):
                if self.progress is not None:
                    self.progress(self.done, self.total, claim.name)
                case = claim.case(self.seed, trial)
                try:
                    sentence = judge(claim, case)
                except Undecided:
                    sentence, undecided = None, undecided + 1
                if sentence is not None:
                    if self.folder is not None and len(sentences) < MOST_SAVED:
                        self.files.append(self._save(claim, case, sentence, trial, reduce=not sentences))
                    sentences.append(sentence)
                done += 1
                self.done += 1
        except KeyboardInterrupt:
            pass  # what was counted so far is the result
        return ClaimResult(
            claim.name, claim.statement, claim.citation, claim.kinds, self.seed, done, len(sentences), undecided,
            time.perf_counter() - start, sentences[0] if sentences else None,
        )  # fmt: skip

    def _save(self, claim: Claim, case: Case, sentence: str, trial: int, reduce: bool) -> Path:
        """Reducing a case costs up to some hundred checks, so only the first one of a claim is."""
        assert self.folder is not None
        return save_violation(self.folder, claim, case, sentence, self.seed, trial, self.provenance, reduce)
