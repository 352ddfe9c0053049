"""Run a compiled kernel on parts of the queries in several threads.

The kernels release the interpreter lock and write to rows of their own, so plain threads are enough: no threading layer
to choose, no spinning workers, and callers from several Python threads do not disturb one another.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numba

PARALLEL_FROM = 1_000_000  # steps of work below which starting threads costs more than it saves
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}  # by process (threads do not survive a fork) and size
_most: ContextVar[int | None] = ContextVar("most", default=None)


@contextmanager
def at_most(count: int | None) -> Iterator[None]:
    """Within this context use at most `count` threads; None changes nothing.

    Example:
        >>> with at_most(1):
        ...     threads()
        1
    """
    before = _most.set(count if count is not None else _most.get())
    try:
        yield
    finally:
        _most.reset(before)


def threads() -> int:
    """How many threads to use: the cores this process may use, at most NUMBA_NUM_THREADS; see also `at_most`."""
    settings: Any = numba.config  # its names are set at run time
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, int(settings.NUMBA_NUM_THREADS), _most.get() or cores))


def over_parts(kernel: Callable[[int, int], object], count: int, work: float, multiple: int = 1) -> None:
    """Call kernel(start, stop) on parts that cover range(count); in threads if `work` (in steps) is large.

    Args:
        multiple: all parts but the last hold a multiple of this many items.

    Example:
        >>> over_parts(lambda start, stop: print(start, stop), 5, work=1)
        0 5
    """
    if work < PARALLEL_FROM or count <= multiple or (workers := threads()) == 1:  # counting cores takes a while
        if count:
            kernel(0, count)
        return
    # Parts cost different times: several for each thread, taken as threads become free.
    size = -(-count // (8 * workers * multiple)) * multiple
    key = os.getpid(), workers
    pool = _pools.get(key)
    if pool is None:
        pool = _pools.setdefault(key, ThreadPoolExecutor(max_workers=workers, thread_name_prefix="hardmax"))
    futures = [pool.submit(kernel, start, min(start + size, count)) for start in range(0, count, size)]
    for future in futures:
        future.result()
