"""Speed of the dynamics engine against its peers, and proof in the same run that the answers are the same.

    python benchmarks/engine.py            everything, a few minutes
    python benchmarks/engine.py --limits   the infinite-depth limits only
    python benchmarks/engine.py --quick    small sizes, to see that it runs; its bars mean nothing

Times are the best of several runs after compilation. A peer that would take long is timed on its first queries and
scaled to all of them; such times are marked ~. The exit status is 1 if a bar is missed or an answer differs.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from peers import PEERS, dense_batch, literal, torch_batch
from record import record

import hardmax as hx
from hardmax.jit.ways import COMPILED, Job

Job.forced = COMPILED  # small clouds would take the plain way until the compiled code is in memory
ALPHA = 0.5
EPS = 2.0**-52
DIMS = (2, 4, 8, 16)
NEEDED = {2: 300, 4: 100, 8: 50, 16: 5}  # one layer of n = 1e5 against dense NumPy
PEER_SECONDS = 0.5  # about how long a peer is timed
OTHER_SEEDS, FEWER_SEEDS = 8, 2  # clouds of a kind on which the check is timed as well; fewer of those that take long
LONG = 0.5  # seconds of a limit
MANY = 1 << 17  # tokens that need all compiled code that larger clouds do
CHECKED_PAIRS = 200_000_000  # scores of the dense check of follow sets, per cloud


class Bars:
    """The requirements, printed as they are met or missed."""

    def __init__(self, count: bool) -> None:
        self.count, self.failed = count, 0

    def check(self, ok: bool, text: str, always: bool = False) -> None:
        if self.count or always:
            self.failed += not ok
            print(f"    {'PASS' if ok else 'FAIL'}  {text}", flush=True)


def best_of(run: Callable[[], Any], budget: float = PEER_SECONDS, most: int = 200) -> float:
    """The shortest of as many runs as fit into the budget (at least two, unless one takes longer than that)."""
    shortest, spent, runs = np.inf, 0.0, 0
    while runs < most and (spent < budget or (runs < 2 and spent < 2 * budget)):
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        shortest, spent, runs = min(shortest, took), spent + took, runs + 1
    return shortest


def show(seconds: float) -> str:
    for unit, size in (("s ", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:7.2f} {unit}"
    return f"{seconds / 1e-6:7.1f} us"


def times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2f}x"


def dense_follow_sets(Z: np.ndarray, queries: np.ndarray) -> list[tuple[int, ...]]:
    """C_i of some tokens by comparing all scores in float64; a tie within 64 eps |z_i| max|z|."""
    norms = np.linalg.norm(Z, axis=1)
    sets: list[tuple[int, ...]] = []
    rows = max(1, 4_000_000 // len(Z))
    for start in range(0, len(queries), rows):
        block = queries[start : start + rows]
        scores = Z[block] @ Z.T
        floor = scores.max(axis=1) - 64 * EPS * norms[block] * norms.max()
        where, which = np.nonzero(scores >= floor[:, None])
        for part in np.split(which, np.searchsorted(where, np.arange(1, len(block)))):
            sets.append(tuple(part.tolist()))
    return sets


def one_layer(bars: Bars, sizes: tuple[int, ...]) -> None:
    print(f"\nOne layer, hx.simulate(Z, layers=1), Gaussian clouds, alpha = {ALPHA}; peers as multiples of our time")
    print(f"{'n':>8} {'d':>3} {'hardmax':>11}" + "".join(f"{name:>20}" for name in PEERS))
    all_same, least, rows = True, 0, []
    for n in sizes:
        for d in DIMS:
            Z = np.random.default_rng(n + d).standard_normal((n, d))
            trajectory = hx.simulate(Z, ALPHA, layers=1)
            ours = best_of(lambda Z=Z: hx.simulate(Z, ALPHA, layers=1), 2 * PEER_SECONDS)
            line, ratios, marked = f"{n:>8} {d:>3} {show(ours):>11}", {}, []
            for name, layer in PEERS.items():
                start = time.perf_counter()
                few = min(n, 64)
                layer(Z, ALPHA, few)  # warms up, and tells how many queries fit into the time
                rate = (time.perf_counter() - start) / few
                part = n if rate * n < 4 * PEER_SECONDS else min(n, max(few, int(PEER_SECONDS / rate)))
                theirs = best_of(lambda Z=Z, layer=layer, part=part: layer(Z, ALPHA, part)) * n / part
                ratios[name] = theirs / ours
                sign = "~" if part < n else ""
                line += f"{sign}{show(theirs).strip()} {times(ratios[name])}".rjust(20)
                marked.append(sign + times(ratios[name]))
            print(line, flush=True)
            rows.append([f"{n:,}", d, show(ours).strip(), *marked])
            queries = np.arange(min(n, max(1, CHECKED_PAIRS // n)))
            follows = trajectory.follows(0)
            same = all(follows[i] == s for i, s in zip(queries, dense_follow_sets(Z, queries), strict=True))
            moved = literal(Z, ALPHA, min(n, 500))
            same &= bool(np.allclose(trajectory.tokens[1][: len(moved)], moved, rtol=0, atol=1e-13 * np.abs(Z).max()))
            all_same &= same
            least = len(queries)
            if not same:
                bars.check(False, "the follow sets differ from those of the dense comparison", True)
            if n == 100_000:
                bars.check(ratios["NumPy"] >= NEEDED[d], f"{ratios['NumPy']:.0f}x dense NumPy, needed {NEEDED[d]}x")
            if n <= 1000:
                text = f"{1 / ratios['NumPy']:.2f} of the time of dense NumPy, allowed 2"
                bars.check(ratios["NumPy"] >= 0.5, text)
    if bars.count:
        head = ["n", "d", "hardmax", "literal loop", "dense NumPy", "torch (float32)", "FAISS (float32)"]
        record("engine-layer", head, rows)
    text = f"follow sets equal those of the dense comparison, on every line; on all queries, or on the first {least}"
    bars.check(all_same, text, True)


def peak_megabytes(run: Callable[[], Any]) -> float:
    """By how much the resident size of this process grows while something runs."""
    import resource

    def size(name: str) -> float:
        with open("/proc/self/status") as status:  # getrusage would also count the parent of a forked process
            return float(next(line for line in status if line.startswith(name)).split()[1]) / 1024

    try:
        ctypes.CDLL(None).malloc_trim(0)  # what earlier runs have left behind would not count
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")  # the largest size so far is the present one
        before = size("VmRSS:")
        run()
        return size("VmHWM:") - before
    except (OSError, AttributeError, StopIteration):  # not Linux: from the largest size so far on
        unit = 2**20 if sys.platform == "darwin" else 1024
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
        run()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit - before


def _on_sphere(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1)[:, None]


CLOUDS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "cube": lambda rng, n, d: rng.uniform(-1, 1, (n, d)),
    "ball": lambda rng, n, d: _on_sphere(rng.standard_normal((n, d))) * rng.random((n, 1)) ** (1 / d),
    "grid": lambda rng, n, d: np.stack(np.meshgrid(*[np.linspace(-1, 1, round(n ** (1 / d)))] * d), -1).reshape(-1, d),
    "integers": lambda rng, n, d: rng.integers(-100, 101, (n, d)).astype(float),
}


def processor_time(run: Callable[[], Any], repeats: int) -> float:
    """The least processor time of several runs."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return min(spent)


def limit_alone(kind: str, n: int, d: int) -> None:
    """Run in a separate process, so that the peak memory is that of one limit; prints numbers for `limits`."""
    Job.forced = None
    rng = np.random.default_rng(n + d)
    hx.limit(rng.standard_normal((max(2000, n // 50), d)), ALPHA)  # compiles
    Z = CLOUDS[kind](rng, n, d)
    few = CLOUDS[kind](rng, max(n // 8, min(n, MANY)), d)
    for cloud in (few, np.concatenate((few, np.zeros((1, d))))):  # loads all that clouds of this kind need
        hx.limit(cloud, ALPHA)
    peak = peak_megabytes(lambda: hx.limit(Z, ALPHA)) / (Z.nbytes / 2**20)
    equilibrium = hx.limit(Z, ALPHA)
    numbers = rng.random(1_000_000)
    sort = processor_time(lambda: np.sort(numbers), 5)
    seconds = processor_time(lambda: hx.limit(Z, ALPHA), 5)
    gaussian = CLOUDS["Gaussian"](np.random.default_rng(1), len(Z), d)
    times = 1.0 if kind == "Gaussian" else seconds / processor_time(lambda: hx.limit(gaussian, ALPHA), 5)
    good = equilibrium.certificate.verify(Z)
    checking = processor_time(lambda: equilibrium.certificate.verify(Z), 5)
    seeds = range(OTHER_SEEDS if seconds < LONG else FEWER_SEEDS)
    others = [check_of(CLOUDS[kind](np.random.default_rng([n + d, seed]), n, d)) for seed in seeds]
    print(
        seconds, sort, times, checking / seconds, max(others), peak, len(equilibrium.leaders), equilibrium.layers,
        equilibrium.undecided, good,
    )  # fmt: skip


def check_of(Z: np.ndarray) -> float:
    """The processor time of checking the certificate of a cloud, as a multiple of that of its limit."""
    certificate = hx.limit(Z, ALPHA).certificate
    limit, check = np.inf, np.inf
    for _ in range(3):  # in turns, so that both meet the same state of the machine
        check = min(check, processor_time(lambda: certificate.verify(Z), 1))
        limit = min(limit, processor_time(lambda: hx.limit(Z, ALPHA), 1))
    return check / limit


# kind, n, d: at most so many sorts of 1e6 numbers, if a number is given; at most thrice the time of a Gaussian cloud
LIMITS = (
    ("Gaussian", 10**6, 2, 15), ("cube", 10**6, 2, 45), ("ball", 10**6, 2, 45), ("grid", 10**6, 2, 45),
    ("grid", 1001**2, 2, 45), ("Gaussian", 10**6, 3, None), ("cube", 10**6, 3, None), ("ball", 10**6, 3, None),
    ("integers", 10**6, 3, None), ("grid", 100**3, 3, None), ("grid", 101**3, 3, None), ("Gaussian", 10**6, 4, None),
    ("cube", 10**6, 4, None), ("ball", 10**6, 4, None), ("grid", 17**4, 4, None), ("Gaussian", 10**6, 5, None),
    ("cube", 10**6, 5, None), ("grid", 11**5, 5, None), ("Gaussian", 10**6, 8, 60), ("Gaussian", 10**5, 8, 60),
    ("cube", 10**6, 8, None),
)  # fmt: skip
QUICK_LIMITS = (("Gaussian", 20_000, 2, 15), ("cube", 20_000, 2, 45), ("Gaussian", 5_000, 8, 60))


def limits(bars: Bars, cases: tuple[tuple[str, int, int, int | None], ...]) -> None:
    print("\nCertified infinite-depth limit, hx.limit(Z), in processor time, each in a process of its own")
    # One thread: the processor time of threads that wait for each other says nothing.
    one = {**os.environ, "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    rows = []
    for kind, n, d, sorts in cases:
        command = [sys.executable, os.path.abspath(__file__), "--limit", kind, str(n), str(d)]
        done = subprocess.run(command, env=one, capture_output=True, text=True, check=False)
        if done.returncode:
            bars.check(False, f"{kind}, n = {n}, d = {d}: {done.stderr.strip().splitlines()[-1]}", True)
            continue
        seconds, sort, times, checking, others, peak, leaders, layers, undecided, good = done.stdout.split()
        ratio = float(seconds) / float(sort)
        print(
            f"{kind:>9} {n:>8} {d:>3} {show(float(seconds)):>11} = {ratio:.1f} sorts of {show(float(sort))}, "
            f"{float(times):.1f} times a Gaussian cloud, peak memory {float(peak):.1f} times the input, {leaders} "
            f"leaders, decided at layer {layers}, undecided {undecided}; independent check {float(checking):.2f} times "
            f"the limit, {float(others):.2f} times in the worst of other clouds",
            flush=True,
        )
        memory = f"{float(peak):.1f} times the input"
        check = f"{float(checking):.2f} times the limit"
        worst = f"{float(others):.2f} times"
        gaussian = f"{float(times):.1f} times" if kind != "Gaussian" else ""
        rows.append([kind, f"{n:,}", d, show(float(seconds)).strip(), f"{ratio:.1f}", gaussian, memory, check, worst])
        bars.check(good == "True", "the certificate is verified from the data alone", True)
        if sorts is not None:
            bars.check(ratio <= sorts, f"at most {sorts} sorts")
        bars.check(float(times) <= 3, "at most 3 times as long as a Gaussian cloud")
        bars.check(float(checking) <= 1, "the check costs at most as much as the limit")
        bars.check(float(others) <= 1, "and so it does on other clouds of the kind")
        bars.check(float(peak) <= 4, "memory at most 4 times the input")
    if bars.count:
        head = [
            "cloud", "n", "d", "limit", "in sorts", "Gaussian", "peak memory", "independent check", "worst of others",
        ]  # fmt: skip
        record("engine-limit", head, rows)


def batches(bars: Bars, clouds: int) -> None:
    n, d, layers = 128, 2, 8
    print(f"\nBatch, hx.simulate(batch, layers={layers}): {clouds} clouds x {n} tokens, d = {d}")
    batch = np.random.default_rng(5).standard_normal((clouds, n, d))
    hx.simulate(batch[:200], ALPHA, layers=layers)
    result = hx.simulate(batch, ALPHA, layers=layers)
    ours = best_of(lambda: hx.simulate(batch, ALPHA, layers=layers), 4 * PEER_SECONDS)
    few, part = 6, min(clouds, 400)

    def loop(Z: np.ndarray) -> np.ndarray:
        for _ in range(layers):
            Z = literal(Z, ALPHA, n)
        return Z

    ends = [loop(Z) for Z in batch[:few]]
    peers = {
        f"literal loop (on {few} clouds)": best_of(lambda: [loop(Z) for Z in batch[:few]]) * clouds / few,
        f"stacked NumPy (on {part})": best_of(lambda: dense_batch(batch[:part], ALPHA, layers)) * clouds / part,
        f"torch bmm (on {part})": best_of(lambda: torch_batch(batch[:part], ALPHA, layers)) * clouds / part,
    }
    print(f"    hardmax {show(ours).strip()}")
    if bars.count:
        head = ["clouds", "tokens", "layers", "hardmax", "literal loop", "stacked NumPy", "torch (float32)"]
        ratios = [f"~{times(seconds / ours)}" for seconds in peers.values()]
        record("engine-batch", head, [[f"{clouds:,}", n, layers, show(ours).strip(), *ratios]])
    for name, seconds in peers.items():
        print(f"    {name} ~{show(seconds).strip()}: {times(seconds / ours)}")
    same = all(np.allclose(result.last[b], end, rtol=0, atol=1e-12) for b, end in enumerate(ends))
    checked = 50
    for b in range(checked):
        trajectory = result[b]
        for k in range(layers + 1):
            same &= list(trajectory.follows(k)) == dense_follow_sets(trajectory.tokens[k], np.arange(n))
        same &= bool(np.array_equal(trajectory.tokens[-1], result.last[b]))
    bars.check(same, f"follow sets equal those of the dense comparison ({checked} clouds, layers 0..{layers})", True)
    ratio = next(iter(peers.values())) / ours
    bars.check(ratio >= 1000, f"{ratio:.0f}x the literal loop, needed 1000x")


def _tell_versions() -> None:
    import faiss
    import numba
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(
        f"{cores} cores; hardmax {hx.__version__}, NumPy {np.__version__}, Numba {numba.__version__}, "
        f"torch {torch.__version__} ({torch.get_num_threads()} threads), FAISS {faiss.__version__} "
        f"({faiss.omp_get_max_threads()} threads). Float64, except torch and FAISS (float32, ties ignored)."
    )


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--limit"]:
        limit_alone(arguments[1], int(arguments[2]), int(arguments[3]))
        return 0
    quick, only_limits = arguments == ["--quick"], arguments == ["--limits"]
    if arguments and not quick and not only_limits:
        print(__doc__, file=sys.stderr)
        return 2
    if not only_limits:
        _tell_versions()
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5:
        print(f"The load average is {os.getloadavg()[0]:.1f}: other programs are running, and times are not reliable.")
    bars = Bars(count=not quick)
    if not only_limits:
        one_layer(bars, (10, 128, 1000) if quick else (10, 128, 1000, 10_000, 100_000))
        batches(bars, 500 if quick else 15_000)
    limits(bars, QUICK_LIMITS if quick else LIMITS)
    print(f"\n{bars.failed} failed" if bars.failed else "\nall passed")
    return 1 if bars.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
