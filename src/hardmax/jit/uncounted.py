"""Compiled functions that do not count references, for the innermost kernels.

Numba counts the references to an array whenever one compiled function hands it to another. The counters are atomic, and
in a kernel that calls small functions in its inner loop they cost ten times more than the work (50 ns a call against
2 to 3, measured). A function that neither makes arrays nor keeps any has nothing to count: its caller owns them all.
"""

from collections.abc import Callable
from typing import Any

from numba.core.registry import cpu_target

from hardmax.jit.compiled import njit

# The switch exists in all versions of Numba that we support, but is not documented; without it all is right but slower.
_WITHOUT = {"_nrt": False} if hasattr(cpu_target.options, "_nrt") else {}


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
    return njit(**_WITHOUT, **options)
