"""Rules and variants: small systems by hand, and variants whose limit is another."""

import numpy as np
import pytest

from hardmax import Chain, FeedForward, Hardmax, Head, Localmax, RandomFollow, Softmax, Uniform
from hardmax.dynamics.variants import simulate_variant

SQUARE = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
RULES = [Hardmax(), Softmax(2.0), Localmax(0.3), Uniform(), RandomFollow(5), Chain(2.0, 5)]
NAMES = [type(rule).__name__ for rule in RULES]
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


# -- one rule as the limit of another ----------------------------------------------------------------------------------


def test_softmax_with_a_large_beta_is_hardmax():
    Z = gaussian(30, 3)
    soft = simulate_variant(Z, 0.5, 6, rule=Softmax(1e6))
    assert soft.tokens == pytest.approx(simulate_variant(Z, 0.5, 6, rule=Hardmax()).tokens, abs=1e-12)


def test_localmax_with_eps_zero_is_hardmax():
    Z = np.vstack([SQUARE, [[0.5, 0.0], [-0.5, 0.0]], gaussian(20, 2) / 4])
    local, hard = (simulate_variant(Z, 0.5, 20, rule=rule) for rule in (Localmax(0.0), Hardmax()))
    assert local.tokens == pytest.approx(hard.tokens, abs=1e-13)
    assert local.follows(0) == hard.follows(0)


def test_softmax_with_beta_zero_and_localmax_with_a_huge_eps_are_uniform():
    Z = gaussian(12, 2)
    mean = Z.mean(axis=0)
    for rule in (Uniform(), Softmax(0.0), Localmax(1e9)):
        traj = simulate_variant(Z, 0.5, 4, rule=rule)
        assert traj.tokens[4] == pytest.approx(mean + (Z - mean) / 1.5**4)


def test_two_equal_heads_are_one_head():
    Z, A = gaussian(25, 2), np.array([[2.0, 0.5], [0.5, 1.0]])
    one = simulate_variant(Z, 0.5, 8, A=A, rule=Hardmax())
    two = simulate_variant(Z, 0.5, 8, heads=[A, Head(A)], rule=Hardmax())
    assert two.tokens == pytest.approx(one.tokens, abs=1e-14)
    assert two.follows(3) == one.follows(3)
    assert two.leader_since == one.leader_since


def test_heads_that_follow_different_tokens_average_their_targets():
    Z = [[2.0, 0.0], [0.0, 2.0], [0.5, 0.5]]
    traj = simulate_variant(Z, 1, 1, heads=[np.diag([3.0, 1.0]), np.diag([1.0, 3.0])], rule=Hardmax())
    assert traj.follows(0) == ((0,), (1,), (0, 1))
    assert traj.tokens[1, 2].tolist() == [0.75, 0.75]


# -- value matrices and normalization ----------------------------------------------------------------------------------


def test_rescaling_with_a_value_matrix_moves_each_coordinate_by_its_own_weight():
    traj = simulate_variant([[0.0, 1.0], [2.0, 3.0]], 1, 1, rule=Hardmax(), V=np.diag([3 / 2, 7 / 3]))
    assert traj.tokens[1] == pytest.approx(np.array([[1.2, 2.4], [2.0, 3.0]]))
    # The hull was a segment of the line y = x + 1; it has grown.
    assert traj.tokens[1, 0, 1] > traj.tokens[1, 0, 0] + 1.1


@pytest.mark.parametrize("u", [(1.0, 1.0), (0.5, -0.5)])  # parallel to v, and perpendicular
def test_a_value_matrix_of_rank_one_moves_tokens_along_one_direction(u):
    V = np.outer(u, (1.0, 1.0))
    z = np.random.default_rng(0).uniform(-1, 1, (10, 2))
    traj = simulate_variant(z, 1, 30, rule=Hardmax(), V=V)
    for _ in range(30):
        followed = z[(z @ z.T).argmax(axis=1)]
        z = z - (z - followed) @ V.T / (1 + np.trace(V))  # Sherman and Morrison: (I + V)^-1 V = V / (1 + <u, v>)
    np.testing.assert_allclose(traj.tokens[-1], z, atol=1e-12)


def test_the_identity_as_value_matrix_changes_no_bit():
    Z = gaussian(20, 3)
    plain, identity = (simulate_variant(Z, 0.7, 5, rule=Hardmax(), V=V) for V in (None, np.eye(3)))
    assert identity.tokens.tobytes() == plain.tokens.tobytes()


def test_a_cloud_in_one_point_stays_there_under_rescaling_whatever_v():
    Z = [[1.0, -2.0]] * 4
    traj = simulate_variant(Z, 0.5, 5, rule=Softmax(1.0), V=[[1.0, 2.0], [0.0, 3.0]])
    assert traj.tokens[5] == pytest.approx(traj.tokens[0])
    assert traj.outcome.kind == "settled"


def test_without_normalization_leaders_grow_geometrically():
    traj = simulate_variant(SQUARE, 0.5, 12, rule=Hardmax(), normalization="none")
    assert traj.tokens[12] == pytest.approx(np.array(SQUARE) * 1.5**12)
    assert traj.outcome.kind == "growing"


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_the_sphere_keeps_lengths_one(rule):
    traj = simulate_variant(gaussian(15, 3), 0.5, 10, rule=rule, normalization="sphere")
    assert np.linalg.norm(traj.tokens, axis=2) == pytest.approx(np.ones((11, 15)), abs=1e-14)


def test_directions_that_meet_on_the_sphere_lead_together():
    traj = simulate_variant([[1.0, 0.0], [4.0, 0.0], [0.0, 1.0]], 1, 1, rule=Hardmax(), normalization="sphere")
    assert traj.follows(0) == ((0, 1), (0, 1), (2,))
    assert traj.leader_since == {0: 0, 1: 0, 2: 0}


# -- matrices that are not definite ------------------------------------------------------------------------------------


@pytest.mark.parametrize("corners", [3, 5, 8])
def test_a_rotation_makes_a_regular_polygon_spiral_inwards(corners):
    angle = 2 * np.pi / corners
    polygon = np.array([[np.cos(angle * i), np.sin(angle * i)] for i in range(corners)])
    traj = simulate_variant(polygon, 0.5, 20, A=rotation(angle), rule=Hardmax(), definite=False)
    assert traj.follows(7) == tuple(((i + 1) % corners,) for i in range(corners))
    factor = abs(1 + 0.5 * np.exp(1j * angle)) / 1.5
    assert np.linalg.norm(traj.tokens[20], axis=1) == pytest.approx([factor**20] * corners)
    assert traj.leader_since == {}


def orbit(first):
    """The tokens of the periodic orbits: three pairs of leaders, and one token in the plane they are centerd on."""
    leaders = [[4, 0, 8, 0], [4, 0, -8, 0], [-2, 3, -4, 7], [-2, 3, 4, -7], [-2, -3, -4, -7], [-2, -3, 4, 7]]
    return np.array([*leaders, [*first, 0, 0]], float)


SPIN = np.block([[np.array([[1.0, -3.0], [3.0, 1.0]]), np.zeros((2, 2))], [np.zeros((2, 2)), np.eye(2)]])


def test_one_head_with_ties_can_be_periodic():
    traj = simulate_variant(orbit((-32 / 31, 72 / 31)), 4, 30, A=SPIN, rule=Hardmax(), definite=False)
    assert (traj.outcome.kind, traj.outcome.period) == ("periodic", 3)
    assert traj.leaders.tolist() == [0, 1, 2, 3, 4, 5]
    assert traj.undecided > 0  # every layer of it hangs on a tie


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_two_heads_without_ties_are_periodic_and_robustly_so(noise):
    rng = np.random.default_rng(3)
    coupling = np.zeros((4, 4))
    coupling[2:, :2] = np.eye(2) / 20
    tokens = orbit((-200 / 133, 360 / 133)) + noise * rng.normal(size=(7, 4))
    heads = [SPIN + sign * coupling + noise / 10 * rng.normal(size=(4, 4)) for sign in (1, -1)]
    traj = simulate_variant(tokens, 10, 60, heads=heads, rule=Hardmax(), definite=False)
    assert (traj.outcome.kind, traj.outcome.period) == ("periodic", 3)
    assert traj.undecided == 0
    assert traj.leaders.tolist() == [0, 1, 2, 3, 4, 5]


# -- the causal mask ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_the_first_causal_token_never_moves(rule):
    traj = simulate_variant(gaussian(10, 2), 0.5, 6, rule=rule, causal=True)
    assert traj.tokens[6, 0] == pytest.approx(traj.tokens[0, 0], abs=1e-15)
    assert traj.leader_since[0] == 0
    assert all(max(c) <= i for i, c in enumerate(traj.follows(2)))


@pytest.mark.parametrize("rule", [r for r in RULES if not isinstance(r, (RandomFollow, Chain))], ids=NAMES[:4])
def test_later_tokens_do_not_change_earlier_ones_under_a_causal_mask(rule):
    Z = gaussian(24, 3)
    Z[20] = Z[3]
    whole, prefix = (simulate_variant(part, 0.5, 5, rule=rule, causal=True) for part in (Z, Z[:14]))
    assert whole.tokens[:, :14] == pytest.approx(prefix.tokens, abs=1e-13)
    assert whole.follows(2)[:14] == prefix.follows(2)


# -- feed-forward ------------------------------------------------------------------------------------------------------


def test_a_feed_forward_acts_after_the_attention_of_each_layer():
    # One token alone: attention keeps it; then x -> 2 x + W relu(U x + b) with U x + b = (x0 - 1, -x1).
    sublayer = FeedForward(W=[[10.0, 0.0], [0.0, 1.0]], U=[[1.0, 0.0], [0.0, -1.0]], b=[-1.0, 0.0], eta=2.0)
    traj = simulate_variant([[3.0, 4.0]], 1, 1, rule=Hardmax(), feed_forward=sublayer)
    assert traj.tokens[1].tolist() == [[6.0 + 20.0, 8.0]]


def test_a_function_can_be_the_feed_forward():
    traj = simulate_variant(SQUARE, 1, 9, rule=Hardmax(), feed_forward=lambda x: x + 1.0)
    assert traj.tokens[1].tolist() == (np.array(SQUARE) + 1).tolist()
    assert traj.outcome.kind == "growing"


def test_tokens_are_free_of_negative_zeros():
    traj = simulate_variant(SQUARE, 1, 2, rule=Hardmax(), feed_forward=lambda x: -0.0 * x)
    assert not np.signbit(traj.tokens[1:]).any()


def test_a_function_that_separates_copies_ends_their_common_lead():
    def shift_the_first(x):
        x[0] += [0.5, 0.0]
        return x

    traj = simulate_variant([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]], 1, 1, rule=Hardmax(), feed_forward=shift_the_first)
    assert traj.leader_since == {0: 0, 1: 0, 2: 0}
    assert traj.follows(1) == ((0,), (0,), (2,))


# -- random rules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [RandomFollow, Chain])
def test_a_seed_fixes_the_run_and_another_seed_changes_it(rule):
    Z = gaussian(20, 2)
    first, again, other = (simulate_variant(Z, 0.5, 5, rule=rule(seed=seed)).tokens for seed in (7, 7, 8))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_random_tokens_follow_one_token_and_move_toward_it():
    traj = simulate_variant(gaussian(9, 2), 1, 3, rule=RandomFollow(2))
    for k in range(3):
        (targets,) = zip(*traj.follows(k), strict=True)
        assert traj.tokens[k + 1] == pytest.approx((traj.tokens[k] + traj.tokens[k][list(targets)]) / 2)


# -- leaders, undecided comparisons, collapse --------------------------------------------------------------------------


def test_softmax_and_uniform_have_no_leaders_and_follow_everyone():
    for rule in (Softmax(50.0), Uniform()):
        traj = simulate_variant(SQUARE, 0.5, 2, rule=rule)
        assert traj.leader_since == {}
        assert traj.follows(1) == ((0, 1, 2, 3),) * 4


def test_copies_lead_together_under_hardmax_only():
    Z = [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]
    assert simulate_variant(Z, 0.5, 1, rule=Hardmax()).leader_since == {0: 0, 1: 0, 2: 0}
    assert simulate_variant(Z, 0.5, 1, rule=Localmax(0.1)).leader_since == {2: 0}


@pytest.mark.parametrize("alpha", [1.0, 1.5, 10.0])
@pytest.mark.parametrize("causal", [False, True])
def test_collapsed_followers_add_no_weight_to_their_leader(alpha, causal):
    # After about 37 / ln(1+alpha) layers followers equal their leader in float64; a plain loop then counts them in the
    # means of tied tokens, which leave (+-1, 0).
    Z = np.vstack([SQUARE, np.random.default_rng(4).uniform(-0.5, 0.5, (4, 2)), [[0.5, 0.0], [-0.5, 0.0]]])
    traj = simulate_variant(Z, alpha, 200, rule=Hardmax(), causal=causal)
    assert traj.tokens[200, 8:] == pytest.approx(np.array([[1.0, 0.0], [-1.0, 0.0]]), abs=1e-13)
    assert traj.follows(200)[8:] == ((0, 1), (2, 3))
    assert traj.outcome.kind == "settled"
    assert traj.undecided == 0


def test_generic_clouds_have_no_undecided_comparisons_even_after_many_layers():
    for A in (None, np.array([[1.0, 2.0], [-2.0, 1.0]])):
        traj = simulate_variant(gaussian(60, 2), 1, 150, A=A, rule=Hardmax(), definite=A is None)
        assert traj.undecided == 0
        assert traj.outcome.kind == "settled"


@pytest.mark.parametrize("heads", [[np.eye(3)], [np.eye(3), np.diag([1.0, 2.0, 3.0])]], ids=["one head", "two heads"])
def test_leaders_stand_still_to_the_last_bit(heads):
    traj = simulate_variant(gaussian(40, 3), 0.37, 60, rule=Hardmax(), heads=heads)
    assert len(traj.leaders) > 3
    for leader, since in traj.leader_since.items():
        assert (traj.tokens[since:, leader] == traj.tokens[since, leader]).all()


def test_a_tie_that_another_leader_will_break_is_not_taken_for_final():
    # CE1: token 4 ties two leaders whose mean (0, 1, 0) does not support the cloud: it ends at (0, 3/2, -1).
    Z = [[-1, 1, 0], [1, 1, 0], [0, 1.5, -1], [0, -3, 4], [0, 0.5, 0.4]]
    traj = simulate_variant(Z, 1, 60, rule=Hardmax())
    assert traj.follows(0)[4] == (0, 1)
    assert traj.tokens[60, 4] == pytest.approx([0, 1.5, -1])


def test_leaders_of_other_rules_stand_still_to_the_last_bit_too():
    Z = gaussian(60, 8)  # most of them lead
    traj = simulate_variant(Z, 0.37, 6, rule=Localmax(0.01))
    sets = [traj.follows(k) for k in range(7)]
    always = [i for i in range(60) if all(C[i] == (i,) for C in sets)]
    assert len(always) > 20
    assert (traj.tokens[:, always] == traj.tokens[0, always]).all()


def test_a_random_rule_that_stands_still_by_chance_has_not_settled():
    kinds, still = set(), 0
    for seed in range(40):
        traj = simulate_variant([[0.0], [1.0]], 1, 6, rule=RandomFollow(seed))
        still += (traj.tokens[-1] == traj.tokens[-2]).all() and np.ptp(traj.tokens[-1]) > 0
        kinds.add(traj.outcome.kind if np.ptp(traj.tokens[-1]) > 0 else "met")
    assert still > 0
    assert "settled" not in kinds


def test_random_rules_settle_only_when_everyone_has_met():
    traj = simulate_variant(gaussian(3, 1), 3, 400, rule=RandomFollow(0))
    assert traj.outcome.kind == "settled"
    assert np.ptp(traj.tokens[400]) < 1e-11
    assert simulate_variant(gaussian(3, 1), 0.5, 10, rule=RandomFollow(0)).outcome.kind == "moving"


def test_no_layers_give_the_input_with_its_follow_sets():
    traj = simulate_variant(SQUARE, 0.5, 0, rule=Hardmax())
    assert traj.tokens.shape == (1, 4, 2)
    assert traj.follows(0) == ((0,), (1,), (2,), (3,))
    assert traj.leader_since == {0: 0, 1: 0, 2: 0, 3: 0}


def test_a_tie_tolerance_widens_the_follow_sets():
    Z = [[1.0, 0.0], [0.95, 0.3], [0.3, 0.0]]
    narrow, wide = (simulate_variant(Z, 0.5, 1, rule=Hardmax(tolerance)) for tolerance in (0.0, 0.1))
    assert narrow.follows(0)[2] == (0,)
    assert wide.follows(0)[2] == (0, 1)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_one_token_stays_where_it_is(rule):
    traj = simulate_variant([[2.0, -1.0]], 0.5, 4, rule=rule)
    assert traj.tokens[4].tolist() == [[2.0, -1.0]]
    assert (traj.leader_since, traj.outcome.kind) == ({0: 0}, "settled")
