"""Cases come back from JSON to the last digit, and files from anywhere are distrusted."""

import json
from fractions import Fraction

import pytest

from hardmax.errors import BadInput
from hardmax.experiments.claims.case import MOST_NUMBERS, read_case, shown
from hardmax.experiments.claims.registry import MODULES, claim

CLOUD = ("tokens", "alpha", "A", "layers")
GOOD = {"kind": "random-exact", "tokens": [["1/3", 1], [0.5, "2"]], "alpha": "1/2", "A": None, "layers": 3}


@pytest.mark.parametrize("name", MODULES)
def test_every_case_comes_back_from_its_file(name):
    what = claim(name)
    for trial in range(2 * len(what.kinds)):
        case = what.case(7, trial)
        text = json.dumps(case.document())
        assert read_case(json.loads(text), what.kinds, what.fields) == case


def test_exact_kinds_hold_fractions_and_float_kinds_floats():
    case = read_case(GOOD, ["random-exact"], CLOUD)
    assert case.exact
    assert case["tokens"] == ((Fraction(1, 3), 1), (Fraction(1, 2), 2))
    assert all(isinstance(x, Fraction) for z in case["tokens"] for x in z)
    rounded = read_case({**GOOD, "kind": "random-float"}, ["random-float"], CLOUD)
    assert not rounded.exact
    assert rounded["tokens"] == ((1 / 3, 1.0), (0.5, 2.0))


BAD = {
    "no object": [1, 2],
    "an unknown kind": {**GOOD, "kind": "wild"},
    "a missing field": {k: v for k, v in GOOD.items() if k != "alpha"},
    "ragged tokens": {**GOOD, "tokens": [[1, 2], [3]]},
    "no tokens": {**GOOD, "tokens": []},
    "empty tokens": {**GOOD, "tokens": [[]]},
    "text as a number": {**GOOD, "tokens": [["one"]]},
    "a huge exponent": {**GOOD, "alpha": "1e999999999"},
    "a division by zero": {**GOOD, "alpha": "1/0"},
    "a truth value": {**GOOD, "tokens": [[True]]},
    "an infinity": {**GOOD, "tokens": [[float("inf")]]},
    "a negative step": {**GOOD, "alpha": "-1/2"},
    "a matrix that is not square": {**GOOD, "A": [[1, 2]]},
    "a matrix of another dimension": {**GOOD, "A": [[1]]},
    "too many layers": {**GOOD, "layers": 10**9},
    "half a layer": {**GOOD, "layers": 0.5},
    "too many numbers": {**GOOD, "tokens": [[1] * (MOST_NUMBERS + 1)]},
    "too deep": {**GOOD, "tokens": [[[[[[[[1]]]]]]]]},
}


@pytest.mark.parametrize("document", BAD.values(), ids=BAD)
def test_a_case_that_cannot_be_used_is_refused_with_a_reason(document):
    with pytest.raises(BadInput, match="case"):
        read_case(document, ["random-exact"], CLOUD)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sequences", []), ("sequences", [[]]), ("targets", []), ("targets", [-1]), ("targets", ["x"]),
        ("style", "wide"), ("pool", "min"), ("direction", []), ("direction", 3),
    ],
)  # fmt: skip
def test_a_field_of_the_wrong_form_is_refused(field, value):
    with pytest.raises(BadInput, match=field):
        read_case({"kind": "x", field: value}, ["x"], [field])


def test_points_are_shown_short():
    assert shown((Fraction(1, 7), Fraction(10**40, 3))) == "(1/7, 3.33333e+39)"


def test_sequences_and_targets_go_together():
    fields = ("sequences", "targets")
    good = {"kind": "x", "sequences": [[[1, 2]], [[3, 4]]], "targets": [0, 1]}
    assert read_case(good, ["x"], fields)["targets"] == (0, 1)
    for change in ({"targets": [0]}, {"targets": [0, [[1, 2]]]}, {"sequences": [[[1, 2]], [[3]]]}):
        with pytest.raises(BadInput, match="case"):
            read_case({**good, **change}, ["x"], fields)
