"""Folders that are filled part by part: a manifest says what is being made, so that only the same work continues it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from hardmax.errors import BadInput, failing
from hardmax.io.files import remove_partial_files, write_file


@contextmanager
def begin_or_resume(
    folder: Path, name: str, manifest: dict[str, Any], what: str, resume: bool, force: bool = False
) -> Iterator[None]:
    """Create a folder with a manifest, or check that the existing one belongs to the same work.

    While the block runs, no other process on this machine can continue the folder. If the block fails before it has
    written anything into a new folder, nothing is left behind.

    Args:
        name: of the manifest's file.
        manifest: plain data; its "digest" tells one work from another.
        what: what the folder holds, for messages: "sweep" or "limit".
        resume: whether an existing folder may be continued. Files that a killed process left half written are removed.
        force: whether an existing folder is replaced, unless it is continued.

    Raises:
        BadInput: the folder holds something else, exists although `resume` is False, is in use, or cannot be written.
    """
    if force and not resume:
        remove_parts(folder, name)
    place, new, made = folder / name, not folder.exists(), False
    if place.exists():
        try:
            digest = json.loads(place.read_text(encoding="utf-8"))["digest"]
        except (ValueError, KeyError, TypeError):
            raise BadInput(f"{place} is damaged", fix="give another folder") from None
        if digest != manifest["digest"]:
            found = f"it holds another {what}, with other data or settings"
            raise BadInput(f"{folder} cannot be continued", found=found, fix="give another folder, or use --force")
        if not resume:
            found = f"it already holds this {what}"
            fix = "use --resume (resume=True) to continue it, or --force (force=True) to replace it"
            raise BadInput(f"{folder} already exists", found=found, fix=fix)
    else:
        with failing(f"{folder} cannot be created"):
            if folder.is_dir():
                remove_partial_files(folder)
            if folder.exists() and any(folder.iterdir()):
                raise BadInput(f"{folder} holds other files", found=f"it is not a {what}", fix="give a new folder")
            folder.mkdir(parents=True, exist_ok=True)
        write_file(place, json.dumps(manifest, indent=1))
        made = True
    with place.open("rb") as file:
        if not _locked(file, place):
            raise BadInput(f"{folder} is being written by another process", fix="wait until it ends, then use --resume")
        remove_partial_files(folder)
        try:
            yield
        except BaseException:
            if made and [p.name for p in folder.iterdir()] == [name]:
                place.unlink()
                if new:
                    folder.rmdir()
            raise


def remove_parts(folder: Path, name: str) -> None:
    """Remove a folder whose manifest, the file `name`, says that hardmax fills it; any other folder stays as it is.

    Raises:
        BadInput: another process is filling it, or it cannot be removed.
    """
    place = folder / name
    try:
        if not str(json.loads(place.read_text(encoding="utf-8"))["schema"]).startswith("hardmax."):
            return
        with place.open("rb") as file:
            free = _locked(file, place)
    except (OSError, ValueError, KeyError, TypeError):
        return
    if not free:
        raise BadInput(f"{folder} is being written by another process", fix="wait until it ends")
    from shutil import rmtree  # only here, as in `hardmax.io.files`

    with failing(f"{folder} cannot be replaced"):
        rmtree(folder)


def _locked(file: IO[bytes], place: Path) -> bool:
    """Whether this process alone has the file, as long as it is open; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    with suppress(OSError):
        return os.fstat(file.fileno()).st_ino == place.stat().st_ino
    return False
