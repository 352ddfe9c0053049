"""The Corpus screen in a real browser, on labeled texts of our own: leaders by class, filters, wrong answers."""

import json
import re
import time
from urllib.request import urlopen

import pytest

import hardmax as hx
from tiny_models import two_classes

TEXTS = [
    ("A wonderful film, great music and a great plot. I loved it!", 1),
    ("Boring, awful and a waste of time. The worst film of the year.", 0),
    ("The plot is dull and the acting is terrible.", 0),
    ("Excellent! One of the best films, perfect in every way.", 1),
    ("This was awful, a terrible mess <b>and</b> boring.", 1),  # labeled against its words: a wrong answer
    ("Great, excellent, wonderful.", 0),
    ("Awful.<BR>A waste of time.<br /><br />Boring.", 1),  # line breaks as the reviews have them
]
MANY = 29


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    file = tmp_path_factory.mktemp("corpus") / "reviews.jsonl"
    rows = [{"text": text, "label": label} for text, label in TEXTS]
    rows += [{"text": f"A great film, number {i}.", "label": 1} for i in range(MANY)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture(scope="module")
def corpus_server(server, data):
    running = type(server)("--data", str(data))
    while not ask(running.url + "api/corpus")["ready"]:  # the first run after an update compiles
        time.sleep(0.05)
    yield running
    running.stop()


def ask(url):
    with urlopen(url, timeout=60) as answer:
        return json.load(answer)


@pytest.fixture
def open_corpus(open_page, corpus_server):
    def start(fragment="v=1&view=corpus", **options):
        page = open_page(fragment, url=corpus_server.url, **options)
        page.locator(".corpus-body:visible").wait_for()
        return page

    return start


@pytest.mark.slow
def test_figures_tables_leaders_and_wrong_answers_are_those_of_python(open_corpus):
    page = open_corpus()
    model = hx.load("imdb")
    texts = [text for text, _ in TEXTS] + [f"A great film, number {i}." for i in range(MANY)]
    labels = [label for _, label in TEXTS] + [1] * MANY
    names = ["negative", "positive"]
    wrong = [text for text, label in zip(texts, labels, strict=True) if model.explain(text).label != names[label]]
    assert len(wrong) >= 2
    figures = page.locator(".corpus-figures").inner_text()
    assert f"{len(texts)} texts of reviews.jsonl, classified by imdb" in figures
    assert "% correct" in figures
    assert "<br" not in page.locator("main").inner_text().lower()
    assert page.locator("h2", has_text="Wrong predictions").inner_text() == f"Wrong predictions: {len(wrong)}"
    shown = [text.replace("<BR>", " ").replace("<br /><br />", " ") for text in wrong]
    assert [" ".join(text.split()) for text in page.locator(".review-text").all_inner_texts()] == shown
    assert page.locator(".bar-group h3").all_inner_texts() == ["\u25bc predicted negative", "\u25b2 predicted positive"]
    first = page.locator(".bar-group").nth(1).locator(".leader-row").first
    leads = sum(first.locator("bdi").inner_text() in [one.word for one in model.explain(t).leaders] for t in texts)
    assert leads >= int(first.locator(".num").inner_text()) > 0
    for figure in page.locator(".histogram-figure").all():
        figure.get_by_role("button", name="as a table").click()
        assert figure.locator(".twin tbody tr").count() > 2


def test_filters_by_leader_class_and_page(open_corpus):
    page = open_corpus()
    page.get_by_label("only wrong predictions").uncheck()
    page.get_by_text("page 1 of 4").wait_for()
    assert page.locator(".review").count() == 10
    page.get_by_role("button", name="Next").click()
    page.get_by_text("page 2 of 4").wait_for()
    page.get_by_label("True class").select_option(label="negative")
    page.locator("h2", has_text="Texts: 3").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    page.locator("h2", has_text="Texts: 36").wait_for()
    row = page.locator(".bar-group").nth(1).locator(".leader-row").first
    word = row.locator("bdi").inner_text()
    row.click()
    page.locator("h2", has_text=f"Texts led by \u201c{word}\u201d").wait_for()
    assert page.get_by_label("Led by").input_value() == word
    page.get_by_label("Led by").fill("zzzz")
    page.keyboard.press("Enter")
    page.get_by_text("No text passes these filters.").wait_for()


def test_a_click_on_a_text_opens_it_in_sentiment_and_the_link_brings_it_back(open_corpus, corpus_server, open_page):
    page = open_corpus()
    page.locator(".review-open", has_text="This was awful").click()
    page.locator(".screen-text .verdict-label").first.wait_for()
    assert page.get_by_label("Text", exact=True).input_value() == TEXTS[4][0]
    assert page.locator(".marked b").count() == 0
    page.wait_for_function("() => location.hash.includes('review=4')")
    other = open_page(page.url.split("#")[1], url=corpus_server.url)
    other.locator(".screen-text .verdict-label").first.wait_for()
    assert other.get_by_label("Text", exact=True).input_value() == TEXTS[4][0]
    other.evaluate("window.hardmaxApp.openScreen('text', { review: '6' })")
    other.wait_for_function("() => document.querySelector('.screen-text textarea').value.startsWith('Awful')")
    assert other.get_by_label("Text", exact=True).input_value() == "Awful.\nA waste of time.\n\nBoring."


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return two_classes(layers=0).save(tmp_path_factory.mktemp("models") / "plain")


@pytest.fixture(scope="module")
def plain_server(server, plain, data):
    running = type(server)(str(plain), "--data", str(data))
    yield running
    running.stop()


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_model_without_attention_words_decide_and_none_leads(plain_server, plain, open_page, width):
    page = open_page("v=1&view=corpus&wrong=0", url=plain_server.url, width=width)
    page.locator(".corpus-body:visible").wait_for()
    shown = page.locator(".screen-corpus").inner_text().lower()
    assert "which words decide" in shown
    assert "decided by great" in shown
    assert re.search(r"\b(leads?|led|leaders?)\b", shown) is None
    row = page.locator(".bar-group").nth(1).locator(".leader-row").first
    assert row.locator("bdi").inner_text() == "great"
    row.click()
    page.locator("h2", has_text="Texts decided by \u201cgreat\u201d").wait_for()
    model = hx.load(str(plain))
    texts = [text for text, _ in TEXTS] + [f"A great film, number {i}." for i in range(MANY)]
    found = [model.explain(text) for text in texts]
    wanted = sum(ex.label == "positive" and "great" in [w.word for w in ex.reasons] for ex in found)
    assert int(row.locator(".num").inner_text()) == wanted > MANY
    page.get_by_label("Model").select_option("imdb")
    page.locator("h2", has_text="Texts led by").wait_for()


def test_without_data_the_reason_is_shown(open_page):
    page = open_page()
    nothing = {"schema": "hardmax.corpus/1", "available": False, "ready": True, "reason": "reviews.jsonl is gone"}
    page.route("**/api/corpus?*", lambda route: route.fulfill(json=nothing))
    page.keyboard.press("5")
    page.get_by_text("No labeled texts to show: reviews.jsonl is gone").wait_for()
    assert page.locator(".corpus-body:visible").count() == 0


def test_a_review_that_is_not_there_is_said_and_an_example_shown(open_page, corpus_server):
    page = open_page("v=1&view=text&review=99999", url=corpus_server.url)
    page.watch.forgiven.append("404")
    page.locator(".banner", has_text="Review 99999 cannot be shown: there is no review 99999").wait_for()
    page.locator(".screen-text .verdict-label").first.wait_for()


def test_the_screen_can_be_walked_with_the_keyboard_alone(open_corpus):
    page = open_corpus()
    page.get_by_label("Model").focus()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.className"))
        if seen[-1] == "review-open":
            break
    assert seen[-1] == "review-open"
    assert "leader-row" in seen
    page.keyboard.press("Enter")
    page.locator(".screen-text .verdict-label").first.wait_for()
