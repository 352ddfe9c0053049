"""Faults in the middle of every write: whatever step fails, nothing that was there is lost, and the error is clear.

The file layer is made to fail without changing it: an audit hook of the interpreter sees every file that is opened for
writing and every rename, removal and new folder, and can refuse the k-th of them, or end the process there as a kill
would. A limit on the size of files stops the writes themselves, also those of libraries that are not Python.
"""

import errno
import os
import resource
import shutil
import signal
import sys

import pytest

import hardmax as hx
from hardmax.errors import BadInput
from hardmax.io.files import write_file
from hardmax.io.resumable import begin_or_resume
from hardmax.scale.label_files import label_table, write_parts
from hardmax.scale.labels import Wanted, label_batch
from hardmax.scale.run import read_rows, run_sweep, write_part
from hardmax.sentiment.explain import explain
from hardmax.sentiment.export.javascript import export_javascript
from hardmax.sentiment.files import load_model, save_model
from hardmax.sentiment.training_loop import read_checkpoint, write_checkpoint
from hardmax.text.tables import Row
from tiny_models import two_classes

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


class Layer:
    """Counts the steps that change files in a folder, and fails at one of them."""

    def __init__(self):
        self.folder, self.fail_at, self.steps, self.how = None, None, 0, None

    def hook(self, event, arguments):
        if self.folder is None or not (event in CHANGES or (event == "open" and self._writes(arguments))):
            return
        if not str(arguments[0]).startswith(self.folder):
            return
        self.steps += 1
        if self.steps == self.fail_at:
            if self.how is None:
                os._exit(9)
            raise self.how

    @staticmethod
    def _writes(arguments):
        _, mode, flags = arguments
        return any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool((flags or 0) & WRITES)

    def run(self, work, folder, fail_at=None, how=None):
        """Do some work, and count its steps; the step `fail_at` raises `how`, or ends the process if that is None.

        Returns the number of steps, and the error in which it ended.
        """
        self.folder, self.fail_at, self.how, self.steps = str(folder), fail_at, how, 0
        try:
            work()
        except BadInput as error:
            return self.steps, str(error)
        finally:
            self.folder = None
        return self.steps, None


LAYER = Layer()
sys.addaudithook(LAYER.hook)  # it stays for the life of the interpreter, and does nothing outside `run`

Z = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2], [0.3, 0.3]]
RECORDS = [[{"id": 1, "label": "a", "probability": 0.5}, {"id": "x", "label": "b", "probability": 0.75}]]
TABLE = label_table(["id", "label", "probability"], ["a", "b"])


def _labels(path):
    return write_file(path, lambda to: TABLE.write(to, RECORDS))


# name -> (name of the output, a function that writes it)
WRITERS = {
    "model": ("model", lambda p: save_model(two_classes(), p)),
    "network": ("net", lambda p: hx.construct([[[0, 1], [1, 0]], [[2, 2]]], ["a", "b"]).save(p)),
    "trajectory.npz": ("t.npz", lambda p: hx.simulate(Z, layers=3).save(p)),
    "trajectory.json": ("t.json", lambda p: hx.simulate(Z, layers=3).save(p)),
    "limit.npz": ("e.npz", lambda p: hx.limit(Z).save(p)),
    "limit.html": ("e.html", lambda p: hx.limit(Z).save(p)),
    "explanation.html": ("x.html", lambda p: explain(two_classes(), "a great film").save(p)),
    "labels.csv": ("l.csv", _labels),
    "labels.jsonl": ("l.jsonl", _labels),
    "labels.parquet": ("l.parquet", _labels),
    "sweep part": ("p.parquet", lambda p: write_part({"run": [1], "seed": [2]}, "dynamics", p)),
    "checkpoint": ("c.npz", lambda p: write_checkpoint(p, {"x": [1.0, 2.0]}, "mark")),
    "javascript": ("js", lambda p: export_javascript(two_classes(), p)),
}


def contents(path):
    """All bytes under a path, by name."""
    if path.is_file():
        return path.read_bytes()
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


@pytest.fixture(params=WRITERS)
def written(request, tmp_path):
    """An output that is there already, marked as the old one, and how to write it anew."""
    name, write = WRITERS[request.param]
    path = tmp_path / name
    write(path)
    new = contents(path)
    mark = path if path.is_file() else path / "mark.txt"
    mark.write_bytes(b"old")
    return path, write, contents(path), new


def test_at_whatever_step_a_write_fails_the_old_output_stays_and_the_error_is_clear(written):
    path, write, old, new = written
    step = 1
    while True:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done, error = LAYER.run(lambda: write(path), path.parent, step, full)
        if done < step:
            break
        assert error is None or (path.name in error and "No space left on device" in error)
        now = contents(path)
        assert now in (old, new)
        # The old folder, if only its removal failed; the next write removes it.
        spare = {f".{path.name}.replaced"} if now == new else set()
        assert {p.name for p in path.parent.iterdir()} - spare == {path.name}
        step += 1
    assert step > 2
    assert contents(path) == new


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_the_old_output_or_the_new_one(written):
    path, write, old, new = written
    steps, _ = LAYER.run(lambda: write(path.with_name("other" + path.suffix)), path.parent)
    write(path)  # so that the child has nothing to import or to compile
    for step in range(1, steps + 3):
        (path if path.is_file() else path / "mark.txt").write_bytes(b"old")
        child = os.fork()
        if child == 0:
            try:
                LAYER.run(lambda: write(path), path.parent, step)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        if path.is_dir() or not path.exists():
            from hardmax.io.files import recover_folder

            recover_folder(path)
        assert contents(path) in (old, new)
        write(path)
        assert contents(path) == new


def test_a_disk_that_is_full_in_the_middle_of_a_file_leaves_the_old_output(written):
    path, write, old, new = written
    sizes = [len(new)] if isinstance(new, bytes) else [len(data) for data in new.values()]
    usual, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for limit in sorted({0, 1, max(sizes) // 2, max(sizes) - 1}):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            with pytest.raises(BadInput, match="cannot be written"):
                write(path)
            resource.setrlimit(resource.RLIMIT_FSIZE, (usual, hard))
            assert contents(path) == old
            assert sorted(p.name for p in path.parent.iterdir()) == [path.name]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (usual, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_the_outputs_that_were_written_can_be_read(tmp_path):
    for name in ("model", "network", "trajectory.npz", "limit.npz", "checkpoint"):
        file, write = WRITERS[name]
        write(tmp_path / file)
    assert load_model(tmp_path / "model") == two_classes()
    assert hx.Network.load(tmp_path / "net")([[[2.0, 2.0]]]) == ["b"]
    assert hx.Trajectory.load(tmp_path / "t.npz") == hx.simulate(Z, layers=3)
    assert hx.Equilibrium.load(tmp_path / "e.npz") == hx.limit(Z)
    assert read_checkpoint(tmp_path / "c.npz", "mark")["x"].tolist() == [1.0, 2.0]


ROWS = [((0, k), Row("great film", None, None, k)) for k in range(25)]
WANTED = Wanted("imdb-words")


def _parts(folder):
    def begin(after, done):
        return [label_batch([row for row in ROWS if row[0] > after], WANTED)]

    write_parts(folder, begin, WANTED, TABLE, "here", True, 10)


def _sweep(folder):
    from hardmax.scale.config import read_sweep

    run_sweep(read_sweep({"sweep": {"seeds": 2}, "grid": {"n": [5, 6]}}), folder, resume=True)


@pytest.mark.parametrize("work", [_parts, _sweep])
def test_a_folder_of_parts_continues_after_a_fault_at_any_step(work, tmp_path):
    whole = tmp_path / "whole"
    steps, _ = LAYER.run(lambda: work(whole), tmp_path)
    assert steps > 5
    for step in range(1, steps + 1):
        folder = tmp_path / "out"
        fault = OSError(errno.EIO, os.strerror(errno.EIO))
        _, error = LAYER.run(lambda to=folder: work(to), tmp_path, step, fault)
        assert error is None or "cannot be" in error
        work(folder)
        assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in whole.iterdir())
        if work is _parts:
            assert contents(folder) == contents(whole)
        else:
            one, other = (read_rows(f).drop_columns(["seconds"]) for f in (folder, whole))
            assert one == other
        shutil.rmtree(folder)


@pytest.mark.parametrize("work", [_parts, _sweep, lambda f: save_model(two_classes(), f / "m")])
def test_a_place_that_cannot_be_written_to_is_named(work, tmp_path):
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(BadInput, match="file"):
        work(tmp_path / "file" / "out")


def test_two_writers_of_one_file_leave_one_of_the_two_results(tmp_path):
    path, texts = tmp_path / "a.txt", [b"a" * 400_000, b"b" * 400_000]
    children = []
    for text in texts:
        child = os.fork()
        if child == 0:
            for _ in range(30):
                write_file(path, text)
            os._exit(0)
        children.append(child)
    seen = set()
    while children:
        if path.exists():
            seen.add(path.read_bytes())
        children = [c for c in children if os.waitpid(c, os.WNOHANG)[0] == 0]
    assert seen <= set(texts)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_second_run_in_the_same_folder_is_refused_while_the_first_is_at_work(tmp_path):
    folder, manifest = tmp_path / "out", {"digest": "x"}
    with begin_or_resume(folder, "m.json", manifest, "sweep", False):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with begin_or_resume(folder, "m.json", manifest, "sweep", True):
                    code = 2
            except BadInput as error:
                code = 0 if "is being written by another process" in str(error) else 3
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
    with begin_or_resume(folder, "m.json", manifest, "sweep", True):
        pass
