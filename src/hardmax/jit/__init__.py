"""Compilation, threads and vector code: the only room that knows Numba and llvmlite."""

from hardmax.jit.compiled import bare_njit, njit
from hardmax.jit.threads import over_parts

__all__ = ["bare_njit", "njit", "over_parts"]
