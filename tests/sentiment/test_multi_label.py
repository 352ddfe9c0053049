"""Texts with any number of labels: a column of y for each."""

import numpy as np
import pytest

from hardmax.cli.start import run
from hardmax.errors import BadInput
from hardmax.sentiment.estimator import HardmaxClassifier, load
from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_classifier
from hardmax.web.model_app import create_model_app

RNG = np.random.default_rng(0)
WORDS = (["apple", "pear", "plum"], ["train", "rail", "station"], ["chess", "rook", "pawn"])


def made(count):
    """Texts that hold words of each of three subjects or not, and which."""
    Y = RNG.integers(0, 2, (count, 3))
    texts = []
    for row in Y:
        words = [str(RNG.choice(WORDS[k])) for k in np.flatnonzero(row)] + [f"w{i}" for i in RNG.integers(0, 9, 4)]
        texts.append(" ".join(RNG.permutation(words)))
    return texts, Y


TEXTS, Y = made(300)
MORE, Z = made(100)


@pytest.fixture(scope="module", params=[0, 2])
def clf(request):
    return HardmaxClassifier(layers=request.param, ngram_range=(1, 1), epochs=5).fit(TEXTS, Y)


def test_every_label_is_predicted_by_itself(clf):
    predicted, p = clf.predict(MORE), clf.predict_proba(MORE)
    assert predicted.shape == p.shape == (100, 3)
    assert (predicted == Z).mean() > 0.9
    assert ((p > 0.5) == predicted).all()
    assert clf.predict(["zxqw"]).shape == (1, 3)
    assert clf.score(MORE, Z) == (predicted == Z).all(axis=1).mean()


def test_a_label_without_its_words_has_its_frequency(clf):
    np.testing.assert_allclose(clf.predict_proba(["zxqw"])[0], Y.mean(axis=0), atol=0.02)


def test_each_label_has_its_own_explanation(clf):
    text = "apple w1 rook"
    for label, word in ((0, "apple"), (2, "rook")):
        ex = clf.explain(text, label=label)
        assert ex.label == str(label)
        assert max(ex.terms, key=lambda t: t.contribution).term == word
        assert ex.bias + sum(t.contribution for t in ex.terms) == pytest.approx(ex.logit, abs=1e-9)
        assert ex.probability == pytest.approx(clf.predict_proba([text])[0, label], abs=1e-12)
    assert clf.explain("train", label=0).label == "not 0"
    assert clf.explain("train").label == "1"
    with pytest.raises(BadInput, match="'cheese' is not a label"):
        clf.explain(text, label="cheese")


def test_a_model_that_gives_one_label_explains_no_other():
    with pytest.raises(BadInput, match=r"one label\n  found: \(.*\n  fix:   leave out label"):
        load("imdb-words").explain("a dull film", label="positive")


def test_a_saved_model_keeps_its_labels_and_commands_for_one_label_refuse_it(clf, tmp_path, capsys):
    again = load(clf.save(tmp_path / "model"))
    assert again == clf
    assert (again.predict_proba(MORE) == clf.predict_proba(MORE)).all()
    assert again.model_.predict(["apple pawn", "zxqw"])[0] == (0, 2)
    with pytest.raises(BadInput, match="can give a text several labels"):
        load_classifier(tmp_path / "model")
    for refused in (
        lambda: explain(again.model_, "apple rook"),
        lambda: again.explain_many(["apple rook"]),
        lambda: again.leaders(["apple rook"]),
        lambda: again.drift(["apple"], ["rook"]),
        lambda: create_model_app(str(tmp_path / "model")),
    ):
        with pytest.raises(BadInput, match="one label per text"):
            refused()
    with pytest.raises(SystemExit, match="3"):
        run(["explain", str(tmp_path / "model"), "--text", "apple rook"])
    assert "several labels" in capsys.readouterr().err
    with pytest.raises(BadInput, match="use fit"):
        again.partial_fit(TEXTS, Y[:, 0])
    with pytest.raises(BadInput, match="abstain_below"):
        again.predict(MORE, abstain_below=0.5)


def test_two_labels_and_names_of_columns():
    pandas = pytest.importorskip("pandas")
    clf = HardmaxClassifier(layers=0).fit(TEXTS, pandas.DataFrame(Y[:, :2], columns=["fruit", "rail"]))
    assert clf.classes_.tolist() == ["fruit", "rail"]
    both, *fruits = clf.predict_proba(["apple station", *WORDS[0]])
    assert (both > 0.9).all()
    fruit, rail = np.array(fruits).T
    assert (fruit > 0.9).all()
    assert rail.mean() == pytest.approx(Y[Y[:, 0] == 1, 1].mean(), abs=0.03)  # as often as beside other fruits
    assert clf.model_.scores.shape[0] == 2


@pytest.mark.parametrize(("y", "match"), [(2 * Y, "0 or 1"), (Y[:5], "300 texts but 5 rows")])
def test_wrong_indicators_are_refused(y, match):
    with pytest.raises(BadInput, match=match):
        HardmaxClassifier().fit(TEXTS, y)


def test_what_needs_one_label_refuses_several():
    with pytest.raises(BadInput, match="class_weight"):
        HardmaxClassifier(class_weight="balanced").fit(TEXTS, Y)
