"""Pictures of the open questions show what the evidence holds."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hardmax.experiments.questions.evidence import Evidence
from hardmax.experiments.tables import Share, Table, interval
from hardmax.plot.open_cycles import cycle_in_triangle, one_head_cycles
from hardmax.plot.open_questions import draw


def document(name, *tables):
    return Evidence(name, "?", "!", {}, {}, tables).document()


def test_the_cycle_of_two_heads_has_three_panels_and_moves_between_its_points():
    figure = cycle_in_triangle()
    assert [ax.get_title() for ax in figure.axes][:2] == ["head 1", "head 2"]
    places = [line.get_xydata()[0] for line in figure.axes[2].lines if line.get_marker() == "o"]
    corners = np.array([[0.0, 0.0], [0.5, np.sqrt(3) / 2], [1.0, 0.0]])
    expected = np.array([[1, 3, 2], [2, 3, 1]]) / 6 @ corners
    np.testing.assert_allclose(sorted(map(tuple, places)), sorted(map(tuple, expected)))


def test_the_cycles_of_one_head_are_drawn_with_their_leaders():
    left, right = one_head_cycles().axes
    assert sum(line.get_marker() == "*" for line in left.lines) == 4
    assert sum(line.get_marker() == "*" for line in right.lines) == 3
    assert sum(line.get_marker() == "o" for line in right.lines) == 3


def test_shares_by_dimension_have_one_line_a_family():
    rows = [
        (family, d, n, Share(1, 10), Share(9, 10), *[Share(0, 10)] * 3)
        for family in ("definite", "general")
        for d in (2, 3)
        for n in (5, 20)
    ]
    columns = ("family", "d", "n", "several points", "one point", "zero", "cycle", "moving")
    figure = draw(document("matrices", Table("fates", "", columns, tuple(rows))))["one-point"]
    assert len(figure.axes) == 2
    assert len(figure.axes[0].containers) == 2
    np.testing.assert_allclose(figure.axes[0].containers[0].lines[0].get_ydata(), 0.9)


@pytest.mark.parametrize(
    ("name", "group", "kind"), [("feed-forward", "task", "attention"), ("equal-size", "terms", "K")]
)
def test_accuracies_are_where_they_belong(name, group, kind):
    noise = "noise" if name == "feed-forward" else "anything"
    rows = [(g, k, 0.3, interval([0.1 * i, 0.1 * i + 0.02])) for i, (g, k) in enumerate([("a", 0), ("a", 8), ("b", 0)])]
    table = Table("accuracy", "", (group, kind, noise, "accuracy"), tuple(rows))
    ax = draw(document(name, table))["accuracy"].axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == (
        ["a, noise 0.3", "b, noise 0.3"] if name == "feed-forward" else ["a", "b"]
    )
    drawn = sorted(x for container in ax.containers for x in container.lines[0].get_xdata())
    np.testing.assert_allclose(drawn, [0.01, 0.11, 0.21])


def test_margins_and_times_are_drawn():
    columns = ("heads", "leaders", "period", "patterns", "programs", "cycles", "margin", "follows", "exact")
    rows = ((2, 2, 2, 2, 2, 0, None, "", ""), (2, 3, 2, 5, 5, 1, 0.05, "1+2 2+3", "yes"))
    figures = draw(document("definite-heads", Table("patterns", "", columns, rows)))
    widths = [bar.get_width() for bar in figures["search"].axes[0].patches]
    assert widths == [0.0, 0.05]
    clouds, rest = ("beta", "median", "first", "last", "not merged"), interval([3.0, 3.0])
    tables = (
        Table("pair", "", ("beta", "layers", "predicted"), ((1.0, 10, 11.0), (2.0, 20, 21.0))),
        Table("circle", "", ("beta", "layers", "predicted"), ((1.0, 10, 11.0),)),
        Table("clouds", "", clouds, ((1.0, 5.0, 2.0, 9.0, 0), (9.0, None, None, None, 2))),
        Table("localmax", "", ("eps", "clusters", "layers until rest"), ((0.1, interval([1.0, 2.0]), rest),)),
    )
    figure = draw(document("merging", *tables))["layers"]
    assert isinstance(figure, Figure)
    assert figure.axes[0].get_yscale() == "log"
