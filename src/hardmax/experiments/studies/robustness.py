"""Robustness: what is left of clusters and leaders when the layer is not the paper's?

The same Gaussian clouds run through variants of the layer: several heads, matrices that are drawn or not symmetric,
unit sphere after every layer, no normalization, causal mask. Counted are distinct final positions (clusters; without
normalization distinct directions), tokens that ever follow only themselves (leaders), and what the run did.
Then the same of a classifier (`classifier.py`): accuracy and explanations with each kind of layer. Matrices learn
there; hardmax has no gradient with respect to A, so those variants train with softmax, T = 0.1.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.provenance import provenance
from hardmax.experiments.studies import trained
from hardmax.experiments.studies.classifier import Variant
from hardmax.experiments.studies.study import Study
from hardmax.experiments.tables import Table, interval

CLOSE = 1e-3  # positions nearer than this part of the cloud's radius are one cluster


@dataclass(frozen=True)
class Setting:
    """Clouds and layers."""

    dims: tuple[int, ...] = (2, 8)
    tokens: int = 64
    layers: int = 100
    alpha: float = 0.5
    clouds: int = 40
    seed: int = 0

    @staticmethod
    def quick() -> "Setting":
        return Setting(clouds=4)


def spd(d: int, rng: np.random.Generator, condition: float = 10.0) -> Floats:
    """A symmetric positive definite matrix with random axes and eigenvalues from 1 to `condition`."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = Q @ np.diag(np.geomspace(1.0, condition, d)) @ Q.T
    return np.asarray((A + A.T) / 2)  # rounding leaves it symmetric to the last bit but one


Options = Callable[[int, np.random.Generator], dict[str, Any]]
VARIANTS: dict[str, tuple[str, Options]] = {
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


LAYERS = {
    "hardmax (paper)": Variant(),
    "hardmax, causal": Variant(causal=True),
    "hardmax, sphere": Variant(normalization="sphere"),
    "hardmax, no normalization": Variant(normalization="none"),
    "softmax 0.1": Variant("softmax", temperature=0.1),
    "softmax 0.1, A learned": Variant("softmax", temperature=0.1, learned=True),
    "softmax 0.1, 2 heads learned": Variant("softmax", temperature=0.1, heads=2, learned=True),
    "softmax 0.1, 4 heads learned": Variant("softmax", temperature=0.1, heads=4, learned=True),
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


def run(
    setting: Setting | None = None,
    progress: Callable[[int, int, str], object] | None = None,
    journal: Path | None = None,
    training: trained.Setting | None = None,
    data: tuple[list[str], Any] | None = None,
) -> Study:
    """Run every variant on the same clouds, and train every kind of layer on the same reviews."""
    setting = setting or Setting()
    training = training or trained.Setting(seeds=(0, 1, 2))
    tables = (dynamics(setting, progress), accuracy(training, progress, journal, data))
    return Study(
        "robustness",
        "Do clusters and leaders survive several heads, other matrices, other normalizations, a causal mask?",
        {"dynamics": asdict(setting), "training": asdict(training)},
        provenance(setting.seed),
        tables,
    )


def dynamics(setting: Setting, progress: Callable[[int, int, str], object] | None = None) -> Table:
    """Clusters, leaders and outcome of every variant."""
    tell = progress or (lambda done, total, what: None)
    cases = [(d, name) for d in setting.dims for name in VARIANTS]
    rows = []
    for number, (d, name) in enumerate(cases):
        tell(number, len(cases), f"{name}, d={d}")
        what, options = VARIANTS[name]
        counted, leaders, kinds = [], [], []
        for c in range(setting.clouds):
            rng = np.random.default_rng((setting.seed, d, c))
            Z = rng.standard_normal((setting.tokens, d))
            traj: Any = simulate(Z, setting.alpha, layers=setting.layers, **options(d, rng))
            counted.append(clusters(traj.tokens[-1], directions=name == "none"))
            leaders.append(len(traj.leaders))
            kinds.append(traj.outcome.kind)
        shares = [kinds.count(kind) / len(kinds) for kind in ("settled", "growing", "periodic", "moving")]
        rows.append((d, name, what, interval(counted), interval(leaders), *shares))
    columns = ("d", "variant", "layer", "clusters", "leaders", "settled", "growing", "periodic", "moving")
    return Table("dynamics", f"{setting.tokens} tokens, {setting.layers} layers", columns, tuple(rows))


def accuracy(
    training: trained.Setting,
    progress: Callable[[int, int, str], object] | None = None,
    journal: Path | None = None,
    data: tuple[list[str], Any] | None = None,
) -> Table:
    """Accuracy and explanations of the classifier with each kind of layer."""
    found = trained.train_all(LAYERS, training, journal, progress, data)
    names = ("accuracy", "carriers", "comprehensiveness parts", "comprehensiveness score")
    rows = tuple(
        (name, *(interval(run[x] for run in runs) for x in names), int(runs[0]["parameters"]))
        for name, runs in found.items()
    )
    columns = (
        "layer", "accuracy", "words that carry the logit", "comprehensiveness, parts", "comprehensiveness, own score",
        "learned numbers",
    )  # fmt: skip
    return Table("accuracy", "The classifier with each kind of layer", columns, rows)
