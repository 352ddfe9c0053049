"""Run computations in separate processes: one that takes too long is stopped, and nothing else waits for it.

The server's own process does no mathematics, so a computation never holds up pages and other responses.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any

from hardmax.attention.small import is_stored as small_clouds_are_compiled
from hardmax.errors import HardmaxError
from hardmax.web import jobs, limits


class TooSlow(HardmaxError):
    """A computation took longer than its time limit."""


class Busy(HardmaxError):
    """Too many computations are already waiting."""


class Broken(HardmaxError):
    """A process ended without an answer."""


class NotReady(HardmaxError):
    """No process was ready for a computation in time, because the machine is overloaded or still starting."""


def _ended() -> Broken:
    return Broken("the computation ended without an answer", fix="use fewer tokens or layers, or try again")


class Worker:
    """One process that computes. It starts with its first job, and again after it has ended."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.setup = setup
        self.warmed: set[str] = set()
        self.closed = False
        self.pid: int | None = None
        self._executor: ProcessPoolExecutor | None = None

    def ask(self, job: str, body: dict[str, Any], seconds: float) -> jobs.Answer:
        """Answer one request. The first of its kind may compile kernels before its time begins to run.

        Raises:
            TooSlow: there was no answer in time; the process has been ended.
            Broken: the process ended by itself.
            NotReady: no process could be started, or it did not get ready in time.
        """
        self.warm(job, seconds)
        return self._run(job, body, seconds)

    def warm(self, job: str, seconds: float = 0.0) -> None:
        """Start the process if needed, and let it compile and read what a job needs, once, in as much time."""
        try:
            self._start()
            if job not in self.warmed:
                self._run("warm", {"job": job}, max(limits.START_SECONDS, seconds))
                self.warmed.add(job)
        except (BrokenProcessPool, OSError, TooSlow):  # TimeoutError is an OSError
            self.end()
            if self.closed:
                raise _ended() from None
            message = "no process for computations could be started in time"
            raise NotReady(message, fix="try again in a moment") from None

    def _run(self, job: str, body: dict[str, Any], seconds: float) -> jobs.Answer:
        try:
            if self.closed or self._executor is None:
                raise BrokenProcessPool  # Ctrl-C
            return self._executor.submit(jobs.answer, job, body).result(seconds)
        except TimeoutError:
            self.end()
            message = f"the computation took longer than {seconds:g} seconds"
            raise TooSlow(message, fix="use fewer tokens or layers") from None
        except BrokenProcessPool:
            self.end()
            raise _ended() from None

    def _start(self) -> None:
        """Do nothing if the process answers; else start one."""
        if self.closed:
            return
        if self._executor is not None:
            try:
                self._executor.submit(os.getpid).result(limits.START_SECONDS)
                return
            except BrokenProcessPool:  # it ended while it had nothing to do
                self.end()
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(1, context, jobs.start, (self.setup,))
        self.warmed = set()
        started = self._executor.submit(os.getpid)
        self.pid = next(iter(self._executor._processes or ()), None)  # known before it answers, so that it can be ended
        started.result(limits.START_SECONDS)

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        for process in multiprocessing.active_children():
            if process.pid == self.pid:
                process.kill()

    def end(self) -> None:
        """End the process; the next job starts another."""
        self.kill()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self.pid = None


class Pool:
    """A few workers, started when first needed; one that is warm is asked before one that is not.

    Args:
        setup: what every worker is told when it starts: {"model": ..., "data": ...}.
        workers: how many computations run at a time.
        waiting: how many may run or wait.
    """

    def __init__(
        self, setup: dict[str, Any] | None = None, workers: int = limits.WORKERS, waiting: int = limits.WAITING
    ) -> None:
        self.setup = setup or {}
        self.waiting = waiting
        self.workers = [Worker(self.setup) for _ in range(workers)]
        self._idle = list(self.workers)  # as many as threads, so it is never empty where it is used
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="hardmax-worker")
        self._room = threading.Semaphore(waiting)
        self._closed = False
        self._stopping = threading.Event()
        self._compiler: Worker | None = None

    def submit(self, job: str, body: dict[str, Any], seconds: float = limits.WORK_SECONDS) -> Future[jobs.Answer]:
        """Ask for a computation; the future gives its answer, or raises TooSlow, Busy, Broken or NotReady.

        Raises:
            Busy: too many are already waiting.
        """
        if self._closed:
            raise Busy("the server is shutting down")
        if not self._room.acquire(blocking=False):
            raise Busy(f"{self.waiting} computations are already waiting", fix="try again in a moment")
        future = self._threads.submit(self._run, job, body, seconds, time.monotonic())
        future.add_done_callback(lambda _: self._room.release())
        return future

    def _run(self, job: str, body: dict[str, Any], seconds: float, asked: float) -> jobs.Answer:
        waited = time.monotonic() - asked
        if waited > limits.WAIT_SECONDS:
            raise Busy(f"the computation waited {waited:.0f} seconds for its turn", fix="try again in a moment")
        with self._borrowed() as worker:
            return worker.ask(job, body, seconds)

    @contextmanager
    def _borrowed(self) -> Iterator[Worker]:
        worker = self._idle.pop()
        try:
            yield worker
        finally:
            self._idle.append(worker)

    def prepare(self, *names: str) -> None:
        """Start one worker in the background and let it get ready for these jobs."""

        def ready() -> None:
            # If it fails, the first request tries again and says what is wrong.
            with self._borrowed() as worker, suppress(HardmaxError):
                for job in names:
                    worker.warm(job)

        self._threads.submit(ready)

    @property
    def compiling(self) -> bool:
        """Whether a process is compiling in the background."""
        return self._compiler is not None

    def compile(self) -> None:
        """Let a further process compile what the page asks for in the background, unless that has been done before.

        The workers need no compiled code to answer; later processes find it on disk.
        """
        if small_clouds_are_compiled():
            return
        self._compiler = compiler = Worker(self.setup)

        def run() -> None:
            # The first answers come first.
            if not self._stopping.wait(limits.COMPILE_AFTER_SECONDS):
                with suppress(HardmaxError):
                    compiler.ask("compile", {}, limits.COMPILE_SECONDS)
                compiler.end()
            self._compiler = None

        threading.Thread(target=run, name="hardmax-compiler", daemon=True).start()

    def stop(self) -> None:
        """End all computations, running or waiting: their futures raise Broken. May be called by a signal handler."""
        self._closed = True
        self._stopping.set()
        for worker in [*self.workers, *([self._compiler] if self._compiler else [])]:
            worker.closed = True
            worker.kill()

    def close(self) -> None:
        """End all workers; what they compute is lost."""
        self.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self.workers:
            worker.end()
