import json
from fractions import Fraction

import numpy as np
import pytest

import hardmax as hx
from hardmax.errors import BadInput
from hardmax.io.documents import json_text, numbers, point, read_document, write_json, write_npz
from hardmax.io.tokens import read_tokens


def test_a_point_is_written_for_reading_and_cut_where_that_is_asked():
    assert point((Fraction(1, 7), Fraction(10**40, 3))) == "(1/7, 3.33333e+39)"
    assert point(np.array([1.0, 1 / 3])) == "(1, 0.333333)"
    assert point([1, 2, 3], most=3) == "(1, 2, 3)"
    assert point((x for x in (1, 2, 3)), most=2) == "(1, 2, ...)"


def test_no_file_needs_pickle(tmp_path):
    path = hx.simulate(hx.preset("emerging", exact=True), alpha="1/2", layers=4, exact=True).save(tmp_path / "t.npz")
    with np.load(path, allow_pickle=False) as file:
        assert {file[key].dtype.kind for key in file.files} <= set("fiuU")
        assert file["tokens"].shape == (5, 8, 2)


def test_json_keeps_every_bit_and_writes_fractions_as_text_and_infinities_as_null():
    numbers = np.array([0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0])
    document = {"x": numbers, "f": [Fraction(1, 3)], "n": np.int64(3), "since": {2: 0}, "set": ((0, 1), (2,))}
    back = json.loads(json_text(document))
    assert np.array(back["x"]).tobytes() == numbers.tobytes()
    assert (back["f"], back["n"], back["since"], back["set"]) == (["1/3"], 3, {"2": 0}, [[0, 1], [2]])
    nested = json.loads(json_text(document | {"clouds": [{"margin": np.inf, "x": np.array([1.0, np.nan])}]}))
    assert nested["clouds"] == [{"margin": None, "x": [1.0, None]}]
    assert {k: v for k, v in nested.items() if k != "clouds"} == back


def test_fractions_beyond_float64_survive_both_files(tmp_path):
    values = np.array([[Fraction(10**400, 3), Fraction(-(10**400))], [Fraction(1, 7), Fraction(0)]], dtype=object)
    for name, write in (("a.npz", write_npz), ("a.json", write_json)):
        write({"schema": "hardmax.simulate/1", "x": values}, tmp_path / name)
        back = numbers(read_document(tmp_path / name, "hardmax.simulate/1"), "x", 2)
        assert back.tolist() == values.tolist()


def test_an_array_that_claims_more_than_there_is_memory_for_is_refused(tmp_path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
    with open(tmp_path / "huge.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(BadInput, match=r"huge\.npy cannot be read"):
        read_tokens(tmp_path / "huge.npy")


def test_fractions_too_long_for_decimal_are_written_and_read(tmp_path):
    traj = hx.simulate([[0.1, 0.2], [0.3, -0.7], [0.9, 0.4]], 0.1, layers=300, exact=True)
    assert traj.tokens[-1, 0, 0].denominator.bit_length() > 14_000
    for suffix in (".json", ".npz"):
        again = hx.Trajectory.load(traj.save(tmp_path / f"long{suffix}"))
        assert (again.tokens == traj.tokens).all()
    assert "(0.9, 0.4)" in traj.save(tmp_path / "long.html").read_text()
    assert "3 tokens" in repr(traj)
