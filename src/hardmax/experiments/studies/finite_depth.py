"""Finite depth: how much of the infinite-depth picture holds after 6, 8 or 12 layers (docs/studies/finite-depth.md)?

The limit polytope K lies in every hull(Z^k), so that the Hausdorff distance of the two is the largest distance of a
token from K. A token is at most |z_i^k - z_i^inf| away, so few tokens have to be projected. Two predictions in closed
form are compared: after lock-in at layer s a token is at (1+alpha)^{-(k-s)} |z_i^s - v|, exactly; and from the input
alone (1+alpha)^{-k} |z_i^0 - z_i^inf|, which is right for tokens decided at layer 0.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.limit import limit
from hardmax.dynamics.nearest import nearest_to_origin
from hardmax.dynamics.simulate import simulate
from hardmax.experiments import Context, Outcome, interval, study
from hardmax.experiments.reproduce.models import Models
from hardmax.experiments.reviews import draw_reviews, imdb
from hardmax.theory import expected_leaders

DEPTHS = (6, 8, 12)
MEASURES = (  # of `measure_cloud`, the columns of the table
    "Hausdorff distance", "median distance", "leaders", "leaders / tokens", "polytope there", "tokens decided",
    "actual / predicted",
)  # fmt: skip
SIZES = ((2, 128), (4, 256), (8, 512))  # in d = 16 half of 20,000 tokens still lead
MODELS = {"words of a review, the model imdb": "imdb", "words of a review, the paper's recipe": "paper"}


def draw(family: str, n: int, d: int, rng: np.random.Generator) -> Floats:
    """n tokens in R^d: standard normal, or uniform in [-1, 1]^d."""
    return rng.uniform(-1, 1, (n, d)) if family == "cube" else rng.standard_normal((n, d))


def hausdorff(Z: Floats, ends: Floats, vertices: Floats) -> float:
    """The largest distance of a token from the hull of `vertices`; token i is at most |Z_i - ends_i| away from it.

    Example:
        >>> square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
        >>> hausdorff(np.array([[3.0, 0.5], [0.5, 0.5]]), np.zeros((2, 2)), square)
        2.0
    """
    bound = np.linalg.norm(Z - ends, axis=1)
    farthest = 0.0
    for i in np.argsort(-bound):
        if bound[i] <= farthest:
            break
        farthest = max(farthest, float(np.linalg.norm(nearest_to_origin(vertices - Z[i])[0])))
    return farthest


def measure_cloud(Z: Floats, alpha: float) -> list[dict[str, float]]:
    """For each depth: distances to the limit, leaders found, tokens decided, and the error of the two predictions.

    Distances are relative to the largest |z_i|, and the median is over the tokens that move. "actual / predicted" is
    the mean of the actual distance over the one predicted from the input: above 1 tokens are late.
    """
    eq: Any = limit(Z, alpha)
    traj: Any = simulate(Z, alpha, layers=DEPTHS[-1])
    radius = float(np.linalg.norm(Z, axis=1).max())
    decided = np.asarray(eq.certificate.decided_at)
    since = np.array(sorted(eq.leader_since.values()))
    vertices = eq.points[sorted(eq.leader_since)]
    start = np.linalg.norm(Z - eq.points, axis=1)
    moving = start > 1e-9 * radius
    found = []
    for k in DEPTHS:
        away = np.linalg.norm(traj.tokens[k] - eq.points, axis=1)
        locked = np.flatnonzero(decided <= k)
        then = traj.tokens[decided[locked], locked]
        closed = np.linalg.norm(then - eq.points[locked], axis=1) * (1 + alpha) ** (decided[locked] - float(k))
        predicted = (1 + alpha) ** -float(k) * start[moving]
        found.append({
            "Hausdorff distance": hausdorff(traj.tokens[k], eq.points, vertices) / radius,
            "median distance": float(np.median(away[moving])) / radius if moving.any() else 0.0,
            "leaders": float(len(since)), "leaders / tokens": len(since) / len(Z),
            "polytope there": float((since <= k).all()), "tokens decided": float((decided <= k).mean()),
            "actual / predicted": float((away[moving] / predicted).mean()) if moving.any() else 1.0,
            "closed_form_error": float(np.abs(away[locked] - closed).max(initial=0.0)) / radius,
        })  # fmt: skip
    return found


def trained_clouds(context: Context, model: str, count: int, epochs: int, reviews: int) -> Iterator[Floats]:
    """The distinct words of reviews as tokens: in a shipped model, or in one of the paper's recipe (d = 2)."""
    if model == "paper":
        made = Models(context, reviews, epochs)
        run, texts = made.paper(2), made.reviews
        for t in texts.aside[:count]:
            yield run.E[texts.ids[texts.offsets[t] : texts.offsets[t + 1]]].astype(np.float64)
        return
    from hardmax.sentiment.files import load_classifier

    loaded: Any = load_classifier(model)
    texts_, labels = imdb()
    chosen = draw_reviews(labels, count, 1, (context.seed, 5))[0]
    bags = loaded.vocabulary.bags([texts_[i] for i in chosen])
    for a, b in zip(bags.offsets[:-1], bags.offsets[1:], strict=True):
        yield np.unique(loaded.embedding[bags.ids[a:b]].astype(np.float64), axis=0)


@study(
    "finite-depth",
    "At 6, 8 and 12 layers, how far is the hull of the tokens from the limit polytope, and is it already complete?",
    minutes=10,
    quick={"sizes": ((2, 32), (8, 512)), "alphas": (0.1, 1.0), "clouds": 4, "trained": ()},
)
def finite_depth(
    context: Context, *, families: tuple[str, ...] = ("gaussian", "cube"), sizes: tuple[tuple[int, int], ...] = SIZES,
    alphas: tuple[float, ...] = (0.5, 2.35), clouds: int = 30, trained: tuple[str, ...] = ("imdb", "paper"),
    epochs: int = 100, reviews: int = 6000,
) -> Outcome:  # fmt: skip
    """Draw `clouds` clouds of every kind, measure them, and gather the tables."""

    def measured(kind: str, d: int, n: int, alpha: float) -> tuple[list[list[dict[str, float]]], int]:
        """The measurements of every cloud, and the mean number of tokens."""
        if n == 0:
            made = trained_clouds(context, MODELS[kind], clouds, epochs, reviews)
        else:
            seeds = [(context.seed, families.index(kind), d, n, c) for c in range(clouds)]
            made = (draw(kind, n, d, np.random.default_rng(seed)) for seed in seeds)
        every = [(measure_cloud(Z, alpha), len(Z)) for Z in made]
        return [found for found, _ in every], round(sum(size for _, size in every) / len(every))

    kinds = [(family, d, n) for family, (d, n) in product(families, sizes)]
    kinds += [(what, 2, 0) for what, name in MODELS.items() if name in trained]
    cells = [(*kind, alpha) for kind, alpha in product(kinds, alphas)]
    rows, worst = list[dict[str, Any]](), 0.0
    text, about = "{} d={} n={} alpha={}", {"clouds": clouds, "trained": (epochs, reviews)}
    for (kind, d, n, alpha), (runs, size) in context.sweep(cells, text, measured, **about).items():
        law = expected_leaders(n, d) if kind == "gaussian" else None
        for place, k in enumerate(DEPTHS):
            at = [one[place] for one in runs]
            worst = max(worst, *(x["closed_form_error"] for x in at))
            cell = {"cloud": kind, "d": d, "n": n or size, "alpha": alpha, "layers": k}
            means = {name: interval(x[name] for x in at) for name in MEASURES}
            rows.append({**cell, "(1+alpha)^-k": (1 + alpha) ** -float(k), **means, "leaders by the law": law})
    context.table("summary", "Distances relative to the radius of the cloud", _summary(rows))
    records = context.table("by-depth", "Clouds against their certified limit", rows).records()
    context.figure("distance", "measurements:plot_distances", records, text="Hausdorff distance to the limit polytope.")
    context.figure("decided", "measurements:plot_decided", records, text="Tokens that are not decided, by depth.")
    first = [row for row in records if row["layers"] == DEPTHS[0]]
    there = sum(row["polytope there"]["mean"] == 1 for row in first)
    ratio = [row["Hausdorff distance"]["mean"] / row["(1+alpha)^-k"] for row in first]
    known = [row for row in first if row["leaders by the law"] and row["leaders"]["half"]]
    near = sum(abs(r["leaders"]["mean"] - r["leaders by the law"]) <= 1.5 * r["leaders"]["half"] for r in known)
    return Outcome(
        f"After {DEPTHS[0]} layers the polytope is complete in every cloud of {there} of {len(first)} kinds. The "
        f"Hausdorff distance from the hull to it is {min(ratio):.3g} to {max(ratio):.3g} times (1+alpha)^-{DEPTHS[0]} "
        f"of the radius. The number of leaders agrees with the law in {near} of {len(known)} kinds. The closed form "
        f"after lock-in is right to {worst:.1g} of the radius.",
        numbers={"closed_form_error": worst},
    )


def _summary(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One line for each kind of cloud and alpha, with the distances at all depths."""
    for place in range(0, len(rows), len(DEPTHS)):
        first = rows[place]
        yield {
            **{name: first[name] for name in ("cloud", "d", "n", "alpha")},
            **{f"Hausdorff at {k}": rows[place + at]["Hausdorff distance"] for at, k in enumerate(DEPTHS)},
            f"(1+alpha)^-{DEPTHS[0]}": first["(1+alpha)^-k"],
            f"decided at {DEPTHS[0]}": first["tokens decided"].mean,
            f"polytope there at {DEPTHS[0]}": first["polytope there"].mean,
            "leaders": first["leaders"],
            "by the law": first["leaders by the law"] or "",
        }
