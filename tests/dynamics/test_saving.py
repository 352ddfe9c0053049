import os

import pytest

import hardmax as hx
from hardmax.dynamics import records
from hardmax.errors import BadInput


def short() -> hx.Trajectory:
    return hx.simulate(hx.preset("emerging"), layers=2)


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    path.write_text("old")

    def fails(document, to):
        to.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(records, "write_json", fails)
    with pytest.raises(KeyboardInterrupt):
        short().save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.json"]


def test_an_existing_file_is_replaced_only_with_force(tmp_path):
    path = tmp_path / "t.json"
    path.write_text("old")
    with pytest.raises(BadInput, match="exists"):
        short().save(path, force=False)
    assert path.read_text() == "old"
    short().save(path)
    assert path.read_text() != "old"


def test_unknown_suffixes_and_missing_folders_are_named(tmp_path):
    traj, eq = short(), hx.limit(hx.preset("square"))
    with pytest.raises(BadInput, match=r"\.npz \.json \.png \.svg \.pdf \.gif \.mp4 \.html"):
        traj.save(tmp_path / "t.doc")
    with pytest.raises(BadInput, match=r"Equilibrium cannot be saved as \.gif"):
        eq.save(tmp_path / "e.gif")
    with pytest.raises(BadInput, match="nowhere does not exist"):
        traj.save(tmp_path / "nowhere" / "t.npz")
    (tmp_path / "t.npz").mkdir()
    with pytest.raises(BadInput, match="is a folder"):
        traj.save(tmp_path / "t.npz")
