"""The compiled explanation of many texts says what the plain one says of each."""

import numpy as np
import pytest

from corpus import reviews
from hardmax.sentiment.batches import trace
from hardmax.sentiment.explain import explain
from hardmax.sentiment.layers_numpy import score
from tiny_models import random_model, two_classes


@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("layers", [0, 1, 6])
@pytest.mark.parametrize(("classes", "neutral"), [(2, 0.0), (3, 2.5)])
def test_traces_are_the_explanations(dim, layers, classes, neutral):
    model = random_model(dim=dim, layers=layers, classes=classes, neutral_words=neutral)
    rng = np.random.default_rng(1)
    texts = ["", *(" ".join(f"w{i}" for i in rng.integers(0, 80, size)) for size in rng.integers(1, 60, 40))]
    traced = trace(model, texts)
    assert len(traced) == len(texts)
    for t, text in enumerate(texts):
        ex, place = explain(model, text), traced.place(t)
        plain, logits = score(ex.study.parameters.vectors[: len(ex.terms)], ex.study.parameters)
        assert traced.bags.ids[place].tolist() == ex.study.words.ids.tolist()
        assert traced.leader[place].tolist() == plain.leader.tolist()
        assert traced.since[place].tolist() == plain.since.tolist()
        assert traced.busy[place].tolist() == plain.busy.tolist()
        parts = plain.states[-1] @ model.scores.T / max(len(ex.terms) + neutral, 1.0)
        np.testing.assert_allclose(traced.contributions[place], parts, rtol=0, atol=1e-13)
        assert traced.logits[t].tolist() == logits.tolist()


def test_clusters_hold_everything():
    model = two_classes()
    traced = trace(model, ["great film dull plot", "the film", ""])
    total = np.array([traced.clusters()[traced.place(t)].sum() for t in range(3)])
    np.testing.assert_allclose(model.bias[0] + total, traced.logits[:, 0], rtol=0, atol=1e-12)
    ex = explain(model, "great film dull plot")
    mine = {model.vocabulary.terms[i]: c for i, c in zip(traced.bags.ids[:4], traced.clusters()[:4, 0], strict=True)}
    assert {a.word: a.contribution for a in ex.leaders} == pytest.approx({w: c for w, c in mine.items() if c})


def test_no_texts_give_no_traces():
    assert len(trace(two_classes(), [])) == 0


def test_the_number_of_texts_changes_no_bit():
    from hardmax.sentiment.estimator import HardmaxClassifier

    texts, labels = reviews(200, seed=3)
    model = HardmaxClassifier(epochs=1, batch_size=32).fit(texts, labels).model_
    whole = trace(model, texts * 30)
    part = trace(model, texts[:7])
    assert np.array_equal(whole.logits[:7], part.logits)
    assert np.array_equal(whole.contributions[: part.bags.ids.size], part.contributions)
