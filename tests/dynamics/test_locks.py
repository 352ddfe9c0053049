"""Follow sets that are final: never claimed too early, and kept when float64 can no longer see them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardmax import Hardmax
from hardmax.attention.dense import Scene, attend
from hardmax.attention.ties import Widths
from hardmax.cloud.metric import metric
from hardmax.dynamics import locks as locks_module
from hardmax.dynamics.exact.layers import simulate_exact
from hardmax.dynamics.locks import Locks
from hardmax.dynamics.variants import simulate_variant
from reference import follow_sets, fractions, layer


@st.composite
def systems(draw):
    """Quarters in the plane or space, some mirrored at the origin; any matrix or none; causal or not."""
    dim = draw(st.integers(1, 3))
    row = st.lists(st.integers(-4, 4), min_size=dim, max_size=dim)
    Z = np.array(draw(st.lists(row, min_size=2, max_size=7)), float) / 4
    if draw(st.booleans()):
        Z = np.vstack([Z, -Z])
    matrix = st.lists(st.integers(-2, 2), min_size=dim * dim, max_size=dim * dim)
    A = draw(st.none() | matrix.map(lambda entries: np.array(entries, float).reshape(dim, dim)))
    return Z, A, draw(st.sampled_from([0.5, 1.0, 2.0])), draw(st.booleans())


@settings(derandomize=True, deadline=None, max_examples=40)
@given(systems())
def test_a_run_without_undecided_comparisons_is_right_at_every_depth(system):
    Z, A, alpha, causal = system
    traj = simulate_variant(Z, alpha, 25, A=A, rule=Hardmax(), causal=causal, definite=False)
    assume(traj.undecided == 0)
    exact, matrix = fractions(Z), None if A is None else fractions(A)
    for k in range(26):
        if causal:
            sets = tuple(follow_sets(exact[: i + 1], matrix)[i] for i in range(len(Z)))
        else:
            sets = follow_sets(exact, matrix)
        assert traj.follows(k) == sets
        assert traj.tokens[k] == pytest.approx(exact.astype(float), abs=1e-13)
        exact = layer(exact, Fraction(alpha), sets)


def test_a_causal_leader_that_loses_among_later_tokens_does_not_lock_its_followers():
    # Token 0 leads alone; token 2 follows it at first, but sees token 1, which is ahead in the direction of token 0.
    Z = [[-0.25, 0.75], [-1.0, 0.75], [0.25, 0.5]]
    traj = simulate_variant(Z, 0.5, 60, rule=Hardmax(), causal=True)
    assert traj.leaders.tolist() == [0, 1]
    assert traj.follows(0)[2] == (0, 2)
    assert traj.follows(60)[2] == (1,)
    assert traj.tokens[60, 2] == pytest.approx([-1.0, 0.75])


def test_a_token_at_the_center_of_symmetry_follows_everyone_although_rounding_moves_it():
    half = np.array([[0.5], [0.75], [0.0], [0.25], [0.5], [0.25], [0.0]])
    Z = np.vstack([-half, half])
    traj = simulate_variant(Z, 0.5, 40, rule=Hardmax())
    for k in range(41):
        assert traj.follows(k)[2] == tuple(range(14))
    assert traj.tokens[40, 2] == pytest.approx([0.0], abs=1e-15)


def test_a_follower_is_told_apart_from_its_leader_long_after_float64_has_merged_them():
    Z = [[1.0, 0.0], [-1.0, 0.0], [0.5, 0.25]]
    traj = simulate_variant(Z, 10, 400, rule=Hardmax())
    assert (traj.tokens[400, 2] == traj.tokens[400, 0]).all()
    assert traj.follows(400) == ((0,), (1,), (0,))
    assert traj.undecided == 0


@pytest.mark.parametrize("scale", [2.0**-1020, 1.0, 2.0**1000])
def test_the_direction_decides_however_long_ago_a_follower_was_locked(scale):
    # Tokens 1 and 2 were locked onto token 0 at layers 0 and 5000; float64 holds neither 11^-6000 nor their positions.
    locks = Locks(3, 2, 10.0)
    locks.target[:] = 0
    locks.since[:] = [0, 0, 5000]
    locks.offset[:] = scale * np.array([[0.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])
    tokens, nobody = np.array([[1.0, 0.0]] * 3), np.arange(3)
    scene = Scene(tokens, nobody, nobody, nobody, causal=False, layer=6000)
    lost = [locks.behind(scene, metric(None, 2), np.array(q), nobody).tolist() for q in ([1.0, 0.0], [0.0, 1.0])]
    assert lost == [[False, True, True], [True, False, True]]


def test_a_tie_of_intended_but_rounded_tokens_is_kept_and_reported():
    angles = 2 * np.pi * np.arange(6) / 6
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    middles = (corners + np.roll(corners, -1, axis=0)) / 4
    traj = simulate_variant(np.vstack([corners, middles]), 0.1, 300, rule=Hardmax())
    assert traj.tokens[300, 6:] == pytest.approx(2 * middles, abs=1e-11)
    assert traj.follows(300)[6:] == tuple(tuple(sorted((i, (i + 1) % 6))) for i in range(6))
    assert traj.undecided > 0
    assert traj.outcome.kind == "undecided"


def test_an_ordinary_loop_would_lose_the_tie_that_locks_keep():
    # The same cloud as a plain float64 loop: followers that have become equal to a leader are counted in the mean.
    square = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
    Z = np.vstack([square, [[0.5, 0.0], [0.3, 0.4], [0.45, 0.2], [0.2, -0.1]]])
    plain = Z.copy()
    for _ in range(100):
        plain = layer(plain, 1.0, follow_sets(plain))
    kept = simulate_variant(Z, 1.0, 100, rule=Hardmax())
    assert abs(plain[4, 1]) > 0.1
    assert kept.tokens[100, 4] == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("causal", [False, True])
def test_several_heads_are_told_apart_from_their_leaders_at_any_depth(causal):
    Z = np.random.default_rng(0).normal(size=(60, 2))
    heads = [np.eye(2), np.diag([1.0, 3.0]), np.array([[2.0, 1.0], [1.0, 2.0]])]
    traj = simulate_variant(Z, 1, 150, rule=Hardmax(), heads=heads, causal=causal)
    assert traj.undecided == 0
    assert traj.follows(150) == traj.follows(40)
    assert all(len(followed) <= 3 for followed in traj.follows(150))
    assert set().union(*traj.follows(150)) <= set(traj.leaders.tolist())


def test_a_token_that_two_heads_send_to_two_leaders_ends_between_them():
    Z = [[2.0, 0.0], [0.0, 2.0], [0.5, 0.5]]
    traj = simulate_variant(Z, 1, 200, rule=Hardmax(), heads=[np.diag([3.0, 1.0]), np.diag([1.0, 3.0])])
    assert traj.tokens[200, 2].tolist() == [1.0, 1.0]
    assert traj.follows(200)[2] == (0, 1)
    assert (traj.undecided, traj.outcome.kind) == (0, "settled")


def test_two_heads_whose_mean_changes_the_winner_are_not_locked_too_early():
    # Head 0 sends token 3 to leader 0 and head 1 to leader 1; on the way to their mean head 0 comes to prefer leader 2.
    Z = [[0.0, 4.0], [6.0, 0.0], [3.0, 3.5], [0.1, 1.0]]
    heads = [np.eye(2), np.diag([20.0, 1.0])]
    traj = simulate_variant(Z, 0.1, 100, rule=Hardmax(), heads=heads)
    assert traj.follows(0)[3] == (0, 1)
    sets = [traj.follows(k)[3] for k in range(101)]
    assert (1, 2) in sets
    exact = simulate_exact(Z, 0.1, None, 60, heads=heads)
    assert [exact.follows(k) for k in range(61)] == [traj.follows(k) for k in range(61)]


def test_a_matrix_of_zeros_lets_everyone_follow_everyone_without_doubt():
    Z = np.random.default_rng(2).normal(size=(8, 3))
    traj = simulate_variant(Z, 1, 3, rule=Hardmax(), A=np.zeros((3, 3)), definite=False)
    assert traj.follows(3) == (tuple(range(8)),) * 8
    assert traj.undecided == 0


def looked(Z, heads, layer=0, error=0.0):
    """The locks after a look at a cloud of distinct tokens."""
    Z = np.array(Z, float)
    everyone = np.arange(len(Z))
    scene = Scene(Z, everyone, everyone, everyone, causal=False, layer=layer, error=error)
    metrics = [metric(A, Z.shape[1]) for A in heads]
    locks = Locks(len(Z), Z.shape[1], 1.0)
    nobody = np.zeros(len(Z), bool)
    gazes = [attend(scene, m, Hardmax(), everyone, behind=lambda q, among, power: nobody[among]) for m in metrics]
    locks.add(scene, everyone, gazes, metrics)
    return locks


def test_a_follower_is_locked_only_if_its_leader_wins_by_more_than_rounding():
    Z = [[1.0, 1.0], [1.0, -1.0], [-2.0, 0.0], [0.5, 1e-11], [0.5, 0.1]]
    assert looked(Z, [None], layer=1).target.tolist() == [0, 1, 2, 0, 0]
    assert looked(Z, [None], layer=1, error=1e-9).target.tolist() == [0, 1, 2, -1, 0]


def test_an_exact_tie_of_leaders_is_locked_without_doubt():
    Z = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.5, 0.0]]
    assert looked(Z, [None], layer=1).undecided == 1  # tokens of later layers may be off
    locks = looked(Z, [None])
    assert locks.followed(4).tolist() == [0, 1]
    assert (locks.base[4].tolist(), locks.offset[4].tolist()) == ([1.0, 0.0], [-0.5, 0.0])
    assert locks.undecided == 0


@pytest.mark.parametrize(("tokens", "heads", "exact"), [(8191, 1, 1), (8192, 1, 0), (4095, 2, 1), (4096, 2, 0)])
def test_a_mean_is_taken_for_exact_only_if_it_is_one_of_fewer_than_8192_tokens(tokens, heads, exact):
    Z = np.concatenate(([[1.0, 1.0], [1.0, -1.0], [0.5, 0.0]], np.arange(2 * tokens - 6).reshape(-1, 2) / -(2.0**16)))
    everyone = np.arange(tokens)
    scene, locks = Scene(Z, everyone, everyone, everyone, causal=False, layer=0), Locks(tokens, 2, 1.0)
    tied = {2: [np.array([0, 1])] * heads}
    locks._lock_ties(scene, everyone, np.array([[1.0, 0.0]]), [metric(None, 2)] * heads, tied)
    assert locks.followed(2).tolist() == [0, 1]
    assert locks.undecided == (0 if exact else heads)


def test_a_token_of_two_heads_is_locked_onto_the_mean_of_their_leaders():
    locks = looked([[2.0, 0.0], [0.0, 2.0], [0.5, 0.5]], [np.diag([3.0, 1.0]), np.diag([1.0, 3.0])])
    assert locks.followed(2).tolist() == [0, 1]
    assert locks.base[2].tolist() == [1.0, 1.0]


def locked_onto_zero(target, since, offset):
    """Three tokens at one place of float64, at layer 2 of a run with alpha = 1; the groups behind for q = (1, 0)."""
    locks = Locks(3, 2, 1.0)
    locks.target[:], locks.since[:], locks.offset[:] = target, since, offset
    nobody = np.arange(3)
    return locks, Scene(np.ones((3, 2)), nobody, nobody, nobody, causal=False, layer=2)


def test_of_two_followers_the_one_that_is_nearer_by_now_decides():
    # At layer 2 they are (1/4) 1 and (1/2) (3/4) ahead of their leader.
    locks, scene = locked_onto_zero([0, 0, 0], [0, 0, 1], [[0, 0], [1, 0], [0.75, 0]])
    lost = locks.behind(scene, metric(None, 2), np.array([1.0, 0.0]), np.array([1, 2]))
    assert lost.tolist() == [True, False]


@pytest.mark.parametrize(("ahead", "lost"), [(1.0, [True, True, False]), (-1.0, [False, False, True])])
def test_the_leaders_of_a_tie_stand_for_the_point_that_a_token_tends_to(ahead, lost):
    locks, scene = locked_onto_zero([0, 1, 3], [0, 0, 0], [[0, 0], [0, 0], [ahead, 0]])
    locks.ties = [np.array([0, 1])]
    assert locks.behind(scene, metric(None, 2), np.array([1.0, 0.0]), np.arange(3)).tolist() == lost


def test_who_is_locked_at_this_layer_was_not_yet_told_apart_at_it():
    for since, lost in ((1, [True, False]), (2, [False, False]), (3, [False, False])):
        locks, scene = locked_onto_zero([0, 0, 0], [0, since, since], [[0, 0], [1, 0], [2, 0]])
        assert locks.behind(scene, metric(None, 2), np.array([1.0, 0.0]), np.array([1, 2])).tolist() == lost


def test_tokens_are_free_up_to_the_layer_at_which_they_are_locked():
    locks = Locks(4, 1, 1.0)
    locks.since[:3] = [2, 3, 4]
    assert locks.free(np.arange(4), 3).tolist() == [1, 2, 3]


@pytest.mark.parametrize(("layer", "error", "power", "size"), [(0, 0.0, 1.0, 1.0), (9, 0.0, 1.0, 1.0),
                                                               (1, 1e-9, 1.0, 1.0), (1, 1e-9, 4.0, 3.0)])  # fmt: skip
def test_an_offset_counts_if_it_is_seen_beyond_the_error_of_the_query(layer, error, power, size):
    """The query is off by 64 + 2 layer units of rounding of its length, and by 2 |A| power times that of tokens."""
    m = metric(None if size == 1 else size * np.eye(2), 2)
    query, eps = np.array([3.0, 4.0]), np.finfo(float).eps
    sure = (64 + 2 * layer) * eps * 5.0 + 2 * m.normalized.size * error * power
    nobody = np.arange(3)
    scene = Scene(np.ones((3, 2)), nobody, nobody, nobody, causal=False, layer=layer, error=error)
    across, along = np.array([-0.8, 0.6]), query / 25
    for share, lost in ((0.98, False), (1.02, True)):
        locks = Locks(3, 2, 1.0)
        locks.target[:], locks.since[:] = 0, -1
        locks.offset[1:] = across, across - share * sure * along
        found = locks.behind(scene, m, query, np.array([1, 2]), power)
        assert found.tolist() == [False, lost]
        locks.offset[1] = across - share * sure * along
        assert locks.behind(scene, m, query, np.array([0, 1]), power).tolist() == [False, lost]


def test_a_tie_may_lie_behind_its_face_by_the_width_of_a_tie_and_no_more(monkeypatch):
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [1.125, 0.0], [0.5, 0.0]])
    everyone = np.arange(4)
    scene = Scene(Z, everyone, everyone, everyone, causal=False, layer=0)
    for width, locked in ((0.125, True), (0.1249, False)):
        band = np.array([width])
        monkeypatch.setattr(locks_module, "widths", lambda *_, band=band: Widths(band, band))
        locks = Locks(4, 2, 1.0)
        locks._lock_ties(scene, everyone, np.array([[1.0, 0.0]]), [metric(None, 2)], {3: [np.array([0, 1])]})
        assert bool(locks.target[3] >= 0) is locked
        assert locks.undecided == (2 if locked else 0)  # both leaders are as close to the best score as the bound


def test_a_causal_token_that_looks_away_from_itself_stops_where_it_would_turn():
    """With A = -1, -1 looks at 1 until it has passed zero, where it follows itself; it is in its own way."""
    traj = simulate_variant([[1.0], [-1.0]], 0.5, 9, A=[[-1.0]], rule=Hardmax(), causal=True, definite=False)
    assert traj.tokens[:, 1, 0] == pytest.approx([-1, -1 / 3, *[1 / 9] * 8])
    assert [traj.follows(k)[1] for k in (0, 1, 2, 9)] == [(0,), (0,), (1,), (1,)]
