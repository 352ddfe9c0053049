"""Texts in a file instead of in memory: a sequence of strings that are read on demand."""

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import failing


class _File:
    """An open file that is closed when the last texts in it are gone."""

    def __init__(self, opened: IO[bytes]) -> None:
        self.open = opened

    def __del__(self) -> None:
        self.open.close()


class StoredTexts(Sequence[str]):
    """Texts in a file without a name, which is gone when they are; 16 bytes of memory for each.

    Example:
        >>> texts = StoredTexts(["one", "two", "three"], ".")
        >>> len(texts), texts[1], list(texts[::2]), list(texts.take(np.array([2, 0])))
        (3, 'two', ['one', 'three'], ['three', 'one'])
    """

    def __init__(self, texts: Iterable[str], folder: str | Path) -> None:
        from hardmax.io.scratch import scratch_file

        self._file = _File(scratch_file(folder))
        ends, end = array("q", [0]), 0
        with failing(f"{folder}: the texts cannot be stored in it"):
            for text in texts:
                end += self._file.open.write(text.encode("utf-8", "surrogatepass"))
                ends.append(end)
            self._file.open.flush()
        every = np.array(ends, np.int64)
        self._starts, self._ends = every[:-1], every[1:]

    def take(self, which: NDArray[np.integer[Any]] | slice) -> "StoredTexts":
        """Some of the texts, in the order given; they share the file."""
        some = object.__new__(StoredTexts)
        some._file, some._starts, some._ends = self._file, self._starts[which], self._ends[which]
        return some

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[str]:
        for start, end in zip(self._starts, self._ends, strict=True):
            yield self._read(int(start), int(end))

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice) -> "StoredTexts": ...
    def __getitem__(self, which: int | slice) -> "str | StoredTexts":
        if isinstance(which, slice):
            return self.take(which)
        return self._read(int(self._starts[which]), int(self._ends[which]))

    def _read(self, start: int, end: int) -> str:
        return os.pread(self._file.open.fileno(), end - start, start).decode("utf-8", "surrogatepass")


def some_of(texts: Sequence[str], which: NDArray[np.integer[Any]]) -> Sequence[str]:
    """Some of the texts of a list or of stored ones.

    Example:
        >>> some_of(["a", "b", "c"], np.array([2, 0]))
        ['c', 'a']
    """
    return texts.take(which) if isinstance(texts, StoredTexts) else [texts[i] for i in which.tolist()]
