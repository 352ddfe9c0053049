"""Cases are read back from JSON to the last digit, and every field of a file is validated."""

import json
from fractions import Fraction

import pytest

from hardmax.errors import BadInput
from hardmax.experiments.case import MOST_NUMBERS, Case, load_case, read_case
from hardmax.experiments.claims.claim import claims

CLOUD = ("tokens", "alpha", "A", "layers")
GOOD = {"kind": "random-exact", "tokens": [["1/3", 1], [0.5, "2"]], "alpha": "1/2", "A": None, "layers": 3}


@pytest.mark.parametrize("what", claims(), ids=lambda one: one.name)
def test_every_case_comes_back_from_its_file(what):
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


def test_sequences_and_targets_go_together():
    fields = ("sequences", "targets")
    good = {"kind": "x", "sequences": [[[1, 2]], [[3, 4]]], "targets": [0, 1]}
    assert read_case(good, ["x"], fields)["targets"] == (0, 1)
    for change in ({"targets": [0]}, {"targets": [0, [[1, 2]]]}, {"sequences": [[[1, 2]], [[3]]]}):
        with pytest.raises(BadInput, match="case"):
            read_case({**good, **change}, ["x"], fields)


def test_a_case_has_a_file_of_its_own_with_a_checksum(tmp_path):
    third = Fraction(1, 3)
    data = {
        "name": "x", "statement": "A cycle.", "tokens": ((third, 1), (2, 3)), "heads": (((1, 0), (0, 1)),),
        "ties": True, "moving": (0,), "period": 2, "matrices": "symmetric", "alpha": third,
    }  # fmt: skip
    case, path = Case("cycle", data), tmp_path / "x.json"
    path.write_text(case.text())
    assert load_case(path, {"cycle": list(data)}) == (case, True)
    path.write_text(case.text().replace("A cycle.", "A circle."))
    read, unchanged = load_case(path, {"cycle": list(data)})
    assert (read["statement"], unchanged) == ("A circle.", False)


CYCLE = {"kind": "cycle", "tokens": [["1", "0"], ["0", "1"]], "heads": [[["1", "0"], ["0", "1"]]], "moving": [1],
         "period": 2, "matrices": "any", "ties": False}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"heads": []}, {"heads": [[["1"]]]}, {"heads": [[["1", "0"]]]}, {"heads": None}, {"moving": [2]},
        {"moving": [-1]}, {"moving": [True]}, {"period": 0}, {"period": 10**9}, {"matrices": "nice"}, {"ties": 1},
        {"ties": "no"},
    ],
    ids=str,
)  # fmt: skip
def test_a_cycle_with_a_field_of_the_wrong_form_is_refused(change):
    fields = [name for name in CYCLE if name != "kind"]
    assert read_case(CYCLE, ["cycle"], fields)["moving"] == (1,)
    with pytest.raises(BadInput, match="case"):
        read_case(CYCLE | change, ["cycle"], fields)


def test_texts_of_a_file_cannot_control_the_terminal():
    read = read_case({"kind": "cycle", "statement": "\x1b[2Jgone\n" + "x" * 5000})
    assert read["statement"].startswith(" [2Jgone x")
    assert len(read["statement"]) == 2000


def test_a_changed_case_keeps_the_other_fields():
    case = Case("random-exact", {"alpha": Fraction(1), "layers": 3})
    assert case.changed(layers=4) == Case("random-exact", {"alpha": Fraction(1), "layers": 4})
    assert case["layers"] == 3
