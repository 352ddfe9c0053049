"""Faithfulness is measured by deleting words from the text and by keeping them alone."""

import numpy as np
import pytest

from hardmax.errors import BadInput
from hardmax.sentiment.explain import explain
from hardmax.sentiment.faithfulness import deletion, faithfulness
from tiny_models import random_model, two_classes

TEXTS = ["great film the plot", "dull plot ! film", "not dull the film", "great dull film ! the"]


def test_the_words_of_explanations_are_measured_as_defined():
    model = two_classes()
    measured = faithfulness(model, TEXTS, top=1)
    without, only = [], []
    for text in TEXTS:
        ex = explain(model, text)
        best = ex.words[0].word
        k = model.classes.index(ex.label)
        without.append(ex.probability - model.probabilities([" ".join(w for w in text.split() if w != best)])[0, k])
        only.append(ex.probability - model.probabilities([best])[0, k])
    row = measured.row("effect")
    assert row["comprehensiveness"] == pytest.approx(np.mean(without), abs=1e-12)
    assert row["sufficiency"] == pytest.approx(np.mean(only), abs=1e-12)
    assert row["words"] == 1


def test_the_first_word_by_effect_is_the_best_single_word():
    model = random_model(seed=4)
    texts = [" ".join(f"w{i}" for i in np.random.default_rng(k).integers(0, 60, 12)) for k in range(20)]
    measured = faithfulness(model, texts, top=1)
    best = measured.row("effect")["comprehensiveness"]
    assert measured.row("one by one")["comprehensiveness"] == best
    for ranking in ("part", "score", "random"):
        assert measured.row(ranking)["comprehensiveness"] <= best + 1e-12


def test_words_that_speak_against_the_label_are_not_named():
    model = two_classes()
    ex = explain(model, "great dull film ! the fine")
    for_it = [word.word for word in ex.words if word.effect > 0]
    assert "dull" not in for_it
    assert faithfulness(model, [ex.text], top=9).row("effect")["words"] == len(for_it)


def test_n_grams_that_close_a_gap_count():
    model = two_classes()
    measured = deletion(model, ["not great dull"], [["great"]])  # leaves "not dull"
    before, after = model.probabilities(["not great dull", "not dull"])
    k = int(before.argmax())
    assert measured["comprehensiveness"] == pytest.approx(before[k] - after[k], abs=1e-12)


def test_chance_is_seeded():
    assert faithfulness(two_classes(), TEXTS, seed=1) == faithfulness(two_classes(), TEXTS, seed=1)


def test_no_texts_are_refused():
    with pytest.raises(BadInput, match="at least one text"):
        faithfulness(two_classes(), [])
