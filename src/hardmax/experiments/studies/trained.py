"""Many small classifiers, one a variant and seed, with a journal of what is finished."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hardmax.errors import need
from hardmax.experiments.journal import Journal
from hardmax.experiments.studies.classifier import Budget, Classifier, Variant, explained, labels_of
from hardmax.experiments.studies.reviews import Sample, Size, imdb, sample
from hardmax.transformer.one_thread import one_thread

TOP = 5


@dataclass(frozen=True)
class Setting:
    """Data, budget and seeds. The seed draws the reviews, the order, the dropped words and the heads."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    size: Size = field(default_factory=Size)
    budget: Budget = field(default_factory=Budget)
    explained: int = 250

    @staticmethod
    def quick() -> "Setting":
        return Setting((0, 1), Size(learn=600, aside=400, words=40), Budget(epochs=2), explained=50)


def train_all(
    variants: Mapping[str, Variant],
    setting: Setting,
    journal: Path | None = None,
    progress: Callable[[int, int, str], object] | None = None,
    data: tuple[list[str], Any] | None = None,
) -> dict[str, list[dict[str, float]]]:
    """Accuracy on the blocks kept aside and faithfulness of every variant and seed; finished runs are not repeated."""
    torch = need("torch", "torch", "the studies")
    tell = progress or (lambda done, total, what: None)
    kept = Journal(journal)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    total, done = len(variants) * len(setting.seeds), 0
    with one_thread(torch):
        for seed in setting.seeds:
            drawn: Sample | None = None
            for name, variant in variants.items():
                tell(done, total, f"{name}, seed {seed}")
                key = {"variant": asdict(variant), "size": asdict(setting.size), "budget": asdict(setting.budget),
                       "explained": setting.explained, "seed": seed}  # fmt: skip
                value = kept.get(key)
                if value is None:
                    if drawn is None:
                        data = data or imdb()
                        drawn = sample(data[0], data[1], setting.size, seed)
                    value = kept.put(key, measure(drawn, variant, setting, seed))
                found[name].append(value)
                done += 1
        tell(done, total, "done")
    return found


def measure(drawn: Sample, variant: Variant, setting: Setting, seed: int) -> dict[str, float]:
    """Train one classifier and measure it."""
    classifier = Classifier(drawn, variant, setting.budget, seed).fit(drawn.learn)
    some = labels_of(drawn.aside, setting.explained)
    return {
        "accuracy": classifier.accuracy(drawn.aside),
        "parameters": classifier.parameters,
        **explained(classifier, some, TOP, seed),
    }
