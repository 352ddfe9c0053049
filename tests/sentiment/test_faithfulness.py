"""Faithfulness is measured by leaving words out and keeping them alone."""

import numpy as np
import pytest

from hardmax.errors import BadInput
from hardmax.sentiment.explain import explain
from hardmax.sentiment.faithfulness import faithfulness
from hardmax.sentiment.model import probabilities
from hardmax.text.vocabulary import Bags
from tiny_models import random_model, two_classes

TEXTS = ["great film the plot", "dull plot ! film", "not dull the film", "great dull film ! the"]


def _probability(model, forms, label):
    ids = [model.vocabulary.find(f) for f in forms]
    return probabilities(model.run(Bags.of(ids, [len(ids)]))[0])[0, model.classes.index(label)]


def test_top_leaders_are_measured_as_defined():
    model = two_classes()
    measured = faithfulness(model, TEXTS, top=1)
    without, only = [], []
    for text in TEXTS:
        ex = explain(model, text)
        best = ex.leaders[0].word
        assert ex.leaders[0].effect > 0
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


def test_rankings_name_as_many_terms_as_they_say():
    model, texts = random_model(classes=3, seed=2), ["w1 w2 w3 w4 w5 w6 w7", "w9", ""]
    measured = faithfulness(model, texts, top=2)
    support = [sum(leader.effect > 0 for leader in explain(model, text).leaders) for text in texts]
    assert {row["terms"] for row in measured.rows if row["ranking"].startswith("supporting")} == {sum(support) / 3}
    assert measured.row("top 2 leaders")["terms"] == sum(min(2, s) for s in support) / 3
    assert {measured.row(f"top 2 {other}")["terms"] for other in ("score", "leave-one-out", "random")} == {1.0}
    assert len(measured.rows) == 8


def test_leaders_that_speak_against_the_label_are_not_named():
    # dull is a leader of this text, but the text is positive.
    model = two_classes()
    ex = explain(model, "great dull film ! the fine")
    assert (ex.label, "dull" in {leader.word for leader in ex.leaders}) == ("positive", True)
    measured = faithfulness(model, [ex.text], top=5)
    for_it = [leader.word for leader in ex.leaders if leader.effect > 0]
    assert "dull" not in for_it
    assert measured.row("top 5 leaders")["terms"] == len(for_it)


def test_without_attention_leaders_are_the_words_by_score():
    measured = faithfulness(random_model(layers=0), ["w1 w2 w3 w4 w5 w6 w7 w8 w9"], top=3)
    lead, score = measured.row("top 3 leaders"), measured.row("top 3 score")
    assert lead["comprehensiveness"] == pytest.approx(score["comprehensiveness"], abs=1e-12)


def test_chance_is_seeded():
    assert faithfulness(two_classes(), TEXTS, seed=1) == faithfulness(two_classes(), TEXTS, seed=1)


def test_no_texts_are_refused():
    with pytest.raises(BadInput, match="at least one text"):
        faithfulness(two_classes(), [])
