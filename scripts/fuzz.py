"""Fuzz every reader and endpoint: random changes of good inputs, until a number or a time is reached.

    python scripts/fuzz.py                                   every target, 20,000 inputs each
    python scripts/fuzz.py --only links words --seconds 60
    python scripts/fuzz.py --only study --atheris            guided by coverage (needs atheris)
    python scripts/fuzz.py --only study --replay crash.bin
    python scripts/fuzz.py --count 30000 --seed 1 --record   store the counts for docs/testing.md

An input must be accepted or refused with an error of hardmax. Every other exception is a crash: its input is written
to --crashes, and the exit status is 1. The last line counts the inputs.
"""

import argparse
import gc
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from record import record

from fuzz_targets import Target, targets

PATIENCE = 20  # different crashes of one target after which it stops


def fuzz(name: str, target: Target, options: argparse.Namespace) -> tuple[int, int, float, int]:
    """How many inputs were tried and accepted, the slowest in seconds, and how many different crashes there were."""
    rng = random.Random(f"{options.seed} {name}")
    until = time.monotonic() + options.seconds if options.seconds else float("inf")
    tried = accepted = 0
    crashes: set[str] = set()
    slowest = 0.0
    while tried < options.count and time.monotonic() < until and len(crashes) < PATIENCE:
        data = target.input(rng)
        tried += 1
        began = time.process_time()
        try:
            accepted += target.try_one(data)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            key = f"{type(error).__name__} {where.filename}:{where.lineno}"
            if key not in crashes:
                crashes.add(key)
                keep(name, data, options.crashes)
                print(f"{name}: CRASH {key}: {str(error)[:200]}\n    {data[:200]!r}", flush=True)
        slowest = max(slowest, time.process_time() - began)
    print(f"{name:20s} {tried:9,d} inputs, {accepted / max(tried, 1):5.1%} accepted, slowest {slowest:.2f} s, "
          f"{len(crashes)} crashes", flush=True)  # fmt: skip
    return tried, accepted, slowest, len(crashes)


def keep(name: str, data: bytes, folder: Path) -> None:
    """Write down an input that crashed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}-{sha256(data).hexdigest()[:12]}.bin").write_bytes(data)


def with_atheris(name: str, target: Target, options: argparse.Namespace) -> None:
    """Let libFuzzer look for inputs that reach new code; it ends the process itself."""
    import atheris

    atheris.instrument_all()
    with tempfile.TemporaryDirectory() as corpus:
        for k, seed in enumerate(target.seeds):
            (Path(corpus) / str(k)).write_bytes(seed)
        flags = [f"-runs={options.count}", f"-artifact_prefix={options.crashes}/{name}-", "-verbosity=0"]
        flags += [f"-max_total_time={int(options.seconds)}"] if options.seconds else []
        options.crashes.mkdir(parents=True, exist_ok=True)
        atheris.Setup([sys.argv[0], *flags, corpus], target.try_one)
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=None, metavar="TARGET", help="names, or beginnings of names")
    parser.add_argument("--count", type=int, default=20_000, help="inputs for each target")
    parser.add_argument("--seconds", type=float, default=0.0, help="at most this long for each target")
    parser.add_argument("--seed", type=int, default=0, help="seed for all random choices")
    parser.add_argument(
        "--crashes", type=Path, default=Path("fuzz-crashes"), help="where inputs that crash are written"
    )
    parser.add_argument("--atheris", action="store_true", help="guide the changes by coverage")
    parser.add_argument("--replay", type=Path, help="run one target on the input in this file")
    parser.add_argument("--record", action="store_true", help="store the counts in benchmarks/results")
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    options = parser.parse_args()
    warnings.simplefilter("error")
    total = failed = 0
    rows: list[list[str]] = []
    memory = Path("/dev/shm")  # inputs are written to files and read back: better without a disk
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        makers = targets(Path(folder))
        names = [n for n in makers if options.only is None or any(n.startswith(o) for o in options.only)]
        if options.list or not names:
            print("\n".join(makers))
            return 0 if options.list else 2
        for name in names:
            if options.replay is not None:
                makers[name]().run(options.replay.read_bytes())
            elif options.atheris and len(names) == 1:
                with_atheris(name, makers[name](), options)
            elif options.atheris:  # each in a process of its own
                words = [sys.executable, __file__, "--atheris", "--only", name, "--count", str(options.count)]
                failed += subprocess.run([*words, "--seconds", str(options.seconds)]).returncode != 0
                total += options.count
            else:
                tried, accepted, slowest, crashes = fuzz(name, makers[name](), options)
                total, failed = total + tried, failed + crashes
                rows.append(
                    [f"`{name}`", f"{tried:,}", f"{accepted / max(tried, 1):.1%}", f"{slowest:.2f} s", str(crashes)]
                )
                if options.record:  # after every target, so that an interrupted run counts too
                    sums = [["all", f"{total:,}", "", "", str(failed)]]
                    record("fuzz", ["what is read", "inputs", "accepted", "slowest", "crashes"], rows + sums)
                gc.collect()
    print(f"{total:,} inputs, {failed} crashes", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
