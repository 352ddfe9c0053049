"""Pages: self-contained, and safe whatever the text holds."""

import re
from html.parser import HTMLParser

import pytest

from hardmax.palette import rgb
from hardmax.sentiment.explain import explain
from tiny_models import HOSTILE, random_model, three_classes, two_classes

VOID = {"meta", "br", "img", "line", "circle", "rect"}


class _Page(HTMLParser):
    """Collects tags and attributes, and checks that tags close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text, self.titles = [], [], [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "title"} & set(self.open):
            self.text += data


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("model", [two_classes(), two_classes(layers=0, dim=5), three_classes()], ids=["2", "d5", "3"])
def test_a_page_is_whole_and_asks_for_nothing(name, model):
    text = explain(model, HOSTILE[name]).to_html()
    page = _Page(text)
    assert page.open == []
    assert not {"script", "link", "iframe", "img", "object"} & set(page.tags)
    assert not [a for a, _ in page.attributes if a.startswith("on") or a in ("src", "href")]
    assert "url(" not in text
    assert "@import" not in text
    text.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_the_text_is_all_there():
    words = HOSTILE["script"]
    page = _Page(explain(two_classes(), words).to_html())
    assert words in page.text


def test_a_notebook_gets_a_part_not_a_page():
    part = explain(two_classes(), "great film")._repr_html_()
    assert part.startswith('<div class="hx">')
    assert "<body" not in part


def test_many_terms_stay_readable():
    model = random_model(terms=3000, seed=1)
    ex = explain(model, " ".join(f"w{i}" for i in range(3000)))
    text = ex.to_html()
    assert "more" in text
    assert len(text) < 3_000_000


def test_one_point_has_a_place_in_the_plane():
    assert "nan" not in explain(two_classes(), "great").to_html()
    assert "nan" not in explain(two_classes(dim=1), "great film").to_html()


def test_the_legend_names_the_colors_of_the_palette():
    text = explain(two_classes(), "a great but dull film")._repr_html_()
    assert "Orange, underlined: speaks for" in text
    assert f"--for: {rgb('positive')}" in text  # Okabe and Ito's orange
    assert rgb("positive") == "213, 94, 0"
