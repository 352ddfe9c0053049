"""The cases that the page's JavaScript must reproduce are those that Python computes today."""

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "write_golden.py"
spec = importlib.util.spec_from_file_location("write_golden", SCRIPT)
write_golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(write_golden)


def test_the_golden_files_are_current():
    files = write_golden.files()
    assert {p.name for p in write_golden.FOLDER.glob("*.json")} >= set(files)
    for name, text in files.items():
        stored = json.loads((write_golden.FOLDER / name).read_text())
        assert write_golden.agrees(json.loads(text), stored), f"{name}: run python scripts/write_golden.py"


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        ({"a": [1.0, 2]}, {"a": [1.0 + 1e-14, 2]}, True),
        ({"a": [1.0]}, {"a": [1.0 + 1e-9]}, False),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1, 2], [1, 2, 3], False),
        ([True], [1], False),
        ("x", "x", True),
        (None, None, True),
    ],
)
def test_golden_numbers_agree_up_to_the_last_digits_and_nothing_else_does(ours, theirs, equal):
    assert write_golden.agrees(ours, theirs) is equal


def test_a_stale_file_is_named_and_writing_mends_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(write_golden, "FOLDER", tmp_path)
    monkeypatch.setattr(write_golden, "files", lambda: {"a.json": '{"x":1}', "b.json": '{"x":2}'})
    (tmp_path / "a.json").write_text('{"x":1}')
    monkeypatch.setattr("sys.argv", ["write_golden.py", "--check"])
    assert write_golden.main() == 1
    assert "not current: b.json" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["write_golden.py"])
    assert write_golden.main() == 0
    assert (tmp_path / "b.json").read_text() == '{"x":2}'
