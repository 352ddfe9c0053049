"""Saved pages in a browser, from disk: the numbers are Python's, nothing leaves the file, and the notebook widget."""

import json

import numpy as np
import pytest

import hardmax as hx
from hardmax.html.page import script
from hardmax.sentiment.explain import explain
from hardmax.web.single_file import playground_document, trajectory_state
from tiny_models import two_classes

READY = "() => window.hardmaxApp?.controller && !window.hardmaxApp.frame && window.hardmaxLink"


def _inside(page):
    """The frame of a saved page, when its playground stands."""
    page.wait_for_selector("#hardmax-frame iframe")
    frame = page.query_selector("#hardmax-frame iframe").content_frame()
    frame.wait_for_function(READY)
    return frame


def _state(frame):
    return frame.evaluate(
        "() => { const { pts, ...s } = hardmaxApp.state; return { ...s, pts: { d: pts.d, coords: [...pts.coords] } }; }"
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    odd = np.random.default_rng(3).normal(size=(25, 2))  # numbers that no link could hold
    traj = hx.simulate(odd, alpha=0.7, A=[[2.0, 0.3], [0.3, 1.0]], layers=12)
    return traj, traj.save(folder / "x.html")


def test_a_saved_trajectory_opens_from_disk_with_the_same_numbers(open_page, saved):
    traj, path = saved
    page = open_page(url=path.as_uri(), ready=False)
    frame = _inside(page)
    state = _state(frame)
    assert state["pts"]["coords"] == traj.tokens[0].ravel().tolist()
    assert (state["alpha"], state["K"]) == (0.7, 12)
    assert state["A"] == {"kind": "rows", "rows": [[2.0, 0.3], [0.3, 1.0]]}
    frame.evaluate("() => hardmaxApp.set({ k: 12 })")
    frame.wait_for_function(READY)
    table = frame.evaluate("() => hardmaxApp.controller.exports().table()")
    shown = np.array([[row[table["columns"].index(c)] for c in ("x", "y")] for row in table["rows"]], dtype=float)
    assert np.allclose(shown, traj.tokens[12], rtol=1e-6, atol=1e-6)


def test_every_request_of_a_saved_page_stays_in_the_file(open_page, saved):
    asked = []
    page = open_page(ready=False, url="about:blank")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(saved[1].as_uri())
    _inside(page)
    assert [url for url in asked if not url.startswith(("blob:", "about:", "data:"))] == [saved[1].as_uri()]


def test_without_scripts_the_figure_and_the_tables_are_there(open_page, saved):
    page = open_page(url=saved[1].as_uri(), ready=False, java_script_enabled=False)
    assert page.locator("table tbody tr").count() == 25
    assert page.locator("figure svg").first.is_visible()
    assert page.locator("iframe").count() == 0


def test_a_script_that_was_added_to_a_saved_page_does_not_run(open_page, saved, tmp_path):
    text = saved[1].read_text().replace("</main>", "<script>document.title = 'owned'</script></main>")
    changed = tmp_path / "changed.html"
    changed.write_text(text)
    page = open_page(url=changed.as_uri(), ready=False)
    page.watch.forgiven.append("Content Security Policy")
    _inside(page)
    assert page.title() == "Hardmax attention, layer by layer"


@pytest.mark.slow
def test_a_saved_limit_is_accessible(open_page, violations, tmp_path):
    path = hx.limit(hx.preset("cube")).save(tmp_path / "x.html")
    page = open_page(url=path.as_uri(), ready=False)
    frame = _inside(page)
    assert _state(frame)["pts"]["d"] == 3
    assert violations(page) == []


@pytest.mark.slow
def test_pages_without_scripts_are_accessible_and_fit_the_screen(open_page, violations, tmp_path):
    results = (
        explain(two_classes(), "a great film, not dull, but the plot is zxqw"),
        hx.simulate(np.random.default_rng(1).normal(size=(3, 30, 2)), layers=3),
        hx.simulate(np.random.default_rng(2).normal(size=(30, 7)), layers=3),
    )
    page = open_page(url="about:blank", ready=False)
    for k, result in enumerate(results):
        page.goto(result.save(tmp_path / f"{k}.html").as_uri())
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 860})
            if width == 400 or k == 0:  # on a narrow page more can be wrong
                assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_screens_that_need_a_server_are_not_offered(open_page, saved):
    frame = _inside(open_page(url=saved[1].as_uri(), ready=False))
    header = frame.inner_text("header")
    assert "Dynamics" in header
    assert not any(title in header for title in ("Sentiment", "Exact", "Corpus", "Lessons"))


def test_softmax_opens_on_its_own_screen(open_page, tmp_path):
    path = hx.simulate(hx.preset("emerging"), layers=8, rule=hx.Softmax(4.0)).save(tmp_path / "x.html")
    state = _state(_inside(open_page(url=path.as_uri(), ready=False)))
    assert (state["view"], state["beta"]) == ("beta", 4.0)


def test_the_widget_sends_what_the_reader_does_and_follows_what_python_sets(open_page, tmp_path):
    traj = hx.simulate(hx.preset("square-ties"), layers=6)
    document = json.dumps(playground_document(trajectory_state(traj))).replace("<", "\\u003c")
    host = tmp_path / "host.html"
    host.write_text(f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>host</title></head><body>
<div id="cell"></div><script type="application/json" id="page">{document}</script>
<script type="module">
const values = {{ page: JSON.parse(document.getElementById("page").textContent), link: "", height: 700 }};
const listeners = {{}};
window.model = {{
  get: (name) => values[name],
  set: (name, value) => {{ values[name] = value; }},
  save_changes: () => {{ window.saved = (window.saved ?? 0) + 1; }},
  on: (name, call) => {{ listeners[name] = call; }},
  off: (name) => {{ delete listeners[name]; }},
  fromPython: (name, value) => {{ values[name] = value; listeners[`change:${{name}}`](); }},
  listeners,
}};
const source = {json.dumps(script("widget.js"))};
const {{ default: widget }} = await import(URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }})));
window.dispose = widget.render({{ model: window.model, el: document.getElementById("cell") }});
</script></body></html>""")
    page = open_page(url=host.as_uri(), ready=False)
    page.wait_for_selector("#cell iframe")
    frame = page.query_selector("#cell iframe").content_frame()
    frame.wait_for_function(READY)
    page.wait_for_function("() => window.saved > 0")
    assert "pts=" in page.evaluate("() => model.get('link')")
    frame.evaluate("() => hardmaxApp.set({ alpha: 2.5 })")
    page.wait_for_function("() => model.get('link').includes('alpha=2.5')")
    page.evaluate("() => model.fromPython('link', 'v=1&view=dyn&preset=ring&n=9&seed=3')")
    frame.wait_for_function("() => hardmaxApp.state.preset === 'ring' && hardmaxApp.state.n === 9")
    page.evaluate("() => dispose()")
    assert page.evaluate("() => Object.keys(model.listeners)") == []
