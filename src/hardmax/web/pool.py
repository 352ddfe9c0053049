"""Computations in processes of their own: one that takes too long is ended, and nothing else waits for it.

A worker is `python -m hardmax.web.worker`: a line of JSON in, a line out ("200 {...}"). The server's own process does
no mathematics, so that pages and other answers go on whatever a computation does.
"""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from hardmax.errors import HardmaxError
from hardmax.web import limits


class TooSlow(HardmaxError):
    """A computation took longer than its time limit."""


class Busy(HardmaxError):
    """Too many computations wait already."""


class Broken(HardmaxError):
    """A worker ended without an answer."""


class Answer:
    """What a worker said: an HTTP status and the text of a JSON document."""

    def __init__(self, line: bytes) -> None:
        status, _, self.text = line.rstrip(b"\n").partition(b" ")
        self.status = int(status)

    def json(self) -> Any:
        """The document."""
        return json.loads(self.text)


class Worker:
    """One process that computes."""

    def __init__(self, setup: dict[str, Any]) -> None:
        # A session of its own: Ctrl-C in the terminal is for the server, which then ends its workers.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hardmax.web.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.expired = False
        self.warmed: set[str] = set()
        self._exchange("setup", setup, limits.START_SECONDS)

    def ask(self, job: str, body: dict[str, Any], seconds: float) -> Answer:
        """The answer to one request. The first of its kind may compile kernels before its time begins to run.

        Raises:
            TooSlow: no answer in time; the process has been ended.
            Broken: the process has ended by itself.
        """
        self.warm(job)
        return self._exchange(job, body, seconds)

    def warm(self, job: str) -> None:
        """Compile and read what a job needs, once."""
        if job not in self.warmed:
            self._exchange("warm", {"job": job}, limits.START_SECONDS)
            self.warmed.add(job)

    def _exchange(self, job: str, body: dict[str, Any], seconds: float) -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        watch = threading.Timer(seconds, self._expire)
        watch.daemon = True
        watch.start()
        try:
            self.process.stdin.write(json.dumps({"job": job, "body": body}).encode() + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:  # the other end is gone
            line = b""
        finally:
            watch.cancel()
        if not line.endswith(b"\n"):
            self.end()
            if self.expired:
                raise TooSlow(f"the computation took longer than {seconds:g} seconds", fix="fewer tokens or layers")
            raise Broken("the computation ended without an answer", fix="fewer tokens or layers, or try again")
        return Answer(line)

    def _expire(self) -> None:
        self.expired = True
        self.process.kill()

    @property
    def alive(self) -> bool:
        """Whether it can take another request."""
        return not self.expired and self.process.poll() is None

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # what was still to be written has no reader any more
                pass
        self.process.wait()


class Pool:
    """A few workers, started when first needed.

    Args:
        setup: what every worker is told at its start: {"model": ..., "data": ...}.
        workers: how many computations run at one time.
        waiting: how many may wait.
    """

    def __init__(
        self, setup: dict[str, Any] | None = None, workers: int = limits.WORKERS, waiting: int = limits.WAITING
    ) -> None:
        self.setup = setup or {}
        self.waiting = waiting
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="hardmax-worker")
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._pending = 0
        self._closed = False

    def submit(self, job: str, body: dict[str, Any], seconds: float = limits.WORK_SECONDS) -> Future[Answer]:
        """Ask for a computation; the future gives its answer, or raises TooSlow, Busy or Broken.

        Raises:
            Busy: too many wait already.
        """
        with self._lock:
            if self._pending >= self.waiting or self._closed:
                raise Busy(f"{self._pending} computations are waiting already", fix="try again in a moment")
            self._pending += 1
        future = self._threads.submit(self._run, job, body, seconds, time.monotonic())
        future.add_done_callback(self._one_less)
        return future

    def prepare(self, *jobs: str) -> None:
        """Start a worker in the background and let it get ready for these jobs."""

        def ready() -> None:
            worker = self._take()
            try:
                for job in jobs:
                    worker.warm(job)
            except HardmaxError:
                pass  # the first request will try again, and say what is wrong
            finally:
                self._give_back(worker)

        self._threads.submit(ready)

    def _one_less(self, future: Future[Answer]) -> None:
        with self._lock:
            self._pending -= 1

    def _run(self, job: str, body: dict[str, Any], seconds: float, asked: float) -> Answer:
        waited = time.monotonic() - asked
        if waited > limits.WAIT_SECONDS:
            raise Busy(f"the computation waited {waited:.0f} seconds for its turn", fix="try again in a moment")
        worker = self._take()
        try:
            return worker.ask(job, body, seconds)
        finally:
            self._give_back(worker)

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            if worker.alive and not self._closed:
                self._idle.append(worker)
                return
            self._all.discard(worker)
        worker.end()

    def _take(self) -> Worker:
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                break
            if worker.alive:
                return worker
            self._give_back(worker)  # which clears away what is dead
        worker = Worker(self.setup)
        with self._lock:
            self._all.add(worker)
        return worker

    def close(self) -> None:
        """End all workers; what they compute is lost."""
        with self._lock:
            self._closed = True
            everyone, self._idle, self._all = set(self._all), [], set()
        for worker in everyone:
            worker.process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in everyone:
            worker.end()
