"""`hardmax explore`: questions by name, evidence in a folder, resuming, replaying, exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from hardmax.cli.main import run
from hardmax.errors import MissingExtra
from hardmax.experiments.questions import definite_heads, matrices, runner
from hardmax.experiments.questions.batches import Run
from hardmax.experiments.questions.cases import load, stored
from hardmax.experiments.questions.evidence import Evidence
from hardmax.experiments.questions.registry import QUESTIONS


@pytest.fixture
def cli(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as stop:
            run(["explore", *map(str, words)])
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call


@pytest.fixture(autouse=True)
def small(monkeypatch, request):
    if "into_a_folder" not in request.node.name:  # pictures are drawn once: they take most of the time
        monkeypatch.setattr(Evidence, "_pictures", lambda self, folder: [])
    quick = replace(matrices.Setting.quick(), trials=3, dims=(2,), run=Run(layers=20))
    monkeypatch.setattr(matrices.Setting, "quick", staticmethod(lambda: quick))


def test_a_question_is_explored_into_a_folder(cli, tmp_path):
    code, out, err = cli("matrices", "--quick", "-o", tmp_path / "e")
    assert code == 0
    assert out.startswith("matrices (")
    assert "exploring" in err
    names = {path.name for path in (tmp_path / "e").iterdir()}
    assert names >= {"matrices.json", "matrices.md", "matrices-fates.csv", "matrices-one-point.png", "answers.md"}
    assert "square-collapses-to-zero.json" in names
    assert not any(name.startswith(".") for name in names)
    evidence = json.loads((tmp_path / "e" / "matrices.json").read_text())
    assert evidence["source"]["seed"] == 0
    assert {"version", "machine", "packages"} <= set(evidence["source"])


def test_json_is_one_document_and_nothing_else(cli, tmp_path):
    code, out, err = cli("matrices", "--quick", "--trials", 2, "--seed", 5, "-o", tmp_path, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "hardmax.explore/1"
    (question,) = document["questions"]
    assert question["name"] == "matrices"
    assert question["settings"]["trials"] == 2
    assert document["source"]["seed"] == 5


def test_a_finished_question_is_kept_and_other_settings_need_force(cli, tmp_path):
    assert cli("matrices", "--quick", "-o", tmp_path, "-q")[0] == 0
    code, out, _ = cli("matrices", "--quick", "-o", tmp_path, "-q")
    assert code == 0
    assert "kept from an earlier run" in out
    code, _, err = cli("matrices", "--quick", "--seed", 1, "-o", tmp_path, "-q")
    assert code == 3
    assert "other settings" in err
    code, out, _ = cli("matrices", "--quick", "--seed", 1, "-o", tmp_path, "-q", "--force")
    assert code == 0
    assert "kept" not in out


def test_questions_and_cases_are_listed(cli):
    code, out, _ = cli("--list")
    assert code == 0
    for name in (*QUESTIONS, *stored()):
        assert name in out
    document = json.loads(cli("--list", "--json")[1])
    assert [q["name"] for q in document["questions"]] == list(QUESTIONS)


def test_an_unknown_question_is_bad_input(cli, tmp_path):
    code, _, err = cli("metaphysics", "-o", tmp_path)
    assert code == 3
    assert "no question 'metaphysics'" in err
    assert "definite-heads" in err


def test_a_file_in_place_of_the_folder_is_bad_input(cli, tmp_path):
    (tmp_path / "f").write_text("")
    code, _, err = cli("matrices", "--quick", "-o", tmp_path / "f")
    assert code == 3
    assert "is a file" in err


def test_every_stored_case_is_replayed(cli):
    code, out, _ = cli("--replay", "all")
    assert code == 0
    assert out.count(": holds") == len(stored())


def test_a_corrupted_case_exits_6(cli, tmp_path):
    case, _ = load("one-head-period-3")
    path = case.save(tmp_path / "case.json")
    assert cli("--replay", path)[0] == 0
    document = json.loads(path.read_text())
    document["tokens"][6][0] = "-32/33"
    path.write_text(json.dumps(document))
    code, out, _ = cli("--replay", path, "--json")
    assert code == 6
    (result,) = json.loads(out)["cases"]
    assert result["holds"] is False
    assert "layer 3 is not layer 0" in result["wrong"]
    path.write_text(path.read_text()[:200])
    assert cli("--replay", path)[0] == 3


def test_replay_takes_no_question(cli):
    assert cli("matrices", "--replay", "all")[0] == 2


def test_a_missing_extra_leaves_the_other_questions(cli, tmp_path, monkeypatch):
    def explore(**options):
        raise MissingExtra("torch", "torch", "the feed-forward experiment")

    monkeypatch.setattr(runner.module("feed-forward"), "explore", explore)
    code, out, err = cli("feed-forward", "matrices", "--quick", "-o", tmp_path)
    assert code == 7
    assert "matrices (" in out
    assert 'pip install "hardmax[torch]"' in err
    assert "Not run" in (tmp_path / "answers.md").read_text()
    assert cli("feed-forward", "--quick", "-o", tmp_path / "b")[0] == 4


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
    assert not (folder / "matrices.json").exists()


def test_the_answers_of_python_and_the_command_line_agree(cli, tmp_path):
    report = runner.run(["matrices"], tmp_path / "p", quick=True)
    document = json.loads(cli("matrices", "--quick", "-o", tmp_path / "c", "--json")[1])
    assert document["questions"][0]["tables"] == report.document()["questions"][0]["tables"]
    assert definite_heads.FOUND in stored()
