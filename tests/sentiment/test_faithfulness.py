"""Faithfulness is measured by leaving words out and keeping them alone."""

import numpy as np
import pytest

from hardmax.sentiment.explain import explain
from hardmax.sentiment.faithfulness import faithfulness
from hardmax.sentiment.model import probabilities
from tiny_models import random_model, two_classes

TEXTS = ["great film the plot", "dull plot ! film", "not dull the film", "great dull film ! the"]


def _probability(model, forms, label):
    ids = [model.vocabulary.number[f] for f in forms]
    return probabilities(model.read_bag(ids).logits[None])[0, model.classes.index(label)]


def test_top_leaders_are_measured_as_defined():
    model = two_classes()
    measured = faithfulness(model, TEXTS, top=1)
    without, only = [], []
    for text in TEXTS:
        ex = explain(model, text)
        sign = 1 if ex.label == "positive" else -1
        best = max(ex.leaders, key=lambda leader: sign * leader["contribution"])["word"]
        rest = [f for f in ex.reading.forms if f != best]
        without.append(ex.probability - _probability(model, rest, ex.label))
        only.append(ex.probability - _probability(model, [best], ex.label))
    row = measured.row("top 1 leaders")
    assert row["comprehensiveness"] == pytest.approx(np.mean(without), abs=1e-12)
    assert row["sufficiency"] == pytest.approx(np.mean(only), abs=1e-12)
    assert row["terms"] == 1


def test_leaving_one_out_is_the_best_single_word():
    model = random_model(seed=4)
    texts = [" ".join(f"w{i}" for i in np.random.default_rng(k).integers(0, 60, 12)) for k in range(20)]
    measured = faithfulness(model, texts, top=1)
    best = measured.row("top 1 leave-one-out")["comprehensiveness"]
    for ranking in ("leaders", "score", "random"):
        assert measured.row(f"top 1 {ranking}")["comprehensiveness"] <= best + 1e-12


def test_rankings_name_equally_many_terms():
    measured = faithfulness(random_model(classes=3, seed=2), ["w1 w2 w3 w4 w5 w6 w7", "w9", ""], top=2)
    for kind in ("top 2", "supporting"):
        counts = {row["terms"] for row in measured.rows if row["ranking"].startswith(kind)}
        assert len(counts) == 1
    assert len(measured.rows) == 8


def test_without_attention_leaders_are_the_words_by_score():
    measured = faithfulness(random_model(layers=0), ["w1 w2 w3 w4 w5 w6 w7 w8 w9"], top=3)
    lead, score = measured.row("top 3 leaders"), measured.row("top 3 score")
    assert lead["comprehensiveness"] == pytest.approx(score["comprehensiveness"], abs=1e-12)


def test_chance_is_seeded():
    assert faithfulness(two_classes(), TEXTS, seed=1) == faithfulness(two_classes(), TEXTS, seed=1)
