"""Numba's `njit` with a disk cache that notices changes in any compiled file, and `bare_njit` for innermost kernels.

Numba stores a compiled function together with everything it calls, but it only looks at the function's own file to see
whether the stored code is still valid. After an update that changes `a.py` alone, a function of `b.py` that calls into
`a.py` would keep running the old code of `a.py`. Here the stamp that Numba compares covers all compiled files.

Three private parts of Numba are used, and all have a fallback: without the stamp nothing is stored on disk, without the
`_nrt` option references are counted, and without `no_cfunc_wrapper` compilation takes longer. The results are the same.
Where Numba tells no one that it compiles, no one is told.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core.registry import cpu_target

from hardmax.jit import ways

KERNELS: list[Any] = []  # every compiled function of the package that has been imported

# False selects the plain kernels of `hardmax.jit.plain` in place of the vector instructions of `hardmax.jit.simd`.
VECTOR_CODE = os.environ.get("HARDMAX_VECTOR_CODE", "1") != "0"


def digest(folder: Path) -> str:
    """One digest of all source files below a folder that use Numba, and of the choice of kernels.

    Example:
        >>> len(digest(Path("a folder without files")))
        64
    """
    total = sha256(str(VECTOR_CODE).encode())
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes()
        if b"njit" in text or b"llvmlite" in text:
            total.update(path.relative_to(folder).as_posix().encode() + b"\0" + text)
    return total.hexdigest()


DIGEST = digest(Path(__file__).parents[1])


# The wrapper for calls from C, which nobody makes, takes 6 % of the time of compilation (measured). Not documented.
_UNWRAPPED = {"no_cfunc_wrapper": True} if hasattr(cpu_target.options, "no_cfunc_wrapper") else {}
_OPTIONS: dict[str, Any] = {"nogil": True, **_UNWRAPPED}


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
        try:
            kernel = numba.njit(cache=True, **_OPTIONS, **options)(function)
        except RuntimeError:  # nowhere to write: a read-only installation without a home folder
            kernel = None
        # Numba has no public way to add to the stamp. Where it is not found, no cache is better than a stale one.
        if kernel is None or not _stamp(kernel):
            kernel = numba.njit(**_OPTIONS, **options)(function)
        KERNELS.append(kernel)
        return kernel

    return compile_later


def _stamp(kernel: Any) -> bool:
    """Add the digest to what Numba compares before it uses stored code; False if this Numba keeps it elsewhere."""
    index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if not hasattr(index, "_source_stamp"):
        return False
    index._source_stamp = (index._source_stamp, DIGEST)  # type: ignore[union-attr]
    return True


# Numba counts the references to an array whenever one compiled function hands it to another. The counters are atomic,
# and in a kernel that calls small functions in its inner loop they cost ten times more than the work (50 ns a call
# against 2 to 3, measured). A function that neither makes arrays nor keeps any has nothing to count: its caller owns
# them all. The option is not documented.
_UNCOUNTED = {"_nrt": False} if hasattr(cpu_target.options, "_nrt") else {}


def bare_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`njit` for functions that make no arrays (compiling one that does is refused): references are not counted.

    Example:
        >>> @bare_njit()
        ... def first(values):
        ...     return values[0]
        >>> import numpy as np
        >>> int(first(np.array([7, 8])))
        7
    """
    return njit(**_UNCOUNTED, **options)


def stored() -> dict[str, Any]:
    """Where the compiled functions that have been imported are stored, in how many files, and their size.

    Example:
        >>> sorted(stored())
        ['bytes', 'files', 'folders']
    """
    folders = sorted({kernel.stats.cache_path for kernel in KERNELS} - {None})
    files = [path for folder in folders for path in Path(folder).glob("*.nb[ic]")]
    return {"folders": folders, "files": len(files), "bytes": sum(path.stat().st_size for path in files)}


with suppress(ImportError):
    from numba.core import event

    class Announcer(event.Listener):
        """Calls `ways.announce` before Numba compiles something, as opposed to loading it."""

        def on_start(self, _: Any) -> None:
            """Announce it, once."""
            say, ways.announce = ways.announce, None
            if say is not None:
                say()

        def on_end(self, _: Any) -> None:
            """Say nothing more."""

    event.register("numba:compile", Announcer())
