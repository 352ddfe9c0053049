"""The report of a group shows every item once, in order, and escapes whatever comes from data."""

from dataclasses import replace

import pytest

import toy_experiments
from hardmax.experiments import item
from hardmax.experiments.item import Outcome, select
from hardmax.experiments.report import write_reports
from hardmax.experiments.run import run_items
from toy_experiments import PACKAGE


@pytest.fixture
def reports(monkeypatch, tmp_path):
    toy_experiments.install(monkeypatch)

    def write(*names, **options):
        results = list(run_items(select(PACKAGE, names), tmp_path, **options))
        return [path.read_text() for path in write_reports(tmp_path, PACKAGE, results[::-1])]

    return write


def test_both_forms_have_every_item_in_order_with_its_numbers(reports):
    for text in reports("coin", "dice", "lonely"):
        places = [text.rindex(title) for title in ("The dice?", "The coin-flip?", "The lonely?")]
        assert places == sorted(places)
        for words in ("2 of 6 toys", "Not made: lonely.", "Heads.", "1 in 6.", "2/15", "[T, Fig. 1]", "How many sixes"):
            assert words in text.replace("\\", ""), words
        assert "pip install" in text
        assert "Not in the report" not in text
        assert "--quick" not in text


def test_words_of_the_data_are_escaped(reports):
    page, text = reports("dice")
    assert "d4 &lt;b&gt;|*" in page
    assert "d4 &lt;b&gt;\\|\\*" in text
    assert "<b>" not in page + text
    assert "<h1>All &lt;toys&gt;</h1>" in page
    assert "Chance &amp; luck." in page


def test_columns_that_no_item_needs_are_left_out(reports):
    assert "| what | ours |" in reports("coin")[1]
    assert "| what | paper | ours | what differs and why |" in reports("coin", "dice")[1]


def test_a_quick_run_says_so_and_where_it_was_made(reports):
    for text in reports("dice", quick=True, seed=5):
        assert "quick run" in text
        assert "<dt>seed</dt><dd>5</dd>" in text or "- **seed:** 5" in text


def test_pictures_are_in_the_page_and_linked_from_the_markdown(reports, monkeypatch):
    figures = pytest.importorskip("matplotlib.figure")
    style = pytest.importorskip("hardmax.plot.style")
    monkeypatch.setattr(style, "square", lambda size: figures.Figure(figsize=(size, size)), raising=False)

    def drawn(context):
        context.figure("cloud", "style:square", 1, text="A cloud.")
        context.figure("small", "style:square", 1, text="A small one.", width=40)
        return Outcome("Drawn.")

    (coin,) = select(PACKAGE, ["coin"])
    monkeypatch.setitem(item._ITEMS, (PACKAGE, "coin-flip"), replace(coin, run=drawn))
    page, text = reports("coin")
    assert page.count("data:image/png;base64,") == 2
    assert 'alt="A cloud."' in page
    assert 'width="40"' in page
    assert "![A cloud.](coin-flip/cloud.png)" in text
