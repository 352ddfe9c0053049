"""The research note: its tables are those of the stored run, and its numbers come out of the package."""

import json
import re
import sys
from fractions import Fraction
from math import log
from pathlib import Path

import pytest

import hardmax as hx
from hardmax.experiments.questions import spiral
from hardmax.experiments.questions.cases import check, load
from hardmax.experiments.questions.cycles import wide_cycle

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import paper  # noqa: E402
from formulas import mathml  # noqa: E402

TEXT = paper.NOTE.read_text(encoding="utf-8")
RECORD = json.loads((paper.STORED / "laws.json").read_text(encoding="utf-8"))


def rows(name):
    (table,) = (table for table in RECORD["tables"] if table["name"] == name)
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_the_tables_of_all_pages_are_those_of_the_stored_runs():
    assert paper.NOTE in paper.pages()
    for path in paper.pages():
        text = path.read_text(encoding="utf-8")
        assert paper.filled(text) == text
    runs = [run for run, _ in paper.BLOCK.findall(TEXT)]
    assert runs.count("laws") == 5
    assert {"oscillation", "languages"} < set(runs)
    stored = {path.stem for path in paper.STORED.glob("*.json")}
    texts = "".join(path.read_text(encoding="utf-8") for path in [*paper.STORED.glob("*.md"), paper.NOTE])
    assert {run for run, _ in paper.BLOCK.findall(texts)} == stored


def test_stored_runs_are_full_runs():
    for path in paper.STORED.glob("*.json"):
        settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
        assert not settings["quick"]
        assert settings["seed"] == 0


def test_the_law_holds_in_almost_every_cell_of_the_stored_run():
    residuals = [row["residual"] for row in rows("leaders")]
    assert len(residuals) >= 30
    assert sum(abs(x) <= 3 for x in residuals) >= len(residuals) - 1


def test_the_stored_laws_are_those_of_the_package():
    for row in rows("leaders")[::6]:
        assert row["law"] == pytest.approx(hx.theory.expected_leaders(row["n"], row["d"]), rel=1e-9)
        assert row["its law"] == pytest.approx(hx.theory.leader_variance(row["n"], row["d"]), rel=1e-6)


def test_the_numbers_in_the_text_are_those_of_the_package():
    text = " ".join(TEXT.split())
    assert f"`expected_leaders(50, 2)` is {hx.theory.expected_leaders(50, 2):.3f}" in text
    assert f"`leader_variance(50, 2)` is {hx.theory.leader_variance(50, 2):.3f}" in text
    case, _ = load("one-head-no-ties-never-converges")
    Z, A = ([[float(x) for x in row] for row in part] for part in (case["tokens"], case["heads"][0]))
    outcome = hx.simulate(Z, 1.0, A, layers=200, definite=False).outcome
    assert f"at layer {outcome.layer}, after thousands of comparisons" in text
    M2 = 1 / spiral.dot(spiral.BACK, spiral.BACK)
    assert Fraction(39, 49) == M2
    assert Fraction(5, 7) == spiral.RHO
    assert rf"\ln(|M|^2/\rho) = {-log(M2) / log(M2 / spiral.RHO):.1f}$ times" in text
    for (a, b), (c, d) in spiral.GROUPS:
        assert f"$({a}, {b})$, $({c}, {d})$" in text
    times = {row["alpha"]: row["time"]["mean"] for row in rows("times")}
    page = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")
    for alpha, words in (
        (0.01, "{:.2f} for alpha = 0.01"),
        (0.5, "{:.2f} on\naverage for 100 Gaussian tokens in the plane and alpha = 1/2"),
        (4.0, "({:.1f} for alpha = 4)"),
    ):
        assert words.format(times[alpha]) in page


def test_the_matrices_of_the_wide_cycle_are_printed_as_stored():
    case = wide_cycle(Fraction(1))
    printed = [
        [tuple(int(x) for x in row.split("&")) for row in body.split(r"\\")]
        for body in re.findall(r"\\begin\{pmatrix\}(.*?)\\end\{pmatrix\}", TEXT)
        if body.count("&") == 12
    ]
    assert printed == [[tuple(map(int, row)) for row in head] for head in case["heads"]]
    assert check(case) == []


def test_inner_products_and_formulas_survive_the_way_to_html():
    page = paper.html("Text <A l, l - x> > 0, `<A l, x>` and $\\rho^m$.\n\n    <z, y>\n").split("</style>")[1]
    assert "⟨A l, l - x⟩" in page
    assert "⟨z, y⟩" in page
    assert page.count("&lt;") == 1
    assert "<msup><mi>&#x003C1;</mi><mi>m</mi></msup>" in page
    page = paper.html(r"$(-1, |x|) = \begin{pmatrix} 1 & -2 \end{pmatrix}$")
    assert page.count('<mo form="prefix">&#x02212;</mo>') == 1
    assert page.count('lspace="0" rspace="0">&#x0007C;') == 2
    assert "border-radius" in page.split("<mtable")[1]


def test_no_formula_of_the_note_is_left_in_plain_letters():
    for path in (paper.NOTE, ROOT / "docs" / "open-questions.md"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"(?s)<!--.*?<!-- end -->|`[^`]*`|\$\$?[^$]+\$\$?|^\|[^\n]*", "", text, flags=re.M)
        assert not re.findall(r"\b(?:alpha|beta|rho|gamma|sqrt|Phi)\b|<=|>=|->|\w\^[\w{(]", text), path.name


def test_indices_of_letters_in_prose_are_drawn_and_names_in_code_stay():
    page = paper.html("The edge [v_i, v_{i+1}] and 2E^2, but `v_i` and n_jobs.\n").split("</style>")[1]
    assert page.count("<msub>") == 2
    assert page.count("<msup>") == 1
    assert "<code>v_i</code>" in page
    assert "n_jobs" in page


def test_the_index_of_a_sum_is_below_it_in_a_formula_of_its_own():
    latex = r"\sum_{j \in C} z_j = \max_l x_l"
    assert mathml(latex, block=True).count("<munder>") == 2
    assert "<munder>" not in mathml(latex)
