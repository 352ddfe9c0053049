"""Workers: too slow, too many, dead; and what they say."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hardmax.web import limits
from hardmax.web.pool import Broken, Busy, NotReady, Pool, TooSlow
from stored_code import store

SLOW = "corpus"  # reads and predicts a thousand reviews: a second or two


@pytest.fixture(scope="module")
def two():
    pool = Pool({"model": "imdb", "data": None}, workers=2)
    yield pool
    pool.close()


def _processes(pool):
    """The processes of a pool that are alive."""
    return [p for p in multiprocessing.active_children() if p.pid in {w.pid for w in pool.workers}]


def _wait_until_working(pool):
    """Wait until a process is ready for the slow job and has nothing else to do."""
    while not any(SLOW in worker.warmed for worker in pool.workers if worker not in pool._idle):
        time.sleep(0.001)


def _wait_until_gone(pid):
    """Wait for the end of a process. Its exit code may be lost to the thread of the pool that waits for it as well."""
    for _ in range(6000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


def test_a_computation_that_takes_too_long_is_ended_and_the_next_one_runs(two):
    with pytest.raises(TooSlow, match=r"longer than 0\.05 seconds"):
        two.submit(SLOW, {}, seconds=0.05).result(300)
    answer = two.submit("explain", {"text": "good"}).result(300)
    assert answer.status == 200
    assert answer.json()["words"][0]["word"] == "good"


def test_a_long_computation_does_not_hold_up_another(two):
    slow = two.submit(SLOW, {}, seconds=300)
    assert two.submit("models", {}).result(300).status == 200
    assert not slow.done()
    assert slow.result(300).json()["available"]


def test_a_worker_that_dies_is_replaced(two):
    two.submit("models", {}).result(300)
    before = _processes(two)
    assert before
    for process in before:
        process.kill()
        process.join()
    assert two.submit("models", {}).result(300).status == 200


def test_a_worker_that_dies_at_work_is_an_error_and_not_a_hang(two):
    two.submit("models", {}).result(300)
    busy = two.submit(SLOW, {}, seconds=300)
    _wait_until_working(two)
    for process in _processes(two):
        process.kill()
    with pytest.raises(Broken, match="without an answer"):
        busy.result(300)


def test_a_worker_that_does_not_start_in_time_is_ended_and_the_next_request_starts_one(monkeypatch):
    pool = Pool({"model": "imdb", "data": None}, workers=1)
    before = set(multiprocessing.active_children())
    try:
        monkeypatch.setattr(limits, "START_SECONDS", 0.001)
        with pytest.raises(NotReady, match="could be started in time"):
            pool.submit("models", {}).result(60)
        for process in set(multiprocessing.active_children()) - before:
            _wait_until_gone(process.pid)
        monkeypatch.undo()
        assert pool.submit("models", {}).result(300).status == 200
    finally:
        pool.close()


def test_errors_come_with_their_texts(two):
    unknown = two.submit("explain", {"text": "x", "model": "/etc"}).result(300)
    assert unknown.status == 400
    assert unknown.json()["error"] == {
        "what": "there is no model '/etc'", "found": "imdb, imdb-words", "fix": "use one of these names"
    }  # fmt: skip


def test_no_more_than_a_number_may_wait_and_all_that_wait_are_served():
    release = threading.Event()
    pool = Pool(workers=1, waiting=3)
    try:
        pool._run = lambda *job: release.wait(60) and "done"
        waiting = [pool.submit("models", {}) for _ in range(3)]
        with pytest.raises(Busy, match="3 computations are already waiting"):
            pool.submit("models", {})
        release.set()
        assert [future.result(60) for future in waiting] == ["done"] * 3
        assert pool.submit("models", {}).result(60) == "done"
    finally:
        release.set()
        pool.close()


def test_a_job_that_waited_too_long_is_not_begun(monkeypatch):
    monkeypatch.setattr(limits, "WAIT_SECONDS", -1.0)
    pool = Pool(workers=1)
    try:
        with pytest.raises(Busy, match="for its turn"):
            pool.submit("models", {}).result(60)
        assert not _processes(pool)
    finally:
        pool.close()


def test_closing_ends_the_processes_even_at_work():
    pool = Pool({"model": "imdb", "data": None}, workers=1)
    pool.submit("models", {}).result(300)
    (process,) = _processes(pool)
    busy = pool.submit(SLOW, {}, seconds=300)
    _wait_until_working(pool)
    pool.close()
    _wait_until_gone(process.pid)
    assert isinstance(busy.exception(60), Broken)
    with pytest.raises(Busy, match="shutting down"):
        pool.submit("models", {})


def test_preparing_starts_a_worker_that_is_ready():
    pool = Pool({"model": "imdb", "data": None}, workers=1)
    try:
        pool.prepare("explain")
        assert pool.submit("models", {}).result(300).status == 200
        assert pool.workers[0].warmed == {"explain", "models"}
    finally:
        pool.close()


def test_workers_end_when_the_server_is_killed():
    script = (
        "import time; from hardmax.web.pool import Pool\n"
        "if __name__ == '__main__':\n"
        "    pool = Pool({'model': 'imdb-words', 'data': None}, workers=1)\n"
        "    pool.submit('models', {}).result(300)\n"
        "    print(pool.workers[0].pid, flush=True)\n"
        "    time.sleep(300)\n"
    )
    server = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    worker = Path(f"/proc/{int(server.stdout.readline())}/stat")
    assert worker.exists()
    server.kill()
    server.communicate()
    deadline = time.monotonic() + 30
    while worker.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not worker.exists()


def test_answers_come_while_another_process_compiles_in_the_background(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # nothing is compiled yet
    monkeypatch.setattr(limits, "COMPILE_AFTER_SECONDS", 0.0)
    pool = Pool(workers=1)
    try:
        assert not pool.compiling
        pool.compile()
        assert pool.compiling
        answer = pool.submit("limit", {"tokens": [[1.0, 0.0], [0.5, 0.1]], "alpha": 0.5}).result(300)
        assert answer.json()["verified"]
        assert pool.compiling
        assert not list(tmp_path.rglob("fused.run_clouds-*.nbi"))  # the answer did not wait for it
    finally:
        pool.close()
    for _ in range(600):
        if not pool.compiling:
            break
        time.sleep(0.1)
    assert not pool.compiling  # its process has ended with the pool


def test_what_is_compiled_is_not_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    store(tmp_path, "fused.run_clouds")
    pool = Pool(workers=1)
    pool.compile()
    assert not pool.compiling
    pool.close()
