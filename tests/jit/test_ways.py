"""When compiled code is loaded: not for little work, and for more of it only where it is on disk already."""

import os
import subprocess
import sys

import pytest

from hardmax.jit.ways import PATIENCE_TO_COMPILE, WORTH_COMPILING, Job
from stored_code import store

FEW, KERNEL = 1000, "module.kernel"


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return Job(KERNEL)


def test_little_work_loads_nothing_even_if_it_is_stored(job, tmp_path):
    store(tmp_path, KERNEL)
    assert job.plain_up_to(FEW, FEW)


def test_more_work_loads_what_is_stored_and_compiles_nothing(job, tmp_path):
    assert job.plain_up_to(FEW, FEW + 1)
    assert job.plain_up_to(FEW, WORTH_COMPILING * FEW)
    store(tmp_path, KERNEL)
    assert not job.plain_up_to(FEW, FEW + 1)


def test_what_another_installation_stored_in_the_same_folder_does_not_count(job, tmp_path):
    store(tmp_path, KERNEL, tmp_path / "elsewhere" / "hardmax" / "sentiment")
    assert not job.stored
    assert job.plain_up_to(FEW, FEW + 1)


def test_code_that_numba_stored_is_recognized(tmp_path):
    """In a new process: Numba reads the name of the folder when it is imported."""
    code = """
import numpy as np
from hardmax.jit.ways import Job
from hardmax.sentiment.search import follow_many
job = Job("search.follow_many")
before = job.stored
follow_many(np.ones((1, 1)), np.zeros(1, np.int64), np.empty(1, np.int64), np.empty(1, np.bool_), np.empty(1))
print(before, job.stored)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


def test_much_work_is_compiled_at_once_and_more_work_after_a_while(job):
    assert not job.plain_up_to(FEW, WORTH_COMPILING * FEW + 1)
    job.spent = PATIENCE_TO_COMPILE
    assert not job.plain_up_to(FEW, FEW + 1)


def test_code_in_memory_is_used_for_any_work(job):
    job.ready = True
    assert not job.plain_up_to(FEW, 1)
