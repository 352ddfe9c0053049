"""`hardmax explain TABLE` explains every row, as one explanation at a time would."""

import csv
import json

import pytest
from pyarrow import parquet

from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_model
from tiny_models import two_classes

ROWS = [("a", "great film, never dull"), ("b", "dull plot"), ("c", "zxq"), ("d", "The FILM is great!")]


@pytest.fixture
def model(tmp_path):
    return two_classes().save(tmp_path / "model")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("id,text\n" + "".join(f'{name},"{text}"\n' for name, text in ROWS))
    return path


def expected(model, most=10):
    loaded = load_model(model)
    return {name: explain(loaded, text).largest(most) for name, text in ROWS}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_words_is_written(cli, model, table, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    code, out, err = cli("explain", model, table, "-o", path, "--most", 2)
    assert (code, out) == (0, "")
    assert "4 texts" in err
    found = (
        list(csv.DictReader(path.read_text().splitlines()))
        if suffix == ".csv"
        else parquet.read_table(path).to_pylist()
    )
    wanted = [(name, str(r), w.word) for name, words in expected(model, 2).items() for r, w in enumerate(words, 1)]
    assert [(row["id"], str(row["rank"]), row["word"]) for row in found] == wanted
    effects = [w.effect for words in expected(model, 2).values() for w in words]
    assert [float(row["effect"]) for row in found] == pytest.approx(effects, abs=1e-9)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_without_attention_no_column_names_a_leader(cli, table, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    assert cli("explain", two_classes(layers=0).save(tmp_path / "words"), table, "-o", path)[0] == 0
    data = path.read_bytes()
    assert b"contribution" in data
    assert b"leader" not in data


def test_lines_and_json_name_one_text_each(cli, model, table, tmp_path):
    code, out, _ = cli("explain", model, table)
    assert (code, len(out.splitlines())) == (0, 4)
    assert "great +" in out.splitlines()[0]
    assert out.splitlines()[2].endswith("-")
    found = [json.loads(line) for line in cli("explain", model, table, "--json")[1].splitlines()]
    assert [row["id"] for row in found] == [name for name, _ in ROWS]
    assert [[w["word"] for w in row["words"]] for row in found] == [
        [w.word for w in words] for words in expected(model).values()
    ]
    path = tmp_path / "out.jsonl"
    assert cli("explain", model, table, "-o", path)[0] == 0
    assert [json.loads(line) for line in path.read_text().splitlines()] == found


def test_a_page_holds_every_text(cli, model, table, tmp_path):
    path = tmp_path / "out.html"
    assert cli("explain", model, table, "-o", path)[0] == 0
    assert path.read_text().count('<section class="explanation">') == 4
    assert "<h1>Why these labels</h1>" in path.read_text()


def test_bad_rows_are_left_out_and_counted(cli, model, tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "great"}\n{"id": 2}\n{"text": "dull"}\n')
    code, out, err = cli("explain", model, path)
    assert (code, len(out.splitlines())) == (7, 2)
    assert "1 bad row left out" in err


@pytest.mark.parametrize("suffix", [".html", ".csv", ".jsonl", ".parquet", ""])
def test_a_table_without_rows_is_said_to_hold_no_texts(cli, model, tmp_path, suffix):
    path, out = tmp_path / "texts.csv", tmp_path / f"out{suffix}"
    path.write_text("id,text\n")
    code, printed, err = cli("explain", model, path, *(["-o", out] if suffix else []))
    assert (code, printed) == (0, "")
    assert "texts.csv holds no texts" in err
    assert ("0 texts" in err) == out.is_file() == bool(suffix)
    assert suffix != ".html" or "<h1>There are no texts</h1>" in out.read_text()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["-o", "x.png"], "use .csv, .jsonl, .parquet, .html"),
        (["--without", "dull"], "apply to a single text, not to a table"),
        (["--most", "0"], "--most is 0"),
    ],
)
def test_mistakes_get_one_clear_error(cli, model, table, tmp_path, monkeypatch, more, says):
    monkeypatch.chdir(tmp_path)
    code, out, err = cli("explain", model, table, *more)
    assert (code, out) == (3, "")
    assert says in err


def test_a_text_file_stays_one_text(cli, model, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("great film\ndull plot\n")
    assert json.loads(cli("explain", model, path, "--json")[1])["text"] == "great film\ndull plot\n"
