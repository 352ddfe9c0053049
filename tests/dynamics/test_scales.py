"""Clouds of mixed scales, 1e-323 to 1e300, against rational arithmetic: what is certified is right and verifies."""

import warnings
from collections import Counter
from dataclasses import replace
from math import cos, pi, sin

import numpy as np
import pytest
from fuzz_clouds import hard_cloud, wrong_with

import hardmax as hx

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
CIRCLE = [[cos(pi * k / 4), sin(pi * k / 4)] for k in range(8)]


@pytest.mark.parametrize("seed", range(4))
def test_clouds_of_mixed_scales_agree_with_rational_arithmetic(seed):
    answers = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(8):
            wrong, answered = wrong_with(*hard_cloud(np.random.default_rng([seed, number])))
            assert wrong == [], (seed, number)
            answers += answered
    assert answers["compared"] > 8  # most of the four answers per cloud are compared


@pytest.mark.parametrize("others", [SQUARE, CIRCLE, [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]])
@pytest.mark.parametrize("tiny", [1.0, 1e-100, 1e-167, 1e-300, 2.0**-1040])
def test_a_token_too_small_for_its_products_follows_the_direction_it_has(others, tiny):
    """Regression: certified, verified and wrong, because all scores of the last token were 0."""
    Z = np.array([*others, [-0.353553391 * tiny, 0.853553391 * tiny]])
    eq, exact = hx.limit(Z, 0.25), hx.limit(Z, 0.25, exact=True)
    assert (eq.points == exact.points.astype(float)).all()
    assert eq.undecided == 0
    assert eq.certificate.check(Z) == []
    assert hx.simulate(Z, 0.25, layers=3).follows(0) == hx.simulate(Z, 0.25, layers=3, exact=True).follows(0)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_tiny_tokens_in_a_large_cloud_follow_the_direction_they_have(dim):
    """The searches for many points: norm shells, hulls in the plane, trees."""
    rng = np.random.default_rng(dim)
    Z = rng.standard_normal((1500, dim))
    tiny = Z.copy()
    tiny[::3] *= 2.0**-1000
    large = np.flatnonzero(np.arange(1500) % 3)
    scores = Z @ Z[large].T
    expected = large[scores.argmax(axis=1)]
    follows = hx.simulate(tiny, 0.5, layers=1).follows(0)
    assert [follows[i] for i in range(0, 1500, 3)] == [(int(j),) for j in expected[::3]]


def test_a_wrong_limit_of_a_tiny_token_is_refused():
    """The checker must scale queries by itself, or it would accept any leader for such a token."""
    Z = np.array([[1.0, 0.0], [-1.0, 0.0], [-3e-167, 1e-167]])
    c = hx.limit(Z, 0.5).certificate
    target, limit = c.target.copy(), c.limit.copy()
    target[2], limit[2] = 0, Z[0]
    assert c.check(Z) == []
    assert any("does not" in what for what in replace(c, target=target, limit=limit).check(Z))


def test_margins_below_the_normal_range_of_float64_are_accepted_and_others_refused():
    """Regression: a margin of 8e-323 is right to its last bit, but not to nine digits."""
    Z = np.array([[0.0, 3.7e-322], [0.0, -3.7e-322], [3.0, 0.0], [-3.0, 0.0], [1.0, 1.4e-322]])
    c = hx.limit(Z, 0.5, exact=True).certificate
    assert 0 < c.margin < 1e-300
    assert c.check(Z) == []
    assert replace(c, margin=2 * c.margin).check(Z) != []


def test_a_tie_on_the_edge_of_the_tolerance_is_not_refused_for_being_late():
    """Regression: the checker's wider tolerance held the tie of token 6 for decided at layer 0 already."""
    first, second = np.array([2, 1, -1, -2, 2, 2, 0, -2, 0, 0, -1]), np.array([0, -2, -2, -2, -2, 2, -1, 1, -1, 2, 1])
    Z = np.stack([first / 2, 50.0 * second, 5e-13 * np.array([1, 2, -1, 2, 1, 1, 0, 2, 0, 2, 2])], axis=1)
    assert hx.limit(Z, 0.25).certificate.check(Z) == []


@pytest.mark.parametrize("alpha", [1e-12, 0.5])
def test_tokens_that_float64_cannot_tell_apart_are_given_up_at_once(alpha):
    Z = 1.0 + np.spacing(1.0) * np.random.default_rng(7).integers(-2, 3, (400, 5))
    with pytest.raises(hx.NotCertified, match=r"400 of 400 tokens after [1-9] layers"):
        hx.limit(Z, alpha)


def test_tokens_beside_those_that_float64_cannot_tell_apart_are_still_decided():
    near = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52], [1.0 + 2.0**-52, 1.0]])
    Z = np.concatenate([near, [[-9.0, 0.0], [-2.0, 0.1], [-1.0, -0.2]]])
    with pytest.raises(hx.NotCertified) as caught:
        hx.limit(Z, 1e-9)
    assert caught.value.known["certain"].tolist() == [3, 4, 5]
