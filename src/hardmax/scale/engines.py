"""Where the tasks of a sweep run: in processes of this machine, or on a Ray cluster."""

from collections.abc import Iterable, Iterator
from typing import Any

from hardmax.errors import need
from hardmax.scale.tasks import Task, compute

Finished = Iterator[tuple[Task, dict[str, list[Any]]]]
AHEAD = 4  # tasks that wait for each processor of the cluster


def in_processes(work: Iterable[Task], workers: int | None) -> Finished:
    """Tasks in processes of this machine, in the order in which they finish."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        asked = {pool.submit(compute, task): task for task in work}
        try:
            for future in as_completed(asked):
                yield asked[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def on_ray(work: Iterable[Task], address: str | None = None) -> Finished:
    """The columns of every task, as they finish. Ray runs a task again if its worker dies.

    Args:
        address: of a running cluster ("auto", "ray://host:10001"); None starts one on this machine.
    """
    ray = need("ray", "ray", "engine ray")
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, logging_level="ERROR", log_to_driver=False, include_dashboard=False)
    try:
        remote = ray.remote(num_cpus=1, max_retries=5)(compute)
        room = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        asked: dict[Any, Task] = {}
        source = iter(work)
        while True:
            while len(asked) < room and (task := next(source, None)) is not None:
                asked[remote.remote(task)] = task
            if not asked:
                return
            (finished, *_), _ = ray.wait(list(asked), num_returns=1)
            yield asked.pop(finished), ray.get(finished)
    finally:
        if started:
            ray.shutdown()
