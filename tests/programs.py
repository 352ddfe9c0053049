"""Programs beside Python that some tests need. Where one is not to be had they are skipped with the reason; CI, which
sets HARDMAX_REQUIRE_BROWSER, has them all, and there a missing one is a failure."""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing(what: str, fix: str) -> None:
    """End the test that needs it: skipped, or failed where nothing may be missing."""
    reason = f"no {what} found; {fix}"
    if os.environ.get("HARDMAX_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


def node() -> str:
    """The path of node."""
    path = shutil.which("node")
    if path is None:
        missing("node", "apt-get install nodejs")
    return str(path)


def browser(own: str) -> str:
    """The path of an installed browser, or of the one that playwright brings (`own`)."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None and not os.path.exists(own):
        missing("browser", "apt-get install chromium")
    return found or own
