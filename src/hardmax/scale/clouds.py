"""Random clouds and matrices of runs: the same numbers for a run whether it is computed alone or among thousands."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput

Floats = NDArray[np.float64]
BLOCK = 256  # seeds drawn from one stream


def clouds(family: str, n: int, d: int, first: int, count: int) -> Floats:
    """(count, n, d) clouds of the seeds first, first + 1, ...

    A block of 256 seeds shares one stream of random numbers: setting up a stream for each would cost more than a
    simulation of 100 tokens.

    Example:
        >>> one, many = clouds("normal", 3, 2, 300, 1), clouds("normal", 3, 2, 200, 200)
        >>> bool((one[0] == many[100]).all())
        True
    """
    parts = []
    for block in range(first // BLOCK, (first + count - 1) // BLOCK + 1):
        whole = _block(family, n, d, block)
        low, high = max(first - block * BLOCK, 0), min(first + count - block * BLOCK, BLOCK)
        parts.append(whole[low:high])
    return np.concatenate(parts) if len(parts) > 1 else np.ascontiguousarray(parts[0])


def _block(family: str, n: int, d: int, block: int) -> Floats:
    rng = np.random.default_rng([block, n, d, sum(map(ord, family))])
    shape = BLOCK, n, d
    if family == "normal":
        return rng.standard_normal(shape)
    if family == "cube":
        return rng.uniform(-1.0, 1.0, shape)
    z = rng.standard_normal(shape)
    z /= np.sqrt((z**2).sum(axis=2, keepdims=True))
    if family == "ball":
        z *= rng.random((BLOCK, n, 1)) ** (1.0 / d)
    elif family != "sphere":
        raise BadInput(f"there is no family of clouds {family!r}")
    return z


def matrices(settings: dict[str, Any], seed: int) -> list[Floats] | None:
    """The matrices A of the heads of a run: None for one identity, else symmetric with the given condition number.

    Example:
        >>> A = matrices({"matrix": "random", "d": 3, "heads": 1, "condition": 7.0}, 0)[0]
        >>> round(float(np.linalg.cond(A)), 6)
        7.0
    """
    d, heads = settings["d"], settings["heads"]
    if settings["matrix"] == "identity" and heads == 1:
        return None
    rng = np.random.default_rng([seed, d, 2**20])
    found = []
    for _ in range(heads):
        q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        scale = np.ones(d) if settings["matrix"] == "identity" else np.geomspace(1.0, settings["condition"], d)
        found.append((q * scale) @ q.T)
    return [(a + a.T) / 2 for a in found]
