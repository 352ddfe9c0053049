"""A trajectory as a movie: .gif by pillow, .mp4 by ffmpeg where it is installed."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hardmax.dynamics.trajectory import Trajectory
from hardmax.errors import BadInput, need
from hardmax.plot.layer import below, draw_layer
from hardmax.plot.roles import colors, roles
from hardmax.plot.style import in_house
from hardmax.plot.view import dress, view


@in_house
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
    frames = _frames(traj, between, size, dpi, title)
    pause = seconds_per_layer / (between + 1)
    if suffix == ".gif":
        _write_gif(frames, path, pause, 1 + traj.layers * (between + 1))
    else:
        _write_mp4(frames, path, pause)
    return path


def _frames(traj: Trajectory, between: int, size: float, dpi: int, title: str | None) -> Iterator[NDArray[np.uint8]]:
    """(height, width, 3) pictures, all of one even size."""
    where = view(traj.tokens)
    everything = tuple(range(traj.layers + 1))
    paint = colors(traj, everything)
    figure = Figure(figsize=(size, size * where.ratio + 0.95), dpi=dpi, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    ax = figure.add_subplot(**({"projection": "3d"} if where.kind == "space" else {}))
    below(figure, [roles(traj, k, paint) for k in everything], columns=2)
    for k in everything:
        for step in range(between + 1 if k < traj.layers else 1):
            ax.clear()
            draw_layer(ax, traj, k, where, paint, between=step / (between + 1))
            dress(ax, where)
            ax.set_title("\n".join(filter(None, [title, f"layer {k}", where.note])))
            canvas.draw()
            figure.set_layout_engine("none")  # the first frame arranged everything; the others must not jump
            picture = np.array(canvas.buffer_rgba())[..., :3]
            yield picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2]  # video needs even sizes


def _write_gif(frames: Iterator[NDArray[np.uint8]], path: Path, pause: float, count: int) -> None:
    image = need("PIL.Image", "plot", "a .gif")
    pictures = [image.fromarray(np.ascontiguousarray(f)).convert("P", palette=image.Palette.ADAPTIVE) for f in frames]
    durations = [int(1000 * pause)] * count
    durations[0] *= 3
    durations[-1] *= 3
    pictures[0].save(
        path, format="GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0, disposal=1
    )


def _write_mp4(frames: Iterator[NDArray[np.uint8]], path: Path, pause: float) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise BadInput(
            f"{path}: .mp4 needs the program ffmpeg, which was not found", fix="install ffmpeg, or write .gif"
        )
    first = next(frames)
    height, width = first.shape[:2]
    command = [ffmpeg, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    command += ["-r", f"{1 / pause:.6f}", "-i", "-", "-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-f", "mp4"]
    raw = b"".join([first.tobytes(), *(frame.tobytes() for frame in frames)])
    done = subprocess.run([*command, str(path)], input=raw, capture_output=True, check=False)
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise BadInput(f"{path}: ffmpeg failed", found=message[-200:] or None, fix="write .gif")
