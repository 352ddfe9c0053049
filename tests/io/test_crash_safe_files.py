"""Files and folders appear complete, or the old ones stay."""

import os
from pathlib import Path

import pytest

from hardmax.errors import BadInput
from hardmax.io.files import new_folder, recover_folder, write_file

CONFIG = '{"schema": "hardmax.test/1", "age": "old"}'


@pytest.fixture
def folder(tmp_path):
    with new_folder(tmp_path / "model") as beside:
        (beside / "config.json").write_text(CONFIG)
    return tmp_path / "model"


def _replace_while(folder, monkeypatch, fail):
    """Replace the folder while the `fail`-th call of os.replace is interrupted."""
    calls, real = [], os.replace

    def replace(source, target):
        calls.append(source)
        if len(calls) == fail:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt), new_folder(folder) as beside:
        (beside / "config.json").write_text(CONFIG.replace("old", "new"))
    monkeypatch.undo()


@pytest.mark.parametrize("fail", [1, 2])
def test_an_interrupted_replacement_leaves_the_old_folder(folder, monkeypatch, fail):
    _replace_while(folder, monkeypatch, fail)
    assert (folder / "config.json").read_text() == CONFIG
    assert os.listdir(folder.parent) == ["model"]


def test_a_kill_between_the_two_renames_is_undone_at_the_next_look(folder):
    os.replace(folder, folder.with_name(".model.replaced"))  # what is left by a process that is killed there
    recover_folder(folder)
    assert (folder / "config.json").read_text() == CONFIG
    assert os.listdir(folder.parent) == ["model"]


def test_the_current_folder_is_recovered_by_its_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    old = folder.with_name(".model.replaced")
    old.mkdir()
    recover_folder(Path("."))
    assert not old.exists()
    assert (folder / "config.json").read_text() == CONFIG


def test_a_kill_after_the_second_rename_keeps_the_new_folder(folder):
    old = folder.with_name(".model.replaced")
    old.mkdir()
    (old / "config.json").write_text("older still")
    recover_folder(folder)
    assert (folder / "config.json").read_text() == CONFIG
    assert not old.exists()


@pytest.mark.parametrize("content", ["{}", '{"schema": "theirs/1"}', "no json", "[1]"])
def test_folders_of_others_are_not_replaced(tmp_path, content):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "config.json").write_text(content)
    with pytest.raises(BadInput, match="not written by hardmax"), new_folder(tmp_path / "theirs"):
        pass
    assert (tmp_path / "theirs" / "config.json").read_text() == content


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "empty").mkdir()
    with new_folder(tmp_path / "empty") as beside:
        (beside / "x").write_text("x")
    assert (tmp_path / "empty" / "x").read_text() == "x"


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = write_file(tmp_path / "x.txt", "old")

    def fails(to):
        to.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, fails)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]
