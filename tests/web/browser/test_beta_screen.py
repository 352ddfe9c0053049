"""Hardmax against softmax in a real browser."""

import re
from pathlib import Path

import numpy as np
import pytest

import hardmax as hx


def test_both_clouds_show_what_python_computes(open_page):
    page = open_page("v=1&view=beta&preset=emerging&beta=4&K=10&k=10")
    hard, soft = (np.array(page.evaluate(f"[...window.hardmaxApp.controller.layers[{s}][10]]")) for s in (0, 1))
    Z = hx.preset("emerging")
    assert np.abs(hard - hx.simulate(Z, layers=10).tokens[-1].ravel()).max() < 1e-12
    assert np.abs(soft - hx.simulate(Z, layers=10, rule=hx.Softmax(4.0)).tokens[-1].ravel()).max() < 1e-10
    gap = np.abs((hard - soft).reshape(-1, 2)) ** 2
    size = np.linalg.norm(Z, axis=1).max()
    assert page.evaluate("window.hardmaxApp.controller.gaps[10]") == pytest.approx(np.sqrt(gap.sum(1).max()) / size)


def test_a_sharper_softmax_comes_closer_to_hardmax(open_page):
    page = open_page("v=1&view=beta&preset=square&K=10&k=5")
    gap = "window.hardmaxApp.controller.gaps[5]"
    before = page.evaluate(gap)
    page.get_by_role("spinbutton", name="β, the sharpness of softmax").fill("200")
    page.evaluate("window.hardmaxApp.flush()")
    assert page.evaluate(gap) < before / 5
    assert "β = 200" in page.locator(".screen-beta .side-rule").nth(1).inner_text()


def test_dragging_in_one_cloud_moves_the_start_of_both(open_page):
    page = open_page("v=1&view=beta&preset=square")
    x, y = page.evaluate(
        """() => {
            const { svg, editor } = window.hardmaxApp.controller.sides[1];
            const box = svg.getBoundingClientRect();
            return [box.left + editor.scene.positions[8], box.top + editor.scene.positions[9]];
        }"""
    )
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y)
    page.mouse.move(x + 50, y + 20)
    page.mouse.up()
    page.evaluate("window.hardmaxApp.flush()")
    starts = page.evaluate("window.hardmaxApp.controller.layers.map((side) => [...side[0]])")
    assert starts[0] == starts[1]
    assert starts[0][8] > 0.137


def test_metastable_clusters_are_named(open_page):
    page = open_page("v=1&view=beta&beta=4")
    assert "softmax holds 4 clusters for layers" in page.locator(".screen-beta .status").inner_text()


def test_too_many_tokens_for_softmax_are_said_and_hardmax_goes_on(open_page):
    page = open_page("v=1&view=beta&n=1500&K=20")
    assert "too many for this page" in page.locator(".screen-beta .token-note").inner_text()
    assert page.locator(".screen-beta .token-figure.absent").count() == 1


def test_without_tokens_the_page_says_how_to_add_one(open_page):
    page = open_page("v=1&view=beta&pts=AQIAAIA_")
    assert "No tokens yet" in page.locator(".screen-beta .token-note").inner_text()
    assert page.locator(".screen-beta .status").inner_text() == "no tokens"
    page.locator(".screen-beta svg.cloud").first.dblclick(position={"x": 200, "y": 100})
    note = "document.querySelector('.screen-beta .token-note').textContent"
    page.wait_for_function(f"() => !{note}.includes('No tokens')")


def test_the_screen_can_be_walked_with_the_keyboard_alone(open_page):
    page = open_page("v=1&view=beta&preset=square&K=12")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("""() => {
            const node = document.activeElement;
            return node.dataset.token ? `cloud ${node.closest("figure").ariaLabel}`
              : node.ariaLabel || node.labels?.[0]?.textContent || node.textContent;
        }"""))  # fmt: skip
    assert {"cloud Hardmax cloud", "cloud Softmax cloud", "Play", "One layer forward", "Layer"} <= seen
    assert {"Cloud", "layers"} <= seen
    assert {"as a table", "\u03b1, the step size", "\u03b2, the sharpness of softmax"} <= seen
    page.locator(".screen-beta [data-token][tabindex='0']").first.focus()
    for key in ("m", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("window.hardmaxApp.state.pts !== null")
    page.keyboard.press("Delete")
    assert page.evaluate("window.hardmaxApp.controller.model.result.n") == 9
    page.locator(".screen-beta").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.hardmaxApp.state.k") == 1


def test_every_figure_has_a_table(open_page):
    page = open_page("v=1&view=beta&preset=square&k=3")
    for figure in page.locator(".screen-beta figure").all():
        figure.get_by_role("button", name="as a table").click()
        assert figure.locator("tbody tr").count() >= 10


def test_the_picture_holds_both_clouds(open_page):
    page = open_page("v=1&view=beta&preset=square")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Picture as SVG").click()
    picture = Path(waiting.value.path()).read_text()
    assert picture.count("<svg") == 3
    boxes = [figure.bounding_box()["width"] for figure in page.locator(".screen-beta svg.cloud").all()]
    width = float(re.search(r' width="([\d.]+)"', picture)[1])
    assert abs(width - sum(boxes) - 3 * 16) <= 4
