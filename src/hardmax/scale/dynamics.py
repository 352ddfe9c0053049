"""One task of a sweep over dynamics: the random clouds of many seeds of one point become rows.

The paper's system (hardmax, one head, rescaled) runs for all seeds in one batched call. Everything else runs one
cloud after the other.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import Hardmax, as_rule
from hardmax.errors import BadInput, HardmaxError
from hardmax.scale.config import is_batched

BLOCK = 256  # seeds drawn from one stream
COLUMNS = ("leaders", "late_leaders", "decided_layer", "clusters", "distance", "spread", "undecided", "outcome")
Floats = NDArray[np.float64]
Rows = dict[str, list[Any]]


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


def run_dynamics(settings: dict[str, Any], seeds: range, depths: tuple[int, ...]) -> Rows:
    """Columns of the runs of one point; every depth of `depths` gives a row of its own.

    leaders: tokens that follow only themselves, up to this depth; late_leaders: those that did not at layer 0.
    decided_layer: the first layer from which on every token follows one leader forever; None if there is none so far.
    clusters: places where tokens end, once that is decided; for other rules, groups of tokens closer than
    cluster_tolerance times the size of the cloud.
    distance: the farthest that a token is from where it ends, relative to that size, once that is decided.
    spread: root mean square distance to the mean, relative to that of the first layer.
    """
    if is_batched(settings) and not depths:
        return _batched(settings, seeds)
    rows = [row for seed in seeds for row in _tried(settings, seed, depths)]
    return {name: [row.get(name) for row in rows] for name in (*COLUMNS, "error")}


def _batched(settings: dict[str, Any], seeds: range) -> Rows:
    """All seeds in one compiled call; clouds with ties are run again one by one, layer by layer."""
    from hardmax.attention.fused import run_fused
    from hardmax.attention.ties import rounding_bound, tie_band, wider
    from hardmax.cloud.metric import metric

    n, d, alpha, layers = (settings[name] for name in ("n", "d", "alpha", "layers"))
    Z = clouds(settings["cloud"], n, d, seeds.start, len(seeds))
    count, flat = len(Z), Z.reshape(-1, d)
    flag = wider(tie_band(0.0), rounding_bound(d, metric(None, d, True)))
    depth = None if math.isinf(layers) else int(layers)
    run = run_fused(flat, np.arange(0, count * n + 1, n), alpha, depth, None, flag)
    since, target = run.lock_layer.reshape(count, n), run.lock_target.reshape(count, n)
    leads = run.leads.reshape(count, n)
    decided = np.asarray((target >= 0).all(axis=1))
    end = flat[(np.maximum(target, 0) + np.arange(0, count * n, n)[:, None]).ravel()]
    away = np.sqrt(_squares(run.tokens - end).reshape(count, n).max(axis=1))
    size = np.sqrt(_squares(Z).max(axis=1))
    places = (target == np.arange(n)).sum(axis=1)
    rows: Rows = {
        "leaders": leads.sum(axis=1).tolist(),
        "late_leaders": (leads & (since > 0)).sum(axis=1).tolist(),
        "decided_layer": _where(decided, since.max(axis=1)),
        "clusters": _where(decided, places),
        "distance": _where(decided, away / size),
        "spread": (_spread(run.tokens.reshape(Z.shape)) / _spread(Z)).tolist() if n > 1 else [1.0] * count,
        "undecided": [0] * count,
        "outcome": np.where(decided, "decided", "moving").tolist(),
        "error": [None] * count,
    }
    for k in np.flatnonzero(run.flagged | (~decided & math.isinf(layers))).tolist():
        [row] = _tried(settings, seeds[k], ())
        for name, column in rows.items():
            column[k] = row.get(name)
    return rows


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    return [value if good else None for good, value in zip(known.tolist(), values.tolist(), strict=True)]


def _squares(Z: Floats) -> Floats:
    """|z|^2 of every token; a sum over a last axis of length 2 is ten times slower."""
    return np.asarray(np.einsum("...k,...k->...", Z, Z))


def _spread(Z: Floats) -> Floats:
    """Root mean square distance of the tokens of (..., n, d) to their mean."""
    n = Z.shape[-2]
    mean = np.full(n, 1.0 / n) @ Z
    return np.asarray(np.sqrt(_squares(Z - mean[..., None, :]).mean(axis=-1)))


def _tried(settings: dict[str, Any], seed: int, depths: tuple[int, ...]) -> list[dict[str, Any]]:
    """The rows of one run, or of its error."""
    try:
        return _one(settings, seed, depths)
    except HardmaxError as error:
        return [{"error": str(error)}] * max(1, len(depths))


def _one(settings: dict[str, Any], seed: int, depths: tuple[int, ...]) -> list[dict[str, Any]]:
    from hardmax.dynamics.limit import limit
    from hardmax.dynamics.simulate import simulate

    Z = clouds(settings["cloud"], settings["n"], settings["d"], seed, 1)[0]
    heads = matrices(settings, seed)
    rule = as_rule(settings["rule"], beta=settings["beta"], eps=settings["eps"])
    at = depths or (settings["layers"],)
    papers = isinstance(rule, Hardmax) and settings["normalization"] == "rescale" and not settings["causal"]
    several = heads if heads is not None and len(heads) > 1 else None
    A = None if heads is None or several else heads[0]
    eq = limit(Z, settings["alpha"], A) if papers and several is None else None
    if eq is not None and math.isinf(max(at)):
        return [_decided(eq, math.inf, eq.points, Z)]
    finite = [int(k) for k in at if not math.isinf(k)] or [1000]
    traj = simulate(
        Z, settings["alpha"], A, max(finite), rule=rule, normalization=settings["normalization"], heads=several,
        causal=settings["causal"],
    )  # fmt: skip
    if eq is not None:
        return [_decided(eq, k, traj.tokens[k], Z) for k in finite]
    hard = isinstance(rule, Hardmax)
    return [
        {
            "leaders": sum(s <= k for s in traj.leader_since.values()) if hard else None,
            "late_leaders": sum(0 < s <= k for s in traj.leader_since.values()) if hard else None,
            "clusters": groups(traj.tokens[k], settings["cluster_tolerance"]),
            "spread": float(_spread(traj.tokens[k]) / _spread(Z)) if len(Z) > 1 else 1.0,
            "undecided": traj.undecided,
            "outcome": traj.outcome.kind if k == traj.layers else "moving",
        }
        for k in finite
    ]


def _decided(eq: Any, depth: float, tokens: Floats, Z: Floats) -> dict[str, Any]:
    """The row of a run whose limit is known, at one depth."""
    since = [s for s in eq.leader_since.values() if s <= depth]
    size = float(np.sqrt(_squares(Z).max()))
    layer = int(eq.certificate.decided_at.max())
    row = {
        "leaders": len(since),
        "late_leaders": sum(s > 0 for s in since),
        "spread": float(_spread(tokens) / _spread(Z)) if len(Z) > 1 else 1.0,
        "undecided": eq.undecided,
        "outcome": "moving" if layer > depth else "undecided" if eq.undecided else "decided",
    }
    if layer > depth:
        return row
    away = float(np.sqrt(_squares(tokens - eq.points).max())) / size
    return row | {"decided_layer": layer, "clusters": len(eq.centers), "distance": away}


def groups(tokens: Floats, tolerance: float) -> int:
    """The number of groups of tokens that chains of steps of at most tolerance * max|z| connect.

    Example:
        >>> groups(np.array([[0.0], [0.01], [1.0]]), 0.02)
        2
    """
    from scipy.sparse.csgraph import connected_components

    squares = ((tokens[:, None] - tokens[None]) ** 2).sum(axis=2)
    reach = tolerance * float(np.sqrt((tokens**2).sum(axis=1)).max())
    return int(connected_components(squares <= reach**2, directed=False)[0])
