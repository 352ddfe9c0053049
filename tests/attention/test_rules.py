"""Every rule on small blocks of scores, by hand and against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from hardmax.attention.rules import Chain, Hardmax, Localmax, RandomFollow, Softmax, Uniform, gaps, weights

ONES = np.ones(3)
SCORES = np.array([[1.0, 3.0, 2.0], [5.0, 5.0, -1.0]])
RULES = [Hardmax(), Softmax(2.0), Localmax(0.5), Uniform(), RandomFollow(), Chain(2.0)]


def test_hardmax_shares_the_weight_among_the_largest_scores():
    assert weights(Hardmax(), SCORES, ONES).tolist() == [[0, 1, 0], [0.5, 0.5, 0]]


def test_copies_count_in_a_tie():
    assert weights(Hardmax(), SCORES, np.array([3.0, 1.0, 1.0]))[1].tolist() == [0.75, 0.25, 0]


def test_slack_makes_near_ties_ties():
    near = np.array([[1.0, 1.0 + 1e-15, 0.9]])
    assert weights(Hardmax(), near, ONES, slack=1e-14).tolist() == [[0.5, 0.5, 0]]
    assert weights(Hardmax(), near, ONES).tolist() == [[0, 1, 0]]


def test_localmax_takes_everything_within_eps():
    assert weights(Localmax(1.0), SCORES, ONES).tolist() == [[0, 0.5, 0.5], [0.5, 0.5, 0]]
    assert weights(Localmax(2.0), SCORES, ONES)[0] == pytest.approx([1 / 3] * 3)


def test_softmax_agrees_with_scipy():
    assert weights(Softmax(0.7), SCORES, ONES) == pytest.approx(softmax(0.7 * SCORES, axis=1), abs=1e-15)


def test_softmax_counts_copies_as_separate_tokens():
    whole = softmax(0.7 * SCORES[:, [0, 0, 1, 2]], axis=1)
    merged = weights(Softmax(0.7), SCORES, np.array([2.0, 1.0, 1.0]))
    assert merged == pytest.approx(np.column_stack([whole[:, 0] + whole[:, 1], whole[:, 2:]]), abs=1e-15)


def test_softmax_stays_finite_for_huge_scores_and_beta():
    huge = np.array([[1e300, -1e300, 1e300]])
    assert weights(Softmax(1e300), huge, ONES).tolist() == [[0.5, 0, 0.5]]


def test_softmax_with_beta_zero_is_uniform():
    assert weights(Softmax(0.0), SCORES, ONES).tolist() == weights(Uniform(), SCORES, ONES).tolist()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_hidden_points_get_no_weight(rule):
    copies = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    found = weights(rule, SCORES, copies, uniforms=np.array([0.99, 0.01]))
    assert (found[copies == 0] == 0).all()
    assert found[1].tolist() == [0, 0, 1]
    assert found.sum(axis=1) == pytest.approx([1, 1])


def test_gaps_are_infinite_at_hidden_points():
    assert gaps(SCORES, np.array([[1.0, 0, 1], [1, 1, 1]])).tolist() == [[1, np.inf, 0], [0, 0, 6]]


@pytest.mark.parametrize(("mark", "column"), [(0.0, 0), (0.24, 0), (0.25, 2), (0.74, 2), (0.75, 3), (0.999, 3)])
def test_a_draw_inverts_the_cumulative_weights(mark, column):
    copies = np.array([1.0, 0.0, 2.0, 1.0])
    found = weights(RandomFollow(), np.zeros((1, 4)), copies, uniforms=np.array([mark]))
    assert np.flatnonzero(found[0]).tolist() == [column]


def test_a_draw_at_the_upper_end_never_picks_a_hidden_point():
    almost_one = np.array([np.nextafter(1.0, 0.0)])
    found = weights(RandomFollow(), np.zeros((1, 4)), np.array([0.1, 0.1, 0.1, 0.0]), uniforms=almost_one)
    assert np.flatnonzero(found[0]).tolist() == [2]


def test_the_chain_draws_with_the_softmax_probabilities():
    draws = np.random.default_rng(0).random(20_000)
    block = np.broadcast_to(SCORES[0], (len(draws), 3))
    frequencies = weights(Chain(0.5), block, ONES, uniforms=draws).mean(axis=0)
    assert frequencies == pytest.approx(softmax(0.5 * SCORES[0]), abs=0.015)  # four standard deviations


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8), st.sampled_from(RULES), st.floats(0, 0.999))
def test_weights_are_a_probability_and_do_not_depend_on_a_shift_of_the_scores(row, rule, mark):
    scores, copies = np.array([row], float), np.ones(len(row))
    found = weights(rule, scores, copies, uniforms=np.array([mark]))
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    assert weights(rule, scores + 1024, copies, uniforms=np.array([mark])).tolist() == found.tolist()
