"""Where the tasks of a sweep run: in processes of this machine, or on a Ray cluster."""

from collections.abc import Iterable, Iterator
from typing import Any

from hardmax.scale.cluster import RETRIES, cluster_at
from hardmax.scale.tasks import Task, compute

AHEAD = 4  # tasks that wait for each processor of a cluster
Finished = Iterator[tuple[Task, dict[str, list[Any]]]]


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
