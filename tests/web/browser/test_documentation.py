"""The documentation as it is built, opened from disk: nothing vanishes, nothing is fetched, everybody can read it."""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from formulas import PRODUCT  # noqa: E402

pytestmark = pytest.mark.slow
PAGES = ("index.html", "dynamics.html", "commands.html", "architecture.html", "paper.html")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The site, built as `make docs` builds it: a warning is an error."""
    folder = tmp_path_factory.mktemp("documentation") / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


def _text(html):
    """What a reader sees of a page, in one line; formulas keep their signs."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", body)))


def test_every_inner_product_of_the_pages_can_be_read(built):
    seen = 0
    for source in sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(r"```.*?```|`[^`]*`|\$[^$]*\$", "", source.read_text(), flags=re.DOTALL)
        shown = _text((built / source.relative_to(ROOT / "docs")).with_suffix(".html").read_text())
        for product in PRODUCT.findall(text):
            wanted = re.sub(r"\s+", " ", f"⟨{product}⟩").replace("*", "")
            assert wanted in shown.replace("*", ""), f"{source.name}: <{product}>"
            seen += 1
    reference = (built / "reference.html").read_text()
    assert seen + reference.count("⟨") > 3


def test_formulas_are_drawn_and_no_source_of_one_is_left(built):
    pages = {path.name: path.read_text() for path in built.glob("*.html")}
    assert sum(text.count("<math") for text in pages.values()) > 100
    for name, text in pages.items():
        prose = re.sub(r"<(code|pre|script)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r"\\(langle|alpha|frac|max|sum)\b|\$[a-zA-Z\\]", _text(prose)), name


def test_nothing_on_the_pages_comes_from_another_host(built):
    loaded = r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(https?:[^\"]*)\"|<link\b[^>]*\bhref=\"(https?:[^\"]*)\""
    for path in built.rglob("*.html"):
        outside = [a or b for a, b in re.findall(loaded, path.read_text())]
        assert outside == [], path.name
    assert not any("@import" in path.read_text() for path in (built / "assets").glob("*.css"))


def test_the_search_works_from_disk(built, open_page):
    page = open_page(url=(built / "index.html").as_uri(), ready=False)
    page.get_by_role("textbox", name="Search").fill("certificate")
    page.wait_for_function(  # the page listens to keys, and on a slow machine later than the words were put in
        """() => {
            document.querySelector("input[name=query]").dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
            return document.querySelector(".md-search-result__item");
        }""",
        polling=500,
    )
    assert "certif" in page.locator(".md-search-result__list").inner_text().lower()


def test_axe_finds_nothing_and_a_phone_does_not_scroll_sideways(built, open_page, violations):
    page = open_page(url=(built / "index.html").as_uri(), ready=False)
    for name in PAGES:
        page.set_viewport_size({"width": 1280, "height": 860})
        page.goto((built / name).as_uri())
        without = "math" if name == "paper.html" else None  # the other pages have a few formulas
        assert (name, violations(page, without)) == (name, [])
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
