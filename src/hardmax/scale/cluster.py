"""Connect to the Ray cluster at an address, or start one that lives as long as it is used."""

import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from hardmax.errors import BadInput, need

RETRIES = 10  # of a task whose worker died
SECONDS = 8.0  # to wait for a machine to answer
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # and settings: none
TOKEN = "a cluster that asks for a token needs RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too"


@contextmanager
def cluster_at(address: str | None) -> Iterator[Any]:
    """Ray, connected to a cluster.

    Args:
        address: of a running cluster ("auto", "head:6379", "ray://head:10001"); None starts one on this machine.

    Raises:
        BadInput: no cluster can be reached at the address.
    """
    ray = need("ray", "ray", "engine ray")
    started = not ray.is_initialized()
    if started:
        if address not in (None, "auto", "local"):
            # Attempts to connect are not logged; a failure is reported once, here.
            os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
            _listening(str(address))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # Without an address Ray would look for a cluster that runs here, or ran here and left its address.
                ray.init(
                    address=address or "local", logging_level="ERROR", log_to_driver=False, include_dashboard=False
                )
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            why = str(error).strip().splitlines()[:1]
            raise BadInput("the Ray cluster cannot be reached", found=": ".join([address or "local", *why]),
                           fix=f"check the address; {TOKEN}") from None  # fmt: skip
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def _listening(address: str) -> None:
    """Check that a server at an address speaks HTTP/2, as Ray does: Ray itself would try again for minutes."""
    try:
        where = urlsplit(address if "://" in address else f"//{address}")
        host, port = where.hostname, where.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise BadInput(f"{address!r} is not the address of a Ray cluster",
                       fix="use auto, host:port (6379 unless it was given) or ray://host:port (10001)")  # fmt: skip
    why = "what listens there is not Ray"
    try:
        with socket.create_connection((host, port), SECONDS) as line:
            line.sendall(GREETING)
            answer = line.recv(len(GREETING)) if os.environ.get("RAY_USE_TLS", "0") == "0" else GREETING[-9:]
    except OSError as error:
        answer, why = b"", why if isinstance(error, ConnectionResetError) else str(error.strerror or error)
    if answer[3:4] != b"\x04":  # the type of a frame of settings, with which a server answers
        raise BadInput("the Ray cluster cannot be reached", found=f"{address}: {why}",
                       fix="check the address, and that the cluster is running")  # fmt: skip
