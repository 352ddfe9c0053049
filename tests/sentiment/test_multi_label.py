"""Texts with any number of labels: a column of y for each."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from hardmax.cli.start import run
from hardmax.errors import BadInput
from hardmax.sentiment.columns import as_indicator
from hardmax.sentiment.estimator import HardmaxClassifier, load
from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_classifier
from hardmax.text.datasets import LabelColumns, read, read_batches
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
    table = clf.explain_many([text, "train"], label=1, most=1, as_="dict")
    assert table["label"] == [clf.explain(some, label=1).label for some in (text, "train")]
    assert table["word"][1] == "train"
    with pytest.raises(BadInput, match="'cheese' is not a label"):
        clf.explain(text, label="cheese")
    with pytest.raises(BadInput, match="'cheese' is not a label"):
        clf.explain_many([text], label="cheese")


def test_a_model_that_gives_one_label_explains_no_other():
    with pytest.raises(BadInput, match=r"one label\n  found: \(.*\n  fix:   leave out label"):
        load("imdb-words").explain("a dull film", label="positive")


def test_a_saved_model_keeps_its_labels_and_what_needs_one_label_refuses_it(clf, tmp_path):
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


def test_only_a_text_is_explained(clf):
    with pytest.raises(BadInput, match="not a string"):
        clf.explain(None)


@pytest.mark.parametrize("wanted", [Y[:, 0], Y[:, :2], Y[:4]])
def test_a_score_needs_every_label_of_every_text(clf, wanted):
    with pytest.raises(BadInput, match=r"need 3 columns|texts but 4 rows"):
        clf.score(TEXTS, wanted)
    assert clf.score(TEXTS, csr_matrix(Y)) == clf.score(TEXTS, Y)


def test_a_label_that_is_there_twice_is_refused():
    with pytest.raises(BadInput, match="names the label 'a' twice"):
        as_indicator(pd.DataFrame([[1, 0, 1]], columns=["a", "b", "a"]), 1)


def test_what_needs_one_label_refuses_several():
    with pytest.raises(BadInput, match="class_weight"):
        HardmaxClassifier(class_weight="balanced").fit(TEXTS, Y)


def command(capsys, *arguments, code=0):
    """What a command prints, and its errors; it exits with this code."""
    with pytest.raises(SystemExit) as left:
        run([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert left.value.code == code, printed.err
    return printed.out, printed.err


@pytest.fixture
def table(tmp_path):
    """A .csv file with a column for each of three labels, spelled in several ways."""
    spelled = {0: ("0", "false", "0.0"), 1: ("1", "True", "1.0")}
    rows = [
        ",".join([text, *(spelled[int(v)][k] for k, v in enumerate(row))]) for text, row in zip(TEXTS, Y, strict=True)
    ]
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(["text,fruit,rail,chess", *rows]) + "\n", encoding="utf-8")
    return path


LABELS = ("--label", "fruit", "--label", "rail", "--label", "chess")


def test_commands_train_evaluate_predict_and_explain_several_labels(table, tmp_path, capsys):
    model = tmp_path / "model"
    out, _ = command(capsys, "train", table, *LABELS, "-o", model, "--json", "--layers", 0)
    trained = json.loads(out)
    assert trained["classes"] == ["fruit", "rail", "chess"]
    assert trained["n"] + trained["n_validation"] == 300
    assert trained["n_validation"] == 30
    clf = load(model)

    out, _ = command(capsys, "evaluate", model, table, "--json")
    found = json.loads(out)
    assert found["accuracy"] == clf.score(TEXTS, Y)
    predicted = clf.predict(TEXTS)
    for k, name in enumerate(trained["classes"]):
        both = (predicted[:, k] & Y[:, k]).sum()
        assert found["labels"][name] == {
            "n": Y[:, k].sum(), "recall": both / Y[:, k].sum(), "precision": both / predicted[:, k].sum()
        }  # fmt: skip
    p = clf.predict_proba(TEXTS)
    assert found["loss"] == pytest.approx(-np.log(np.where(Y == 1, p, 1 - p)).mean())
    out, _ = command(capsys, "evaluate", model, table)
    assert "texts have exactly the right labels" in out
    assert "  rail: " in out

    out, _ = command(capsys, "predict", model, table, "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert [[int(name in record["labels"]) for name in trained["classes"]] for record in records] == predicted.tolist()
    assert [list(record["probabilities"].values()) for record in records] == p.tolist()
    command(capsys, "predict", model, table, "-o", tmp_path / "out.csv", "--with-text", "-q")
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [[int(row[f"label_{name}"]) for name in trained["classes"]] for row in rows] == predicted.tolist()
    assert [float(row["probability_rail"]) for row in rows] == p[:, 1].tolist()
    assert [row["text"] for row in rows] == TEXTS
    parquet = pytest.importorskip("pyarrow.parquet")
    command(capsys, "predict", model, table, "-o", tmp_path / "parts", "-q")
    stored = parquet.read_table(tmp_path / "parts" / "part-000000.parquet").to_pydict()
    assert stored["label_chess"] == predicted[:, 2].tolist()

    for arguments, label in (((), "chess"), (("--label", "fruit"), "not fruit")):
        out, _ = command(capsys, "explain", model, "--text", "pawn w1 rook", *arguments, "--json")
        assert json.loads(out)["label"] == label
    out, _ = command(capsys, "explain", model, table, "--label", "rail", "--json")
    assert {json.loads(line)["label"] for line in out.splitlines()} == {"rail", "not rail"}


def test_what_a_command_cannot_do_with_several_labels_is_said(table, tmp_path, capsys):
    model, other = tmp_path / "model", tmp_path / "other.csv"
    other.write_text("text,Fruits\napple,1\n")
    HardmaxClassifier(layers=0).fit(TEXTS, LabelColumns(("fruit", "rail", "chess"), Y)).save(model)
    for arguments, message in (
        (("train", table, "--label", "fruit", "--label", "trail", "-o", tmp_path / "x"), "did you mean 'rail'?"),
        (("train", table, "--label", "fruit", "--label", "fruit", "-o", tmp_path / "x"), "twice"),
        (("train", "imdb", *LABELS, "-o", tmp_path / "x"), "one label per text"),
        (("train", table, *LABELS, "--balanced", "-o", tmp_path / "x"), "class_weight"),
        (("evaluate", model, table, "--faithfulness"), "one label per text"),
        (("evaluate", model, table, "--label", "fruit"), "fruit, rail, chess"),
        (("evaluate", model, other), "every label needs a column of 0 and 1 with its name; did you mean 'Fruits'?"),
        (("predict", model, table, "--explain"), "one label per text"),
        (("explain", model, table), "--label"),
        (("explain", model, "--text", "apple", "--label", "cheese"), "'cheese' is not a label"),
        (("explain", "imdb-words", "--text", "apple", "--label", "positive"), "one label"),
    ):
        _, said = command(capsys, *arguments, code=3)
        assert message in said, said


def test_a_cell_that_is_not_0_or_1_is_a_bad_row(tmp_path, capsys):
    path = tmp_path / "notes.csv"
    path.write_text("text,a,b\nfine,1,0\ndull,2,0\nbad,,1\ngood,0,1\n", encoding="utf-8")
    found = read(path, label=["a", "b"])
    assert found.labels.tolist() == [[1, 0], [0, 1]]
    assert [(row.line, row.why) for row in found.bad] == [(3, "a is not 0 or 1"), (4, "a is not 0 or 1")]
    parts = list(read_batches(path, label=["a", "b"], size=2))
    assert [part.labels.tolist() for part in parts] == [[[1, 0]], [[0, 1]]]
