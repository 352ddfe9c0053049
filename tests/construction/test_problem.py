"""What cannot be built is refused before anything is built, with the places named."""

import re

import numpy as np
import pytest

import hardmax as hx

a, b, c = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]
EVERY = [("bitwise", "mean"), ("two", "mean")]


@pytest.mark.parametrize(("style", "pool"), EVERY)
@pytest.mark.parametrize("copy", [[a, b], [b, a], [a, a, b, b], [b, a, a, b, a, b]])
def test_equal_measures_with_different_targets_are_named(style, pool, copy):
    with pytest.raises(hx.ContradictoryTargets, match=r"sequences 1 and 3 .*no transformer") as error:
        hx.construct([[c], [a, b], [a], copy], [0, 1, 2, 3], style=style, pool=pool)
    assert error.value.sequences == (1, 3)
    assert isinstance(error.value, hx.BadInput)
    assert error.value.exit_code == 3


def test_contradictory_target_tokens_are_named():
    with pytest.raises(hx.ContradictoryTargets, match="sequences 0 and 1"):
        hx.construct([[a, b], [b, a]], [[a, b], [a, c]])


@pytest.mark.parametrize(
    ("sequences", "targets", "words"),
    [
        ([], [], "sequences is empty"),
        ([[a], []], [0, 1], r"sequences\[1\] is empty"),
        ([[a], [[np.nan, 0.0]]], [0, 1], r"sequences\[1\]: token 0 is \[nan, 0.0\]"),
        ([[a], [b, [np.inf, 0.0]]], [0, 1], r"sequences\[1\]: token 1"),
        ([[a], [[1.0]]], [0, 1], r"sequences\[1\] has tokens of dimension 1"),
        ([[a], "word"], [0, 1], r"sequences\[1\] is not an"),
        ([[a], [[1.0, 2.0], [3.0]]], [0, 1], r"sequences\[1\] is not an"),
        ([[a], [1.0, 2.0]], [0, 1], r"sequences\[1\] has shape \(2,\)"),
        (np.zeros((3, 2)), [0, 1, 2], r"array of shape \(3, 2\)"),
        (7, [0], "sequences is 7"),
        ([[a], [b]], [0], "2 sequences but 1 target\n"),
        ([[a]], 7, "targets is 7"),
        ([[a], [b]], [0, {}], r"targets\[1\] is {}"),
        ([[a], [b]], [0.0, float("nan")], r"targets\[1\] is nan"),
        ([[a], [b]], [[a], 3], r"targets\[0\] is an array, but targets\[1\] is not"),
        ([[a], [b]], [[a], []], r"targets\[1\] is empty"),
        ([[a], [b]], [[a], [[1.0, 2.0, 3.0]]], r"targets\[1\] has shape \(1, 3\); expected \(m, 2\)"),
        ([[a], [b]], [[a], [[np.inf, 0.0]]], r"targets\[1\]: \[inf, 0.0\] is not finite"),
        ([[a], [b]], [[a], [["x", 0.0]]], r"targets\[1\] is not an"),
        ([[[1e300, 0.0]], [a]], [0, 1], "1e[+]300, outside"),
        ([[[1e-300, 0.0]]], [0], "1e-300, outside"),
    ],
)
def test_bad_input_says_what_and_where(sequences, targets, words):
    with pytest.raises(hx.BadInput, match=words):
        hx.construct(sequences, targets)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"style": "three"}, "bitwise, two, narrow"),
        ({"pool": "sum"}, "mean, max"),
        ({"thin": 0.7}, "thin is 0.7"),
        ({"thin": "narrow"}, "thin is 'narrow'"),
        ({"seed": -1}, "seed is -1; expected a whole number of at least 0"),
        ({"seed": "one"}, "seed is 'one'"),
        ({"direction": "best"}, "direction is 'best'"),
        ({"direction": [1.0]}, "expected 2 finite numbers"),
        ({"direction": [0.0, 0.0]}, "not all 0"),
    ],
)
def test_unknown_options_are_refused(options, words):
    with pytest.raises(hx.BadInput, match=words):
        hx.construct([[a], [b]], [0, 1], **options)


def test_dimension_one_is_refused_where_two_coordinates_are_needed():
    with pytest.raises(hx.BadInput, match="style='two', pool='mean'"):
        hx.construct([[[1.0]], [[2.0]]], [0, 1])


@pytest.mark.parametrize("style", ["bitwise", "two"])
def test_more_targets_than_tokens_is_impossible(style):
    with pytest.raises(hx.ImpossibleTarget, match=r"targets\[1\] has 2 .* sequences\[1\] has only 1 token"):
        hx.construct([[a, b], [c]], [[a], [a, b]], style=style)
    with pytest.raises(hx.ImpossibleTarget, match=r"targets\[1\] has 2 .* only 1 distinct token among its 3"):
        hx.construct([[a, b], [c, c, c]], [[a], [a, b]], style=style)


@pytest.mark.parametrize("style", ["bitwise", "two"])
def test_one_ulp_apart_is_ill_conditioned(style):
    near = [np.nextafter(1.0, 2.0), 0.0]
    with pytest.raises(hx.IllConditioned, match="sequences 0 and 1"):
        hx.construct([[a, b], [near, b]], [0, 1], style=style)
    with pytest.raises(hx.IllConditioned, match="tokens 0 and 1 of sequence 0"):
        hx.construct([[a, near], [b]], [[a, b], [c]], style=style)


def test_sequences_that_are_too_close_are_told_how_far_apart_they_must_be():
    with pytest.raises(hx.IllConditioned) as caught:
        hx.construct([[[1.0, 2.0]], [[1 + 1e-14, 2.0]]], [0, 1])
    distance, needed = re.match(r".* at most (\S+); more than (\S+) is needed", caught.value.found).groups()
    assert 0 < float(distance) < float(needed)


def test_minus_zero_is_zero():
    with pytest.raises(hx.ContradictoryTargets):
        hx.construct([[[0.0, 1.0]], [[-0.0, 1.0]]], [0, 1])


def test_repeated_target_tokens_count_once():
    net = hx.construct([[a, b], [c]], [[a, a], [b]])
    assert net.target_tokens == 2


def test_inputs_are_not_changed():
    sequence = np.array([[-0.0, 1.0], [2.0, 3.0]])
    before = sequence.copy()
    hx.construct([sequence, [[5.0, 5.0]]], [0, 1])
    assert sequence.tobytes() == before.tobytes()


def test_labels_may_come_from_a_table_or_a_tensor():
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    for targets, classes in ((pandas.Series(["x", "y"]), ("x", "y")), (torch.tensor([3, 1]), (1, 3))):
        assert hx.construct([[a], [b]], targets).classes == classes
