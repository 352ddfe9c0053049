"""Split a sweep into tasks, seeds of one point and a few seconds of work for any process, and compute one.

`hardmax.scale.dynamics` computes those of a sweep over dynamics. A run of a sweep over training settings trains on some
texts and measures on others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.scale.config import Sweep

TASK_TOKENS = 2_000_000  # tokens x layers of a task: seconds of work
COLUMNS = ("accuracy", "log_loss", "leaders", "parameters", "training_seconds")  # of a training
HELD_OUT = 0.2  # of the data, if no test file is given
Rows = dict[str, list[Any]]


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


def compute(task: Task) -> Rows:
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
        found = run_training(settings, seeds)
    seconds = (perf_counter() - began) / task.count
    depths = sweep.layers or (None,)
    rows = task.count * len(depths)
    known: Rows = {
        "run": [task.first + k for k in range(task.count) for _ in depths],
        "seed": [s for s in seeds for _ in depths],
        **{name: [value] * rows for name, value in settings.items()},
    }
    if sweep.layers:
        known["layers"] = [float(k) for _ in seeds for k in sweep.layers]
    return known | found | {"seconds": [seconds] * rows}


@lru_cache(maxsize=2)
def _texts(data: str) -> tuple[list[str], list[Any]]:
    from hardmax.text.datasets import read

    found = read(data)
    if found.labels is None:
        raise BadInput(f"{data} has no labels")
    return list(found.texts), list(found.labels)


def run_training(settings: dict[str, Any], seeds: range) -> Rows:
    """Columns of the runs of one point; errors are recorded."""
    rows = []
    for seed in seeds:
        try:
            rows.append(_one(settings, seed))
        except Exception as error:  # a run that fails must not end the others
            rows.append({"error": f"{type(error).__name__}: {error}"})
    return {name: [row.get(name) for row in rows] for name in (*COLUMNS, "error")}


def _one(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    from hardmax.sentiment.estimator import HardmaxClassifier

    texts, labels = _texts(settings["data"])
    if settings["test"] is not None:
        tests, answers = _texts(settings["test"])
    else:
        order = np.random.default_rng(0).permutation(len(texts)).tolist()  # the same split for every run
        cut = round(HELD_OUT * len(texts))
        tests, answers = [texts[i] for i in order[:cut]], [labels[i] for i in order[:cut]]
        texts, labels = [texts[i] for i in order[cut:]], [labels[i] for i in order[cut:]]
    if settings["texts"] is not None:
        texts, labels = texts[: settings["texts"]], labels[: settings["texts"]]
    names = ("dim", "layers", "min_df", "alpha", "epochs", "batch_size", "learning_rate", "dropout")
    given = {name: settings[name] for name in names if settings[name] is not None}
    if settings["ngrams"] is not None:
        given["ngram_range"] = (1, settings["ngrams"])
    began = perf_counter()
    clf = HardmaxClassifier(**given, random_state=seed).fit(texts, labels)
    seconds = perf_counter() - began
    sure = clf.predict_proba(tests)
    place = {label: k for k, label in enumerate(clf.classes_.tolist())}
    right = np.array([place[a] for a in answers])
    model = clf.model_
    leaders = model.run(model.vocabulary.bags(tests))[1]
    return {
        "accuracy": float((sure.argmax(axis=1) == right).mean()),
        "log_loss": float(-np.log(np.maximum(sure[np.arange(len(right)), right], 1e-300)).mean()),
        "leaders": float(leaders.mean()),
        "parameters": model.parameters,
        "training_seconds": seconds,
    }
