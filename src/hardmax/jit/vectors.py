"""The innermost loops: in vector instructions, or as plain loops where these cannot be had.

The plain ones are taken if llvmlite lacks what `simd` needs, if Numba is older or newer than the versions that it was
tested with, or if the environment sets HARDMAX_VECTOR_CODE=0.
"""

import numba

from hardmax.jit import plain
from hardmax.jit.compiled import VECTOR_CODE

TESTED = (0, 60), (0, 70)  # from, and below; pyproject.toml allows the same

try:
    if not (VECTOR_CODE and TESTED[0] <= tuple(map(int, numba.__version__.split(".")[:2])) < TESTED[1]):
        raise ImportError("vector code is off, or this Numba is unknown")
    from hardmax.jit import simd as chosen
except (ImportError, AttributeError):  # another llvmlite or Numba than those we know
    chosen = plain  # type: ignore[misc]

QUERIES, BLOCK, LANES, TILE = chosen.QUERIES, chosen.BLOCK, chosen.LANES, chosen.TILE
SEEKERS, GROUP = chosen.SEEKERS, chosen.GROUP
reached, seek, top2_1, top2_2 = chosen.reached, chosen.seek, chosen.top2_1, chosen.top2_2
top2_3, top2_4, top2_any = chosen.top2_3, chosen.top2_4, chosen.top2_any
