"""How long the first second takes: common commands and calls in fresh processes, with an empty cache of compiled code.

    python benchmarks/start.py            everything, about five minutes
    python benchmarks/start.py --quick    three of them once, to see that it runs; its bars mean nothing

first: a new process after installation, nothing compiled. second: another process, with what the first one stored.
Both are the processor seconds of the whole process, from the start of Python. warm: the same call again in the second
process, the shortest of three. The peers are processes that only import a library, measured in the same run; each time
is the shortest of several processes, but for `first`, which happens once per cache. Exit status 1: a bar is missed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from record import record

COMMAND = """
from hardmax.cli.start import run
def call():
    try:
        run({words!r})
    except SystemExit as stop:
        assert not stop.code, stop.code
"""
CLOUD = "import numpy as np, hardmax as hx\nZ = np.random.default_rng(0).standard_normal(({n}, {d}))\n"
TEXTS = "import hardmax as hx\ntexts = ['a great film with a poor script, number %d' % k for k in range(1000)]\n"
WORDS = {
    "hardmax --help": "--help",
    "hardmax limit --preset square-ties": "limit --preset square-ties",
    "hardmax simulate --preset emerging": "simulate --preset emerging",
    "hardmax limit, 1,000 x 3": "limit TOKENS",
    "hardmax simulate, 1,000 x 3": "simulate TOKENS",
    "hardmax explain --text": "explain --text great-film",
}
CALLS = {
    "hx.limit, 1,000 x 2": CLOUD.format(n=1000, d=2) + "def call(): hx.limit(Z)",
    "hx.limit and verify, 1,000 x 2": CLOUD.format(n=1000, d=2)
    + "def call(): assert hx.limit(Z).certificate.verify(Z)",
    "hx.limit, 100,000 x 2": CLOUD.format(n=100_000, d=2) + "def call(): hx.limit(Z)",
    "hx.limit, 100,000 x 8": CLOUD.format(n=100_000, d=8) + "def call(): hx.limit(Z)",
    "hx.load('imdb').explain, one text": TEXTS + "def call(): hx.load('imdb').explain(texts[0])",
    "hx.load('imdb').predict, 1,000 texts": TEXTS + "def call(): hx.load('imdb').predict(texts)",
}
PEERS = ("scipy.spatial", "sklearn", "torch")
# The times are printed on stderr: commands print their results on stdout.
MEASURED = """
import resource, sys
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
call()
times = [spent()]
for _ in range({again}):
    before = spent()
    call()
    times.append(spent() - before)
print(*times, file=sys.stderr)
"""


def processor_seconds(program: str, cache: Path, again: int = 0) -> list[float]:
    """Run a program that defines `call` in a new process: the time of all of it, then of `again` more calls."""
    code = program + MEASURED.format(again=again)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{program}\n{done.stderr}")
    return [float(x) for x in done.stderr.split("\n")[-2].split()]


def main() -> None:
    quick = "--quick" in sys.argv
    runs = 1 if quick else 5
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder, "tokens.npy")
        subprocess.run([sys.executable, "-c", CLOUD.format(n=1000, d=3) + f"np.save({str(tokens)!r}, Z)"], check=True)
        programs = {
            name: COMMAND.format(words=words.replace("TOKENS", str(tokens)).split()) for name, words in WORDS.items()
        }
        programs |= CALLS
        print(f"{'':40s} {'first':>7s} {'second':>7s} {'warm':>9s}   processor seconds", flush=True)
        for peer in PEERS[: 1 if quick else None]:
            program = f"import {peer}\ndef call(): pass"
            times[peer] = [min(processor_seconds(program, Path(folder))[0] for _ in range(runs))]
            print(f"{'import ' + peer:40s} {times[peer][0]:7.2f}", flush=True)
        for number, (name, program) in enumerate(programs.items()):
            if quick and number not in (1, 3, 6):
                continue
            cache = Path(folder, f"cache{number}")
            first = processor_seconds(program, cache)[0]
            later = [processor_seconds(program, cache, again=3) for _ in range(min(runs, 3))]
            second, warm = min(run[0] for run in later), min(min(run[1:]) for run in later)
            times[name] = [first, second, warm]
            print(f"{name:40s} {first:7.2f} {second:7.2f} {warm:9.4f}", flush=True)
    sys.exit(0 if check(times) or quick else 1)


def check(times: dict[str, list[float]]) -> bool:
    """Print the ratios and the bars; whether all are met."""
    if "torch" in times:
        print("\nfirst, as a multiple of import sklearn / import torch:")
        rows = []
        for name in [*WORDS, *CALLS]:
            first, second, warm = times[name]
            ratios = [f"{first / times[peer][0]:.2f}" for peer in ("sklearn", "torch")]
            rows.append([f"`{name}`", f"{first:.2f}", f"{second:.2f}", f"{warm:.3f}", *ratios])
            print(f"{name:40s} {times[name][0] / times['sklearn'][0]:7.2f} {times[name][0] / times['torch'][0]:7.2f}")
        head = ["command or call", "first", "second", "warm", "first / import sklearn", "first / import torch"]
        record("start", head, rows)
    print()
    bars = [
        (f"{name}: first at most 1.5 times import scipy.spatial", times[name][0] / times["scipy.spatial"][0], 1.5)
        for name in [*WORDS, "hx.limit, 1,000 x 2"]
        if name in times and "explain" not in name
    ]
    text = "hardmax explain --text"
    if text in times:
        bars.append((f"{text}: first at most 0.25 s", times[text][0], 0.25))
    large = "hx.limit, 100,000 x 2"
    if large in times:
        bars += [
            (f"{large}: {kind} at most {most} s", time, most)
            for kind, time, most in zip(("first", "second", "warm"), times[large], (6.0, 1.2, 0.1), strict=True)
        ]
    for text, found, most in bars:
        print(f"    {'PASS' if found <= most else 'FAIL'}  {text}: {found:.2f}")
    return all(found <= most for _, found, most in bars)


if __name__ == "__main__":
    main()
