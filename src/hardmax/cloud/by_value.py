"""Equality of results and their parts."""

from dataclasses import fields
from typing import Any

import numpy as np


class ByValue:
    """A base for dataclasses that hold arrays: equal if all fields are, arrays by shape, type and every entry.

    Copies and pickles hold the fields alone, not what was computed from them and kept. There is no hash.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByValue) or not (isinstance(other, type(self)) or isinstance(self, type(other))):
            return NotImplemented
        return _same(self.compared(), other.compared())

    def compared(self) -> tuple[Any, ...]:
        """What decides equality; a class whose fields have several forms of one value overrides it."""
        return tuple(self.__getstate__().values())

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return not isinstance(one, np.ndarray) and not isinstance(other, np.ndarray) and bool(one == other)
