import json
import os
from fractions import Fraction
from io import StringIO

import numpy as np
import pytest

import hardmax as hx
from hardmax.dynamics import files, saving
from hardmax.dynamics.files import load_equilibrium, load_trajectory, read_tokens, save_equilibrium, save_trajectory
from hardmax.errors import BadInput
from reference import leader_since, run

ROWS = [[1.0, 0.5], [-0.25, 3.0]]


def literal_trajectory(exact: bool, layers: int = 4, rule=None) -> hx.Trajectory:
    """A trajectory from the definition, token by token."""
    alpha = Fraction(1, 2) if exact else 0.5
    states, sets = run(hx.preset("emerging", exact=exact), alpha, layers)
    return hx.Trajectory(
        tokens=np.array(states),
        alpha=alpha,
        A=None,
        leader_since=leader_since(states, sets),
        outcome=hx.Outcome("moving", detail="a sentence"),
        sets=sets.__getitem__,
        rule=rule or hx.Hardmax(),
        undecided=0 if exact else 3,
        exact=exact,
    )


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


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
        ("[[1, 2], [3]]", "token 1 has 1 coordinates"),
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


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "bomb.npz", tokens=np.zeros((1000, 100)))
    monkeypatch.setattr("hardmax.dynamics.document.MOST_BYTES", 100_000)
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
@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_trajectory_comes_back_as_it_was(tmp_path, suffix, exact):
    traj = literal_trajectory(exact, rule=hx.Localmax(eps=0.25))
    back = load_trajectory(traj.save(tmp_path / f"t{suffix}"))
    assert back.tokens.dtype == traj.tokens.dtype
    assert np.array_equal(back.tokens, traj.tokens)
    assert [back.follows(k) for k in range(5)] == [traj.follows(k) for k in range(5)]
    for name in ("alpha", "A", "leader_since", "outcome", "rule", "normalization", "undecided", "exact"):
        assert getattr(back, name) == getattr(traj, name), name
    start = read_tokens(tmp_path / f"t{suffix}", exact=exact)
    assert np.array_equal(start, traj.tokens[0])


def test_the_json_of_a_trajectory_has_the_documented_fields(tmp_path):
    traj = literal_trajectory(exact=False)
    document = json.loads(traj.save(tmp_path / "t.json").read_text())
    assert document["schema"] == "hardmax.simulate/1"
    assert (document["n"], document["dim"], document["alpha"], document["layers"]) == (8, 2, 0.5, 4)
    assert document["tokens"] == traj.tokens[-1].tolist()
    assert document["leaders"] == traj.leaders.tolist()
    assert document["leader_since"] == {str(i): k for i, k in traj.leader_since.items()}
    assert document["follows"] == [list(s) for s in traj.follows(4)]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".json"])
@pytest.mark.parametrize("A", [None, [[2, 1], [1, 3]]])
def test_a_limit_comes_back_with_a_certificate_that_verifies(tmp_path, suffix, exact, A):
    Z = hx.preset("square-ties", exact=exact)
    eq = hx.limit(Z, A=A, exact=exact)
    back = load_equilibrium(eq.save(tmp_path / f"e{suffix}"))
    assert back.certificate.verify(Z)
    for name in ("tokens", "points", "cluster", "centers", "leaders"):
        assert np.array_equal(getattr(back, name), getattr(eq, name)), name
    for name in ("kind", "leader_since", "alpha", "margin", "undecided", "layers", "exact"):
        assert getattr(back, name) == getattr(eq, name), name
    assert np.array_equal(read_tokens(tmp_path / f"e{suffix}", exact=exact), Z)


def test_no_file_needs_pickle(tmp_path):
    path = literal_trajectory(exact=True).save(tmp_path / "t.npz")
    with np.load(path, allow_pickle=False) as file:
        assert {file[key].dtype.kind for key in file.files} <= set("fiuU")
        assert file["tokens"].shape == (5, 8, 2)


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    path.write_text("old")

    def fails(document, to):
        to.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(saving, "write_json", fails)
    with pytest.raises(KeyboardInterrupt):
        save_trajectory(literal_trajectory(exact=False), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.json"]


def test_an_existing_file_is_replaced_only_with_force(tmp_path):
    path = tmp_path / "t.json"
    path.write_text("old")
    with pytest.raises(BadInput, match="exists"):
        save_trajectory(literal_trajectory(exact=False), path, force=False)
    assert path.read_text() == "old"
    save_trajectory(literal_trajectory(exact=False), path)
    assert path.read_text() != "old"


def test_unknown_suffixes_and_missing_folders_are_named(tmp_path):
    traj, eq = literal_trajectory(exact=False), hx.limit(hx.preset("square"))
    with pytest.raises(BadInput, match=r"\.npz \.json \.png \.svg \.pdf \.gif \.mp4 \.html"):
        save_trajectory(traj, tmp_path / "t.doc")
    with pytest.raises(BadInput, match=r"a limit cannot be written as \.gif"):
        save_equilibrium(eq, tmp_path / "e.gif")
    with pytest.raises(BadInput, match="nowhere does not exist"):
        save_trajectory(traj, tmp_path / "nowhere" / "t.npz")
    (tmp_path / "t.npz").mkdir()
    with pytest.raises(BadInput, match="is a folder"):
        save_trajectory(traj, tmp_path / "t.npz")


def test_damaged_foreign_and_newer_files_are_refused(tmp_path):
    traj = literal_trajectory(exact=False)
    good = json.loads(traj.save(tmp_path / "t.json").read_text())
    changes = {
        "newer": {"schema": "hardmax.simulate/2"},
        "expected hardmax.simulate/1": {"schema": "hardmax.limit/1"},
        "do not match": {"follow_sets": good["follow_sets"][:-1]},
        "no token 99": {"leader_since": {"99": 0}},
        "3": {"trajectory": good["trajectory"][0]},
        "rule": {"rule": {"name": "Path"}},
    }
    for message, change in changes.items():
        path = written(tmp_path, "changed.json", json.dumps(good | change))
        with pytest.raises(BadInput, match=r"changed\.json") as error:
            load_trajectory(path)
        assert message in str(error.value)
    for key in ("alpha", "follow_sets", "rule", "outcome", "schema"):
        path = written(tmp_path, "lacking.json", json.dumps({k: v for k, v in good.items() if k != key}))
        with pytest.raises(BadInput, match=r"lacking\.json"):
            load_trajectory(path)
    whole = traj.save(tmp_path / "t.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"cut\.npz is damaged"):
        load_trajectory(tmp_path / "cut.npz")
    with pytest.raises(BadInput, match=r"absent\.npz does not exist"):
        load_trajectory(tmp_path / "absent.npz")
