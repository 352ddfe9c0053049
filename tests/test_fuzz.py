"""A bounded run of `make fuzz`, and every crash that fuzzing has found, by name."""

import json
import random
import struct
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardmax as hx
from fuzz_targets import mutated, targets
from hardmax.errors import BadInput
from hardmax.io.chunks import Chunks
from hardmax.io.tokens import read_tokens
from hardmax.scale.config import read_sweep
from hardmax.text.tables import rows
from hardmax.web.share import tokens_of

SLOW = ("serve", "playground")
NAMES = [name for name in targets(Path()) if name not in SLOW]
HEADER = b"\x93NUMPY\x01\x00v\x00"


@pytest.mark.parametrize("name", NAMES)
def test_changed_inputs_are_accepted_or_refused_and_nothing_else(name, tmp_path):
    target, rng = targets(tmp_path)[name](), random.Random(7)
    assert target.try_one(target.seeds[0])
    for _ in range(30):
        target.try_one(target.input(rng))


def test_the_server_never_answers_a_changed_request_with_an_internal_error(tmp_path):
    target, rng = targets(tmp_path)["serve"](), random.Random(7)
    for _ in range(40):
        target.try_one(target.input(rng))


def test_inputs_differ_and_are_the_same_for_a_seed():
    made = [mutated(b"x, y\n1, 0\n", random.Random(k)) for k in range(50)]
    assert made == [mutated(b"x, y\n1, 0\n", random.Random(k)) for k in range(50)]
    assert len(set(made)) > 40


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_tokens_or_refused(data):
    with suppress(BadInput):
        assert len(read_tokens("-", BytesIO(data))) > 0


@given(st.text(max_size=80))
@settings(max_examples=60, deadline=None)
def test_any_link_shows_a_cloud(text):
    assert tokens_of("#" + text).ndim == 2


PLAIN = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5)
KEYS = st.sampled_from(["low", "high", "scale", "n"])


@given(st.recursive(PLAIN, lambda x: st.lists(x, max_size=3) | st.dictionaries(KEYS, x, max_size=3), max_leaves=6))
@settings(max_examples=80, deadline=None)
def test_any_range_of_a_study_is_read_or_refused(value):
    for section in ("random", "grid", "fixed"):
        with suppress(BadInput):
            assert len(read_sweep({"sweep": {"points": 3}, section: {"alpha": value}})) >= 1


@pytest.mark.parametrize("suffix", [".npy", ".chunks"])
def test_an_npy_header_that_is_not_closed_is_refused(tmp_path, suffix):
    path = tmp_path / "a.npy"
    path.write_bytes(HEADER + b"{'descr': '<f8', 'fortran_order': False, 'shape': (6, 2), m".ljust(118) + bytes(96))
    with pytest.raises(BadInput, match=r"cannot be read as \.npy"):
        Chunks(path) if suffix == ".chunks" else read_tokens(path)


def test_an_npy_header_with_a_negative_size_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(
        HEADER + b"{'descr': '<f8', 'fortran_order': False, 'shape': (6, -12), }".ljust(117) + b"\n" + bytes(96)
    )
    with pytest.raises(BadInput, match=r"\(6, -12\); expected \(n, d\) numbers"):
        Chunks(path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_utf_16_with_half_a_character_is_refused(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes("text,label\ncaf\u00e9,1\n".encode("utf-16") + b"\x00")
    with pytest.raises(BadInput, match="but is not valid"):
        list(rows(path))


def test_a_parquet_file_that_is_damaged_in_the_middle_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b"] * 50, "label": [0, 1] * 50}), path)
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(data)
    with pytest.raises(BadInput, match="is damaged after row 0"):
        list(rows(path))


def test_an_npz_file_with_damaged_compression_is_refused(tmp_path):
    path = hx.simulate([[1.0, 0.0], [0.0, 1.0]], layers=2).save(tmp_path / "a.npz")
    data = bytearray(path.read_bytes())
    for k in range(60, 400):
        changed = data[:]
        changed[k] ^= 0xFF
        path.write_bytes(changed)
        with suppress(BadInput):
            hx.Trajectory.load(path)


@pytest.mark.parametrize("number", [10**30, 1e308, -(10**30)])
def test_an_index_beyond_64_bits_is_refused(tmp_path, number):
    path = hx.limit([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2]]).polytope.save(tmp_path / "a.json")
    document = json.loads(path.read_text())
    document["faces"][0][1] = number
    path.write_text(json.dumps(document))
    with pytest.raises(BadInput, match="is damaged"):
        hx.Polytope.load(path)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("fasttext", struct.pack("<qq", 5, 2), struct.pack("<qq", 2**62, 2)),
        ("fasttext", struct.pack("<qq", 5, 2), struct.pack("<qq", 5, 0)),
        ("fasttext", struct.pack("<5i", 3, 3, 3, 2, 3), struct.pack("<5i", 3, 3, 0, 2, 3)),
        ("fasttext", struct.pack("<5i", 3, 3, 3, 2, 3), struct.pack("<5i", 3, 3, 9, 2, 3)),
        ("vectors", b"0.1 0.2", b"0.1e999 0.2"),
    ],
)
def test_vectors_that_contradict_their_header_or_are_infinite_are_refused(tmp_path, name, old, new):
    target = targets(tmp_path)[name]()
    good = target.seeds[0]
    assert good.count(old) == 1
    assert target.try_one(good)
    assert not target.try_one(good.replace(old, new))


@pytest.mark.parametrize("how", [{"low": "1", "high": 2.0}, {"low": 0.1, "high": np.inf}, {"low": None, "high": 1}])
def test_a_range_without_numbers_is_refused(how):
    with pytest.raises(BadInput, match="no valid range"):
        read_sweep({"random": {"alpha": how}})


def test_a_study_with_too_many_points_is_refused_before_they_are_made(tmp_path):
    many = list(range(1, 101))
    with pytest.raises(BadInput, match="100,000,000 points"):
        read_sweep({"grid": {"n": many, "d": many, "alpha": many, "heads": many}})
    with pytest.raises(BadInput, match="points"):
        read_sweep({"sweep": {"points": 10**15}, "random": {"alpha": [1, 2]}})
    deep = tmp_path / "deep.toml"
    deep.write_text("a = " + "[" * 5000)
    with pytest.raises(BadInput, match="is not TOML"):
        read_sweep(deep)
