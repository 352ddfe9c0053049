"""A Ray cluster: the one at an address, or one that lives as long as it is used."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hardmax.errors import BadInput, need

AHEAD = 4  # tasks that wait for each processor of the cluster
RETRIES = 10  # of a task whose worker died


@contextmanager
def on_cluster(function: Any, address: str | None) -> Iterator[tuple[Any, Any, int]]:
    """Ray, the function as one that runs on the cluster, and how many calls should be under way.

    Args:
        address: of a running cluster ("auto", "ray://host:10001"); None starts one on this machine.
    """
    ray = need("ray", "ray", "engine ray")
    started = not ray.is_initialized()
    if started:
        try:
            # Without an address Ray would look for a cluster that runs here, or ran here and left its address behind.
            ray.init(address=address or "local", logging_level="ERROR", log_to_driver=False, include_dashboard=False)
        except ConnectionError as error:
            fix = "check the address; a cluster that asks for a token needs RAY_AUTH_MODE and RAY_AUTH_TOKEN here too"
            raise BadInput("the Ray cluster cannot be reached", found=address or str(error), fix=fix) from None
    try:
        room = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield ray, ray.remote(num_cpus=1, max_retries=RETRIES)(function), room
    finally:
        if started:
            ray.shutdown()
