"""Imports run one way, and starting up is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hardmax

ROOT = Path(hardmax.__file__).parent
HEAVY = ("torch", "numba", "sklearn", "scipy", "matplotlib")
# Each part may import, at the top of its files, from itself and from those before it.
ORDER = [
    "errors", "palette", "jit", "cloud", "io", "views", "attention", "transformer", "dynamics", "construction", "text",
    "sentiment", "plot", "html", "experiments", "demo", "web", "cli",
]  # fmt: skip


def _top_imports(path: Path) -> set[str]:
    """Parts of hardmax that a file imports when it is loaded (imports inside functions are lazy and do not count)."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hardmax."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "hardmax":
            found |= {a.name for a in node.names if a.name in ORDER}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("hardmax.")}
    return found


def test_every_part_has_its_place_in_the_order():
    parts = {p.relative_to(ROOT).parts[0].removesuffix(".py") for p in ROOT.rglob("*.py")}
    assert parts - {"__init__", "__main__"} == set(ORDER)


def test_imports_run_one_way():
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue
        for imported in _top_imports(path):
            assert ORDER.index(imported) <= ORDER.index(part), f"{path.name} ({part}) imports {imported}"


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


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="softmin"):
        hardmax.softmin  # noqa: B018
