"""Who can lead: strong words, a pole for the words that say little, and followers."""

import numpy as np
import pytest
from scipy.optimize import minimize as by_scipy

from corpus import reviews
from hardmax.errors import BadInput
from hardmax.sentiment import lbfgs
from hardmax.sentiment.layers_numpy import flow, powers
from hardmax.sentiment.placing import POLES, chosen, positions, radii, select, start
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.word_scores import Examples, problem, solve
from hardmax.text.vocabulary import Vocabulary

RNG = np.random.default_rng(0)
X = np.clip(RNG.normal(0, 0.25, (400, 1)), -0.95, 0.95)
PART = RNG.uniform(0.01, 0.5, 400)


def test_about_as_many_strong_words_as_asked_for_are_in_a_text():
    for wanted in (1.0, 5.0, 20.0):
        least, strong, _ = chosen(X, PART, Recipe(leaders=wanted), 8)
        assert wanted - 0.5 < PART[strong].sum() <= wanted
        assert np.abs(X[strong, 0]).min() >= np.abs(np.delete(X[:, 0], strong)).max()
        assert least > np.abs(X[strong, 0]).min()


def test_poles_are_the_most_frequent_words_without_opinion():
    _, strong, poles = chosen(X, PART, Recipe(leaders=5.0), 8)
    radius = radii(strong, poles, 0.5, Recipe(), 400)
    neutral = np.abs(X[:, 0]) < 0.25 * np.abs(X[strong, 0]).min()
    assert len(poles) == POLES
    assert neutral[poles].all()
    assert PART[poles].min() >= np.delete(np.where(neutral, PART, 0), poles).max()
    assert (np.diff(radius[poles]) < 0).all()
    assert radius.argmax() == poles[0]


@pytest.mark.parametrize(("recipe", "scores"), [(Recipe(), 1), (Recipe(dim=3, pole_reach=0.5), 3)])
def test_strong_words_lead_themselves_and_all_others_follow_the_pole(recipe, scores):
    texts, labels = reviews(300, seed=8)
    vocabulary = Vocabulary.count(texts, (1, 2))
    labels = np.array([v == "pos" for v in labels], np.int64) + (scores > 1) * (np.arange(300) % 5 == 0)
    given = problem(Examples(vocabulary.bags(texts), labels, np.ones(300)), len(vocabulary), np.eye(scores), 3.0)
    recipe = recipe.settled(given.examples.bags, scores, len(vocabulary))
    begin = start(solve(given, 1e-5), given, recipe, 8, 1e-5)
    z = positions(begin.x, begin.radius, begin.sideways)
    poles, strong = np.flatnonzero(begin.pace == 0), np.flatnonzero(begin.radius == 1.0)
    assert len(poles)
    assert len(strong)
    top = poles[begin.radius[poles].argmax()]
    found = flow(z, powers(recipe.alpha, 8), 8)  # all words in one text
    assert (found.leader[strong] == strong).all()
    assert (np.delete(found.leader, strong) == top).all()
    # The weights with which the scores were found are those of the layers.
    keep = (1 + recipe.alpha) ** -8
    wanted = np.where(begin.radius == 1.0, 1.0, keep)
    wanted[top] += (1 - keep) * (len(z) - len(strong))
    np.testing.assert_allclose(found.weights * len(z), wanted, rtol=1e-9)


def test_the_selection_is_the_optimum_within_its_limits():
    texts, labels = reviews(300, seed=8)
    vocabulary = Vocabulary.count(texts, (1, 2))
    labels = np.array([v == "pos" for v in labels], np.int64)
    given = problem(Examples(vocabulary.bags(texts), labels, np.ones(300)), len(vocabulary), np.eye(1), 3.0)
    free, recipe, g = solve(given, 1e-3), Recipe(leaders=2.0), given.strength[:, 0]
    starts, _ = given.examples.by_word
    least, strong, poles = chosen(free.x, np.diff(starts) / 300, recipe, 8)
    keep, most = (1 + recipe.alpha) ** -8, recipe.follower_radius * recipe.pole_reach
    x, losses = select(free.x, free.every, given, None, 1e-3, strong, poles, (least, (keep, most)), (500, None))
    counts = np.full(len(x), keep)
    counts[strong] = 1.0

    def value(y):
        loss, slope, _ = given.loss(y[:, None], np.zeros(1))
        away = y - free.every[0]
        return loss + 0.5e-3 * ((away / g) ** 2).sum(), slope[:, 0] + 1e-3 * away / g**2

    edge = keep * most * least
    box = [(-edge, edge)] * len(x)
    for w, rank in zip(strong, np.abs(free.x[strong, 0]).argsort(kind="stable").argsort(), strict=True):
        low = least * (1 + 0.1 * rank / max(len(strong) - 1, 1))
        box[w] = (low, None) if free.x[w, 0] > 0 else (None, -low)
    for w in poles:
        box[w] = (0.0, 0.0)
    best = by_scipy(value, x[:, 0] * counts, jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": 2000})
    assert value(x[:, 0] * counts)[0] == pytest.approx(losses[-1])
    assert best.fun <= losses[-1] <= best.fun * 1.005
    assert losses[-1] > free.losses[-1]


def test_words_with_several_scores_that_do_not_fit_into_the_cache_can_lead(monkeypatch):
    texts, labels = reviews(60, seed=2)
    vocabulary = Vocabulary.count(texts, (1, 2))
    classes = np.arange(len(texts)) % 2 + (np.array(labels) == "pos")
    data = Examples(vocabulary.bags(texts), classes, np.ones(len(texts)))
    given = problem(data, len(vocabulary), np.eye(3), 5.0)
    found = solve(given, 1e-4)
    expected = start(found, given, Recipe(dim=4, layers=4), 4, 1e-4)
    monkeypatch.setattr(lbfgs, "PART", 64)
    made = start(found, given, Recipe(dim=4, layers=4), 4, 1e-4)
    np.testing.assert_allclose(made.x, expected.x, atol=1e-6)


def test_a_pole_reaches_as_far_as_it_should():
    radius = radii(np.array([0]), np.array([1, 2]), 0.8, Recipe(pole_reach=0.5), 4)
    # A word on the unit circle follows the weaker pole exactly if |x| < 2/3 of the weakest leader's 0.8, the stronger
    # one if |x| < 5/6 of it; no strong word follows either.
    assert radius[[0, 3]].tolist() == [1.0, 0.98]
    for pole, reach in ((2, 2 / 3), (1, 5 / 6)):
        for score, follows in ((0.8 * reach - 0.01, True), (0.8 * reach + 0.01, False)):
            assert (radius[pole] * np.sqrt(1 - score**2) > 1) == follows


@pytest.mark.parametrize(
    "settings",
    [{"leaders": 0.0}, {"leaders": "many"}, {"pole_reach": 1.5}, {"follower_radius": -0.1}, {"dropout": 1.0}],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(BadInput, match=next(iter(settings))):
        Recipe(**settings)
