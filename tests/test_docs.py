"""What the documentation says is so: examples run, citations are in the paper map, links lead somewhere."""

import ast
import doctest
import importlib
import linecache
import pkgutil
import re
import shlex
import sys
from pathlib import Path

import pytest

import hardmax
from hardmax.cli.main import program, run
from hardmax.cli.topics import EXIT_CODES
from hardmax.views import VIEWS

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import benchmark_page  # noqa: E402
import docstrings  # noqa: E402
import formulas  # noqa: E402
import notebooks  # noqa: E402
import site_hooks  # noqa: E402

REPOSITORY = "https://github.com/hardmax/hardmax/"
RAW = "https://raw.githubusercontent.com/hardmax/hardmax/main/"
GENERATED = {"commands.md", *(f"notebooks/{path.stem}.md" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"))}
MODULES = sorted(m.name for m in pkgutil.walk_packages(hardmax.__path__, "hardmax.") if m.name != "hardmax.__main__")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_right(name):
    linecache.clearcache()  # doctest looks whether every file in it has changed, and there are hundreds
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

    commands = program().commands
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
    text = page.read_text() + "".join(f"]({to})" for to in re.findall(r'(?:href|src)="([^"#]+)"', page.read_text()))
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        own = re.match(f"(?:{REPOSITORY}(?:blob|tree)/main/|{RAW})(.+)", target)
        if own:
            assert (ROOT / own[1]).exists(), target
        elif "://" not in target and not target.startswith("playground/"):
            generated = (page.parent / target).resolve().is_relative_to(ROOT / "docs") and str(
                (page.parent / target).resolve().relative_to(ROOT / "docs")
            ) in GENERATED
            assert generated or (page.parent / target).exists(), target


def test_the_package_index_can_show_the_readme():
    text = (ROOT / "README.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    assert f'Source = "{REPOSITORY.rstrip("/")}"' in project
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures
    assert all(target.startswith(RAW) for target in pictures)
    assert all("://" in target for target in re.findall(r"\]\(([^)]+)\)", text))


@pytest.mark.parametrize("module", [benchmark_page, docstrings, formulas, site_hooks], ids=lambda m: m.__name__)
def test_examples_of_the_scripts_that_build_the_documentation_are_right(module):
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("page", benchmark_page.PAGES, ids=lambda p: p.name)
def test_measured_tables_are_those_of_the_stored_runs(page):
    text = page.read_text()
    assert benchmark_page.BLOCK.search(text)
    assert benchmark_page.filled(text) == text


def test_the_page_of_commands_has_every_command_every_option_and_every_exit_code():

    page = site_hooks.commands_page()
    group = program()
    commands = dict(site_hooks._commands(group, "hardmax"))
    assert {name.split()[1] for name in commands} == set(group.commands)
    for name, command in commands.items():
        section = page.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
        options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
        assert options <= set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", section)), name
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == [str(code) for code in EXIT_CODES]


def test_the_table_of_file_formats_is_that_of_the_results():
    rows = re.findall(r"^\| `(\w+)`[^|]*\|([^|]*)\|", (ROOT / "docs" / "formats.md").read_text(), re.MULTILINE)
    listed = {name: set(re.findall(r"`(\.\w+)`", cell)) for name, cell in rows if name in VIEWS}
    assert listed == {
        name: suffixes for name, views in VIEWS.items() if (suffixes := {v for v in views if v.startswith(".")})
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_print_what_is_stored_in_them_and_draw_as_many_pictures(path, tmp_path):
    stored, fresh = notebooks.nbformat.read(path, as_version=4), notebooks.run(path, tmp_path)
    texts, numbers = zip(*(_words_and_numbers(notebooks.printed(one)) for one in (fresh, stored)), strict=True)
    assert texts[0] == texts[1]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-9)  # libraries of linear algebra round as their machine does
    pictures = [
        sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
        for notebook in (stored, fresh)
    ]
    assert pictures[0] == pictures[1] >= 1
    assert not any(output.get("name") == "stderr" for cell in stored.cells for output in cell.get("outputs", []))
    assert "Figure" not in "".join(notebooks.printed(stored))  # a name in place of a picture


def _words_and_numbers(texts):
    """Texts with # in place of each number, and the numbers."""
    number = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    return [re.sub(number, "#", text) for text in texts], [float(x) for x in re.findall(number, "\n".join(texts))]


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
    assert set(called) == {"test", "slow", "check", "numba", "wheel", "docs"}
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
