"""The first ten seconds and the ending of the Dynamics screen: headline, starts, legend, play once, settle, count."""

import re

import numpy as np
import pytest

import hardmax as hx
from hardmax.cloud.presets import random_cloud

APP = "window.hardmaxApp"
CERTAIN = "60 tokens became 6 clusters after 10 layers; where they go is certain from layer 1 on."
UNCHECKED = CERTAIN.replace("certain", "decided here, not checked,")


def k(page):
    return page.evaluate(f"{APP}.state.k")


def story(page):
    return page.locator(".screen-dyn .story").inner_text()


@pytest.mark.slow
def test_the_cloud_plays_once_on_the_first_visit_and_stops_with_a_sentence_when_it_is_settled(open_page):
    page = open_page(first_visit=True, clock=True, reduced_motion="no-preference")
    assert page.get_by_role(
        "heading", name="Each token walks toward whoever reaches farthest in its direction"
    ).is_visible()
    page.clock.run_for(1000)
    assert page.evaluate(f"{APP}.player.playing || {APP}.state.k > 0")
    page.clock.run_for(15_000)
    assert not page.evaluate(f"{APP}.player.playing")
    assert k(page) == 10, "it stops where it is settled, before the last layer"
    page.wait_for_function("(text) => document.querySelector('.story').textContent === text", arg=CERTAIN)
    assert "60 tokens became 6 clusters after 10 layers" in page.locator("[aria-live]").first.inner_text()
    page.wait_for_function("() => location.hash.includes('k=10')")
    page.reload()
    page.wait_for_function(f"() => {APP}?.controller?.model")
    page.clock.run_for(3000)
    assert k(page) == 10, "the second time it stands where the reader left it"
    page.goto(page.url.split("#")[0] + "?again")
    page.wait_for_function(f"() => {APP}?.controller?.model")
    page.clock.run_for(3000)
    assert k(page) == 0


@pytest.mark.parametrize(("fragment", "motion"), [("", "reduce"), ("v=1&preset=square", "no-preference")])
def test_nothing_plays_for_readers_who_asked_for_less_motion_or_came_by_a_link(open_page, fragment, motion):
    page = open_page(fragment, first_visit=True, clock=True, reduced_motion=motion)
    page.clock.run_for(3000)
    assert k(page) == 0


def test_a_reader_who_begins_is_not_interrupted(open_page):
    page = open_page("v=1&preset=square", clock=True, reduced_motion="no-preference")  # by a link: nothing plays
    page.context.add_init_script("""localStorage.removeItem("hardmax-visited");
        const look = setInterval(() => {
            if (!window.hardmaxApp) return;
            clearInterval(look);
            window.dispatchEvent(new PointerEvent("pointerdown"));
        }, 1);""")
    page.goto(page.url.split("#")[0] + "?again")
    page.wait_for_function(f"() => {APP}?.controller?.model")
    page.clock.run_for(3000)
    assert k(page) == 0
    assert page.evaluate("localStorage.getItem('hardmax-visited')") == "1", "it would have played"


def test_there_are_three_ways_to_start(page):
    starts = page.get_by_role("group", name="Start").get_by_role("button")
    assert starts.all_inner_texts() == ["▶ Play", "Drag a token", "Lesson 1"]
    starts.nth(1).click()
    token = page.evaluate(f"{APP}.state.sel")
    follows = hx.simulate(random_cloud("random", 60, 2, 7), layers=0).follows(0)
    counts = np.bincount([j for one in follows for j in one], minlength=60)
    assert token == counts.argmax(), "the token that most tokens follow"
    assert page.locator(".hint text").inner_html() == "drag me"
    assert page.evaluate("document.activeElement.dataset.token") == str(token)
    for key in ("m", "ArrowRight", "Enter"):  # the hint works for the keyboard as well
        page.keyboard.press(key)
    assert page.evaluate(f"{APP}.state.pts !== null")
    box = page.locator(f"[data-token='{token}']").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 30, box["y"] + 30, steps=3)
    page.mouse.up()
    assert page.locator(".hint text").count() == 0
    starts.nth(0).click()
    page.wait_for_function(f"() => {APP}.player.playing")
    starts.nth(2).click()
    page.wait_for_selector(".screen-article:not([hidden])")


def test_the_legend_names_what_is_drawn(open_page):
    page = open_page("v=1&k=0")
    entries = page.get_by_role("list", name="Legend").get_by_role("listitem")
    assert entries.all_inner_texts() == [
        "leader: never moves", "token, colored by where it ends", "way so far", "where tokens end; their hull",
        "hull at the start",
    ]  # fmt: skip
    page.keyboard.press("h")
    page.keyboard.press("a")
    page.evaluate(f"{APP}.player.go(12)")
    page.wait_for_function("() => !document.querySelectorAll('.legend li')[1].hidden")
    assert entries.all_inner_texts()[1:] == [
        "\u00d75\ntokens that have met", "token, colored by where it ends", "way so far",
        "where tokens end; their hull", "follows",
    ]  # fmt: skip
    page.evaluate(f"{APP}.set({{ n: 900 }}); {APP}.flush()")
    assert entries.all_inner_texts()[-1] == "where tokens end; their hull", (
        "of many tokens no trails and arrows are drawn"
    )


def test_before_the_certificate_the_end_is_decided_here(open_page):
    page = open_page("v=1&k=10")
    page.route("**/api/limit", lambda route: None)  # no answer
    for seed in (8, 7):
        page.evaluate(f"{APP}.set({{ seed: {seed}, k: 10 }}); {APP}.flush()")
    assert story(page) == UNCHECKED


def test_leaders_lie_on_top_and_a_token_that_becomes_one_keeps_the_keyboard(open_page):
    page = open_page("v=1&preset=square")
    order = "[...document.querySelectorAll('.screen-dyn .token')].map((node) => Number(node.dataset.token))"
    assert page.evaluate(order) == [4, 5, 6, 7, 8, 9, 0, 1, 2, 3]
    page.evaluate(f"{APP}.controller.scene.focusToken(6)")
    page.keyboard.press("m")
    for _ in range(30):
        page.keyboard.press("ArrowRight")
        if page.evaluate(f"{APP}.flush(); {APP}.controller.model.result.leaderSince.has(6)"):
            break
    assert page.evaluate("document.activeElement.dataset.token") == "6"
    assert page.evaluate(order)[-1] == 6
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('class')") == "token leads selected moving"


def test_clusters_collapse_into_markers_that_count_their_tokens(open_page):
    page = open_page("v=1&k=10")
    Z = random_cloud("random", 60, 2, 7)
    end = hx.limit(Z)
    gone = np.linalg.norm(hx.simulate(Z, layers=10).tokens[10] - end.points, axis=1)
    arrived = gone <= 0.02 * np.linalg.norm(Z, axis=1).max()
    assert arrived.all()
    shown = page.locator(".screen-dyn .crowds text").all_text_contents()
    assert sorted(shown) == sorted(f"\u00d7{count}" for count in np.bincount(end.cluster))
    assert page.locator(".token.met").count() == 60 - 6
    assert page.locator(".token.met .glyph").first.evaluate("(node) => getComputedStyle(node).opacity") == "0"
    page.evaluate(f"{APP}.set({{ preset: 'square-ties', k: 20 }}); {APP}.flush()")
    crowds = page.locator(".screen-dyn .crowds text").all_text_contents()
    assert crowds == ["\u00d72"] * 4, "two ends have one token each"


def test_the_speed_can_be_chosen(open_page, stop_clock):
    page = open_page("v=1&preset=triangle", clock=True, reduced_motion="no-preference")
    stop_clock(page)
    for speed, first, layer in ((4, 163, 163), (1, 250, 650)):  # ms until layer 1, and of every later layer
        page.get_by_label("Speed").select_option(str(speed))
        page.evaluate(f"{APP}.player.go(0); {APP}.player.play()")
        for wait, reached in ((first - 2, 0), (2, 1), (layer - 2, 1), (2, 2)):
            page.clock.run_for(wait)
            assert k(page) == reached, (speed, wait)
        assert page.evaluate(f"{APP}.player.motion") == pytest.approx(0.58 * 650 / speed)
        page.evaluate(f"{APP}.player.pause()")


def test_the_numbers_on_the_axes_of_charts_are_not_cut_off(open_page):
    page = open_page("v=1")
    reach = "(node) => [...node.querySelectorAll('text')].map((text) => text.getBBox().x)"
    assert "0.0001 %" in page.locator(".screen-dyn .strip").first.text_content()
    for chart in page.locator(".screen-dyn .strip").all():
        assert min(chart.evaluate(reach)) >= 0


def test_charts_scrub_and_show_percent(open_page):
    page = open_page("v=1")
    chart = page.locator(".screen-dyn .strip").first
    chart.scroll_into_view_if_needed()
    place = """(node, k) => {
        const { a, d, e, f } = node.getScreenCTM();
        return [e + a * (56 + (254 * k) / 20), f + d * 40];
    }"""
    page.mouse.move(*chart.evaluate(place, 5))
    page.mouse.down()
    assert k(page) == 5
    page.mouse.move(*chart.evaluate(place, 9))
    page.mouse.up()
    assert k(page) == 9
    page.evaluate(f"{APP}.flush()")
    assert re.search(r"; layer 9: [\d.]+ %$", chart.get_attribute("aria-label"))
    Z = random_cloud("random", 60, 2, 7)
    gone = np.linalg.norm(hx.simulate(Z, layers=9).tokens[9] - hx.limit(Z).points, axis=1).max()
    percent = float(chart.get_attribute("aria-label").split(": ")[-1].split(" ")[0])
    assert percent == pytest.approx(100 * gone / np.linalg.norm(Z, axis=1).max(), rel=0.05)


def test_a_tooltip_tells_what_a_token_does_and_escape_takes_it_away(open_page):
    page = open_page("v=1&preset=square-ties")
    tip = page.locator(".screen-dyn .token-tip").first
    box = page.locator("[data-token='4']").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip.wait_for()
    assert tip.inner_text().split("\n") == ["Token 4", "follows tokens 0, 3", "is at (0.5, 0)", "ends at (1, 0)"]
    page.mouse.move(box["x"] + 150, box["y"] + 60)
    tip.wait_for(state="hidden")
    page.locator("[data-token][tabindex='0']").first.focus()
    page.keyboard.press("ArrowRight")
    tip.wait_for()
    assert "Token 1, a leader" in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip.wait_for()
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 20, steps=3)
    page.wait_for_timeout(300)
    assert tip.is_hidden()  # while a token is held
    before = page.evaluate("location.hash")
    page.mouse.move(box["x"] + 60, box["y"] + 30, steps=3)
    page.wait_for_timeout(400)
    assert page.evaluate("location.hash") == before
    page.mouse.up()
    page.wait_for_function("(hash) => location.hash !== hash", arg=before)


def test_undo_and_redo_by_key_and_button(open_page):
    page = open_page("v=1&preset=square")
    undo, redo = (page.locator(".screen-dyn").get_by_role("button", name=name, exact=True) for name in ("undo", "redo"))
    assert undo.is_disabled()
    box = page.locator("[data-token='6']").bounding_box()
    page.mouse.move(box["x"] + 6, box["y"] + 6)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 20, steps=6)
    page.mouse.up()
    moved = page.evaluate(f"[...{APP}.state.pts.coords]")
    page.keyboard.press("Control+z")
    assert page.evaluate(f"{APP}.state.pts") is None
    page.keyboard.press("Control+Shift+Z")
    assert page.evaluate(f"[...{APP}.state.pts.coords]") == moved
    undo.click()
    assert page.evaluate(f"{APP}.state.pts") is None
    redo.click()
    assert page.evaluate(f"[...{APP}.state.pts.coords]") == moved
    page.get_by_role("spinbutton", name="layers").fill("12")
    page.keyboard.press("Control+z")  # in a field of text the browser's own undo
    assert page.evaluate(f"[...{APP}.state.pts.coords]") == moved
