"""The float64 engine: what it decides is right, what it cannot decide it counts, merged followers stay apart."""

import numpy as np
import pytest

import hardmax as hx
from cases import cases
from hardmax.cloud.metric import metric
from hardmax.cloud.tokens import cloud
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.dynamics.engine import Run

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]


def run_of(Z, alpha=0.5, A=None):
    c = cloud(Z)
    return Run(c, alpha, metric(A, c.dim))


def near_ties(rng):
    """A cloud in which many scores nearly tie, at every scale from far above rounding to below it."""
    n, d = int(rng.integers(3, 14)), int(rng.integers(1, 4))
    Z = rng.normal(size=(n, d))
    close = Z[rng.integers(0, n, size=n)] + rng.normal(size=(n, d)) * 10.0 ** -rng.uniform(8, 18, size=(n, 1))
    mirrored = Z * rng.choice([-1.0, 1.0], size=d) + rng.normal(size=(n, d)) * 10.0 ** -rng.uniform(8, 18, size=(n, 1))
    return np.concatenate([Z, close, mirrored])


def test_where_nothing_is_undecided_the_follow_sets_are_exact():
    rng = np.random.default_rng(0)
    clear = 0
    for _ in range(150):
        Z, alpha = near_ties(rng), float(rng.choice([0.25, 1.0, 3.0]))
        rounded = hx.simulate(Z, alpha, layers=4)
        if rounded.undecided:
            continue
        exact = hx.simulate(Z, alpha, layers=4, exact=True)
        assert [rounded.follows(k) for k in range(5)] == [exact.follows(k) for k in range(5)]
        assert rounded.leader_since == exact.leader_since
        clear += 1
    assert 30 < clear < 150  # both happen


@pytest.mark.slow
def test_proved_limits_of_near_ties_are_those_of_rational_arithmetic():
    rng = np.random.default_rng(1)
    proved, count = 0, cases(40, 400)
    for _ in range(count):
        Z = near_ties(rng)
        try:
            eq = hx.limit(Z, 1.0)
        except hx.NotCertified:  # said, not guessed
            continue
        if eq.undecided:
            continue
        exact = hx.limit(Z, 1.0, exact=True)
        assert eq.leader_since == exact.leader_since
        assert np.abs(eq.points - exact.points.astype(float)).max() < 1e-12 * np.abs(Z).max()
        assert eq.certificate.check(Z) == []
        proved += 1
    assert proved > count / 5


def test_a_look_names_leaders_followers_and_ties():
    run = run_of([*SQUARE, [0.5, 0.1], [0.5, 0.0]])
    look = run.look()
    assert look.target.tolist() == [0, 1, 2, 3, 0, -1]
    assert look.ties[5].tolist() == [0, 2]
    assert run.role.tolist() == [LEADER] * 4 + [FOLLOWER, TIE]
    assert len(run.active) == 0
    assert run.groups[0].tolist() == [0, 2]


def test_a_follower_merged_with_its_leader_is_still_told_apart():
    """Token 4 follows the leader 0 and equals it in float64 after 60 layers; only its offset says on which side."""
    run = run_of([*SQUARE, [1.0, 0.9]], alpha=1.0)
    look = run.look()
    for _ in range(60):
        run.move(look)
        look = run.look()
    assert (run.points[4] == run.points[0]).all()
    row, index = np.zeros(2, np.int64), np.array([0, 4])
    for query, behind in (([1.0, 1.0], [False, True]), ([1.0, -1.0], [True, False]), ([1.0, 0.0], [False, False])):
        assert (
            run._behind_its_base(row, index, np.array([query]), np.array([True, True]), np.ones(1)).tolist() == behind
        )


def test_a_zero_token_between_rounded_symmetric_tokens_stays():
    """Regression: the mean of the others is 1e-18 by rounding, a direction that must not be taken for one."""
    A = np.array([[13.0, 2, -2], [2, 4, -1], [-2, -1, 2]])
    side = np.array([-1.0, 0.0, 1.0])
    Z = np.array(np.meshgrid(side, side, side)).reshape(3, -1).T
    eq = hx.limit(Z, 0.5, A)
    zero = int(np.flatnonzero((Z == 0).all(axis=1))[0])
    assert np.abs(eq.points[zero]).max() < 1e-12
    assert eq.certificate.check(Z) == []


def test_closed_forms_continue_the_layers():
    run = run_of([*SQUARE, [0.5, 0.1]])
    look = run.look()
    at = run.decided_points(7)[4]
    for _ in range(7):
        run.move(look)
        look = run.look()
    assert run.points[4] == pytest.approx(at, abs=1e-15)


def test_the_mean_of_a_very_large_tie_does_not_lose_its_last_bits():
    """Regression: a plain sum over 1e5 tied points is off by a thousand roundings, which no bound had counted."""
    from math import fsum

    from hardmax.attention.ties import weighted_mean

    rng = np.random.default_rng(0)
    points = np.c_[np.full(100_000, 0.1), rng.normal(size=100_000)]
    weights = rng.integers(1, 4, size=100_000).astype(float)
    exact = [fsum(np.repeat(points[:, k], weights.astype(int)).tolist()) / weights.sum() for k in range(2)]
    assert np.abs(weighted_mean(points, weights) - exact).max() <= 4 * 2.0**-53 * np.abs(points).max()
    run = run_of(np.r_[points, [[0.0, 0.0]]])
    run.move(run.look())
    mean = [fsum([*points[:, k].tolist(), 0.0]) / 100_001 for k in range(2)]
    assert np.abs(run.points[-1] - np.array(mean) / 3).max() <= 10 * 2.0**-53 * np.abs(points).max()


@pytest.mark.parametrize("condition", [1e8, 1e10, 1e12])
def test_ill_conditioned_matrices_give_certificates_that_hold_or_none(condition):
    """Regression: candidates rescored in another order than they were found in lost even the best of them."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 4))
        Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
        A = Q @ np.diag(np.geomspace(1.0, condition, d)) @ Q.T
        A = (A + A.T) / 2
        Z = rng.normal(size=(1500 if seed < 4 else 40, d))
        try:
            eq = hx.limit(Z, 0.5, A)
        except hx.NotCertified:
            continue
        assert eq.certificate.check(Z) == [], seed
        hx.simulate(Z, 0.5, A, layers=3)


def test_decimal_grids_have_certificates_that_hold():
    """Regression: limits that two ties share are snapped to one value, and the check took the last bit for motion."""
    Z = np.array([[0, 0], [1, -1], [-1, 0], [0, 1], [-1, -1], [-1, 1], [1, 1], [1, 0]]) / 10
    for alpha in (0.01, 0.1, 0.5):
        assert hx.limit(Z, alpha).certificate.check(Z) == []


def test_offsets_are_no_evidence_beyond_their_own_rounding():
    run = run_of([*SQUARE, [1.0, 0.9]], alpha=1.0)
    run.look()
    run.layer, run.decided_at[4] = 50, 40
    run._keep(np.array([4]), np.array([[0.0, 100 * 2.0**-52]]))  # its offset is nothing but rounding
    pair = np.zeros(2, np.int64), np.array([0, 4])
    assert not run._behind_its_base(*pair, np.array([[1.0, 1.0]]), np.array([True, True]), np.ones(1)).any()


@pytest.mark.slow
def test_certificates_of_clouds_at_the_edge_of_the_tie_band_hold():
    """Regression: engine and check must agree on scores that lie right at the band."""
    for seed in range(cases(60, 600)):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 12)), int(rng.integers(1, 4))
        centers = rng.normal(size=(int(rng.integers(1, 4)), d))
        Z = centers[rng.integers(0, len(centers), n)] + rng.normal(size=(n, d)) * 10.0 ** -rng.uniform(9, 15)
        try:
            eq = hx.limit(Z, 0.5)
        except hx.NotCertified:
            continue
        assert eq.certificate.check(Z) == [], seed
