"""A test that lacks a program says so, and in CI it fails."""

import pytest

from programs import browser, node


@pytest.mark.parametrize("ask", [node, lambda: browser("/nowhere/chromium")])
def test_a_missing_program_is_a_reason_to_skip_and_a_failure_in_ci(ask, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("HARDMAX_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install"):
        ask()
    monkeypatch.setenv("HARDMAX_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install"):
        ask()


def test_the_browser_of_playwright_will_do(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert browser(__file__) == __file__
