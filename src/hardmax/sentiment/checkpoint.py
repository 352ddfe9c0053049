"""A run that is stopped at any moment can continue: its state in one file, replaced as a whole."""

import json
import os
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.errors import BadInput

if TYPE_CHECKING:
    from hardmax.sentiment.training import Examples


def fingerprint(examples: "Examples", settings: dict[str, Any]) -> str:
    """A digest of the data and the settings: a checkpoint is good for these only."""
    digest = sha256(json.dumps(settings, sort_keys=True).encode())
    for array in (examples.bags.ids, examples.bags.offsets, examples.labels, examples.weight):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_checkpoint(path: str | Path, state: dict[str, Any], mark: str) -> None:
    """Write the state beside its place, then put it there in one step: a kill leaves the old file or the new one."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(beside, "wb") as file:
            arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}
            np.savez(file, mark=np.array(mark), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def remove_checkpoint(path: str | Path) -> None:
    """Remove a checkpoint that is of no more use, and what a kill in the middle of writing left beside it."""
    path = Path(path)
    path.unlink(missing_ok=True)
    for beside in path.parent.glob(f".{escape(path.name)}.*.part"):
        beside.unlink(missing_ok=True)


def read_checkpoint(path: str | Path, mark: str) -> dict[str, Any]:
    """The state in a checkpoint, if it belongs to this data and these settings."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            state = {name: stored[name] for name in stored.files}
    except Exception as error:
        raise BadInput(
            f"{path} is not a checkpoint, or it is damaged ({error})", fix="train without resuming"
        ) from error
    if str(state.pop("mark", "")) != mark:
        raise BadInput(
            f"{path} was made with other data or other settings", fix="the same data and settings, or train anew"
        )
    return state
