"""`hardmax explain --text` is answered without the complete command line, and says the same."""

import os
import subprocess
import sys

import pytest

from hardmax.cli.start import Asked, explanation_asked, run

TEXT = "A dull plot, but great!"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--text", TEXT], Asked(TEXT)),
        ([f"--text={TEXT}", "imdb-words", "--no-color"], Asked(TEXT, "imdb-words", color=False)),
        (["--json", "--text", "--json"], Asked("--json", json=True)),
        (["film.txt"], None),
        (["--text"], None),
        (["--text", TEXT, "--without", "dull"], None),
        (["--text", TEXT, "-o", "x.html"], None),
        (["--text", TEXT, "imdb", "film.txt"], None),
        (["--text", TEXT, "--debug"], None),
    ],
)
def test_only_the_shortest_form_is_answered_at_once(words, asked):
    assert explanation_asked(["explain", *words]) == asked
    assert explanation_asked(["predict", *words]) is None


@pytest.mark.parametrize("words", [["--no-color"], ["--color"], ["--json"]])
def test_the_answer_is_that_of_the_complete_command_line(cli, capsys, words):
    arguments = ["explain", "imdb-words", "--text", TEXT, *words]
    code, expected, _ = cli(*arguments)  # it may note on stderr that it compiles
    run(arguments)
    assert (code, capsys.readouterr().out) == (0, expected)


def test_errors_are_those_of_the_complete_command_line(cli, capsys):
    expected = cli("explain", "nosuch", "--text", TEXT)
    with pytest.raises(SystemExit) as end:
        run(["explain", "nosuch", "--text", TEXT])
    assert (end.value.code, *capsys.readouterr()) == expected


def test_the_answer_loads_no_compiler_no_command_line_and_no_scikit_learn():
    script = (
        "import sys\nfrom hardmax.cli.start import run\n"
        f"run(['explain', '--text', {TEXT!r}])\n"
        "heavy = {'numba', 'typer', 'pydantic', 'sklearn', 'scipy', 'safetensors', 'numpy.ma', 'zipfile'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("positive", "negative"))
