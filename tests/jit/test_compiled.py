"""Stored code is used only if all compiled files are unchanged; private parts of Numba have fallbacks."""

import os
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest

from hardmax.attention import fused, fused_search
from hardmax.jit import bare_njit, compiled, njit, ways

KERNEL = """
from hardmax.jit.compiled import njit


@njit()
def twice(x):
    return 2 * x
"""
CALL = "from hardmax.jit.kernel import twice; print(twice(15))"


@pytest.mark.parametrize("kernel", [fused.run_clouds, fused_search.search])
def test_kernels_carry_the_digest_of_all_files(kernel):
    assert kernel._cache._cache_file._source_stamp[1] == compiled.DIGEST


def test_a_change_in_one_compiled_file_changes_the_digest(tmp_path):
    (tmp_path / "a.py").write_text("from hardmax.jit import njit\nx = 1\n")
    (tmp_path / "b.py").write_text("plain = 1\n")
    before = compiled.digest(tmp_path)
    (tmp_path / "b.py").write_text("plain = 2\n")
    assert compiled.digest(tmp_path) == before
    (tmp_path / "a.py").write_text("from hardmax.jit import njit\nx = 2\n")
    assert compiled.digest(tmp_path) != before


@pytest.fixture
def package(tmp_path):
    """A package with one kernel, in which nothing is compiled yet."""
    folder = tmp_path / "hardmax" / "jit"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").touch()
    shutil.copy(compiled.__file__, folder)
    shutil.copy(ways.__file__, folder)
    (folder / "kernel.py").write_text(KERNEL)
    return folder


def test_two_processes_may_compile_at_the_same_time(package, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    both = [subprocess.Popen([sys.executable, "-c", CALL], env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == [b"30\n", b"30\n"]
    done = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, check=True)
    assert done.stdout == b"30\n"


def test_a_read_only_installation_without_a_home_compiles_for_itself(package, tmp_path):
    (package / "__pycache__").touch()  # no folder can be made there, not even by root
    nowhere = str(tmp_path / "hardmax" / "__init__.py" / "nowhere")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": str(tmp_path), "HOME": nowhere, "XDG_CACHE_HOME": nowhere}
    call = CALL + "; from hardmax.jit.compiled import stored; print(stored())"
    done = subprocess.run([sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "30\n{'folders': [], 'files': 0, 'bytes': 0}\n"
    environment["XDG_CACHE_HOME"] = str(tmp_path / "user")  # where a person has a place of their own
    subprocess.run([sys.executable, "-c", CALL], env=environment, check=True)
    assert list((tmp_path / "user").rglob("kernel.twice-*.nbi"))


@pytest.mark.slow
def test_stored_code_is_not_used_after_a_change_elsewhere(package, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def stored():
        done = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == "30\n"
        return {path: path.read_bytes() for path in tmp_path.rglob("*.nbi")}

    first = stored()
    assert first
    assert stored() == first  # the second run found everything
    (package / "other.py").write_text("from hardmax.jit import njit\n")
    assert all(stored()[path] != text for path, text in first.items())


@pytest.mark.parametrize("missing", ["the stamp", "the cache"])
def test_without_the_stamp_kernels_are_not_stored_and_compute_the_same(missing, monkeypatch):
    def half(x):
        return x / 2

    stored = njit()(half)
    found = compiled._stamp

    def stamp(kernel):
        if missing == "the stamp":
            del kernel._cache._cache_file._source_stamp
        else:
            del kernel._cache
        return found(kernel)

    monkeypatch.setattr(compiled, "_stamp", stamp)
    plain = njit()(half)
    assert not hasattr(plain._cache, "_cache_file")
    assert stored._cache._cache_file._source_stamp[1] == compiled.DIGEST
    assert plain(3.0) == stored(3.0) == 1.5


@bare_njit()
def _add(values, i, what):
    values[i] += what


@bare_njit()
def _fill(values):
    for i in range(values.size):
        _add(values, i, i)


def test_a_kernel_calls_another_with_its_arrays():
    values = np.zeros(5)
    _fill(values)
    assert values.tolist() == [0, 1, 2, 3, 4]


def test_views_of_an_array_outlive_no_one():
    whole = np.zeros((3, 4))
    for _ in range(1000):
        _fill(whole[1])
    assert whole[1].tolist() == [0, 1000, 2000, 3000]
    assert whole[[0, 2]].sum() == 0


def test_a_kernel_that_makes_an_array_is_refused():
    @bare_njit()
    def makes():
        return np.empty(3)

    with pytest.raises(numba.core.errors.NumbaError):
        makes()


def test_without_the_private_option_references_are_counted_and_results_are_the_same(monkeypatch):
    monkeypatch.setattr(compiled, "_UNCOUNTED", {})

    @bare_njit()
    def total(values):
        s = 0.0
        for x in values:
            s += x
        return s

    assert "_nrt" not in total.targetoptions
    assert "_nrt" in _add.targetoptions
    assert total(np.arange(5.0)) == 10.0
