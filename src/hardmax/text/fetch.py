"""Download the full data sets, with a checksum; nothing is fetched unless asked for."""

import os
import time
from collections.abc import Callable
from hashlib import md5
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from hardmax.errors import BadInput, NotFetched

# name -> (address, file name, bytes, MD5 as published with the data)
SOURCES = {
    "imdb": (
        "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        "aclImdb_v1.tar.gz",
        84_125_825,
        "7c2ac02c03563afcf9b574c7e56c153a",
    )
}
PIECE = 1 << 18
_TRIES = 3


def folder() -> Path:
    """Where data sets are kept: HARDMAX_DATA, or hardmax/ in the user's cache folder."""
    if given := os.environ.get("HARDMAX_DATA"):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "hardmax"


def archive(name: str) -> Path:
    """Where a data set's archive is, or would be."""
    if name not in SOURCES:
        raise BadInput(f"no data set {name!r} to fetch", found=", ".join(SOURCES))
    return folder() / SOURCES[name][1]


def fetch(
    name: str,
    to: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    address: str | None = None,
) -> Path:
    """Download a data set, check it, and put it in place in one step; nothing to do if it is there and right.

    Args:
        to: a folder, instead of the usual one.
        progress: called with (bytes so far, bytes in all).
        address: another address of the same file.

    Raises:
        NotFetched: no network, or the file that came is not the right one.
    """
    usual = archive(name)
    address = address or SOURCES[name][0]
    place = Path(to) / usual.name if to is not None else usual
    wanted = SOURCES[name][3]
    if place.exists() and _digest(place) == wanted:
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        for attempt in range(_TRIES):
            try:
                _download(address, part, SOURCES[name][2], progress)
                break
            except (OSError, HTTPException, ValueError) as error:
                if attempt == _TRIES - 1:
                    raise NotFetched(
                        f"{address} could not be downloaded ({error})", fix="look at the network"
                    ) from error
                time.sleep(attempt + 1.0)
        found = _digest(part)
        if found != wanted:
            raise NotFetched(f"{address} sent another file than expected", found=f"MD5 {found}, expected {wanted}")
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)
    return place


def _download(address: str, part: Path, size: int, progress: Callable[[int, int], None] | None) -> None:
    done = 0
    with urlopen(address, timeout=30) as answer, open(part, "wb") as file:
        total = int(answer.headers.get("Content-Length") or size)
        while piece := answer.read(PIECE):
            file.write(piece)
            done += len(piece)
            if progress is not None:
                progress(done, total)


def _digest(path: Path) -> str:
    total = md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            total.update(piece)
    return total.hexdigest()
