"""Results to files: data (.npz, .json), pictures, movies and a page, by suffix."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hardmax.dynamics.document import write_json, write_npz, write_whole
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.records import (
    batch_arrays,
    batch_summary,
    equilibrium_document,
    trajectory_arrays,
    trajectory_document,
)
from hardmax.dynamics.trajectory import Trajectory, TrajectoryBatch
from hardmax.errors import BadInput

PICTURES = (".png", ".svg", ".pdf")
MOVIES = (".gif", ".mp4")


def save_trajectory(traj: Trajectory, path: str | Path, force: bool = True, **options: Any) -> Path:
    """Write a trajectory: .npz or .json (all layers, read back by `load_trajectory`), .png .svg .pdf (the panel row of
    Fig. 2), .gif .mp4 (a movie) or .html (one self-contained page).

    Args:
        force: replace a file that exists; with False that is an error.
        options: for pictures, handed to `hardmax.plot.plot_panels`; for movies, to `hardmax.plot.movie`.

    Raises:
        BadInput: unknown suffix, missing folder, or the file exists and `force` is False.
    """
    path = Path(path)

    def picture(to: Path) -> None:
        from hardmax.plot import plot_panels, save_figure

        save_figure(plot_panels(traj, **options), to)

    def film(to: Path) -> None:
        from hardmax.plot import movie

        movie(traj, to, **options)

    def page(to: Path) -> None:
        from hardmax.web.result_page import trajectory_html

        to.write_text(trajectory_html(traj, **options), encoding="utf-8")

    data: dict[str, Callable[[Path], Any]] = {
        ".npz": lambda to: write_npz(trajectory_arrays(traj), to),
        ".json": lambda to: write_json(trajectory_document(traj), to),
    }
    writers = data | dict.fromkeys(PICTURES, picture) | dict.fromkeys(MOVIES, film) | {".html": page}
    return write_whole(path, _by_suffix(path, writers, "a trajectory"), force)


def save_equilibrium(eq: Equilibrium, path: str | Path, force: bool = True, **options: Any) -> Path:
    """Write a limit and its certificate: .npz, .json (read back by `load_equilibrium`), .png .svg .pdf or .html.

    Raises:
        BadInput: unknown suffix, missing folder, or the file exists and `force` is False.
    """
    path = Path(path)

    def picture(to: Path) -> None:
        from hardmax.plot import plot_limit, save_figure

        save_figure(plot_limit(eq, **options).figure, to)

    def page(to: Path) -> None:
        from hardmax.web.result_page import equilibrium_html

        to.write_text(equilibrium_html(eq, **options), encoding="utf-8")

    data: dict[str, Callable[[Path], Any]] = {
        ".npz": lambda to: write_npz(equilibrium_document(eq), to),
        ".json": lambda to: write_json(equilibrium_document(eq), to),
    }
    writers = data | dict.fromkeys(PICTURES, picture) | {".html": page}
    return write_whole(path, _by_suffix(path, writers, "a limit"), force)


def save_batch(batch: TrajectoryBatch, path: str | Path, force: bool = True) -> Path:
    """Write a batch: .npz (the last layer of all clouds one after the other, and where each begins), .json (a summary
    of every cloud) or .html (a page with a row for each cloud).

    Raises:
        BadInput: unknown suffix, missing folder, or the file exists and `force` is False.
    """
    path = Path(path)

    def page(to: Path) -> None:
        from hardmax.web.notebook import batch_parts, save_page

        save_page(to, f"{len(batch)} clouds, layer by layer", batch_parts(batch), True)

    writers: dict[str, Callable[[Path], Any]] = {
        ".npz": lambda to: write_npz(batch_arrays(batch), to),
        ".json": lambda to: write_json(batch_summary(batch), to),
        ".html": page,
    }
    return write_whole(path, _by_suffix(path, writers, "a batch"), force)


def _by_suffix(path: Path, writers: dict[str, Callable[[Path], Any]], what: str) -> Callable[[Path], Any]:
    if path.suffix.lower() not in writers:
        raise BadInput(
            f"{path}: {what} cannot be written as {path.suffix or 'a file without suffix'}",
            fix=f"use one of {' '.join(writers)}",
        )
    return writers[path.suffix.lower()]
