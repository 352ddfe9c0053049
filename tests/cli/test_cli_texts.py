"""The commands on texts as a person uses them: train, evaluate, predict, explain, data."""

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyarrow import parquet

from corpus import reviews
from hardmax.io.progress import Pace
from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_model
from hardmax.sentiment.model import probabilities
from in_process import hardmax
from tiny_models import HOSTILE, two_classes

TEXTS, LABELS = reviews(300, seed=5)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return two_classes().save(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    rows = "".join(f'{label},{i},"{text}"\n' for i, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)))
    path.write_text("sentiment,id,review\n" + rows)
    return path


# ---------------------------------------------------------------- explain


def test_a_text_and_a_file_are_one_too_many(cli, table):
    code, _, err = cli("explain", "--text", "good", table)
    assert code == 3
    assert "reviews.csv is a file, but there is also --text" in err


def test_a_network_is_not_a_model(cli, tmp_path):
    data, net = tmp_path / "data.jsonl", tmp_path / "net"
    data.write_text('{"tokens": [[0, 1]], "label": 1}\n{"tokens": [[1, 1]], "label": 2}\n')
    assert cli("construct", data, "-o", net)[0] == 0
    code, _, err = cli("explain", net, "--text", "good")
    assert code == 3
    assert "fix:   give a text classifier, as hardmax train writes it" in err
    code, _, err = cli("check", tmp_path / "nothing", data)
    assert code == 3
    assert "fix:   give a network, as hardmax construct writes it" in err


def test_the_text_column_is_not_suggested_as_label(cli, trained, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,stars\ngood,1\n")
    assert "fix:   --label stars" in cli("evaluate", trained[0], path)[2]


def test_explain_prints_what_python_gives(cli, model):
    ex = explain(load_model(model), "A great film, never dull.")
    code, out, err = cli("explain", model, "--text", ex.text, "--json")
    assert (code, out, err) == (0, ex.to_json(), "")
    assert cli("explain", model, "--text", ex.text) == (0, ex.to_text(), "")
    assert cli("explain", model, "--text", ex.text, "--color")[1] == ex.to_text(color=True)


def test_explain_reads_files_and_standard_input(cli, model, tmp_path):
    path = tmp_path / "review.txt"
    path.write_bytes("great café".encode())
    expected = explain(load_model(model), "great café").to_json()
    assert cli("explain", model, path, "--json")[1] == expected
    assert cli("explain", model, "-", "--json", stdin="great café".encode())[1] == expected
    path.write_bytes("great café".encode("latin-1"))
    code, out, err = cli("explain", model, path, "--json")
    assert (code, out) == (3, "")
    assert "review.txt is not UTF-8" in err
    assert "iconv -f" in err


@pytest.mark.parametrize("suffix", [".html", ".png", ".gif", ".json"])
def test_explain_writes_files(cli, model, tmp_path, suffix):
    path = tmp_path / f"why{suffix}"
    code, _, err = cli("explain", model, "--text", "great film", "-o", path)
    assert (code, err) == (0, f"wrote {path}\n")
    assert path.stat().st_size > 100
    code, _, err = cli("explain", model, "--text", "great film", "-o", path)
    assert code == 3
    assert "--force" in err


def test_explain_answers_what_if(cli, model):
    ex = explain(load_model(model), "a dull dull film")
    assert cli("explain", model, "--text", ex.text, "--without", "dull", "--json")[1] == ex.without("dull").to_json()
    changed = cli("explain", model, "--text", ex.text, "--replace", "dull=fine", "--json")[1]
    assert changed == ex.replace("dull", "fine").to_json()
    code, _, err = cli("explain", model, "--text", "great", "--without", "dull")
    assert (code, "'dull' does not occur" in err) == (3, True)
    assert cli("explain", model, "--text", "great", "--replace", "dull")[0] == 3


@pytest.mark.parametrize("name", [n for n in HOSTILE if n != "nul"])
def test_explain_survives_hostile_text(cli, model, name):
    assert cli("explain", model, "--text", HOSTILE[name])[0] == 0
    assert json.loads(cli("explain", model, "--text", HOSTILE[name], "--json")[1])["text"] == HOSTILE[name]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["explain", "MODEL"], 3, "is a model"),
        (["explain", "imdb"], 3, "imdb is a model"),
        (["explain"], 2, "FILE"),
        (["explain", "a", "b", "c"], 2, "FILE"),
        (["explain", "MODEL", "nowhere.txt"], 3, "cannot be read"),
        (["explain", "no-such-model", "--text", "x"], 3, "there is no model 'no-such-model'"),
        (["evaluate", "MODEL", "nowhere.csv"], 3, "there is no data set"),
        (["evaluate", "MODEL", "TABLE", "--min-accuracy", "7"], 3, "--min-accuracy"),
        (["evaluate", "MODEL", "TABLE", "--label", "stars"], 3, "found: 'sentiment', 'id', 'review'"),
        (["evaluate", "MODEL", "TABLE", "--split", "all of it"], 2, "'all of it' is not one of 'train', 'test', 'all'"),
        (["predict", "MODEL", "TABLE", "--text-column", "body"], 3, "no column 'body'"),
        (["predict", "MODEL", "TABLE", "-o", "x.docx"], 3, ".jsonl, .csv or .parquet"),
        (["predict", "MODEL", "nowhere.txt"], 3, "there is no file"),
        (["predict", "MODEL", "TABLE", "--abstain-below", "60"], 3, "--abstain-below"),
        (["evaluate", "MODEL", "TABLE", "--report", "r.pdf"], 3, ".html or .json"),
        (["evaluate", "MODEL", "TABLE", "--train", "TABLE"], 3, "--report"),
        (["predict", "MODEL", "TABLE", "--engine", "spark"], 2, "'spark' is not one of 'local', 'ray'"),
        (["train", "TABLE", "-o", "nowhere/m"], 3, "does not exist"),
        (["train", "TABLE", "-o", "m", "--method", "magic"], 2, "'magic' is not one of 'hardmax', 'softmax'"),
        (["train", "TABLE", "-o", "m", "--validation", "1"], 3, "--validation"),
        (["train", "TABLE", "-o", "m", "--holdout", "films"], 2, "'films' is not one of 'blocks', 'random'"),
        (["data", "fetch", "moon"], 3, "there is no data set 'moon'"),
        (["data", "show", "nowhere.csv"], 3, "there is no data set"),
    ],
)
def test_mistakes_get_one_clear_error(cli, model, table, tmp_path, monkeypatch, words, code, says):
    monkeypatch.chdir(tmp_path)
    found, out, err = cli(*({"MODEL": model, "TABLE": table}.get(w, w) for w in words))
    assert (found, out) == (code, "")
    assert says in err
    assert "Traceback" not in err


# ---------------------------------------------------------------- predict


def test_predict_labels_lines_in_order(cli, model):
    stdin = b"great film\n\ndull plot\nno word known\n"
    code, out, _ = cli("predict", model, "-", "--json", stdin=stdin)
    found = [json.loads(line) for line in out.splitlines()]
    loaded = load_model(model)
    texts = ["great film", "", "dull plot", "no word known"]
    assert code == 0
    assert [row["label"] for row in found] == loaded.predict(texts)
    assert [row["probability"] for row in found] == probabilities(loaded.logits(texts)).max(axis=1).tolist()
    assert [row["id"] for row in found] == [1, 2, 3, 4]


def test_predict_keeps_ids_and_names_bad_rows(cli, model, tmp_path):
    errors = tmp_path / "bad.jsonl"
    stdin = b'{"id": "a", "text": "great"}\n{"id": "b"}\nnot json\n{"text": "dull", "id": 7}\n'
    code, out, err = cli("predict", model, "-", "--errors", errors, "--json", stdin=stdin)
    assert code == 7
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["a", 7]
    assert [json.loads(line)["line"] for line in errors.read_text().splitlines()] == [2, 3]
    code, out, err = cli("predict", model, "-", stdin=stdin)
    assert (code, len(out.splitlines())) == (7, 2)
    assert "2 bad rows left out (line 2: " in err


FILES = {  # the second text has two lines where that can be, a blank line follows, and the third row is a bad one
    ".csv": b'text\ngreat\n"dull\nplot"\n\none,more\ngreat\ndull\n',
    ".tsv": b'text\ngreat\n"dull\nplot"\n\none\tmore\ngreat\ndull\n',
    ".jsonl": b'{"text": "great"}\n{"text": "dull\\nplot"}\n\n5\n{"text": "great"}\n{"text": "dull"}\n',
    ".txt": "great caf\u00e9\ndull plot\n".encode() + b"\xff\ngreat\ndull\n",
}


@pytest.mark.parametrize(
    ("command", "suffix"),
    [(c, s) for c in ("predict", "explain") for s in (*FILES, ".parquet") if (c, s) != ("explain", ".txt")],
)
def test_a_row_without_an_id_is_named_by_its_number_in_every_format(cli, model, tmp_path, command, suffix):
    source = tmp_path / f"texts{suffix}"
    if suffix == ".parquet":
        parquet.write_table(pa.table({"text": ["great", "dull\nplot", None, "great", "dull"]}), source)
    else:
        source.write_bytes(FILES[suffix])
    code, out, _ = cli(command, model, source, "--json")
    assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (7, [1, 2, 4, 5])
    for to in (".jsonl", ".csv", ".parquet"):
        assert cli(command, model, source, "-o", tmp_path / f"out{to}")[0] == 7
    read = pandas.read_json(tmp_path / "out.jsonl", lines=True), pandas.read_csv(tmp_path / "out.csv")
    for found in (*read, pandas.read_parquet(tmp_path / "out.parquet")):
        assert found["id"].astype(int).drop_duplicates().tolist() == [1, 2, 4, 5]


def test_an_id_counts_even_if_the_first_json_object_has_none(cli, model, tmp_path):
    source = tmp_path / "texts.jsonl"
    source.write_text('{"text": "great"}\n{"text": "dull", "id": "x7"}\n{"text": "dull", "key": 0}\n')
    _, out, _ = cli("predict", model, source, "--json")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, "x7", 0]


def test_predict_writes_files(cli, model, table, tmp_path):
    for suffix in (".jsonl", ".csv"):
        path = tmp_path / f"labels{suffix}"
        code, out, err = cli("predict", model, table, "-o", path)
        assert (code, out) == (0, "")
        assert "300 texts" in err
        assert len(path.read_text().splitlines()) == 300 + (suffix == ".csv")
    assert json.loads((tmp_path / "labels.jsonl").read_text().splitlines()[3])["id"] == "3"


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_predict_writes_texts_and_all_probabilities(cli, model, table, tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("hardmax.scale.sources.BATCH", 64)
    path = tmp_path / f"labels{suffix}"
    options = "--probabilities", "--with-text", "--abstain-below", "0.6"
    assert cli("predict", model, table, "-o", path, *options)[0] == 0
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [r | {f"probability_{c}": p for c, p in r["probabilities"].items()} for r in rows]
    elif suffix == ".csv":
        with open(path, newline="") as file:
            rows = [row | {"label": row["label"] or None} for row in csv.DictReader(file)]
    else:
        rows = parquet.read_table(path).to_pylist()
    loaded = load_model(model)
    p = loaded.probabilities(TEXTS)
    assert [row["text"] for row in rows] == TEXTS
    assert [str(row["id"]) for row in rows] == [str(i) for i in range(300)]
    for k, name in enumerate(loaded.classes):
        assert [float(row[f"probability_{name}"]) for row in rows] == p[:, k].tolist()
    expected = [
        label if sure >= 0.6 else None for label, sure in zip(loaded.predict(TEXTS), p.max(axis=1), strict=True)
    ]
    assert [row["label"] for row in rows] == expected
    assert None in expected
    assert set(expected) - {None}


def test_predict_prints_texts_and_all_probabilities(cli, model):
    _, out, _ = cli("predict", model, "-", "--probabilities", "--abstain-below", "0.5", stdin=b"great film\nzzz\n")
    first, second = (line.split("\t") for line in out.splitlines())
    assert (first[0], first[-1], second[0]) == ("positive", "great film", "-")
    assert first[3].startswith("positive=0.")


def test_a_table_without_a_header_is_said_to_be_empty(cli, model, tmp_path):
    path = tmp_path / "nothing.csv"
    path.write_text("")
    code, out, err = cli("predict", model, path)
    assert (code, out) == (3, "")
    assert f"{path.name} is empty: it has no header" in err


def test_standard_input_without_texts_is_called_by_its_name(cli, model):
    code, out, err = cli("predict", model, "-", stdin=b"")
    assert (code, out) == (0, "")
    assert "standard input holds no texts" in err


@pytest.mark.parametrize("name", ["empty.jsonl", "empty.csv", "empty.txt"])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_file_without_texts_gets_a_clear_answer(cli, model, tmp_path, name, suffix):
    path = tmp_path / name
    path.write_text("text,id\n" if name.endswith(".csv") else "")
    to = tmp_path / f"out{suffix}"
    code, out, err = cli("predict", model, path, "-o", to)
    assert (code, out) == (0, "")
    assert f"{path} holds no texts" in err
    assert to.exists()
    if suffix == ".parquet":
        assert parquet.read_table(to).column_names == ["id", "label", "probability"]
    code, _, err = cli("evaluate", model, path)
    assert code == 3
    assert "Traceback" not in err


def test_the_number_of_texts_at_a_time_changes_no_bit(cli, model, table, tmp_path, monkeypatch):
    whole = cli("predict", model, table, "--json")[1]
    monkeypatch.setattr("hardmax.scale.sources.BATCH", 7)
    assert cli("predict", model, table, "--json")[1] == whole


def test_plain_text_files_hold_one_text_per_line(cli, model, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes(b'{"text": "great"}\ndull\n')
    _, out, _ = cli("predict", model, path)
    assert [line.split("\t")[0] for line in out.splitlines()] == ["positive", "negative"]
    path.write_bytes(b"great\ndull \xff\n")
    code, _, err = cli("predict", model, path)
    assert code == 3
    assert "not UTF-8" in err


def test_local_is_the_usual_engine(cli, model, table):
    assert cli("predict", model, table, "--json", "--engine", "local") == cli("predict", model, table, "--json")


def test_predict_replaces_a_file_as_a_whole_or_not_at_all(cli, model, tmp_path, monkeypatch):
    source, path = tmp_path / "texts.txt", tmp_path / "labels.jsonl"
    source.write_text("great\n")
    path.write_text("old")
    monkeypatch.setattr("hardmax.sentiment.model.SentimentModel.logits", lambda self, texts: 1 / 0)
    assert cli("predict", model, source, "-o", path, "--force")[0] == 1
    assert path.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["labels.jsonl", "texts.txt"]


def test_progress_tells_the_rate_and_the_time_left_of_each_stage(monkeypatch):
    now = 100.0
    monkeypatch.setattr("hardmax.io.progress.time.monotonic", lambda: now)
    pace = Pace()
    now = 170.0
    assert pace.at(5, 1000) == ("", "")  # the minute before was spent on compiling, say
    now = 180.0
    assert pace.at(20_000, 1_000_000) == ("2,000 per second", "8 min left")
    assert pace.at(20_000, None) == ("2,000 per second", "")
    now = 181.0
    assert pace.at(10, 40) == ("", "")  # the count fell: the next stage begins here
    now = 191.0
    assert pace.at(25, 40) == ("1.5 per second", "10 s left")


# ---------------------------------------------------------------- train and evaluate


def test_evaluate_writes_a_report_and_compares_texts(cli, model, table, tmp_path):
    page = tmp_path / "report.html"
    others = tmp_path / "others.csv"
    others.write_text("text\nzorglub is great\nzorglub is dull\n")
    code, out, _ = cli("evaluate", model, table, "--report", page, "--against", others)
    assert code == 0
    assert f"report: {page} (accuracy 0." in out
    assert re.search(r"TF-IDF \+ logistic regression: (0\.[89]|1\.0)", out)
    assert "the other texts differ by more than chance in " in out
    assert "more frequent there: zorglub" in out
    assert "Compared with other texts" in page.read_text()
    code, _, err = cli("evaluate", model, table, "--report", page)
    assert code == 3
    assert "--force" in err
    data = tmp_path / "report.json"
    document = json.loads(cli("evaluate", model, table, "--report", data, "--train", table, "--json")[1])
    assert document["report"]["comparison"][2]["how"] == "trained on the 300 training texts"
    stored = json.loads(data.read_text())
    assert stored["accuracy"] == document["accuracy"]
    assert stored["n"] == 300


@pytest.fixture(scope="session")
def trained(table, tmp_path_factory):
    where = tmp_path_factory.mktemp("trained") / "model"
    words = ["train", table, "-o", where, "--epochs", 2, "--batch-size", 32, "--json"]
    done = hardmax(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return where, json.loads(done.stdout)


def test_train_measures_small_classes_and_says_why_it_cannot(cli, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("text,label\n" + "".join(f"{t},{v}\n" for t, v in zip(TEXTS[:80], LABELS[:80], strict=True)))
    assert "on 8 held-out texts" in cli("train", path, "-o", tmp_path / "a")[1]
    path.write_text("text,label\ngood,p\nbad,n\n")
    out = cli("train", path, "-o", tmp_path / "b")[1]
    assert "accuracy: not measured: the classes have too few texts to hold out 0.1 of each" in out
    assert "accuracy: not measured: --validation is 0" in cli("train", path, "-o", tmp_path / "c", "--validation", 0)[1]


def test_train_warns_of_labels_that_look_like_ids(cli, tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("text,label\n" + "".join(f"{t},{i}\n" for i, t in enumerate(TEXTS[:40])))
    code, _, err = cli("train", path, "-o", tmp_path / "model")
    assert code == 0
    assert "warning: 40 texts have 40 labels: 0, 1, 2, ..." in err
    assert "--label" in err


def test_train_writes_a_model_and_its_figures(trained):
    where, document = trained
    loaded = load_model(where)
    assert document["schema"] == "hardmax.train/1"
    assert document["accuracy"] >= 0.8
    assert (document["n"], document["n_validation"]) == (270, 30)
    assert document["epochs"] == len(document["loss"]) >= 2
    assert document["parameters"] == loaded.parameters
    assert document["classes"] == ["neg", "pos"]
    assert not list(where.parent.glob(".*"))
    assert "30 of them held out" in (where / "README.md").read_text()


def test_evaluate_measures_what_python_measures(cli, trained, table):
    where, _ = trained
    code, out, err = cli("evaluate", where, table, "--json", "--faithfulness", "--sample", 5)
    document = json.loads(out)
    loaded = load_model(where)
    assert (code, err, document["schema"], document["n"]) == (0, "", "hardmax.evaluate/1", 300)
    assert document["accuracy"] == np.mean(np.array(loaded.predict(TEXTS)) == np.array(LABELS))
    own = loaded.probabilities(TEXTS)[np.arange(300), [loaded.classes.index(c) for c in LABELS]]
    assert document["loss"] == pytest.approx(-np.log(own).mean())
    heads = np.array([sum(a.since is not None for a in explain(loaded, t).leaders) for t in TEXTS])
    leaders = document["leaders"]
    assert (leaders["mean"], leaders["min"], leaders["max"]) == (heads.mean(), heads.min(), heads.max())
    assert 0 < leaders["initial_fraction"] <= 1
    assert document["texts_per_second"] > 0
    assert document["faithfulness"]["n"] == 5
    streamed = json.loads(cli("evaluate", where, table, "--json")[1])  # without keeping the texts
    for name in ("n", "accuracy", "leaders", "classes", "bad_rows"):
        assert streamed[name] == document[name]
    assert leaders["std"] == pytest.approx(heads.std())
    assert len(document["faithfulness"]["rows"]) == 5


@pytest.mark.parametrize(("dull", "great"), [("0", "1"), ("neg", "pos"), ("negative", "positive"), ("NEG", "Pos")])
def test_evaluate_reads_the_usual_spellings_of_two_classes(cli, model, tmp_path, dull, great):
    path = tmp_path / "some.csv"
    path.write_text(f"text,label\ndull plot,{dull}\ngreat film,{great}\ngreat,{dull}\n")
    document = json.loads(cli("evaluate", model, path, "--json")[1])
    assert document["accuracy"] == pytest.approx(2 / 3)
    assert document["classes"] == {"negative": {"n": 2, "recall": 0.5}, "positive": {"n": 1, "recall": 1.0}}


def test_evaluate_counts_leaders_only_where_there_is_attention(cli, model, tmp_path):
    (tmp_path / "some.csv").write_text("text,label\ndull plot,negative\ngreat film,positive\n")
    two_classes(layers=0).save(tmp_path / "plain")
    assert "leaders: " in cli("evaluate", model, tmp_path / "some.csv")[1]
    code, out, _ = cli("evaluate", tmp_path / "plain", tmp_path / "some.csv")
    assert code == 0
    assert "leaders" not in out


def test_labels_that_the_model_does_not_know_are_one_clear_error(cli, model, tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text("text,label\ndull plot,1 star\ngreat film,5 stars\n")
    code, out, err = cli("evaluate", model, path)
    assert (code, out) == (3, "")
    assert "1 star, 5 stars" in err
    assert "the model knows negative, positive" in err


@pytest.mark.slow
def test_the_softmax_method_writes_the_same_kind_of_model(cli, table, tmp_path, monkeypatch):
    where = tmp_path / "soft"
    words = ["train", table, "-o", where, "--method", "softmax", "--ngrams", 1, "--layers", 1, "--epochs", 2]
    words += ["--learning-rate", 0.05, "--batch-size", 32]
    from hardmax.sentiment import relaxation

    step = relaxation.Relaxed.learn
    monkeypatch.setattr(sys, "argv", ["hardmax", *map(str, words)])
    calls = []

    def stopped(self, *args):
        calls.append(1)
        if len(calls) == 12:  # nine batches an epoch
            raise KeyboardInterrupt
        return step(self, *args)

    monkeypatch.setattr(relaxation.Relaxed, "learn", stopped)
    code, out, err = cli(*words)
    assert (code, out) == (130, "")
    assert "its state is in" in err
    monkeypatch.setattr(relaxation.Relaxed, "learn", step)
    code, out, _ = cli(*words, "--resume", "--json")
    document = json.loads(out)
    assert (code, document["epochs"], len(document["loss"])) == (0, 2, 2)
    assert load_model(where).predict(["good great superb", "bad awful dull"]) == ["pos", "neg"]
    assert not list(tmp_path.glob(".*"))


def test_a_missed_accuracy_is_exit_code_6(cli, trained, table, tmp_path):
    assert cli("evaluate", trained[0], table, "--min-accuracy", "0.5")[0] == 0
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("label,text\nneg,good great superb\npos,good great superb\n")
    code, out, err = cli("evaluate", trained[0], wrong, "--min-accuracy", "0.6")
    assert (code, "accuracy: 0.5000" in out) == (6, True)
    assert "below --min-accuracy 0.6" in err


def test_bad_rows_are_exit_code_7_and_the_good_ones_count(cli, trained, table, tmp_path):
    path, errors = tmp_path / "some.csv", tmp_path / "bad.jsonl"
    path.write_text(table.read_text() + "pos,301\n,302,text without label\n")
    code, out, err = cli("evaluate", trained[0], path, "--errors", errors)
    assert (code, "on 300 texts" in out) == (7, True)
    assert "2 bad rows" in err
    assert len(errors.read_text().splitlines()) == 2


def test_training_twice_gives_the_same_bytes(cli, trained, table, tmp_path):
    cli("train", table, "-o", tmp_path / "again", "--epochs", 2, "--batch-size", 32, "--quiet")
    for name in ("model.safetensors", "vocabulary.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (trained[0] / name).read_bytes()


def test_an_interrupted_training_goes_on_to_the_same_bytes(cli, table, tmp_path, monkeypatch):
    from hardmax.sentiment import training

    settings = ["--layers", 2, "--epochs", 2, "--batch-size", 32]
    assert cli("train", table, "-o", tmp_path / "whole", *settings)[0] == 0
    words = ["train", table, "-o", tmp_path / "m", *settings]
    monkeypatch.setattr(sys, "argv", ["hardmax", *map(str, words)])
    batch = training.Trainer.batch

    def stopped(self, *args):
        if self.step == 12:  # after the first epoch of nine batches, which leaves a checkpoint
            raise KeyboardInterrupt
        return batch(self, *args)

    monkeypatch.setattr(training.Trainer, "batch", stopped)
    code, out, err = cli(*words)
    assert (code, out) == (130, "")
    assert f"resume: hardmax train {table}" in err
    assert err.rstrip().endswith("--resume")
    assert not (tmp_path / "m").exists()
    monkeypatch.setattr(training.Trainer, "batch", batch)
    (tmp_path / "..m.checkpoint.77.partial.npz").write_bytes(b"PK")  # what a kill in the middle of writing leaves
    assert cli(*words, "--resume")[0] == 0
    stored = (tmp_path / "m" / "model.safetensors").read_bytes()
    assert stored == (tmp_path / "whole" / "model.safetensors").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_labels_of_one_class_are_refused(cli, tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text('{"text": "a", "label": "pos"}\n' * 20)
    code, _, err = cli("train", path, "-o", tmp_path / "m")
    assert (code, "only one class in 20 texts" in err) == (3, True)


def test_progress_is_on_stderr_and_quiet_is_quiet(cli, table, tmp_path):
    code, out, err = cli("train", table, "-o", tmp_path / "a", "--epochs", 1)
    assert (code, "training on 270 texts" in err, "accuracy: " in out) == (0, True, True)
    code, _, err = cli("train", table, "-o", tmp_path / "b", "--epochs", 1, "--quiet", "--validation", 0)
    assert (code, err) == (0, "")


# ---------------------------------------------------------------- data


def test_data_show_takes_the_column_that_is_named(cli, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,label,stars\n" + "".join(f"good,{k},{k % 12}\n" for k in range(24)))
    code, out, err = cli("data", "show", path, "--label", "stars")
    assert (code, err) == (0, "")
    assert out.split("\n")[1:4] == ["  0: 2", "  1: 2", "  2: 2"]
    assert cli("data", "show", path, "--label", "stars", "--label", "stars")[0] == 3


def test_data_show_counts_each_of_several_labels(cli, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,new,urgent\na,1,0\nb,1,1\nc,0,0\n")
    document = json.loads(cli("data", "show", path, "--label", "urgent", "--label", "new", "--json")[1])
    assert document["classes"] == {"urgent": 1, "new": 2}


def test_data_show_counts(cli, table):
    document = json.loads(cli("data", "show", table, "--json")[1])
    assert (document["schema"], document["n"]) == ("hardmax.data/1", 300)
    assert document["classes"] == {"neg": 150, "pos": 150}
    assert "neg: 150" in cli("data", "show", table)[1]


def test_data_list_says_what_is_there(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("HARDMAX_DATA", str(tmp_path))
    assert "hardmax data fetch imdb" in cli("data", "list")[1]
    assert json.loads(cli("data", "list", "--json")[1])["fetched"]["imdb"]["there"] is False


# ---------------------------------------------------------------- starting up


def test_explaining_one_text_loads_no_compiler(model):
    script = (
        "import sys\nfrom hardmax.cli.main import run\n"
        f"try:\n    run(['explain', {str(model)!r}, '--text', 'great film', '--json'])\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & {"numba", "sklearn", "scipy", "torch", "matplotlib"}
