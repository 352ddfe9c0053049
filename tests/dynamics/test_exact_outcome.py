"""What is said about a run in rational arithmetic."""

import hardmax as hx
from hardmax.dynamics.exact.layers import simulate_exact

SQUARE = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def test_a_cloud_of_leaders_is_settled_at_once():
    assert simulate_exact(SQUARE, "1/2", None, 0).outcome.kind == "settled"
    assert simulate_exact(SQUARE, "1/2", None, 5).outcome.layer == 0


def test_a_follower_settles_when_nothing_visible_is_left():
    cloud = [*SQUARE, ("1/2", "1/4")]
    assert simulate_exact(cloud, 1, None, 10).outcome.kind == "moving"
    outcome = simulate_exact(cloud, 1, None, 60).outcome
    assert outcome.kind == "settled"
    assert 48 <= outcome.layer <= 53  # (1/2, 3/4) / 2^k falls below 2^-52


def test_without_normalization_tokens_grow():
    outcome = simulate_exact([*SQUARE, ("1/2", "1/4")], "1/10", None, 8, normalization="none").outcome
    assert outcome.kind == "growing"


def test_growth_that_dies_out_is_not_called_growing():
    # one token; attention leaves it where it is, the sublayer x -> x/2 + 1 brings it to 2 from below
    sublayer = hx.FeedForward(W=[["1/2", 1]], U=[[1], [0]], b=[0, 1], eta=0)
    assert simulate_exact([(1,)], 1, None, 12, feed_forward=sublayer).outcome.kind == "moving"
    assert simulate_exact([(1,)], 1, None, 80, feed_forward=sublayer).outcome.kind == "settled"


def test_a_reflection_has_period_two():
    sublayer = hx.FeedForward(W=[[0]], U=[[0]], b=[0], eta=-1)
    outcome = simulate_exact([(1,), (2,)], 1, None, 4, feed_forward=sublayer).outcome
    assert outcome.kind == "moving"  # token 0 still approaches token 1
    outcome = simulate_exact([(2,)], 1, None, 4, feed_forward=sublayer).outcome
    assert (outcome.kind, outcome.period, outcome.layer) == ("periodic", 2, 0)
