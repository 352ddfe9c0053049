"""Under load and beyond one machine, in one run.

    python benchmarks/scale.py               everything
    python benchmarks/scale.py --seconds 5   a short look; its bars mean little

`sweep`: 100,000 simulations of 100 x 2 against one batched `hx.simulate` of the same clouds, processor time.
`ray`: 200,000 texts of a file, read and labeled by a Ray cluster of 2 workers on this machine, against the local engine
with 2 threads.
`slope`: the peak of anonymous memory of predict, evaluate and train at two sizes; the files that `train` maps are not
counted, because the system can drop their pages at any time.
`export`: 1,000 reviews of IMDb's training rows (extra imdb), labeled by each shipped model as ONNX, and labeled and
explained by it as JavaScript under Node, against Python.
`serve`: a real server under full load from 32 connections that never pause, then killed and started again under load.
The exit status is 1 if a bar is missed.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bars import Bars
from record import record

CONNECTIONS = 32
PARTS = ["export", "sweep", "ray", "slope", "serve"]
SIZES = 30_000, 90_000  # texts, for the slope of memory; below, not all buffers are in use
FEW = 3750  # different texts, 8 and 24 times each: no term is too rare at one size and frequent enough at the other
BYTES_PER_TEXT = 400  # at most; a text has about 1,200, and two runs of the same work differ by some megabytes
REVIEWS = 1000
SCRIPT = """
import { load } from %s;
import { readFileSync } from "node:fs";
const model = await load(), texts = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => [model.predict(text), model.explain(text)])));
"""
GROWTH = 1.05  # memory at the end against memory after the first third


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the server is under load")
    parser.add_argument("--texts", type=int, default=200_000, help="how many texts are labeled")
    parser.add_argument("--only", choices=PARTS, action="append", help="run only this part (can be repeated)")
    options = parser.parse_args()
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's workers would wait for everything else that runs
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}")
    bars = Bars()
    for part in options.only or PARTS:
        globals()[part](bars, options)
    if not options.only:
        record("scale", ["measured (with what is required)"], [[line] for line in bars.lines])
    return 1 if bars.failed else 0


def export(bars: Bars, options: argparse.Namespace) -> None:
    """The largest difference between an exported model and Python."""
    import numpy as np
    import onnxruntime

    from hardmax.sentiment.explain import explain
    from hardmax.sentiment.export.javascript import export_javascript
    from hardmax.sentiment.export.onnx import export_onnx, term_matrix
    from hardmax.sentiment.files import load_model, shipped
    from hardmax.text.datasets import read

    every = read("imdb").texts
    texts = [every[k] for k in np.random.default_rng(0).choice(len(every), REVIEWS, replace=False)]
    for name in shipped():
        model = load_model(name)
        logits, sure = model.logits(texts), model.probabilities(texts)
        with tempfile.TemporaryDirectory() as folder:
            session = onnxruntime.InferenceSession(str(export_onnx(model, Path(folder) / "model.onnx")))
            found = [session.run(None, {"terms": term_matrix(model, [text])}) for text in texts]
            js = export_javascript(model, Path(folder) / "js") / "hardmax.js"
            done = subprocess.run(["node", "--input-type=module", "-e", SCRIPT % json.dumps(js.as_uri())],
                                  input=json.dumps(texts), capture_output=True, text=True, check=True)  # fmt: skip
        away = max(
            np.abs(np.vstack(part) - mine).max()
            for part, mine in zip(zip(*found, strict=True), (logits, sure), strict=True)
        )
        bars.check(away <= 1e-6, f"{name}, {REVIEWS:,} reviews: ONNX is within {away:.1e} of Python (at most 1e-6)")
        away, same = 0.0, True
        for text, p, (predicted, explained) in zip(texts, sure, json.loads(done.stdout), strict=True):
            mine = explain(model, text)
            same &= predicted["label"] == mine.label
            pairs = [(explained["logit"], mine.logit), *zip(predicted["probabilities"], p, strict=True)]
            for what in ("leaders", "words"):
                theirs = {one["word"]: one["contribution"] for one in explained[what]}
                ours = {one.word: one.contribution for one in getattr(mine, what)}
                same &= theirs.keys() == ours.keys()
                pairs += [(theirs.get(word, np.inf), part) for word, part in ours.items()]
            away = max(away, *(abs(a - b) for a, b in pairs))
        bars.check(same and away <= 1e-9, f"{name}, {REVIEWS:,} reviews: labels, probabilities and explanations of "
                   f"JavaScript are within {away:.1e} of Python (at most 1e-9)")  # fmt: skip


def sweep(bars: Bars, options: argparse.Namespace) -> None:
    """A sweep against the one call that it could not do without."""
    import hardmax as hx
    from hardmax.scale.dynamics import clouds

    study = {"sweep": {"seeds": 100_000}, "fixed": {"n": 100, "d": 2, "layers": 8}}
    Z = clouds("normal", 100, 2, 0, 100_000)
    hx.simulate(Z[:1000], layers=8)
    ratios = []
    for _ in range(3):
        began = time.process_time()
        hx.simulate(Z, layers=8)
        middle = time.process_time()
        rows = hx.sweep(study)
        ratios.append((time.process_time() - middle) / (middle - began))
    print(f"sweep: {len(rows):,} simulations of 100 x 2")
    bars.check(min(ratios) <= 1.5, f"{min(ratios):.2f} times one batched simulate (at most 1.5)")


def ray(bars: Bars, options: argparse.Namespace) -> None:
    """The same file on a cluster of two workers and on two threads."""
    import numpy as np
    import ray as cluster

    from hardmax.scale.labels import Wanted, labeled
    from hardmax.scale.sources import Source
    from hardmax.sentiment.files import load_model

    terms = [term for term in load_model("imdb").vocabulary.terms if " " not in term]
    picks = np.minimum(np.random.default_rng(0).zipf(1.3, (options.texts, 200)) - 1, len(terms) - 1)
    seconds, records = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder, "few.jsonl"), Path(folder, "many.jsonl")
        for path, rows in ((few, picks[:8192]), (many, picks)):
            with open(path, "w", encoding="utf-8") as to:
                to.writelines(json.dumps({"text": " ".join(terms[k] for k in row)}) + "\n" for row in rows.tolist())
        cluster.init("local", num_cpus=2, logging_level="ERROR", log_to_driver=False, include_dashboard=False)
        for engine in ("local", "ray"):
            for _ in labeled(Source((str(few),)), Wanted("imdb"), engine):
                pass  # the code is loaded everywhere
            began = time.perf_counter()
            found = labeled(Source((str(many),)), Wanted("imdb"), engine)
            records[engine] = [record for labels in found for record in labels.records]
            seconds[engine] = time.perf_counter() - began
        cluster.shutdown()
    rate = {engine: options.texts / t for engine, t in seconds.items()}
    print(f"ray: {options.texts:,} texts of 200 words; local {rate['local']:,.0f} per second, ray {rate['ray']:,.0f}")
    bars.check(records["ray"] == records["local"], "the records are equal")
    part = rate["ray"] / rate["local"]
    bars.check(part >= 0.6, f"Ray with 2 workers has {part:.2f} of the local throughput (at least 0.6)")


def slope(bars: Bars, options: argparse.Namespace) -> None:
    """Peak memory at two sizes."""
    from hardmax.sentiment.files import load_model

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        terms = [term for term in load_model("imdb").vocabulary.terms if " " not in term]
        few = [json.dumps({"text": text, "label": k % 2}) + "\n" for k, text in enumerate(_reviews(terms, FEW))]
        for size in SIZES:  # the same texts again: new words would need memory of their own, which has a bound
            (folder / f"{size}.jsonl").write_text("".join(few * (size // FEW)), encoding="utf-8")
        for words in (["predict", "imdb"], ["evaluate", "imdb"], ["train"]):
            peaks = []
            for size in SIZES:
                out = [] if words[0] == "evaluate" else ["-o", str(folder / f"{words[0]}-{size}")]
                peaks.append(_peak([*words, str(folder / f"{size}.jsonl"), *out, "--quiet"]))
            if words == ["train"]:
                one, other = (list((folder / f"train-{size}" / "vocabulary.txt").open("rb")) for size in SIZES)
                bars.check(len(one) == len(other), f"the two models have {len(one):,} and {len(other):,} terms")
            per_text = (peaks[1] - peaks[0]) * 1e6 / (SIZES[1] - SIZES[0])
            print(f"{words[0]}: {peaks[0]:.0f} MB for {SIZES[0]:,} texts, {peaks[1]:.0f} MB for {SIZES[1]:,}")
            bars.check(per_text <= BYTES_PER_TEXT,
                       f"{words[0]}: {per_text:.0f} bytes of memory per text (at most {BYTES_PER_TEXT})")  # fmt: skip


def _reviews(terms: list[str], count: int) -> Iterator[str]:
    import numpy as np

    rng = np.random.default_rng(0)
    for k in range(count):
        picks = np.minimum(rng.zipf(1.3, 200) - 1, len(terms) - 1).tolist()
        yield " ".join([*(terms[i] for i in picks), "good" if k % 2 else "bad"])


def _peak(words: list[str]) -> float:
    """The most anonymous memory, in megabytes, that a command has at any time."""
    process = subprocess.Popen([sys.executable, "-m", "hardmax", *words], stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        if "RssAnon" in status:
            most = max(most, int(status.split("RssAnon:")[1].split()[0]))
        time.sleep(0.02)
    assert process.wait() == 0, words
    return most * 1024 / 1e6


@dataclass
class Load:
    """What 32 clients saw: (asked, answered, ok) for every request."""

    port: int
    body: bytes
    seen: list[tuple[float, float, bool]] = field(default_factory=list)
    stopped: bool = False

    async def client(self) -> None:
        """One connection that asks again as soon as it is answered, and connects again after an error."""
        first = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
        request = f"{first}Content-Length: {len(self.body)}\r\n\r\n".encode() + self.body
        while not self.stopped:
            writer = None
            asked = time.monotonic()
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                while not self.stopped:
                    asked = time.monotonic()
                    writer.write(request)
                    answer = await reader.readuntil(b"\r\n\r\n")
                    length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                    await reader.readexactly(length)
                    self.seen.append((asked, time.monotonic(), answer.startswith(b"HTTP/1.1 200")))
            except (OSError, EOFError):
                self.seen.append((asked, time.monotonic(), False))
                await asyncio.sleep(0.02)
            finally:
                if writer is not None:
                    writer.close()


def start(port: int = 0) -> tuple[subprocess.Popen[str], int]:
    """A server for the model imdb, and its port."""
    words = [sys.executable, "-m", "hardmax", "serve", "imdb", "--json", "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, urlsplit(json.loads(process.stdout.readline())["url"]).port or 0


def memory(pid: int) -> float:
    """Resident megabytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def warm(port: int) -> None:
    """Wait until the server's compiled code is loaded."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port)
        answer = await reader.read()
        writer.close()
        if b'"warm":true' in answer:
            return
        await asyncio.sleep(0.5)


def serve(bars: Bars, options: argparse.Namespace) -> None:
    """Full load, memory, a kill and a restart."""
    text = "A wonderful film with a dull middle, great acting and a plot that is not bad at all. " * 12
    body = json.dumps({"texts": [text]}).encode()
    process, port = start()
    sizes: list[float] = []

    async def under_load() -> Load:
        await warm(port)
        load = Load(port, body)
        clients = [asyncio.create_task(load.client()) for _ in range(CONNECTIONS)]
        for _ in range(30):
            await asyncio.sleep(options.seconds / 30)
            sizes.append(memory(process.pid))
        load.stopped = True
        await asyncio.gather(*clients)
        return load

    load = asyncio.run(under_load())
    times = sorted(done - asked for asked, done, _ in load.seen)
    errors = sum(not ok for _, _, ok in load.seen)
    p50, p99 = statistics.median(times), times[int(0.99 * len(times))]
    rate = len(times) / options.seconds
    print(f"serve: {len(times):,} requests in {options.seconds:g} s from {CONNECTIONS} connections")
    print(f"    {rate:,.0f} per second, p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms")
    bars.check(errors == 0, f"{errors} errors")
    bars.check(p99 < 10 * p50, f"p99 is {p99 / p50:.1f} times p50 (at most 10)")
    grown = sizes[-1] / sizes[len(sizes) // 3]
    bars.check(grown < GROWTH, f"memory {sizes[0]:.0f}, {sizes[len(sizes) // 3]:.0f}, {sizes[-1]:.0f} MB: "
               f"{grown:.3f} times from a third of the run to its end")  # fmt: skip
    _killed(bars, process, port, body)


def _killed(bars: Bars, process: "subprocess.Popen[str]", port: int, body: bytes) -> None:
    async def killed() -> tuple[Load, float, float, subprocess.Popen[str]]:
        load = Load(port, body)
        clients = [asyncio.create_task(load.client()) for _ in range(CONNECTIONS)]
        await asyncio.sleep(2)
        down = time.monotonic()
        process.kill()
        process.wait()
        again, _ = await asyncio.to_thread(start, port)
        up = time.monotonic()
        await asyncio.sleep(5)
        load.stopped = True
        await asyncio.gather(*clients)
        return load, down, up, again

    load, down, up, again = asyncio.run(killed())
    outside = [ok for asked, done, ok in load.seen if done < down or asked > up]
    during = sum(not ok for asked, done, ok in load.seen if not (done < down or asked > up))
    print(f"killed and started again: {up - down:.1f} s down, {during:,} failed requests in that time")
    bars.check(all(outside), f"{outside.count(False)} errors in {len(outside):,} requests while it was up")
    again.terminate()
    again.wait()


if __name__ == "__main__":
    sys.exit(main())
