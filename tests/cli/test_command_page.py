"""The page about the command line lists every command, every schema and every exit code."""

import re
from pathlib import Path

import pytest
import typer

from hardmax import errors
from hardmax.cli.main import EXIT_CODES, app

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "command-line.md").read_text()
SOURCES = {path: path.read_text() for path in (ROOT / "src" / "hardmax" / "cli").glob("*.py")}


def _rows(heading):
    """The first cells of the table below a heading of the page."""
    section = PAGE.split(f"{heading}\n", 1)[1]
    section = section.split("\n## ", 1)[0]
    return [line.split("|")[1].strip() for line in section.splitlines() if re.match(r"\| [`\d]", line)]


def test_every_command_is_on_the_page():
    listed = {name.strip("`") for name in _rows("# Command line")}
    commands = set(typer.main.get_command(app).commands)
    assert commands <= listed
    assert listed <= commands | {"study"}


@pytest.mark.parametrize("name", ["list", "show", "fetch"])
def test_the_commands_for_data_sets_are_on_the_page(name):
    assert name in typer.main.get_command(app).commands["data"].commands
    assert f"`{name}`" in PAGE


def test_every_schema_that_a_command_prints_is_on_the_page():
    printed = {name for text in SOURCES.values() for name in re.findall(r'"(hardmax\.\w+/\d)"', text)}
    assert len(printed) > 8
    assert printed <= set(re.findall(r"`(hardmax\.\w+/\d)`", PAGE))


def test_every_exit_code_is_on_the_page():
    used = {0, 1, 2, 130}
    used |= {e.exit_code for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.HardmaxError)}
    used |= {int(code) for text in SOURCES.values() for code in re.findall(r"(?:Exit\(|return )(\d+)\b", text)}
    assert {int(code) for code in _rows("## Exit codes")} == used == set(EXIT_CODES)
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in PAGE
