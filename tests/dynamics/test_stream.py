"""The limit from disk to disk is bit for bit that in memory, also after the run was killed."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import hardmax as hx
from hardmax.dynamics import stream
from hardmax.dynamics.stream_ways import InPlane
from hardmax.errors import BadInput
from large_clouds import clouds, clouds_in_space

STREAMED = {"gaussian", "disc", "cube", "grid", "copies", "two digits", "one side", "square with ties", "nearly tied"}
TINY = 1e-6  # gigabytes: nothing fits


def assert_same(found, eq):
    assert np.array_equal(found.cluster(), eq.cluster)
    assert np.array_equal(found.points(), eq.points)
    assert np.array_equal(found.centers, eq.centers)
    assert np.array_equal(found.sizes, np.bincount(eq.cluster, minlength=len(eq.centers)))
    assert (found.kind, found.leader_since, found.layers) == (eq.kind, eq.leader_since, eq.layers)
    assert (found.margin, found.undecided) == (eq.margin, eq.undecided)


@pytest.mark.parametrize("name", sorted(STREAMED))
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_small_parts_give_the_same_bits_as_memory(name, alpha, tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "BYTES", 0.05)  # so that the system fits, but not the cloud
    Z = clouds()[name]
    np.save(tmp_path / "cloud.npy", Z)
    found = hx.limit_file(tmp_path / "cloud.npy", tmp_path / "out", alpha, memory=TINY / 2, part=700)
    assert found.streamed > 0.7 * len(Z)
    assert_same(found, hx.limit(Z, alpha))
    assert np.array_equal(found.points(690, 1500), hx.limit(Z, alpha).points[690:1500])
    assert {p.name.split("-")[0] for p in (tmp_path / "out").iterdir()} == {
        "cluster", "centers.npy", "config.json", "problem.json",
    }  # fmt: skip


def stream_it(Z, folder, alpha=0.5, A=None, **options):
    """The limit of a cloud that nearly fits into memory, and what was done on the way."""
    np.save(folder / "cloud.npy", Z)
    steps = []
    memory = 0.99 * stream.BYTES * Z.size / 1e9
    options = {"memory": memory, "part": 1700, "progress": lambda done, of, what: steps.append(what)} | options
    found = hx.limit_file(folder / "cloud.npy", folder / "out", alpha, A, **options)
    return found, [what for k, what in enumerate(steps) if k == 0 or steps[k - 1] != what]


@pytest.mark.parametrize("name", clouds_in_space(3))
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_clouds_in_space_give_the_same_bits_as_memory(name, alpha, tmp_path):
    Z = clouds_in_space(3)[name]
    found, _ = stream_it(Z, tmp_path, alpha)
    assert found.streamed > 0.5 * len(Z)
    assert_same(found, hx.limit(Z, alpha))


@pytest.mark.parametrize(
    ("dim", "names"),
    [
        (1, ["normal", "cube", "one side", "copies"]),
        (4, ["normal", "cube", "corners with ties"]),
        (5, ["normal", "ball", "cube", "copies", "one side", "mixed scales"]),
        (8, ["normal", "shifted cube", "nearly tied", "one side", "flat", "mixed scales"]),
    ],
)
def test_so_do_those_of_other_dimensions(dim, names, tmp_path):
    for name in names:
        Z = clouds_in_space(dim)[name]
        (tmp_path / name).mkdir()
        found, _ = stream_it(Z, tmp_path / name)
        assert found.streamed > 0.5 * len(Z)
        assert_same(found, hx.limit(Z))


@pytest.mark.parametrize("dim", [1, 3, 5, 8])
def test_so_do_those_with_a_matrix(dim, tmp_path):
    A = np.diag(np.arange(dim) + 1.0) + 0.3
    shapes = ("shifted cube", "corners with ties", "mixed scales", *(("normal", "copies", "flat") if dim < 8 else ()))
    for name in shapes:
        Z = clouds_in_space(dim)[name]
        (tmp_path / name).mkdir()
        found, _ = stream_it(Z, tmp_path / name, A=A)
        assert found.streamed > 0.5 * len(Z)
        assert_same(found, hx.limit(Z, A=A))


@pytest.mark.parametrize(("name", "dim", "sample"), [("normal", 5, 256), ("copies", 3, stream.COUNTED)])
def test_tokens_that_matter_after_all_are_read_again(name, dim, sample, tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "COUNTED", sample)
    Z = clouds_in_space(dim)[name]
    found, steps = stream_it(Z, tmp_path, part=900)
    assert steps.count("finding the tokens that can lead") > 1
    assert found.streamed > 0.5 * len(Z)
    assert_same(found, hx.limit(Z))


@pytest.mark.parametrize("dim", [3, 8])
def test_too_many_tokens_that_can_be_followed_are_counted(dim, tmp_path):
    sphere = clouds_in_space(dim)["normal"]
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    with pytest.raises(BadInput, match=r"does not fit into .* of the first [\d,]+ tokens can be followed"):
        stream_it(sphere, tmp_path)


@pytest.mark.parametrize("seed", [4689, 9343, 14767])
def test_a_token_that_leads_later_was_seen_coming(seed, tmp_path):
    rng = np.random.default_rng(seed)
    dim, alpha = int(rng.choice([3, 4, 5])), float(rng.choice([0.1, 0.5, 1, 3, 20]))
    rng.choice(["normal", "uniform"])  # the clouds were found by a search in which some were uniform
    Z = rng.normal(size=(2000, dim))
    eq = hx.limit(Z, alpha)
    assert any(eq.leader_since.values())
    found, _ = stream_it(Z, tmp_path, alpha)
    assert found.streamed > 0.5 * len(Z)
    assert_same(found, eq)


def test_tokens_that_look_for_many_layers_are_given_room(tmp_path):
    Z = clouds_in_space(3)["normal"]
    found, _ = stream_it(Z, tmp_path, alpha=0.01)
    assert found.layers > 30
    assert_same(found, hx.limit(Z, 0.01))


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "shape"), [(2, "normal"), (3, "normal"), (3, "uniform"), (8, "normal")])
def test_a_million_tokens_in_small_parts(dim, shape, tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1_000_000, dim)) if shape == "normal" else rng.uniform(-1, 1, (1_000_000, dim))
    np.save(tmp_path / "cloud.npy", Z)
    found = hx.limit_file(tmp_path / "cloud.npy", tmp_path / "out", memory=0.05 * dim, part=50_000)
    assert found.streamed > (990_000 if dim == 2 else 900_000)
    assert_same(found, hx.limit(Z))


@pytest.mark.parametrize("name", ["hexagon", "mixed scales", "flat"])
def test_a_cloud_that_fits_is_loaded(name, tmp_path):
    Z = clouds()[name]
    np.save(tmp_path / "cloud.npy", Z)
    found = hx.limit_file(tmp_path / "cloud.npy", tmp_path / "out", part=1000)
    assert found.streamed == 0
    assert_same(found, hx.limit(Z))


def test_other_types_and_parquet_files(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    Z = clouds()["gaussian"].astype(np.float32)
    eq = hx.limit(Z)
    np.save(tmp_path / "cloud.npy", Z)
    assert_same(hx.limit_file(tmp_path / "cloud.npy", tmp_path / "a", memory=0.0001, part=999), eq)
    (tmp_path / "files").mkdir()
    for k, rows in enumerate(np.array_split(Z, 3)):
        table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
        parquet.write_table(table, tmp_path / "files" / f"{k}.parquet", row_group_size=800)
    assert_same(hx.limit_file(tmp_path / "files", tmp_path / "b", memory=0.0001, part=999), eq)


# A run that is killed when it opens a file and has written so many; how fast the machine is does not matter.
KILLED = """
import os, signal, sys
from pathlib import Path
import hardmax as hx

def kill(event, words):
    if event == "open" and len([*Path(sys.argv[2]).glob("[!.]*")]) >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
hx.limit_file(sys.argv[1], sys.argv[2], memory=0.01, part=10_000, resume=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 3])
def test_a_killed_run_resumes_to_the_same_result(dim, tmp_path):
    Z = np.random.default_rng(0).normal(size=(300_000, dim))
    np.save(tmp_path / "cloud.npy", Z)
    for wait in (3, 25, 50):  # files that are there when the process is killed
        command = [sys.executable, "-c", KILLED, str(tmp_path / "cloud.npy"), str(tmp_path / "out"), str(wait)]
        assert subprocess.run(command).returncode == -signal.SIGKILL
        assert not (tmp_path / "out" / "config.json").exists()
    found = hx.limit_file(tmp_path / "cloud.npy", tmp_path / "out", memory=0.01, part=10_000, resume=True)
    assert_same(found, hx.limit(Z))
    again = hx.limit_file(tmp_path / "cloud.npy", tmp_path / "out", memory=0.01, part=10_000, resume=True)
    assert_same(again, hx.limit(Z))


def test_what_cannot_be_used_is_named(tmp_path):
    Z = clouds()["gaussian"]
    file, out = tmp_path / "cloud.npy", tmp_path / "out"
    np.save(file, Z)
    hx.limit_file(file, out, memory=0.0001)
    with pytest.raises(BadInput, match="exists"):
        hx.limit_file(file, out)
    with pytest.raises(BadInput, match="other data or settings"):
        hx.limit_file(file, out, alpha=0.25, resume=True)
    with pytest.raises(BadInput, match="does not exist"):
        hx.limit_file(tmp_path / "no.npy", tmp_path / "new")
    Z[5000, 1] = np.nan
    np.save(file, Z)
    with pytest.raises(BadInput, match="token 5000, coordinate 1 is nan"):
        hx.limit_file(file, tmp_path / "nan", memory=0.0001)
    for dim in (2, 3):
        np.save(file, np.concatenate((np.random.default_rng(0).normal(size=(9000, dim)), np.zeros((1, dim)))))
        with pytest.raises(BadInput, match=r"does not fit into .* so near the origin"):
            hx.limit_file(file, tmp_path / f"zero in {dim}", memory=0.0001 * dim)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cloud.npy", "out"]  # what fails leaves nothing


def test_a_run_that_lacks_memory_keeps_what_was_there_before(tmp_path, monkeypatch):
    file, out, Z = tmp_path / "cloud.npy", tmp_path / "out", clouds()["gaussian"]
    np.save(file, Z)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(InPlane, "layers", stop)
        with pytest.raises(KeyboardInterrupt):
            hx.limit_file(file, out, memory=0.0001, part=1000)
    written = {p.name: p.read_bytes() for p in out.iterdir()}
    assert "front.npz" in written
    with pytest.raises(BadInput, match="does not fit"):
        hx.limit_file(file, out, memory=1e-9, part=1000, resume=True)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == written
    with pytest.raises(BadInput, match="already holds this limit"):
        hx.limit_file(file, out, memory=0.0001, part=1000)
    assert_same(hx.limit_file(file, out, memory=0.0001, part=1000, resume=True), hx.limit(Z))


def test_a_full_disk_leaves_what_can_be_resumed(tmp_path, monkeypatch):
    file, out, Z = tmp_path / "cloud.npy", tmp_path / "out", clouds()["gaussian"]
    np.save(file, Z)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", full)
        with pytest.raises(BadInput, match="No space left"):
            hx.limit_file(file, out, memory=0.0001, part=1000)
    assert (out / "front.npz").exists()
    assert_same(hx.limit_file(file, out, memory=0.0001, part=1000, resume=True), hx.limit(Z))
