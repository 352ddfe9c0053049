"""torch on one thread for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Run torch on one thread, and give it its threads back afterwards.

    Our matrices are small: threads would only wait for each other, and the last bits of sums would depend on them.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
