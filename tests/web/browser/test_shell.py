"""What surrounds the screens: keyboard, links, exports, themes, a lost server, frames for teachers."""

import csv
import io
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

LAYER = "[...window.hardmaxApp.controller.model.result.tokens[window.hardmaxApp.state.k]]"


def state(page, key):
    return page.evaluate("(key) => window.hardmaxApp.state[key]", key)


def export(page, name):
    """Click an entry of the Export menu and give the downloaded bytes."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).click()
    page.keyboard.press("Escape")
    return Path(waiting.value.path()).read_bytes()


def program(page, kind):
    return page.evaluate(f"window.hardmaxApp.controller.exports().{kind}()")


def test_keys_play_step_switch_and_open_screens(open_page):
    page = open_page("v=1&preset=square&K=300&alpha=0.001")  # it plays for minutes
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert state(page, "k") == 11
    page.keyboard.press("ArrowLeft")
    assert state(page, "k") == 10
    page.keyboard.press("End")
    assert state(page, "k") == 300
    page.keyboard.press("Home")
    assert state(page, "k") == 0
    page.keyboard.press("a")
    page.keyboard.press("t")
    assert state(page, "show") == ["hull", "leaders", "limit", "arrows"]
    page.keyboard.press(" ")
    page.wait_for_function("() => window.hardmaxApp.state.k > 0")
    page.keyboard.press(" ")
    assert page.evaluate("window.hardmaxApp.player.playing") is False
    page.keyboard.press("2")
    page.wait_for_selector(".screen-beta:not([hidden])")
    assert page.locator(".tab[aria-current]").inner_text() == "Hardmax vs softmax"
    page.keyboard.press("1")
    page.wait_for_selector(".screen-dyn:not([hidden])")


def test_keys_do_nothing_while_a_field_has_the_keyboard(page):
    page.get_by_role("spinbutton", name="seed").focus()
    page.keyboard.type("2")
    assert state(page, "view") == "dyn"
    assert state(page, "seed") == 72


def test_help_opens_by_key_and_escape_closes_what_is_open(page):
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="How to play").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.get_by_role("button", name="Export").click()
    assert page.get_by_role("button", name="Picture as SVG").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("button", name="Picture as SVG").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Export"


def test_tab_reaches_every_control_in_order_and_nothing_twice(page):
    name = """() => {
        const one = document.activeElement;
        return one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
    }"""
    seen = []
    for _ in range(44):
        page.keyboard.press("Tab")
        page.wait_for_function("() => !window.hardmaxApp.frame")  # a token that is reached brings more controls
        seen.append(page.evaluate(name).split(",")[0])
    alpha = "\N{GREEK SMALL LETTER ALPHA}"
    wanted = [
        "Skip to the figure", "Dynamics", "Hardmax vs softmax", "Sentiment", "Exact", "Corpus", "Lessons", "Share",
        "Export", "Theme: auto", "Help", "\u25b6 Play", "Drag a token", "Lesson 1", "token 0", "add a token", "fit",
        "as a table", "Play", "One layer forward", "Layer", "Speed", "as a table", "as a table", "\u25b6 show the step",
        "How far the line has swept", "sharpness \u03b2 = \u221e", "Picture", "Cloud", "tokens", "dimension", "seed",
        "new seed", "Load tokens from a file", alpha, alpha, "layers", "A", "leaders (L)", "trails (T)", "arrows (A)",
        "initial hull (H)", "limit", "sectors",
    ]  # fmt: skip
    # The notice that the server compiles comes after the header, as long as it compiles.
    notice = [one == "Dismiss" and before == "Help" for before, one in pairwise(["", *seen])]
    kept = [one for one, extra in zip(seen, notice, strict=True) if one != "remove" and not extra]
    assert kept[: len(wanted)] == wanted[: len(kept)]


def test_browser_history_goes_back_to_the_screen_before(page):
    page.get_by_role("link", name="Hardmax vs softmax").click()
    page.wait_for_selector(".screen-beta:not([hidden])")
    page.go_back()
    page.wait_for_selector(".screen-dyn:not([hidden])")
    assert state(page, "view") == "dyn"


def test_what_a_link_leaves_out_survives_back_and_reload_but_not_another_link(open_page):
    page = open_page("v=1&view=text")
    page.locator("textarea").first.fill("words of my own")
    page.wait_for_function("() => window.history.state?.leftOut?.text === 'words of my own'")
    assert "own" not in page.evaluate("window.location.href")
    page.get_by_role("link", name="Dynamics").click()
    page.wait_for_selector(".screen-dyn:not([hidden])")
    page.go_back()
    page.wait_for_selector(".screen-text:not([hidden])")
    page.wait_for_function("() => document.querySelector('textarea').value === 'words of my own'")
    page.reload()
    page.wait_for_function("() => document.querySelector('textarea')?.value === 'words of my own'")
    page.evaluate("window.location.hash = '#v=1&view=text&ex=short'")
    page.wait_for_function("() => window.hardmaxApp.state.ex === 'short' && window.hardmaxApp.state.text === null")


def test_the_address_follows_the_state(page):
    page.get_by_role("spinbutton", name="tokens").fill("33")
    page.wait_for_function("() => window.location.hash === '#v=1&view=dyn&n=33'")
    page.reload()
    page.wait_for_function("() => document.querySelectorAll('.token').length === 33")


def test_a_bad_or_newer_link_loads_what_it_can_and_says_what_was_dropped(open_page):
    page = open_page("v=1&n=9&alpha=none&A=rot:1")
    notice = page.locator(".banner[data-id=link]")
    assert "Not read: alpha (none is not a number); A (rot: needs an angle" in notice.inner_text()
    assert page.locator(".token").count() == 9
    for n, (link, said) in enumerate(
        (
            ("v=9&shape=torus", "newer version (v=9)"),
            ("v=1&pts=%%%", "Not read: pts"),
            ("v=1&preset=nowhere", "late-leader, cube, gaussian)"),
            ("v=1&theme=<script>alert(1)</script>", "Not read: theme (<script>alert(1)</script> is not one of"),
        ),
        start=10,
    ):
        notice.get_by_role("button", name="Dismiss").click()
        assert notice.count() == 0
        page.evaluate("(hash) => { location.hash = hash; }", f"{link}&n={n}")
        page.wait_for_function("(n) => document.querySelectorAll('.token').length === n", arg=n)
        assert said in notice.inner_text()
    page.evaluate("location.hash = 'v=1&n=17&A=1,2;2,1'")
    page.wait_for_function("() => document.querySelectorAll('.token').length === 17")
    assert "smallest eigenvalue is -1" in page.locator(".field-error:visible").inner_text()


@pytest.mark.slow
def test_a_lost_server_is_said_the_last_reading_stays_and_the_dynamics_go_on(open_page, own_server):
    page = open_page("v=1&preset=square&view=text", url=own_server.url)
    page.watch.forgiven += ["ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET"]
    page.locator(".verdict-label:visible").wait_for()
    read = page.locator(".marked").first.evaluate("(node) => node.textContent")
    page.keyboard.press("1")
    page.wait_for_function("() => document.querySelector('.status')?.textContent.includes(', checked')")
    own_server.stop()
    page.get_by_role("button", name="add a token").click()
    page.wait_for_selector(".banner:has-text('server is not responding')")
    page.get_by_role("button", name="One layer forward").click()
    assert page.locator(".token").count() == 11
    assert "decided here at layer 0, not checked" in page.locator(".status").first.inner_text()
    page.keyboard.press("3")
    page.get_by_label("Text", exact=True).fill("great film")
    page.locator(".field-error", has_text="the server is not responding").wait_for()
    assert "The last valid result is shown" in page.locator(".reading-note").first.inner_text()
    assert page.locator(".marked").first.evaluate("(node) => node.textContent") == read


def test_a_slow_screen_says_that_it_is_loading(open_page):
    page = open_page()
    held = []
    page.route("**/static/screens/exact.js", lambda route: held.append(route))
    page.keyboard.press("4")
    page.wait_for_selector(".loading")
    held[0].continue_()
    page.wait_for_selector(".loading", state="detached")


@pytest.mark.slow
def test_exports_open_again(open_page, tmp_path):
    page = open_page("v=1&preset=emerging&k=2&K=6")
    svg = export(page, "Picture as SVG").decode()
    picture = open_page(url="about:blank", ready=False)
    picture.set_content(svg)
    assert picture.locator("svg path").count() >= 8
    assert "var(--" not in svg
    assert "class=" not in svg
    from PIL import Image

    image = Image.open(io.BytesIO(export(page, "Picture as PNG")))
    box = page.locator("svg.cloud").bounding_box()
    assert abs(image.width - 2 * box["width"]) <= 4
    assert len(image.convert("RGB").getcolors(1 << 24)) > 20
    rows = list(csv.DictReader(io.StringIO(export(page, "Table as CSV").decode())))
    assert len(rows) == 8
    assert float(rows[0]["y0"]) == 1 / 3
    document = json.loads(export(page, "Everything as JSON"))
    assert np.array(document["trajectory"]).shape == (7, 8, 2)
    before = page.evaluate(LAYER)
    for name, content in (
        ("again.json", json.dumps(document)),
        ("again.csv", "x,y\n" + "\n".join(f"{r['x0']},{r['y0']}" for r in rows)),
    ):
        (tmp_path / name).write_text(content)
        page.get_by_label("Load tokens from a file").set_input_files(tmp_path / name)
        page.wait_for_function("() => window.hardmaxApp.state.pts && window.hardmaxApp.state.k === 0")
        page.evaluate("window.hardmaxApp.player.go(2)")
        assert page.evaluate(LAYER) == before


@pytest.mark.parametrize(
    "link",
    [
        "v=1&preset=random&n=40&d=3&seed=11&alpha=0.3&K=8&k=5",
        "v=1&view=beta&preset=polygon&beta=4&K=7&k=3",
        "v=1&pts=AQIAAHpEiQAK_7IBKf8M_tcBWABk_g&K=9&k=4&A=rot:30,2,0.5",
    ],
)
def test_copied_programs_run_and_give_the_numbers_on_the_screen(open_page, link):
    page = open_page(link)
    shown = np.array(page.evaluate(LAYER))
    layers = page.evaluate("window.hardmaxApp.controller.layers?.[1]?.map((one) => [...one]) ?? null")
    k = state(page, "k")
    named = {}
    exec(program(page, "python"), named)
    assert np.abs(named["traj"].tokens[k].ravel() - shown).max() <= 1e-12 * np.abs(shown).max()
    ours = np.array(page.evaluate("window.hardmaxApp.controller.model.result.limit.centers"))
    assert np.abs(ours - named["eq"].centers).max() <= 1e-12 * np.abs(ours).max()
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", program(page, "command")], capture_output=True, text=True, check=True, env=here
    )
    wanted = shown if layers is None else np.array(layers[k])
    assert np.abs(np.ravel(json.loads(done.stdout)["tokens"]) - wanted).max() <= 1e-10 * np.abs(wanted).max()


def test_copying_puts_the_text_on_the_clipboard(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Export").click()
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_selector("text=Copied; this is the text:")
    assert page.evaluate("navigator.clipboard.readText()").startswith("import hardmax as hx")
    assert page.get_by_label("Text to copy").input_value() == program(page, "python")


def test_the_theme_is_chosen_kept_and_fixed_by_a_link(open_page):
    page = open_page(color_scheme="light")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(ground) == "rgb(17, 20, 24)"
    page.reload()
    page.wait_for_selector("button[aria-label='Theme: dark']")
    assert open_page("v=1&theme=dark", color_scheme="light").evaluate(ground) == "rgb(17, 20, 24)"


def test_frames_for_teachers_show_the_figure_alone(open_page):
    page = open_page("v=1&preset=square&embed=1")
    assert page.locator("header.top").bounding_box()["width"] <= 1  # its heading is still read aloud
    assert not page.get_by_role("button", name="Share").is_visible()
    assert not page.locator(".controls").first.is_visible()
    assert page.locator("svg.cloud").first.is_visible()
    assert page.get_by_role("button", name="Play", exact=True).is_visible()
    page = open_page("v=1&preset=square&hide=controls")
    assert page.locator("header.top").is_visible()
    assert not page.locator(".controls").first.is_visible()
