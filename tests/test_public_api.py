"""The public names: each has an example and a place in the reference, and a type checker knows what comes back."""

import doctest
import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hardmax

ROOT = Path(__file__).parent.parent
NAMES = [name for name in hardmax.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring_with_an_example(name):
    doc = inspect.getdoc(getattr(hardmax, name))
    assert name in dir(hardmax)
    assert re.search(r"^Example:\n +>>> ", doc, re.MULTILINE)


def test_the_reference_holds_every_public_name_under_its_public_path():
    listed = re.findall(r"^::: (hardmax\.\S+)$", (ROOT / "docs" / "reference.md").read_text(), re.MULTILINE)
    assert [name for name in NAMES if f"hardmax.{name}" not in listed] == []
    assert len(listed) == len(set(listed))
    public = [path.removeprefix("hardmax.") for path in listed if path.count(".") == 1]
    assert [name for name in public if not hasattr(hardmax, name)] == []


@pytest.mark.parametrize("name", ["simulate", "limit", "construct", "preset", "random_cloud", "load", "widget"])
def test_functions_are_functions_with_a_signature(name):
    function = getattr(hardmax, name)
    assert inspect.isfunction(function)
    assert 0 < len(str(inspect.signature(function))) < 700


def test_every_save_replaces_an_existing_file_unless_told_otherwise():
    for name in NAMES:
        save = getattr(getattr(hardmax, name), "save", None)
        if save is not None:
            assert inspect.signature(save).parameters["force"].default is True, name


def test_an_error_for_a_missing_package_survives_another_process():
    error = hardmax.MissingExtra("matplotlib", "plot", "a picture")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


TYPED = """
from fractions import Fraction
from typing import Any, assert_type

import numpy as np

import hardmax as hx

Z = np.eye(2)
rows = [[1.0, 0.0], [0.0, 1.0]]
assert_type(hx.simulate(Z), hx.Trajectory)
assert_type(hx.simulate(rows, layers=3, rule=hx.Softmax(), causal=True), hx.Trajectory)
assert_type(hx.simulate([[1, 0], [-1, 0.5]], "1/3", exact=True), hx.Trajectory)
assert_type(hx.simulate([["1", "0"], ["1/2", "0"]], exact=True), hx.Trajectory)
assert_type(hx.simulate([(Fraction(1, 2), 1)], heads=[hx.Head(Z), rows]), hx.Trajectory)
assert_type(hx.simulate([Z, Z]), hx.Batch[hx.Trajectory])
assert_type(hx.simulate((rows, rows), alpha=0.25, A=Z), hx.Batch[hx.Trajectory])
assert_type(hx.limit(Z), hx.Equilibrium)
assert_type(hx.limit(rows, 0.5, rows, tie_tolerance=1e-9), hx.Equilibrium)
assert_type(hx.limit([["1", "1/2"]], exact=True), hx.Equilibrium)
assert_type(hx.limit([Z, Z]), hx.Batch[hx.Equilibrium])
assert_type(hx.limit([rows, rows])[0], hx.Equilibrium)
assert_type(hx.simulate([rows, rows])[:1], hx.Batch[hx.Trajectory])
assert_type([t.outcome for t in hx.simulate([Z])], list[hx.Outcome])
assert_type(hx.simulate(Z).polytope, hx.Polytope)
assert_type(hx.simulate(Z, [0.5, "1/3"], rule="softmax"), hx.Batch[hx.Trajectory])
assert_type(hx.limit(rows, alpha=[0.5, 1]), hx.Batch[hx.Equilibrium])
assert_type(hx.Trajectory.load("x.npz"), hx.Trajectory)
hx.simulate(3)  # type: ignore[call-overload]
hx.simulate(Z, rule=3)  # type: ignore[call-overload]
hx.simulate(Z, depth=3)  # type: ignore[call-overload]
hx.limit(Z, layers=3)  # type: ignore[call-overload]
"""


# What `mypy --strict` stands for.
STRICT = """disallow-any-generics, disallow-subclassing-any, disallow-untyped-calls, disallow-untyped-defs,
disallow-incomplete-defs, check-untyped-defs, disallow-untyped-decorators, warn-redundant-casts, warn-unused-ignores,
warn-return-any, no-implicit-reexport, strict-equality, extra-checks""".replace("\n", " ")


@pytest.mark.slow
def test_a_strict_type_checker_knows_what_comes_back_and_passes_the_readme(tmp_path):
    blocks = re.findall(r"```pycon\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [example.source for block in blocks for example in doctest.DocTestParser().get_examples(block)]
    assert len(lines) > 15
    for name, text in {"typed.py": TYPED, "readme.py": "".join(lines)}.items():
        (tmp_path / name).write_text(f"# mypy: {STRICT}\n{text}")
    # One process for both: most of its time goes into reading the package and numpy. The flags stand in the files, so
    # that what `make lint` has stored of the package is used again. Where it has stored nothing, only the signatures of
    # the package are read, and what is inside its functions, which is for `make lint`, is not.
    stored = ROOT / ".mypy_cache"
    reading = [str(stored)] if stored.exists() else [os.devnull, "--follow-imports", "silent"]
    words = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", *reading]
    script = "import sys; from mypy.api import run; out, err, code = run(sys.argv[1:]); print(out, err); sys.exit(code)"
    command = [sys.executable, "-c", script, *words, "typed.py", "readme.py"]
    own = {"MYPYPATH": str(ROOT / "src"), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=own)
    assert done.returncode == 0, done.stdout + done.stderr
