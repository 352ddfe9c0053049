"""The static site in a real browser: from disk, and from a folder of a web host that knows nothing of us."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import hardmax as hx

TEXT = "The first hour is brilliant. The last half hour is awful and ruins everything."


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def host(static_site):
    """The address of the site on a plain web host, two folders down."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=static_site.parent.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/docs/play%20ground/"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["disk", "host"])
def address(request, static_site, host):
    return (static_site / "index.html").as_uri() if request.param == "disk" else host


@pytest.mark.slow
def test_every_screen_stands_without_a_server_and_the_model_gives_the_numbers_of_python(open_page, address):
    page = open_page("v=1&view=beta&preset=ring&n=20&beta=4&lesson=1", url=address)
    page.get_by_role("heading", name="What a leader is").wait_for()
    page.reload()  # a link survives
    page.get_by_role("heading", name="What a leader is").wait_for()
    for view in ("dyn", "beta", "exact", "article", "corpus"):
        page.evaluate("(view) => window.hardmaxApp.openScreen(view)", view)
        page.locator(f".screen-{view}:visible").wait_for()
        page.wait_for_function("() => window.hardmaxApp.controller && !window.hardmaxApp.frame")
        assert page.locator(".banner").all_inner_texts() == []
    commands = page.locator(".screen-corpus .needs-server")
    assert "hardmax playground --open '#v=1&view=corpus" in commands.inner_text()
    page.evaluate("window.hardmaxApp.openScreen('text', { ex: 'halves' })")
    page.locator(".verdict-label:visible").wait_for()
    logit = page.evaluate("() => window.hardmaxApp.controller.a.reading.logit")
    assert logit == pytest.approx(hx.load("imdb-words").explain(TEXT).logit, abs=1e-9)
    page.get_by_label("Text", exact=True).fill("A wonderful film.")
    page.wait_for_function("() => window.hardmaxApp.controller.a.reading.text === 'A wonderful film.'")
    assert page.locator(".verdict-label strong").inner_text() == "positive"


def test_clouds_are_computed_in_the_page_and_nothing_is_called_certified(open_page, address):
    page = open_page("v=1&view=dyn&preset=random&n=2000&seed=3", url=address)
    count = page.evaluate("() => window.hardmaxApp.controller.model.result.limit.centers.length")
    Z = hx.preset("random", n=2000, dim=2, seed=3)
    assert count == len(hx.limit(Z).centers)
    page.evaluate("() => window.hardmaxApp.set({ alpha: 1 })")
    page.wait_for_function("() => !window.hardmaxApp.frame && !window.hardmaxApp.controller.model.stale")
    assert page.evaluate("() => window.hardmaxApp.controller.model.result.alpha ?? window.hardmaxApp.state.alpha") == 1
    assert len(page.workers) == 1
    page.evaluate("() => { window.hardmaxApp.set({ preset: 'square-ties', alpha: 0.5 }); window.hardmaxApp.flush(); }")
    clipboard = "{ value: { writeText: async (text) => { window.copied = text; } } }"
    page.evaluate(f"() => Object.defineProperty(navigator, 'clipboard', {clipboard})")
    badge = page.locator("[data-certificate]")
    assert badge.inner_text() == "decided here at layer 0, not checked"
    page.get_by_role("button", name="certify with Python").click()
    page.wait_for_function("() => window.copied")
    said = {}
    program = page.evaluate("() => window.copied")
    exec(program.replace("print(eq.certificate.verify(Z))", "checked = eq.certificate.verify(Z)"), said)
    assert said["checked"] is True
