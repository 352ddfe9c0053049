"""Items are found by name, alias or beginning, and their settings come from the function that runs them."""

import subprocess
import sys

import pytest

import toy_experiments
from hardmax.errors import BadInput
from hardmax.experiments.item import GROUPS, item, items, minutes, select, whole


@pytest.fixture
def toys(monkeypatch):
    toy_experiments.install(monkeypatch)
    return toy_experiments.PACKAGE


def names(found):
    return [one.name for one in found]


def test_items_are_found_by_name_alias_and_beginning_in_their_usual_order(toys):
    assert names(select(toys, ["coin-flip", "dice"])) == ["dice", "coin-flip"]
    assert names(select(toys, ["cubes", "dice", "cubes"])) == ["dice"]
    assert names(select(toys, ["coin"])) == ["coin-flip"]
    assert names(select(toys)) == names(items(toys)) == [
        "dice", "coin-flip", "broken", "lonely", "interrupted", "partial",
    ]  # fmt: skip


def test_an_unknown_name_is_refused_with_the_known_ones_and_the_closest(toys):
    with pytest.raises(BadInput, match="there is no toy 'dize'") as error:
        select(toys, ["dize"])
    assert error.value.found.startswith("dice (cubes), coin-flip,")
    assert error.value.fix == "did you mean dice? hardmax play --list explains them"
    with pytest.raises(BadInput) as error:
        select(toys, ["quite different"])
    assert error.value.fix == "hardmax play --list explains them"
    with pytest.raises(BadInput):
        select(toys, ["coi"])  # a beginning ends at a hyphen


def test_settings_are_the_defaults_then_those_of_the_quick_run_then_the_options(toys):
    (dice,) = select(toys, ["dice"])
    assert dice.settings() == {"trials": 15, "sides": (4, 6)}
    assert dice.settings(quick=True) == {"trials": 6, "sides": (4, 6)}
    assert dice.settings(True, {"trials": 3, "epochs": 9}) == {"trials": 3, "sides": (4, 6)}
    assert dice.settings(options={"trials": None}) == dice.settings()


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "3"])
def test_an_option_that_is_not_a_count_is_refused(toys, value):
    with pytest.raises(BadInput, match=r"trials is .* of at least 1"):
        select(toys, ["dice"])[0].settings(options={"trials": value})
    with pytest.raises(BadInput, match="seed is"):
        whole("seed", value, 4)


def test_two_functions_cannot_have_one_name(toys):
    with pytest.raises(ValueError, match="two items with the name 'dice'"):
        item(toys, "dice", "Another?")(lambda context: None)


def test_models_that_several_items_share_are_trained_once(toys):
    assert minutes(select(toys, ["dice"])) == minutes(select(toys, ["dice", "coin"])) == 3
    assert minutes(items(toys)) == 7


@pytest.mark.parametrize("package", GROUPS)
def test_every_group_has_items_with_different_names_and_a_title(package):
    found = items(package)
    words = [word for one in found for word in (one.name, *one.aliases)]
    assert len(words) == len(set(words)) > 2
    assert all(one.title.strip() for one in found)


def test_the_order_of_a_group_does_not_depend_on_what_is_imported_first():
    lines = ["import hardmax.experiments.claims.lemmas", "from hardmax.experiments.item import items",
             "print(*(one.name for one in items('claims')))"]  # fmt: skip
    out = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True).stdout
    assert out.split() == names(items("claims"))
