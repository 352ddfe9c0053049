"""The page says what it knows: unchecked, being checked, certified, lost, back, compiling, failed, unknown, rounded."""

import json

import pytest

GREY = "decided here at layer 0, not checked"
CHECKED = "certified at layer 0, checked"


def badge(page, text):
    """Wait until the badge about the limit says this."""
    page.locator("[data-certificate]", has_text=text).wait_for()
    return page.locator("[data-certificate]")


def color(locator):
    return locator.evaluate("(node) => getComputedStyle(node).color")


def test_a_limit_is_grey_until_the_certificate_came(open_page):
    page = open_page("v=1&n=12")
    badge(page, ", checked")  # nothing else is asked for now
    held = []
    page.route("**/api/limit", lambda route: held.append(route))
    page.goto(page.url.split("#")[0] + "#v=1&preset=square")
    grey = badge(page, "decided here at layer 0, being checked")
    before = color(grey)
    assert "certified" not in page.locator(".status").first.inner_text()
    while not held:
        page.wait_for_timeout(50)
    held[-1].continue_()
    assert color(badge(page, CHECKED)) != before


def test_a_large_cloud_is_checked_when_the_reader_asks_for_it(open_page, stop_clock):
    page = open_page("v=1&n=1200&K=3", clock=True)
    badge(page, "decided here at layer")
    stop_clock(page)
    page.clock.run_for(2000)  # longer than a small cloud waits for
    assert "not checked" in page.locator("[data-certificate]").inner_text()
    page.clock.resume()
    page.get_by_role("button", name="check", exact=True).click()
    badge(page, ", checked")
    assert page.get_by_role("button", name="check", exact=True).count() == 0


@pytest.mark.slow
def test_after_a_reconnect_the_certificate_is_asked_for_again(open_page):
    page = open_page("v=1&preset=square")
    badge(page, CHECKED)
    page.watch.forgiven.append("ERR_FAILED")
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("button", name="add a token").click()
    page.locator(".banner", has_text="The server is not responding").wait_for()
    badge(page, "not checked")
    page.unroute("**/api/**")
    badge(page, ", checked")
    page.locator(".banner", has_text="The server is not responding").wait_for(state="detached")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "change", "shown"),
    [
        ("text", {"text": "A wonderful film."}, ".verdict-label:visible:has-text('positive')"),
        ("exact", {"set": "xor"}, ".exact-verdict:visible"),
    ],
)
def test_what_was_asked_while_the_server_was_away_is_answered_when_it_is_back(open_page, view, change, shown):
    page = open_page(f"v=1&view={view}")
    page.wait_for_selector(".verdict-label:visible, .exact-verdict:visible")
    page.watch.forgiven.append("ERR_FAILED")
    page.route("**/api/**", lambda route: route.abort())
    page.evaluate("(change) => window.hardmaxApp.set(change)", change)
    page.locator(".field-error:visible", has_text="not responding").wait_for()
    page.unroute("**/api/**")
    page.locator(".field-error:visible", has_text="not responding").wait_for(state="detached")
    page.wait_for_selector(shown)


@pytest.mark.slow
def test_a_check_that_failed_can_be_repeated(open_page):
    page = open_page("v=1&preset=square")
    badge(page, CHECKED)
    page.watch.forgiven.append("status of 429")
    busy = json.dumps({"error": {"what": "too many computations", "found": None, "fix": None}})
    page.route("**/api/limit", lambda route: route.fulfill(status=429, body=busy, content_type="application/json"))
    page.get_by_role("button", name="add a token").click()
    page.get_by_role("button", name="check again").wait_for()
    assert page.locator("[data-certificate]").get_attribute("title") == "too many computations"
    page.unroute("**/api/limit")
    page.get_by_role("button", name="check again").click()
    badge(page, ", checked")


@pytest.mark.slow
def test_a_server_that_compiles_is_slow_and_not_lost(open_page):
    page = open_page(ready=False, fresh=True)
    page.add_init_script("""const ask = window.fetch;
        window.fetch = (path, options) => (path.endsWith("/api/limit")
            ? Promise.reject(new DOMException("no answer in time", "TimeoutError")) : ask(path, options));""")
    told = {"status": "ok", "compiling": True}
    page.route("**/api/health", lambda route: route.fulfill(json=told))
    page.goto(page.url.split("#")[0] + "#v=1&preset=square")
    page.reload()
    page.locator(".banner", has_text="Compiling once, about 20 s").wait_for()
    page.get_by_role("button", name="check again").wait_for()
    assert page.locator(".banner", has_text="not responding").count() == 0
    told["compiling"] = False
    page.locator(".banner", has_text="Compiling once").wait_for(state="detached")


def test_a_screen_that_failed_recovers_without_a_reload(open_page):
    page = open_page()
    page.watch.forgiven.append("ERR_FAILED")
    for key, title, stands in (("5", "Corpus", ".corpus-controls"), ("4", "Exact", ".exact-grid")):
        page.route("**/static/screens/*", lambda route: route.abort())
        page.keyboard.press(key)
        page.get_by_text(f"The screen {title} could not be loaded").wait_for()
        page.unroute("**/static/screens/*")
        page.get_by_role("button", name="Try again").click() if key == "5" else page.keyboard.press(key)
        page.locator(stands).wait_for()
        assert page.get_by_text("could not be loaded").count() == 0


def test_unknown_numbers_are_dashes_while_a_large_cloud_is_computed(open_page):
    page = open_page("v=1&n=3000&K=40")
    shown = page.evaluate(
        """async () => {
            const app = window.hardmaxApp;
            app.set({ alpha: 0.77 });
            app.flush();
            return [app.controller.model.stale, document.querySelector(".status").textContent];
        }"""
    )
    assert shown[0]
    assert "\u2013" in shown[1]
    assert "layer" not in shown[1]
    page.wait_for_function("() => !window.hardmaxApp.controller.model.stale && !window.hardmaxApp.frame")
    assert "\u2013" not in page.locator(".status").first.inner_text()


def test_the_coordinates_of_a_file_are_used_as_given_and_only_a_link_rounds_them(open_page, tmp_path):
    page = open_page()
    file = tmp_path / "fine.csv"
    rows = [[0.123456789012, 1.0], [-0.987654321098, 0.333333333333], [0.1, -1.000000001]]
    file.write_text("\n".join(",".join(map(str, row)) for row in rows))
    page.get_by_label("Load tokens from a file").set_input_files(file)
    page.locator(".banner", has_text="used as given").wait_for()
    coords = "() => Array.from(window.hardmaxApp.state.pts.coords)"
    flat = [x for row in rows for x in row]
    assert page.evaluate(coords) == flat
    page.wait_for_function("() => !window.hardmaxApp.frame")  # the state stands before it is drawn
    assert page.evaluate("() => Array.from(window.hardmaxApp.controller.model.result.tokens[0])") == flat
    page.get_by_role("button", name="Share").click()
    assert "rounded to 16 bits" in page.locator(".menu:visible").inner_text()
    page.keyboard.press("Escape")
    page.evaluate(
        "() => window.hardmaxApp.controller.editor.edit(window.hardmaxApp.controller.editor.cloud, { sel: 1 })"
    )
    page.wait_for_function("() => location.hash.includes('sel=1')")
    page.reload()
    page.wait_for_function("() => window.hardmaxApp?.controller && !window.hardmaxApp.frame")
    assert page.evaluate(coords) == flat
