"""The article in a real browser: prose and figure go together, predictions come before answers, nothing is covered."""

import re

import pytest
from playwright.sync_api import expect

import hardmax as hx
from page_modules import LESSONS

FIGURE = "window.hardmaxApp.controller?.figure"


def state(page, key):
    return page.evaluate("(key) => window.hardmaxApp.state[key]", key)


def shown(page, key):
    return page.evaluate(f"(key) => {FIGURE}.state[key]", key)


REST = """async () => {
    for (let last = -1; last !== window.scrollY; ) {
        last = window.scrollY;
        await new Promise((done) => setTimeout(done, 300));
    }
}"""


def part(page, number):
    return page.locator(".article-part").nth(number - 1)


def ask(page, number):
    """Scroll to a section's question; its figure stands ready."""
    question = part(page, number).locator(".ask")
    question.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    page.wait_for_function(f"(n) => {FIGURE}.phase === 'ask' && window.hardmaxApp.state.lesson === n", arg=number)
    return question


def drag_ring(page, to):
    """Drag the ring to a point of the picture, given in the cloud's coordinates."""
    page.locator(".ghost").wait_for()
    x, y = page.evaluate(
        f"""(to) => {{
        const box = document.querySelector(".pinned .token-box").getBoundingClientRect();
        const [x, y] = {FIGURE}.ring.map.toScreen(to);
        return [box.left + x, box.top + y];
    }}""",
        to,
    )
    box = page.locator(".ghost").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(x, y, steps=4)
    page.mouse.up()


def test_old_links_and_set_lead_to_the_section(open_page):
    page = open_page("v=1&lesson=3&alpha=7&n=9")
    assert state(page, "view") == "article"
    assert page.locator(".tab[aria-current]").inner_text() == "Lessons"
    for number in (5, 7, 1):
        page.evaluate("(hash) => { location.hash = hash; }", f"v=1&lesson={number}")
        page.wait_for_function(f"(n) => {FIGURE}?.section?.title === n", arg=LESSONS[number - 1])
        heading = part(page, number).get_by_role("heading", name=LESSONS[number - 1])
        assert 0 < heading.bounding_box()["y"] < 860
    page.get_by_role("link", name="Dynamics").click()
    page.wait_for_selector(".screen-dyn:not([hidden])")
    assert state(page, "lesson") == 0
    page.evaluate("window.hardmaxApp.set({ lesson: 2 })")
    page.wait_for_function(f"() => {FIGURE}?.section?.title === 'Why the hull shrinks'")
    assert state(page, "view") == "article"


@pytest.mark.slow
def test_scrolling_moves_the_figure_the_address_and_back(open_page):
    page = open_page("v=1&view=article")
    page.mouse.wheel(0, 330)
    page.wait_for_function("() => window.scrollY > 0")
    seen = page.evaluate(f"""async () => {{
        const seen = [];
        for (let last = -1; last !== window.scrollY;) {{
            last = window.scrollY;
            window.scrollBy({{ top: 330, behavior: "instant" }});
            for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame);
            seen.push({FIGURE}.section.title);
        }}
        return seen;
    }}""")
    assert list(dict.fromkeys(seen)) == LESSONS
    page.wait_for_function("() => location.hash.includes('lesson=7')")
    figure = page.locator(".pinned").bounding_box()
    assert figure["y"] >= page.locator(".top").bounding_box()["height"]
    page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_function("() => window.hardmaxApp.state.lesson === 1")


def test_a_right_a_close_and_a_wrong_prediction(open_page):
    page = open_page("v=1&lesson=3")
    question = ask(page, 3)
    assert question.locator(".answer").is_hidden()
    assert shown(page, "k") == 0
    for to, said in [((-1 / 18, 5 / 36), "Right"), ((0.15, 0.2), "Close"), ((1, 1 / 3), "Not quite")]:
        drag_ring(page, to)
        question.get_by_role("button", name="Reveal").click()
        assert question.locator(".outcome").inner_text().startswith(said)
        assert question.locator(".answer").is_visible()
        assert page.locator(".ghost").is_disabled()
        assert shown(page, "k") == 20
        question.get_by_role("button", name="Try again").click()
        assert question.locator(".answer").is_hidden()


def test_the_ring_moves_by_keyboard_and_the_reveal_walks_the_layers(open_page, stop_clock):
    page = open_page("v=1&lesson=1", clock=True, reduced_motion="no-preference")
    question = ask(page, 1)
    before = page.evaluate(f"{FIGURE}.scene.view.place(...{FIGURE}.ring.at)")
    page.locator(".ghost").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowLeft")
    after = page.evaluate(f"{FIGURE}.scene.view.place(...{FIGURE}.ring.at)")
    assert [b - a for a, b in zip(before, after, strict=True)] == pytest.approx([-3, -12], abs=0.01)
    stop_clock(page)
    question.get_by_role("button", name="Reveal").click()
    seen = []
    for _ in range(100):
        page.clock.run_for(100)
        seen.append(shown(page, "k"))
        if seen[-1] == 20:
            break
    assert len(set(seen)) > 5, seen
    assert page.evaluate("document.activeElement.className") == "answer"


def test_every_named_token_is_numbered_and_color_does_not_tell_the_answer(open_page):
    page = open_page("v=1&lesson=1")
    for number in (1, 2, 3, 4, 5, 7):
        question = ask(page, number)
        named = {int(re.search(r"\d+", one)[0]) for one in part(page, number).locator(".token-ref").all_inner_texts()}
        numbers = page.locator(".pinned .token-texts text").all_text_contents()
        assert named <= {int(one) for text in numbers for one in text.split(", ")}
        plain = page.locator(".pinned .token:not(.leads) .glyph").evaluate_all(
            "(all) => [...new Set(all.map((n) => n.style.fill))]"
        )
        assert len(plain) == (3 if number == 7 else 1)
        question.get_by_role("button", name="Reveal").click()
        named |= {int(re.search(r"\d+", one)[0]) for one in question.locator(".token-ref").all_inner_texts()}
        numbers = page.locator(".pinned .token-texts text").all_text_contents()
        assert named <= {int(one) for text in numbers for one in text.split(", ")}


def test_naming_a_token_points_at_it(open_page):
    page = open_page("v=1&lesson=1")
    ask(page, 1).locator(".token-ref", has_text="Token 11").hover()
    page.wait_for_selector(".pinned .token.selected[data-token='11']")
    page.mouse.move(5, 5)
    page.wait_for_selector(".pinned .token.selected", state="detached")


def test_the_verdict_has_the_numbers_of_the_model(open_page):
    page = open_page("v=1&lesson=6")
    page.wait_for_function(f"() => {FIGURE}.words.facts()")
    question = ask(page, 6)
    drag_ring(page, (-0.05, 0.93))
    question.get_by_role("button", name="Reveal").click()
    text = question.locator(".answer").inner_text()
    ex = hx.load("imdb-words").explain("The first hour is brilliant. The last half hour is awful and ruins everything.")
    part_of = {leader.word: leader.contribution for leader in ex.leaders}
    for x in (ex.logit, ex.without("awful").logit, part_of["awful"], part_of["brilliant"]):
        assert f"{x:+.3f}".replace("-", "\u2212") in text
    assert question.locator(".outcome").inner_text().startswith("Right")
    question.get_by_role("button", name="Without \u201cawful\u201d").click()
    page.wait_for_function("() => !document.querySelector('.word-box').textContent.includes('awful')")


def test_the_ring_of_the_words_stands_where_it_was_moved(open_page):
    page = open_page("v=1&lesson=6")
    page.wait_for_function(f"() => {FIGURE}.words.facts()")
    ask(page, 6)
    box = page.locator(".ghost").bounding_box()
    page.locator(".ghost").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".ghost")).not_to_have_attribute("aria-label", re.compile(r" 0, 0\.62\."))
    assert page.locator(".ghost").bounding_box()["y"] == pytest.approx(box["y"] - 24, abs=0.2)


def test_an_edited_figure_opens_in_the_playground_and_leaves_its_own_state_alone(open_page):
    page = open_page("v=1&view=dyn&n=77")
    page.evaluate("window.hardmaxApp.set({ lesson: 5 })")
    page.wait_for_function(f"() => {FIGURE}?.section?.title === 'What alpha does'")
    assert state(page, "n") == 77
    page.get_by_role("link", name="Dynamics").click()
    assert (state(page, "preset"), state(page, "n")) == ("random", 77)
    page.go_back()
    page.wait_for_selector(".screen-article:not([hidden])")
    page.get_by_role("button", name="open in the playground").click()
    page.wait_for_selector(".screen-dyn:not([hidden])")
    assert (state(page, "preset"), state(page, "lesson")) == ("emerging", 0)


def test_space_scrolls_and_arrows_step_the_figure(open_page):
    page = open_page("v=1&lesson=1")
    page.keyboard.press(" ")
    page.wait_for_function("() => window.scrollY > 100")
    page.evaluate(REST)  # the figure follows the part that is read
    before = shown(page, "k")
    page.keyboard.press("ArrowRight")
    assert shown(page, "k") == before + 1
    assert state(page, "k") == 0


COVERED = """() => {
    const node = document.querySelector(".pinned .token-box");
    const box = node.getBoundingClientRect();
    const bad = [];
    for (let x = box.left + 6; x < box.right; x += box.width / 9) {
        for (let y = box.top + 6; y < box.bottom; y += box.height / 9) {
            const top = document.elementFromPoint(x, y);
            if (!top || !node.contains(top)) bad.push([x, y, top?.className]);
        }
    }
    return bad;
}"""


@pytest.mark.slow
def test_the_figure_stays_in_view_and_nothing_covers_it(open_page):
    page = open_page("v=1&lesson=4", width=320, height=844)
    reveal = part(page, 4).get_by_role("button", name="Reveal")
    for width in (320, 390, 600, 768, 899, 900, 1112, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        question = ask(page, 4)
        box, figure = question.bounding_box(), page.locator(".pinned").bounding_box()
        assert width >= 900 or box["y"] >= figure["y"] + figure["height"], "what is asked is not below the figure"
        if reveal.is_visible():
            reveal.click()
        for by in (0, 400):
            page.evaluate("(by) => window.scrollBy({ top: by, behavior: 'instant' })", by)
            page.evaluate("async () => { for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame); }")
            assert page.evaluate(COVERED) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") == width
        part(page, 4).get_by_role("button", name="Try again").click()
