"""Two ways to do a job, plain NumPy and compiled code, with the same bits: which of them is taken.

Compiled code is faster once it is in memory, but Numba takes about a second of every process before it runs anything,
and several seconds to compile, once per installation. So a small job goes the plain way until the compiled code is in
memory anyway, or until plain work has cost the process as much as loading the compiled code would have.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha1
from pathlib import Path
from time import thread_time

PLAIN, COMPILED = "plain", "compiled"
SMALL = 1 << 29  # products of coordinates: about 0.3 s in NumPy, less than it takes to import and load compiled code
WORTH_COMPILING = 10  # times as much work as is worth loading compiled code, where it has to be compiled first
PATIENCE = 1.0  # processor seconds of plain work of all jobs after which Numba is loaded
PATIENCE_WITH_NUMBA = 0.05  # of one job, after which its compiled code is loaded from disk: a tenth of loading Numba
PATIENCE_TO_COMPILE = 20.0  # the same where nothing is stored, so that it has to be compiled first


announce: Callable[[], None] | None = None  # called once, before the first compilation of this process


class Job:
    """A kind of work that can be done both ways.

    Attributes:
        ready: whether its compiled code is in memory.
        spent: processor seconds that this process has spent on it the plain way.

    Example:
        >>> job = Job("fused.run_clouds")
        >>> job.plain(work=1000), job.plain(work=SMALL + 1)
        (True, False)
    """

    forced: str | None = None  # PLAIN or COMPILED: all jobs go this way, however large; for comparisons of the two
    of_all = 0.0  # processor seconds that this process has spent on all jobs the plain way

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel  # "module.function" of the compiled code: the beginning of the names of its stored files
        self.ready, self.spent = False, 0.0
        self._look_at = 0.0  # processor seconds at which the disk is looked at again: a look takes milliseconds

    def plain(self, work: float) -> bool:
        """Whether to do it in NumPy; `work` is the number of products of coordinates that this takes."""
        if Job.forced is not None:
            return Job.forced == PLAIN
        if self.ready or work > SMALL:
            return False
        if self.spent < max(PATIENCE_WITH_NUMBA, self._look_at):
            return True
        if "numba" not in sys.modules and Job.of_all < PATIENCE:
            return True
        if self.spent >= PATIENCE_TO_COMPILE or self.stored:
            return False
        self._look_at = min(2.0 * self.spent, PATIENCE_TO_COMPILE)
        return True

    def plain_up_to(self, few: float, work: float) -> bool:
        """Whether to do it in NumPy, where more work than `few` is worth loading compiled code, but not compiling it.

        Example:
            >>> job = Job("nothing.of_this_name")
            >>> job.plain_up_to(100, work=99), job.plain_up_to(100, work=500), job.plain_up_to(100, work=5000)
            (True, True, False)
        """
        if Job.forced is not None or self.ready or work <= few:
            return self.plain(work)
        return work <= WORTH_COMPILING * few and self.spent < PATIENCE_TO_COMPILE and not self.stored

    @property
    def stored(self) -> bool:
        """Whether the compiled code is on disk, as far as can be told without Numba."""
        given, package = os.environ.get("NUMBA_CACHE_DIR"), Path(__file__).parents[1]
        found = (Path(given) if given else package).rglob(f"{self.kernel}-*.nbi")
        return any(not given or path.parent.name in _folders(package) for path in found)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the processor time of what is done inside as plain work."""
        start = thread_time()
        try:
            yield
        finally:
            spent = thread_time() - start
            self.spent += spent
            Job.of_all += spent


@cache
def _folders(package: Path) -> set[str]:
    """What Numba calls the folders in NUMBA_CACHE_DIR of the rooms of a package: other installations have their own."""
    rooms = (os.path.abspath(room) for room in package.iterdir() if room.is_dir())
    return {f"{os.path.basename(room)}_{sha1(room.encode(), usedforsecurity=False).hexdigest()}" for room in rooms}


@contextmanager
def forced(way: str) -> Iterator[None]:
    """Do all jobs the given way, `PLAIN` or `COMPILED`.

    Example:
        >>> with forced(COMPILED):
        ...     Job("fused.run_clouds").plain(work=1)
        False
    """
    before, Job.forced = Job.forced, way
    try:
        yield
    finally:
        Job.forced = before
