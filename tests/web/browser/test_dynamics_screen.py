"""The Dynamics screen in a real browser: every state of the design, drag and drop, keyboard, golden cases."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

ALPHA = "\N{GREEK SMALL LETTER ALPHA}, the step size"
GOLDEN = Path(__file__).parents[2] / "js" / "golden"


def badges(page):
    return page.locator(".screen-dyn .status").inner_text()


def story(page):
    """The sentence about what is on the screen."""
    return page.locator(".screen-dyn .story").inner_text()


def tokens(page):
    """The start cloud as rows."""
    return page.evaluate(
        """async () => {
            const { cloudOfState } = window.hardmaxModules.need("js/model.js");
            const { d, coords } = cloudOfState(window.hardmaxApp.state);
            return Array.from({ length: coords.length / d }, (_, i) => Array.from(coords.subarray(i * d, (i + 1) * d)));
        }"""
    )


def pixel_of(page, token):
    """Where a token is in the window."""
    return page.evaluate(
        """(i) => {
            const { scene, svg } = window.hardmaxApp.controller;
            const box = svg.getBoundingClientRect();
            return [box.left + scene.positions[2 * i], box.top + scene.positions[2 * i + 1]];
        }""",
        token,
    )


def drag(page, token, dx, dy):
    x, y = pixel_of(page, token)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 5):
        page.mouse.move(x + dx * step / 4, y + dy * step / 4)
    page.evaluate("window.hardmaxApp.flush()")


def state(page, key):
    return page.evaluate("(key) => window.hardmaxApp.state[key]", key)


def test_the_page_opens_on_a_cloud_with_leaders_and_a_certified_limit(page):
    assert page.locator(".token").count() == 60
    assert page.locator(".token.leads").count() == 6
    page.wait_for_function(
        "() => document.querySelector('.status').textContent.includes('certified at layer 1, checked')"
    )


def test_dragging_a_token_moves_it_and_the_certified_limit_follows_while_it_is_held(open_page):
    page = open_page("v=1&preset=square")
    assert "4 clusters in the end" in badges(page)
    across = page.evaluate("(1.3 - 0.313) * window.hardmaxApp.controller.scene.view.scale")
    drag(page, 6, across, 0)  # out of the square: a new leader, while the button is still down
    page.wait_for_function("() => document.querySelector('.status').textContent.includes('5 clusters in the end')")
    assert "decided here at layer 0" in badges(page)
    moved = tokens(page)[6]
    assert abs(moved[0] - 1.3) < 0.01
    assert moved == [round(x, 3) for x in moved]
    page.mouse.up()
    assert tokens(page)[:6] == [[1, 1], [-1, 1], [-1, -1], [1, -1], [0.137, -0.23], [-0.459, -0.483]]


def test_a_drag_at_a_later_layer_starts_again_from_the_first(open_page):
    page = open_page("v=1&preset=square&k=6")
    drag(page, 5, -60, 0)
    page.mouse.up()
    assert state(page, "k") == 0


def test_a_share_link_gives_the_same_tokens_in_a_new_page(open_page):
    page = open_page("v=1&preset=emerging&alpha=0.25&A=rot:30,2,0.5")
    drag(page, 3, 40, -30)
    page.mouse.up()
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link to this screen").input_value()
    other = open_page(url=link)
    assert tokens(other) == tokens(page)
    last = "[...window.hardmaxApp.controller.model.result.tokens[20]]"
    assert other.evaluate(last) == page.evaluate(last)
    assert other.get_by_role("spinbutton", name=ALPHA).input_value() == "0.25"


def test_play_pause_step_and_scrub(open_page):
    page = open_page("v=1&preset=triangle&K=300&alpha=0.001")  # it plays for minutes
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => window.hardmaxApp.state.k >= 2")
    page.get_by_role("button", name="Pause").click()
    k = state(page, "k")
    assert f"Layer {k} of 300" in page.locator("[aria-live]").first.inner_text()
    page.get_by_role("button", name="One layer forward").click()
    assert state(page, "k") == k + 1
    page.get_by_role("slider", name="Layer").fill("25")
    page.wait_for_function("() => document.querySelector('.layer-now').textContent === 'layer 25 of 300'")
    page.get_by_role("button", name="One layer back").click()
    assert state(page, "k") == 24


def test_playing_to_the_end_says_where_it_settled(open_page):
    page = open_page("v=1&preset=square&alpha=100&K=3")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => window.hardmaxApp.state.k === 1 && !window.hardmaxApp.player.playing")
    assert "10 tokens became 4 clusters after 1 layer;" in story(page)
    assert "10 tokens became 4 clusters after 1 layer;" in page.locator("[aria-live]").first.inner_text()


def test_too_few_layers_say_that_nothing_has_settled(open_page):
    page = open_page("v=1&preset=square&alpha=0.01&K=5&k=5")
    assert "Not settled after 5 layers: 4 of 10 tokens have arrived" in story(page)


def test_without_tokens_the_page_says_how_to_add_one(open_page):
    page = open_page("v=1&pts=AQIAAIA_")
    assert page.locator(".empty-note").is_visible()
    assert "no tokens" in badges(page)
    page.get_by_role("button", name="Export").click()
    page.wait_for_selector(".menu:not([hidden]) :text('Nothing to export here yet.')")
    page.keyboard.press("Escape")
    page.locator("svg.cloud").dblclick(position={"x": 200, "y": 100})
    assert len(tokens(page)) == 1
    assert "One token" in page.locator(".token-note").inner_text()
    page.get_by_role("button", name="add a token").click()
    assert len(tokens(page)) == 2
    page.get_by_role("button", name="remove").click()
    assert len(tokens(page)) == 1


def test_bad_numbers_are_refused_at_their_fields_and_the_picture_stays(page):
    before = page.locator(".token").count()
    for field, text, what in (
        (ALPHA, "-1", "Enter a number from 0.001 to 1000."),
        ("tokens", "9999", "Enter a whole number from 1 to 5000."),
        ("layers", "2.5", "Enter a whole number from 0 to 500."),
    ):
        page.get_by_role("spinbutton", name=field, exact=True).fill(text)
        assert page.locator(".field-error:visible").inner_text() == what
        assert page.locator(".token").count() == before
        assert [state(page, key) for key in ("alpha", "n", "K")] == [0.5, 60, 20]
    page.locator(".screen-dyn").focus()
    assert page.locator(".field-error:visible").count() == 0, "a field that is left shows the last good number"


def test_a_bad_matrix_is_refused_with_its_numbers_and_a_good_one_is_taken(page):
    page.get_by_role("combobox", name="A, the matrix of the scores").select_option("rows")
    rows = page.get_by_role("textbox", name="rows")
    rows.fill("1,2;2,1")
    assert "smallest eigenvalue is -1" in page.locator(".field-error:visible").inner_text()
    assert state(page, "A")["rows"] == [[1, 0], [0, 1]]
    rows.fill("2, -1; -1, 2")
    assert page.locator(".field-error:visible").count() == 0
    assert state(page, "A")["rows"] == [[2, -1], [-1, 2]]
    page.get_by_role("combobox", name="A, the matrix of the scores").select_option("rot")
    page.get_by_role("spinbutton", name="angle °").fill("45")
    assert state(page, "A") == {"kind": "rot", "angle": 45, "l1": 2, "l2": 0.5}


def load(page, name, text):
    page.get_by_label("Load tokens from a file").set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
    )


def test_unusual_clouds_are_drawn_with_a_note_and_a_bad_file_is_refused(page):
    load(page, "bad.csv", "1,2\n3,four\n")
    page.wait_for_selector(".field-error:visible")
    assert '"four", which is not a number' in page.locator(".field-error:visible").inner_text()
    assert page.locator(".token").count() == 60
    for rows, note in (
        ([[0.5, 1]], "One token"),
        ([[1, 2]] * 3, "All tokens are equal"),
        ([[1, 1], [2, 2], [-1, -1], [3, 3]], "one line"),
        ([[1, 0, 0], [0, 1, 0], [-1, -1, 0]], "one plane"),
    ):
        load(page, "odd.json", json.dumps(rows))
        page.wait_for_function("(n) => document.querySelectorAll('.token').length === n", arg=len(rows))
        assert note in page.locator(".token-note").inner_text()


def test_a_file_of_small_or_large_numbers_fills_the_window_and_can_be_dragged(page):
    for size in (1e-6, 1e6):
        load(page, "size.csv", "".join(f"{x * size},{y * size}\n" for x, y in [(1, 0), (0, 2), (-1, -1), (0.2, 0.3)]))
        page.wait_for_function("(x) => window.hardmaxApp.state.pts?.coords[0] === x", arg=size)
        page.evaluate("window.hardmaxApp.flush()")
        boxes = [page.locator(f"[data-token='{i}']").bounding_box() for i in range(4)]
        assert max(b["y"] for b in boxes) - min(b["y"] for b in boxes) > 200
        x, y = boxes[3]["x"] + boxes[3]["width"] / 2, boxes[3]["y"] + boxes[3]["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 20, y - 30, steps=3)
        page.mouse.up()
        before, after = (0.2 * size, 0.3 * size), tokens(page)[3]
        assert 0 < after[0] - before[0] < 0.5 * size
        assert 0 < after[1] - before[1] < 0.5 * size


def test_many_tokens_move_to_a_canvas_and_a_huge_file_is_sampled(open_page, tmp_path):
    page = open_page("v=1&n=1500")
    assert page.locator("canvas.cloud-canvas").is_visible()
    assert page.locator(".token").count() < 60
    assert "1500 tokens" in page.locator(".token-note").inner_text()
    file = tmp_path / "huge.csv"
    file.write_text("\n".join(f"{i % 97},{i % 89 - 40}" for i in range(6000)))
    page.get_by_label("Load tokens from a file").set_input_files(file)
    page.wait_for_selector(".banner:not([data-id=compiling])")
    assert "an evenly spaced sample of 5000" in page.locator(".banner:not([data-id=compiling])").inner_text()
    expect(page.locator(".screen-dyn .story")).to_contain_text("5000 tokens")


def test_the_cloud_in_space_turns_and_its_hidden_edges_are_dashed(open_page):
    page = open_page("v=1&preset=cube")
    assert page.locator("path.hidden-edge").count() == 1
    before = state(page, "turn")
    box = page.locator("svg.cloud").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 80, box["y"] + 50)
    page.mouse.up()
    assert state(page, "turn") == [before[0] - 30, before[1] + 15]
    drag(page, 8, 30, 0)
    page.mouse.up()
    assert tokens(page)[8] != [0.5, 0, 0]


def test_presets_n_dimension_and_seed_make_the_cloud(page):
    page.get_by_role("combobox", name="Cloud", exact=True).select_option("ring")
    page.get_by_role("spinbutton", name="tokens").fill("25")
    page.get_by_role("combobox", name="dimension").select_option("3")
    page.get_by_role("spinbutton", name="seed").fill("5")
    from hardmax.cloud.presets import random_cloud

    page.wait_for_function("() => document.querySelectorAll('.token').length === 25")
    assert tokens(page) == random_cloud("ring", 25, 3, 5).tolist()
    page.get_by_role("button", name="new seed").click()
    assert state(page, "seed") != 5


def test_the_cloud_is_walked_and_changed_by_keyboard_alone(open_page):
    page = open_page("v=1&preset=square")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset?.token === '0'"):
            break
    label = "document.activeElement.getAttribute('aria-label')"
    assert re.match(r"token 0, leader, followed by 2, at 1, 1$", page.evaluate(label))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.dataset.token") == "9"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.token") == "0", "down goes to the next leader"
    page.keyboard.press("m")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Enter")
    assert tokens(page)[0][0] < 1
    assert tokens(page)[0][1] < 1
    page.keyboard.press("Delete")
    assert len(tokens(page)) == 9
    page.keyboard.press("n")
    assert len(tokens(page)) == 10
    assert page.evaluate("document.activeElement.dataset.token") == "9"


def test_every_picture_has_a_table_with_the_same_numbers(open_page):
    page = open_page("v=1&preset=square-ties&k=2")
    figure = page.locator(".token-figure")
    figure.get_by_role("button", name="as a table").click()
    row = figure.locator("tbody tr").nth(4).locator("td").all_inner_texts()
    assert row[:3] == ["4", "no", "0 3"]
    assert row[3:5] == ["0.5", "0"]
    assert row[-2:] == ["1", "0"]
    strip = page.locator(".strip-figure").first
    strip.get_by_role("button", name="as a table").click()
    assert strip.locator("tbody tr").count() == 21
    page.get_by_role("button", name="One layer forward").click()
    page.wait_for_function(
        "() => document.querySelectorAll('.token-figure tbody tr')[4].children[5].textContent !== ''"
    )
    assert figure.locator("tbody tr").nth(4).locator("td").nth(5).inner_text() == "0.851852"


def test_the_formula_holds_the_numbers_of_the_selected_token(open_page):
    page = open_page("v=1&preset=square-ties&sel=4")
    text = page.locator(".formula-body").inner_text()
    assert "{ 0, 3 }" in text
    assert "(0.5, 0) + 0.5 · (1, 0) ) / 1.5 = (0.6667, 0)" in text


def test_ties_that_float64_cannot_decide_are_settled_by_the_server(open_page):
    page = open_page("v=1&preset=late-leader&alpha=1&K=10")
    assert ", checked" not in badges(page)
    page.wait_for_function(
        "() => document.querySelector('.status').textContent.includes('certified at layer 502, checked')"
    )


def test_a_limit_that_the_server_cannot_confirm_is_not_called_certified(open_page):
    page = open_page("v=1&preset=square")
    page.route("**/api/limit", lambda route: route.fulfill(json={"certified": False, "verified": False}))
    page.get_by_role("button", name="add a token").click()
    page.wait_for_function("() => document.querySelector('.status').textContent.includes('could not certify it')")
    assert "certified at" not in page.locator(".status").first.inner_text()


def test_no_more_tokens_than_the_page_holds_can_be_added(open_page):
    page = open_page("v=1&n=5000&K=1")
    page.get_by_role("button", name="add a token").click()
    assert "at most 5000 tokens" in page.locator(".banner:not([data-id=compiling])").inner_text()
    assert "5000 tokens" in story(page)


@pytest.mark.slow
def test_the_modules_reproduce_the_golden_cases_in_the_browser_too(page):
    cases = json.loads((GOLDEN / "dynamics.json").read_text())["cases"]
    wrong = page.evaluate(
        """async (cases) => {
            const { simulate } = window.hardmaxModules.need("js/dynamics.js");
            const { metricOf } = window.hardmaxModules.need("js/model.js");
            const off = (ours, theirs) => Math.max(...theirs.flat().map((x, i) => Math.abs(x - ours[i])), 0);
            return cases.filter((one) => {
                const coords = Float64Array.from(one.tokens.flat());
                const settings = { alpha: one.alpha, metric: metricOf(one.A), layers: one.layers };
                const run = simulate(coords, one.tokens[0].length, settings);
                const size = Math.max(...one.tokens.flat().map(Math.abs));
                const ours = one.follow_sets.map((_, k) => run.follows(k));
                const sets = JSON.stringify(one.follow_sets) === JSON.stringify(ours);
                const layers = one.trajectory.every((layer, k) => off(run.tokens[k], layer) <= 1e-12 * size);
                return !(sets && layers && off(run.limit.points, one.limit.limit) <= 1e-12 * size
                    && JSON.stringify(Object.fromEntries(run.leaderSince)) === JSON.stringify(one.leader_since));
            }).map((one) => one.name);
        }""",
        cases,
    )
    assert wrong == []


def test_tokens_glide_unless_the_reader_asked_for_less_motion(open_page):
    page = open_page("v=1&preset=square")
    arrived = """(k) => {
        const app = window.hardmaxApp;
        app.player.go(k);
        app.flush();
        const { tween, model } = app.controller;
        return tween.now.every((x, i) => x === model.result.tokens[k][i]);
    }"""
    assert page.evaluate(arrived, 5) is True
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(arrived, 0) is False, "on its way"


def test_a_finger_drags_a_token_and_scrolls_the_page_elsewhere(open_page):
    page = open_page("v=1&preset=square", width=390, height=780, has_touch=True, is_mobile=True)
    box = page.locator("svg.cloud").bounding_box()
    assert box["width"] > 0.9 * 390
    assert box["height"] > 250
    x, y = pixel_of(page, 6)
    page.touchscreen.tap(x + 8, y + 8)
    assert state(page, "sel") == 6
    held = """([x, y]) => {
        const svg = window.hardmaxApp.controller.svg;
        const touch = new Touch({ identifier: 1, target: svg, clientX: x, clientY: y });
        return !svg.dispatchEvent(new TouchEvent("touchstart", { touches: [touch], cancelable: true, bubbles: true }));
    }"""
    assert page.evaluate(held, [x, y]) is True
    assert page.evaluate(held, [box["x"] + 6, box["y"] + 6]) is False
