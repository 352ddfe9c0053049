"""The cache of compiled code is fresh only if all compiled files are."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hardmax.attention import fused_clouds, fused_search
from hardmax.jit import compiled

KERNEL = """
from hardmax.jit.compiled import njit


@njit()
def twice(x):
    return 2 * x
"""
CALL = "from hardmax.jit.kernel import twice; print(twice(15))"


@pytest.mark.parametrize("kernel", [fused_clouds.run_clouds, fused_search.search])
def test_kernels_carry_the_digest_of_all_files(kernel: object) -> None:
    assert kernel._cache._cache_file._source_stamp[1] == compiled.DIGEST  # type: ignore[attr-defined]


def test_a_change_in_one_compiled_file_changes_the_digest(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from hardmax.jit.compiled import njit\nx = 1\n")
    (tmp_path / "b.py").write_text("plain = 1\n")
    before = compiled.digest(tmp_path)
    (tmp_path / "b.py").write_text("plain = 2\n")
    assert compiled.digest(tmp_path) == before
    (tmp_path / "a.py").write_text("from hardmax.jit.compiled import njit\nx = 2\n")
    assert compiled.digest(tmp_path) != before


def test_stored_code_is_not_used_after_a_change_elsewhere(tmp_path: Path) -> None:
    package = tmp_path / "hardmax" / "jit"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    shutil.copy(compiled.__file__, package)
    (package / "kernel.py").write_text(KERNEL)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def stored() -> dict[Path, bytes]:
        done = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == "30\n"
        return {path: path.read_bytes() for path in tmp_path.rglob("*.nbi")}

    first = stored()
    assert first
    assert stored() == first  # the second run found everything
    (package / "other.py").write_text("from hardmax.jit.compiled import njit\n")
    assert all(stored()[path] != text for path, text in first.items())
