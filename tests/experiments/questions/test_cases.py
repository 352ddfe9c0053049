"""Exact cases: every stored one holds, a changed one is noticed, and the checker finds what is wrong."""

import json
from fractions import Fraction

import numpy as np
import pytest

import hardmax as hx
from hardmax.errors import BadInput
from hardmax.experiments.claims.definition import follow_sets
from hardmax.experiments.questions.cases import check, is_positive_definite, layer, load, stored
from hardmax.experiments.questions.cycles import at_alpha, wide_cycle

CYCLES = [name for name in stored() if load(name)[0].kind == "cycle"]


def saved(case, tmp_path, **changes):
    """A file of the case in which some entries were changed by hand."""
    path = tmp_path / "case.json"
    path.write_text(case.text())
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, **changes}))
    return path


@pytest.mark.parametrize("name", stored())
def test_every_stored_case_holds_and_its_file_is_as_written(name):
    case, changed = load(name)
    assert changed == []
    assert check(case) == []
    assert case["name"] == name


def test_the_cases_of_the_theory_are_stored():
    assert {"one-head-period-3", "two-heads-period-3", "one-head-period-2", "two-definite-heads-period-2"} <= set(
        stored()
    )


@pytest.mark.parametrize("name", CYCLES)
def test_the_exact_engine_and_a_float_run_see_the_same_period(name):
    case, _ = load(name)
    heads = [hx.Head([list(row) for row in A]) for A in case["heads"]]
    Z = [list(z) for z in case["tokens"]]
    exact = hx.simulate(Z, case["alpha"], heads=heads, layers=case["period"] + 1, exact=True, definite=False)
    assert (exact.outcome.kind, exact.outcome.period) == ("periodic", case["period"])
    if not case["ties"]:
        numbers = [hx.Head(np.array(A, dtype=float)) for A in case["heads"]]
        run = hx.simulate(np.array(Z, dtype=float), float(case["alpha"]), heads=numbers, layers=40, definite=False)
        assert (run.outcome.kind, run.outcome.period) == ("periodic", case["period"])


@pytest.mark.parametrize("name", [n for n in CYCLES if len(load(n)[0]["heads"]) == 1])
def test_the_moving_token_of_one_head_ties_in_every_layer(name):
    case, _ = load(name)
    tokens = case["tokens"]
    for _ in range(case["period"]):
        tokens, sets = layer(tokens, case["alpha"], case["heads"])
        assert all(len(sets[0][i]) > 1 for i in case["moving"])


@pytest.mark.parametrize("name", CYCLES)
def test_all_who_do_not_move_lead(name):
    case, _ = load(name)
    for A in case["heads"]:
        for i in range(len(case["tokens"])):
            if i not in case["moving"]:
                assert follow_sets(case["tokens"], A)[i] == (i,)


@pytest.mark.parametrize("alpha", [Fraction(1, 1000), Fraction(1, 7), Fraction(3), Fraction(1000)], ids=str)
def test_two_definite_heads_cycle_for_every_alpha(alpha):
    case = at_alpha(alpha)
    assert check(case) == []
    for A in case["heads"]:
        assert np.linalg.eigvalsh(np.array(A, dtype=float)).min() > 0


@pytest.mark.parametrize("alpha", [Fraction(1, 50), Fraction(1, 2), Fraction(2), Fraction(1000)], ids=str)
def test_the_wide_cycle_exists_for_every_alpha_and_stays_wide(alpha):
    case = wide_cycle(alpha)
    assert check(case) == []
    tokens, places = case["tokens"], []
    for _ in range(case["period"]):
        places.append(tokens[4])
        tokens, _ = layer(tokens, alpha, case["heads"])
    # the bound of the proof: opposite corners (X, Y) and (-X, -Y) with X^2 + Y^2 >= 1/5
    widest = max(sum((x - y) ** 2 for x, y in zip(places[0], other, strict=True)) for other in places)
    assert widest >= Fraction(2, 5)


@pytest.mark.parametrize("alpha", [Fraction(1, 100), Fraction(5, 3), Fraction(40)], ids=str)
def test_the_smallest_cycle_of_one_head_exists_for_every_alpha(alpha):
    case, _ = load("one-head-period-2")
    token = (alpha / (2 + alpha), Fraction(0), Fraction(0))
    assert check(case.changed(alpha=alpha, tokens=(*case["tokens"][:4], token))) == []


def test_the_collapse_goes_to_zero():
    case, _ = load("square-collapses-to-zero")
    run = hx.simulate(
        np.array(case["tokens"], dtype=float), 1.0, np.array(case["heads"][0], dtype=float), 80, definite=False
    )
    assert np.abs(run.tokens[-1]).max() < 1e-11
    shrink = np.linalg.norm(run.tokens[1], axis=1) / np.linalg.norm(run.tokens[0], axis=1)
    np.testing.assert_allclose(shrink, np.sqrt(0.5))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"alpha": "11/10"}, "is not layer 0"),
        ({"period": 4}, "layer 2 is layer 0 already"),
        ({"period": 3}, "layer 3 is not layer 0"),
        ({"moving": [2]}, "the tokens that move are [3], not [2]"),
        ({"ties": True}, "there are no ties"),
        ({"heads": [[["4", "3", "3"], ["3", "5", "0"], ["3", "1", "5"]]] * 2}, "not symmetric"),
        ({"heads": [[["1", "3", "3"], ["3", "5", "0"], ["3", "0", "5"]]] * 2}, "not positive definite"),
        ({"statement": "something else"}, "checksum"),
    ],
    ids=str,
)
def test_a_changed_case_is_noticed(change, says, tmp_path):
    case, _ = load("two-definite-heads-period-2")
    read, changed = load(saved(case, tmp_path, **change))
    wrong = [*changed, *check(read)]
    assert any(says in text for text in wrong), wrong
    assert changed  # the checksum alone would have told


def test_any_single_changed_number_is_noticed(tmp_path):
    case, _ = load("one-head-period-2")
    document = case.document()
    for i in range(5):
        for k in range(3):
            tokens = [list(row) for row in document["tokens"]]
            tokens[i][k] = str(Fraction(tokens[i][k]) + Fraction(1, 97))
            read, changed = load(saved(case, tmp_path, tokens=tokens))
            assert changed
            assert check(read), (i, k)  # here the mathematics tells as well: ties are destroyed by any change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tokens": [["1", "0"], ["1"]]}, "different length"),
        ({"tokens": [["1e999999999", "0", "0"]]}, "not a fraction"),
        ({"tokens": [["1", "0", "0"]] * 65}, "65 tokens in dimension 3; at most 64"),
        ({"heads": []}, "1 to 16 square matrices"),
        ({"heads": [[["1", "0"]]]}, "expected a square matrix"),
        ({"tokens": 7}, "damaged"),
        ({"heads": [[["1"]]]}, "tokens of dimension 3, but a head of dimension 1"),
        ({"period": 10**9}, "from 1 to 400"),
        ({"moving": [9]}, "moving is"),
        ({"alpha": "-1"}, "above 0, got -1"),
        ({"alpha": "1/0"}, "not a fraction"),
        ({"kind": "miracle"}, "unknown kind 'miracle'"),
        ({"schema": "hardmax.open-case/9"}, "newer"),
    ],
    ids=str,
)
def test_a_damaged_file_is_bad_input(change, says, tmp_path):
    case, _ = load("two-definite-heads-period-2")
    with pytest.raises(BadInput, match=says):
        load(saved(case, tmp_path, **change))


def test_a_file_without_entries_is_bad_input(tmp_path):
    (tmp_path / "a.json").write_text('{"schema": "hardmax.open-case/1"}')
    with pytest.raises(BadInput, match="damaged: the case has the unknown kind"):
        load(tmp_path / "a.json")


def test_texts_of_a_file_cannot_steer_the_terminal(tmp_path):
    case, _ = load("one-head-period-2")
    read, _ = load(saved(case, tmp_path, statement="\x1b[2Jgone\n" + "x" * 5000))
    assert read["statement"].startswith(" [2Jgone x")
    assert len(read["statement"]) == 2000


def test_an_unknown_case_is_named():
    with pytest.raises(BadInput, match="no stored case 'perpetuum'"):
        load("perpetuum")


def test_a_collapse_that_is_none_is_noticed():
    case, _ = load("square-collapses-to-zero")
    lopsided = case.changed(
        tokens=(
            (Fraction(1), Fraction(1)),
            (Fraction(-1), Fraction(1)),
            (Fraction(-1), Fraction(-1)),
            (Fraction(1), Fraction(-2)),
        ),
    )
    assert check(lopsided)
    identity = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
    assert any("is not the image" in text for text in check(case.changed(heads=(identity,))))
    assert any("do not shrink" in text for text in check(case.changed(map=identity)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"moving": (7,)}, "the tokens that move are [8], not [7]"),
        ({"order": (0, 1, 2, 3, 4, 5, 6, 7, 8)}, "is not the image"),
        ({"order": (0, 0, 2, 3, 4, 5, 6, 7, 8)}, "does not rename"),
        ({"direction": (Fraction(1), Fraction(0), Fraction(1))}, "the direction is not fixed"),
        ({"alpha": Fraction(2)}, "is not the image"),
        ({"period": 1}, "is not the image"),
    ],
    ids=str,
)
def test_a_changed_alternation_is_noticed(change, says):
    case, _ = load("one-head-no-ties-never-converges")
    assert any(says in text for text in check(case.changed(**change)))


def test_without_ties_one_head_need_not_converge():
    case, _ = load("one-head-no-ties-never-converges")
    tokens, heights = case["tokens"], []
    for _ in range(200):
        tokens, sets = layer(tokens, case["alpha"], case["heads"])
        assert all(len(C) == 1 for C in sets[0])
        heights.append(tokens[8][2])
    assert heights == [Fraction(1, 3), Fraction(-1, 3)] * 100
    floats = [np.array(part, dtype=float) for part in (case["tokens"], case["heads"][0])]
    run = hx.simulate(floats[0], 1.0, floats[1], layers=200, definite=False)
    assert run.outcome.kind == "undecided"
    assert "exact=True" in run.outcome.detail


def test_a_cloud_that_is_not_decided_is_noticed():
    case, _ = load("leaders-are-followed")
    tokens = (*case["tokens"][:2], (Fraction(1, 2), Fraction(1, 2)))  # follows both leaders
    assert check(case.changed(tokens=tokens, ties=True)) == ["token 2 does not follow one leader"]
    assert any("there are ties" in text for text in check(case.changed(tokens=tokens)))
    chain = ((Fraction(4), Fraction(0)), (Fraction(3), Fraction(1)), (Fraction(1, 10), Fraction(1, 2)))
    assert any("does not follow one leader" in text for text in check(case.changed(tokens=chain)))


def test_one_layer_is_the_definition_by_hand():
    one = Fraction(1)
    after, sets = layer(((one,), (-one,), (one / 2,)), Fraction(1, 2), (((one,),),))
    assert after == ((one,), (-one,), (Fraction(2, 3),))
    assert sets == [((0,), (1,), (0,))]


def test_definiteness_agrees_with_eigenvalues():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        A = rng.integers(-3, 4, (3, 3)) + 2 * np.eye(3, dtype=int)
        exact = tuple(tuple(Fraction(int(x)) for x in row) for row in A)
        least = np.linalg.eigvalsh((A + A.T) / 2).min()
        if abs(least) > 1e-9:
            assert is_positive_definite(exact) == (least > 0)
            seen.add(bool(least > 0))
    assert seen == {True, False}
