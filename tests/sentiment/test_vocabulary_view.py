"""Global views: the words of a model, and who leads in a collection."""

import pytest

from hardmax.errors import BadInput
from hardmax.sentiment.explain import explain
from hardmax.sentiment.vocabulary_view import leaders, words
from tiny_models import three_classes, two_classes

TEXTS = ["great film", "great plot", "dull film", "dull dull plot", "not dull", ""]


def test_words_come_strongest_first():
    found = words(two_classes())
    assert [w["term"] for w in found][:3] == ["great", "dull", "not dull"]
    assert found[0]["score"] == pytest.approx(7.2, abs=1e-6)
    assert found[0]["radius"] == pytest.approx((0.81 + 0.25) ** 0.5, abs=1e-6)
    assert len(words(two_classes(), 2)) == 2
    assert set(words(three_classes())[0]["score"]) == {"a", "b", "c"}


@pytest.mark.parametrize("model", [two_classes(), three_classes()], ids=["2", "3"])
def test_leaders_are_counted_by_predicted_class(model):
    found = leaders(model, TEXTS)
    expected = {c: {} for c in model.classes}
    for text in TEXTS:
        ex = explain(model, text)
        for leader in ex.leaders:
            expected[ex.label].setdefault(leader.word, []).append(leader.contribution)
    for label, rows in found.items():
        assert {r["word"]: r["texts"] for r in rows} == {w: len(c) for w, c in expected[label].items()}
        for row in rows:
            mine = expected[label][row["word"]]
            assert row["contribution"] == pytest.approx(sum(mine) / len(mine), abs=1e-9)
        assert [r["texts"] for r in rows] == sorted((r["texts"] for r in rows), reverse=True)


def test_only_right_or_confident_texts_count():
    model = two_classes()
    labels = [explain(model, text).label for text in TEXTS]
    wrong = ["negative"] * len(TEXTS)
    assert leaders(model, TEXTS, labels) == leaders(model, TEXTS)
    assert leaders(model, TEXTS, wrong)["positive"] == []
    assert leaders(model, TEXTS, ["pos" if label == "positive" else "neg" for label in labels]) == leaders(model, TEXTS)
    for strange, what in ((labels[:1], "texts but 1 labels"), (["good"] * len(TEXTS), "not classes of the model")):
        with pytest.raises(BadInput, match=what):
            leaders(model, TEXTS, strange)
    with pytest.raises(BadInput, match="most is -1"):
        leaders(model, TEXTS, most=-1)
    with pytest.raises(BadInput, match="most is '3'"):
        words(model, "3")
    assert leaders(model, TEXTS, confident=1.1) == {"negative": [], "positive": []}
    assert leaders(model, []) == {"negative": [], "positive": []}
