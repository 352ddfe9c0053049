"""What may be passed as texts, labels and weights, and what is refused with which words."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from hardmax.errors import BadInput
from hardmax.sentiment.columns import (
    as_classes,
    as_indicator,
    as_labels,
    as_texts,
    as_weights,
    check_size,
    class_weights,
)
from hardmax.sentiment.estimator import HardmaxClassifier

TWO = ["a", "b"]


@pytest.mark.parametrize(
    "column",
    [
        TWO,
        tuple(TWO),
        iter(TWO),
        (word for word in TWO),
        np.array(TWO),
        np.array(TWO, object),
        np.array([["a"], ["b"]], object),
        [b"a", b"b"],
        pd.Series(TWO),
        pd.Series(TWO, index=[7, 3]),
        pd.Series(TWO, dtype="category"),
        pd.DataFrame({"text": TWO}),
        pl.Series(TWO),
        pl.DataFrame({"text": TWO}),
        pa.array(TWO),
        pa.chunked_array([TWO]),
        pa.table({"text": TWO}),
        {"a": 1, "b": 2}.keys(),
    ],
    ids=lambda column: type(column).__module__.split(".")[0] + "." + type(column).__name__,
)
def test_texts_and_labels_come_from_any_column(column):
    texts = as_texts(column)
    assert texts == TWO
    assert all(isinstance(text, str) for text in texts)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_two_columns_is_refused_with_its_names_and_a_guess(table):
    with pytest.raises(BadInput, match=r"2 columns") as caught:
        as_texts(table({"id": [1, 2], "Review": TWO}))
    assert "id, Review" in str(caught.value)
    assert "X['Review']" in caught.value.fix


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("a text", "got one text"),
        (5, "must be a list"),
        ({"text": TWO}, "got a dict"),
        (set(TWO), "got a set, which has no order"),
        (np.ones((2, 3)), "3 columns"),
        (np.ones((2, 1)), "pass raw texts"),
        (csr_matrix((2, 5)), "sparse matrix"),
        (["a", None], "text 1 is not a string"),
        (pd.Series(["a", None]), "fill missing texts"),
        (["a", ["b"]], "text 1 is not a string"),
    ],
)
def test_what_is_not_a_column_of_texts_is_refused(given, what):
    with pytest.raises(BadInput, match=what):
        as_texts(given)


@pytest.mark.parametrize(
    "labels",
    [["b", "a"], ("b", "a"), np.array(["b", "a"]), pd.Series(["b", "a"]), pl.Series(["b", "a"]), pa.array(["b", "a"]),
     iter(["b", "a"]), pd.Series(["b", "a"], dtype="category"), np.array(["b", "a"], object),
     pa.chunked_array([["b", "a"]])],
)  # fmt: skip
def test_labels_come_from_any_column(labels):
    classes, numbers = as_classes(as_labels(labels, 2))
    assert classes.tolist() == ["a", "b"]
    assert numbers.tolist() == [1, 0]


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_labels_come_from_a_table(table):
    with pytest.warns(match="column-vector"):
        assert as_labels(table({"label": ["b", "a"]}), 2).tolist() == ["b", "a"]
    labels, indicator = as_indicator(table({"good": [1, 0], "long": [1, 1]}), 2)
    assert labels.tolist() == ["good", "long"]
    assert indicator.tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize(("labels", "kind"), [([1, 0], "i"), ([True, False], "b"), ([1.0, 0.0], "f")])
def test_whole_numbers_and_booleans_are_labels(labels, kind):
    assert as_labels(labels, 2).dtype.kind == kind


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (None, "y is None"),
        (["a"], "2 texts but 1 labels"),
        (["a", "b", "c"], "2 texts but 3 labels"),
        (["a", None], "label 1 is missing"),
        (["a", float("nan")], "label 1 is missing"),
        ([0.0, float("nan")], "label 1 is missing"),
        ([0.0, float("inf")], "label 1 is infinite"),
        (np.array([0.0, np.nan]), "label 1 is missing"),
        (pd.Series(["a", None]), "label 1 is missing"),
        (pd.Series([1, None], dtype="Int64"), "label 1 is missing"),
        (np.array(["2026-01-01", "NaT"], "datetime64[D]"), "label 1 is missing"),
        (pl.Series(["a", None]), "label 1 is missing"),
        (pa.array(["a", None]), "label 1 is missing"),
        ([0.5, 1.5], "Unknown label type: continuous"),
        (["a", 1], "1 string, 1 number"),
        (np.array(["a", 1], object), "mixed types"),
        ([["a"], ["b", "c"]], "label 0 is a list"),
        (np.ones((2, 3)), "shape"),
        ([date(2026, 1, 1), date(2026, 1, 2)], "label 0 is a date"),
        (np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"), "label 0 is a datetime64"),
        (pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"])), "label 0 is a datetime64"),
        ([b"a", b"b"], "label 0 is a bytes"),
    ],
)
def test_labels_with_gaps_or_of_no_class_are_refused(labels, what):
    with pytest.raises(BadInput, match=what):
        as_labels(labels, 2)


def test_one_class_and_one_text_are_refused_with_the_numbers():
    with pytest.raises(BadInput, match=r"only one class in 1 text\n") as caught:
        HardmaxClassifier().fit(["a text"], ["x"])
    assert caught.value.found == "['x']"
    with pytest.raises(BadInput, match="no text to learn from"):
        HardmaxClassifier().fit([], [])


def test_more_classes_than_can_be_learned_are_refused_before_anything_is_counted():
    texts = [f"word{i} and" for i in range(20_000)]
    with pytest.raises(BadInput, match=r"20,000 classes are too many: there may be up to 5,000"):
        HardmaxClassifier(ngram_range=(1, 1), min_df=1).fit(texts, np.arange(20_000))
    with pytest.raises(BadInput, match="1,000,000 classes"):
        check_size(1000, 1_000_000)
    with pytest.raises(BadInput, match="training needs about 64 GB"):
        check_size(1_000_000, 1000)
    check_size(100_000, 1000)


def test_weights_have_mean_one_and_bad_ones_are_refused():
    assert as_weights(None, 3).tolist() == [1, 1, 1]
    assert as_weights([0, 1, 1], 3).tolist() == [0, 1.5, 1.5]
    for bad in ([1, 2], [1, 2, -1], [0, 0, 0], [1, 2, np.nan]):
        with pytest.raises(BadInput, match="sample_weight"):
            as_weights(bad, 3)


def test_class_weights_are_those_of_scikit_learn():
    from sklearn.utils.class_weight import compute_sample_weight

    labels = np.array(["a", "b", "b", "c", "b"])
    classes, numbers = np.unique(labels, return_inverse=True)
    for wanted in ("balanced", {"a": 2.0, "b": 0.5, "c": 1.0}):
        np.testing.assert_allclose(
            class_weights(wanted, classes, numbers), compute_sample_weight(wanted, labels), rtol=1e-12
        )
    assert class_weights({"a": 3}, classes, numbers).tolist() == [3, 1, 1, 1, 1]
    with pytest.raises(BadInput, match="'bb', which is not a class"):
        class_weights({"bb": 2}, classes, numbers)
    for bad in ("heavy", {"a": -1}, {"a": "x"}, 3):
        with pytest.raises(BadInput, match="class_weight"):
            class_weights(bad, classes, numbers)
