"""Pictures of measurements and of cycles show what the tables and the cases hold."""

import numpy as np

from hardmax.experiments.questions.cycles import FOUND, orbit
from hardmax.experiments.table import Share, Table, interval
from hardmax.plot.cycles import plot_cycle_in_triangle, plot_one_head_cycles
from hardmax.plot.measurements import plot_dots, plot_fates, plot_margins, plot_merging
from hardmax.plot.style import panels


def records(name, columns, rows):
    return Table(name, "", columns, rows).records()


def test_panels_stand_in_a_row_and_one_panel_is_a_row_as_well():
    figure, axes = panels(3, 2.0, 1.5, 0.5, sharey=True)
    assert figure.get_size_inches().tolist() == [6.5, 1.5]
    assert list(axes) == figure.axes
    axes[0].set_ylim(0, 7)
    assert axes[2].get_ylim() == (0, 7)
    assert len(panels(1, 4.0, 3.0)[1]) == 1


def test_the_cycle_of_two_heads_has_three_panels_and_moves_between_its_points():
    figure = plot_cycle_in_triangle(orbit(FOUND))
    assert [ax.get_title() for ax in figure.axes][:2] == ["head 1", "head 2"]
    places = [line.get_xydata()[0] for line in figure.axes[2].lines if line.get_marker() == "o"]
    corners = np.array([[0.0, 0.0], [0.5, np.sqrt(3) / 2], [1.0, 0.0]])
    expected = np.array([[1, 3, 2], [2, 3, 1]]) / 6 @ corners
    np.testing.assert_allclose(sorted(map(tuple, places)), sorted(map(tuple, expected)))


def test_the_cycles_of_one_head_are_drawn_with_their_leaders():
    left, right = plot_one_head_cycles(orbit("one-head-period-2"), orbit("one-head-period-3")).axes
    assert sum(line.get_marker() == "*" for line in left.lines) == 4
    assert sum(line.get_marker() == "*" for line in right.lines) == 3
    assert sum(line.get_marker() == "o" for line in right.lines) == 3


def test_shares_by_dimension_have_one_line_per_family():
    rows = [
        (family, d, n, Share(1, 10), Share(9, 10), *[Share(0, 10)] * 3)
        for family in ("definite", "general")
        for d in (2, 3)
        for n in (5, 20)
    ]
    columns = ("family", "d", "n", "several points", "one point", "zero", "cycle", "moving")
    figure = plot_fates(records("fates", columns, rows))
    assert len(figure.axes) == 2
    assert len(figure.axes[0].containers) == 2
    np.testing.assert_allclose(figure.axes[0].containers[0].lines[0].get_ydata(), 0.9)


def test_accuracies_are_where_they_belong():
    rows = [(g, k, interval([0.1 * i, 0.1 * i + 0.02])) for i, (g, k) in enumerate([("a", 0), ("a", 8), ("b", 0)])]
    ax = plot_dots(records("accuracy", ("terms", "K", "accuracy"), rows), "terms", "K", "accuracy", "K = ").axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    drawn = sorted(x for container in ax.containers for x in container.lines[0].get_xdata())
    np.testing.assert_allclose(drawn, [0.01, 0.11, 0.21])
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["K = 0", "K = 8"]


def test_margins_and_times_are_drawn():
    columns = ("heads", "leaders", "period", "patterns", "programs", "cycles", "margin", "follows", "exact")
    rows = ((2, 2, 2, 2, 2, 0, None, "", ""), (2, 3, 2, 5, 5, 1, 0.05, "1+2 2+3", "yes"))
    widths = [bar.get_width() for bar in plot_margins(records("patterns", columns, rows)).axes[0].patches]
    assert widths == [0.0, 0.05]
    pair, rest = ("beta", "layers", "predicted"), interval([3.0, 3.0])
    clouds = ((1.0, 5.0, 2.0, 9.0, 0), (9.0, None, None, None, 2))
    tables = {
        "pair": records("pair", pair, ((1.0, 10, 11.0), (2.0, 20, 21.0))),
        "circle": records("circle", pair, ((1.0, 10, 11.0),)),
        "clouds": records("clouds", ("beta", "median", "first", "last", "not merged"), clouds),
        "localmax": records("localmax", ("eps", "clusters", "layers until rest"), ((0.1, interval([1.0, 2.0]), rest),)),
    }
    left, right = plot_merging(tables).axes
    assert left.get_yscale() == "log"
    assert [10, 20] in [list(line.get_ydata()) for line in left.lines]
    assert right.containers[0].lines[0].get_ydata().tolist() == [1.5]
