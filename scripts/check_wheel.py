"""Check what would be published: the wheel holds every file of the package; wheel and source archive install and run.

Each is installed into an empty virtual environment, from the package index for its dependencies, and tried without the
checkout; then each extra that is named, on top of the wheel, in an environment of its own.

Usage: python scripts/check_wheel.py FOLDER [EXTRA ...]
"""

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PROGRAM = """
import sys
import hardmax as hx
assert "site-packages" in hx.__file__, hx.__file__
Z = hx.preset("square-ties")
eq = hx.limit(Z)
assert eq.certificate.verify(Z)
assert "<svg" in eq._repr_html_()
assert hx.load("imdb-words").predict(["A great film."])
assert hx.construct([[[0, 1]], [[2, 2]]], ["a", "b"])([[[2, 2]]]) == ["b"]
assert hx.HardmaxClassifier().fit(["good film", "bad film"] * 20, [1, 0] * 20).predict(["good"]) == [1]
"""


def main(folder: str, *extras: str) -> None:
    wheel = _newest(folder, "hardmax-*.whl")
    _same_files(wheel)
    for archive in (wheel, _newest(folder, "hardmax-*.tar.gz")):
        size = _try(f"{archive}")
        print(f"{archive.name}: installs and works, {size:.0f} MB with its dependencies", flush=True)
    every = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in extras:
        if extra not in every:
            sys.exit(f"there is no extra {extra!r}; use some of {' '.join(every)}")
        print(f"[{extra}]: {_try(f'{wheel}[{extra}]'):.0f} MB", flush=True)


def _newest(folder: str, pattern: str) -> Path:
    return max(Path(folder).resolve().glob(pattern), key=lambda path: path.stat().st_mtime)


def _same_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("hardmax/")}
    wanted = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "hardmax").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if packed != wanted:
        sys.exit(f"missing from the wheel: {sorted(wanted - packed)}\nnot in the source: {sorted(packed - wanted)}")


def _try(requirement: str) -> float:
    """Install into an empty environment and run the program; gives the size of what was installed, in MB."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        scripts = Path(place) / ("Scripts" if os.name == "nt" else "bin")
        before = _size(Path(place))
        pip = [scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", ROOT / "constraints.txt", requirement], check=True)
        size = _size(Path(place)) - before
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([scripts / "python", "-c", PROGRAM], env=environment, cwd=place, check=True)
        for words in ("limit --preset cube", "explain --text fine", "playground --static site", "doctor"):
            command = [scripts / "hardmax", *words.split()]
            subprocess.run(command, env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL)
    return size


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main(*sys.argv[1:])
