"""Ablation: what does the attention bring or cost, in accuracy and in explanations?

No attention, softmax at three temperatures, hardmax, uniform and random attention, all in one small classifier with the
same words, radii, budget and seeds (`classifier.py`). Uniform attention keeps the mean of the tokens, so it must give
the numbers of K = 0 exactly: a check of the ground.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hardmax.experiments.provenance import provenance
from hardmax.experiments.studies.classifier import Variant
from hardmax.experiments.studies.study import Study
from hardmax.experiments.studies.trained import TOP, Setting, train_all
from hardmax.experiments.tables import Table, interval

VARIANTS = {
    "none (K = 0)": Variant(layers=0),
    "uniform": Variant("uniform"),
    "softmax T = 1": Variant("softmax", temperature=1.0),
    "softmax T = 0.1": Variant("softmax", temperature=0.1),
    "softmax T = 0.001": Variant("softmax", temperature=0.001),
    "hardmax": Variant(),
    "random": Variant("random"),
}
RANKINGS = ("parts", "score", "random")


def run(
    setting: Setting | None = None,
    progress: Callable[[int, int, str], object] | None = None,
    journal: Path | None = None,
    data: tuple[list[str], Any] | None = None,
) -> Study:
    """Train every variant with every seed."""
    setting = setting or Setting()
    found = train_all(VARIANTS, setting, journal, progress, data)
    base = [run["accuracy"] for run in found["none (K = 0)"]]
    accuracy, faith = [], []
    for name, runs in found.items():
        gain = [100 * (run["accuracy"] - b) for run, b in zip(runs, base, strict=True)]
        carriers = interval(run["carriers"] for run in runs)
        accuracy.append((name, interval(run["accuracy"] for run in runs), interval(gain), carriers))
        for ranking in RANKINGS:
            measured = [
                interval(run[f"{what} {ranking}"] for run in runs) for what in ("comprehensiveness", "sufficiency")
            ]
            faith.append((name, ranking, *measured))
    return Study(
        "ablation",
        "What does attention cost or bring, in accuracy and in faithful explanations?",
        asdict(setting) | {"variants": {name: asdict(v) for name, v in VARIANTS.items()}},
        provenance(setting.seeds[0]),
        (
            Table("accuracy", "Accuracy on reviews kept aside",
                  ("attention", "accuracy", "against K = 0, points", "words that carry the logit"), tuple(accuracy)),
            Table("faithfulness", f"Deleting or keeping the {TOP} words that a ranking names first",
                  ("attention", "ranking", "comprehensiveness", "sufficiency"), tuple(faith)),
        ),
    )  # fmt: skip
