"""Training with the texts and their terms on disk gives the model of training in memory, bit for bit."""

import json

import numpy as np
import pytest

from hardmax.io import scratch
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.text import ngrams, vocabulary
from hardmax.text.datasets import read


def _reviews(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    words = [f"word{k}" for k in range(60)]
    labels = rng.integers(2, size=count)
    said = [["dull", "bad", "weak"], ["good", "fine", "great"]]
    texts = [
        " ".join([*rng.choice(words, rng.integers(3, 150)), *rng.choice(said[k], 2), *rng.choice(words, 4)])
        for k in labels
    ]
    return texts, [("neg", "pos")[k] for k in labels]


@pytest.mark.parametrize("settings", [{"layers": 2, "epochs": 1}, {"layers": 0}])
def test_a_model_from_disk_has_the_bits_of_one_from_memory(tmp_path, monkeypatch, settings):
    texts, labels = _reviews(150)
    table = tmp_path / "reviews.jsonl"
    rows = zip(texts, labels, strict=True)
    table.write_text("".join(json.dumps({"text": t, "label": k}) + "\n" for t, k in rows), encoding="utf-8")
    plain = HardmaxClassifier(**settings).fit(texts, labels)
    monkeypatch.setattr(scratch, "LARGE", 1)
    monkeypatch.setattr(vocabulary, "AT_ONCE", 700)
    monkeypatch.setattr(vocabulary.spans, "__defaults__", (700,))
    monkeypatch.setattr("hardmax.sentiment.word_scores.NUMBERS", 70)
    for module in ("word_scores", "calibration"):
        monkeypatch.setattr(f"hardmax.sentiment.{module}.AT_ONCE", 700)
    stored = read(table, store=tmp_path)
    assert stored.labels.tolist() == labels
    assert list(stored.texts) == texts
    with scratch.spilling(tmp_path):
        spilled = HardmaxClassifier(**settings).fit(stored.texts, stored.labels)
        assert spilled.score(stored.texts, stored.labels) == plain.score(texts, labels)
    assert spilled == plain
    assert spilled.choices_ == plain.choices_
    assert sorted(tmp_path.iterdir()) == [table]


def test_counting_many_distinct_terms_keeps_those_in_many_texts():
    rng = np.random.default_rng(1)
    frequent = ["tea", "coffee", "milk"]
    texts = [" ".join([*frequent[: 1 + k % 3], *(f"rare{rng.integers(10**9)}" for _ in range(40))]) for k in range(600)]
    counts = ngrams.TermCounts(1, 2, most=5000)
    for part in ngrams.chunks(texts, 50):
        counts.add(part)
        assert counts._used[0] <= 5000
    assert counts.missed > 0
    assert set(frequent) <= set(counts.terms())
    assert len(counts.terms()) == len(set(counts.terms()))
    assert counts.terms(max_features=3) == ["tea", "coffee", "milk"]


def test_a_term_is_kept_once_even_if_it_was_forgotten_in_between():
    counts = ngrams.TermCounts(1, 2, most=4)
    counts.add(["a b", "a b", "c d e f g"])  # now c to g are forgotten, and with the median at 1 only they
    counts.add(["a", "c", "c", "c h i j k l", "c"])
    assert sorted(counts.terms()) == sorted(set(counts.terms()))
    assert "c" in counts.terms()
