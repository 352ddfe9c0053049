"""`hardmax limit` of a file in parts."""

import json

import numpy as np
from typer.testing import CliRunner

import hardmax as hx
from hardmax.cli.main import app
from hardmax.errors import BadInput


def run(*arguments):
    return CliRunner().invoke(app, ["limit", *map(str, arguments)])


def test_a_file_is_streamed_to_a_folder(tmp_path):
    Z = np.random.default_rng(0).normal(size=(9000, 2))
    np.save(tmp_path / "cloud.npy", Z)
    done = run(tmp_path / "cloud.npy", "--stream", "--memory", "0.0001", "-o", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    found, eq = json.loads(done.stdout), hx.limit(Z)
    assert found["streamed"] > 8000
    assert found["centers"] == eq.centers.tolist()
    assert np.array_equal(np.load(tmp_path / "out" / "cluster-00000.npy"), eq.cluster)
    again = run(tmp_path / "cloud.npy", "--stream", "--memory", "0.0001", "-o", tmp_path / "out", "--resume")
    assert again.exit_code == 0
    assert "9000 tokens in dimension 2" in again.stdout


def test_a_folder_is_replaced_with_force_only(tmp_path):
    cloud, out = tmp_path / "cloud.npy", tmp_path / "out"
    for Z in (np.eye(2), np.eye(3)):
        np.save(cloud, Z)
        assert run(cloud, "--stream", "-o", out, "--force").exit_code == 0
        assert np.array_equal(np.load(out / "centers.npy"), Z)
    done = run(cloud, "--stream", "-o", out)
    assert isinstance(done.exception, BadInput)
    assert "--force" in str(done.exception)
    assert isinstance(run(cloud, "--stream", "-o", out, "--force", "--alpha", "-1").exception, BadInput)
    assert (out / "centers.npy").exists()  # what is refused replaces nothing


def test_what_is_missing_is_named(tmp_path):
    np.save(tmp_path / "cloud.npy", np.eye(2))
    assert run(tmp_path / "cloud.npy", "--stream").exit_code != 0
    assert run("--preset", "emerging", "--stream", "-o", tmp_path / "out").exit_code != 0
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", "-o", tmp_path / "out").exit_code != 0


def test_a_folder_without_tokens_says_so_whether_or_not_there_is_an_output(tmp_path):
    for words in ((), ("-o", tmp_path / "out")):
        done = run(tmp_path, *words)
        assert isinstance(done.exception, BadInput)
        assert ".parquet files" in str(done.exception)
