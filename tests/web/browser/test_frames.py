"""The playground in a frame of another site, and opened by a link there: a real second site."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = pytest.mark.slow


class _Site:
    """A page of another site that shows an address in a frame and links to another one."""

    def __init__(self):
        site = self

        class Page(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(site.body)

            def log_message(self, *words):
                """Nothing in the test's output."""

        self.body = b""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.address = f"http://localhost:{self.server.server_port}"  # not 127.0.0.1: another site for the browser

    def showing(self, framed, linked):
        """The address of the page with this frame and this link."""
        self.body = (
            f'<iframe src="{framed}" width="700" height="500"></iframe><p><a href="{linked}">open</a></p>'.encode()
        )
        return f"{self.address}/"


@pytest.fixture
def site():
    running = _Site()
    running.thread.start()
    yield running
    running.server.shutdown()
    running.server.server_close()
    running.thread.join()


@pytest.fixture
def named(server, site):
    """A server that one other site may frame."""
    running = type(server)("--frame-in", site.address)
    yield running
    running.stop()


@pytest.fixture
def secret(server):
    """A server that asks for a token."""
    running = type(server)("--token", "secret_1")
    yield running
    running.stop()


def test_a_site_that_was_named_shows_the_figure_in_a_frame(open_page, named, site):
    page = open_page(url=site.showing(f"{named.url}#v=1&preset=square&embed=1", "/"), ready=False)
    page.frame_locator("iframe").locator("svg.cloud .token").first.wait_for()
    page.close()


def test_any_other_site_cannot_frame_the_page(open_page, server, site):
    page = open_page(url=site.showing(f"{server.url}#v=1&preset=square&embed=1", "/"), ready=False)
    page.watch.forgiven.append("frame-ancestors")
    while not any("frame-ancestors" in text for text in page.watch.errors):  # the suite has a time limit
        page.wait_for_timeout(50)
    assert page.frame_locator("iframe").locator("svg.cloud").count() == 0


def test_a_link_on_another_site_brings_its_token(open_page, secret, site):
    page = open_page(url=site.showing("about:blank", f"{secret.url}#v=1&preset=square"), ready=False)
    page.get_by_role("link", name="open").click()
    page.wait_for_function("() => window.hardmaxApp?.controller")
    assert page.evaluate("window.hardmaxApp.state.preset") == "square"
    assert "secret_1" not in page.url
    page.close()
