"""Two studies of layers other than the paper's: what is left of clusters and leaders, and what attention is worth.

Robustness: the same Gaussian clouds run through variants of the layer: several heads, matrices of several condition
numbers or not symmetric, unit sphere and LayerNorm (centering and gain), no normalization, causal mask; several sizes
and steps. Counted are distinct final positions (clusters; without normalization distinct directions), tokens that
ever follow only themselves (leaders), and what the run did: decided in rational arithmetic where float64 cannot decide
and the layer has rational values; otherwise "undecided" is an outcome of its own. Then the same of a classifier
(`classifier.py`): accuracy and explanations with each kind of layer, heads trained through hardmax among them.

Ablation: no attention, softmax at three temperatures, hardmax, and random attention, all in the same classifier with
the same words, radii, budget and seeds, each with its own best learning rate; beside it the paper's recipe
(`mechanism.py`), whose leaders are learned and not given by radii.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.context import Context
from hardmax.experiments.item import Outcome, study
from hardmax.experiments.studies.classifier import Runs, Variant, train_all
from hardmax.experiments.studies.mechanism import faithfulness_table, paper_runs
from hardmax.experiments.table import Table, interval

CLOUDS = ((2, 64, 0.5), (2, 128, 2.0), (8, 64, 0.5))  # dimension, tokens, alpha
DEPTH = 110
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
LAYERS: dict[str, tuple[str, Options]] = {
    "paper": ("one head, A = I, rescaled", lambda d, rng: {}),
    "condition 10": ("A drawn, SPD, condition 10", lambda d, rng: {"A": spd(d, rng)}),
    "condition 1000": ("A drawn, SPD, condition 1000", lambda d, rng: {"A": spd(d, rng, 1000.0)}),
    "general": (
        "A = I + antisymmetric of size 1",
        lambda d, rng: {"A": np.eye(d) + _antisymmetric(d, rng), "definite": False},
    ),
    "2 heads": ("two SPD heads, condition 10", lambda d, rng: {"heads": [spd(d, rng) for _ in range(2)]}),
    "4 heads": ("four SPD heads, condition 10", lambda d, rng: {"heads": [spd(d, rng) for _ in range(4)]}),
    "sphere": ("unit sphere after every layer", lambda d, rng: {"normalization": "sphere"}),
    "sphere, spd": (
        "unit sphere, A drawn, SPD, condition 10",
        lambda d, rng: {"normalization": "sphere", "A": spd(d, rng)},
    ),
    "LayerNorm": ("centered, divided by the deviation, gain 1", lambda d, rng: _normed(d, rng, 0.0)),
    "LayerNorm, gain": ("the same with a gain drawn for every coordinate", lambda d, rng: _normed(d, rng, 0.5)),
    "none": ("no normalization", lambda d, rng: {"normalization": "none"}),
    "causal": ("token i sees tokens 0..i", lambda d, rng: {"causal": True}),
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


def accuracies(name: str, found: Runs) -> Table:
    """Accuracy of every variant, the differences to the first one in pairs, and what carries the logit."""
    base = [run["accuracy"] for run in next(iter(found.values()))]
    rows: list[tuple[Any, ...]] = []
    for variant, runs in found.items():
        gain = interval(100 * (run["accuracy"] - b) for run, b in zip(runs, base, strict=True))
        others = (interval(run[x] for run in runs) for x in ("carriers", "strength of leaders", "strength of others"))
        accuracy = interval(run["accuracy"] for run in runs)
        rows.append((variant, f"{runs[0]['pace']:.2g}", accuracy, gain, *others, int(runs[0]["parameters"])))
    columns = (name, "rate", "accuracy", "against the first, points", "words that carry the logit",
               "score of leaders", "score of others", "learned numbers")  # fmt: skip
    caption = f"Accuracy on held-out reviews, {len(base)} seeds; differences are paired by seed"
    return Table("accuracy", caption, columns, rows)


@study(
    "robustness",
    "Do clusters and leaders survive several heads, other matrices, other normalizations, a causal mask?",
    minutes=12,
    quick={"clouds": 3, **QUICK},
)
def robustness(
    context: Context, *, clouds: int = 10, runs: int = 10, tuning: int = 0, sizes: Mapping[str, int] = FULL
) -> Outcome:
    """Run every variant on the same clouds, and train every kind of layer on the same reviews."""
    rows = []
    for number, (size, name) in enumerate(product(CLOUDS, LAYERS)):
        context.tell(number, len(CLOUDS) * len(LAYERS), f"{name}, d={size[0]}")
        key = {"study": "robustness", "size": size, "variant": name, "clouds": clouds, "seed": context.seed}
        rows.append(_row(*size, name, context.memo(key, _fates, context.seed, *size, name, clouds)))
    columns = ["d", "n", "alpha", "variant", "clusters", "leaders", *FATES]
    caption = f"{clouds} clouds each, {DEPTH} layers; parts of the clouds by outcome"
    dynamics = context.table(Table("dynamics", caption, columns, rows))
    accuracy = context.table(accuracies("layer", train_all(context, CLASSIFIERS, runs=runs, tuning=tuning, **sizes)))
    text = "Clusters and leaders of every variant."
    shown = [row for row in dynamics.records() if (row["n"], row["alpha"]) == CLOUDS[0][1:]]
    context.figure("dynamics", "measurements:plot_clusters", shown, CLOUDS[0][1], text=text)
    text = "Accuracy with each kind of layer."
    context.figure("accuracy", "measurements:plot_accuracy_by", accuracy.records(), "layer", text=text)
    kept, means = sum(row[6] == 1 for row in rows), [value.mean for value in accuracy.column("accuracy")]
    open_, growing = (sum(row[column] > 0 for row in rows) for column in (10, 7))
    return Outcome(
        f"All clouds settle in {kept} of {len(rows)} rows, some grow in {growing}, and in {open_} some come to rest on "
        f"comparisons that float64 cannot decide. The accuracy is {min(means):.3f} to {max(means):.3f} over "
        f"{len(means)} kinds of layers, and {accuracy.column('accuracy')[0]} with the paper's."
    )


def _fates(seed: int, d: int, n: int, alpha: float, name: str, clouds: int) -> dict[str, list[Any]]:
    """Clusters, leaders and outcome of one variant, cloud by cloud."""
    found: dict[str, list[Any]] = {"clusters": [], "leaders": [], "kinds": []}
    for c in range(clouds):
        rng = np.random.default_rng((seed, d, n, c))
        Z = rng.standard_normal((n, d))
        options = LAYERS[name][1](d, rng)
        traj: Any = simulate(Z, alpha, layers=DEPTH, **options)
        if traj.undecided and options.get("normalization") != "sphere" and "feed_forward" not in options:
            traj = simulate(Z, alpha, layers=DEPTH, exact=True, **options)  # rational values: nothing stays undecided
        found["clusters"].append(clusters(np.asarray(traj.tokens[-1], np.float64), directions=name == "none"))
        found["leaders"].append(len(traj.leaders))
        found["kinds"].append(traj.outcome.kind)
    return found


def _row(d: int, n: int, alpha: float, name: str, found: dict[str, list[Any]]) -> tuple[Any, ...]:
    kinds = found["kinds"]
    shares = [kinds.count(kind) / len(kinds) for kind in FATES]
    return d, n, alpha, name, interval(found["clusters"]), interval(found["leaders"]), *shares


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
    accuracy = context.table(accuracies("attention", found))
    paper = paper_runs(context, runs=runs, dims=(2,), **recipe)
    named = {f"the paper's recipe, K = {k}": some for (_, k), some in paper.items()}
    base = [run["accuracy"] for run in paper[2, 0]]
    rows = []
    for name, some in named.items():
        gain = interval(100 * (run["accuracy"] - b) for run, b in zip(some, base, strict=True))
        strength = [interval(run.get(f"strength of {x}", 0.0) for run in some) for x in ("leaders", "others")]
        rows.append((name, interval(run["accuracy"] for run in some), gain, *strength))
    columns = ("model", "accuracy", "against K = 0, points", "score of leaders", "score of others")
    context.table(Table("paper", f"The paper's recipe, {runs} seeds", columns, rows))
    faith = context.table(faithfulness_table({**found, **named}))
    text = "Accuracy with each kind of attention."
    context.figure("accuracy", "measurements:plot_accuracy_by", accuracy.records(), "attention", text=text)
    text = "Comprehensiveness and sufficiency by the number of words."
    context.figure("faithfulness", "measurements:plot_faithfulness", faith.records(), text=text)
    hard = dict(zip(accuracy.column("attention"), accuracy.rows, strict=True))["hardmax"]
    return Outcome(
        f"Hardmax attention changes the accuracy by {hard[3]} points against no attention, and {hard[4]} words carry "
        f"the logit instead of {accuracy.rows[0][4]}. In the paper's recipe it changes the accuracy by {rows[0][2]}."
    )
