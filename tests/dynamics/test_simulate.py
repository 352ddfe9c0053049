"""`simulate`: agreement with the definition, and the facts of the theory, in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import hardmax as hx
import reference
from cases import cases
from hardmax.dynamics.follow_sets import SetTable
from hardmax.errors import BadInput
from systems import tie_rich

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
quick = settings(derandomize=True, deadline=None, max_examples=60)


def random_clouds(count, seed=0, most=60):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, d = int(rng.integers(1, most)), int(rng.integers(1, 7))
        Z = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
        if rng.random() < 0.3:
            Z = np.concatenate([Z, Z[rng.integers(0, n, size=3)]])
        A = None
        if rng.random() < 0.3:
            R = rng.normal(size=(d, d))
            A = R @ R.T + 0.1 * np.eye(d)
            A = (A + A.T) / 2
        yield Z, float(rng.choice([0.1, 0.5, 1.0, 3.0])), A


clouds = st.integers(1, 3).flatmap(
    lambda d: arrays(
        np.float64, st.tuples(st.integers(1, 12), st.just(d)), elements=st.integers(-8, 8).map(lambda k: k / 4)
    )
)


def test_random_clouds_agree_with_the_definition():
    for Z, alpha, A in random_clouds(300):
        states, sets = reference.run(Z, alpha, 6, A, tol=1e-13)
        traj = hx.simulate(Z, alpha, A, layers=6)
        scale = np.abs(Z).max()
        assert np.abs(traj.tokens - np.array(states)).max() <= 1e-12 * scale
        assert tuple(traj.follows(k) for k in range(7)) == tuple(sets)
        assert traj.leader_since == reference.leader_since(states, sets)


def test_large_clouds_go_another_way_and_agree_too(monkeypatch):
    monkeypatch.setattr("hardmax.attention.small.SMALL", 0)
    for Z, alpha, A in random_clouds(150, seed=1):
        states, sets = reference.run(Z, alpha, 5, A, tol=1e-13)
        traj = hx.simulate(Z, alpha, A, layers=5)
        assert np.abs(traj.tokens - np.array(states)).max() <= 1e-12 * np.abs(Z).max()
        assert tuple(traj.follows(k) for k in range(6)) == tuple(sets)
        assert traj.leader_since == reference.leader_since(states, sets)


def test_tie_rich_clouds_follow_the_exact_sets_for_many_layers():
    """Ties survive rounding, and collapsed followers do not join their leader: 40 layers as in rational arithmetic."""
    compared, count = 0, cases(50, 500)
    for seed in range(count):
        _, tokens, alpha, A = tie_rich(seed, largest=12)
        Z = np.array(tokens, dtype=float)
        exact = hx.simulate(tokens, alpha, A, layers=40, exact=True)
        if (exact.tokens[0] != Z).any() or float(alpha) != alpha:
            continue  # tenths: another problem in float64
        rounded = hx.simulate(Z, float(alpha), None if A is None else np.array(A, dtype=float), layers=40)
        differing = [k for k in range(41) if exact.follows(k) != rounded.follows(k)]
        assert not differing or rounded.undecided > 0, seed
        compared += not differing
    assert compared > count / 2


def test_copies_of_a_token_tie_and_lead_together():
    traj = hx.simulate([[1, 0], [1, 0], [-1, 0], [0.5, 0.1]], layers=3)
    assert traj.follows(0) == ((0, 1), (0, 1), (2,), (0, 1))
    assert traj.leaders.tolist() == [0, 1, 2]


def test_ties_are_averaged_with_multiplicity():
    traj = hx.simulate([*SQUARE, [1, 1], [0.5, 0]], alpha=1.0, layers=1)
    assert traj.follows(0)[5] == (0, 2, 4)
    assert traj.tokens[1][5] == pytest.approx([0.75, 1 / 6])


def test_a_zero_token_follows_everybody():
    traj = hx.simulate([[2, 0], [-1, 0], [0, 0]], alpha=1.0, layers=1)
    assert traj.follows(0)[2] == (0, 1, 2)
    assert traj.tokens[1][2] == pytest.approx([1 / 6, 0])


def test_leaders_are_not_lost_after_many_layers():
    """Fact 10: followers merge with their leader in float64; the plain test C_i = {i} would forget it."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(30, 2))
    short, long = hx.simulate(Z, layers=20), hx.simulate(Z, layers=400)
    assert set(short.leader_since) <= set(long.leader_since)
    assert all(long.follows(400)[i] == (i,) for i in long.leaders)


def test_an_emerging_leader_carries_its_layer():
    traj = hx.simulate(hx.preset("emerging"), layers=10)
    assert traj.leader_since == {0: 0, 1: 1, 2: 0}


def test_zero_layers_tell_the_follow_sets_of_the_input():
    traj = hx.simulate(SQUARE, layers=0)
    assert traj.tokens.shape == (1, 4, 2)
    assert traj.leaders.tolist() == [0, 1, 2, 3]
    assert traj.outcome.kind == "moving"


def test_the_layer_must_exist():
    traj = hx.simulate(SQUARE, layers=2)
    assert traj.follows(-1) == traj.follows(2)
    with pytest.raises(hx.BadInput, match=r"layer 3 is outside 0\.\.2"):
        traj.follows(3)


def test_the_outcome_says_whether_the_run_settled_and_what_is_final():
    Z = hx.preset("emerging")
    assert hx.simulate(SQUARE, layers=3).outcome.kind == "settled"
    assert hx.simulate(Z, layers=100).outcome.kind == "settled"
    moving = hx.simulate(Z, layers=3).outcome
    assert moving.kind == "moving"
    assert "final from layer 1 on" in moving.detail
    assert "final" not in hx.simulate(Z, alpha=0.01, layers=3).outcome.detail
    assert hx.simulate(Z, layers=3, exact=True).outcome.kind == "moving"
    assert hx.simulate(Z, layers=150, exact=True).outcome.kind == "settled"


def test_tie_tolerance_widens_ties():
    Z = [*SQUARE, [0.5, 1e-6]]
    assert hx.simulate(Z, layers=0).follows(0)[4] == (0,)
    assert hx.simulate(Z, layers=0, rule=hx.Hardmax(tie_tolerance=1e-5)).follows(0)[4] == (0, 2)


def test_close_scores_are_counted_not_guessed():
    angle = 2 * np.pi * np.arange(5) / 5
    pentagon = np.c_[np.cos(angle), np.sin(angle)]
    Z = np.r_[pentagon, (pentagon + np.roll(pentagon, -1, axis=0)) / 4]
    assert hx.simulate(Z, layers=5).undecided > 0
    assert hx.simulate([*SQUARE, [0.5, 0]], layers=5).undecided == 0


# -- the facts of the theory ----------------------------------------------------------------------------------------


@quick
@given(clouds, st.sampled_from([0.25, 0.5, 1.0, 4.0]))
def test_leaders_stand_still(Z, alpha):
    traj = hx.simulate(Z, alpha, layers=8)
    for i, since in traj.leader_since.items():
        assert (traj.tokens[since:, i] == traj.tokens[since, i]).all()


@quick
@given(clouds, st.sampled_from([0.25, 0.5, 1.0, 4.0]))
def test_norms_never_fall(Z, alpha):
    g = alpha / (1 + alpha)
    traj = hx.simulate(Z, alpha, layers=6)
    for k in range(6):
        now, then = traj.tokens[k], traj.tokens[k + 1]
        step = (then - now) / g  # m_i - z_i
        bound = (now**2).sum(1) + g**2 * (step**2).sum(1)
        assert ((then**2).sum(1) >= bound - 1e-12).all()


@quick
@given(clouds)
def test_the_convex_hull_never_grows(Z):
    traj = hx.simulate(Z, layers=5)
    directions = np.random.default_rng(0).normal(size=(50, Z.shape[1]))
    reach = (traj.tokens @ directions.T).max(axis=1)
    assert (np.diff(reach, axis=0) <= 1e-12).all()


@quick
@given(clouds, st.sampled_from([0.5, 1.0]))
def test_tokens_never_collide(Z, alpha):
    traj = hx.simulate(Z, alpha, layers=4)
    distance = np.linalg.norm(traj.tokens[:, :, None] - traj.tokens[:, None], axis=-1)
    assert (distance[1:] >= distance[:-1] / (1 + alpha) - 1e-12).all()


def test_a_matrix_is_a_change_of_coordinates():
    rng = np.random.default_rng(4)
    for d in (2, 3, 5):
        R = rng.normal(size=(d, d)) + 2 * np.eye(d)
        A = R @ R.T
        A = (A + A.T) / 2
        Z = rng.normal(size=(80, d))
        ours, moved = hx.simulate(Z, A=A, layers=6), hx.simulate(Z @ R, layers=6)
        assert np.abs(ours.tokens @ R - moved.tokens).max() < 1e-10
        assert ours.leader_since == moved.leader_since


def test_without_rescaling_tokens_grow_without_bound():
    traj = hx.simulate([[1, 0], [0, 1], [-1, -1]], layers=40, normalization="none")
    assert traj.outcome.kind == "growing"


# -- batches --------------------------------------------------------------------------------------------------------


def test_a_ragged_batch_equals_its_clouds_one_by_one():
    rng = np.random.default_rng(5)
    batch = [rng.normal(size=(n, 3)) for n in (1, 2, 50, 7, 300)] + [np.array([*SQUARE, [0.5, 0]]) @ np.eye(2, 3)]
    result = hx.simulate(batch, layers=7)
    assert len(result) == 6
    for b, Z in enumerate(batch):
        alone = hx.simulate(Z, layers=7)
        assert (result.last[b] == alone.tokens[-1]).all()
        assert result.leaders[b].tolist() == alone.leaders.tolist()
        assert (result[b].tokens == alone.tokens).all()


def test_a_batch_does_not_depend_on_how_it_is_split():
    rng = np.random.default_rng(6)
    batch = [rng.normal(size=(int(n), 2)) for n in rng.integers(1, 100, size=40)]
    whole = hx.simulate(batch, layers=5)
    parts = [t for s in range(0, 40, 7) for t in hx.simulate(batch[s : s + 7], layers=5).last]
    assert all((a == b).all() for a, b in zip(whole.last, parts, strict=True))


def test_the_number_of_threads_does_not_show(monkeypatch):
    rng = np.random.default_rng(7)
    batch = [rng.normal(size=(100, 2)) for _ in range(300)]
    cloud = rng.normal(size=(30_000, 3))
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("hardmax.jit.threads.threads", lambda threads=threads: threads)
        results.append(
            [*hx.simulate(batch, layers=4).last, hx.simulate(cloud, layers=2).tokens, hx.limit(cloud).points]
        )
    for other in results[1:]:
        assert all((a == b).all() for a, b in zip(results[0], other, strict=True))


def test_a_batch_of_any_rule_is_a_batch():
    batch = hx.simulate([np.eye(2), np.eye(3)[:, :2]], layers=3, rule=hx.Softmax(2.0))
    assert len(batch) == 2
    assert batch[1].tokens.shape == (4, 3, 2)
    assert [len(t.tokens) for t in batch] == [4, 4]
    with pytest.raises(IndexError):
        batch[2]


def test_bad_input_in_a_batch_names_the_cloud():
    with pytest.raises(hx.BadInput, match=r"Z\[1\].*token 0"):
        hx.simulate([np.eye(2), np.array([[np.nan, 0]])])
    with pytest.raises(hx.BadInput, match="cloud 1"):
        hx.simulate([np.eye(2), np.array([[np.nan, 0]])], rule=hx.Uniform())


def test_what_has_no_rational_value_is_refused():
    with pytest.raises(hx.NotExact, match="Softmax"):
        hx.simulate(SQUARE, rule=hx.Softmax(), exact=True)
    with pytest.raises(hx.NotExact, match="tie_tolerance"):
        hx.simulate(SQUARE, rule=hx.Hardmax(tie_tolerance=1e-3), exact=True)


def test_a_token_that_ties_later_follows_one_token_before():
    """Found by `hardmax verify`: layers before a tie was decided reported the set of the tie."""
    Z = np.array([[-2, -2, 0], [-4, 0, -1], [-4, 0, 1], [-0.5, -1, 0]], float)
    traj = hx.simulate(Z, alpha=1.0, layers=12)
    exact = hx.simulate(Z, alpha=1, layers=12, exact=True)
    assert traj.follows(0)[3] == (0,)
    assert [traj.follows(k) for k in range(13)] == [exact.follows(k) for k in range(13)]


def test_follow_sets_are_equal_to_any_sequence_with_the_same_sets():
    sets = [((0,), (0, 1)), ((0,), (0,))]
    table = SetTable.of(sets)
    assert table == sets
    assert table == SetTable.of(sets)
    assert table != sets[:1]
    assert table != [*sets, sets[1]]
    assert table != [sets[0], sets[0]]
    assert table != 7


def test_a_run_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("hardmax.dynamics.history.memory", lambda: 10**5)
    Z = [[1.0, 0.0], [-1.0, 0.0], [0.5, 0.1]]
    for options in ({}, {"rule": "softmax"}, {"heads": [np.eye(2)]}):
        with pytest.raises(BadInput, match=r"3,001 layers of 3 tokens take 0\.00014 GB.*\n.*keep=.last.") as error:
            hx.simulate(Z, layers=3000, **options)
        assert "this machine has 0.0001 GB" in error.value.what
        assert hx.simulate(Z, layers=3000, keep="last", **options).layers == 3000
    assert hx.simulate(Z, layers=1000).layers == 1000
