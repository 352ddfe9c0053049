"""The house: every module has its room, imports run one way, and no circle is hidden inside a function."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import hardmax
from hardmax.views import VIEWS

ROOT = Path(hardmax.__file__).parent
# Each room may import from itself and from those before it. Imports inside functions count as well.
ROOMS = [
    "errors", "shapes", "palette", "theory", "jit", "cloud", "io", "views", "attention", "transformer", "dynamics",
    "construction", "text", "sentiment", "plot", "html", "experiments", "demo", "scale", "web", "cli",
]  # fmt: skip
# The one exception: results find their pictures, pages and files through this table of names.
DISPATCH = "hardmax.views"


@cache
def _modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(["hardmax", *path.relative_to(ROOT).with_suffix("").parts])
        found[name.removesuffix(".__init__")] = path
    return found


@cache
def _nodes(name: str) -> tuple[ast.AST, ...]:
    """The imports, the calls and the conditions of a module."""
    kinds = (ast.Import, ast.ImportFrom, ast.Call, ast.If)
    return tuple(node for node in ast.walk(ast.parse(_modules()[name].read_text())) if isinstance(node, kinds))


@cache
def _imports(name: str) -> frozenset[str]:
    """Every module of the package that a module imports: at the top or in a function, but not for type checkers."""
    unseen = {
        inner
        for node in _nodes(name)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = set()
    for node in _nodes(name):
        if node in unseen:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} has a relative import"
            joined = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {full if full in _modules() else str(node.module) for full in joined}
    return frozenset(found & set(_modules()))


def _room(name: str) -> str:
    return [*name.split("."), ""][1]


def test_every_module_has_a_room():
    assert {_room(name) for name in _modules()} - {"", "__main__"} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_do_not_reach_up(room):
    allowed = {"", *ROOMS[: ROOMS.index(room) + 1]}
    upward = {
        f"{name} -> {target}"
        for name in _modules()
        if _room(name) == room
        for target in _imports(name)
        if _room(target) not in allowed
    }
    assert not upward


def test_no_modules_import_each_other_in_a_circle():
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> None:
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name not in done:
            for target in _imports(name) - {"hardmax", name}:
                visit(target, [*way, name])
            done.add(name)

    for name in _modules():
        visit(name, [])


def test_only_the_dispatch_imports_by_name():
    """Importing by a text would be a door that the tests above do not see."""
    by_name = {
        name
        for name in _modules()
        for node in _nodes(name)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("import_module", "__import__")
    }
    # `hardmax` finds the public names, `need` optional packages, and experiments their items and their pictures.
    experiments = {"hardmax.experiments.item", "hardmax.experiments.context"}
    assert by_name == {"hardmax", DISPATCH, "hardmax.errors"} | experiments


@pytest.mark.parametrize("kind", VIEWS)
def test_every_view_of_a_result_is_there(kind):
    for place in VIEWS[kind].values():
        module, _, function = place.partition(":")
        assert callable(getattr(import_module(module), function)), place


def test_only_one_room_knows_numba():
    users = {
        name
        for name in _modules()
        for node in _nodes(name)
        if (isinstance(node, ast.Import) and any(a.name.split(".")[0] in ("numba", "llvmlite") for a in node.names))
        or (isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("numba", "llvmlite"))
    }
    assert {_room(name) for name in users} <= {"jit"}


def test_a_picture_is_few_modules_away_from_simulate():
    """No chain of imports below `simulate` and `plot_layer` is longer than twelve modules."""

    @cache
    def depth(name: str) -> int:
        return 1 + max((depth(target) for target in _imports(name) - {"hardmax", name}), default=0)

    assert depth("hardmax.dynamics.simulate") <= 12
    assert depth("hardmax.plot.layer") <= 12
