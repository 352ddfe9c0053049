"""The figures of `reproduce`: what is drawn is what was measured."""

import numpy as np
import pytest

from hardmax.cloud.presets import preset
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.reproduce.dynamics import MATRICES, TOKENS, follow_set
from hardmax.plot.dynamics import plot_configurations, plot_follow_sets
from hardmax.plot.explanation import shown
from hardmax.plot.reviews import plot_clouds, plot_leader_counts, plot_leader_words
from hardmax.plot.style import save_figure
from hardmax.plot.training import plot_accuracies, plot_losses
from review_cloud import cloud as review_cloud
from tiny_models import HOSTILE


def markers(ax):
    """All points of all scattered markers of a panel."""
    return np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections if len(c.get_offsets())])


def curves(ax):
    """The data of all lines with more than two points."""
    return [np.asarray(line.get_ydata()) for line in ax.lines if len(line.get_ydata()) > 2]


def test_a_follow_set_shows_every_token_and_the_foot_of_its_projection():
    figure = plot_follow_sets([follow_set(TOKENS, 0, A) for A in MATRICES])
    assert len(figure.axes) == 2
    for ax, A in zip(figure.axes, MATRICES, strict=True):
        assert {tuple(p) for p in markers(ax)} == set(TOKENS)
        direction = np.array(A) @ np.array(TOKENS[0])
        feet = [np.array(t) @ direction / (direction @ direction) * direction for t in TOKENS]
        dots = [np.ravel(line.get_xydata()) for line in ax.lines if len(line.get_xdata()) == 1]
        for foot in feet:
            assert any(np.allclose(foot, dot) for dot in dots)


def test_configurations_have_a_row_for_each_cloud_and_a_column_for_each_layer():
    runs = [simulate(preset(name), layers=3) for name in ("square", "emerging")]
    figure = plot_configurations(runs, (0, 1, 3), ["one", "two"])
    assert len(figure.axes) == 6
    assert [ax.get_title() for ax in figure.axes[:3]] == ["layer 0", "layer 1", "layer 3"]
    assert figure.axes[3].get_ylabel() == "(b)  two"
    assert {tuple(p) for p in markers(figure.axes[0])} == {tuple(p) for p in preset("square")}


def test_losses_of_both_attentions_are_drawn_and_their_distance():
    soft = {d: {"loss": [0.7, 0.5, 0.3], "hardmax_loss": [0.7002, 0.5, 0.301]} for d in (2, 4)}
    hard = {d: {"loss": [0.7, 0.4, 0.2, 0.1]} for d in (2, 4)}
    left, right = plot_losses(soft, hard).axes
    drawn = [tuple(c) for c in curves(left)]
    assert (0.7, 0.5, 0.3) in drawn
    assert (0.7, 0.4, 0.2, 0.1) in drawn
    np.testing.assert_allclose(curves(right)[0], [2e-4, 1e-9, 1e-3], rtol=1e-6)
    assert left.get_yscale() == right.get_yscale() == "log"


def test_accuracies_mark_the_best_epoch_and_the_printed_number():
    paper = {2: {"accuracy": [0.5, 0.8, 0.9], "test_accuracy": [0.5, 0.7, 0.6]}}
    left, right = plot_accuracies(paper, {2: [0.8, 0.9, 0.91]}, {2: 0.791}).axes
    points = [tuple(line.get_xydata()[0]) for line in left.lines if len(line.get_xdata()) == 1]
    assert points == [(2.0, 0.7)]
    assert any(list(line.get_ydata()) == [0.791, 0.791] for line in left.lines)
    assert tuple(curves(right)[0]) == (0.8, 0.9, 0.91)


def test_boxes_of_leaders_have_their_medians():
    counts = {"paper": {2: np.array([3, 5, 9]), 4: np.array([20, 30, 50])}, "ours": {2: np.array([7, 8, 9])}}
    figure = plot_leader_counts(counts)
    medians = [set(np.unique(line.get_ydata())) for ax in figure.axes for line in ax.lines]
    for wanted in (5.0, 30.0, 8.0):
        assert {wanted} in medians


def test_bars_of_leaders_carry_words_and_a_dot_for_those_of_the_paper():
    rows = [{"word": "Great", "count": 9, "score": 3.0}, {"word": "$x^2$", "count": 4, "score": -3.0}]
    figure = plot_leader_words({"paper": rows, "ours": rows[:1]}, ("great",), {"paper": 50, "ours": 40})
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["\u2022 Great", "$x^2$"]
    assert not ax.get_yticklabels()[1].get_parse_math()
    assert [bar.get_width() for bar in ax.patches] == [9, 4]
    assert "50 reviews" in ax.get_title()


@pytest.mark.parametrize("word", [*HOSTILE.values()], ids=[*HOSTILE])
def test_any_word_can_stand_in_a_cloud(word, tmp_path):
    cloud = review_cloud(word)
    figure = plot_clouds([cloud], "a title")
    for suffix in (".png", ".pdf"):
        assert save_figure(figure, tmp_path / f"cloud{suffix}", dpi=30).stat().st_size > 500
    first, last = figure.axes
    assert {tuple(p) for p in markers(first)} == {(1.0, 0.0), (0.2, 0.1)}
    assert {tuple(p) for p in markers(last)} == {(1.0, 0.0), (0.6, 0.05)}
    assert [text.get_text() for text in first.texts] == [shown(word, 16)]
    cross = next(line for line in last.lines if line.get_marker() == "X")
    np.testing.assert_allclose(cross.get_xydata()[0], cloud.mean(1))
