"""Finite depth: how much of the infinite-depth picture holds after 6, 8 or 12 layers?

The theorems are about infinitely many layers, networks have few. For random clouds this study compares layer k with the
certified limit: how far tokens are from where they end, whether the polytope is already complete (all leaders lead),
and how well two predictions in closed form do:

- after lock-in: a token that follows one leader v from layer s on is at distance (1+alpha)^{-(k-s)} |z_i^s - v|,
  exactly;
- from the input alone: (1+alpha)^{-k} |z_i^0 - z_i^inf|, which is right for tokens decided at layer 0.
"""

from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.limit import limit
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.context import Context
from hardmax.experiments.item import Outcome, study
from hardmax.experiments.table import Table, interval

DEPTHS = (6, 8, 12)
MEASURES = (  # of `measure_cloud`, the columns of the table
    "median distance", "largest distance", "leaders / tokens", "leaders found", "polytope there", "tokens decided",
    "actual / predicted",
)  # fmt: skip


def draw(family: str, n: int, d: int, rng: np.random.Generator) -> Floats:
    """n tokens in R^d: standard normal, uniform in [-1, 1]^d, or uniform in the unit ball."""
    if family == "cube":
        return rng.uniform(-1, 1, (n, d))
    Z = rng.standard_normal((n, d))
    if family == "ball":
        Z *= (rng.random(n) ** (1 / d) / np.linalg.norm(Z, axis=1))[:, None]
    return Z


def measure_cloud(Z: Floats, alpha: float) -> list[dict[str, float]]:
    """For each depth: distances to the limit, leaders found, tokens decided, and the error of the two predictions.

    Distances are over the tokens that move at all, relative to the largest |z_i|. "actual / predicted" is the mean
    of the actual distance over the one predicted from the input: 1 is perfect, more says that tokens are late.
    """
    eq: Any = limit(Z, alpha)
    traj: Any = simulate(Z, alpha, layers=DEPTHS[-1])
    radius = float(np.linalg.norm(Z, axis=1).max())
    decided = np.asarray(eq.certificate.decided_at)
    since = np.array(sorted(eq.leader_since.values()))
    start = np.linalg.norm(Z - eq.points, axis=1)
    moving = start > 1e-9 * radius
    found = []
    for k in DEPTHS:
        away = np.linalg.norm(traj.tokens[k] - eq.points, axis=1)
        locked = np.flatnonzero(decided <= k)
        then = traj.tokens[decided[locked], locked]
        closed = np.linalg.norm(then - eq.points[locked], axis=1) * (1 + alpha) ** (decided[locked] - float(k))
        predicted = (1 + alpha) ** -float(k) * start[moving]
        found.append(
            {
                "median distance": float(np.median(away[moving])) / radius if moving.any() else 0.0,
                "largest distance": float(away.max()) / radius,
                "leaders / tokens": len(since) / len(Z),
                "leaders found": float((since <= k).mean()),
                "polytope there": float((since <= k).all()),
                "tokens decided": float((decided <= k).mean()),
                "actual / predicted": float((away[moving] / predicted).mean()) if moving.any() else 1.0,
                "closed_form_error": float(np.abs(away[locked] - closed).max(initial=0.0)) / radius,
            }
        )
    return found


@study(
    "finite-depth",
    "At 6, 8 and 12 layers, how far are tokens from their limit, and is the polytope already complete?",
    minutes=5,
    quick={"dims": (2, 8), "sizes": (32, 128), "alphas": (0.1, 1.0), "clouds": 10},
)
def finite_depth(
    context: Context,
    *,
    families: tuple[str, ...] = ("gaussian", "cube", "ball"),
    dims: tuple[int, ...] = (2, 4, 8, 16),
    sizes: tuple[int, ...] = (32, 128, 512),
    alphas: tuple[float, ...] = (0.1, 0.5, 1.0, 2.35),
    clouds: int = 100,
) -> Outcome:
    """Draw `clouds` clouds of every kind, measure them, and gather the tables."""
    cases = list(product(families, dims, sizes, alphas))
    rows, worst = [], 0.0
    for number, (family, d, n, alpha) in enumerate(cases):
        context.tell(number, len(cases), f"{family} d={d} n={n} alpha={alpha}")
        seeds = [(context.seed, families.index(family), d, n, c) for c in range(clouds)]
        runs = [measure_cloud(draw(family, n, d, np.random.default_rng(seed)), alpha) for seed in seeds]
        for place, k in enumerate(DEPTHS):
            at = [one[place] for one in runs]
            worst = max(worst, *(x["closed_form_error"] for x in at))
            measured = [interval(x[name] for x in at) for name in MEASURES]
            rows.append((family, d, n, alpha, k, (1 + alpha) ** -float(k), *measured))
    columns = ("cloud", "d", "n", "alpha", "layers", "(1+alpha)^-k", *MEASURES)
    everything = Table("by-depth", "Random clouds against their certified limit", columns, rows)
    context.table(_summary(everything, families[0], sizes[len(sizes) // 2]))
    context.table(everything)
    records = everything.records()
    context.figure("distance", "measurements:plot_distances", records, text="Median distance to the limit by alpha.")
    context.figure("decided", "measurements:plot_decided", records, text="Tokens that are not decided, by depth.")
    first = [row for row in records if row["layers"] == DEPTHS[0]]
    there = sum(row["polytope there"]["mean"] == 1 for row in first)
    ratio = [row["actual / predicted"]["mean"] for row in first]
    return Outcome(
        f"After {DEPTHS[0]} layers the polytope is complete in every cloud of {there} of {len(first)} kinds. The mean "
        f"distance to the limit is {min(ratio):.3g} to {max(ratio):.3g} times (1+alpha)^-{DEPTHS[0]} of the distance "
        f"at the input. The closed form after lock-in is right to {worst:.1g} of the radius.",
        numbers={"closed_form_error": worst},
    )


def _summary(table: Table, family: str, n: int) -> Table:
    """One line per dimension and alpha: the distances at the three depths, and what is decided at the first."""
    found: dict[tuple[int, float], dict[int, dict[str, Any]]] = {}
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        if cells["cloud"] == family and cells["n"] == n:
            found.setdefault((cells["d"], cells["alpha"]), {})[cells["layers"]] = cells
    first = DEPTHS[0]
    rows = tuple(
        (
            d, alpha, at[first]["leaders / tokens"].mean,
            *(f"{at[k]['median distance'].mean:.2g} / {at[k]['(1+alpha)^-k']:.2g}" for k in DEPTHS),
            at[first]["tokens decided"].mean, at[first]["polytope there"].mean, at[first]["actual / predicted"],
        )
        for (d, alpha), at in found.items()
    )  # fmt: skip
    columns = (
        "d", "alpha", "leaders / tokens", *(f"median distance at {k} / (1+alpha)^-{k}" for k in DEPTHS),
        f"tokens decided at {first}", f"polytope there at {first}", "actual / predicted",
    )  # fmt: skip
    return Table("summary", f"{family} clouds of {n} tokens", columns, rows)
