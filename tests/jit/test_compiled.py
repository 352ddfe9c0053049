"""Stored code is used only if all compiled files are unchanged; private parts of Numba have fallbacks."""

import os
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest

from hardmax.attention import fused, fused_search
from hardmax.jit import bare_njit, compiled, njit

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


def test_stored_code_is_not_used_after_a_change_elsewhere(tmp_path):
    package = tmp_path / "hardmax" / "jit"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    shutil.copy(compiled.__file__, package)
    (package / "kernel.py").write_text(KERNEL)
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
