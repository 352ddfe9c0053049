"""Run explorers one after the other into a folder, so that an interrupted run goes on where it was.

Finished parts are noted in FOLDER/.journal.jsonl as they come; a question whose FOLDER/NAME.json has the same settings
is complete and is not run again.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput, MissingExtra
from hardmax.experiments.journal import Journal
from hardmax.experiments.provenance import provenance
from hardmax.experiments.questions.evidence import chosen
from hardmax.experiments.questions.registry import module, select
from hardmax.io.documents import json_text, read_document
from hardmax.io.files import write_file

JOURNAL = ".journal.jsonl"
Tell = Callable[[float, float, str], object]


@dataclass(frozen=True)
class Answer:
    """One question: its document (see `Evidence.document`), files and time; `kept` if an earlier run had it."""

    name: str
    document: dict[str, Any]
    files: tuple[str, ...]
    seconds: float
    kept: bool


@dataclass(frozen=True)
class Report:
    """What a run of explorers came to.

    Attributes:
        answers: of the questions that ran.
        missing: name -> the error of a question whose extra is not installed.
        source: versions, seed, machine.
    """

    answers: tuple[Answer, ...]
    missing: dict[str, MissingExtra]
    source: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "schema": "hardmax.explore/1",
            "questions": [
                {"name": a.name, "question": a.document["question"], "answer": a.document["answer"],
                 "settings": a.document["settings"], "tables": a.document["tables"], "files": list(a.files),
                 "seconds": a.seconds, "kept": a.kept}
                for a in self.answers
            ],
            "missing": {name: error.what for name, error in self.missing.items()},
            "source": self.source,
        }  # fmt: skip

    def markdown(self) -> str:
        """The questions and their answers, as a page."""
        parts = ["# Open questions"]
        parts += [f"## {a.document['question']}\n\n{a.document['answer']} [Tables]({a.name}.md)" for a in self.answers]
        parts += [f"## {name}\n\nNot run: {error.what}." for name, error in self.missing.items()]
        return "\n\n".join(parts) + "\n"

    def save(self, folder: str | Path) -> Path:
        """Write the page of all answers, answers.md."""
        text = self.markdown()
        return write_file(Path(folder) / "answers.md", text)


def run(
    names: Sequence[str],
    folder: str | Path,
    *,
    seed: int = 0,
    trials: int | None = None,
    quick: bool = False,
    force: bool = False,
    progress: Tell | None = None,
) -> Report:
    """Explore the named questions (all if none is named) and write their evidence.

    Raises:
        BadInput: unknown name; or the folder holds evidence with other settings and `force` is False.
        MissingExtra: nothing could be run because extras are missing.
    """
    tell = progress or (lambda done, total, what: None)
    folder, wanted = Path(folder), select(list(names))
    known = {name: _known(name, folder, seed, trials, quick, force) for name in wanted}
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / JOURNAL)
    answers, missing = [], {}
    for number, name in enumerate(wanted):
        begun, earlier = time.monotonic(), known[name]
        if earlier is not None:
            answers.append(Answer(name, earlier, _files(folder, earlier), 0.0, kept=True))
            continue

        def inside(done: int, total: int, what: str, number: int = number) -> None:
            tell(100 * (number + done / max(total, 1)) / len(wanted), 100, what)

        try:
            evidence = module(name).explore(seed=seed, trials=trials, quick=quick, progress=inside, journal=journal)
        except MissingExtra as error:
            missing[name] = error
            continue
        files = evidence.save(folder)
        document = json.loads(json_text(evidence.document()))
        answers.append(
            Answer(name, document, tuple(f.name for f in files), time.monotonic() - begun, kept=False)
        )  # fmt: skip
    if missing and not answers:
        raise next(iter(missing.values()))
    report = Report(tuple(answers), missing, provenance(seed))
    report.save(folder)
    (folder / JOURNAL).unlink(missing_ok=True)
    return report


def _known(
    name: str, folder: Path, seed: int, trials: int | None, quick: bool, force: bool
) -> dict[str, Any] | None:  # fmt: skip
    """The finished evidence of an earlier run with the same settings, if there is one."""
    settings = json.loads(json_text(asdict(chosen(module(name).Setting, seed, trials, quick))))
    path = folder / f"{name}.json"
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; expected a folder for the evidence", fix="-o DIR")
    if force or not path.exists():
        return None
    document = read_document(path, "hardmax.evidence/1")
    if document.get("settings") != settings:
        raise BadInput(
            f"{path} holds evidence of a run with other settings", fix="another folder (-o), or --force to replace it"
        )
    return document


def _files(folder: Path, document: dict[str, Any]) -> tuple[str, ...]:
    name = document["name"]
    own = {path.name for path in folder.glob(f"{name}*") if path.is_file()}
    cases = {f"{case['name']}.json" for case in document.get("cases", [])}
    return tuple(sorted(own | {case for case in cases if (folder / case).exists()}))
