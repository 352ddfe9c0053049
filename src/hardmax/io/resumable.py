"""Folders that are filled part by part: a manifest says what is being made, so that only the same work continues it."""

import json
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput
from hardmax.io.files import remove_partial_files, write_file


def begin_or_resume(folder: Path, name: str, manifest: dict[str, Any], what: str, resume: bool) -> None:
    """Make a folder with a manifest, or see that the one that is there belongs to the same work.

    Args:
        name: of the manifest's file.
        manifest: plain data; its "digest" tells one work from another.
        what: what the folder holds, for messages: "sweep".
        resume: whether a folder that is there may be continued. What a kill left half written is removed.

    Raises:
        BadInput: the folder holds something else, or is not to be continued.
    """
    place = folder / name
    if place.exists():
        try:
            digest = json.loads(place.read_text(encoding="utf-8"))["digest"]
        except (ValueError, KeyError, TypeError):
            raise BadInput(f"{place} is damaged", fix="give another folder") from None
        if digest != manifest["digest"]:
            found = f"it holds another {what}, of other texts or settings"
            raise BadInput(f"{folder} cannot be continued", found=found, fix="give another folder")
        if not resume:
            found = f"it already holds this {what}"
            raise BadInput(f"{folder} already exists", found=found, fix="use --resume to continue it")
        remove_partial_files(folder / "part")
        return
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"{folder} holds other files", found=f"it is not a {what}", fix="give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    write_file(place, json.dumps(manifest, indent=1))
