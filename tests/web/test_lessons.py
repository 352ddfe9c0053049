"""What the lessons say is true: every number and every claim, computed with the package."""

import itertools
import re

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import hardmax as hx
from page_modules import LESSONS, run_node

MINUS = "\u2212"
SCRIPT = """
const { CARDS } = await import(process.argv[1]);
const { EXAMPLES } = await import(process.argv[2]);
const plain = (key, value) => (value instanceof Float64Array ? [...value] : value);
process.stdout.write(JSON.stringify({ cards: CARDS, examples: EXAMPLES }, plain));
"""


@pytest.fixture(scope="module")
def page():
    return run_node(SCRIPT, "screens/lessons.js", "js/examples.js")


@pytest.fixture(scope="module")
def cards(page):
    return page["cards"]


def words(card):
    return " ".join([*card["text"], card["ask"], *card["reveal"]])


def cloud(state):
    if state["preset"] == "random":
        return hx.preset("random", n=state["n"], dim=state["d"], seed=state["seed"])
    return hx.preset(state["preset"])


def test_there_are_six_lessons_in_the_order_of_the_design(cards):
    assert [card["title"] for card in cards] == LESSONS
    for card in cards:
        assert any(sentence.endswith("?") for sentence in re.split(r"(?<=[.?]) ", card["ask"])), card["ask"]
        assert card["ask"].endswith(("?", "."))
        assert all(text.strip() for text in card["reveal"])
        assert card["reveal"]
        assert len(card["tries"]) >= 2
        assert all(text and patch for text, patch in card["tries"])


def test_lesson_1_three_of_twelve_tokens_lead_from_the_start_and_stay(cards):
    state = cards[0]["state"]
    Z = cloud(state)
    traj = hx.simulate(Z, alpha=state["alpha"], layers=state["K"])
    assert len(Z) == 12
    assert "Three of the twelve" in words(cards[0])
    assert traj.leader_since == {0: 0, 1: 0, 2: 0}
    assert (traj.tokens[-1][:3] == Z[:3]).all()


def test_lesson_2_eight_corners_five_leaders_and_the_areas(cards):
    state = cards[1]["state"]
    Z = cloud(state)
    traj = hx.simulate(Z, alpha=state["alpha"], layers=20)
    corners = set(ConvexHull(Z).vertices.tolist())
    leaders = set(hx.limit(Z, alpha=state["alpha"]).leaders.tolist())
    assert (len(Z), len(corners), len(leaders)) == (30, 8, 5)
    assert leaders < corners
    said = words(cards[1])
    assert "30 tokens has 8 corners" in said
    assert "Five: exactly the leaders" in said
    areas = [ConvexHull(traj.tokens[k]).volume for k in range(21)]
    assert f"from {areas[0]:.2f} to {areas[20]:.2f} in twenty layers" in said
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(areas))


def test_lesson_3_token_1_emerges_after_one_layer(cards):
    state = cards[2]["state"]
    Z = hx.preset("emerging", exact=True)
    traj = hx.simulate(Z, alpha="1/2", layers=1, exact=True)
    assert [traj.follows(0)[i] for i in (0, 1, 2, 3)] == [(0,), (3,), (2,), (0,)]
    assert traj.follows(1)[1] == (1,)
    spoken = {(str(x), str(y)) for x, y in (traj.tokens[0][1], traj.tokens[0][3], traj.tokens[1][3], traj.tokens[1][1])}
    assert spoken == {("-1/12", "1/12"), ("0", "1/4"), ("1/3", "5/18"), ("-1/18", "5/36")}
    for x, y in spoken:
        assert f"({x}, {y})".replace("-", MINUS) in words(cards[2])
    eq = hx.limit(cloud(state), alpha=state["alpha"])
    assert eq.leaders.tolist() == [0, 1, 2]
    assert 1 not in ConvexHull(cloud(state)).vertices
    assert hx.simulate(cloud(state), alpha=0.5, layers=20).leader_since == {0: 0, 1: 1, 2: 0}


def test_lesson_4_a_tie_ends_on_the_edge_and_a_nudge_at_the_corner(cards):
    state = cards[3]["state"]
    Z = cloud(state)
    assert Z[4].tolist() == [0.5, 0.0]
    assert Z[4] @ Z[0] == Z[4] @ Z[3] == 0.5
    eq = hx.limit(Z, alpha=state["alpha"])
    assert eq.points[4].tolist() == [1.0, 0.0]
    assert eq.kind[eq.cluster[4]] == "face"
    assert 4 not in eq.leaders
    nudged = next(patch["pts"] for text, patch in cards[3]["tries"] if text.startswith("Nudge"))
    moved = np.array(nudged["coords"]).reshape(-1, 2)
    assert moved[4].tolist() == [0.5, 0.01]
    assert np.delete(moved, 4, 0).tolist() == np.delete(Z, 4, 0).tolist()
    assert hx.limit(moved, alpha=state["alpha"]).points[4].tolist() == [1.0, 1.0]


def test_lesson_5_alpha_changes_who_leads(cards):
    Z = cloud(cards[4]["state"])
    tried = {patch["alpha"]: len(hx.limit(Z, alpha=patch["alpha"]).leaders) for _, patch in cards[4]["tries"]}
    assert tried == {0.1: 2, 0.5: 3, 2: 2}
    assert 0.01 < (2 / 3) ** 10 < 0.02
    slow, fast = hx.simulate(Z, alpha=0.1, layers=1), hx.simulate(Z, alpha=2, layers=1)
    assert slow.follows(1)[1] == (3,)
    assert fast.follows(1)[1] == (3,)


def test_lesson_6_the_sums_of_the_verdict(page, cards):
    state = cards[5]["state"]
    ex = hx.load(state["model"]).explain(page["examples"][state["ex"]]["text"])
    part = {leader.word: leader for leader in ex.leaders}
    said = words(cards[5])

    def spoken(x):
        return f"{x:+.3f}".replace("-", MINUS)

    assert ex.label == "negative"
    assert f"logit of {spoken(ex.logit)}" in said
    bad = sum(part[w].contribution for w in ("is awful", "awful and", "awful"))
    good = sum(part[w].contribution for w in ("brilliant", "is brilliant"))
    assert f"alone bring {spoken(bad)}" in said
    assert f"bring {spoken(good)}" in said
    assert len(part["the"].followers) == 13
    assert "thirteen others" in said
    without = ex.without("awful")
    assert without.label == "positive"
    assert f"the logit is {spoken(without.logit)}" in said
    assert without.text == next(patch["text2"] for text, patch in cards[5]["tries"] if "awful" in text)
