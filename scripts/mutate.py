"""Mutation testing of the core: change one operator or number of a module, and see whether its tests notice.

    python scripts/mutate.py                      a sample of 40 mutants of every group
    python scripts/mutate.py --only limits --count 0   all mutants of one group
    python scripts/mutate.py --only explanations --show   print the mutants that survive
    python scripts/mutate.py --record             store the shares in benchmarks/results

The tests of a module run once as it is, and it is noted which of them reach which lines. Then each mutant runs in a
process of its own, in which the module is loaded from changed source: first the tests that reach the changed line, the
fastest first, then the others. It is killed by the first test that fails, or that takes far longer than before.
scripts/mutants.py says what is changed, and which changes are not tried because no test can notice them.
"""

import argparse
import ast
import contextlib
import json
import os
import random
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import FrameType, ModuleType

import hypothesis  # noqa: F401  what every process needs is loaded once, before the forks
import numba  # noqa: F401
import pytest
import scipy.spatial  # noqa: F401

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants import EQUIVALENT, equivalent, mutant, places, statement  # noqa: E402
from record import RESULTS, record  # noqa: E402

LIMITS = [f"tests/dynamics/test_{name}.py" for name in ("outcome", "scales", "large", "two_ways")]
VARIANTS = [f"tests/dynamics/test_{name}.py" for name in ("variants_definition", "variants")]
CHECK = "tests/dynamics/check/test_"
RATIONAL_CHECK = f"{CHECK}rational_check.py"
FLOAT_CHECK = [f"{CHECK}{name}.py" for name in ("float_check", "bands", "large_float_check")]
# group -> module -> the tests that must notice, those that are nearest first
GROUPS = {
    "follow sets": {
        "attention/dense.py": ["tests/attention/test_dense.py", "tests/dynamics/test_variants_definition.py"],
        "attention/ties.py": ["tests/attention/test_ties.py", "tests/dynamics/test_engine.py"],
        "dynamics/follow_sets.py": ["tests/dynamics/test_engine.py", "tests/dynamics/test_simulate.py"],
        "dynamics/exact/follow.py": ["tests/dynamics/exact"],
    },
    "limits": {
        "dynamics/limit.py": ["tests/dynamics/test_limit.py", *LIMITS],
        "dynamics/locks.py": ["tests/dynamics/test_locks.py", *VARIANTS],
        "dynamics/tie_locks.py": ["tests/dynamics/test_tie_locks.py", "tests/dynamics/test_limit.py", *LIMITS],
    },
    "certificates": {
        "dynamics/check/claims.py": [f"{CHECK}claims.py", RATIONAL_CHECK, *FLOAT_CHECK],
        "dynamics/check/exact_ties.py": [f"{CHECK}exact_ties.py", *FLOAT_CHECK],
        "dynamics/check/floats.py": FLOAT_CHECK,
        "dynamics/check/replay.py": FLOAT_CHECK,
        "dynamics/check/follow_sets.py": [f"{CHECK}follow_sets.py", *FLOAT_CHECK],
        "dynamics/check/tied.py": FLOAT_CHECK,
        "dynamics/check/pattern.py": [RATIONAL_CHECK],
        "dynamics/check/rational.py": [RATIONAL_CHECK],
    },
    "certificates, shortcuts of large clouds": {
        "dynamics/check/contest.py": [f"{CHECK}strongest.py"],
        "dynamics/check/convex.py": [f"{CHECK}convex.py", f"{CHECK}plane.py", *FLOAT_CHECK],
        "dynamics/check/plane.py": [f"{CHECK}plane.py", *FLOAT_CHECK],
        "dynamics/check/solid.py": [f"{CHECK}solid.py", f"{CHECK}strongest.py", *FLOAT_CHECK],
        "dynamics/check/strongest.py": [f"{CHECK}strongest.py", *FLOAT_CHECK],
    },
    "explanations": {
        "sentiment/explain.py": ["tests/sentiment/test_explain.py", "tests/sentiment/test_word_effects.py"],
        "sentiment/explain_parts.py": ["tests/sentiment/test_explain.py"],
    },
}


class Changed(MetaPathFinder, Loader):
    """Loads one module from other source."""

    def __init__(self, name: str, source: str, path: Path) -> None:
        self.name, self.source, self.path = name, source, path

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Ours for our module only."""
        return spec_from_loader(name, self, origin=str(self.path)) if name == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source in the place of the file."""
        module.__file__ = str(self.path)
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


class Reached:
    """A pytest plugin: which lines of some modules does each test reach, and how long does it take?"""

    def __init__(self, paths: list[Path]) -> None:
        self.names = {str(path): k for k, path in enumerate(paths)}
        self.lines: dict[str, set[tuple[int, int]]] = {}
        self.seconds: dict[str, float] = {}
        self.current: set[tuple[int, int]] = set()

    def trace(self, frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        """What `sys.settrace` calls."""
        if frame.f_code.co_filename not in self.names:
            return None
        if event == "line":
            self.current.add((self.names[frame.f_code.co_filename], frame.f_lineno))
        return self.trace

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, request: pytest.FixtureRequest) -> Iterator[None]:
        """What a fixture reaches is reached by all tests of its file, which may share it."""
        before, self.current = self.current, self.lines.setdefault(request.node.nodeid.split("::")[0], set())
        sys.settrace(self.trace)
        yield
        sys.settrace(None)
        self.current = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Follow one test."""
        self.current, begin = self.lines.setdefault(item.nodeid, set()), time.perf_counter()
        sys.settrace(self.trace)
        yield
        sys.settrace(None)
        self.seconds[item.nodeid] = time.perf_counter() - begin

    def tests(self, path: Path, lines: range, files: list[str]) -> list[str]:
        """Those of the tests in `files` that reach one of the lines, the fastest first; all for lines run on import."""
        sought = {(self.names[str(path)], line) for line in lines}
        some = [t for t in self.seconds if t.startswith(tuple(files))]
        reached = {f for f, found in self.lines.items() if not found.isdisjoint(sought)}  # tests, and files by fixtures
        found = [t for t in some if not lines or t in reached or t.split("::")[0] in reached]
        return sorted(found, key=lambda t: (self.seconds[t], t))


class Chosen:
    """A pytest plugin: only these tests, in this order; one that takes far longer than before ends the process."""

    def __init__(self, tests: list[str], seconds: dict[str, float]) -> None:
        self.tests, self.seconds = tests, seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Processor time is counted: other work on the machine kills no mutant."""
        signal.setitimer(signal.ITIMER_PROF, 5 + 3 * self.seconds[item.nodeid])
        return (yield)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Called by pytest when it has found all tests."""
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self.tests]


def passes(files: list[str], plugin: object, changed: Changed | None = None) -> bool:
    """Whether the tests pass, with a module loaded from changed source if one is given."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    os.setsid()
    sys.meta_path[:0] = [changed] if changed else []
    words = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", *files]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is there before pytest begins
    return pytest.main(words, plugins=[plugin]) == 0


def in_a_process(work: Callable[[], object], seconds: float) -> object:
    """What work() gives in a process of its own; None if it does not end, or ends badly."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            answer = json.dumps(work())
            with os.fdopen(writing, "w") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(writing)
    until, answer = time.monotonic() + seconds, b""
    while (left := until - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        part = os.read(reading, 1 << 16)
        answer += part
        if not part:
            break
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests have started
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None


def reached(paths: list[Path], files: list[str]) -> Reached:
    """Which tests reach which lines of the modules as they are."""

    def work() -> object:
        plugin = Reached(paths)
        good = passes(files, plugin)
        return good and [{test: sorted(lines) for test, lines in plugin.lines.items()}, plugin.seconds]

    found = in_a_process(work, 3600)
    assert isinstance(found, list), f"the tests fail as it is: {', '.join(files)}"
    plugin = Reached(paths)
    plugin.lines = {test: {(k, line) for k, line in lines} for test, lines in found[0].items()}
    plugin.seconds = found[1]
    return plugin


def survives(changed: Changed, tests: list[str], known: Reached) -> bool:
    """Whether all these tests pass with a changed module."""
    if not tests:
        return True
    files = sorted({test.split("::")[0] for test in tests})
    plugin = Chosen(tests, known.seconds)
    return in_a_process(lambda: passes(files, plugin, changed), 900) is True


def store(row: list[str]) -> None:
    """Store a row beside the others; of each group and seed the first pass is kept, never a later one."""
    path = RESULTS / "mutation.json"
    old = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = {(group, seed): [group, *rest, seed, found] for group, *rest, seed, found in [row, *old]}
    head = ["group", "changes", "not noticeable", "seed", "killed"]
    order = sorted(rows, key=lambda name: (list(GROUPS).index(name[0]), int(name[1])))
    record("mutation", head, [rows[name] for name in order])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(GROUPS), action="append")
    parser.add_argument("--count", type=int, default=40, help="mutants of each group, drawn at random; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="seed for the choice")
    parser.add_argument("--show", action="store_true", help="print the mutants that survive")
    parser.add_argument("--record", action="store_true", help="store the shares in benchmarks/results")
    options = parser.parse_args()
    os.chdir(ROOT)
    for group, modules in GROUPS.items():
        if options.only and group not in options.only:
            continue
        paths = {file: ROOT / "src" / "hardmax" / file for file in modules}
        sources = {file: path.read_text(encoding="utf-8") for file, path in paths.items()}
        stale = [part for file in modules for part, *_ in EQUIVALENT.get(file, ()) if part not in sources[file]]
        assert not stale, f"mutants.py lists lines that are not there any more: {stale}"
        known = reached(list(paths.values()), list(dict.fromkeys(test for tests in modules.values() for test in tests)))
        every = [(file, k) for file, text in sources.items() for k in range(len(list(places(ast.parse(text)))))]
        tried = [(file, k) for file, k in every if not equivalent(file, sources[file], mutant(sources[file], k)[1])]
        chosen = random.Random(options.seed).sample(tried, len(tried))  # a larger count only adds to a smaller one
        chosen = chosen[: options.count or len(tried)]
        left = 0
        for file, number in chosen:
            source, what = mutant(sources[file], number)
            changed = Changed("hardmax." + file.removesuffix(".py").replace("/", "."), source, paths[file])
            tests = known.tests(paths[file], statement(sources[file], number), modules[file])
            if survives(changed, tests, known):
                left += 1
                if options.show:
                    print(f"    survives: {paths[file].name} {what}", flush=True)
        share = 1 - left / max(len(chosen), 1)
        print(
            f"{group}: {len(chosen) - left} of {len(chosen)} mutants killed ({share:.0%}); {len(every)} in all",
            flush=True,
        )
        if options.record:
            found = f"{len(chosen) - left} of {len(chosen)} ({share:.0%})"
            listed = f"{len(every) - len(tried):,}"
            store([group, f"{len(every):,}", listed, f"{options.seed}", found])
    return 0


if __name__ == "__main__":
    sys.exit(main())
