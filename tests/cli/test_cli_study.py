"""`hardmax study`: studies by name, tables and figures in a folder, resuming, exit codes."""

import json
from functools import partial

import pytest

from hardmax.experiments.item import items

STUDIES = {item.name: item for item in items("studies")}


@pytest.fixture
def study(cli):
    return partial(cli, "study")


@pytest.mark.slow
def test_a_study_writes_tables_figures_and_a_report(study, tmp_path, monkeypatch):
    for name, value in {"clouds": 3, "sizes": ((2, 32), (3, 24))}.items():
        monkeypatch.setitem(STUDIES["finite-depth"].quick, name, value)
    code, out, err = study("finite-depth", "--quick", "-o", tmp_path / "s", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "hardmax.study/1"
    (found,) = document["studies"]
    assert (found["name"], found["status"]) == ("finite-depth", "made")
    assert found["settings"]["seed"] == 0
    assert found["tables"]["summary"][0]["polytope there at 6"] == 1.0
    assert len(found["files"]) == 6
    assert all((tmp_path / file).is_file() for file in found["files"])
    assert (tmp_path / "s" / "report.html").read_text().lower().startswith("<!doctype html>")
    code, out, _ = study("finite-depth", "--quick", "-o", tmp_path / "s", "-q")
    assert code == 0
    assert "finite-depth (kept from an earlier run)" in out


def test_an_unknown_study_is_refused(study, tmp_path):
    code, _, err = study("width", "-o", tmp_path / "s")
    assert code == 3
    assert "finite-depth, mechanism, robustness, ablation" in err
    assert not (tmp_path / "s").exists()


def test_the_studies_are_listed(study):
    code, out, _ = study("--list")
    assert code == 0
    assert all(item.name in out and item.title in out for item in STUDIES.values())
    document = json.loads(study("ablation", "--list", "--json")[1])
    assert [study["name"] for study in document["studies"]] == ["ablation"]
