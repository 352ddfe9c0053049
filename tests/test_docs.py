"""What the documentation says is so: examples run, citations are in the paper map, links lead somewhere."""

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import hardmax
from hardmax.cli.main import app, run

ROOT = Path(__file__).parent.parent
MODULES = sorted(m.name for m in pkgutil.walk_packages(hardmax.__path__, "hardmax.") if m.name != "hardmax.__main__")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_right(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_on_the_pages_gives_what_the_pages_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for language, block in re.findall(r"```(python|pycon)\n(.*?)```", page.read_text(), re.DOTALL):
        if language == "python":
            assert not _shown(block), f"write >>> before {_shown(block)!r} and its value below it, in a pycon block"
            exec(compile(block, str(page), "exec"), scope)
        else:
            said = []
            test = doctest.DocTestParser().get_doctest(block, scope, page.name, str(page), 0)
            assert test.examples, block
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
            failed = runner.run(test, out=said.append, clear_globs=False).failed
            scope.update(test.globs)
            assert not failed, "".join(said)


def _shown(block):
    """The expressions of a block that only show a value: their value belongs on the page, where it is compared."""
    lines = [node for node in ast.parse(block).body if isinstance(node, ast.Expr)]
    return [ast.unparse(node) for node in lines if not isinstance(node.value, ast.Call)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_on_the_pages_print_what_the_pages_say(page, tmp_path, monkeypatch, capsys):
    """A console block holds commands after `$` and what they print; "..." stands for anything."""
    monkeypatch.chdir(tmp_path)
    checker, flags = doctest.OutputChecker(), doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        for command, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = shlex.split(command, comments=True)
            assert words[0] == "hardmax", command
            with pytest.raises(SystemExit) as stop:
                run(words[1:])
            assert not stop.value.code, command
            assert checker.check_output(wanted, capsys.readouterr().out, flags), command


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_on_the_pages_exist_with_their_options(page):
    import typer

    commands = typer.main.get_command(app).commands
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text(), re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] != ["hardmax"] or len(words) < 2 or words[1].startswith("-"):
                continue
            options = {o for p in commands[words[1]].params for o in (*p.opts, *p.secondary_opts)} | {
                "--help",
                "--debug",
            }
            used = {w.split("=")[0] for w in words[2:] if re.match(r"--?[a-z]", w)}
            assert used <= options, line


def test_every_citation_in_the_source_is_in_the_paper_map():
    paper_map = (ROOT / "docs" / "paper-map.md").read_text()
    cited = set()
    for path in (ROOT / "src").rglob("*.py"):
        for paper, place in re.findall(r"\[(AFZ2[45]), ([^\]]+)\]", path.read_text()):
            numbers = re.findall(r"\((\d+\.\d+\w?)\)|(Theorem \d+\.\d+|Def\. \d+\.\d+|section \d+|Fig\. \d+)", place)
            cited |= {(paper, a or b) for a, b in numbers}
    assert cited
    missing = {c for c in cited if not re.search(rf"\[{c[0]}\][^\n]*{re.escape(c[1])}", paper_map)}
    assert not missing


def test_the_paper_map_names_functions_and_tests_that_exist():
    text = (ROOT / "docs" / "paper-map.md").read_text()
    tests = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 10
    assert named <= tests
    for dotted in set(re.findall(r"`(hardmax\.[\w.]+)`", text)):
        module, _, attribute = dotted.rpartition(".")
        try:
            importlib.import_module(dotted)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), attribute), dotted


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_dependency_has_its_reason():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reasons = (ROOT / "docs" / "dependencies.md").read_text()
    wanted = project["dependencies"] + [d for extra in project["optional-dependencies"].values() for d in extra]
    for requirement in wanted:
        name = re.match(r"[\w-]+", requirement).group()
        assert name == "hardmax" or f"`{name}`" in reasons, name


def test_the_citation_names_this_version_and_both_papers():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {hardmax.__version__}\n" in text
    assert all(f"https://arxiv.org/abs/{paper}" in text for paper in ("2407.01602", "2502.02270"))


def test_the_workflow_calls_targets_of_the_makefile():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = re.findall(r"run: make (\w+)", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert set(called) == {"test", "check", "numba", "wheel", "docs"}
    assert set(called) <= set(targets)


def test_the_files_that_the_architecture_names_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`([\w/]+\.(?:py|js|html|css|json))`", text))
    assert len(named) > 30
    house = ROOT / "src" / "hardmax"
    places = (house, house / "web" / "static", house / "experiments" / "claims", house / "web" / "static" / "js")
    allowed = {"config.json", "tests/test_architecture.py"}
    missing = {name for name in named - allowed if not any((place / name).is_file() for place in places)}
    assert not missing
