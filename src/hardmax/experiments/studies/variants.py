"""Two studies of layers other than the paper's: what is left of clusters and leaders, and what attention is worth.

Robustness: the same Gaussian clouds run through variants of the layer: several heads, matrices that are drawn or not
symmetric, unit sphere after every layer, no normalization, causal mask. Counted are distinct final positions (clusters;
without normalization distinct directions), tokens that ever follow only themselves (leaders), and what the run did.
Then the same of a classifier (`classifier.py`): accuracy and explanations with each kind of layer. Matrices learn
there; hardmax has no gradient with respect to A, so those variants train with softmax, T = 0.1.

Ablation: no attention, softmax at three temperatures, hardmax, uniform and random attention, all in the same classifier
with the same words, radii, budget and seeds. Uniform attention keeps the mean of the tokens, so it must give the
numbers of K = 0 exactly, which checks the setup.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.context import Context
from hardmax.experiments.item import Outcome, study
from hardmax.experiments.studies.classifier import TOP, Variant, train_all
from hardmax.experiments.table import Table, interval

DIMS, TOKENS, DEPTH, ALPHA = (2, 8), 64, 100, 0.5  # of the clouds
CLOSE = 1e-3  # positions nearer than this part of the cloud's radius are one cluster


def spd(d: int, rng: np.random.Generator, condition: float = 10.0) -> Floats:
    """A symmetric positive definite matrix with random axes and eigenvalues from 1 to `condition`."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = Q @ np.diag(np.geomspace(1.0, condition, d)) @ Q.T
    return np.asarray((A + A.T) / 2)  # rounding leaves it symmetric to the last bit but one


Options = Callable[[int, np.random.Generator], dict[str, Any]]
LAYERS: dict[str, tuple[str, Options]] = {
    "paper": ("one head, A = I, rescaled", lambda d, rng: {}),
    "spd": ("A drawn, SPD, condition 10", lambda d, rng: {"A": spd(d, rng)}),
    "general": (
        "A = I + antisymmetric of size 1",
        lambda d, rng: {"A": np.eye(d) + _antisymmetric(d, rng), "definite": False},
    ),
    "2 heads": ("two SPD heads, condition 10", lambda d, rng: {"heads": [spd(d, rng) for _ in range(2)]}),
    "4 heads": ("four SPD heads, condition 10", lambda d, rng: {"heads": [spd(d, rng) for _ in range(4)]}),
    "sphere": ("unit sphere after every layer (LayerNorm)", lambda d, rng: {"normalization": "sphere"}),
    "sphere, spd": (
        "unit sphere, A drawn, SPD, condition 10",
        lambda d, rng: {"normalization": "sphere", "A": spd(d, rng)},
    ),
    "none": ("no normalization", lambda d, rng: {"normalization": "none"}),
    "causal": ("token i sees tokens 0..i", lambda d, rng: {"causal": True}),
}
CLASSIFIERS = {
    "hardmax (paper)": Variant(),
    "hardmax, causal": Variant(causal=True),
    "hardmax, sphere": Variant(normalization="sphere"),
    "hardmax, no normalization": Variant(normalization="none"),
    "softmax 0.1": Variant("softmax", temperature=0.1),
    "softmax 0.1, A learned": Variant("softmax", temperature=0.1, learned=True),
    "softmax 0.1, 2 heads learned": Variant("softmax", temperature=0.1, heads=2, learned=True),
    "softmax 0.1, 4 heads learned": Variant("softmax", temperature=0.1, heads=4, learned=True),
}
ATTENTIONS = {
    "none (K = 0)": Variant(layers=0),
    "uniform": Variant("uniform"),
    "softmax T = 1": Variant("softmax", temperature=1.0),
    "softmax T = 0.1": Variant("softmax", temperature=0.1),
    "softmax T = 0.001": Variant("softmax", temperature=0.001),
    "hardmax": Variant(),
    "random": Variant("random"),
}
RANKINGS = ("parts", "score", "random")


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
FULL = {"learn": 5000, "aside": 2500, "words": 100, "min_texts": 5, "epochs": 4, "explain": 250}
SMALL = {"learn": 600, "aside": 400, "words": 40, "min_texts": 5, "epochs": 2, "explain": 50}
QUICK: dict[str, Any] = {"seeds": (0, 1), "sizes": SMALL}


@study(
    "robustness",
    "Do clusters and leaders survive several heads, other matrices, other normalizations, a causal mask?",
    minutes=10,
    quick={"clouds": 4, **QUICK},
)
def robustness(
    context: Context,
    *,
    clouds: int = 40,
    seeds: tuple[int, ...] = (0, 1, 2),
    sizes: Mapping[str, int] = FULL,
) -> Outcome:
    """Run every variant on the same clouds, and train every kind of layer on the same reviews."""
    rows = []
    for number, (d, name) in enumerate((d, name) for d in DIMS for name in LAYERS):
        context.tell(number, len(DIMS) * len(LAYERS), f"{name}, d={d}")
        rows.append(_fates(context.seed, d, name, clouds))
    columns = ["d", "variant", "layer", "clusters", "leaders", "settled", "growing", "periodic", "moving"]
    dynamics = context.table(Table("dynamics", f"{TOKENS} tokens, {DEPTH} layers", columns, rows))
    found = train_all(context, CLASSIFIERS, seeds, **sizes)
    names = ("accuracy", "carriers", "comprehensiveness parts", "comprehensiveness score")
    trained: list[tuple[Any, ...]] = [
        (name, *(interval(run[x] for run in runs) for x in names), int(runs[0]["parameters"]))
        for name, runs in found.items()
    ]
    columns = [
        "layer", "accuracy", "words that carry the logit", "comprehensiveness, parts", "comprehensiveness, own score",
        "learned numbers",
    ]  # fmt: skip
    accuracy = context.table(Table("accuracy", "The classifier with each kind of layer", columns, trained))
    text = "Clusters and leaders of every variant."
    context.figure("dynamics", "measurements:plot_clusters", dynamics.records(), TOKENS, text=text)
    text = "Accuracy with each kind of layer."
    context.figure("accuracy", "measurements:plot_accuracy_by", accuracy.records(), "layer", text=text)
    kept, means = sum(row[5] == 1 for row in rows), [row[1].mean for row in trained]
    return Outcome(
        f"All clouds settle in {kept} of {len(rows)} rows. The accuracy is {min(means):.3f} to {max(means):.3f} over "
        f"{len(trained)} kinds of layers, and {trained[0][1]} with the paper's."
    )


def _fates(seed: int, d: int, name: str, clouds: int) -> tuple[Any, ...]:
    """Clusters, leaders and outcome of one variant."""
    what, options = LAYERS[name]
    counted, leaders, kinds = [], [], []
    for c in range(clouds):
        rng = np.random.default_rng((seed, d, c))
        Z = rng.standard_normal((TOKENS, d))
        traj: Any = simulate(Z, ALPHA, layers=DEPTH, **options(d, rng))
        counted.append(clusters(traj.tokens[-1], directions=name == "none"))
        leaders.append(len(traj.leaders))
        kinds.append(traj.outcome.kind.replace("undecided", "settled"))  # at rest, whatever the rounding
    shares = [kinds.count(kind) / len(kinds) for kind in ("settled", "growing", "periodic", "moving")]
    return d, name, what, interval(counted), interval(leaders), *shares


@study(
    "ablation", "What does attention cost or bring, in accuracy and in faithful explanations?", minutes=15, quick=QUICK
)
def ablation(context: Context, *, seeds: tuple[int, ...] = (0, 1, 2, 3, 4), sizes: Mapping[str, int] = FULL) -> Outcome:
    """Train every kind of attention with every seed."""
    found = train_all(context, ATTENTIONS, seeds, **sizes)
    base = [run["accuracy"] for run in found["none (K = 0)"]]
    rows, faith = [], []
    for name, runs in found.items():
        gain = [100 * (run["accuracy"] - b) for run, b in zip(runs, base, strict=True)]
        carriers = interval(run["carriers"] for run in runs)
        rows.append((name, interval(run["accuracy"] for run in runs), interval(gain), carriers))
        for ranking in RANKINGS:
            both = ("comprehensiveness", "sufficiency")
            faith.append((name, ranking, *(interval(run[f"{what} {ranking}"] for run in runs) for what in both)))
    columns = ("attention", "accuracy", "against K = 0, points", "words that carry the logit")
    accuracy = context.table(Table("accuracy", "Accuracy on held-out reviews", columns, rows)).records()
    caption = f"Deleting or keeping the {TOP} words that a ranking names first"
    columns = ("attention", "ranking", "comprehensiveness", "sufficiency")
    faithfulness = context.table(Table("faithfulness", caption, columns, faith)).records()
    text = "Accuracy with each kind of attention."
    context.figure("accuracy", "measurements:plot_accuracy_by", accuracy, "attention", text=text)
    text = "Comprehensiveness and sufficiency of three rankings."
    context.figure("faithfulness", "measurements:plot_faithfulness", faithfulness, text=text)
    hardmax = next(row for row in rows if row[0] == "hardmax")
    return Outcome(
        f"Hardmax attention changes the accuracy by {hardmax[2]} points against no attention, and {hardmax[3]} words "
        f"carry the logit instead of {rows[0][3]}."
    )
