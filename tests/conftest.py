"""For all tests: byte code is stored, libraries use one thread, Ctrl-C reaches programs, array shapes are checked.

A shell without job control starts background jobs with the interrupt signal ignored, and children inherit that; tests
that interrupt a run would then wait for its end.
"""

import gc
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or every program that a test starts compiles the package again
sys.dont_write_bytecode = False
for library in ("OMP", "OPENBLAS", "MKL"):  # the tests are many processes: threads that wait for each other take a core
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

gc.set_threshold(10_000, 20)  # a worker keeps a million objects, and looking through them often took 5 % of its time

os.environ["HARDMAX_CHECK_SHAPES"] = "1"  # before any test imports hardmax; see hardmax.shapes
import hardmax.shapes  # noqa: E402, F401

del os.environ["HARDMAX_CHECK_SHAPES"]  # programs that tests start run as those of users do, and start sooner

# Of two workers, one begins with the first half and compiles what clouds need, the other with the second half and
# compiles what texts need. The rooms that need both come last, when everything is stored.
CLOUDS = ["attention", "cloud", "jit", "dynamics", "construction", "transformer"]
ROOMS = [*CLOUDS, "text", "sentiment", "scale", "web", "cli", "io", "experiments"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The rooms in this order, then the others."""
    place = {room: k for k, room in enumerate(ROOMS)}
    items.sort(key=lambda item: place.get(item.path.relative_to(TESTS).parts[0], len(ROOMS)))
