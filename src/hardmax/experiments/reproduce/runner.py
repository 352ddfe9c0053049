"""Make items one after the other; what is finished with the same settings is kept."""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from hardmax import __version__
from hardmax.errors import BadInput, HardmaxError, MissingExtra
from hardmax.experiments.reproduce.item_files import origin
from hardmax.experiments.reproduce.items import ITEMS, Context, Item, Outcome, Picture, Table
from hardmax.io.documents import json_text, write_json
from hardmax.io.files import write_file

SCHEMA = "hardmax.reproduce.item/1"
MODELS = "models"
RECORD = "item.json"


@dataclass(frozen=True)
class Finished:
    """An item as it stands after a run.

    Attributes:
        status: "made", "kept" (from an earlier run), "missing" (an extra is not installed) or "failed".
        seconds, processor_seconds: how long it took, and of how many the processor worked on it.
        outcome: what it found; None if it is missing or failed, and then `problem` says why and `fix` what to do.
        settings, origin: what it was made with, and where.
    """

    item: Item
    status: str
    seconds: float = 0.0
    outcome: Outcome | None = None
    settings: dict[str, Any] | None = None
    origin: dict[str, Any] | None = None
    processor_seconds: float = 0.0
    problem: str = ""
    fix: str = ""
    exit_code: int = 0


def run_items(items: Sequence[Item], folder: Path, base: Context, *, anew: bool = False) -> Iterator[Finished]:
    """Make the items, yielding each as it is finished; one that needs a missing extra is passed over.

    Args:
        folder: where the items have folders of their own.
        base: quick, seed, epochs and how to tell; its folders are replaced.
        anew: make again what is there already, trained models included.
    """
    if anew:
        for name in (MODELS, *(item.name for item in items)):
            shutil.rmtree(folder / name, ignore_errors=True)
    shared = folder / MODELS
    for item in items:
        context = replace(base, folder=folder / item.name, shared=shared)
        try:
            for place in (context.folder, shared):
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder} cannot be made: {error.strerror or error}") from error
        yield _one(item, context)


def _one(item: Item, context: Context) -> Finished:
    begun, worked = time.monotonic(), time.process_time()
    try:
        module = item.load()
        settings = {"hardmax": __version__, "seed": context.seed, "quick": context.quick, **module.settings(context)}
        kept = read_item(item, context.folder)
        if kept is not None and digest(kept.settings or {}) == digest(settings):
            return kept
        outcome = module.run(context)
    except MissingExtra as error:
        return Finished(item, "missing", problem=error.what, fix=error.fix or "", exit_code=error.exit_code)
    except HardmaxError as error:
        return Finished(item, "failed", problem=error.what, fix=error.fix or "", exit_code=error.exit_code)
    seconds, processor = time.monotonic() - begun, time.process_time() - worked
    finished = Finished(item, "made", seconds, outcome, settings, origin(context), processor)
    write_file(context.folder / RECORD, lambda to: write_json(_document(finished, outcome), to))
    return finished


def digest(settings: dict[str, Any]) -> str:
    """What decides whether a finished item is kept."""
    plain = json.loads(json_text(settings))
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _document(finished: Finished, outcome: Outcome) -> dict[str, Any]:
    took = {"seconds": finished.seconds, "processor_seconds": finished.processor_seconds}
    about = {"schema": SCHEMA, "name": finished.item.name, **took}
    return {**about, "settings": finished.settings, "provenance": finished.origin, **asdict(outcome)}


def read_item(item: Item, folder: Path) -> Finished | None:
    """An item that is finished in a folder, with all its files; None otherwise."""
    try:
        document = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA or document["name"] != item.name:
            return None
        outcome = Outcome(
            str(document["paper"]), str(document["ours"]), str(document["differs"]), dict(document["numbers"]),
            tuple(map(str, document["files"])), tuple(Picture(**each) for each in document["pictures"]),
            tuple(Table(**each) for each in document["tables"]),
        )  # fmt: skip
        names = [*outcome.files, *(picture.file for picture in outcome.pictures)]
        if any(Path(name).name != name or not (folder / name).is_file() for name in names):
            return None
        made_with = document["settings"], document["provenance"], float(document["processor_seconds"])
        return Finished(item, "kept", float(document["seconds"]), outcome, *made_with)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not finished, or damaged: it is made again


def finished_in(folder: Path) -> dict[str, Finished]:
    """All items that are finished in a folder, of this run or earlier ones."""
    found = {item.name: read_item(item, folder / item.name) for item in ITEMS}
    return {name: each for name, each in found.items() if each is not None}
