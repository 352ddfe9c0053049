import shutil
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

import hardmax as hx
from hardmax.errors import BadInput, MissingExtra
from hardmax.plot import movie, plot_layer, plot_limit, plot_panels, plot_trails, save_figure
from hardmax.plot.limit import limit_figure
from hardmax.plot.style import PALETTE


def run(name, layers=6, **options):
    return hx.simulate(hx.preset(name), alpha=0.5, layers=layers, **options)


def marks(ax, gid):
    """How many markers of one kind an axes holds."""
    collections = [c for c in ax.collections if c.get_gid() == gid]
    return sum(len(c.get_offsets()) for c in collections) + sum(line.get_gid() == gid for line in ax.lines)


def test_a_layer_has_one_star_per_leader_so_far_and_one_mark_per_other_token():
    traj = run("emerging")
    for layer, leaders in ((0, 2), (1, 3), (6, 3)):
        ax = plot_layer(traj, layer)
        assert marks(ax, "stars") == leaders
        assert marks(ax, "circles") == 8 - leaders
        assert ax.get_title() == f"layer {layer}"
        assert ax.get_aspect() == 1


def test_ties_between_two_are_drawn_in_both_colors():
    ax = plot_layer(run("square-ties"), 0)
    ties = [line for line in ax.lines if line.get_gid() == "tie"]
    right = next(line for line in ties if line.get_xdata()[0] > 0)
    # (0.5, 0) follows (1, 1), token 0, above and (1, -1), token 3, below
    assert right.get_fillstyle() == "top"
    assert right.get_markerfacecolor() == PALETTE[0]
    assert right.get_markerfacecoloralt() == PALETTE[3]
    assert len(ties) == 2
    assert "follows two (a tie)" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_hull_of_the_leaders_is_shaded():
    polygon = next(p for p in plot_layer(run("square"), 3).patches if p.get_gid() == "hull")
    corners = {tuple(np.round(v, 9)) for v in polygon.get_xy()}
    assert corners == {(1, 1), (-1, 1), (-1, -1), (1, -1)}


def test_panels_show_the_layers_of_the_paper_as_far_as_they_were_run():
    titles = [ax.get_title() for ax in plot_panels(run("triangle", layers=30)).axes]
    assert titles == [f"layer {k}" for k in (0, 1, 2, 5, 30)]
    assert [ax.get_title() for ax in plot_panels(run("triangle", layers=3)).axes][-1] == "layer 3"
    assert len(plot_panels(run("triangle", layers=3), layers=(0, -1)).axes) == 2
    with pytest.raises(BadInput, match=r"layer 9 is outside 0\.\.3"):
        plot_panels(run("triangle", layers=3), layers=(0, 9))


def test_all_panels_have_one_scale():
    axes = plot_panels(run("emerging", layers=30)).axes
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in axes}) == 1


def test_a_picture_can_be_drawn_on_the_callers_axes():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    traj = run("triangle")
    assert plot_layer(traj, 1, ax=left) is left
    assert hx.limit(hx.preset("triangle")).plot(ax=right) is right
    assert traj.plot(2, ax=left, legend=False, title="mine").get_title() == "mine"


def test_space_is_drawn_in_space_and_flattened_on_flat_axes():
    traj = run("cube")
    ax = plot_layer(traj, 1)
    assert ax.name == "3d"
    assert marks(ax, "stars") == 8
    flat = plot_layer(traj, 1, ax=Figure().subplots())
    assert "principal axes of 3" in flat.get_title()


def test_high_dimensions_say_that_they_show_principal_axes():
    traj = hx.simulate(np.random.default_rng(0).normal(size=(20, 6)), layers=2)
    assert "first two principal axes of 6" in plot_layer(traj, 0).get_title()
    assert "first two principal axes of 6" in plot_panels(traj).get_suptitle()


def test_a_line_is_drawn_on_a_line():
    traj = hx.simulate([[-1.0], [2.0], [0.3], [-0.2]], layers=4)
    ax = plot_layer(traj, 1)
    assert all((c.get_offsets()[:, 1] == 0).all() for c in ax.collections)
    assert plot_trails(traj).get_ylabel() == "layer"


def test_the_limit_shows_vertices_faces_and_starts():
    ax = plot_limit(hx.limit(hx.preset("square-ties")))
    assert (marks(ax, "vertices"), marks(ax, "faces"), marks(ax, "start")) == (4, 2, 10)
    ends = next(c for c in ax.collections if c.get_gid() == "faces").get_offsets()
    assert sorted(map(tuple, np.asarray(ends))) == [(-1, 0), (1, 0)]


def test_trails_lead_from_the_first_layer_to_the_last():
    traj = run("triangle", layers=4)
    ways = [np.column_stack(line.get_data()) for line in plot_trails(traj).lines if len(line.get_xdata()) == 5]
    assert len(ways) == 12
    assert any(np.array_equal(way, traj.tokens[:, 5]) for way in ways)


def test_a_single_token_and_other_rules_can_be_drawn():
    assert marks(plot_layer(hx.simulate([[1.0, 0.0]], layers=1), 0), "stars") == 1
    soft = plot_panels(run("triangle", rule=hx.Softmax(beta=5.0)))
    assert "follows several" in [text.get_text() for text in soft.legends[0].get_texts()]
    assert len(plot_trails(run("triangle", rule=hx.Uniform())).lines) >= 12


def test_exact_results_are_drawn_like_others():
    traj = hx.simulate(hx.preset("square-ties", exact=True), alpha="1/2", layers=3, exact=True)
    assert marks(plot_layer(traj, 3), "stars") == 4


def test_large_clouds_are_thinned_out_and_say_so():
    traj = hx.simulate(np.random.default_rng(0).normal(size=(30_000, 2)), layers=1)
    ax = plot_layer(traj, 0)
    assert marks(ax, "circles") <= 20_000
    assert marks(ax, "stars") == sum(since == 0 for since in traj.leader_since.values())
    assert any("30,000 tokens" in text.get_text() for text in ax.get_legend().get_texts())


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    before = dict(matplotlib.rcParams)
    plot_panels(run("triangle"))
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_pictures_are_real_files_and_the_same_bytes_each_time(tmp_path, suffix):
    traj = run("emerging")
    first, second = (traj.save(tmp_path / f"{name}{suffix}") for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    if suffix == ".png":
        with Image.open(first) as image:
            image.load()
            assert image.format == "PNG"
            assert image.width > 1500 > image.height > 300
    elif suffix == ".svg":
        root = ElementTree.parse(first).getroot()
        assert root.tag.endswith("svg")
        assert float(root.get("width").removesuffix("pt")) > 500
    else:
        assert first.read_bytes().startswith(b"%PDF-")


def test_a_limit_is_saved_as_a_picture(tmp_path):
    with Image.open(hx.limit(hx.preset("cube")).save(tmp_path / "k.png")) as image:
        image.load()
        assert image.width > 500


def test_a_gif_has_one_frame_per_layer_and_those_between(tmp_path):
    traj = run("emerging", layers=3)
    for between, frames in ((0, 4), (2, 10)):
        with Image.open(movie(traj, tmp_path / "m.gif", between=between, dpi=60)) as image:
            assert image.format == "GIF"
            assert image.n_frames == frames


def test_an_mp4_is_written_where_ffmpeg_is_and_refused_in_words_elsewhere(tmp_path, monkeypatch):
    traj = run("emerging", layers=2)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BadInput, match="needs the program ffmpeg"):
        traj.save(tmp_path / "m.mp4")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    if shutil.which("ffmpeg"):
        assert traj.save(tmp_path / "m.mp4", dpi=60).read_bytes()[4:8] == b"ftyp"


def test_a_movie_of_another_kind_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"m\.avi"):
        movie(run("emerging", layers=1), tmp_path / "m.avi")
    with pytest.raises(BadInput, match="between is -1"):
        movie(run("emerging", layers=1), tmp_path / "m.gif", between=-1)


def test_a_part_of_a_figure_is_saved_with_the_rest(tmp_path):
    figure = Figure(figsize=(4, 2), dpi=100)
    part, _ = figure.subfigures(1, 2)
    plot_layer(run("triangle"), 0, ax=part.subplots(), legend=False)
    with Image.open(save_figure(part, tmp_path / "p.png", dpi=100)) as image:
        assert image.width > 100


def test_without_matplotlib_the_pip_line_is_named(tmp_path, monkeypatch):
    traj = run("triangle", layers=1)
    for name in [name for name in sys.modules if name.startswith("hardmax.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r'pip install "hardmax\[plot\]"'):
        traj.save(tmp_path / "t.png")
    with pytest.raises(MissingExtra, match="matplotlib"):
        traj.plot()
    assert traj.save(tmp_path / "t.json").exists()


def test_plots_of_results_are_shown_by_pyplot_and_pictures_in_files_are_not(tmp_path):
    from matplotlib import pyplot

    traj, eq = hx.simulate(hx.preset("square"), layers=2), hx.limit(hx.preset("square"))
    axes = [traj.plot(), eq.plot(), hx.limit(hx.preset("cube")).plot()]
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [ax.figure for ax in axes]
    for name in ("limit.png", "limit.html"):
        eq.save(tmp_path / name)
    traj.save(tmp_path / "layers.png")
    given = pyplot.figure().add_subplot()
    assert eq.plot(ax=given) is given
    assert len(pyplot.get_fignums()) == 4


def test_every_text_of_a_picture_has_the_typeface_of_the_house():
    figure = limit_figure(hx.limit(hx.preset("square-ties")))
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert len(texts) > 5
    assert {text.get_fontname() for text in texts} == {"STIXGeneral"}


@pytest.mark.parametrize(
    "run", [hx.limit, lambda Z, **options: hx.simulate(Z, layers=2, **options)], ids=["limit", "run"]
)
def test_numbers_beyond_float64_have_no_picture_but_a_page(run, tmp_path):
    result = run([[10**400, 1], [1, 2]], exact=True)
    for draw in (result.plot, lambda: result.save(tmp_path / "x.png")):
        with pytest.raises(hx.BadInput, match="beyond the range of float64"):
            draw()
    page = result.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<table" in page
    assert "hardmax-playground" not in page
