"""Check what would be published: the wheel holds every file of the package; wheel and source archive install and run.

Each is installed into an empty virtual environment of the Python that runs this script, and tried without the checkout;
then each extra that is named, on top of the wheel, in an environment of its own, with the program in `scripts/extras`
that uses it. `all` runs every such program. With `--lowest`, every package that pyproject.toml names has the lowest
version that it allows; without, the version of constraints.txt.

Usage: python scripts/check_wheel.py FOLDER [--lowest] [EXTRA ...]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name not in ("dev", "docs", "bench")]
USES = [name for name in EXTRAS if name != "all"]
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Install the wheel into empty environments and try it.")
    parser.add_argument("folder", help="folder with the wheel and the source archive")
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=f"some of {' '.join(EXTRAS)}")
    parser.add_argument("--lowest", action="store_true", help="install the lowest versions that pyproject.toml allows")
    arguments = parser.parse_args()
    for extra in arguments.extras:
        if extra not in EXTRAS:
            parser.error(f"there is no extra {extra!r}; use some of {' '.join(EXTRAS)}")
    wheel = _newest(arguments.folder, "hardmax-*.whl")
    _same_files(wheel)
    for archive in (wheel, _newest(arguments.folder, "hardmax-*.tar.gz")):
        size = _try(f"{archive}", (), arguments.lowest)
        print(f"{archive.name}: installs and works, {size:.0f} MB with its dependencies", flush=True)
    for extra in arguments.extras:
        used = USES if extra == "all" else [extra]
        print(f"[{extra}]: {_try(f'{wheel}[{extra}]', used, arguments.lowest):.0f} MB", flush=True)


def _newest(folder: str, pattern: str) -> Path:
    found = list(Path(folder).resolve().glob(pattern))
    if not found:
        sys.exit(f"{folder} has no {pattern}; run `python -m build --outdir {folder}` first")
    return max(found, key=lambda path: path.stat().st_mtime)


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


def lowest() -> list[str]:
    """The lowest version of each package of the base and of all extras, as requirements: "numpy==2.0"."""
    lines = [*PROJECT["dependencies"], *(line for name in USES for line in PROJECT["optional-dependencies"][name])]
    found = (re.match(r"([\w-]+)(?:\[[^]]*\])?[>=]=([\d.]+)", line) for line in lines)
    return sorted({f"{match[1]}=={match[2]}" for match in found if match})


def _try(requirement: str, extras: Iterable[str], lowest_versions: bool) -> float:
    """Install into an empty environment and run the programs; gives the size of what was installed, in MB."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        scripts = Path(place) / ("Scripts" if os.name == "nt" else "bin")
        before = _size(Path(place))
        pip = [scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        constraints = ROOT / "constraints.txt"
        if lowest_versions:
            constraints = Path(place) / "lowest.txt"
            constraints.write_text("\n".join(lowest()))
        subprocess.run([*pip, "-c", constraints, requirement], check=True)
        size = _size(Path(place)) - before
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([scripts / "python", "-c", PROGRAM], env=environment, cwd=place, check=True)
        for words in ("limit --preset cube", "explain --text fine", "playground --static site", "doctor"):
            command = [scripts / "hardmax", *words.split()]
            subprocess.run(command, env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL)
        for extra in extras:
            program = ROOT / "scripts" / "extras" / f"use_{extra}.py"
            subprocess.run(
                [scripts / "python", program], env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL
            )
    return size


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
