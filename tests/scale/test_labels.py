"""Labels of many texts: the same rows from every engine, parts that survive kills, nested explanations."""

import json
import os
import signal
import socket
from collections import Counter
from pathlib import Path
from threading import Thread

import duckdb
import numpy as np
import pandas
import polars
import pyarrow.parquet as pq
import pytest

from hardmax.errors import BadInput
from hardmax.scale.cluster import cluster_at
from hardmax.scale.label_files import label_table, write_parts
from hardmax.scale.labels import Wanted, label, label_batch, labeled
from hardmax.scale.sources import START, Source, batches
from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_model
from hardmax.text.tables import Row
from in_process import hardmax
from tiny_models import two_classes

WORDS = ["great", "dull", "film", "plot", "awful", "wonderful", "bad", "good", "boring", "love", "the", "a", "of"]
MODEL = "imdb-words"


def _rows(count, first=0):
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(0, 30))) for _ in range(first + count)]
    return [Row(text, None, f"t{k}" if k % 3 else None, k + 1) for k, text in enumerate(texts)][first:]


def _table(path, rows):
    if path.suffix == ".jsonl":
        lines = [json.dumps({"text": r.text} | ({} if r.id is None else {"id": r.id})) for r in rows]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text("text\n" + "".join(f'"{r.text}"\n' for r in rows))
    return str(path)


def _run(*words, model=MODEL):
    return hardmax("predict", model, *words)


def _parts(folder):
    return [row for part in sorted(Path(folder).glob("part-*.parquet")) for row in pq.read_table(part).to_pylist()]


def test_records_are_those_of_the_model():
    rows, model = _rows(40), load_model(MODEL)
    found = label(rows, Wanted(MODEL, probabilities=True, text=True, explain=True))
    texts = [r.text for r in rows]
    assert [r["label"] for r in found] == model.predict(texts)
    assert [list(r["probabilities"].values()) for r in found] == model.probabilities(texts).tolist()
    assert [r["id"] for r in found] == [k.number if k.id is None else k.id for k in rows]
    for record, text in zip(found, texts, strict=True):
        alone = explain(model, text)
        assert (record["logit"], record["bias"], record["text"]) == (alone.logit, alone.bias, text)
        assert record["leaders"] == [
            {"word": one.word, "contribution": one.contribution, "followers": list(one.followers)}
            for one in alone.leaders
        ]


def test_without_attention_what_matters_are_words_as_in_an_explanation(tmp_path):
    model = two_classes(layers=0)
    model.save(tmp_path / "plain")
    texts = ["great film, not dull", "the film", "", "dull plot, fine film!"]
    table = _table(tmp_path / "a.jsonl", [Row(text, None, None, 1) for text in texts])
    done = _run(table, "-o", tmp_path / "o.parquet", "--explain", model=tmp_path / "plain")
    assert done.returncode == 0, done.stderr
    for row, text in zip(pq.read_table(tmp_path / "o.parquet").to_pylist(), texts, strict=True):
        alone = explain(model, text)
        wanted = [{"word": w.word, "effect": w.effect, "contribution": w.contribution} for w in alone.largest(10)]
        assert row["words"] == wanted
        assert (row["logit"], row["bias"], "leaders" in row) == (alone.logit, alone.bias, False)
    assert not pq.read_table(tmp_path / "o.parquet")["words"].to_pylist()[2]
    printed = [line.split("\t")[2:] for line in _run(table, "--explain", model=tmp_path / "plain").stdout.splitlines()]
    assert printed[0] == [", ".join(w.word for w in explain(model, texts[0]).largest(10)), texts[0]]


def test_of_rows_that_are_done_only_the_bad_ones_are_read_again(tmp_path):
    table = tmp_path / "a.jsonl"
    table.write_text('{"text": "good"}\n5\n{"text": "bad"}\n{"text": "dull"}\n')
    (found,) = labeled(Source((str(table),)), Wanted(MODEL), after=(0, 3))
    assert [r["id"] for r in found.records] == [4]
    assert found.places == [(0, 4)]
    assert [row.line for row in found.bad] == [2]
    with pytest.raises(BadInput, match="no engine 'spark'"):
        labeled(Source(()), Wanted(MODEL), "spark")


def test_batches_are_bounded_in_rows_and_characters():
    rows = [((0, k), Row("x" * (3_000_000 if k < 3 else 0), None, None, k)) for k in range(5000)]
    found = list(batches(rows))
    assert [len(batch) for batch in found] == [2, 2048, 2048, 902]
    assert [row for batch in found for row in batch] == rows


def test_small_files_are_read_together_and_large_ones_alone(tmp_path):
    for name, size in (("a.txt", 10), ("b.txt", 9_000_000), ("c.txt", 10), ("d.txt", 10)):
        with open(tmp_path / name, "wb") as file:
            file.truncate(size)
    assert Source(("a.txt", "b.txt", "c.txt", "d.txt"), None, str(tmp_path)).units() == [range(2), range(2, 4)]


def test_folders_patterns_and_several_files_are_read_in_order(tmp_path):
    (tmp_path / "in").mkdir()
    rows = _rows(30)
    a = _table(tmp_path / "in" / "a.jsonl", rows[:10])
    b = _table(tmp_path / "in" / "b.csv", rows[10:20])
    c = _table(tmp_path / "c.jsonl", rows[20:])
    expected = load_model(MODEL).predict([r.text for r in rows])
    for given in ((tmp_path / "in", c), (tmp_path / "in" / "*", c), (a, b, c)):
        done = _run(*given, "--json")
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert [r["label"] for r in found] == expected
        assert [r["id"] for r in found[10:20]] == [f"{b}:{k}" for k in range(1, 11)]
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "_SUCCESS").write_text("")
    for given, said in ((tmp_path / "none-*.csv", "no file matches"), (tmp_path / "empty", "holds no texts")):
        done = _run(given)
        assert done.returncode == 3
        assert said in done.stderr


def test_explanations_are_nested_columns_and_do_not_fit_into_csv(tmp_path):
    table = _table(tmp_path / "a.jsonl", _rows(12))
    assert _run(table, "-o", tmp_path / "o.parquet", "--explain").returncode == 0
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    for row in rows:
        assert abs(row["bias"] + sum(leader["contribution"] for leader in row["leaders"]) - row["logit"]) < 1e-9
    assert set(rows[1]["leaders"][0]) == {"word", "contribution", "followers"}
    words = [[leader["word"] for leader in row["leaders"]] for row in rows]
    path, of = str(tmp_path / "o.parquet"), (lambda column: [[leader["word"] for leader in one] for one in column])
    assert of(pandas.read_parquet(path).leaders) == words
    assert of(polars.read_parquet(path)["leaders"]) == words
    query = f"SELECT leader.word, count(*) FROM (SELECT unnest(leaders) AS leader FROM '{path}') GROUP BY 1"
    assert dict(duckdb.sql(query).fetchall()) == Counter(word for row in words for word in row)
    done = _run(table, "-o", tmp_path / "o.csv", "--explain")
    assert done.returncode == 3
    assert "do not fit" in done.stderr
    assert not (tmp_path / "o.csv").exists()


def test_a_folder_of_parts_is_replaced_with_force_only(tmp_path):
    for text in ("good film", "bad film"):
        (tmp_path / "a.txt").write_text(text)
        done = _run(tmp_path / "a.txt", "-o", tmp_path / "o", "--with-text", "--force")
        assert done.returncode == 0, done.stderr
        assert [row["text"] for row in _parts(tmp_path / "o")] == [text]
    done = _run(tmp_path / "a.txt", "-o", tmp_path / "o", "--with-text")
    assert done.returncode == 3
    assert "--force" in done.stderr


COLUMNS = ["id", "label", "probability"]
TABLE = label_table(COLUMNS, ["negative", "positive"])


def _begin(rows, asked):
    def begin(after, done):
        asked.append((after, done))
        return (label_batch(batch, Wanted(MODEL)) for batch in batches([((0, r.number), r) for r in rows], after))

    return begin


def test_parts_that_are_there_are_not_made_again(tmp_path):
    rows, folder, wanted, asked = _rows(50), tmp_path / "o", Wanted(MODEL), []
    arguments = wanted, TABLE, "here"
    assert write_parts(folder, _begin(rows, asked), *arguments, False, 20) == 50
    whole = _parts(folder)
    assert [r["label"] for r in whole] == load_model(MODEL).predict([r.text for r in rows])
    assert pandas.read_parquet(folder).to_dict("records") == whole  # the folder as a whole is a table
    second = folder / "part-000001.parquet"
    stamps = {p: p.stat().st_mtime_ns for p in folder.glob("part-*")}
    second.unlink()
    (folder / ".part-000001.parquet.123.partial").write_text("half")
    with pytest.raises(BadInput, match="already exists"):
        write_parts(folder, _begin(rows, asked), *arguments, False, 20)
    assert write_parts(folder, _begin(rows, asked), *arguments, True, 20) == 50
    assert _parts(folder) == whole
    assert [p for p in stamps if p.stat().st_mtime_ns != stamps[p]] == [second]
    assert write_parts(folder, _begin(rows, asked), *arguments, True, 20) == 50
    assert asked == [(START, 0), ((0, 20), 20), ((0, 50), 50)]
    with pytest.raises(BadInput, match="other data or settings"):
        write_parts(folder, _begin(rows, asked), Wanted(MODEL, text=True), *arguments[1:], True, 20)
    second.write_bytes(b"not parquet")
    (folder / "part-000002.parquet").unlink()
    with pytest.raises(BadInput, match="part-000001"):
        write_parts(folder, _begin(rows, asked), *arguments, True, 20)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(BadInput, match="holds other files"):
        write_parts(tmp_path / "full", _begin(rows, asked), *arguments, True, 20)


def test_labels_have_the_type_of_the_classes_in_every_part(tmp_path):
    """Parts without a label, because all were uncertain, must fit to the others."""
    nothing = [label_batch([], Wanted(MODEL))]
    write_parts(tmp_path / "o", lambda *_: nothing, Wanted(MODEL), label_table(COLUMNS, [0, 1]), "here", False)
    assert [str(t) for t in pq.read_schema(tmp_path / "o" / "part-000000.parquet").types] == [
        "string",
        "int64",
        "double",
    ]


def test_a_run_does_not_continue_on_other_texts(tmp_path):
    table = _table(tmp_path / "a.jsonl", _rows(3))
    assert _run(table, "-o", tmp_path / "o").returncode == 0
    _table(tmp_path / "a.jsonl", _rows(4))
    done = _run(table, "-o", tmp_path / "o", "--resume")
    assert done.returncode == 3
    assert "with other data or settings" in done.stderr


def test_bad_rows_are_written_and_the_rest_is_labeled(tmp_path):
    table = tmp_path / "a.jsonl"
    table.write_text('{"text": "good", "id": NaN}\nnot json\n{"text": 5}\n{"text": "bad", "id": ""}\n')
    done = _run(table, "-o", tmp_path / "o", "--errors", tmp_path / "e.jsonl")
    assert done.returncode == 7
    assert [(r["id"], r["label"]) for r in _parts(tmp_path / "o")] == [("1", "positive"), ("4", "negative")]
    assert [json.loads(line)["line"] for line in (tmp_path / "e.jsonl").read_text().splitlines()] == [2, 3]


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "nowhere"])
def test_a_cluster_that_is_not_there_is_one_error_and_leaves_nothing(tmp_path, address):
    wanted, source = Wanted(MODEL), Source((_table(tmp_path / "a.jsonl", _rows(3)),))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens here
        address = address.format(closed.getsockname()[1])
        with pytest.raises(BadInput, match=r"cannot be reached|is not the address") as told:
            write_parts(tmp_path / "o", lambda *_: labeled(source, wanted, "ray", address), wanted, TABLE, "here",
                        False)  # fmt: skip
    assert address in str(told.value)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
@pytest.mark.parametrize("answer", [b"HTTP/1.1 505 Version Not Supported\r\n\r\n", b""])
def test_a_port_that_is_not_of_a_cluster_is_told_before_ray_tries_again_and_again(monkeypatch, address, answer):
    import ray

    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray would try for minutes"))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            line, _ = server.accept()
            with line:
                line.recv(100)
                line.sendall(answer)

        Thread(target=serve, daemon=True).start()
        address = address.format(server.getsockname()[1])
        with pytest.raises(BadInput, match="what listens there is not Ray") as told, cluster_at(address):
            pass
    assert address in str(told.value)


def test_a_cluster_does_not_read_standard_input():
    with pytest.raises(BadInput, match="standard input"):
        next(labeled(Source(("-",)), Wanted(MODEL), "ray"))


@pytest.mark.filterwarnings("ignore:::ray")  # of its own deprecated settings
@pytest.mark.slow
def test_ray_gives_the_same_labels_even_if_a_worker_is_killed(tmp_path, monkeypatch):
    """Several files of several kinds with bad rows, and a process that labels is killed twice on the way."""
    import ray

    rows = _rows(40_000)
    _table(tmp_path / "a.jsonl", rows[:30_000])
    _table(tmp_path / "b.csv", rows[30_000:])
    (tmp_path / "c.jsonl").write_text('{"text": "good"}\nnot json\n{"text": 5}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_worker_niceness", "0")  # on a busy machine they would hardly ever run
    source, wanted = Source(("a.jsonl", "b.csv", "c.jsonl")), Wanted(MODEL, probabilities=True)
    here, there, killed = list(labeled(source, wanted)), [], 0
    ray.init("local", num_cpus=2, logging_level="ERROR", log_to_driver=False, include_dashboard=False)
    try:
        for number, found in enumerate(labeled(source, wanted, "ray")):
            there.append(found)
            if number in (1, 4):
                killed += _kill_one_worker()
        with pytest.raises(BadInput, match=r"there is no file .*missing\.csv"):
            list(labeled(Source(("c.jsonl", "missing.csv")), wanted, "ray"))
        after = 1, 9000
        rest = [r for labels in labeled(source, wanted, "ray", after=after) for r in labels.records]
    finally:
        ray.shutdown()
    assert killed
    for part in ("records", "places", "bad"):
        assert [x for one in there for x in getattr(one, part)] == [x for one in here for x in getattr(one, part)]
    assert rest == [r for one in here for r, place in zip(one.records, one.places, strict=True) if place > after]


def _kill_one_worker():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::Map(_label)"):
                os.kill(int(path.parent.name), signal.SIGKILL)
                return 1
        except OSError:
            continue
    return 0
