"""A run that is stopped at any moment can continue: its state in one file, replaced as a whole."""

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.io.files import remove_partial_files, write_file

if TYPE_CHECKING:
    from hardmax.sentiment.training import Examples


def fingerprint(examples: "Examples", settings: dict[str, Any]) -> str:
    """A digest of the data and the settings: a checkpoint is good for these only."""
    digest = sha256(json.dumps(settings, sort_keys=True).encode())
    for array in (examples.bags.ids, examples.bags.offsets, examples.labels, examples.weight):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_checkpoint(path: str | Path, state: dict[str, Any], mark: str) -> None:
    """Write the state of a run; a kill leaves the old file or the new one."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}

    def write(to: Path) -> None:
        with to.open("wb") as file:  # np.savez adds a suffix to a name, not to a file
            np.savez(file, mark=np.array(mark), **arrays)

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_file(path, write)


def remove_checkpoint(path: str | Path) -> None:
    """Remove a checkpoint that is no longer needed, and what a kill in the middle of writing left beside it."""
    Path(path).unlink(missing_ok=True)
    remove_partial_files(Path(path))


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
