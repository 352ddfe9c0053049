"""What happened: sequences whose answer is known by construction."""

from fractions import Fraction

import numpy as np
import pytest

from hardmax import simulate
from hardmax.dynamics.outcome import detect


def run_of(values):
    """One token in the plane at (value, 1) for each layer."""
    return np.array([[[value, 1.0]] for value in values], float)


def test_a_cloud_that_stands_still_is_settled_from_the_layer_at_which_it_stopped():
    outcome = detect(run_of([3, 2, 1, 0, 0, 0, 0]))
    assert (outcome.kind, outcome.layer) == ("settled", 3)


def test_patience_asks_for_more_quiet_layers():
    brief, long = run_of([3, 2, 1, 0.2, 0.2]), run_of([3, 2, 1, 0.2, 0.2, 0.2])
    assert detect(brief).kind == "settled"
    assert detect(brief, patience=2).kind == "moving"
    assert detect(long, patience=2).kind == "settled"


def test_a_run_of_one_quiet_layer_is_settled():
    assert detect(run_of([1, 1])).kind == "settled"


def test_no_layers_say_nothing():
    assert detect(run_of([1])).kind == "moving"


def test_a_run_that_rests_on_undecided_comparisons_does_not_claim_to_have_settled():
    outcome = detect(run_of([3, 2, 1, 0, 0]), undecided=7)
    assert (outcome.kind, outcome.layer) == ("undecided", 3)
    assert "7 comparisons" in outcome.detail
    assert "exact=True" in outcome.detail
    assert detect(run_of([1, 0.5, 0.25]), undecided=7).kind == "moving"


def test_two_squares_that_turn_forever_are_not_called_settled_in_float64():
    """Exactly, token 8 follows a corner of one and of the other square in turn: its height never settles."""
    A = [[-2, -5, 0], [5, -2, 0], [0, 0, 0]]
    one, other = [(2, 0), (0, 2), (-2, 0), (0, -2)], [(1, 2), (-2, 1), (-1, -2), (2, -1)]
    Z = [[*c, 1] for c in one] + [[*c, -1] for c in other] + [[1, Fraction(-1, 3), Fraction(-1, 3)]]
    heights = simulate(Z, 1, A, layers=12, definite=False, exact=True).tokens[:, 8, 2]
    assert [float(h) for h in heights] == pytest.approx([-1 / 3, 1 / 3] * 6 + [-1 / 3])
    rounded = simulate([[float(x) for x in z] for z in Z], 1, A, layers=200, definite=False)
    assert rounded.undecided > 0
    assert rounded.outcome.kind == "undecided"


def test_ties_that_integers_prove_leave_a_run_settled():
    traj = simulate([[1, 1], [-1, 1], [1, -1], [-1, -1], [0.5, 0]], 0.5, layers=80)
    assert traj.follows(80)[4] == (0, 2)
    assert (traj.undecided, traj.outcome.kind) == (0, "settled")


def test_small_steps_of_a_small_alpha_are_still_steps():
    slow = run_of(1 - 1e-13 * np.arange(10))
    assert detect(slow, alpha=1.0).kind == "settled"
    assert detect(slow, alpha=1e-13).kind == "moving"


def test_a_cloud_at_the_origin_is_settled():
    assert detect(np.zeros((5, 3, 2))).kind == "settled"


@pytest.mark.parametrize("period", [2, 3, 5])
def test_a_cycle_is_found_with_its_shortest_period(period):
    outcome = detect(run_of([9, 8, *(np.arange(4 * period) % period)]))
    assert (outcome.kind, outcome.period, outcome.layer) == ("periodic", period, 2)


def test_less_than_two_returns_are_not_a_cycle():
    assert detect(run_of([0, 1, 2, 0, 1, 2])).kind == "moving"
    assert detect(run_of([0, 1, 2, 0, 1, 2, 0])).kind == "periodic"


def test_a_slow_crawl_is_not_a_cycle():
    assert detect(run_of(1 - 1e-11 * np.arange(60))).kind == "moving"


def test_a_cycle_that_shrinks_is_still_moving():
    assert detect(run_of([(-0.9) ** k for k in range(40)])).kind == "moving"


def test_geometric_and_linear_growth_are_growing():
    assert detect(run_of(1.5 ** np.arange(12)), "none").kind == "growing"
    linear = detect(run_of([5, 4, *range(3, 30)]), "none")
    assert (linear.kind, linear.layer) == ("growing", 2)


def test_growth_toward_a_bound_is_moving():
    assert detect(run_of(10 - 9 * 0.8 ** np.arange(30)), "none").kind == "moving"
    assert detect(run_of(np.sqrt(np.arange(1.0, 200.0))), "none").kind == "moving"


def test_too_few_layers_do_not_show_growth():
    assert detect(run_of([1, 2, 4, 8]), "none").kind == "moving"
    assert detect(run_of([1, 2, 4, 8, 16]), "none").kind == "growing"


def test_nothing_grows_on_the_sphere():
    assert detect(run_of(1.5 ** np.arange(12)), "sphere").kind == "moving"
