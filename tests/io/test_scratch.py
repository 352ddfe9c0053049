"""Scratch arrays: in memory or in files without a name, with the same numbers."""

import errno
import os

import numpy as np
import pytest

from hardmax.errors import BadInput
from hardmax.io import scratch


def test_large_arrays_are_files_without_a_name_and_small_ones_stay_in_memory(tmp_path):
    with scratch.spilling(tmp_path):
        large, small = scratch.empty(scratch.LARGE, np.int32), scratch.empty(10, np.int32)
        assert isinstance(large.base, np.memmap)
        assert not isinstance(small.base, np.memmap)
        large[:] = 7
        assert int(large.sum()) == 7 * large.size
        assert list(tmp_path.iterdir()) == []
    assert not isinstance(scratch.empty(scratch.LARGE, np.int32).base, np.memmap)


def test_joined_parts_are_the_same_in_memory_and_in_a_file(tmp_path):
    parts = [np.arange(k, dtype=np.int64) for k in (0, 5, 3)]
    in_memory = scratch.joined(iter(parts), np.int32)
    with scratch.spilling(tmp_path):
        on_disk = scratch.joined(iter(parts), np.int32)
        assert scratch.joined(iter([]), np.int32).size == 0
    assert in_memory.dtype == on_disk.dtype == np.int32
    assert in_memory.tolist() == on_disk.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]


def test_kept_numbers_are_the_same_and_large_ones_are_in_a_file(tmp_path):
    many, few = np.arange(scratch.LARGE).reshape(-1, 2), np.arange(3)
    assert scratch.kept(many) is many
    with scratch.spilling(tmp_path):
        assert scratch.kept(few) is few
        assert np.array_equal(stored := scratch.kept(many), many)
        assert isinstance(stored.base.base, np.memmap)


def test_a_full_disk_is_one_clear_error(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with scratch.spilling(tmp_path), pytest.raises(BadInput, match=r"bytes of scratch space are missing \(No space"):
        scratch.empty(scratch.LARGE, np.int32)
    with scratch.spilling(tmp_path / "gone"), pytest.raises(BadInput, match="no file can be created in it"):
        scratch.joined(iter([np.arange(3)]), np.int32)
