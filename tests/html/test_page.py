"""The shell of every page, and the parts that pages are made of."""

import subprocess
import sys

import pytest
from PIL import Image

from hardmax.html.page import HERE, NO_SCRIPT, facts, heading, notebook, page, picture, render, table
from html_reader import HOSTILE, SHOWN, Html, assert_alone


@pytest.mark.parametrize(
    "made",
    [table(HOSTILE, ["x"], []), table("x", [HOSTILE], []), table("x", ["y"], [[HOSTILE]]), facts([(HOSTILE, 1)]),
     facts([("x", HOSTILE)]), heading(HOSTILE), page("x", [heading(HOSTILE)]), notebook(heading(HOSTILE))],
    ids=["caption", "head", "cell", "name", "value", "heading", "page", "notebook"],
)  # fmt: skip
def test_every_text_is_escaped_and_printable(made):
    read = assert_alone(made)
    assert SHOWN in read.text


def test_titles_and_policies_are_escaped():
    read = assert_alone(page(HOSTILE, [], HOSTILE))
    assert read.blocks["title"] == SHOWN
    assert read.policy() == SHOWN


def test_objects_are_escaped_as_their_text():
    class Label:
        def __str__(self):
            return HOSTILE

    assert Html(facts([("x", Label())])).blocks["dd"] == SHOWN


def test_parts_that_are_html_stay_html_but_lose_half_characters():
    text = page("x", ["<p>y \ud800</p>"])
    assert "<p>y ?</p>" in text
    text.encode("utf-8")


def test_every_page_has_a_policy_and_by_default_it_allows_no_script():
    assert Html(page("x", [])).policy() == NO_SCRIPT
    assert "script-src" not in NO_SCRIPT
    assert "default-src 'none'" in NO_SCRIPT


def test_a_page_has_both_themes():
    assert "prefers-color-scheme: dark" in page("x", [])


def test_no_template_turns_escaping_off():
    for path in (HERE / "templates").iterdir():
        text = path.read_text()
        assert "|safe" not in text.replace(" ", "")
        assert "autoescape" not in text


def test_a_name_that_a_template_does_not_get_is_an_error():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="pairs"):
        render("facts.html")


def test_a_picture_is_inside_the_page_and_its_description_is_escaped(tmp_path):
    path = tmp_path / "x.png"
    Image.new("RGB", (300, 100)).save(path)
    (found,) = assert_alone(picture(path, HOSTILE, width=150)).elements[1:]
    assert found[1] | {"src": ""} == {"width": "150", "height": "50", "alt": SHOWN, "src": ""}
    assert found[1]["src"].startswith("data:image/png;base64,")


def test_jinja_is_loaded_only_with_a_page():
    code = "import hardmax, hardmax.cli.main, sys; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
