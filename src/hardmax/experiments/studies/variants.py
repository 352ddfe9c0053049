"""Two studies of layers other than the paper's: what is left of clusters and leaders, and what attention is worth.

docs/studies/robustness.md and docs/studies/ablation.md say what is compared. A run is decided in rational arithmetic
where float64 cannot decide it and the layer has rational values; otherwise "undecided" is an outcome of its own. The
classifier is that of `classifier.py`; beside it stands the paper's recipe (`mechanism.py`), whose leaders are learned
and not given by radii.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments import Context, Outcome, gains, interval, study
from hardmax.experiments.studies.classifier import Runs, Variant, train_all
from hardmax.experiments.studies.mechanism import FAITHFULNESS, faithfulness_rows, paper_runs

CLOUDS = ((2, 64, 0.5), (2, 128, 2.0), (8, 64, 0.5))  # dimension, tokens, alpha
DEPTH, LONG = 110, 2000  # layers, and those of a run that still moves then
FATES = ("settled", "growing", "periodic", "moving", "undecided")  # kinds of `hardmax.dynamics.trajectory.Outcome`
CLOSE = 1e-3  # positions nearer than this part of the cloud's radius are one cluster


def spd(d: int, rng: np.random.Generator, condition: float = 10.0) -> Floats:
    """A symmetric positive definite matrix with random axes and eigenvalues from 1 to `condition`."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = Q @ np.diag(np.geomspace(1.0, condition, d)) @ Q.T
    return np.asarray((A + A.T) / 2)  # rounding leaves it symmetric to the last bit but one


def layer_norm(gain: Floats) -> Callable[[Floats], Floats]:
    """LayerNorm of a transformer: every token centered, divided by its standard deviation, times the gain.

    Example:
        >>> layer_norm(np.ones(4))(np.array([[1.0, 2.0, 3.0, 4.0]])).round(2).tolist()
        [[-1.34, -0.45, 0.45, 1.34]]
    """

    def apply(Z: Floats) -> Floats:
        centered = Z - Z.mean(axis=1, keepdims=True)
        return np.asarray(gain * centered / np.maximum(centered.std(axis=1, keepdims=True), 1e-12))

    return apply


def _normed(d: int, rng: np.random.Generator, spread: float) -> dict[str, Any]:
    return {"normalization": "none", "feed_forward": layer_norm(np.exp(spread * rng.standard_normal(d)))}


Options = Callable[[int, np.random.Generator], dict[str, Any]]
LAYERS: dict[str, Options] = {
    "paper": lambda d, rng: {},  # one head, A = I, rescaled
    "condition 10": lambda d, rng: {"A": spd(d, rng)},
    "condition 1000": lambda d, rng: {"A": spd(d, rng, 1000.0)},
    "general": lambda d, rng: {"A": np.eye(d) + _antisymmetric(d, rng), "definite": False},
    "2 heads": lambda d, rng: {"heads": [spd(d, rng) for _ in range(2)]},
    "4 heads": lambda d, rng: {"heads": [spd(d, rng) for _ in range(4)]},
    "sphere": lambda d, rng: {"normalization": "sphere"},
    "sphere, spd": lambda d, rng: {"normalization": "sphere", "A": spd(d, rng)},
    "LayerNorm": lambda d, rng: _normed(d, rng, 0.0),
    "LayerNorm, gain": lambda d, rng: _normed(d, rng, 0.5),  # drawn for every coordinate
    "none": lambda d, rng: {"normalization": "none"},
    "causal": lambda d, rng: {"causal": True},
}
CLASSIFIERS = {
    "hardmax (paper)": Variant(),
    "hardmax, A learned": Variant(learned=True),
    "hardmax, 2 heads learned": Variant(heads=2, learned=True),
    "hardmax, 4 heads learned": Variant(heads=4, learned=True),
    "hardmax, causal": Variant(causal=True),
    "hardmax, sphere": Variant(normalization="sphere"),
    "hardmax, LayerNorm": Variant(normalization="layer"),
    "hardmax, no normalization": Variant(normalization="none"),
    "softmax 0.1": Variant("softmax", temperature=0.1),
    "softmax 0.1, 2 heads learned": Variant("softmax", temperature=0.1, heads=2, learned=True),
}
ATTENTIONS = {
    "none (K = 0)": Variant(layers=0),
    "softmax T = 1": Variant("softmax", temperature=1.0),
    "softmax T = 0.1": Variant("softmax", temperature=0.1),
    "softmax T = 0.001": Variant("softmax", temperature=0.001),
    "hardmax": Variant(),
    "random": Variant("random"),
}


def _antisymmetric(d: int, rng: np.random.Generator) -> Floats:
    G = rng.standard_normal((d, d))
    return np.asarray((G - G.T) / np.linalg.norm(G - G.T, 2))


def clusters(Z: Floats, directions: bool = False) -> int:
    """How many distinct points the tokens stand on, up to CLOSE; with `directions` they are scaled to length 1 first.

    Example:
        >>> clusters(np.array([[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0]]))
        2
    """
    if directions:
        Z = Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-300)
    near = CLOSE * max(float(np.linalg.norm(Z, axis=1).max()), 1e-300)
    left, count = np.ones(len(Z), bool), 0
    while left.any():
        first = int(np.flatnonzero(left)[0])
        left &= np.linalg.norm(Z - Z[first], axis=1) > near
        count += 1
    return count


# The sizes of the training: see `train_all`.
FULL = {"learn": 1000, "aside": 1500, "words": 40, "min_texts": 3, "epochs": 4, "explain": 60}
SMALL = {"learn": 600, "aside": 400, "words": 40, "min_texts": 5, "epochs": 2, "explain": 50}
QUICK: dict[str, Any] = {"runs": 2, "tuning": 1, "sizes": SMALL}


def accuracies(context: Context, name: str, found: Runs) -> list[dict[str, Any]]:
    """Accuracy of every variant, the differences to the first one in pairs, and what carries the logit; as a table."""
    base = next(iter(found.values()))
    means = {"words that carry the logit": "carriers", "score of leaders": "strength of leaders",
             "score of others": "strength of others"}  # fmt: skip
    rows = [
        {name: variant, "rate": f"{runs[0]['pace']:.2g}", "accuracy": interval(run["accuracy"] for run in runs),
         "against the first, points": gains(runs, base, scale=100)}
        | {column: interval(run[of] for run in runs) for column, of in means.items()}
        | {"learned numbers": int(runs[0]["parameters"])}
        for variant, runs in found.items()
    ]  # fmt: skip
    caption = f"Accuracy on held-out reviews, {len(base)} seeds; differences are paired by seed"
    table = context.table("accuracy", caption, rows)
    text = f"Accuracy with each kind of {name}."
    context.figure("accuracy", "measurements:plot_accuracy_by", table.records(), name, text=text)
    return rows


@study(
    "robustness",
    "Do clusters and leaders survive several heads, other matrices, other normalizations, a causal mask?",
    minutes=12,
    quick={"clouds": 3, **QUICK},
)
def robustness(
    context: Context, *, cases: Sequence[tuple[int, int, float]] = CLOUDS, clouds: int = 10, runs: int = 10,
    tuning: int = 0, sizes: Mapping[str, int] = FULL,
) -> Outcome:  # fmt: skip
    """Run every variant on the same clouds, and train every kind of layer on the same reviews."""
    cells = [(*size, name) for size, name in product(cases, LAYERS)]
    found = context.sweep(cells, "{3}, d={0}", partial(_fates, context.seed, clouds=clouds), clouds=clouds)
    rows = [_row(d, n, alpha, name, some) for (d, n, alpha, name), some in found.items()]
    caption = f"{clouds} clouds each, {DEPTH} layers, {LONG:,} if it still moves; parts of the clouds by outcome"
    dynamics = context.table("dynamics", caption, rows)
    text = "Clusters and leaders of every variant."
    shown = [row for row in dynamics.records() if (row["n"], row["alpha"]) == cases[0][1:]]
    context.figure("dynamics", "measurements:plot_clusters", shown, cases[0][1], text=text)
    trained = accuracies(context, "layer", train_all(context, CLASSIFIERS, runs=runs, tuning=tuning, **sizes))
    means = [row["accuracy"].mean for row in trained]
    return Outcome(
        f"All clouds settle in {sum(row['settled'] == 1 for row in rows)} of {len(rows)} rows, some grow in "
        f"{sum(row['growing'] > 0 for row in rows)}, in {sum(row['undecided'] > 0 for row in rows)} some come to rest "
        f"on comparisons that float64 cannot decide, and in {sum(row['moving'] > 0 for row in rows)} some still move. "
        f"The accuracy is {min(means):.3f} to {max(means):.3f} over "
        f"{len(means)} kinds of layers, and {trained[0]['accuracy']} with the paper's."
    )


def _fates(seed: int, d: int, n: int, alpha: float, name: str, clouds: int) -> dict[str, list[Any]]:
    """Clusters, leaders and outcome of one variant, cloud by cloud."""
    found: dict[str, list[Any]] = {"clusters": [], "leaders": [], "kinds": []}
    for c in range(clouds):
        rng = np.random.default_rng((seed, d, n, c))
        Z = rng.standard_normal((n, d))
        options = LAYERS[name](d, rng)
        traj: Any = simulate(Z, alpha, layers=DEPTH, **options)
        if traj.outcome.kind == "moving":
            traj = simulate(Z, alpha, layers=LONG, **options)
        if traj.undecided and options.get("normalization") != "sphere" and "feed_forward" not in options:
            traj = simulate(Z, alpha, layers=DEPTH, exact=True, **options)  # rational values: nothing stays undecided
        found["clusters"].append(clusters(np.asarray(traj.tokens[-1], np.float64), directions=name == "none"))
        found["leaders"].append(len(traj.leaders))
        found["kinds"].append(traj.outcome.kind)
    return found


def _row(d: int, n: int, alpha: float, name: str, found: dict[str, list[Any]]) -> dict[str, Any]:
    counts = {what: interval(found[what]) for what in ("clusters", "leaders")}
    shares = {kind: found["kinds"].count(kind) / len(found["kinds"]) for kind in FATES}
    return {"d": d, "n": n, "alpha": alpha, "variant": name, **counts, **shares}


@study(
    "ablation", "What does attention cost or bring, in accuracy and in faithful explanations?", minutes=25,
    quick={**QUICK, "recipe": {"epochs": 2, "reviews": 600, "explained": 50}},
)  # fmt: skip
def ablation(
    context: Context, *, runs: int = 10, tuning: int = 2, sizes: Mapping[str, int] = FULL,
    recipe: Mapping[str, int] = {"epochs": 100, "reviews": 6000, "explained": 300},
) -> Outcome:  # fmt: skip
    """Train every kind of attention with every seed, and the paper's recipe with and without attention."""
    found = train_all(context, ATTENTIONS, runs=runs, tuning=tuning, **sizes)
    trained = {row["attention"]: row for row in accuracies(context, "attention", found)}
    paper = paper_runs(context, runs=runs, dims=(2,), **recipe)
    named = {f"the paper's recipe, K = {k}": some for (_, k), some in paper.items()}
    rows = [
        {"model": name, "accuracy": interval(run["accuracy"] for run in some),
         "against K = 0, points": gains(some, paper[2, 0], scale=100)}
        | {f"score of {x}": interval(run[f"strength of {x}"] for run in some) if "leaders" in some[0] else ""
           for x in ("leaders", "others")}
        for name, some in named.items()
    ]  # fmt: skip
    context.table("paper", f"The paper's recipe, {runs} seeds", rows)
    faith = context.table("faithfulness", FAITHFULNESS, faithfulness_rows({**found, **named}))
    text = "Comprehensiveness and sufficiency by the number of words."
    context.figure("faithfulness", "measurements:plot_faithfulness", faith.records(), text=text)
    hard, carriers = trained["hardmax"], "words that carry the logit"
    return Outcome(
        f"Hardmax attention changes the accuracy by {hard['against the first, points']} points against no attention, "
        f"and {hard[carriers]} words carry the logit instead of {trained['none (K = 0)'][carriers]}. In the paper's "
        f"recipe it changes the accuracy by {rows[0]['against K = 0, points']}."
    )
