"""Between an action and the next frame, or an answer of the worker, a slow machine lets the reader do anything.

Frames do not come late here but never, so these tests fail on every machine. With HARDMAX_LATE=200 all tests of this
folder run on a machine that is late (see late.js).
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

import hardmax as hx
from hardmax.cloud.presets import random_cloud
from page_modules import LESSONS

NO_FRAMES = "window.requestAnimationFrame = () => 1"
STATE = "window.hardmaxApp.state"
CLOUD = f"window.hardmaxModules.need('js/model.js').cloudOfState({STATE})"
FINITE = f"{CLOUD}.coords.every(Number.isFinite)"


def without_frames(open_page, *words, **options):
    """A page that stands ready and draws nothing more of its own accord."""
    page = open_page(*words, **options)
    page.evaluate(NO_FRAMES)
    return page


# As soon as the screen is shown: a press of every button, and all that a reader can do with keys.
USE_AT_ONCE = """async (view) => {
    const app = window.hardmaxApp;
    const section = app.shell.section(app.screens.find((one) => one.view === view));
    const shown = new Promise((done) => {
        new MutationObserver(() => { if (!section.hidden && app.controllers.has(view)) done(); })
            .observe(app.shell.main, { subtree: true, childList: true, attributes: true });
    });
    app.openScreen(view);
    await shown;
    const used = [...section.querySelectorAll("button, svg")].filter((one) => one.checkVisibility() && !one.disabled);
    for (const one of used) {
        const kinds = one.matches("svg") ? ["pointermove", "dblclick"] : ["pointerdown", "click"];
        for (const kind of kinds) one.dispatchEvent(new PointerEvent(kind, { clientX: 1, clientY: 1, bubbles: true }));
    }
    const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    for (const key of [" ", "ArrowRight", "End", "Home", "l"]) press(key);
    return used.length;
}"""


@pytest.mark.parametrize("view", ["dyn", "beta", "text", "exact", "corpus", "article"])
def test_a_screen_that_is_shown_can_be_used_before_the_next_frame(open_page, view):
    page = without_frames(open_page, "v=1&view=beta" if view == "dyn" else "v=1")
    used = page.evaluate(USE_AT_ONCE, view)
    assert used > 3 or view in ("text", "corpus"), "these wait for the server"
    for item in ("Share", "Export"):  # playwright's own click waits for frames
        page.get_by_role("button", name=item).evaluate("(button) => button.click()")
    assert page.watch.left == []


# The frame that a scroll has asked for comes before the one that draws what was asked for since then.
SCROLL_FIRST = """async () => {
    const app = window.hardmaxApp;
    const [asked, frame] = [[], window.requestAnimationFrame];
    window.requestAnimationFrame = (call) => asked.push(call);
    window.scrollTo({ top: 0, behavior: "instant" });
    window.dispatchEvent(new Event("scroll"));
    THEN;
    window.requestAnimationFrame = frame;
    await new Promise((done) => frame((time) => { asked.forEach((call) => call(time)); done(); }));
    for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame);
}"""


@pytest.mark.parametrize(
    ("lesson", "then"),
    [
        (5, "app.readAddress('#v=1&lesson=5&n=9')"),
        (2, "app.readAddress('#v=1&lesson=2&n=9')"),
        (5, "app.set({ lesson: 5 })"),
    ],
)
def test_a_lesson_that_is_asked_for_wins_over_a_scroll_before_it(open_page, lesson, then):
    page = open_page("v=1&lesson=2")
    page.evaluate(SCROLL_FIRST.replace("THEN", then))
    assert page.evaluate(f"{STATE}.lesson") == lesson
    heading = page.locator(".article-part").nth(lesson - 1).get_by_role("heading", name=LESSONS[lesson - 1])
    expect(heading).to_be_in_viewport()


def test_a_table_shows_the_present_state_and_not_the_last_picture(open_page):
    page = without_frames(open_page, "v=1&preset=square&k=2")
    page.evaluate("window.hardmaxApp.set({ alpha: 3, k: 1 })")
    figure = page.locator(".screen-dyn .token-figure")
    figure.get_by_role("button", name="as a table").click()
    row = figure.locator("tbody tr").nth(4).locator("td").all_inner_texts()
    assert row[3:7] == ["0.137", "-0.23", "0.78425", "-0.8075"]  # a quarter of it, and three quarters of (1, -1)


@pytest.mark.parametrize("view", ["dyn", "beta"])
def test_an_export_has_the_present_state_and_not_that_of_the_opened_menu(open_page, view):
    page = without_frames(open_page, f"v=1&view={view}&preset=square&k=2")
    page.get_by_role("button", name="Export").click()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Copy as command").click()
    copied = page.get_by_label("Text to copy")
    expect(copied).to_have_value(re.compile("--layers 3 "))
    page.evaluate("window.hardmaxApp.set({ A: { kind: 'rows', rows: [[2, 0], [0, 1]] } })")
    page.get_by_role("button", name="Copy as command").click()
    expect(copied).to_have_value(re.compile('--matrix "2,0; 0,1"'))
    page.evaluate("window.hardmaxApp.set({ preset: 'triangle', k: 0 })")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Everything as JSON").click()
    written = json.loads(saved.value.path().read_text())
    assert (written["n"], len(written["tokens"])) == (12, 12)
    assert "preset=triangle" in written["link"]


def test_a_link_that_is_copied_leads_to_the_present_state(open_page):
    page = without_frames(open_page, "v=1&preset=square&k=2")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy the link").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Link to this screen")).to_have_value(re.compile("&k=3(&|$)"))


def test_a_menu_is_closed_when_its_screen_is_left(open_page):
    page = open_page("v=1")
    page.get_by_role("button", name="Export").click()
    page.keyboard.press("2")
    expect(page.locator(".screen-beta")).to_be_visible()
    expect(page.get_by_role("button", name="Copy as command")).to_be_hidden()
    expect(page.get_by_role("button", name="Export")).to_be_focused()


def test_a_ring_that_is_revealed_cannot_be_moved(open_page):
    page = open_page("v=1&lesson=3")
    question = page.locator(".article-part").nth(2).locator(".ask")
    question.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    page.wait_for_function("() => window.hardmaxApp.controller.figure.phase === 'ask'")
    page.evaluate(NO_FRAMES)
    ring = page.locator(".ghost")
    ring.focus()
    page.keyboard.press("ArrowUp")
    box = ring.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()  # held while it is revealed
    said = "() => [window.hardmaxApp.controller.figure.ring.at, document.querySelectorAll('.outcome')[2].textContent]"
    question.get_by_role("button", name="Reveal").evaluate("(button) => button.click()")
    before = page.evaluate(said)
    assert before[1]
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.up()
    ring.dispatch_event("keydown", {"key": "ArrowUp"})
    assert page.evaluate(said) == before
    assert ring.is_disabled()


# A token is taken in the picture of another cloud than the present one.
@pytest.mark.parametrize("patch", ["{ preset: 'cube' }", "{ preset: 'random', n: 3 }"])
def test_a_hand_takes_the_tokens_of_the_present_cloud(open_page, patch):
    page = without_frames(open_page, "v=1&preset=square")
    box = page.locator(".screen-dyn [data-token='6']").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate(f"window.hardmaxApp.set({patch})")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 40, steps=3)
    assert page.evaluate(FINITE)
    assert page.evaluate(f"{STATE}.sel") < page.evaluate(f"{CLOUD}.coords.length / {CLOUD}.d")
    page.evaluate("window.hardmaxApp.set({ preset: 'triangle', pts: null })")  # another one while it is held
    page.mouse.move(x + 80, y + 40, steps=3)
    page.mouse.up()
    assert page.evaluate(FINITE)


@pytest.mark.parametrize(("link", "patch"), [("k=3", "{ k: 6 }"), ("preset=cube", "{ turn: [40, 10] }")])
def test_a_hand_takes_the_token_that_is_seen(open_page, link, patch):
    page = without_frames(open_page, f"v=1&preset=square&{link}")
    box = page.locator(".screen-dyn [data-token='9']").bounding_box()
    page.evaluate(f"window.hardmaxApp.set({patch})")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.evaluate(f"{STATE}.sel") == 9


def test_a_token_that_is_moved_by_keys_is_one_of_the_present_cloud(open_page):
    page = without_frames(open_page, "v=1&preset=square")
    page.locator(".screen-dyn [data-token='9']").focus()
    page.keyboard.press("m")
    page.evaluate("window.hardmaxApp.set({ preset: 'random', n: 3 })")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(f"{STATE}.pts") is None, "there is no token 9"
    page.evaluate("window.hardmaxApp.set({ preset: 'cube' })")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(FINITE)


# The worker has not answered yet: layer 0 is the new cloud, everything else the old one.
NO_ANSWER = "window.hardmaxModules.need('js/worker_pool.js').Newest.prototype.ask = () => {}"
MOVE = """() => {
    const app = window.hardmaxApp;
    const coords = Float64Array.from((app.controller.editor ?? app.controller.sides[0].editor).cloud.coords);
    coords.set([9, 9], 14);
    app.set({ pts: { d: 2, coords } });
}"""


def saved_json(page):
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Everything as JSON").click()
    return json.loads(saved.value.path().read_text())


def test_while_the_worker_computes_tables_say_what_is_known_and_exports_are_right(open_page):
    page = open_page("v=1&n=1200&K=3&k=2")
    page.evaluate(NO_ANSWER)
    page.evaluate(MOVE)
    figure = page.locator(".screen-dyn .token-figure")
    figure.get_by_role("button", name="as a table").click()
    unknown = "\N{EN DASH}"
    row = ["7", unknown, unknown, "9", "9", *[unknown] * 4]
    assert figure.locator("tbody tr").nth(7).locator("td").all_inner_texts() == row
    Z = random_cloud("random", 1200, 2, 7)
    Z[7] = [9, 9]
    traj = hx.simulate(Z, layers=3)
    written = saved_json(page)
    assert np.abs(np.array(written["trajectory"]) - np.array(traj.tokens)).max() < 1e-12
    assert written["follow_sets"][0][3] == list(traj.follows(0)[3]) == [7]
    assert sorted(written["leaders"]) == sorted(traj.leader_since)


def test_while_the_worker_computes_softmax_tables_say_what_is_known_and_exports_are_right(open_page):
    page = open_page("v=1&view=beta&n=400&K=10&k=2&beta=4")
    page.wait_for_function("() => window.hardmaxApp.controller.gaps.length === 11")
    page.evaluate(NO_ANSWER)
    page.evaluate(MOVE)
    figure = page.locator(".screen-beta .token-figure").nth(1)
    figure.get_by_role("button", name="as a table").click()
    assert figure.locator("tbody tr").nth(7).locator("td").all_inner_texts() == ["7", *["\N{EN DASH}"] * 2]
    Z = random_cloud("random", 400, 2, 7)
    Z[7] = [9, 9]
    soft = hx.simulate(Z, layers=10, rule=hx.Softmax(4.0))
    written = saved_json(page)
    assert np.abs(np.array(written["softmax"]) - np.array(soft.tokens)).max() < 1e-10
    assert len(written["gap"]) == 11


def test_an_answer_of_a_worker_that_was_given_up_is_ignored(open_page):
    page = open_page("v=1&n=1200&K=3")
    page.evaluate(
        """() => {
            const { post } = window.hardmaxLate = { post: Worker.prototype.postMessage };
            Worker.prototype.postMessage = function (...words) { // fails, and answers nevertheless
                post.apply(this, words);
                this.dispatchEvent(new ErrorEvent("error", { cancelable: true }));
                this.addEventListener("message", () => { window.hardmaxLate.answered = true; });
            };
        }"""
    )
    page.evaluate(MOVE)
    page.wait_for_function("() => window.hardmaxApp.controller.model.result.limit.points[14] === 9")
    page.wait_for_function("() => window.hardmaxLate.answered")
    assert page.watch.left == []


def test_a_late_page_gets_everything_late_and_in_order(open_page):
    """What HARDMAX_LATE does to all pages; here on top of it."""
    page = open_page("v=1", fresh=True, bypass_csp=True)
    script = Path(__file__).with_name("late.js").read_text(encoding="utf-8")
    found = page.evaluate(
        """async (script) => {
            eval(`${script} lateAnswers(150); lateFrames(150);`);
            const [start, seen] = [performance.now(), []];
            const times = {};
            const note = (what) => { seen.push(what); times[what] = performance.now() - start; };
            const frames = new Promise((done) => {
                requestAnimationFrame(() => {
                    note("frame 1");
                    cancelAnimationFrame(third);
                    requestAnimationFrame(() => { note("frame 2"); done(); });
                });
                requestAnimationFrame((time) => note("frame 1, too"));
                const third = requestAnimationFrame(() => note("canceled"));
            });
            const given = fetch("/api/health").then(() => note("answer"));
            const stop = new AbortController();
            const stopped = fetch("/api/health", { signal: stop.signal }).catch(({ name }) => note(name));
            stop.abort();
            const echo = new Blob(["onmessage = ({ data }) => postMessage(data);"], { type: "text/javascript" });
            const worker = new Worker(URL.createObjectURL(echo));
            const data = { number: 1 };
            const said = new Promise((done) => {
                worker.onmessage = ({ data: { number } }) => { note(`message ${number}`); if (number === 2) done(); };
            });
            worker.postMessage(data);
            data.number = 2;
            worker.postMessage(data);
            await Promise.all([frames, given, stopped, said]);
            return { seen, times };
        }""",
        script,
    )
    seen, times = found["seen"], found["times"]
    assert seen[0] == "AbortError"
    assert [one for one in seen if one.startswith("frame")] == ["frame 1", "frame 1, too", "frame 2"]
    assert [one for one in seen if one.startswith("message")] == ["message 1", "message 2"]
    assert "canceled" not in seen
    assert min(times["frame 1"], times["answer"]) >= 150
    assert min(times["frame 2"], times["message 1"]) >= 300
