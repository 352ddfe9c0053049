"""Crash-safe writing: a file or a folder appears complete, or the old one stays."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput, failing

EXISTS = "choose another name, or use force=True (--force) to replace it"


def write_file(path: str | Path, write: Callable[[Path], Any] | str | bytes, *, force: bool = True) -> Path:
    """Write a temporary file beside `path`, flush it to disk and rename it: an interruption leaves the old file.

    Args:
        write: the contents, or a function that writes them to the path it is given.

    Raises:
        BadInput: the folder is missing or not writable, or the file exists and `force` is False.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise BadInput(f"{path}: the folder {path.parent} does not exist", fix="create the folder first")
    if path.is_dir():
        raise BadInput(f"{path} is a folder; expected the name of a file")
    if path.exists() and not force:
        raise BadInput(f"{path} exists", fix=EXISTS)
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    with failing(f"{path} cannot be written"):
        try:
            if callable(write):
                write(partial)
            else:
                partial.write_bytes(write.encode() if isinstance(write, str) else write)
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BadInput as error:  # the writer knows the temporary name only, which is nothing to show
            what, found = (text and text.replace(str(partial), str(path)) for text in (error.what, error.found))
            raise BadInput(what or "", found=found, fix=error.fix) from error
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
    return path


def remove_partial_files(path: Path) -> None:
    """Remove the partial files that a killed process left: in the folder `path`, or beside the file `path`."""
    from glob import escape

    folder, name = (path, "*") if path.is_dir() else (path.parent, f"{escape(path.stem)}.*")
    for partial in folder.glob(f".{name}.partial" + ("*" if path.is_dir() else escape(path.suffix))):
        partial.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: str | Path, *, force: bool = True) -> Iterator[Path]:
    """A folder beside its place that is moved there when the block ends without an error, and removed otherwise.

    A folder cannot be replaced in one step, so the old one is first set aside under the name `_aside(folder)`. If
    anything fails before the new one is in place, the old one is moved back; if the process is killed just there,
    `recover_folder` moves it back when the folder is next read or written.

    A folder that exists is replaced only if it is empty or one of ours: its config.json has a schema of hardmax.

    Raises:
        BadInput: the folder exists and `force` is False, it is something else, or it cannot be written.
    """
    from tempfile import mkdtemp

    folder = Path(folder)
    with failing(f"{folder} cannot be written"):
        recover_folder(folder)
        if folder.exists() and not force:
            raise BadInput(f"{folder} exists", fix=EXISTS)
        if folder.exists() and not _is_ours(folder):
            what = f"{folder} exists and was not written by hardmax, so it is not replaced"
            raise BadInput(what, fix="use another name")
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            yield beside
            beside.chmod(0o755)
            _replace(folder, beside)
        finally:
            _remove(beside)


def _replace(folder: Path, beside: Path) -> None:
    """Put `beside` in the place of `folder`; at every moment one of them is there, or can be recovered."""
    old = _aside(folder)
    if folder.exists():
        os.replace(folder, old)
    try:
        os.replace(beside, folder)
    except BaseException:
        recover_folder(folder)
        raise
    _remove(old)


def _is_ours(folder: Path) -> bool:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return str(config["schema"]).startswith("hardmax.")
    except (OSError, ValueError, KeyError, TypeError):
        return folder.is_dir() and not any(folder.iterdir())


def _aside(folder: Path) -> Path:
    place = folder.absolute()  # the folder "." has no name of its own
    return place.parent / f".{place.name}.replaced"


def recover_folder(folder: Path) -> None:
    """Undo a replacement that was cut off: bring back the old folder, or remove it if the new one is in place."""
    old = _aside(folder)
    if not old.exists():
        return
    if folder.exists():
        _remove(old)
    else:
        os.replace(old, folder)


def _remove(folder: Path) -> None:
    from shutil import rmtree  # only here: it takes longer to import than a model to load

    rmtree(folder, ignore_errors=True)
