"""Large clouds and softmax are computed by a worker thread: the same numbers, while the dragged token moves at once."""

import numpy as np
import pytest

import hardmax as hx
from hardmax.cloud.presets import random_cloud

MOVE = """([i, x, y]) => {
    const app = window.hardmaxApp;
    const editor = app.controller.editor ?? app.controller.sides[0].editor;
    const { d, coords } = editor.cloud;
    const next = Float64Array.from(coords);
    next.set([x, y], i * d);
    editor.edit({ d, coords: next }, { sel: i });
    app.flush();
    const { model, layers } = app.controller; // before any answer of a worker can come in
    return { stale: model.stale, start: [...model.result.tokens[0].subarray(i * d, (i + 1) * d)],
             leaders: [...model.result.leaderSince.keys()],
             soft: layers?.[1].slice(0, 2).map((layer) => layer[i * d]) };
}"""
MODEL = "window.hardmaxApp.controller.model"
DONE = f"() => !{MODEL}.stale"


def test_a_large_cloud_is_computed_in_a_worker_while_the_old_picture_stays(open_page):
    page = open_page("v=1&n=1500&K=12")
    assert page.workers == []
    leaders = page.evaluate(f"[...{MODEL}.result.leaderSince.keys()]")
    then = page.evaluate(MOVE, [7, 9, 9])
    assert then["stale"] is True, "nothing was computed on the page's own thread"
    assert then["start"] == [9, 9], "the token moves at once"
    assert then["leaders"] == leaders
    page.wait_for_function(DONE)
    assert len(page.workers) == 1
    Z = random_cloud("random", 1500, 2, 7)
    Z[7] = [9, 9]
    traj = hx.simulate(Z, layers=12)
    assert sorted(page.evaluate(f"[...{MODEL}.result.leaderSince.keys()]")) == sorted(traj.leader_since)
    last = np.array(page.evaluate(f"[...{MODEL}.result.tokens[12]]"))
    assert np.abs(last - traj.tokens[12].ravel()).max() < 1e-12
    assert page.evaluate(f"{MODEL}.result.follows(0)[3]") == list(traj.follows(0)[3])


def test_of_many_changes_the_last_one_counts(open_page):
    page = open_page("v=1&n=1500&K=8")
    for x in (3, 4, 5, 6, 7, 8):
        page.evaluate(MOVE, [0, x, 0])
    page.wait_for_function(DONE)
    assert page.evaluate(f"{MODEL}.result.limit.points[0]") == 8
    page.evaluate("window.hardmaxApp.set({ n: 40, pts: null }); window.hardmaxApp.flush()")  # while nothing is asked
    page.evaluate("window.hardmaxApp.set({ n: 1400 }); window.hardmaxApp.flush()")
    page.evaluate(MOVE, [0, 2, 2])
    page.evaluate(
        "window.hardmaxApp.set({ pts: null, n: 30 }); window.hardmaxApp.flush()"
    )  # while an answer is on its way
    assert page.evaluate(f"{MODEL}.result.n") == 30
    page.evaluate(MOVE, [0, 5, 5])
    assert page.evaluate(f"[{MODEL}.result.n, {MODEL}.stale]") == [30, False]


def test_softmax_of_many_tokens_is_computed_in_a_worker(open_page):
    page = open_page("v=1&view=beta&n=400&K=10&k=10&beta=4")
    page.wait_for_function("() => window.hardmaxApp.controller.gaps.length === 11")
    assert len(page.workers) == 1
    assert page.locator(".screen-beta .token-note").inner_text() == ""
    soft = np.array(page.evaluate("[...window.hardmaxApp.controller.layers[1][10]]"))
    want = hx.simulate(random_cloud("random", 400, 2, 7), layers=10, rule=hx.Softmax(4.0)).tokens[10]
    assert np.abs(soft - want.ravel()).max() < 1e-10
    start, second = page.evaluate(MOVE, [0, 5, 5])["soft"]
    assert start == 5
    assert second < 4, "the layers before stay"
    page.wait_for_function("() => window.hardmaxApp.controller.layers[1][1][0] > 4")


def test_a_page_that_may_start_no_worker_computes_itself(open_page):
    page = open_page("v=1&n=12")
    page.watch.forgiven.append("Content Security Policy")

    def forbid(route):
        answer = route.fetch()
        policy = answer.headers["content-security-policy"].replace("worker-src blob:", "worker-src 'none'")
        route.fulfill(response=answer, headers={**answer.headers, "content-security-policy": policy})

    page.route(lambda url: url.split("#")[0] == page.url.split("#")[0], forbid)
    page.reload()
    page.wait_for_function("() => window.hardmaxApp?.controller?.model")
    page.evaluate("window.hardmaxApp.set({ n: 1200, K: 4 }); window.hardmaxApp.flush()")
    page.evaluate(MOVE, [0, 8, 8])
    page.wait_for_function("() => window.hardmaxApp.controller.model.result.limit.points[0] === 8")
    page.keyboard.press("2")
    page.wait_for_function("() => window.hardmaxApp.controller.layers?.[1]?.[1]?.[0] > 4")
    assert page.workers == []


@pytest.mark.slow
def test_a_saved_page_has_its_worker_too(open_page, tmp_path):
    path = hx.simulate(random_cloud("random", 1300, 2, 7), layers=6).save(tmp_path / "x.html")
    page = open_page(url=path.as_uri(), ready=False)
    page.wait_for_selector("#hardmax-frame iframe")
    frame = page.query_selector("#hardmax-frame iframe").content_frame()
    frame.wait_for_function("() => window.hardmaxApp?.controller?.model?.result.n === 1300")
    assert frame.evaluate(MOVE, [7, 9, 9])["stale"] is True
    frame.wait_for_function(f"() => {MODEL}.result.limit.points[14] === 9")
    assert len(page.workers) == 1
