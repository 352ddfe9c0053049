"""Split a sweep into tasks: seeds of one point, a few seconds of work for any process."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from hardmax.scale.config import Sweep

TASK_TOKENS = 2_000_000  # tokens x layers of a task: seconds of work


@dataclass(frozen=True)
class Task:
    """Runs `first` to `first + count - 1`: seeds of one point."""

    sweep: Sweep
    first: int
    count: int

    @property
    def file(self) -> str:
        """The name of the file with its rows."""
        return f"part-{self.first:010d}-{self.count}.parquet"


def tasks(sweep: Sweep) -> Iterator[Task]:
    """The whole sweep in parts of a few seconds, each within one point."""
    for point, settings in enumerate(sweep.points):
        size = 1
        if sweep.kind == "dynamics":
            depth = max(sweep.layers, default=0) + 1
            size = max(1, TASK_TOKENS // (settings["n"] * depth))
        for seed in range(0, sweep.seeds, size):
            yield Task(sweep, point * sweep.seeds + seed, min(size, sweep.seeds - seed))


def compute(task: Task) -> dict[str, list[Any]]:
    """The columns of a task: number, settings, seed, measurements, seconds, error."""
    sweep = task.sweep
    point, seed = divmod(task.first, sweep.seeds)
    settings = sweep.points[point]
    seeds = range(sweep.first_seed + seed, sweep.first_seed + seed + task.count)
    began = perf_counter()
    if sweep.kind == "dynamics":
        from hardmax.scale.dynamics import run_dynamics

        found = run_dynamics(settings, seeds, sweep.layers)
    else:
        from hardmax.scale.training import run_training

        found = run_training(settings, seeds)
    seconds = (perf_counter() - began) / task.count
    depths = sweep.layers or (None,)
    rows = task.count * len(depths)
    known: dict[str, list[Any]] = {
        "run": [task.first + k for k in range(task.count) for _ in depths],
        "seed": [s for s in seeds for _ in depths],
        **{name: [value] * rows for name, value in settings.items()},
    }
    if sweep.layers:
        known["layers"] = [float(k) for _ in seeds for k in sweep.layers]
    return known | found | {"seconds": [seconds] * rows}
