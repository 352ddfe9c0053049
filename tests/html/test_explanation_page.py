"""Pages: self-contained, and safe whatever the text holds."""

import re
from dataclasses import replace

import pytest

from hardmax.palette import palette
from hardmax.sentiment.explain import explain
from html_reader import HOSTILE as EVIL
from html_reader import SHOWN, Html, assert_alone
from tiny_models import HOSTILE, random_model, three_classes, two_classes


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("model", [two_classes(), two_classes(layers=0, dim=5), three_classes()], ids=["2", "d5", "3"])
def test_a_page_is_whole_and_asks_for_nothing(name, model):
    text = explain(model, HOSTILE[name]).to_html()
    assert "img" not in assert_alone(text).tags()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_the_text_is_all_there():
    words = HOSTILE["script"]
    page = Html(explain(two_classes(), words).to_html())
    assert words in page.text


@pytest.mark.parametrize("model", [two_classes(), three_classes()], ids=["2", "3"])
def test_labels_and_texts_are_escaped_wherever_they_stand(model):
    named = replace(model, classes=tuple(f"{EVIL} {k}" for k in range(len(model.classes))))
    ex = explain(named, f"great film {EVIL}")
    page = assert_alone(ex.to_html())
    shown = ex.label.replace(EVIL, SHOWN)
    assert page.blocks["title"].startswith(f"Why this label: {shown}")
    assert page.blocks["h1"] == f"{shown}, probability {ex.probability:.4f}"
    assert f"great film {SHOWN}" in page.text
    assert f"favors {ex.toward.replace(EVIL, SHOWN)}." in page.text
    if len(ex.scores) > 1:
        assert [row[0] for row in page.rows[-3:]] == [f"{SHOWN} {k}" for k in range(3)]


def test_a_notebook_gets_a_part_not_a_page():
    part = explain(two_classes(), "great film")._repr_html_()
    assert part.startswith('<div class="hx">')
    assert part.endswith("</div>")
    assert "<body" not in part


def test_many_terms_stay_readable():
    model = random_model(terms=3000, seed=1)
    ex = explain(model, " ".join(f"w{i}" for i in range(3000)))
    text = ex.to_html()
    assert "more" in text
    assert len(text) < 3_000_000


def test_leaders_are_shown_only_where_there_is_attention():
    assert "leaders" in Html(explain(two_classes(), "great film").to_html()).text
    assert "leader" not in Html(explain(two_classes(layers=0), "great film").to_html()).text


def test_one_point_has_a_place_in_the_plane():
    assert "nan" not in explain(two_classes(), "great").to_html()
    assert "nan" not in explain(two_classes(dim=1), "great film").to_html()


def test_the_legend_names_the_colors_of_the_palette():
    text = explain(two_classes(), "a great but dull film")._repr_html_()
    assert "Orange with a solid underline: favors positive" in text
    assert f"--positive: {palette()['positive']}" in text
    assert palette()["positive"] == "#D55E00"  # Okabe and Ito's orange
