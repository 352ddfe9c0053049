"""The panels of the stages, and the movie that steps through the blocks."""

import numpy as np
import pytest
from PIL import Image

from hardmax.errors import BadInput
from hardmax.experiments.reproduce.construction import build
from hardmax.plot.stages import plot_stage, plot_stages, stages_movie


@pytest.fixture(scope="module")
def built():
    return build()


def drawn(ax):
    """All points of all markers in a panel."""
    return np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections if len(c.get_offsets())])


def test_the_example_has_outputs_of_1_1_and_2_tokens_and_is_exact(built):
    net, sequences, targets = built
    assert [len(target) for target in targets] == [1, 1, 2]
    assert net.blocks == 9
    assert net.bound == 15
    assert net.verify(sequences, targets, levels=("certificate", "rational"))


def test_there_are_five_panels_that_show_every_token_and_target(built):
    net, sequences, targets = built
    stages = net.stages(sequences)
    figure = plot_stages(stages)
    assert len(figure.axes) == 5
    titles = [ax.get_title() for ax in figure.axes]
    for name, title in zip(("input", "separate", "leaders", "collapse", "place"), titles, strict=True):
        assert name in title
    first = {tuple(point) for point in drawn(figure.axes[0])}
    assert first == {tuple(x) for cloud in (*sequences, *targets) for x in np.asarray(cloud).tolist()}
    np.testing.assert_allclose(np.unique(drawn(figure.axes[3]), axis=0)[:, 0], [0, 0.5, 1, 1.5])
    last = drawn(figure.axes[4])
    for target in np.concatenate(targets):
        assert (np.abs(last - target).max(axis=1) < 1e-14).sum() == 2  # the square and the star in it


def test_one_step_can_be_drawn_by_number_or_name(built):
    net, sequences, _ = built
    steps = net.stages(sequences, every="block")
    assert plot_stage(steps, 0).get_title().startswith("input")
    assert plot_stage(steps, 3).get_title().startswith("block 2 (leaders)")
    assert "collapse" in plot_stage(net.stages(sequences), "collapse").get_title()


def test_the_movie_has_a_frame_for_every_block(built, tmp_path):
    net, sequences, _ = built
    path = stages_movie(net.stages(sequences, every="block"), tmp_path / "stages.gif", dpi=40)
    with Image.open(path) as movie:
        assert movie.n_frames == net.blocks + 1
    with pytest.raises(BadInput, match="gif"):
        stages_movie(net.stages(sequences), tmp_path / "stages.png")
