"""A folder that is filled part by part is continued by the same work only."""

import json

import pytest

from hardmax.errors import BadInput
from hardmax.io.resumable import begin_or_resume as begin


def begin_or_resume(*arguments):
    with begin(*arguments):
        pass


MINE = {"digest": "a"}


def test_a_folder_is_made_continued_or_refused(tmp_path):
    folder = tmp_path / "deep" / "rows"
    begin_or_resume(folder, "m.json", MINE, "sweep", False)
    assert json.loads((folder / "m.json").read_text()) == MINE
    (folder / ".part-000001.77.partial.parquet").write_text("half")
    begin_or_resume(folder, "m.json", MINE, "sweep", True)
    assert [p.name for p in folder.iterdir()] == ["m.json"]
    with pytest.raises(BadInput, match="already exists"):
        begin_or_resume(folder, "m.json", MINE, "sweep", False)
    with pytest.raises(BadInput, match="another sweep"):
        begin_or_resume(folder, "m.json", {"digest": "b"}, "sweep", True)


def test_work_that_fails_before_its_first_part_leaves_nothing(tmp_path):
    def work(folder, *parts):
        with begin(folder, "m.json", MINE, "sweep", False):
            for part in parts:
                (folder / part).write_text("whole")
            raise BadInput("no cluster")

    (tmp_path / "empty").mkdir()
    for folder, *parts in (["new"], ["empty"], ["begun", "part-000000.parquet"]):
        with pytest.raises(BadInput, match="no cluster"):
            work(tmp_path / folder, *parts)
    assert not (tmp_path / "new").exists()
    assert list((tmp_path / "empty").iterdir()) == []
    assert sorted(p.name for p in (tmp_path / "begun").iterdir()) == ["m.json", "part-000000.parquet"]


def test_force_replaces_what_hardmax_has_made_and_nothing_else(tmp_path):
    ours, folder = {"schema": "hardmax.rows/1", "digest": "a"}, tmp_path / "rows"
    for manifest in (ours, ours | {"digest": "b"}):  # the same work again, and another
        begin_or_resume(folder, "m.json", manifest, "sweep", False, True)
        assert [p.name for p in folder.iterdir()] == ["m.json"]
        (folder / "part-000000.parquet").write_text("whole")
    begin_or_resume(folder, "m.json", ours | {"digest": "b"}, "sweep", True, True)  # to continue is to keep
    assert len(list(folder.iterdir())) == 2
    (folder / "m.json").write_text('{"schema": "theirs/1", "digest": "b"}')
    with pytest.raises(BadInput, match="already exists"):
        begin_or_resume(folder, "m.json", {"digest": "b"}, "sweep", False, True)
    assert len(list(folder.iterdir())) == 2


def test_force_does_not_remove_what_another_process_is_filling(tmp_path):
    ours = {"schema": "hardmax.rows/1", "digest": "a"}
    with begin(tmp_path / "rows", "m.json", ours, "sweep", False):
        with pytest.raises(BadInput, match="by another process"):
            begin_or_resume(tmp_path / "rows", "m.json", ours, "sweep", False, True)
        assert (tmp_path / "rows" / "m.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_manifest_is_named(tmp_path, text):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(BadInput, match=r"m\.json is damaged"):
        begin_or_resume(tmp_path, "m.json", MINE, "sweep", True)


def test_a_folder_of_other_files_is_not_touched(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="holds other files"):
        begin_or_resume(tmp_path, "m.json", MINE, "sweep", True)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
