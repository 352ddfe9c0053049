"""When compiled code is loaded: not for little work, and for more of it only where it is on disk already."""

import pytest

from hardmax.jit.ways import PATIENCE_TO_COMPILE, WORTH_COMPILING, Job

FEW = 1000


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return Job("module.kernel")


def test_little_work_loads_nothing_even_if_it_is_stored(job, tmp_path):
    (tmp_path / "module.kernel-1.py311.nbi").touch()
    assert job.plain_up_to(FEW, FEW)


def test_more_work_loads_what_is_stored_and_compiles_nothing(job, tmp_path):
    assert job.plain_up_to(FEW, FEW + 1)
    assert job.plain_up_to(FEW, WORTH_COMPILING * FEW)
    (tmp_path / "module.kernel-1.py311.nbi").touch()
    assert not job.plain_up_to(FEW, FEW + 1)


def test_much_work_is_compiled_at_once_and_more_work_after_a_while(job):
    assert not job.plain_up_to(FEW, WORTH_COMPILING * FEW + 1)
    job.spent = PATIENCE_TO_COMPILE
    assert not job.plain_up_to(FEW, FEW + 1)


def test_code_in_memory_is_used_for_any_work(job):
    job.ready = True
    assert not job.plain_up_to(FEW, 1)
