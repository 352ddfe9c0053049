"""The page about the command line lists every command, every schema and every exit code."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from hardmax import errors
from hardmax.attention.rules import RULES
from hardmax.cli import inputs
from hardmax.cli.main import app, program
from hardmax.cli.topics import EXIT_CODES, TOPICS
from hardmax.cloud.presets import GENERATED, PRESETS

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
    assert listed == set(program().commands)


@pytest.mark.parametrize("name", ["list", "show", "fetch"])
def test_the_commands_for_data_sets_are_on_the_page(name):
    assert name in program().commands["data"].commands
    assert f"`{name}`" in PAGE


def _leaves(command, name=()):
    """Every command that does something, by its words."""
    for part, inner in getattr(command, "commands", {}).items():
        yield from _leaves(inner, (*name, part))
    if not hasattr(command, "commands"):
        yield " ".join(name), command


LEAVES = dict(_leaves(program()))


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_an_example_and_can_be_quiet(name):
    command = LEAVES[name]
    shown = CliRunner().invoke(app, [*name.split(), "--help"], terminal_width=60).output
    assert re.search(rf"^  Examples?: hardmax {name}\b", shown, re.MULTILINE)
    assert all(example in shown for example in re.findall(r"hardmax .*", command.help)), "an example is wrapped"
    assert "{" not in shown.splitlines()[0]
    options = {option for parameter in command.params for option in parameter.opts}
    assert name == "help" or {"-q", "--quiet", "--json"} <= options


def test_every_summary_is_whole():
    listing = CliRunner().invoke(app, ["--help"]).output
    commands = listing.split("Commands:")[1].strip().splitlines()
    assert len(commands) == len(program().commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


def test_an_option_has_one_meaning_wherever_it_appears():
    """The same letter for the same name, and no second name for it."""
    forms = {}
    for command in LEAVES.values():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                for option in parameter.opts:
                    forms.setdefault(option, set()).add(frozenset(parameter.opts))
    assert {option: found for option, found in forms.items() if len(found) > 1} == {}


def test_the_choice_of_presets_is_that_of_the_package():
    assert set(get_args(inputs.PresetName)) == {*PRESETS, *GENERATED}


def test_the_choice_of_rules_is_that_of_the_package():
    rule = next(p for p in LEAVES["simulate"].params if p.name == "rule")
    assert all(name in CliRunner().invoke(app, ["simulate", "--help"]).output for name in RULES), rule


@pytest.mark.parametrize("topic", [*TOPICS, "limit"])
def test_help_explains_every_topic_and_command(topic):
    result = CliRunner().invoke(app, ["help", topic])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 3


def test_the_topic_of_exit_codes_lists_those_of_the_page():
    listed = re.findall(r"^ *(\d+)  ", TOPICS["exit-codes"], re.M)
    assert listed == _rows("## Exit codes")


def test_an_unknown_topic_is_refused_with_the_list():
    with pytest.raises(errors.BadInput, match="there is no topic 'exit-code'"):
        CliRunner().invoke(app, ["help", "exit-code"], catch_exceptions=False)


def test_the_shell_can_complete_options():
    asked = {"_HARDMAX_COMPLETE": "complete_bash", "COMP_WORDS": "hardmax simulate --norm", "COMP_CWORD": "2"}
    found = subprocess.run([sys.executable, "-m", "hardmax"], env=os.environ | asked, capture_output=True, text=True)
    assert found.stdout.split() == ["--normalization"]


def test_every_schema_that_a_command_prints_is_on_the_page():
    printed = {name for text in SOURCES.values() for name in re.findall(r'"(hardmax\.[\w-]+/\d)"', text)}
    assert len(printed) > 8
    assert printed <= set(re.findall(r"`(hardmax\.[\w-]+/\d)`", PAGE))


def test_every_exit_code_is_on_the_page():
    used = {0, 1, 2, 130}
    used |= {e.exit_code for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.HardmaxError)}
    used |= {int(code) for text in SOURCES.values() for code in re.findall(r"(?:Exit\(|return )(\d+)\b", text)}
    assert {int(code) for code in _rows("## Exit codes")} == used == set(EXIT_CODES)
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in PAGE
