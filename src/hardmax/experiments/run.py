"""Run items one after the other. What is finished with the same settings and version is kept."""

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hardmax import __version__
from hardmax.errors import BadInput, HardmaxError, MissingExtra, whole
from hardmax.experiments.case import Case, read_case
from hardmax.experiments.context import JOURNAL, MARK, MODELS, Context, Journal, Note, Picture, Progress, silent
from hardmax.experiments.item import Item, Outcome, items
from hardmax.experiments.table import Table, read_table
from hardmax.io.documents import json_text, write_json
from hardmax.io.files import write_file

SCHEMA = "hardmax.experiment/1"
RECORD = "record.json"


@dataclass(frozen=True)
class Result:
    """An item as it stands after a run."""

    item: Item
    status: str  # "made", "kept" (from an earlier run), "missing" (an extra is not installed) or "failed"
    outcome: Outcome | None = None  # None if it is missing or failed, and then `error` says why
    settings: dict[str, Any] = field(default_factory=dict)  # what decides the numbers
    provenance: dict[str, Any] = field(default_factory=dict)  # where they come from
    seconds: float = 0.0  # of the clock
    processor_seconds: float = 0.0  # of the processor
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    cases: tuple[Case, ...] = ()
    files: tuple[str, ...] = ()  # names in the folder of the item
    error: HardmaxError | None = None

    @property
    def problem(self) -> str:
        """What the error says; empty if there is none."""
        return self.error.what if self.error else ""

    @property
    def fix(self) -> str:
        """What to do about the error; empty if there is nothing to say."""
        return (self.error.fix or "") if self.error else ""

    @property
    def exit_code(self) -> int:
        """The exit code of the error; 0 if there is none."""
        return self.error.exit_code if self.error else 0

    def table(self, name: str) -> Table:
        """A table by its name."""
        return next(table for table in self.tables if table.name == name)

    def document(self) -> dict[str, Any]:
        """The record of a finished item as plain data."""
        assert self.outcome is not None
        return {
            "schema": SCHEMA, "group": self.item.group, "name": self.item.name, "title": self.item.title,
            "seconds": self.seconds, "processor_seconds": self.processor_seconds, "settings": self.settings,
            "provenance": self.provenance, **asdict(self.outcome),
            "tables": [table.document() for table in self.tables],
            "pictures": [asdict(picture) for picture in self.pictures],
            "cases": [case.document() for case in self.cases],
            "files": list(self.files),
        }  # fmt: skip


def run_items(
    chosen: Sequence[Item], root: Path | None = None, *, seed: int = 0, quick: bool = False,
    options: Mapping[str, Any] | None = None, force: bool = False, replace: bool = True, progress: Progress = silent,
    note: Note = silent,
) -> Iterator[Result]:  # fmt: skip
    """Run items, yielding each as soon as it is finished.

    An interruption (Ctrl-C) passes through; everything yielded before it is recorded, and so are the finished parts of
    the item that was interrupted. An item that returns an incomplete outcome ends the run.

    Args:
        root: the folder of the run, in which every item has a folder of its own; None writes nothing.
        options: settings by name, for the items that have them.
        force: run again what is finished, and discard trained models and finished parts.
        replace: whether an item that is finished with other settings is replaced; if not, that is an error.

    Raises:
        BadInput: an option or the seed cannot be used; or an item is finished with other settings.
    """
    # Any whole number can seed items without a record (claims); numpy's generators need one that is not negative.
    whole("seed", seed, 0 if any(item.record for item in chosen) else None)
    if root is not None and root.exists() and not root.is_dir():
        raise BadInput(f"{root} is a file; expected a folder", fix="choose a folder with -o DIR")
    about = {"hardmax": __version__, "seed": seed, "quick": quick}
    settings = {item.name: {**about, **item.settings(quick, options)} for item in chosen}
    if force and root is not None:
        if (root / MODELS / MARK).exists():  # a folder of ours, not one that happens to have this name
            shutil.rmtree(root / MODELS, ignore_errors=True)
        for path in (root / JOURNAL, *(root / item.name / RECORD for item in chosen)):
            path.unlink(missing_ok=True)
    kept = {item.name: _kept(item, root, settings[item.name], replace) for item in chosen}
    journal = Journal(None if root is None else root / JOURNAL)
    for number, item in enumerate(chosen, 1):
        result = kept[item.name]
        if result is None:
            place = f"[{number}/{len(chosen)}] " if len(chosen) > 1 else ""

            def tell(done: float, total: float | None, what: str, head: str = place + item.name) -> None:
                progress(done, total, f"{head}: {what}" if what else head)

            own = settings[item.name]
            context = Context(item.group, item.name, root, seed, quick, own, tell, note, journal)
            result = run_item(item, context, {name: own[name] for name in own if name not in about})
        yield result
        if result.outcome is not None and not result.outcome.complete:
            return


def run_item(item: Item, context: Context, settings: Mapping[str, Any]) -> Result:
    """Run one item with these settings, and write its record if it has one."""
    begun, worked = time.monotonic(), time.process_time()
    try:
        outcome = item.start(context, settings)
    except HardmaxError as error:
        status = "missing" if isinstance(error, MissingExtra) else "failed"
        return Result(item, status, error=error)
    result = Result(
        item, "made", outcome, context.settings, context.provenance(), time.monotonic() - begun,
        time.process_time() - worked, tuple(context.tables), tuple(context.pictures), tuple(context.cases),
        tuple(context.files),
    )  # fmt: skip
    if context.root is not None and item.record and outcome.complete:
        write_file(context.folder / RECORD, lambda to: write_json(result.document(), to))
    return result


def _kept(item: Item, root: Path | None, settings: dict[str, Any], replace: bool) -> Result | None:
    """The result of an earlier run with the same settings, if there is one."""
    found = None if root is None or not item.record else read_result(item, root)
    if found is None or found.settings == json.loads(json_text(settings)):
        return found
    if not replace:
        fix = "choose another folder with -o DIR, or replace the results with --force"
        raise BadInput(f"{root}/{item.name} holds the results of a run with other settings", fix=fix)
    return None


def read_result(item: Item, root: Path) -> Result | None:
    """An item that is finished in a folder, with all its files; None if it is unfinished or its record is damaged."""
    folder = root / item.name
    try:
        document = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if (document["schema"], document["group"], document["name"]) != (SCHEMA, item.group, item.name):
            return None
        pictures = tuple(Picture(**each) for each in document["pictures"])
        files = tuple(map(str, document["files"]))
        for name in (*files, *(picture.file for picture in pictures)):
            if Path(name).name != name or not (folder / name).is_file():
                return None
        answer, paper, differs = (str(document[key]) for key in ("answer", "paper", "differs"))
        return Result(
            item, "kept", Outcome(answer, paper, differs, dict(document["numbers"])), dict(document["settings"]),
            dict(document["provenance"]), float(document["seconds"]), float(document["processor_seconds"]),
            tuple(map(read_table, document["tables"])), pictures, tuple(map(read_case, document["cases"])), files,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def finished_in(package: str, root: Path) -> dict[str, Result]:
    """All items of a group that are finished in a folder, by name."""
    found = {item.name: read_result(item, root) for item in items(package)}
    return {name: result for name, result in found.items() if result is not None}
