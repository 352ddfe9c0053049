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
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

import programs
from hardmax.web.static_site import write_site

OWN = ("127.0.0.1", "localhost")
WAIT = 180_000  # ms: two shared cores can be slow
LATE = int(os.environ.get("HARDMAX_LATE", "0"))  # ms by which frames, answers and messages come late: a slow machine
# Chromium makes ready what opens below its address bar, which no test uses: two processes for every new context, which
# take as long as the page itself. The option replaces playwright's own, so what that changes about pages is repeated.
UNUSED = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AimEnabled"]
UNWANTED = ["AvoidUnnecessaryBeforeUnloadCheckSync", "HttpsUpgrades", "PaintHolding", "ThirdPartyStoragePartitioning"]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-features=" + ",".join(UNUSED + UNWANTED)]
LATE_SCRIPT = (Path(__file__).parent / "late.js").read_text(encoding="utf-8")


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
        self.process.wait(timeout=120)
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
def static_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a static site, two folders down."""
    return write_site(tmp_path_factory.mktemp("host") / "docs" / "play ground")


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """The driver of the browser."""
    expect.set_options(timeout=WAIT)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Debian's chromium, or the one that playwright brings."""
    path = programs.browser(playwright.chromium.executable_path)
    started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
    yield started
    started.close()


class Watch:
    """What went wrong in a page: console errors, exceptions, requests that leave the machine."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.forgiven: list[str] = []
        self.page = page
        self.listeners: dict[str, Callable[[Any], None]] = {
            "console": lambda message: self.errors.append(message.text) if message.type == "error" else None,
            "pageerror": lambda error: self.errors.append(f"{error}"),
            "request": self._request,
        }
        for event, listener in self.listeners.items():
            page.on(event, listener)  # type: ignore[call-overload]

    def end(self) -> None:
        """Look no longer: the page goes to another test."""
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "file") and parts.hostname not in OWN:
            self.outside.append(request.url)

    @property
    def left(self) -> list[str]:
        """The errors that are not forgiven."""
        return [text for text in self.errors if not any(part in text for part in self.forgiven)]

    def check(self) -> None:
        """Fail if anything is left over."""
        assert self.left == [], f"console errors: {self.left}"
        assert self.outside == [], f"requests off the machine: {self.outside}"


OpenPage = Callable[..., Page]
# The cloud plays once, on the first visit.
VISITED = "try { localStorage.setItem('hardmax-visited', '1') } catch {}"


def make_late(context: BrowserContext, *kinds: str) -> None:
    """With HARDMAX_LATE, let the pages of a context have their "Frames" and "Answers" late."""
    if LATE:
        context.add_init_script(f"(() => {{ {LATE_SCRIPT} {' '.join(f'late{kind}({LATE});' for kind in kinds)} }})()")


class Kept:
    """One page that goes from test to test, because a new one takes four times as long as another address in this one.

    Every test finds it with an empty storage, without routes, and with a document of its own.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.page: Page | None = None
        self.lent = False
        self.turn = 0

    def lend(self, width: int, height: int, reduced_motion: Any, color_scheme: Any = "light") -> Page:
        """The page as a reader has it who is new here, but for the cloud that plays once."""
        if self.page is None:
            context = self.browser.new_context()
            context.add_init_script(VISITED)
            make_late(context, "Answers", "Frames")
            self.page = context.new_page()
        self.lent, self.turn = True, self.turn + 1
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        return self.page

    def back(self, spoiled: bool) -> None:
        """Take it back; one that had errors, or that a test closed, is thrown away."""
        assert self.page is not None
        self.lent = False
        if spoiled or self.page.is_closed():
            self.page.context.close()
            self.page = None
            return
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.mouse.up()
        self.page.mouse.move(0, 0)
        self.page.context.clear_cookies()
        self.page.evaluate("() => { try { localStorage.clear(); } catch {} }")


@pytest.fixture(scope="session")
def kept(browser: Browser) -> Kept:
    """The page that goes from test to test."""
    return Kept(browser)


@pytest.fixture
def open_page(browser: Browser, server: Server, kept: Kept) -> Iterator[OpenPage]:
    """open_page(hash="", url=None, width=1280, height=860, **options) -> a page that stands ready.

    The first one that a test opens is `kept`; `fresh=True`, `first_visit=True`, or other options of a context give it a
    page that no other test has. A test that adds listeners or scripts to its page asks for such a one.
    Nothing moves on the way from layer to layer unless a test says `reduced_motion="no-preference"`.
    With `clock=True` the page's time is `page.clock`: `run_for` passes it quickly, `stop_clock` stops it.
    `page.watch.forgiven.append("text")` allows console errors that a test provokes.
    """
    opened: list[tuple[Page, Watch]] = []

    def start(
        fragment: str = "",
        url: str | None = None,
        width: int = 1280,
        height: int = 860,
        ready: bool = True,
        first_visit: bool = False,
        fresh: bool = False,
        clock: bool = False,
        reduced_motion: Any = "reduce",
        **options: Any,
    ) -> Page:
        address = url or server.url
        special = not address.startswith(("http://127.0.0.1:", "file:"))
        if fresh or first_visit or clock or special or kept.lent or options.keys() - {"color_scheme"}:
            size: Any = {"width": width, "height": height}
            context = browser.new_context(viewport=size, reduced_motion=reduced_motion, **options)
            if not first_visit:
                context.add_init_script(VISITED)
            make_late(context, "Answers")
            page = context.new_page()
            if clock:
                page.clock.install()
            make_late(context, "Frames")
        else:
            page = kept.lend(width, height, reduced_motion, **options)
            base, _, given = address.partition("#")
            address = f"{base}?{kept.turn}" + (f"#{given}" if given else "")  # another address is another document
        page.set_default_timeout(WAIT)
        watch = Watch(page)
        page.watch = watch  # type: ignore[attr-defined]
        opened.append((page, watch))
        page.goto(address + (f"#{fragment}" if fragment else ""), wait_until="commit" if ready else "load")
        if ready:
            page.wait_for_function("() => window.hardmaxApp?.controller && !window.hardmaxApp.frame")
        return page

    yield start
    try:
        for _, watch in opened:
            watch.check()
    finally:
        for page, watch in opened:
            watch.end()
            if page is kept.page:
                kept.back(spoiled=bool(watch.errors or watch.outside or watch.forgiven))
            else:
                page.context.close()


@pytest.fixture
def stop_clock() -> Callable[[Page], None]:
    """From now on the time of a page with `clock=True` moves by `page.clock.run_for` alone."""
    return lambda page: page.clock.pause_at(page.evaluate("Date.now()") + 3_600_000)  # not over when the order arrives


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The playground as it opens."""
    return open_page()


COLORS = ["color-contrast", "link-in-text-block"]  # the rules of axe that depend on the color scheme
SETTLED = "document.getAnimations().forEach((one) => { if (one instanceof CSSTransition) one.finish(); })"


def axe_violations(page: Page, without: str | None = None) -> list[str]:
    """What axe finds, as readable lines: all in the scheme that the page has, the colors in the other one too.

    Args:
        without: a selector of elements that it does not look at; thousands of formulas take it half a minute.
    """
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    schemes: list[Any] = ["dark", "light"] if dark else ["light", "dark"]
    found = [f"{schemes[0]} {line}" for line in _axe(page, without)]
    page.emulate_media(color_scheme=schemes[1])
    found += [f"{schemes[1]} {line}" for line in _axe(page, without, runOnly=COLORS)]
    page.emulate_media(color_scheme=schemes[0])
    return found


def _axe(page: Page, without: str | None, **options: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(SETTLED)
    options |= {"resultTypes": ["violations"], "preload": False}  # pages from disk cannot read their style sheets
    context = {"exclude": [[without]]} if without else None
    found = Axe().run(page, context=context, options=options).response["violations"]
    return [f"{v['id']}: {v['help']} {[n['target'] for n in v['nodes']][:4]}" for v in found]


@pytest.fixture
def violations() -> Callable[..., list[str]]:
    """The function that runs axe on a page."""
    return axe_violations
