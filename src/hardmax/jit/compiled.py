"""Numba's `njit` with a disk cache that notices a change in any of the compiled files.

Numba stores a compiled function together with everything it calls, but looks at the function's own file only to see
whether the stored code is still good. After an update that changes `a.py` alone, a function of `b.py` that calls into
`a.py` would go on running the old code of `a.py`. Here the mark of freshness covers all files with compiled code.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba


def digest(folder: Path) -> str:
    """One digest of all source files below a folder that use Numba.

    Example:
        >>> digest(Path("a folder without files"))[:8]  # that of nothing
        'e3b0c442'
    """
    total = sha256()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes()
        if b"njit" in text or b"llvmlite" in text:
            total.update(path.relative_to(folder).as_posix().encode() + b"\0" + text)
    return total.hexdigest()


DIGEST = digest(Path(__file__).parents[1])


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` for kernels: without the interpreter lock, cached on disk until any compiled file changes.

    Example:
        >>> @njit()
        ... def twice(x):
        ...     return 2 * x
        >>> twice(21)
        42
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        plain = numba.njit(nogil=True, **options)
        try:
            kernel = numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # nowhere to write: a read-only installation without a home folder
            return plain(function)
        # Numba has no public way to add to the mark. Where it is not found, no cache is better than a stale one.
        index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if not hasattr(index, "_source_stamp"):
            return plain(function)
        index._source_stamp = (index._source_stamp, DIGEST)  # type: ignore[union-attr]
        return kernel

    return compile_later
