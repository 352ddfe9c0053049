"""kill -9 at random moments: a run that is resumed completes, and its output is that of an undisturbed run.

    python benchmarks/kill.py                          train, predict, sweep and limit, 20 times each
    python benchmarks/kill.py --only train --count 3   a short look

Each time a new run is killed at a random moment between its start and its usual end, and then resumed to its end. The
moments are drawn from --seed. The exit status is 1 if a resumed run fails, leaves a file behind, or differs.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from bars import Bars

WORDS = [
    "the",
    "a",
    "of",
    "and",
    "film",
    "plot",
    "scene",
    "actor",
    "story",
    "end",
    "great",
    "good",
    "fine",
    "love",
    "wonderful",
    "dull",
    "bad",
    "weak",
    "awful",
    "boring",
]


@dataclass(frozen=True)
class Job:
    """A command that writes `out`, and what of its output must not change."""

    words: list[str]
    contents: Callable[[Path], Any]

    def run(self, out: Path, resume: bool, seconds: float | None = None) -> tuple[int, float, str]:
        """Run it, or kill it after some seconds: exit code, wall time, what it said."""
        words = [sys.executable, "-m", "hardmax", *self.words, "-o", str(out), *(["--resume"] if resume else [])]
        began = time.monotonic()
        # A session of its own, so that processes which it starts die with it, as they do when a machine stops.
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)  # fmt: skip
        try:
            said = process.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[1]
        return process.returncode, time.monotonic() - began, said


def files(folder: Path) -> dict[str, str]:
    """The digest of every file."""
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def rows(folder: Path) -> Any:
    """All rows but how long they took, and the names of the files."""
    from hardmax.scale.run import read_rows

    return read_rows(folder).drop_columns(["seconds"]).to_pylist(), sorted(p.name for p in folder.iterdir())


def limit(folder: Path) -> Any:
    """The result: everything but the note on the problem, which has the time of the source."""
    return {name: digest for name, digest in files(folder).items() if name != "problem.json"}


def jobs(place: Path, size: float = 1.0) -> dict[str, Job]:
    """The four commands on data of their own, made in `place`; `size` scales the work."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 20)) for _ in range(int(30_000 * size))]
    for name, count in (("reviews", min(len(texts), 1500)), ("texts", len(texts))):
        lines = (json.dumps({"text": t, "label": int("great" in t or "love" in t)}) for t in texts[:count])
        (place / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.save(place / "cloud.npy", rng.normal(size=(int(3_000_000 * size), 2)))
    (place / "study.toml").write_text(
        f"[sweep]\nseeds = {int(30_000 * size)}\n[grid]\nn = [40, 50, 60]\nalpha = [0.5, 1]\n", encoding="utf-8"
    )
    train = ["train", str(place / "reviews.jsonl"), "--layers", "2", "--epochs", "6", "--batch-size", "16", "-q"]
    return {
        "train": Job(train, files),
        "predict": Job(["predict", "imdb-words", str(place / "texts.jsonl"), "-q"], files),
        "sweep": Job(["sweep", str(place / "study.toml"), "-q"], rows),
        "limit": Job(["limit", str(place / "cloud.npy"), "--stream", "--memory", "0.1", "-q"], limit),
    }


def disturbed(job: Job, place: Path, count: int, chance: random.Random) -> tuple[int, list[str]]:
    """Start runs and kill each at a random moment until `count` were killed; resume them: kills, what went wrong."""
    whole, again = place / "whole" / "out", place / "again" / "out"
    for out in (whole, again):
        out.parent.mkdir()
    assert job.run(whole, False)[0] == 0  # compiles what is not compiled yet
    usual = job.run(again, False)[1]
    wanted, wrong, killed, number = job.contents(whole), [], 0, 0
    while killed < count and number < 10 * count:
        number += 1
        out = place / str(number) / "out"
        out.parent.mkdir()
        code, seconds, _ = job.run(out, False, chance.uniform(0.0, usual))
        if code == -signal.SIGKILL:
            killed += 1
        else:  # it is faster than it was
            usual = min(usual, seconds)
        code, _, said = job.run(out, True)
        if code == 3 and "exists" in said:  # it had finished
            code = 0
        if code:
            wrong.append(f"run {number}: exit code {code}: {said.strip()[-300:]}")
        elif job.contents(out) != wanted:
            wrong.append(f"run {number}: another result")
        elif len(left := sorted(p.name for p in out.parent.iterdir())) > 1:
            wrong.append(f"run {number}: left behind: {left}")
    return killed, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="kills of each command")
    parser.add_argument("--seed", type=int, default=0, help="seed for the moments")
    parser.add_argument("--size", type=float, default=1.0, help="amount of work; 1 is some seconds of an idle machine")
    parser.add_argument("--only", choices=["train", "predict", "sweep", "limit"], action="append")
    options = parser.parse_args()
    bars = Bars()
    with tempfile.TemporaryDirectory() as folder:
        for name, job in jobs(Path(folder), options.size).items():
            if options.only and name not in options.only:
                continue
            place = Path(folder) / name
            place.mkdir()
            killed, wrong = disturbed(job, place, options.count, random.Random(f"{options.seed} {name}"))
            for line in wrong:
                print(f"    {line}")
            bars.check(not wrong, f"{name}: {killed} times killed and resumed, {len(wrong)} wrong")
    return 1 if bars.failed else 0


if __name__ == "__main__":
    sys.exit(main())
