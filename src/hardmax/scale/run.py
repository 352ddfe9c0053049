"""Run a sweep: tasks in any order on any engine, each with a parquet file; finished tasks are not repeated."""

import json
import multiprocessing
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.errors import BadInput, need
from hardmax.io.files import write_file
from hardmax.io.resumable import begin_or_resume
from hardmax.scale.cluster import RETRIES, cluster_at
from hardmax.scale.config import KINDS, Sweep, is_batched, read_sweep
from hardmax.scale.tasks import Task, compute, tasks

if TYPE_CHECKING:
    import pandas
    import pyarrow

MANIFEST = "_sweep.json"  # readers of a folder of parquet files pass over names that begin like this
SCHEMA = "hardmax.sweep/1"
AHEAD = 4  # tasks that wait for each processor of a cluster
Progress = Callable[[int, int], object]  # rows done, rows in all
Finished = Iterator[tuple[Task, dict[str, list[Any]]]]


def write_part(columns: Mapping[str, list[Any]], kind: str, path: Path) -> None:
    """The rows of a task as a parquet file, which appears complete or not at all."""
    import pyarrow.parquet

    write_file(path, lambda to: pyarrow.parquet.write_table(_table(columns, kind), to))


def _table(columns: Mapping[str, list[Any]], kind: str) -> "pyarrow.Table":
    """One schema for all parts of a kind: a column without a value yet must have its type too."""
    import pyarrow as pa

    types = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    known = {name: types[parameter.kind] for name, parameter in KINDS[kind].items()}
    known |= dict.fromkeys(("run", "seed"), pa.int64()) | dict.fromkeys(("outcome", "error", "command"), pa.string())
    if kind == "dynamics":
        known |= dict.fromkeys(("leaders", "late_leaders", "decided_layer", "clusters", "undecided"), pa.int64())
    elif kind == "training":
        known["parameters"] = pa.int64()
    return pa.table({name: pa.array(values, known.get(name, pa.float64())) for name, values in columns.items()})


def read_rows(folder: str | Path) -> "pyarrow.Table":
    """All rows of the runs that are finished, by number of run.

    Raises:
        BadInput: the folder holds no sweep, or no row yet.
    """
    need("pyarrow", "sweep", "a sweep")
    import pyarrow as pa
    import pyarrow.parquet

    folder = Path(folder)
    _manifest(folder)
    parts = sorted(folder.glob("part-*.parquet"))
    if not parts:
        raise BadInput(f"{folder} has no finished runs yet")
    return pa.concat_tables([pyarrow.parquet.read_table(part) for part in parts])


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        stored = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if stored["schema"] != SCHEMA:
            raise BadInput(f"{folder} was written by another version", found=str(stored["schema"]))
        return dict(stored)
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{folder} does not hold a sweep", fix="give the folder that hardmax sweep -o wrote") from None


def read_plan(folder: str | Path) -> dict[str, Any]:
    """The plot that the study describes."""
    return dict(_manifest(Path(folder))["plot"])


def run_sweep(
    sweep: Sweep,
    folder: Path,
    *,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    command: str = "",
) -> tuple[int, int]:
    """Run the tasks that are not done yet; returns how many rows there are now, and how many of them failed.

    Args:
        folder: for the parts, one parquet file per task.
        engine, address, workers: as for `sweep`.
        resume, force: continue what the folder holds, or replace it.
        command: the config as the user named it; the row of a failed run holds the command that repeats it.
    """
    need("pyarrow", "sweep", "a sweep")
    known = {"schema": SCHEMA, "digest": sweep.digest, "name": sweep.name, "runs": len(sweep), "plot": sweep.plot}
    with begin_or_resume(folder, MANIFEST, known, "sweep", resume, force):
        open_tasks = [task for task in tasks(sweep) if not (folder / task.file).exists()]
        depths = max(1, len(sweep.layers))
        done = sweep.rows - sum(task.count for task in open_tasks) * depths
        for task, columns in _computed(open_tasks, sweep, engine, address, workers):
            columns["command"] = [
                f"hardmax sweep {shlex.quote(command)} --run {run}" if error else None
                for run, error in zip(columns["run"], columns["error"], strict=True)
            ]
            write_part(columns, sweep.kind, folder / task.file)
            done += task.count * depths
            if progress is not None:
                progress(done, sweep.rows)
    failed = sum(value is not None for value in read_rows(folder)["error"].to_pylist())
    return done, failed


def _computed(work: list[Task], sweep: Sweep, engine: str, address: str | None, workers: int | None) -> Finished:
    if engine == "ray":
        return on_ray(work, address)
    if engine != "local":
        raise BadInput(f"there is no engine {engine!r}", fix="use local or ray")
    # Batched dynamics use all processors already, and training with one thread each is no faster on two.
    batched = sweep.kind == "dynamics" and not sweep.layers and all(map(is_batched, sweep.points))
    if batched or workers == 1:
        return ((task, compute(task)) for task in work)
    return in_processes(work, workers)


def in_processes(work: Iterable[Task], workers: int | None) -> Finished:
    """Tasks in processes of this machine, in the order in which they finish."""
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        asked = {pool.submit(compute, task): task for task in work}
        try:
            for future in as_completed(asked):
                yield asked[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def on_ray(work: Iterable[Task], address: str | None) -> Finished:
    """The columns of every task, as they finish. Ray runs a task again if its worker dies."""
    with cluster_at(address) as ray:
        room = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(compute)
        asked: dict[Any, Task] = {}
        source = iter(work)
        while True:
            while len(asked) < room and (task := next(source, None)) is not None:
                asked[remote.remote(task)] = task
            if not asked:
                return
            (finished, *_), _ = ray.wait(list(asked), num_returns=1)
            yield asked.pop(finished), ray.get(finished)


def sweep(
    config: str | Path | Mapping[str, Any],
    output: str | Path | None = None,
    *,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    resume: bool = True,
    progress: Progress | None = None,
) -> "pandas.DataFrame":
    """Run a parameter study and return its rows, one per run.

    Args:
        config: a TOML file, the name of a shipped study (leaders, decision, sphere, accuracy), or a dict of this form:
            {"sweep": {"kind", "seeds"}, "fixed": {...}, "grid": {...}, "random": {...}}.
        output: a folder where every finished part is kept, so that an interrupted study continues; None keeps nothing.
        engine: "local", or "ray" for a cluster at `address`.
        workers: how many processes run on this machine; None means one per processor.
        resume: whether to continue what `output` already holds.
        progress: called with the number of rows done, and of all rows.

    Returns:
        A pandas DataFrame: number of the run, seed, settings, measurements, seconds, error.

    Raises:
        BadInput: a setting is unknown or out of bounds, or `output` holds something else.
        MissingExtra: pyarrow or pandas is not installed.

    Example:
        >>> import hardmax as hx
        >>> rows = hx.sweep({"sweep": {"seeds": 100}, "grid": {"n": [10, 100]}})
        >>> rows.groupby("n").leaders.mean().round(1).tolist()
        [3.9, 6.5]
    """
    from tempfile import TemporaryDirectory

    need("pandas", "sweep", "a sweep as a DataFrame")
    settings = read_sweep(config)
    command = "CONFIG.toml" if isinstance(config, Mapping) else str(config)
    with TemporaryDirectory() as kept:
        folder = Path(kept) / "rows" if output is None else Path(output)
        run_sweep(
            settings, folder, engine=engine, address=address, workers=workers, resume=resume, progress=progress,
            command=command,
        )  # fmt: skip
        return read_rows(folder).to_pandas()


def one_run(sweep: Sweep, number: int) -> dict[str, Any]:
    """The first row of a single run, computed alone: the same numbers as among the others."""
    if not 0 <= number < len(sweep):
        raise BadInput(f"there is no run {number}", found=f"0 to {len(sweep) - 1}")
    columns = compute(Task(sweep, number, 1))
    return {name: None if value != value else value for name, (value, *_) in columns.items()}  # None for NaN
