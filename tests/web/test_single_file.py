"""Pages that are one file: what is in them, and when the playground is."""

import numpy as np
import pytest

import hardmax as hx
from hardmax.errors import MissingExtra
from hardmax.html.page import script
from hardmax.web.bundle import page_script
from hardmax.web.single_file import (
    digest,
    equilibrium_state,
    playground_document,
    policy,
    trajectory_state,
)
from html_reader import HOSTILE, SHOWN, Html, assert_alone


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = hx.simulate(hx.preset("emerging"), layers=9).save(tmp_path_factory.mktemp("page") / "x.html")
    return path.read_text()


def test_the_document_asks_nothing_of_the_network():
    document = playground_document({"preset": "square"})
    rule = assert_alone(document, scripts=True).policy()
    assert rule == policy(page_script())
    assert "default-src 'none'" in rule
    assert digest(page_script()) in rule
    assert "http" not in rule
    assert "unsafe-eval" not in rule


def test_a_digest_is_that_of_the_text_between_the_tags(saved):
    import hashlib
    from base64 import b64encode

    for text in (script("frame.js"), page_script()):
        expected = b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"sha256-{expected}" in saved
    assert f"<script>{script('frame.js')}</script>" in saved


def test_the_page_holds_the_tokens_as_they_are(saved):
    inner = Html(Html(saved).json("hardmax-playground"))
    state = inner.json("hardmax-state")
    assert state["cloud"] == {"d": 2, "coords": hx.preset("emerging").ravel().tolist()}
    assert (state["alpha"], state["K"], state["view"], state["A"]) == (0.5, 9, "dyn", {"kind": "I"})
    assert inner.json("hardmax-start")["server"] is False


def test_the_figure_and_the_tables_are_there_without_a_script(saved):
    assert saved.count("<table>") == 1
    assert saved.count("<tr>") == 9
    assert 'role="img"' in saved
    assert "leader since" in saved


def test_the_same_result_gives_the_same_bytes(saved, tmp_path):
    again = hx.simulate(hx.preset("emerging"), layers=9).save(tmp_path / "y.html")
    assert again.read_text() == saved


def test_no_text_can_end_the_element_it_stands_in():
    page = Html(playground_document({"preset": HOSTILE}, title=HOSTILE))
    assert page.json("hardmax-state") == {"preset": HOSTILE}
    assert page.blocks["title"] == SHOWN
    assert [tag for tag, _ in page.elements].count("script") == 4


@pytest.mark.parametrize(
    ("options", "view"),
    [
        ({}, "dyn"),
        ({"A": [[2.0, 0.5], [0.5, 1.0]]}, "dyn"),
        ({"rule": hx.Softmax(4.0)}, "beta"),
        ({"exact": True}, "dyn"),
        ({"rule": hx.Localmax(0.1)}, None),
        ({"rule": hx.Hardmax(tie_tolerance=0.1)}, None),
        ({"normalization": "sphere"}, None),
        ({"causal": True}, None),
        ({"V": [[0.5, 0.0], [0.0, 2.0]]}, None),
        ({"heads": [np.eye(2), np.diag([1.0, 3.0])]}, None),
        ({"layers": 501}, None),
        ({"alpha": 1e-4}, None),
    ],
)
def test_the_playground_is_offered_only_where_it_gives_the_same_numbers(options, view):
    traj = hx.simulate(hx.preset("emerging"), **{"layers": 6, **options})
    state = trajectory_state(traj)
    assert (None if state is None else state["view"]) == view


@pytest.mark.parametrize(
    ("tokens", "shown"), [([[1.0], [2.0]], False), ([[1.0, 2.0, 3.0, 4.0]], False), (np.eye(3), True)]
)
def test_only_two_and_three_dimensions_are_drawn(tokens, shown):
    assert (trajectory_state(hx.simulate(tokens)) is not None) == shown
    assert (equilibrium_state(hx.limit(tokens)) is not None) == shown


def test_what_the_playground_does_not_know_is_a_page_without_scripts(tmp_path):
    page = hx.simulate(hx.preset("emerging"), layers=3, causal=True).save(tmp_path / "x.html").read_text()
    assert "<script" not in page
    assert "script-src" not in page
    assert "default-src &#39;none&#39;" in page
    assert page.count("<tr>") == 9


def test_a_limit_carries_the_playground_too(tmp_path):
    eq = hx.limit(hx.preset("cube"), alpha=2)
    state = Html(Html(eq.save(tmp_path / "x.html").read_text()).json("hardmax-playground")).json("hardmax-state")
    assert state["cloud"]["d"] == 3
    assert state["alpha"] == 2
    assert state["cloud"]["coords"] == eq.tokens.ravel().tolist()
    assert equilibrium_state(hx.limit(hx.preset("cube"), tie_tolerance=0.01)) is None


@pytest.mark.parametrize("result", [hx.simulate(hx.preset("square"), layers=2), hx.limit(hx.preset("square"))])
def test_a_title_is_escaped_on_the_page_and_in_the_playground(result, tmp_path):
    page = Html(result.save(tmp_path / "x.html", title=HOSTILE).read_text(encoding="utf-8"))
    assert page.blocks["h1"] == page.blocks["title"] == SHOWN
    assert Html(page.json("hardmax-playground")).blocks["title"] == SHOWN
    assert [tag for tag, _ in page.elements].count("script") == 2


def test_a_widget_shows_the_page_and_follows_the_link():
    traj = hx.simulate(hx.preset("square-ties"), layers=7)
    made = traj.widget(height=500)
    assert made.height == 500
    assert made.page == playground_document(trajectory_state(traj))
    assert np.array_equal(made.tokens, traj.tokens[0])
    made.link = "v=1&view=dyn&preset=ring&n=5"
    assert np.array_equal(made.tokens, hx.preset("ring", n=5, seed=7))
    data, _ = made._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    (frame,) = [a for t, a in Html(data["text/html"]).elements if t == "iframe"]
    assert frame["srcdoc"] == made.page
    made.close()


def test_what_a_widget_cannot_show_is_refused():
    with pytest.raises(hx.BadInput, match="not ndarray"):
        hx.widget(np.eye(2))
    with pytest.raises(hx.BadInput, match="Trajectory of 1 token in dimension 4"):
        hx.simulate([[1.0, 2, 3, 4]]).widget()


def test_without_anywidget_the_pip_line_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingExtra, match=r'pip install "hardmax\[jupyter\]"'):
        hx.limit(hx.preset("square")).widget()
