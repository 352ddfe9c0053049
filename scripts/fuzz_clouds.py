"""Fuzz `limit` and `simulate` with clouds that are hard for float64, against rational arithmetic.

    python scripts/fuzz_clouds.py --count 2000 --seed 1 --workers 2
    python scripts/fuzz_clouds.py --count 20000 --record          store the counts for docs/testing.md

Tokens, columns and entries of very different scale, offsets up to 1e15, points one unit in the last place apart, ties,
copies, zeros, step sizes from 1e-12 to 1e12, ill-conditioned matrices. Whatever is certified must be right and verify;
whatever is not must say so. One cloud in 50 has 1,000 to 3,000 tokens: there the certificate alone is verified. Prints
what was found and the slowest clouds. Exit status 1: something is wrong, or a cloud took longer than `--seconds` of
processor time. Cloud k of seed s is the same on every run: `--only k` repeats it.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import numpy as np

import hardmax as hx

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from record import record

MAGNITUDES = [1e-323, 1e-310, 1e-300, 1e-200, 1e-167, 1e-162, 1e-155, 1e-150, 1e-100, 1e-16, 1e-8]
STEPS = [1e-12, 1e-6, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 10.0, 1e3, 1e6, 1e12]
LARGE = 50  # one cloud in so many is large
EXACT_LAYERS = 1000  # of rational arithmetic


def magnitude(rng: np.random.Generator) -> float:
    """A factor of some size between 1e-323 and 100, often the edge of a range."""
    kind = rng.integers(4)
    if kind == 1:
        return float(10.0 ** rng.uniform(-323, 2))
    if kind == 2:
        return float(np.ldexp(1.0, int(rng.integers(-1074, 5))))
    return float(rng.choice(MAGNITUDES)) if kind == 3 else 1.0


def hard_cloud(rng: np.random.Generator, large: bool = False) -> tuple[np.ndarray, float, np.ndarray | None]:
    """Tokens (n, d), a step size, and a matrix or None."""
    n = int(rng.integers(1000, 3001)) if large else int(rng.integers(1, 41 if rng.random() < 0.3 else 12))
    d = int(rng.integers(1, 6))
    Z = [
        lambda: rng.standard_normal((n, d)),
        lambda: rng.integers(-3, 4, (n, d)) / 2,
        lambda: rng.uniform(-1, 1, (n, d)).round(1),
        lambda: np.array([[cos(2 * pi * i / n), sin(2 * pi * i / n), 1.0, 0.5, 0.1][:d] for i in range(n)]),
        lambda: np.full((n, d), 1.0) + np.spacing(1.0) * rng.integers(-2, 3, (n, d)),
    ][rng.integers(5)]()
    rows, columns = (np.array([magnitude(rng) for _ in range(size)]) for size in (n, d))
    where = rng.integers(4)
    if where in (1, 3):
        Z = Z * columns
    if where in (2, 3):
        Z = Z * np.where(rng.random(n) < rng.choice([0.1, 0.5]), rows, 1.0)[:, None]
    if rng.random() < 0.2:
        Z = Z + 10.0 ** rng.uniform(-3, 15) * rng.integers(-1, 2, d)
    if rng.random() < 0.2:  # neighbors one unit in the last place apart
        Z = np.where(rng.random((n, d)) < 0.3, np.nextafter(Z, np.inf), Z)
    if rng.random() < 0.15:
        Z[rng.integers(n)] = 0.0
    if rng.random() < 0.2:
        Z[rng.integers(n)] = Z[rng.integers(n)]
    if rng.random() < 0.2:
        with np.errstate(over="ignore"):
            Z = Z * 10.0 ** rng.uniform(-320, 300)
        Z = np.where(np.isfinite(Z), Z, 1.0)
    return Z, float(rng.choice(STEPS)), _matrix(rng, d) if rng.random() < 0.4 else None


def _matrix(rng: np.random.Generator, d: int) -> np.ndarray:
    if rng.random() < 0.3:  # ill-conditioned
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        A = (Q * 10.0 ** rng.uniform(-13, 0, d)) @ Q.T
    else:
        B = rng.integers(-2, 3, (d, d)) if rng.random() < 0.5 else rng.standard_normal((d, d))
        A = (B @ B.T + np.eye(d)) * float(rng.choice([1.0, 1e-3, 1e200, 1e-200]))
    return (A + A.T) / 2


def wrong_with(Z: np.ndarray, alpha: float, A: np.ndarray | None, exact: bool = True) -> tuple[list[str], Counter[str]]:
    """Where `limit`, certificates and `simulate` contradict rational arithmetic; and how they answered."""
    wrong: list[str] = []
    answers: Counter[str] = Counter()
    true = None
    if exact:
        try:
            true = hx.limit(Z, alpha, A, exact=True, max_layers=EXACT_LAYERS)
            wrong += true.certificate.check(Z)
        except (hx.NotCertified, hx.BadInput):
            answers["rational arithmetic gave up"] += 1
    try:
        eq = hx.limit(Z, alpha, A)
        wrong += eq.certificate.check(Z)
        answers["proved" if eq.undecided == 0 else "said to be undecided"] += 1
        if true is not None and eq.undecided == 0:
            answers["compared"] += 1
            if np.abs(eq.points - true.points.astype(float)).max() > 1e-9 * np.abs(Z).max():
                wrong.append("a certified limit is wrong")
            if sorted(eq.leader_since) != sorted(true.leader_since):
                wrong.append("certified leaders are wrong")
    except hx.NotCertified:
        answers["not certified"] += 1
    except hx.BadInput:
        answers["refused"] += 1
    for options in ({}, {"causal": True}, {"normalization": "none"}) if exact else ():
        try:
            traj = hx.simulate(Z, alpha, A, layers=3, **options)  # type: ignore[call-overload]
        except hx.BadInput as error:
            answers["refused"] += 1
            sayings = ("range of float64", "ill-conditioned", "definite")
            wrong += [] if any(words in str(error) for words in sayings) else [str(error)]
            continue
        if traj.undecided == 0:
            answers["compared"] += 1
            follows = hx.simulate(Z, alpha, A, layers=3, exact=True, **options)  # type: ignore[call-overload]
            wrong += [f"follow sets of layer {k} {options}" for k in range(4) if traj.follows(k) != follows.follows(k)]
    return wrong, answers


def one(number: int, seed: int) -> tuple[int, list[str], Counter[str], float, Any]:
    """Cloud `number`: what is wrong with it, how it was answered, its processor seconds, and its shape."""
    large = number % LARGE == LARGE - 1
    Z, alpha, A = hard_cloud(np.random.default_rng([seed, number]), large)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wrong, answers = wrong_with(Z, alpha, A, exact=not large)
    except Exception as error:  # a traceback is a finding
        wrong, answers = [f"{type(error).__name__}: {error}"], Counter()
    return number, wrong, answers, time.process_time() - start, (Z.shape, alpha, A is not None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="of processor time that a cloud may take")
    parser.add_argument("--only", type=int, help="the number of one cloud")
    parser.add_argument("--record", action="store_true", help="store the counts in benchmarks/results")
    given = parser.parse_args()
    numbers = range(given.count) if given.only is None else [given.only]
    findings, slow, answers = 0, [], Counter[str]()
    with ProcessPoolExecutor(given.workers) as pool:
        for number, wrong, answered, seconds, about in pool.map(partial(one, seed=given.seed), numbers, chunksize=10):
            answers += answered
            slow.append((seconds, number, about))
            if len(slow) % 50 == 0:
                print(f"{len(slow)} clouds, {findings} wrong", file=sys.stderr, flush=True)
            if wrong:
                findings += 1
                print(f"cloud {number} {about}: {'; '.join(wrong[:3])}", flush=True)
    slow.sort(key=lambda row: -row[0])
    if given.record:
        counts = [["clouds", f"{len(slow):,}"], *([what, f"{count:,}"] for what, count in sorted(answers.items()))]
        record("fuzz-clouds", ["answer", "number"], [*counts, ["wrong", str(findings)]])
    print(f"{len(slow)} clouds, {findings} wrong; {', '.join(f'{count} {what}' for what, count in answers.items())}")
    print("slowest: " + ", ".join(f"{seconds:.1f} s (cloud {k}, {about})" for seconds, k, about in slow[:5]))
    return 1 if findings or slow[0][0] > given.seconds else 0


if __name__ == "__main__":
    sys.exit(main())
