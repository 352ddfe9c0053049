"""One task of a sweep over dynamics: many seeds of one point become rows.

The paper's system (hardmax, one head, rescaled) runs for all seeds in one batched call. Everything else runs one
cloud after the other.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import Hardmax, as_rule
from hardmax.errors import HardmaxError
from hardmax.scale.clouds import clouds, matrices

COLUMNS = ("leaders", "late_leaders", "decided_layer", "clusters", "distance", "spread", "undecided", "outcome")
Rows = dict[str, list[Any]]


def run_dynamics(settings: dict[str, Any], seeds: range, depths: tuple[int, ...]) -> Rows:
    """Columns of the runs of one point; every depth of `depths` gives a row of its own.

    leaders: tokens that follow only themselves, up to this depth; late_leaders: those that did not at layer 0.
    decided_layer: the first layer from which on every token follows one leader forever; None if there is none so far.
    clusters: places where tokens end, once that is decided; for other rules, groups of tokens closer than
    cluster_tolerance times the size of the cloud.
    distance: the farthest that a token is from where it ends, relative to that size, once that is decided.
    spread: root mean square distance to the mean, relative to that of the first layer.
    """
    plain = settings["rule"] == "hardmax" and settings["normalization"] == "rescale" and settings["heads"] == 1
    if plain and not settings["causal"] and settings["matrix"] == "identity" and not depths:
        return _batched(settings, seeds)
    rows: Rows = {name: [] for name in (*COLUMNS, "error")}
    for seed in seeds:
        try:
            found = _one(settings, seed, depths)
        except HardmaxError as error:
            found = [{"error": str(error)}] * max(1, len(depths))
        for row in found:
            for name, column in rows.items():
                column.append(row.get(name))
    return rows


def _batched(settings: dict[str, Any], seeds: range) -> Rows:
    """All seeds in one compiled call; clouds with ties are run again one by one, with care."""
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
        try:
            row = _one(settings, seeds[k], ())[0]
        except HardmaxError as error:
            row = {"error": str(error)}
        for name, column in rows.items():
            column[k] = row.get(name)
    return rows


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    return [value if good else None for good, value in zip(known.tolist(), values.tolist(), strict=True)]


def _squares(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """|z|^2 of every token; a sum over a last axis of length 2 is ten times slower."""
    return np.asarray(np.einsum("...k,...k->...", Z, Z))


def _spread(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Root mean square distance of the tokens of (..., n, d) to their mean."""
    n = Z.shape[-2]
    mean = np.full(n, 1.0 / n) @ Z
    return np.asarray(np.sqrt(_squares(Z - mean[..., None, :]).mean(axis=-1)))


def _one(settings: dict[str, Any], seed: int, depths: tuple[int, ...]) -> list[dict[str, Any]]:
    """The rows of one run."""
    from hardmax.dynamics.limit import limit
    from hardmax.dynamics.simulate import simulate

    Z = clouds(settings["cloud"], settings["n"], settings["d"], seed, 1)[0]
    heads = matrices(settings, seed)
    rule = as_rule(settings["rule"], beta=settings["beta"], eps=settings["eps"])
    at = depths or (settings["layers"],)
    papers = isinstance(rule, Hardmax) and settings["normalization"] == "rescale" and not settings["causal"]
    ends = papers and (heads is None or len(heads) == 1)
    eq = limit(Z, settings["alpha"], None if heads is None else heads[0]) if ends else None
    if eq is not None and math.isinf(max(at)):
        return [_decided(eq, math.inf, eq.points, Z)]
    finite = [int(k) for k in at if not math.isinf(k)] or [1000]
    one = heads[0] if heads is not None and len(heads) == 1 else None
    traj = simulate(
        Z, settings["alpha"], one, max(finite), rule=rule, normalization=settings["normalization"],
        heads=heads if heads is not None and len(heads) > 1 else None, causal=settings["causal"],
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


def _decided(eq: Any, depth: float, tokens: NDArray[np.float64], Z: NDArray[np.float64]) -> dict[str, Any]:
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


def groups(tokens: NDArray[np.float64], tolerance: float) -> int:
    """The number of groups of tokens that chains of steps of at most tolerance * max|z| connect.

    Example:
        >>> groups(np.array([[0.0], [0.01], [1.0]]), 0.02)
        2
    """
    from scipy.sparse.csgraph import connected_components

    squares = ((tokens[:, None] - tokens[None]) ** 2).sum(axis=2)
    reach = tolerance * float(np.sqrt((tokens**2).sum(axis=1)).max())
    return int(connected_components(squares <= reach**2, directed=False)[0])
