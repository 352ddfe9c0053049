"""Starting up is light, and every public name is there."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import hardmax

HEAVY = ("torch", "numba", "sklearn", "scipy", "matplotlib")
ROOT = Path(__file__).parents[1]


def _loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_importing_hardmax_loads_nothing_heavy():
    assert not _loaded_by("import hardmax") & set(HEAVY)


def test_help_loads_nothing_heavy():
    code = (
        "from hardmax.cli.main import run\n"
        "for words in (['--help'], ['simulate', '--help'], ['limit', '--help']):\n"
        "    try:\n        run(words)\n    except SystemExit as stop:\n        assert stop.code == 0"
    )
    assert not _loaded_by(code) & set(HEAVY)


def test_loading_a_model_and_explaining_a_text_load_neither_scikit_learn_nor_numba():
    code = "import hardmax as hx\nclf = hx.load('imdb-words')\nclf.predict(['good'])\nclf.explain('good')\nrepr(clf)"
    assert not _loaded_by(code) & set(HEAVY)


@pytest.mark.parametrize("words", ["limit TOKENS", "simulate TOKENS --json", "limit --preset square-ties"])
def test_commands_on_small_clouds_load_neither_a_compiler_nor_scipy(words, tmp_path):
    tokens = tmp_path / "tokens.npy"
    np.save(tokens, np.random.default_rng(0).standard_normal((1000, 3)))
    words = words.replace("TOKENS", str(tokens)).split()
    code = (
        f"from hardmax.cli.main import run\ntry:\n    run({words})\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert not _loaded_by(code) & set(HEAVY)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="softmin"):
        hardmax.softmin  # noqa: B018


@pytest.mark.parametrize("folder", ["benchmarks", "scripts"])
def test_what_benchmarks_and_scripts_import_from_the_package_exists(folder):
    wanted = {
        (node.module, name.name)
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hardmax")
        for name in node.names
    }
    assert wanted
    for module, name in sorted(wanted):
        assert hasattr(import_module(module), name) or import_module(f"{module}.{name}")
