"""Keeps what a benchmark measures as JSON in benchmarks/results; scripts/benchmark_page.py writes the page from it."""

import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PEERS = ("faiss-cpu", "fasttext-numpy2", "lime", "shap", "ray")


def record(name: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """Store one table of a run with the versions, the processor and the number of cores that it was measured with."""
    from hardmax.experiments.context import provenance

    origin: dict[str, Any] = {**provenance(), "processor": _processor()}
    origin["packages"] |= {peer: found for peer in PEERS if (found := _version(peer))}
    del origin["seed"]
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    table = {"head": list(head), "rows": [[str(cell) for cell in row] for row in rows], "origin": origin}
    path.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
