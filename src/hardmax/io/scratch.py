"""Large arrays that only one computation needs: in memory, or in files that vanish with them.

The files have no name, so nothing is left behind even if the process is killed. Their disk space is reserved when they
are made: a full disk is an error there and then, not a crash in the middle of a computation.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hardmax.errors import BadInput, failing

LARGE = 1 << 18  # bytes; smaller arrays stay in memory
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def spilling(folder: str | Path | None) -> Iterator[None]:
    """Within this context large scratch arrays are files in `folder`; None keeps them in memory.

    Example:
        >>> with spilling("."):
        ...     type(empty(10_000_000, np.int32).base).__name__
        'memmap'
    """
    before = _folder.set(None if folder is None else Path(folder))
    try:
        yield
    finally:
        _folder.reset(before)


def scratch_file(folder: str | Path) -> IO[bytes]:
    """A file without a name in a folder.

    Raises:
        BadInput: the folder cannot be written to.
    """
    from tempfile import TemporaryFile  # takes a while to import

    with failing(f"{folder}: no file can be created in it"):
        return TemporaryFile(dir=folder)


def empty(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """(size,) numbers without a value yet, in memory or in a file; see `spilling`.

    Example:
        >>> empty(3, np.int32).shape
        (3,)
    """
    folder, count = _folder.get(), size * np.dtype(dtype).itemsize
    if folder is None or count < LARGE:
        return np.empty(size, dtype)
    with scratch_file(folder) as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, count)
            else:
                file.truncate(count)
        except OSError as error:
            raise BadInput(
                f"{folder}: {count:,} bytes of scratch space are missing ({error.strerror or error})",
                fix="free some space, or write the result to another disk",
            ) from error
        return np.asarray(np.memmap(file, dtype, "r+", shape=(size,)))


def kept(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers where `empty` would put them.

    Example:
        >>> kept(np.arange(3)).tolist()
        [0, 1, 2]
    """
    if _folder.get() is None or values.nbytes < LARGE:
        return values
    room = empty(values.size, values.dtype).reshape(values.shape)
    room[...] = values
    return room


def joined(parts: Iterator[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """(size,) the numbers of the parts one after the other; the parts are asked for one at a time.

    Example:
        >>> joined(iter([np.arange(2), np.arange(3)]), np.int32).tolist()
        [0, 1, 0, 1, 2]
    """
    folder = _folder.get()
    if folder is None:
        return np.concatenate([np.empty(0, dtype), *(part.ravel() for part in parts)]).astype(dtype, copy=False)
    with scratch_file(folder) as file:
        size = 0
        try:
            for part in parts:
                size += file.write(np.ascontiguousarray(part, dtype).ravel().data)
            file.flush()
        except OSError as error:
            raise BadInput(f"{folder}: no scratch space is left ({error.strerror or error})") from error
        shape = (size // np.dtype(dtype).itemsize,)
        return np.asarray(np.memmap(file, dtype, "r+", shape=shape)) if size else np.empty(0, dtype)
