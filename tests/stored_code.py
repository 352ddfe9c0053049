"""Files with which Numba would store compiled code."""

from hashlib import sha1
from pathlib import Path

from hardmax.jit import ways

PACKAGE = Path(ways.__file__).parents[1]


def store(cache: Path, kernel: str, room: Path = PACKAGE / "jit") -> None:
    """What Numba writes in `cache` for a function "module.name" of a room of the package, or of another one."""
    folder = cache / f"{room.name}_{sha1(str(room).encode()).hexdigest()}"
    folder.mkdir(exist_ok=True)
    (folder / f"{kernel}-1.py311.nbi").touch()
