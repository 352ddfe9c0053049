"""`hardmax explore`: questions by name, evidence in a folder, resuming, replaying, exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from hardmax.experiments.context import Context
from hardmax.experiments.item import items
from hardmax.experiments.questions.cases import load, stored
from hardmax.experiments.questions.cycles import FOUND
from hardmax.experiments.run import RECORD, run_items

QUESTIONS = {item.name: item for item in items("questions")}


@pytest.fixture
def explore(cli):
    return partial(cli, "explore")


@pytest.fixture(autouse=True)
def small(monkeypatch, request):
    if "into_a_folder" not in request.node.name:  # pictures are drawn once: they take most of the time
        monkeypatch.setattr(Context, "figure", lambda self, *_, **__: None)
    for name, value in {"trials": 3, "dims": (2,), "layers": 20}.items():
        monkeypatch.setitem(QUESTIONS["matrices"].quick, name, value)


def test_a_question_is_explored_into_a_folder(explore, tmp_path):
    code, out, err = explore("matrices", "--quick", "-o", tmp_path / "e")
    assert code == 0
    assert out.startswith("matrices (")
    assert "running 1 of the open questions" in err
    names = {path.name for path in (tmp_path / "e" / "matrices").iterdir()}
    assert names == {RECORD, "fates.csv", "one-point.png", "one-point.pdf", "square-collapses-to-zero.json"}
    assert {"report.html", "report.md"} <= {path.name for path in (tmp_path / "e").iterdir()}
    evidence = json.loads((tmp_path / "e" / "matrices" / RECORD).read_text())
    assert evidence["provenance"]["seed"] == 0
    assert {"version", "machine", "packages"} <= set(evidence["provenance"])


def test_json_is_one_document_and_nothing_else(explore, tmp_path):
    code, out, err = explore("matrices", "--quick", "--trials", 2, "--seed", 5, "-o", tmp_path, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "hardmax.explore/1"
    (question,) = document["questions"]
    assert question["name"] == "matrices"
    assert question["settings"]["trials"] == 2
    assert document["source"]["seed"] == 5


@pytest.mark.slow
def test_a_finished_question_is_kept_and_other_settings_need_force(explore, tmp_path):
    assert explore("matrices", "--quick", "-o", tmp_path, "-q")[0] == 0
    code, out, _ = explore("matrices", "--quick", "-o", tmp_path, "-q")
    assert code == 0
    assert "kept from an earlier run" in out
    code, _, err = explore("matrices", "--quick", "--seed", 1, "-o", tmp_path, "-q")
    assert code == 3
    assert "other settings" in err
    code, out, _ = explore("matrices", "--quick", "--seed", 1, "-o", tmp_path, "-q", "--force")
    assert code == 0
    assert "kept" not in out


def test_questions_and_cases_are_listed(explore):
    code, out, _ = explore("--list")
    assert code == 0
    for name in (*QUESTIONS, *stored()):
        assert name in out
    document = json.loads(explore("--list", "--json")[1])
    assert [q["name"] for q in document["questions"]] == list(QUESTIONS)


def test_an_unknown_question_is_bad_input(explore, tmp_path):
    code, _, err = explore("metaphysics", "-o", tmp_path)
    assert code == 3
    assert "no question 'metaphysics'" in err
    assert "definite-heads" in err


def test_a_file_in_place_of_the_folder_is_bad_input(explore, tmp_path):
    (tmp_path / "f").write_text("")
    code, _, err = explore("matrices", "--quick", "-o", tmp_path / "f")
    assert code == 3
    assert "is a file" in err


def test_every_stored_case_is_replayed(explore):
    code, out, _ = explore("--replay", "all")
    assert code == 0
    assert out.count(": holds") == len(stored())


def test_a_corrupted_case_exits_6(explore, tmp_path):
    case, _ = load("one-head-period-3")
    path = tmp_path / "case.json"
    path.write_text(case.text())
    assert explore("--replay", path)[0] == 0
    document = json.loads(path.read_text())
    document["tokens"][6][0] = "-32/33"
    path.write_text(json.dumps(document))
    code, out, _ = explore("--replay", path, "--json")
    assert code == 6
    (result,) = json.loads(out)["cases"]
    assert result["holds"] is False
    assert "layer 3 is not layer 0" in result["wrong"]
    path.write_text(path.read_text()[:200])
    assert explore("--replay", path)[0] == 3


def test_replay_takes_no_question(explore):
    assert explore("matrices", "--replay", "all")[0] == 2


class _NoTorch:
    """Finds no torch. (None in `sys.modules` would do for us, but scipy looks there for modules.)"""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)


def test_a_missing_extra_leaves_the_other_questions(explore, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_NoTorch, *sys.meta_path])
    code, out, err = explore("feed-forward", "matrices", "--quick", "-o", tmp_path)
    assert code == 7
    assert "matrices (" in out
    assert 'pip install "hardmax[torch]"' in err
    assert "Not made: feed-forward" in (tmp_path / "report.md").read_text()
    assert explore("feed-forward", "--quick", "-o", tmp_path / "b")[0] == 4


def test_an_interrupted_run_goes_on(tmp_path):
    folder = tmp_path / "e"
    words = [sys.executable, "-m", "hardmax", "explore", "matrices", "--trials", "150", "-o", str(folder), "-q"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = folder / ".journal.jsonl"
    while not (journal.exists() and journal.read_text().count("\n") >= 2):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "resume: hardmax explore matrices --trials 150" in err
    assert len(journal.read_text().splitlines()) >= 2
    assert not (folder / "matrices" / RECORD).exists()


def test_the_answers_of_python_and_the_command_line_agree(explore, tmp_path):
    (result,) = run_items([QUESTIONS["matrices"]], quick=True)
    document = json.loads(explore("matrices", "--quick", "-o", tmp_path / "c", "--json")[1])
    assert document["questions"][0]["answer"] == result.outcome.answer
    assert document["questions"][0]["tables"] == {"fates": result.table("fates").records()}
    assert FOUND in stored()
