"""The first phase finds the optimum of a convex problem."""

import numpy as np
import pytest
from scipy.optimize import minimize as by_scipy

from hardmax.sentiment.calibration import BEGINNINGS, beginnings, brier, calibrate, undamped
from hardmax.sentiment.lbfgs import PART, Bounds, dot, minimize
from hardmax.sentiment.model import damped
from hardmax.sentiment.word_scores import Examples, problem, solve
from hardmax.text.vocabulary import Bags

RNG = np.random.default_rng(5)
SIZES = RNG.integers(0, 12, 80)
BAGS = Bags.of(np.concatenate([RNG.permutation(30)[:n] for n in SIZES]), SIZES)


def examples(kind):
    weight = RNG.uniform(0.5, 2.0, 80)
    labels = {"two": RNG.integers(0, 2, 80), "three": RNG.integers(0, 3, 80), "several": RNG.integers(0, 2, (80, 3))}
    return Examples(BAGS, labels[kind].astype(np.int64), weight)


def plain_loss(data, x, bias, neutral):
    """The definition, text by text."""
    total = 0.0
    for t in range(80):
        ids = BAGS.ids[BAGS.offsets[t] : BAGS.offsets[t + 1]]
        s = bias + x[ids].sum(axis=0) / max(len(ids) + neutral, 1e-9)
        if data.labels.ndim == 2:
            loss = np.logaddexp(0, np.where(data.labels[t] == 1, -s, s)).sum()
        elif len(s) == 1:
            loss = np.logaddexp(0, -s[0] if data.labels[t] else s[0])
        else:
            loss = np.log(np.exp(s).sum()) - s[data.labels[t]]
        total += data.weight[t] * loss
    return total / data.weight.sum()


@pytest.mark.parametrize(("kind", "scores"), [("two", 1), ("three", 3), ("several", 3)])
def test_loss_gradient_and_optimum_are_those_of_the_definition(kind, scores):
    data = examples(kind)
    given = problem(data, 30, np.eye(scores), 2.0)
    x, every = RNG.normal(size=(30, scores)), RNG.normal(size=scores)
    loss, by_x, by_every = given.loss(x, every)
    assert loss == pytest.approx(plain_loss(data, x + every, given.prior, 2.0), rel=1e-12)
    h = 1e-6
    for w, k in [(0, 0), (7, scores - 1), (29, 0)]:
        step = np.zeros_like(x)
        step[w, k] = h
        numeric = (given.loss(x + step, every)[0] - given.loss(x - step, every)[0]) / (2 * h)
        assert numeric == pytest.approx(by_x[w, k], rel=1e-4, abs=1e-9)
    numeric = (given.loss(x, every + h)[0] - given.loss(x, every - h)[0]) / (2 * h)
    assert numeric == pytest.approx(by_every.sum(), rel=1e-4, abs=1e-8)

    penalty, g = 1e-3, given.strength

    def value(theta):
        u = theta[: g.size].reshape(g.shape)
        loss, by_x, by_every = given.loss(g * u, theta[g.size :])
        return loss + penalty / 2 * (u**2).sum(), np.concatenate([(g * by_x + penalty * u).ravel(), by_every])

    best = by_scipy(value, np.zeros(g.size + scores), jac=True, method="L-BFGS-B", options={"ftol": 1e-13}).fun
    found = solve(given, penalty)
    assert best <= found.losses[-1] <= best * 1.005
    assert (np.diff(found.losses) < 0).all()


@pytest.mark.parametrize("kind", ["two", "three", "several"])
def test_the_strength_of_a_word_is_a_power_of_its_log_odds(kind):
    scores = 1 if kind == "two" else 3
    data = examples(kind)
    whole, part = (problem(data, 30, np.eye(scores), 2.0, power=power).strength for power in (1.0, 0.7))
    scale = part / whole**0.7
    assert scale == pytest.approx(scale[0, 0], rel=1e-12)
    assert whole.max() / whole.min() > 1.5


def test_minimize_agrees_with_scipy_on_a_hard_valley():
    def valley(x):
        a, b = x
        slope = np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])
        return float((1 - a) ** 2 + 100 * (b - a * a) ** 2), slope

    found, _ = minimize(valley, np.array([-1.2, 1.0]), 500, tolerance=1e-14)
    np.testing.assert_allclose(found, [1.0, 1.0], atol=1e-4)


def test_minimize_within_limits_agrees_with_scipy():
    # A convex function of 40 numbers; the first half may be at most 0.3 in size, the second at least 0.5 and positive.
    rng = np.random.default_rng(2)
    M, b = rng.normal(size=(60, 40)), rng.normal(size=60)
    b += M @ np.r_[np.zeros(20), np.full(20, 0.6)]

    def value(x):
        rest = M @ x - b
        return float(rest @ rest), 2 * M.T @ rest

    low, high = np.r_[np.zeros(20), np.full(20, 0.5)], np.r_[np.full(20, 0.3), np.full(20, np.inf)]
    found, losses = minimize(value, np.ones(40), 500, tolerance=1e-13, bounds=Bounds(low, high))
    box = [(-0.3, 0.3)] * 20 + [(0.5, None)] * 20
    best = by_scipy(value, np.ones(40), jac=True, method="L-BFGS-B", bounds=box, options={"ftol": 1e-15})
    assert losses[-1] == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(found, best.x, atol=1e-3)
    assert np.isclose(np.abs(found[:20]), 0.3).any()
    assert np.isclose(found[20:], 0.5).any()


def test_limits_are_on_the_length_of_rows_and_a_row_may_turn_along_them():
    def value(x):
        return float(((x - np.array([0.0, 3.0, 0.1, 0.0])) ** 2).sum()), 2 * (x - np.array([0.0, 3.0, 0.1, 0.0]))

    limits = Bounds(np.array([0.0, 1.0]), np.array([2.0, np.inf]))
    found, _ = minimize(value, np.array([2.0, 0.0, 0.0, 1.0]), 200, tolerance=1e-12, bounds=limits)
    np.testing.assert_allclose(found, [0.0, 2.0, 1.0, 0.0], atol=1e-3)


def test_beginnings_are_the_first_terms_of_longer_texts():
    long = Examples(Bags.of(np.arange(60), [50, 10]), np.array([1, 0]), np.array([1.0, 2.0]))
    every = beginnings(long)
    assert every.sizes.tolist() == [50, 10, 6, 6, 12, 24, 48]
    assert every.bags.ids[60:66].tolist() == list(range(6))
    assert every.labels.tolist() == [1, 0, 1, 0, 1, 1, 1]
    assert every.weight.tolist() == [1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 1.0]
    assert max(BEGINNINGS) > 50


def test_one_beginning_of_each_text_counts_for_all():
    long = Examples(Bags.of(np.zeros(200_100, np.int32), [100] * 2000 + [5] * 20), np.zeros(2020, int), np.ones(2020))
    some = beginnings(long, 0.5, one=True)
    assert len(some.bags) == 4020
    assert sorted(set(some.sizes[2020:].tolist())) == sorted(BEGINNINGS)
    assert some.weight[2020:].sum() == pytest.approx(beginnings(long, 0.5).weight[2020:].sum())


@pytest.mark.parametrize("size", [3, PART, PART + 1, 1_000_003])
def test_products_that_are_added_up_in_parts_have_the_bits_of_one_sum(size):
    a, b = np.random.default_rng(size).standard_normal((2, size))
    assert dot(a, b, np.empty(size)) == dot(a, b) == float((a * b).sum())


def test_calibration_finds_the_scale_and_the_neutral_words_it_was_made_with():
    rng = np.random.default_rng(1)
    n = rng.integers(1, 60, 20_000)
    sums = rng.normal(0, 1, 20_000) * n
    truth = 0.4 + 3.0 * sums / (n + 12.0)
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    data = Examples(Bags.of(np.zeros(n.sum(), np.int32), n), labels, np.ones(20_000))
    found = calibrate(data, sums[:, None], 1.0, np.array([0.4]))
    assert found.scale == pytest.approx(3.0, rel=0.1)
    assert found.neutral == pytest.approx(12.0, rel=0.2)


def made_with(every, n, sums, rng):
    """Labels of texts whose logits are 0.2 + (2 sums + n every) / (n + 8)."""
    truth = 0.2 + (2.0 * sums + n[:, None] * every) / (n + 8.0)[:, None]
    return (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)


def test_calibration_finds_what_every_word_says_besides_about_each_class():
    rng = np.random.default_rng(3)
    n, every = rng.integers(1, 60, 20_000), np.array([0.9, -0.6, -0.3])
    sums = rng.normal(0, 1, (20_000, 3)) * n[:, None]
    data = Examples(Bags.of(np.zeros(n.sum(), np.int32), n), made_with(every, n, sums, rng), np.ones(20_000))
    found = calibrate(data, sums, 1.0, np.full(3, 0.2), texts=20_000)
    np.testing.assert_allclose(found.every, every, atol=0.08)
    assert found.scale == pytest.approx(2.0, rel=0.1)
    assert found.neutral == pytest.approx(8.0, rel=0.2)
    assert not calibrate(data, sums, 1.0, np.full(3, 0.2)).every.any()


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_calibration_finds_the_damping_it_was_made_with(damping):
    rng = np.random.default_rng(5)
    n, bias = rng.integers(1, 60, 20_000), np.array([0.4, -0.1, -0.3])
    sums = rng.normal(0, 1, (20_000, 3)) * n[:, None]
    truth = damped(bias + 6.0 * sums / (n + 8.0)[:, None], bias, damping)
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    data = Examples(Bags.of(np.zeros(n.sum(), np.int32), n), labels, np.ones(20_000))
    found = calibrate(data, sums, 1.0, bias, damps=20_000)
    assert found.damping == pytest.approx(damping, abs=0.06)
    assert found.scale == pytest.approx(6.0, rel=0.2)
    assert calibrate(data, sums, 1.0, bias).damping == 0.0


def test_the_gradient_through_the_damping_is_that_of_its_differences():
    rng = np.random.default_rng(6)
    scores, bias, weights = rng.normal(0, 2, (5, 4)), rng.normal(size=4), rng.normal(size=(5, 4))
    slope = undamped(weights, scores, bias, 0.7)
    for place in np.ndindex(scores.shape):
        step = np.zeros_like(scores)
        step[place] = 1e-6
        after, before = ((weights * damped(scores + sign * step, bias, 0.7)).sum() for sign in (1, -1))
        assert slope[place] == pytest.approx((after - before) / 2e-6, abs=1e-8)


def test_few_texts_say_little_about_what_every_word_says_besides():
    rng = np.random.default_rng(4)
    n, every = np.full(2000, 30), np.array([0.9, -0.6, -0.3])
    sums = rng.normal(0, 1, (2000, 3)) * n[:, None]
    labels, sizes = made_with(every, n, sums, rng), []
    for texts in (20, 200, 2000):
        data = Examples(Bags.of(np.zeros(30 * texts, np.int32), n[:texts]), labels[:texts], np.ones(texts))
        found = calibrate(data, sums[:texts], 8.0, np.full(3, 0.2), texts=texts)
        sizes.append(np.abs(found.every).sum())
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.parametrize("shape", ["two classes", "four classes", "several labels"])
def test_the_gradient_of_the_brier_score_is_that_of_its_differences(shape):
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 2, (5, 1 if shape == "two classes" else 4))
    labels = rng.integers(0, 2, (5, 4)) if shape == "several labels" else rng.integers(0, max(2, scores.shape[1]), 5)
    weight = rng.uniform(0.5, 2.0, 5)
    _, slope = brier(labels, weight, scores, 0.1)
    for place in np.ndindex(scores.shape):
        step = np.zeros_like(scores)
        step[place] = 1e-6
        after, before = (brier(labels, weight, scores + sign * step, 0.1)[0].sum() for sign in (1, -1))
        assert slope[place] == pytest.approx((after - before) / 2e-6, abs=1e-8)


def test_texts_without_an_error_do_not_make_a_model_certain():
    n = np.full(50, 10)
    labels = np.arange(50) % 2
    data = Examples(Bags.of(np.zeros(500, np.int32), n), labels, np.ones(50))
    sums = np.where(labels == 1, 1e4, -1e4)[:, None]  # so far out that the score has no slope there
    found = calibrate(data, sums, 3.0, np.zeros(1), doubt=1 / 52)
    sure = 1 / (1 + np.exp(-found.scale * sums.max() / (10 + found.neutral)))
    assert 0.98 < sure < 0.995
