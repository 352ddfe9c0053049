"""One step of argmax with its bars, and the figures of the paper: numbers, captions, SVG and PDF."""

import io
import re
from pathlib import Path

import numpy as np
import pypdfium2
import pytest

import hardmax as hx
from hardmax.cloud.presets import random_cloud

APP = "window.hardmaxApp"
LINE = "document.querySelector('.screen-dyn .support').getAttribute('d')"


def bars(page, screen="dyn"):
    """[token, score, weight] of each row."""
    rows = page.locator(f".screen-{screen} .bars li")
    texts = [[part.inner_text() for part in row.locator(":scope > span").all()] for row in rows.all()]
    return [[re.search(r"\d+", name)[0], score, weight] for name, score, weight in texts]


def slide(page, label, value):
    page.get_by_label(label).evaluate(
        "(node, value) => { node.value = value; node.dispatchEvent(new Event('input', { bubbles: true })); }",
        str(value),
    )


def test_the_line_sweeps_until_it_touches_the_winner_and_the_bars_grow_with_it(open_page, stop_clock):
    page = open_page("v=1&preset=emerging", clock=True, reduced_motion="no-preference")
    stop_clock(page)
    box = page.locator("[data-token='3']").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.clock.run_for(500)
    assert page.locator(".step-sentence").first.inner_text().startswith("The line moves on")
    assert page.locator(".screen-dyn .fan").count() == 0, "nobody has won yet"
    early = page.evaluate(LINE)
    page.clock.run_for(3000)
    assert "reaches farthest" in page.locator(".step-sentence").first.inner_text()
    assert page.evaluate(LINE) != early
    assert page.locator(".screen-dyn .fan").count() == 1
    Z = hx.preset("emerging")
    scores = Z @ Z[3]
    order = np.argsort(-scores, kind="stable")
    found = bars(page)
    assert [int(token) for token, _, _ in found][:3] == order[:3].tolist()
    assert float(found[0][1]) == pytest.approx(scores.max(), rel=5e-3)
    assert found[0][2] == "100 %"
    slide(page, "How far the line has swept", 500)
    widths = page.locator(".bar-score").evaluate_all("(all) => all.map((node) => parseFloat(node.style.width))")
    want = [100 * max(0, min(scores[int(token)], 0.5 * scores.max())) / scores.max() for token, _, _ in found]
    assert widths == pytest.approx(want, abs=0.01)
    assert {row[2] for row in bars(page)} == {"\u2013"}, "weights are not known before the line has touched"


def test_less_motion_shows_the_touch_at_once(open_page):
    page = open_page("v=1&preset=emerging&sel=3")
    page.get_by_role("button", name="show the step").click()
    assert "reaches farthest" in page.locator(".step-sentence").first.inner_text()


def test_the_sharpness_morphs_bars_and_picture_from_softmax_to_hardmax(open_page):
    page = open_page("v=1&preset=emerging&sel=3")
    Z = hx.preset("emerging")
    scores = Z @ Z[3]
    fans = []
    for place in (0, 700, 1000):
        slide(page, "sharpness", place)
        beta = 0 if place == 0 else float(f"{0.1 * 10 ** (4 * place / 1000):.2g}")
        weights = np.exp(beta * (scores - scores.max()))
        weights = weights / weights.sum() if place < 1000 else (scores == scores.max()).astype(float)
        for token, _, weight in bars(page):
            assert float(weight.removesuffix(" %")) == pytest.approx(100 * weights[int(token)], abs=0.06, rel=0.05)
        fans.append(
            page.locator(".screen-dyn .under-arrow.fan").evaluate_all(
                "(all) => all.map((one) => one.getAttribute('d')).join()"
            )
        )
    assert fans[0].count("M") > fans[1].count("M") >= fans[2].count("M") == 2, (
        "a shaft and a head for each token followed"
    )
    assert page.locator(".screen-dyn .mean").count() == 0


def test_the_same_bars_stand_beside_softmax_and_follow_its_beta(open_page):
    page = open_page("v=1&view=beta&preset=emerging&sel=3&beta=2&K=4")
    Z = hx.preset("emerging")
    for beta in (2, 40):
        page.get_by_role("spinbutton", name="β, the sharpness of softmax").fill(str(beta))
        page.evaluate(f"{APP}.flush()")
        weights = np.exp(beta * (Z @ Z[3] - (Z @ Z[3]).max()))
        top = bars(page, "beta")[0]
        assert float(top[2].removesuffix(" %")) == pytest.approx(100 * weights.max() / weights.sum(), rel=0.05)
    assert page.locator(".screen-beta .support").count() == 2, "one line in each cloud"


def test_figure_2_shows_four_clouds_at_the_layer_of_one_scrubber(open_page):
    page = open_page("v=1&figure=2&k=1")
    panels = page.locator(".board-panel")
    assert panels.count() == 4
    names = ["triangle", "emerging", "square", "square-ties"]
    for layer in (1, 5):
        page.get_by_role("slider", name="Layer").first.fill(str(layer))
        page.evaluate(f"{APP}.flush(); {APP}.controller.board.list.forEach((one) => one.tween.stop())")
        for at, name in enumerate(names):
            drawn = page.evaluate(f"[...{APP}.controller.board.list[{at}].content.model.result.tokens[{layer}]]")
            assert np.abs(drawn - hx.simulate(hx.preset(name), layers=layer).tokens[layer].ravel()).max() < 1e-12
        assert f"at layer {layer}" in page.locator(".board-caption").inner_text()
    captions = page.locator(".board-panel figcaption").all_inner_texts()
    assert captions[1] == "(b) An emerging leader: 8 tokens, 3 leaders, 3 clusters in the end"
    assert captions[3] == "(d) Clusters without a leader: 10 tokens, 4 leaders, 6 clusters in the end"
    page.locator(".board-panel").nth(1).get_by_role("button", name="Open this cloud").click()
    page.wait_for_selector(".screen-dyn .token-figure:not([hidden])")
    assert page.evaluate(f"[{APP}.state.preset, {APP}.state.figure]") == ["emerging", None]


def test_figure_1_has_the_follow_sets_of_the_paper(open_page):
    page = open_page("v=1&figure=1")
    captions = page.locator(".board-panel figcaption").all_inner_texts()
    assert captions == [
        "(a) A = I: token 1 follows tokens 2 and 3, a tie",
        "(b) A = (2, 1; 1, 1): token 1 follows token 4",
    ]
    assert page.locator(".half-space").count() == 2
    page.get_by_label("Picture").select_option("layers")
    page.wait_for_function("() => document.querySelectorAll('.board-panel').length === 4")
    assert page.locator(".board-panel figcaption").first.inner_text() == "(a) Layer 0: 6 leaders, 60 clusters"
    page.get_by_role("button", name="back to the cloud").click()
    page.wait_for_selector(".screen-dyn .token-figure:not([hidden])")


def saved(page, kind):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save as {kind}").click()
    return Path(waiting.value.path()).read_bytes()


def test_a_figure_is_saved_as_svg_and_as_pdf_in_one_click_and_both_look_the_same(open_page):
    page = open_page("v=1&figure=2&k=3")
    svg = saved(page, "SVG").decode()
    assert "Fig. 2. Four clouds at layer 3" in svg
    assert "var(--" not in svg
    document = pypdfium2.PdfDocument(saved(page, "PDF"))
    assert len(document) == 1
    text = " ".join(document[0].get_textpage().get_text_range().split())
    assert "(c) A square: 10 tokens, 4 leaders" in text
    assert "\u03b1 = 0.5" in text
    drawn = np.asarray(document[0].render(scale=1 / 0.75).to_pil().convert("RGB"), float)
    other = open_page(url="about:blank", ready=False, width=drawn.shape[1], height=drawn.shape[0])
    other.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{svg}")
    from PIL import Image

    wanted = np.asarray(Image.open(io.BytesIO(other.screenshot())).convert("RGB"), float)
    height, width = (min(a, b) for a, b in zip(wanted.shape[:2], drawn.shape[:2], strict=True))
    off = np.abs(wanted[:height, :width] - drawn[:height, :width]).max(axis=2)
    colored = np.ptp(wanted[:height, :width], axis=2) > 40  # marks and trails, not letters
    assert colored.mean() > 0.005
    assert (off[colored] > 100).mean() < 0.1, "edges differ by a pixel, shapes do not"
    assert (off > 60).mean() < 0.02


def test_the_static_site_saves_figures_too(open_page, static_site):
    page = open_page("v=1&figure=1", url=(static_site / "index.html").as_uri())
    document = pypdfium2.PdfDocument(saved(page, "PDF"))
    assert "token 1 follows tokens 2 and 3, a tie" in document[0].get_textpage().get_text_range()
    page.evaluate(f"{APP}.set({{ figure: null, sel: 3 }}); {APP}.flush()")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Picture as PDF").click()
    assert len(pypdfium2.PdfDocument(Path(waiting.value.path()))) == 1


def test_a_cloud_of_900_tokens_is_drawn_as_it_was_before_the_inner_points_were_left_out():
    """The corners of the initial hull are those that SciPy finds."""
    from scipy.spatial import ConvexHull

    from page_modules import run_node

    Z = random_cloud("random", 900, 2, 3)
    script = """const { hull2d } = await import(process.argv[1]); let text = "";
      for await (const part of process.stdin) text += part;
      console.log(JSON.stringify(hull2d(Float64Array.from(JSON.parse(text)))));"""
    found = run_node(script, "js/hull.js", given=str(Z.ravel().tolist()))
    assert set(found) == set(ConvexHull(Z).vertices.tolist())
