"""Results in a notebook and as pages: every object, escaped, without a script."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from fractions import Fraction
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import hardmax as hx
from hardmax.cloud.presets import random_cloud
from hardmax.html.results import MOST_ROWS
from hardmax.html.sketch import cloud_sketch, plane, polytope_sketch
from hardmax.io.documents import readable
from hardmax.palette import palette
from hardmax.text.vocabulary import Vocabulary
from hardmax.views import VIEWS
from html_reader import HOSTILE, SHOWN, assert_alone
from tiny_models import TERMS, two_classes


@cache
def _results():
    traj = hx.simulate(hx.preset("emerging"), layers=5)
    eq = hx.limit(hx.preset("cube"))
    sequences = [[[0, 0], [1, 1]], [[0, 1], [1, 0]]]
    return {
        "trajectory": traj,
        "exact": hx.simulate(hx.preset("square", exact=True), layers=2, exact=True),
        "one dimension": hx.simulate([[1.0], [-2.0], [0.5]], layers=2),
        "many dimensions": hx.simulate(random_cloud("random", 20, 9, 1), layers=2),
        "batch": hx.simulate([random_cloud("ball", 9 + k, 2, k) for k in range(14)], layers=3),
        "equilibrium": eq,
        "certificate": eq.certificate,
        "polytope": eq.polytope,
        "exact polytope": hx.limit(hx.preset("square", exact=True), exact=True).polytope,
        "network": hx.construct(sequences, ["<b>", "other"]),
        "model": hx.load("imdb-words").model_,
        "explanation": hx.load("imdb-words").explain("a great film <script>"),
        "outcome": traj.outcome,
        "problem": traj.problem,
        "limit on disk": _limit_on_disk(),
        "drift": hx.load("imdb-words").drift(["A great film."] * 9, ["A dull film <script>."] * 5),
        "verification": hx.construct(sequences, ["a", "b"]).verify(sequences, ["a", "b"], levels=["float64"]),
        "stages": hx.construct(sequences, ["a", "b"], style="narrow").stages(sequences),
    }


def _limit_on_disk():
    with TemporaryDirectory() as folder:
        np.save(f"{folder}/cloud.npy", random_cloud("random", 50, 2, 1))
        return hx.limit_file(f"{folder}/cloud.npy", f"{folder}/limit")


NAMES = (
    "trajectory", "exact", "one dimension", "many dimensions", "batch", "equilibrium", "certificate", "polytope",
    "exact polytope", "network", "model", "explanation", "outcome", "problem", "limit on disk", "drift", "verification",
    "stages",
)  # fmt: skip


def test_no_result_is_forgotten():
    assert tuple(_results()) == NAMES
    shown = {base.__name__ for result in _results().values() for base in type(result).__mro__}
    assert set(VIEWS) - shown == {"Report"}  # which needs training; see tests/sentiment/test_report.py


def test_small_results_show_what_they_hold():
    shown = {name: _results()[name]._repr_html_() for name in NAMES}
    assert "moving" in shown["outcome"]
    assert "Hardmax(tie_tolerance=0.0)" in shown["problem"]
    assert "50 in dimension 2" in shown["limit on disk"]
    assert "9 before, 5 after" in shown["drift"]
    assert "dull" in shown["drift"]
    assert "2 of 2" in shown["verification"]
    assert "place" in shown["stages"]


@pytest.mark.parametrize("name", NAMES)
def test_every_result_shows_itself_without_a_script(name):
    text = _results()[name]._repr_html_()
    assert text.count("<div") == text.count("</div>")
    assert "<script" not in text
    assert "http" not in text
    assert len(text) < 100_000


SMALL = ("certificate", "outcome", "problem", "limit on disk", "drift", "verification", "stages")  # notebooks only


@pytest.mark.parametrize("name", [n for n in NAMES if n not in SMALL])
def test_every_result_is_saved_as_one_page(name, tmp_path):
    path = _results()[name].save(tmp_path / "x.html")
    text = path.read_text()
    assert text.lower().startswith("<!doctype html>")
    assert "Content-Security-Policy" in text
    assert "default-src" in text
    assert [p.name for p in tmp_path.iterdir()] == ["x.html"]


def test_a_page_that_exists_is_kept_unless_forced(tmp_path):
    path = tmp_path / "x.html"
    _results()["network"].save(path)
    with pytest.raises(hx.BadInput, match="exists"):
        _results()["network"].save(path, force=False)
    _results()["network"].save(path, force=True)
    with pytest.raises(hx.BadInput, match="exists"):
        _results()["polytope"].save(path, force=False)


def test_the_facts_are_those_of_the_result():
    assert "<dt>area</dt><dd>4</dd>" in _results()["exact polytope"]._repr_html_()
    text = _results()["equilibrium"]._repr_html_()
    assert "<dt>limit points</dt><dd>8 vertices of K, 3 on faces of K</dd>" in text
    assert "<dt>status</dt><dd>proved</dd>" in text
    net = _results()["network"]
    assert f"<dd>{net.blocks} (the paper&#39;s bound: {net.bound})</dd>" in net._repr_html_()
    assert _results()["batch"]._repr_html_().count("<svg") == 12
    assert "The first 12 of 14 clouds" in _results()["batch"]._repr_html_()


def test_a_sketch_is_an_image_with_words_and_a_star_for_every_leader():
    traj = _results()["trajectory"]
    picture = ET.fromstring(cloud_sketch(traj.tokens[0], traj.tokens[-1], traj.leaders, 'a "cloud" & more'))
    assert picture.get("aria-label") == 'a "cloud" & more'
    colors = palette()
    stars = [p for p in picture.iter("polygon") if p.get("fill") in colors["clusters"]]
    assert len(stars) == len(traj.leaders)
    assert len(list(picture.iter("line"))) == traj.n
    for circle in picture.iter("circle"):
        assert 0 <= float(circle.get("cx")) <= 320
        assert 0 <= float(circle.get("cy")) <= 320


def test_a_cube_shows_nine_edges_and_hides_three():
    picture = ET.fromstring(polytope_sketch(hx.Polytope.of(hx.preset("cube"))))
    lines = list(picture.iter("line"))
    assert len(lines) == 12
    assert sum(line.get("stroke-dasharray") is not None for line in lines) == 3


@pytest.mark.parametrize(
    ("points", "lines"),
    [
        ([[1.0, 2.0]], 0),
        ([[0.0, 0.0], [1.0, 1.0]], 1),
        ([[0, 0], [1, 0], [0, 1]], 3),
        (np.eye(3), 3),
        (np.eye(4), None),
    ],
)
def test_polytopes_of_any_dimension_are_drawn_or_left_out(points, lines):
    text = polytope_sketch(hx.Polytope.of(points))
    assert (text == "") if lines is None else len(list(ET.fromstring(text).iter("line"))) == lines


def test_up_is_up_and_space_is_seen_from_in_front():
    low, high = plane([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert high[1] > low[1]
    assert abs(high[0] - low[0]) < 1e-12
    assert np.array_equal(plane([[3.0]]), [[3.0, 0.0]])
    first, second, third = plane(np.eye(3))
    assert np.isclose(first @ first + second @ second + third @ third, 2)  # an orthogonal projection of space


def test_numbers_beyond_float64_leave_the_picture_out():
    huge = hx.simulate([[Fraction(10) ** 400, 1], [1, 1]], layers=1, exact=True)
    text = huge._repr_html_()
    assert "<svg" not in text
    assert "<dt>arithmetic</dt><dd>rational</dd>" in text


def test_long_tables_are_cut_and_say_so(tmp_path):
    batch = hx.simulate([np.eye(2)] * (MOST_ROWS + 5), layers=1)
    text = batch.save(tmp_path / "x.html").read_text()
    assert f"The first {MOST_ROWS:,} of 1,005 clouds" in text
    assert text.count("<tr>") == MOST_ROWS + 1


@pytest.mark.slow
@pytest.mark.parametrize("exact", [False, True])
def test_results_are_saved_as_pages_that_stand_alone(tmp_path, exact):
    Z = hx.preset("square-ties", exact=exact)
    alpha = "1/2" if exact else 0.5
    traj, eq = hx.simulate(Z, alpha=alpha, layers=4, exact=exact), hx.limit(Z, alpha=alpha, exact=exact)
    for result, words in ((traj, "follows"), (eq, "decided at layer")):
        text = result.save(tmp_path / "page.html").read_text(encoding="utf-8")
        page = assert_alone(text, scripts=True)  # the playground is inside; nothing comes from outside
        assert "default-src 'none'" in page.policy()
        assert words in page.rows[0]
        assert len(page.rows) == 11
        assert '<svg role="img" aria-label="10 tokens' in text


def test_names_of_classes_and_terms_are_escaped(tmp_path):
    model = two_classes()
    hostile = replace(model, vocabulary=Vocabulary([*TERMS[:-1], HOSTILE], 2), classes=(HOSTILE, "other"))
    for text in (hostile._repr_html_(), hostile.save(tmp_path / "x.html").read_text(encoding="utf-8")):
        page = assert_alone(text)
        assert any(SHOWN in row for row in page.rows)
        assert f"{SHOWN}, other" in page.text


def test_long_fractions_are_shown_rounded():
    assert readable(Fraction(1, 3)) == "1/3"
    assert readable(Fraction(10**30, 3 * 10**30 + 1)) == "0.333333"
    assert readable(0.1 + 0.2) == "0.3"
