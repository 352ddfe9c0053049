import json
from fractions import Fraction
from io import BytesIO, StringIO

import numpy as np
import pytest

import hardmax as hx
from hardmax.errors import BadInput
from hardmax.io import tokens as files
from hardmax.io.tokens import read_tokens
from literal import written

ROWS = [[1.0, 0.5], [-0.25, 3.0]]


@pytest.mark.parametrize(
    "text",
    [
        "1,0.5\n-0.25,3\n",
        "x,y\n1,0.5\n-0.25,3\n",
        '"x";"y"\n1;0.5\n-0.25;3e0\n',
        "# tokens\n\n 1   0.5 # one\n-.25\t3.\n",
        "\ufeff1, 1/2\r\n-1/4, 3\r\n",
    ],
)
def test_csv_is_read_with_and_without_header_and_with_any_separator(tmp_path, text):
    path = written(tmp_path, "z.csv", text)
    assert read_tokens(path).tolist() == ROWS
    assert read_tokens(path, exact=True).tolist() == [[1, Fraction(1, 2)], [Fraction(-1, 4), 3]]


def test_exact_csv_and_json_take_decimals_as_they_are_written(tmp_path):
    for path in (written(tmp_path, "z.csv", "0.1,1e-2\n"), written(tmp_path, "z.json", '[[0.1, "1/100"]]')):
        assert read_tokens(path, exact=True).tolist() == [[Fraction(1, 10), Fraction(1, 100)]]
        assert read_tokens(path).tolist() == [[0.1, 0.01]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,x\n", "line 2, column 2 is 'x'"),
        ("1,2\n3\n", "line 2 has 1 values, but line 1 has 2"),
        ("x,y\n\n1,2\n3,nan\n", "line 4, column 2 is nan"),
        ("1;2\n3;4,5\n", "column 2 is '4,5'"),
        ("1,2\n3,1e9999\n", "column 2 is '1e9999'"),
        ("1,2\n3,1/0\n", "column 2 is '1/0'"),
        ("a,b\n", "no line of numbers"),
        ("\n \n", "is empty"),
        ("1,x\n", "line 1, column 2 is 'x'"),
    ],
)
def test_a_bad_csv_names_line_and_column(tmp_path, text, message):
    path = written(tmp_path, "z.csv", text)
    for exact in (False, True):
        with pytest.raises(BadInput) as error:
            read_tokens(path, exact=exact)
        assert message in str(error.value)
        assert "z.csv" in str(error.value)


def test_json_may_hold_rows_an_object_or_a_batch(tmp_path):
    assert read_tokens(written(tmp_path, "a.json", json.dumps(ROWS))).tolist() == ROWS
    assert read_tokens(written(tmp_path, "b.json", json.dumps({"tokens": ROWS, "label": 3}))).tolist() == ROWS
    batch = read_tokens(written(tmp_path, "c.json", json.dumps([ROWS, [[1, 2]]])))
    assert [each.tolist() for each in batch] == [ROWS, [[1, 2]]]
    exact = read_tokens(written(tmp_path, "d.json", json.dumps([ROWS, [[1, 2]]])), exact=True)
    assert exact[1].tolist() == [[Fraction(1), Fraction(2)]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[1, 2], [3, 4]", "is not JSON"),
        ("[[1, 2], [3, NaN]]", "contains NaN"),
        ('[[1, 2], [3, "x"]]', "[1][1] is 'x'"),
        ("[[1, 2], [3, null]]", "[1][1] is null"),
        ("[[1, 2], [3, true]]", "[1][1] is true"),
        ("[[1, 2], [3]]", "token 1 has 1 coordinate"),
        ('{"rows": [[1]]}', 'has no "tokens"'),
        ("[]", "is empty"),
        ("3", "(n, d)"),
        ("[" * 100_000, "z.json"),
        ("[[1e400, 1]]", "z.json"),
    ],
)
def test_a_bad_json_file_names_the_place(tmp_path, text, message):
    with pytest.raises(BadInput) as error:
        read_tokens(written(tmp_path, "z.json", text))
    assert message in str(error.value)


def test_numpy_files_are_read(tmp_path):
    Z = np.array(ROWS)
    np.save(tmp_path / "z.npy", Z)
    np.savez(tmp_path / "one.npz", whatever=Z)
    np.savez(tmp_path / "named.npz", tokens=Z, other=Z[:1])
    np.save(tmp_path / "batch.npy", np.stack([Z, Z]))
    for name in ("z.npy", "one.npz", "named.npz"):
        assert read_tokens(tmp_path / name).tolist() == ROWS
    assert len(read_tokens(tmp_path / "batch.npy")) == 2
    assert read_tokens(tmp_path / "z.npy", exact=True)[0, 1] == Fraction(1, 2)


def test_a_file_that_is_not_what_its_suffix_says_is_refused(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.save(tmp_path / "objects.npy", np.array([[Fraction(1, 2)]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "flat.npy", np.ones(3))
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe\x00")
    (tmp_path / "text.npy").write_text("1,2\n")
    (tmp_path / "text.npz").write_text("1,2\n")
    (tmp_path / "short.npy").write_bytes((tmp_path / "flat.npy").read_bytes()[:-4])
    (tmp_path / "folder.csv").mkdir()
    names = (
        "two.npz words.npy objects.npy flat.npy picture.csv text.npy text.npz short.npy folder.csv absent.csv z.xlsx"
    )
    for name in names.split():
        for exact in (False, True):
            with pytest.raises(BadInput, match=name):
                read_tokens(tmp_path / name, exact=exact)


def test_a_folder_is_called_a_folder(tmp_path):
    with pytest.raises(BadInput, match="is a folder"):
        read_tokens(tmp_path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "bomb.npz", tokens=np.zeros((1000, 100)))
    monkeypatch.setattr("hardmax.io.documents.MOST_BYTES", 100_000)
    with pytest.raises(BadInput, match="unpacks to"):
        read_tokens(tmp_path / "bomb.npz")
    monkeypatch.setattr(files, "MOST_CHARACTERS", 5)
    with pytest.raises(BadInput, match="longer than"):
        read_tokens("-", StringIO("1,2\n3,4\n"))


def test_a_stream_may_hold_csv_or_json():
    assert read_tokens("-", StringIO("1 0.5\n-0.25 3\n")).tolist() == ROWS
    assert read_tokens("-", StringIO(json.dumps(ROWS))).tolist() == ROWS
    with pytest.raises(BadInput, match="standard input, line 1, column 2"):
        read_tokens("-", StringIO("1,x\n"))


@pytest.mark.parametrize("exact", [False, True])
def test_a_binary_stream_may_hold_numpy_files_or_text(exact):
    for save in (np.save, np.savez):
        stream = BytesIO()
        save(stream, np.array(ROWS))
        assert read_tokens("-", BytesIO(stream.getvalue()), exact=exact).tolist() == ROWS
        with pytest.raises(BadInput, match="standard input cannot be read as"):
            read_tokens("-", BytesIO(stream.getvalue()[:-30]), exact=exact)
    assert read_tokens("-", BytesIO("\ufeff1 0.5\n-0.25 3\n".encode()), exact=exact).tolist() == ROWS
    with pytest.raises(BadInput, match=r"standard input is neither text nor an \.npy or \.npz file"):
        read_tokens("-", BytesIO(b"\x89PNG\r\n\x1a\n\xff\xfe"), exact=exact)


@pytest.mark.parametrize("suffix", [".npz", ".json"])
@pytest.mark.parametrize("exact", [False, True])
def test_saved_results_give_their_tokens_of_layer_0(tmp_path, suffix, exact):
    clouds = [ROWS, [[2.0, 1.0]]]
    for k, run in enumerate((hx.simulate, hx.limit)):
        one = run(ROWS, exact=exact).save(tmp_path / f"one{k}{suffix}")
        assert read_tokens(one, exact=exact).tolist() == ROWS
        many = run(clouds, exact=exact).save(tmp_path / f"many{k}{suffix}")
        assert [each.tolist() for each in read_tokens(many, exact=exact)] == clouds
