"""Where a result comes from: versions, seed, machine. Every result that is written to a file carries it."""

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "matplotlib")


def provenance(seed: int | None = None) -> dict[str, Any]:
    """Versions of what computed it, the seed, and the kind of machine (no name, no user, no time).

    Example:
        >>> sorted(provenance(seed=7))
        ['machine', 'packages', 'python', 'seed', 'version']
    """
    from hardmax import __version__

    return {
        "version": __version__,
        "python": platform.python_version(),
        "packages": dict(_packages()),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "seed": seed,
    }


@cache  # the metadata of a large package takes milliseconds to read
def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
