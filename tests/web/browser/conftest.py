"""A real server and a real browser. Every page fails its test on a console error or a request off the machine."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

import programs

OWN = ("127.0.0.1", "localhost")
WAIT = 20_000  # ms: two shared cores can be slow


class Server:
    """`hardmax playground` in a process of its own."""

    def __init__(self, *options: str, folder: Path | None = None) -> None:
        words = [sys.executable, "-m", "hardmax", "playground", "--no-browser", "--port", "0", "--json", *options]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder, env=dict(os.environ)
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def stop(self) -> None:
        """End it and wait for its end."""
        self.process.terminate()
        self.process.wait(timeout=20)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests that do not end it."""
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that a test may end."""
    running = Server()
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """The driver of the browser."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Debian's chromium, or the one that playwright brings."""
    path = programs.browser(playwright.chromium.executable_path)
    started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
    yield started
    started.close()


class Watch:
    """What went wrong in a page: console errors, exceptions, requests that leave the machine."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.forgiven: list[str] = []
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(f"{error}"))
        page.on("request", self._request)

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "file") and parts.hostname not in OWN:
            self.outside.append(request.url)

    def check(self) -> None:
        """Fail if anything is left over."""
        left = [text for text in self.errors if not any(part in text for part in self.forgiven)]
        assert left == [], f"console errors: {left}"
        assert self.outside == [], f"requests off the machine: {self.outside}"


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[OpenPage]:
    """open_page(hash="", url=None, width=1280, height=860, first_visit=False, **options) -> a page that stands ready.

    `page.watch.forgiven.append("text")` allows console errors that a test provokes.
    """
    opened: list[tuple[Any, Watch]] = []

    def start(
        fragment: str = "",
        url: str | None = None,
        width: int = 1280,
        height: int = 860,
        ready: bool = True,
        first_visit: bool = False,
        **options: Any,
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        if not first_visit:  # the cloud plays once, on the first visit
            context.add_init_script("try { localStorage.setItem('hardmax-visited', '1') } catch {}")
        page = context.new_page()
        page.set_default_timeout(WAIT)
        watch = Watch(page)
        page.watch = watch  # type: ignore[attr-defined]
        opened.append((context, watch))
        page.goto((url or server.url) + (f"#{fragment}" if fragment else ""))
        if ready:
            page.wait_for_function("() => window.hardmaxApp?.controller && !window.hardmaxApp.frame")
        return page

    yield start
    try:
        for _, watch in opened:
            watch.check()
    finally:
        for context, _ in opened:
            context.close()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The playground as it opens."""
    return open_page()


def axe_violations(page: Page) -> list[str]:
    """What axe finds, as readable lines."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['help']} {[n['target'] for n in v['nodes']][:4]}" for v in found]


@pytest.fixture
def violations() -> Callable[[Page], list[str]]:
    """The function that runs axe on a page."""
    return axe_violations


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in a browser takes a while."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)
