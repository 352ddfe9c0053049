"""Commands on a bad day: no HOME, a locale that is not UTF-8, closed pipes, signals, places without access."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from hardmax.scale.label_files import PART
from hardmax.sentiment.files import save_model
from tiny_models import two_classes

TEXTS = ["great film", "so dull \u4e2d\u6587 \U0001f600", "tr\u00e8s fine"]
PLAIN = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad-days")
    save_model(two_classes(), folder / "model")
    save_model(two_classes(layers=0), folder / "quick")
    lines = "".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in TEXTS)
    (folder / "texts.jsonl").write_text(lines, encoding="utf-8")
    many = "".join(json.dumps({"text": f"great film {k}"}) + "\n" for k in range(2 * PART + 1))
    (folder / "many.jsonl").write_text(many)
    return folder


def _words(place, *words, model="model"):
    return [sys.executable, "-m", "hardmax", "predict", str(place / model), *map(str, words)]


def _without(*names, **more):
    return {k: v for k, v in os.environ.items() if k not in names} | more


def test_without_home_and_utf_8_the_answers_are_the_same(place):
    usual = subprocess.run(_words(place, place / "texts.jsonl", "--with-text"), capture_output=True, timeout=120)
    odd = subprocess.run(_words(place, place / "texts.jsonl", "--with-text"), capture_output=True, timeout=120,
                         env=_without("HOME", "XDG_CACHE_HOME", "LC_CTYPE", **PLAIN))  # fmt: skip
    assert (usual.returncode, odd.returncode) == (0, 0), odd.stderr
    assert b"Traceback" not in odd.stderr
    assert [line.split(b"\t")[:2] for line in odd.stdout.splitlines()] == [
        line.split(b"\t")[:2] for line in usual.stdout.splitlines()
    ]


@pytest.mark.parametrize("to", ["/proc/labels", "texts.jsonl/labels"])
def test_a_folder_that_cannot_be_made_is_one_clear_error(place, to):
    done = subprocess.run(_words(place, place / "texts.jsonl", "-o", place / to), capture_output=True, text=True)
    assert done.returncode == 3
    assert to.rpartition("/")[0] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_that_can_be_resumed(place, tmp_path, number):
    words = _words(place, place / "many.jsonl", "-o", tmp_path / "out", "-q", model="quick")
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("out/part-*")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    said = process.communicate(timeout=120)[1]
    assert process.returncode in (0, 130, -number, 128 + number)
    assert "Traceback" not in said
    subprocess.run([*words, "--resume"], check=True, timeout=300)
    assert len(list((tmp_path / "out").glob("part-*"))) == 3
    assert not list((tmp_path / "out").glob(".*"))


def test_a_reader_that_closes_the_pipe_gives_no_error(place):
    words = _words(place, place / "many.jsonl", "-q")  # without the notice of a compilation, but not without errors
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 0
    assert said == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("words", [["explain", "--text", "good"], ["limit", "--preset", "cube", "--json"]])
def test_output_that_cannot_be_written_is_one_clear_error(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hardmax", *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert (done.returncode, done.stderr) == (3, "error: the output cannot be written: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the streams")
@pytest.mark.parametrize(("words", "code"), [("explain --text good >&-", 0), ("limit - <&-", 3)])
def test_streams_may_be_closed(words, code):
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m hardmax {words}", shell=True, stderr=subprocess.PIPE, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    assert "bug" not in done.stderr


def test_a_clock_that_goes_back_changes_nothing(tmp_path, monkeypatch):
    from hardmax.sentiment.estimator import HardmaxClassifier

    texts, labels = ["great film", "so dull", "fine plot", "dull plot"] * 15, [1, 0, 1, 0] * 15
    usual = HardmaxClassifier(layers=1, epochs=2).fit(texts, labels)
    now = iter(range(10**9, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: float(next(now)))
    checkpoint = tmp_path / "c.npz"
    assert HardmaxClassifier(layers=1, epochs=2).fit(texts, labels, checkpoint=checkpoint) == usual
    os.utime(checkpoint, (2**33, 2**33))  # a file from the future
    assert HardmaxClassifier(layers=1, epochs=2).fit(texts, labels, checkpoint=checkpoint, resume=True) == usual
