"""The one writer of .gif files, and the frames of every movie."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import hardmax
from hardmax.plot.movie import frames, write_gif


def test_a_gif_holds_its_frames_and_how_long_each_stays(tmp_path):
    pictures = [np.full((8, 10, 3), shade, np.uint8) for shade in (0, 120, 250)]
    path = write_gif(pictures, tmp_path / "m.gif", pause=100, first=400, last=700)
    with Image.open(path) as movie:
        seen, times = [], []
        for k in range(movie.n_frames):
            movie.seek(k)
            times.append(movie.info["duration"])
            seen.append(np.asarray(movie.convert("RGB"))[0, 0, 0])
        assert movie.info["loop"] == 0
    assert times == [400, 100, 700]
    np.testing.assert_allclose(seen, [0, 120, 250], atol=2)


def test_every_step_is_drawn_on_cleared_axes_of_one_size():
    figure = Figure(figsize=(2, 1), dpi=50, layout="constrained")
    ax = figure.add_subplot()
    counts = []

    def draw(step):
        ax.plot([0, step], [0, 1])
        counts.append(len(ax.lines))

    shapes = {picture.shape for picture in frames(figure, ax, [1, 2, 3], draw)}
    assert counts == [1, 1, 1]
    assert shapes == {(50, 100, 3)}


def test_no_other_module_writes_a_gif():
    source = Path(hardmax.__file__).parent
    writers = [path.name for path in source.rglob("*.py") if 'format="GIF"' in path.read_text()]
    assert writers == ["movie.py"]
