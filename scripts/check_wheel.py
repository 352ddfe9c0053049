"""Check a wheel: it holds every file of the package, and what is unpacked from it runs without the checkout.

Usage: python scripts/check_wheel.py FOLDER
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
PROGRAM = """
import hardmax as hx
assert "checked" in hx.__file__, hx.__file__
Z = hx.preset("square-ties")
eq = hx.limit(Z)
assert eq.certificate.verify(Z)
assert "<svg" in eq._repr_html_()
assert hx.load("imdb-words").predict(["A great film."])
"""


def main(folder: str) -> None:
    wheel = max(Path(folder).glob("hardmax-*.whl"), key=lambda path: path.stat().st_mtime)
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as place:
        packed = {name for name in archive.namelist() if name.startswith("hardmax/")}
        wanted = {
            path.relative_to(SOURCE).as_posix()
            for path in (SOURCE / "hardmax").rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        if packed != wanted:
            sys.exit(f"missing from the wheel: {sorted(wanted - packed)}\nnot in the source: {sorted(packed - wanted)}")
        checked = Path(place) / "checked"
        archive.extractall(checked)
        environment = {**os.environ, "PYTHONPATH": str(checked)}
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd=place, check=True)
    print(f"{wheel}: {len(packed)} files, works")


if __name__ == "__main__":
    main(*sys.argv[1:])
