"""Movies: a trajectory layer by layer, and the frames and the .gif file of every movie of the package.

A .gif is written by Pillow, an .mp4 by the program ffmpeg where it is installed.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hardmax.dynamics.trajectory import Trajectory
from hardmax.errors import BadInput, need
from hardmax.plot.layer import below, colors, draw_layer, roles
from hardmax.plot.style import house
from hardmax.plot.view import dress, view

Frame = NDArray[np.uint8]  # (height, width, 3)
Step = TypeVar("Step")


def frames(figure: Figure, ax: Any, steps: Iterable[Step], draw: Callable[[Step], object]) -> Iterator[Frame]:
    """Draw one picture per step on the same axes, which are cleared in between."""
    canvas = FigureCanvasAgg(figure)
    for step in steps:
        ax.clear()
        draw(step)
        canvas.draw()
        figure.set_layout_engine("none")  # the first frame arranged everything; the others must not jump
        yield np.ascontiguousarray(np.array(canvas.buffer_rgba())[..., :3])


def write_gif(pictures: Iterable[Frame], path: Path, pause: int, first: int, last: int) -> Path:
    """Write a .gif that plays forever; a frame stays `pause` milliseconds, the first and the last as long as theirs."""
    image = need("PIL.Image", "plot", "a .gif")
    made = [image.fromarray(picture).convert("P", palette=image.Palette.ADAPTIVE) for picture in pictures]
    times = [pause] * len(made)
    times[0], times[-1] = first, last
    made[0].save(path, format="GIF", save_all=True, append_images=made[1:], duration=times, loop=0, disposal=1)
    return path


@house()
def movie(
    traj: Trajectory,
    path: str | Path,
    *,
    between: int = 0,
    seconds_per_layer: float = 0.5,
    size: float = 4.2,
    dpi: int = 110,
    title: str | None = None,
) -> Path:
    """Write one frame per layer, and `between` frames on the straight way from each layer to the next.

    Args:
        path: .gif (plays forever), or .mp4.
        seconds_per_layer: how long a layer lasts; the first and the last stay three times as long in a .gif.

    Raises:
        BadInput: another suffix, or .mp4 without ffmpeg.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".gif", ".mp4"):
        raise BadInput(
            f"{path}: a movie cannot be written as {suffix or 'a file without suffix'}", fix="use .gif or .mp4"
        )
    if between < 0 or seconds_per_layer <= 0:
        raise BadInput(f"between is {between}, seconds_per_layer is {seconds_per_layer}; expected >= 0 and > 0")
    pictures = _pictures(traj, between, size, dpi, title)
    if suffix == ".gif":
        pause = int(1000 * (seconds_per_layer / (between + 1)))
        return write_gif(pictures, path, pause, 3 * pause, 3 * pause)
    _write_mp4(pictures, path, seconds_per_layer / (between + 1))
    return path


def _pictures(traj: Trajectory, between: int, size: float, dpi: int, title: str | None) -> Iterator[Frame]:
    """Pictures of all layers, all of one even size, which videos need."""
    where = view(traj.tokens)
    everything = tuple(range(traj.first_layer, traj.layers + 1))
    paint = colors(traj, everything)
    figure = Figure(figsize=(size, size * where.ratio + 0.95), dpi=dpi, layout="constrained")
    ax = figure.add_subplot(**({"projection": "3d"} if where.kind == "space" else {}))
    below(figure, [roles(traj, k, paint) for k in everything], columns=2)

    def draw(step: tuple[int, int]) -> None:
        draw_layer(ax, traj, step[0], where, paint, between=step[1] / (between + 1))
        dress(ax, where)
        ax.set_title("\n".join(filter(None, [title, f"layer {step[0]}", where.note])))

    steps = [(k, step) for k in everything for step in range(between + 1 if k < traj.layers else 1)]
    for picture in frames(figure, ax, steps, draw):
        yield np.ascontiguousarray(picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2])


def _write_mp4(pictures: Iterator[Frame], path: Path, pause: float) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        what = f"{path}: .mp4 needs the program ffmpeg, which was not found"
        raise BadInput(what, fix="install ffmpeg, or write .gif")
    first = next(pictures)
    height, width = first.shape[:2]
    command = [ffmpeg, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    command += ["-r", f"{1 / pause:.6f}", "-i", "-", "-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-f", "mp4"]
    raw = b"".join([first.tobytes(), *(frame.tobytes() for frame in pictures)])
    done = subprocess.run([*command, str(path)], input=raw, capture_output=True, check=False)
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise BadInput(f"{path}: ffmpeg failed", found=message[-200:] or None, fix="write .gif")
