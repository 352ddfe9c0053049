"""The report on labeled texts: its figures are scikit-learn's, its parts add up, and it says what it compares with."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import false_discovery_control, fisher_exact
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss, precision_recall_fscore_support

from corpus import reviews
from hardmax.errors import BadInput
from hardmax.sentiment.drift import Drift, by_chance, unknown_words
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.sentiment.report import known_words
from hardmax.sentiment.scoring import reliability, wilson

TEXTS, LABELS = reviews(240, seed=0)
MORE, MORE_LABELS = reviews(120, seed=1)


@pytest.fixture(scope="module")
def clf():
    return HardmaxClassifier(layers=2, ngram_range=(1, 1), warm_epochs=2, epochs=2, batch_size=32).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def report(clf):
    noisy = [v if i % 7 else {"pos": "neg", "neg": "pos"}[v] for i, v in enumerate(MORE_LABELS)]
    return noisy, clf.report(MORE, noisy, train=(TEXTS, LABELS), against=["Zorglub is new here"] * 5 + MORE[:20])


def test_its_figures_are_those_of_scikit_learn(clf, report):
    labels, r = report
    predicted, p = clf.predict(MORE), clf.predict_proba(MORE)
    assert r.n == 120
    assert np.isclose(r.accuracy, accuracy_score(labels, predicted))
    assert np.isclose(r.macro_f1, f1_score(labels, predicted, average="macro"))
    assert np.isclose(r.log_loss, log_loss(labels, p))
    assert r.confusion == confusion_matrix(labels, predicted).tolist()
    theirs = precision_recall_fscore_support(labels, predicted, labels=clf.classes_)
    for row, *expected in zip(r.by_class, *theirs, strict=True):
        assert np.allclose([row["precision"], row["recall"], row["f1"], row["n"]], expected)


def test_the_reliability_bins_hold_every_text(report):
    r = report[1]
    assert sum(b["n"] for b in r.reliability) == r.n
    assert all(b["low"] <= b["confidence"] <= b["high"] for b in r.reliability)
    assert np.isclose(sum(b["n"] * b["accuracy"] for b in r.reliability) / r.n, r.accuracy)
    assert np.isclose(sum(b["n"] * abs(b["accuracy"] - b["confidence"]) for b in r.reliability) / r.n,
                      r.calibration_error)  # fmt: skip


def test_errors_are_the_most_confident_ones_with_the_words_of_their_explanations(clf, report):
    labels, r = report
    sure = clf.predict_proba(MORE).max(axis=1)
    wrong = np.flatnonzero(clf.predict(MORE) != labels)
    assert [e["probability"] for e in r.errors] == sorted(sure[wrong], reverse=True)[: len(r.errors)]
    assert len(r.errors) == min(10, len(wrong))
    for error in r.errors:
        at = MORE.index(error["text"])
        assert (error["label"], error["predicted"]) == (labels[at], clf.predict([MORE[at]])[0])
        assert all(word in error["text"].lower() for word, _ in error["words"])
        assert error["words"]


def test_the_models_it_compares_with_are_trained_on_the_training_texts(report):
    rows = report[1].comparison
    assert [row["model"] for row in rows] == [
        "this model", "without attention (K = 0)", "TF-IDF + logistic regression",
    ]  # fmt: skip
    assert all("240 training texts" in row["how"] for row in rows[1:])
    assert all(0.7 < row["accuracy"] < 0.9 for row in rows)  # a seventh of the labels is wrong


def test_without_training_texts_the_regression_is_cross_validated(clf):
    r = clf.report(MORE, MORE_LABELS)
    assert "layers left out" in r.comparison[1]["how"]
    assert "3-fold cross-validation on 120" in r.comparison[2]["how"]
    assert r.comparison[2]["accuracy"] > 0.85
    assert len(clf.report(MORE, MORE_LABELS, baseline=False).comparison) == 1


def test_a_model_without_layers_and_one_class_in_the_texts():
    clf = HardmaxClassifier(layers=0, ngram_range=(1, 1)).fit(TEXTS, LABELS)
    r = clf.report(MORE[1::2][:9], MORE_LABELS[1::2][:9])
    assert r.leaders == {}
    assert [row["model"] for row in r.comparison] == ["this model", "TF-IDF + logistic regression"]
    assert r.by_class[0]["recall"] is None
    assert r.comparison[1]["accuracy"] == 1.0


def test_texts_from_which_no_regression_can_learn(clf):
    assert [row["model"] for row in clf.report(MORE[:1], MORE_LABELS[:1]).comparison][1:] == [
        "without attention (K = 0)"
    ]
    assert clf.report([""] * 6, ["pos"] * 4 + ["neg"] * 2).comparison[-1]["accuracy"] >= 1 / 3
    with pytest.raises(BadInput, match="two classes or more") as caught:
        clf.report(MORE, MORE_LABELS, train=(["good", "fine"], ["pos", "pos"]))
    assert caught.value.found == "pos"


@pytest.mark.parametrize("train", ["train.csv", (TEXTS,), TEXTS])
def test_training_texts_come_with_their_labels(clf, train):
    with pytest.raises(BadInput, match="train must be a pair"):
        clf.report(MORE, MORE_LABELS, train=train)


def test_a_class_that_is_only_predicted_counts_in_the_macro_f1(clf):
    r = clf.report(MORE, ["pos"] * len(MORE), baseline=False)
    assert np.isclose(r.macro_f1, f1_score(["pos"] * len(MORE), clf.predict(MORE), average="macro"))


def test_known_words_and_drift(clf, report):
    drift = report[1].drift
    assert drift.n == (120, 25)
    [*found] = drift.more[0].items()
    assert found[:-1] == [("word", "here"), ("before", 0.0), ("after", 0.2), ("known", False)]
    assert {row["word"] for row in drift.more[:3]} == {"here", "new", "zorglub"}
    assert drift.coverage[0] == 1.0 > drift.coverage[1]
    assert abs(sum(a for a, _ in drift.shares.values()) - 1) < 1e-12
    same = clf.drift(MORE, MORE)
    assert same.distance == 0.0
    assert same.more == same.fewer == []
    halves = [clf.drift([MORE[i] for i in order[:60]], [MORE[i] for i in order[60:]])
              for order in (np.random.default_rng(s).permutation(120) for s in range(30))]  # fmt: skip
    assert 0.5 < np.mean([d.distance for d in halves]) / halves[0].noise < 1.6  # what chance does
    assert unknown_words(clf.model_, "A qwertz film") == (["a", "qwertz", "film"], ["qwertz"])
    assert unknown_words(clf.model_, "") == ([], [])
    with pytest.raises(BadInput, match="both sides"):
        Drift.between(clf.model_, [], ["a"])


def test_unknown_words_in_as_many_texts_are_listed_as_they_appear(clf):
    strange = [f"zq{i}" for i in range(20)]
    assert known_words(clf.model_, [" ".join(strange)])["unknown"] == [[word, 1] for word in strange]


def test_two_halves_of_the_same_texts_do_not_drift(clf):
    alarms = []
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(240)
        for cut in (120, 230):  # ten texts on one side: a rare word there is no news
            parts = [[TEXTS[i] for i in part] for part in (order[:cut], order[cut:])]
            alarms.append(clf.drift(*parts).beyond_chance)
    assert sum(map(bool, alarms)) <= 4


def test_what_differs_by_more_than_chance_is_named(clf):
    positive = [text for text, label in zip(TEXTS, LABELS, strict=True) if label == "pos"]
    drift = clf.drift(TEXTS, positive)
    assert {"labels", "words"} <= set(drift.beyond_chance)
    assert drift.chance["labels"] == 0.001  # none of 999 random parts differs as much
    assert all(0 <= row["q"] <= 0.01 for row in (*drift.more, *drift.fewer))
    assert "length" in clf.drift(TEXTS, [f"{text} {text}" for text in TEXTS]).beyond_chance


def test_the_chance_of_a_word_is_that_of_fishers_exact_test():
    before, after = np.array([0, 3, 40, 7, 0]), np.array([4, 0, 10, 7, 1])
    for n in ((60, 60), (50, 12)):
        odds = [fisher_exact([[a, n[0] - a], [b, n[1] - b]], alternative)[1]
                for a, b in zip(before, after, strict=True) for alternative in ("less", "greater")]  # fmt: skip
        twice = np.minimum(1, 2 * np.array(odds).reshape(-1, 2).min(axis=1))
        assert np.allclose(by_chance(before, after, n), false_discovery_control(twice))


def test_it_is_saved_as_data_and_as_a_page(report, tmp_path):
    r = report[1]
    stored = json.loads(r.save(tmp_path / "r.json").read_text())
    assert stored["schema"] == "hardmax.report/1"
    assert stored["confusion"] == r.confusion
    page = r.save(tmp_path / "r.html").read_text()
    assert "Most confident errors" in page
    assert "<svg" in r._repr_html_()
    with pytest.raises(BadInput, match=r"cannot be saved as \.pdf"):
        r.save(tmp_path / "r.pdf")


def test_hostile_texts_and_labels_stay_text(tmp_path):
    evil = "<script>alert(1)</script>"
    clf = HardmaxClassifier(ngram_range=(1, 1)).fit([f"good {evil}", "bad"] * 9, [evil, "b&<i>"] * 9)
    r = clf.report(["bad good <b>", evil, "bad"], [evil, "b&<i>", "b&<i>"], against=[f"{evil} \ud800 \x00"])
    page = r.save(tmp_path / "r.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<i>" not in page.replace("b&amp;&lt;i&gt;", "")


def test_bad_input_is_one_clear_error(clf):
    with pytest.raises(BadInput, match="no text to report on"):
        clf.report([], [])
    with pytest.raises(BadInput, match="120 texts but 2 labels"):
        clf.report(MORE, ["pos", "neg"])
    with pytest.raises(BadInput, match="not classes of the model"):
        clf.report(["a"], ["other"])


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    for part in (0.5, 0.9, 0.99):
        drawn = rng.binomial(200, part, size=2000)
        held = np.mean([low <= part <= high for low, high in (wilson(int(k), 200) for k in drawn)])
        assert 0.92 < held <= 1
    assert wilson(5, 5)[1] == 1.0
    assert wilson(0, 5)[0] == 0.0


def test_probabilities_of_one_are_in_the_last_bin():
    assert reliability(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 0])) == [
        {"low": 0.9, "high": 1.0, "n": 2, "confidence": 1.0, "accuracy": 0.5}
    ]


def test_equal_reports_are_equal(clf):
    r = clf.report(MORE, MORE_LABELS, baseline=False)
    assert r == clf.report(MORE, MORE_LABELS, baseline=False)
    assert r != replace(r, n=1)


def test_several_labels_per_text_are_refused():
    both = HardmaxClassifier(layers=0).fit(TEXTS, [[label == "pos", len(text) % 2] for text, label in zip(
        TEXTS, LABELS, strict=True)])  # fmt: skip
    with pytest.raises(BadInput, match="one label per text"):
        both.report(TEXTS, LABELS)
    with pytest.raises(BadInput, match="one label per text"):
        both.drift(TEXTS, MORE)
