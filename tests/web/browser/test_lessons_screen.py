"""The lessons in a real browser: each sets the page, asks, reveals; keyboard, focus, links."""

import pytest

import hardmax as hx
from page_modules import LESSONS


def state(page, key):
    return page.evaluate("(key) => window.hardmaxApp.state[key]", key)


def card(page):
    return page.get_by_role("dialog")


def focused(page):
    return page.evaluate("document.activeElement.textContent")


def test_six_cards_one_after_the_other_each_with_an_answer(page):
    page.get_by_role("button", name="Lessons").click()
    for number, title in enumerate(LESSONS, start=1):
        card(page).get_by_role("heading", name=title).wait_for()
        assert state(page, "lesson") == number
        assert focused(page) == title
        answer = card(page).locator(".lesson-answer")
        assert not answer.is_visible()
        card(page).get_by_role("button", name="Show the answer").click()
        assert answer.is_visible()
        if number < 6:
            card(page).get_by_role("button", name="Next").click()
    assert state(page, "view") == "text"
    card(page).get_by_role("button", name="Play on your own").click()
    card(page).wait_for(state="detached")
    assert focused(page) == "Lessons"


def test_a_link_opens_a_lesson_in_its_own_state(open_page):
    page = open_page("v=1&lesson=1&alpha=7&n=9")
    presets = ["triangle", "random", "emerging", "square-ties", "emerging"]
    for number, title in enumerate(LESSONS, start=1):
        if number > 1:
            page.evaluate("(hash) => { location.hash = hash; }", f"v=1&lesson={number}&alpha=7&n=9")
        card(page).get_by_role("heading", name=title).wait_for()
        if number < 6:
            assert [state(page, key) for key in ("preset", "alpha", "view")] == [presets[number - 1], 0.5, "dyn"]
    page.locator(".verdict-label").first.wait_for()
    assert state(page, "ex") == "halves"


def test_what_the_cards_say_is_what_the_page_shows(open_page):
    page = open_page("v=1&lesson=3")
    page.wait_for_function("() => document.querySelectorAll('.token.leads').length === 2")
    card(page).get_by_role("button", name="One layer forward").click()
    page.wait_for_function("() => document.querySelectorAll('.token.leads').length === 3")
    page.evaluate("window.hardmaxApp.set({ lesson: 5 })")
    card(page).get_by_role("heading", name="What alpha does").wait_for()
    for alpha, leaders in (("0.1", 2), ("0.5", 3), ("2", 2)):
        card(page).get_by_role("button", name=f"\u03b1 = {alpha}", exact=True).click()
        page.wait_for_function("(n) => document.querySelectorAll('.token.leads').length === n", arg=leaders)


def test_the_nudged_token_ends_at_the_corner(open_page):
    page = open_page("v=1&lesson=4")
    card(page).get_by_role("button", name="Nudged, twenty layers").click()
    assert state(page, "k") == 20
    assert page.evaluate("window.hardmaxApp.state.pts.coords[9]") == 0.01
    card(page).get_by_role("button", name="Start", exact=True).click()
    assert state(page, "pts") is None


def test_dropping_the_word_turns_the_verdict(open_page):
    page = open_page("v=1&lesson=6")
    page.locator(".verdict-label", has_text="negative").first.wait_for()
    card(page).get_by_role("button", name="What if: without").click()
    page.locator(".verdict-label", has_text="positive").wait_for()
    ex = hx.load("imdb").explain(page.get_by_label("Text", exact=True).input_value())
    assert f"changes by {ex.without('awful').logit - ex.logit:+.3f}" in page.locator(".compare h2").inner_text()


def test_tab_stays_inside_and_escape_gives_the_focus_back(page):
    page.get_by_role("button", name="Lessons").press("Enter")
    card(page).wait_for()
    for key in ["Tab"] * 9 + ["Shift+Tab"] * 12:
        page.keyboard.press(key)
        assert page.evaluate("document.querySelector('.lesson').contains(document.activeElement)")
    page.keyboard.press("Escape")
    card(page).wait_for(state="detached")
    assert focused(page) == "Lessons"
    assert state(page, "lesson") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, violations, scheme):
    page = open_page("v=1&lesson=3", color_scheme=scheme, reduced_motion="reduce")
    card(page).get_by_role("button", name="Show the answer").click()
    assert violations(page) == []


def test_a_phone_shows_the_card_below_the_picture(open_page):
    page = open_page("v=1&lesson=2", width=390, height=780)
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 780})
        box = card(page).bounding_box()
        assert (box["x"], box["width"]) == (0, width)
        assert box["y"] > 300
        assert page.evaluate("document.documentElement.scrollWidth") == width
    card(page).get_by_role("button", name="Show the answer").click()
    assert card(page).locator(".lesson-answer").is_visible()
