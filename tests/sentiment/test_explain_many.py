"""Many explanations at once say the same as one by one."""

import numpy as np
import pytest

from hardmax.errors import BadInput
from hardmax.jit.ways import COMPILED, PLAIN, forced
from hardmax.sentiment import explain_many as module
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.sentiment.explain import explain
from hardmax.sentiment.explain_many import COLUMNS, explain_many, rows
from tiny_models import HOSTILE, random_model, three_classes, two_classes

TEXTS = ["The plot is dull, but the film is not dull: great!", "", "zxq", *HOSTILE.values(), "great film " * 30]


@pytest.mark.parametrize("most", [0, -1, 1.5])
def test_a_number_of_words_below_one_is_refused(most):
    with pytest.raises(BadInput, match="most must be an integer of at least 1"):
        explain_many(two_classes(), ["great"], most=most)


@pytest.mark.parametrize("way", [PLAIN, COMPILED])
@pytest.mark.parametrize("model", [two_classes(), two_classes(layers=0), three_classes()], ids=["2", "0", "3"])
def test_every_row_is_that_of_the_explanation(model, way):
    with forced(way):
        found = list(rows(model, TEXTS, 3))
    assert len(found) == len(TEXTS)
    for text, row in zip(TEXTS, found, strict=True):
        ex = explain(model, text)
        assert (row["label"], row["coverage"]) == (ex.label, ex.coverage)
        assert row["probability"] == pytest.approx(ex.probability, abs=1e-12)
        expected = [(w.word, w.leader if model.layers else None) for w in ex.largest(3)]
        assert [(w["word"], w.get("leader")) for w in row["words"]] == expected
        for mine, theirs in zip(row["words"], ex.largest(3), strict=True):
            assert mine["effect"] == pytest.approx(theirs.effect, abs=1e-9)
            assert mine["contribution"] == pytest.approx(theirs.contribution, abs=1e-9)


def test_the_size_of_a_portion_changes_nothing(monkeypatch):
    model = random_model()
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 60, 20)) for _ in range(9)]
    whole = explain_many(model, texts, as_="dict")
    monkeypatch.setattr(module, "AT_ONCE", 2)
    monkeypatch.setattr(module, "CHARACTERS", 90)
    assert explain_many(model, texts, as_="dict") == whole
    assert sorted(set(whole["text"])) == list(range(9))


@pytest.mark.parametrize("as_", ["pandas", "polars", "arrow", None])
def test_the_table_is_what_was_asked_for(as_):
    clf = HardmaxClassifier.from_model(two_classes())
    expected = clf.explain_many(TEXTS, as_="dict")
    table = clf.explain_many(TEXTS, as_=as_)
    assert type(table).__module__.split(".")[0] == {"arrow": "pyarrow", None: "pandas"}.get(as_, as_)
    columns = table.column_names if as_ == "arrow" else list(table.columns)
    assert tuple(columns) == COLUMNS
    words = table["word"].to_pylist() if as_ == "arrow" else list(table["word"])
    assert words == expected["word"]


def test_without_attention_the_table_names_no_leaders():
    clf = HardmaxClassifier.from_model(two_classes(layers=0))
    table = clf.explain_many(TEXTS, as_="dict")
    assert tuple(table) == COLUMNS[:-1]
    assert table["word"]
    assert len({len(column) for column in table.values()}) == 1


def test_another_kind_of_table_is_refused():
    with pytest.raises(BadInput, match="as_ is 'excel'"):
        explain_many(two_classes(), ["great"], as_="excel")


def test_no_texts_give_an_empty_table():
    assert explain_many(two_classes(), [], as_="dict") == {name: [] for name in COLUMNS}
