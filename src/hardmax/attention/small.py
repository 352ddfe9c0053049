"""Small clouds: whether the layers of each run in one compiled call (`fused`), or layer by layer in the engine.

Both give the same bits. The compiled call is faster, and the engine needs no compiled code for clouds of this size.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from hardmax.jit.ways import Job

SMALL = 1024  # tokens of a cloud that is compared in one piece
_OVERHEAD = 1_000_000  # of the engine for a cloud of any size, in products of coordinates
_JOB = Job("fused.run_clouds")


def layer_by_layer(sizes: Iterable[int], dim: int) -> bool:
    """Whether clouds of these many tokens, all small, go through the engine.

    Example:
        >>> layer_by_layer([10] * 50_000, dim=2)
        False
    """
    return _JOB.plain(sum(n * n * dim + _OVERHEAD for n in sizes))


def is_stored() -> bool:
    """Whether the compiled call is on disk."""
    return _JOB.stored


def counted() -> AbstractContextManager[None]:
    """Count the processor time of what is done inside as spent on small clouds in the engine."""
    return _JOB.counted()


@cache
def compiled() -> Any:
    """`run_fused`. An import statement of its own would cost a tenth of the time of ten tokens."""
    from hardmax.attention.fused import run_fused

    _JOB.ready = True
    return run_fused
