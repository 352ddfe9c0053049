"""Compilation, threads and vector code: the only room that knows Numba and llvmlite.

Numba is imported with the first name that needs it; `hardmax.jit.ways`, which decides whether to, needs none.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardmax.jit.compiled import bare_njit, njit
    from hardmax.jit.threads import over_parts

__all__ = ["bare_njit", "njit", "over_parts"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hardmax.jit' has no attribute {name!r}")
    from hardmax.jit import compiled, threads

    return getattr(threads if name == "over_parts" else compiled, name)
