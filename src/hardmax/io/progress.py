"""Progress of long work on stderr: a bar on a terminal, a line every few seconds elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from hardmax.errors import BadInput

EVERY = 3.0  # seconds between lines of progress if stderr is not a terminal

Tell = Callable[[float, float | None, str], None]
Report = Callable[[int, int], Any]  # called with the number of steps done and of all steps


@contextmanager
def reporting(progress: "bool | Report", what: str) -> Iterator["Report | None"]:
    """What the argument `progress` of a function asks for: nothing, a bar, or the caller's own function.

    Example:
        >>> with reporting(lambda done, total: print(done, "of", total), "walking") as report:
        ...     report(1, 2)
        1 of 2
    """
    if progress is False or progress is None:
        yield None
    elif progress is True:
        with telling(False, what, first=False) as tell:
            yield lambda done, total: tell(done, total, what)
    elif callable(progress):
        yield progress
    else:
        raise BadInput(f"progress is {progress!r}; expected True, False or a function of (done, total)")


@contextmanager
def telling(silent: bool, what: str, first: bool = True) -> Iterator[Tell]:
    """A function that reports progress on stderr: a bar on a terminal, otherwise a line every few seconds, or nothing.

    It is called with the number of steps that are done, the number of all steps (or None), and what is being done; it
    adds the rate and the time left. Unless `first` is False, a first line says at once what begins.
    """
    pace = Pace()
    if silent or not sys.stderr.isatty():
        if first and not silent:
            print(what, file=sys.stderr)
        last = time.monotonic()

        def tell(done: float, total: float | None, what: str) -> None:
            nonlocal last
            rate, left = pace.at(done, total)
            if not silent and time.monotonic() - last >= EVERY:
                last = time.monotonic()
                of = f" of {total:,.0f}" if total else ""
                print(", ".join(filter(None, (f"{what}: {done:,.0f}{of}", rate, left))), file=sys.stderr, flush=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TimeElapsedColumn
    from rich.progress import TextColumn as Column

    columns = (
        Column("{task.description}", markup=False),
        BarColumn(),
        Column("{task.fields[pace]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, pace="")

        def update(done: float, total: float | None, what: str) -> None:
            shown = ", ".join(filter(None, pace.at(done, total)))
            bar.update(task, completed=done, total=total, description=what, pace=shown)

        yield update


class Pace:
    """How fast something goes, in words; a count that falls begins the next stage.

    The clock starts at the first count of a stage: what came before, such as compiling, is not its pace.
    """

    def __init__(self) -> None:
        self.start, self.first, self.last = time.monotonic(), 0.0, inf

    def at(self, done: float, total: float | None) -> tuple[str, str]:
        """The rate, and the time that is left; empty where they are not known yet."""
        now = time.monotonic()
        if done < self.last:
            self.start, self.first = now, done
        self.last = done
        spent, steps = now - self.start, done - self.first
        if spent < 1 or steps <= 0:
            return "", ""
        left = (total - done) * spent / steps if total else 0.0
        unit, size = next(((u, s) for u, s in (("s", 1), ("min", 60)) if left < 100 * s), ("h", 3600))
        rate = steps / spent
        shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        return f"{shown} per second", f"{left / size:.0f} {unit} left" if left > 0 else ""
