"""What the article says is true: every number and every claim, computed with the package."""

import itertools
import json
import re

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import hardmax as hx
from page_modules import LESSONS, run_node

MINUS = "\u2212"
SCRIPT = """
const { namedTokens, REVIEWS, SECTIONS, WORD_MODEL } = await import(process.argv[1]);
const plain = (key, value) => (value instanceof Float64Array ? [...value] : value instanceof Set ? [...value] : value);
const known = ["label", "logit", "awful", "brilliant", "without", "withoutLabel"];
const facts = Object.fromEntries(known.map((f) => [f, `<${f}>`]));
for (const one of SECTIONS) {
  one.named = namedTokens(one);
  if (typeof one.answer.text === "function") one.answer.text = one.answer.text(facts);
}
process.stdout.write(JSON.stringify({ sections: SECTIONS, reviews: REVIEWS, model: WORD_MODEL }, plain));
"""


@pytest.fixture(scope="module")
def page():
    return run_node(SCRIPT, "screens/article_sections.js")


@pytest.fixture(scope="module")
def sections(page):
    return page["sections"]


def paragraphs(section):
    steps = [text for step in section["steps"] for text in step["text"]]
    return [*steps, section["ask"]["text"], *section["answer"]["text"], section["sentence"]]


def words(section):
    """What a section says, with its tokens by name."""
    return re.sub(r"\{(T?)(\d+)\}", r"token \2", " ".join(paragraphs(section)).replace("*", ""))


def cloud(section):
    settings = section["figure"]
    if settings["preset"] == "random":
        return hx.preset("random", n=settings["n"], dim=settings["d"], seed=settings["seed"])
    return hx.preset(settings["preset"])


def end(section, Z=None, alpha=None):
    """Where the token of the question ends."""
    chosen = alpha or section["ask"]["reveal"].get("alpha", section["figure"]["alpha"])
    return hx.limit(cloud(section) if Z is None else Z, alpha=chosen).points[section["ask"]["token"]]


def test_every_section_has_prose_a_question_an_answer_and_one_sentence_of_mathematics(sections):
    assert [one["title"] for one in sections] == LESSONS
    for one in sections:
        assert one["ask"]["text"].endswith("?")
        assert one["answer"]["text"]
        assert len(one["answer"]["tries"]) >= 2
        assert one["sentence"].endswith(".")
        assert one["sentence"].count(". ") == 0, one["sentence"]
        assert all(text.strip() for text in paragraphs(one))


def test_every_token_that_is_named_exists_and_is_named_by_its_number_only(sections):
    for one in sections:
        if one.get("words"):
            assert one["named"] == []
            continue
        assert set(one["named"]) <= set(range(len(cloud(one))))
        assert one["ask"]["token"] in one["named"]
        text = " ".join(paragraphs(one))
        assert not re.search(r"[Tt]oken \d", text), "write {3}, so that the figure numbers it"


def test_section_1_three_of_twelve_tokens_lead_and_token_11_decides_by_a_hair(sections):
    one = sections[0]
    Z = cloud(one)
    traj = hx.simulate(Z, alpha=0.5, layers=20)
    assert len(Z) == 12
    assert "twelve tokens" in words(one)
    assert traj.leader_since == {0: 0, 1: 0, 2: 0}
    assert (traj.tokens[-1][:3] == Z[:3]).all()
    assert traj.follows(0)[3] == (1,)
    assert "token 1 has the largest, 0.635" in words(one)
    assert Z[3] @ Z[1] == pytest.approx(0.635)
    assert np.allclose(traj.tokens[1][3] - Z[3], (Z[1] - Z[3]) / 3)
    assert (Z[11] @ Z[2], Z[11] @ Z[1]) == pytest.approx((0.27, 0.265))
    assert "score of 0.27 beats the 0.265" in words(one)
    assert (end(one) == Z[2]).all()
    leads = [traj.tokens[k][11] @ (Z[2] - Z[1]) for k in range(21)]
    assert all(later > earlier for earlier, later in itertools.pairwise(leads[:15]))


def test_section_2_eight_corners_five_leaders_and_the_areas(sections):
    one = sections[1]
    Z = cloud(one)
    traj = hx.simulate(Z, alpha=0.5, layers=20)
    corners = set(ConvexHull(Z).vertices.tolist())
    leaders = set(hx.limit(Z, alpha=0.5).leaders.tolist())
    assert (len(Z), len(corners), len(leaders)) == (30, 8, 5)
    assert corners - leaders == {4, 16, 19}
    areas = [ConvexHull(traj.tokens[k]).volume for k in range(21)]
    assert f"from {areas[0]:.2f} to {areas[5]:.2f}" in words(one)
    assert f"After twenty layers the area is {areas[20]:.2f}" in words(one)
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(areas))
    assert f"token 20 reaches {Z[4] @ Z[20]:.2f} and token 4 itself only {Z[4] @ Z[4]:.2f}" in words(one)
    assert (end(one) == Z[20]).all()


def test_section_3_token_1_emerges_after_one_layer(sections):
    one = sections[2]
    Z = hx.preset("emerging", exact=True)
    traj = hx.simulate(Z, alpha="1/2", layers=1, exact=True)
    assert [traj.follows(0)[i] for i in (0, 1, 2, 3)] == [(0,), (3,), (2,), (0,)]
    assert traj.follows(1)[1] == (1,)
    spoken = {(str(x), str(y)) for x, y in (traj.tokens[0][1], traj.tokens[0][3], traj.tokens[1][3], traj.tokens[1][1])}
    assert spoken == {("-1/12", "1/12"), ("0", "1/4"), ("1/3", "5/18"), ("-1/18", "5/36")}
    for x, y in spoken:
        assert f"({x}, {y})".replace("-", MINUS) in words(one)
    assert hx.limit(cloud(one), alpha=0.5).leaders.tolist() == [0, 1, 2]
    assert 1 not in ConvexHull(cloud(one)).vertices
    assert hx.simulate(cloud(one), alpha=0.5, layers=20).leader_since == {0: 0, 1: 1, 2: 0}
    assert end(one) == pytest.approx((-1 / 18, 5 / 36))


def test_section_4_a_tie_ends_on_the_edge_and_a_nudge_at_the_corner(sections):
    one = sections[3]
    Z = cloud(one)
    assert Z[4].tolist() == [0.5, 0.0]
    assert Z[4] @ Z[0] == Z[4] @ Z[3] == 0.5
    eq = hx.limit(Z, alpha=0.5)
    assert end(one).tolist() == [1.0, 0.0]
    assert eq.kind[eq.cluster[4]] == "face"
    assert eq.leaders.tolist() == [0, 1, 2, 3]
    nudged = next(patch["pts"] for text, patch in one["answer"]["tries"] if text.startswith("Lifted"))
    moved = np.array(nudged["coords"]).reshape(-1, 2)
    assert moved[4].tolist() == [0.5, 0.01]
    assert np.delete(moved, 4, 0).tolist() == np.delete(Z, 4, 0).tolist()
    assert end(one, moved).tolist() == Z[0].tolist()


def test_section_5_alpha_changes_who_leads(sections):
    one = sections[4]
    Z = cloud(one)
    tried = {patch["alpha"]: len(hx.limit(Z, alpha=patch["alpha"]).leaders) for _, patch in one["answer"]["tries"]}
    assert tried == {0.1: 2, 0.5: 3, 2: 2}
    assert (2 / 3) ** 10 < 0.02
    for alpha in (0.1, 2):
        assert hx.simulate(Z, alpha=alpha, layers=1).follows(1)[1] == (3,)
        assert (end(one, alpha=alpha) == Z[0]).all()


def test_section_6_the_review_turns_when_awful_is_dropped(page, sections):
    ex = hx.load(page["model"]).explain(page["reviews"]["whole"])
    without = ex.without("awful")
    assert without.text == page["reviews"]["without"]
    assert (ex.label, without.label) == ("negative", "positive")
    leaders = {leader.word: leader for leader in ex.leaders}
    assert {"awful", "brilliant", "the"} <= set(leaders)
    assert max(leaders, key=lambda word: len(leaders[word].followers)) == "the"
    assert json.dumps(sections[5]["answer"]["text"]).count("<") == 6


def test_section_7_three_clusters_with_beta_9_and_metastable_ones_with_beta_4(sections):
    one = sections[6]
    Z = cloud(one)
    size = np.hypot(*np.ptp(Z, axis=0))

    def clusters(tokens):
        """Groups of tokens that are nearer than 2 % of the cloud's size to each other."""
        found = []
        for z in tokens:
            if all(np.hypot(*(z - other)) > 0.02 * size for other in found):
                found.append(z)
        return found

    sharp = hx.simulate(Z, alpha=0.5, layers=300, rule=hx.Softmax(beta=9)).tokens
    assert len(clusters(sharp[20])) == len(clusters(sharp[300])) == 3
    assert all(0 < np.hypot(*(sharp[20][i] - Z[i])) < 0.2 for i in range(3))
    soft = hx.simulate(Z, alpha=0.5, layers=300, rule=hx.Softmax(beta=4)).tokens
    assert [len(clusters(soft[k])) for k in (40, 60, 100, 150, 300)] == [2, 2, 2, 2, 1]
    x, y = soft[one["ask"]["reveal"]["k"]][2]
    assert f"({x:.2f}, {y:.2f})".replace("-", MINUS) in words(one)
    assert np.allclose(soft[60][2], soft[60][1], atol=1e-3)
