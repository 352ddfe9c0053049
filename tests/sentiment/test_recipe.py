"""Who can lead: strong words, a pole for the words that say little, and followers."""

import numpy as np
import pytest

from hardmax.errors import BadInput
from hardmax.sentiment.layers_numpy import flow, powers
from hardmax.sentiment.placing import POLES, positions, radii
from hardmax.sentiment.recipe import Recipe

RNG = np.random.default_rng(0)
X = np.clip(RNG.normal(0, 0.25, (400, 1)), -0.95, 0.95)
PART = RNG.uniform(0.01, 0.5, 400)


def test_about_as_many_strong_words_as_asked_for_are_in_a_text():
    for wanted in (1.0, 5.0, 20.0):
        radius, _ = radii(X, PART, Recipe(leaders=wanted))
        assert wanted - 0.5 < PART[radius == 1.0].sum() <= wanted
        assert np.abs(X[radius == 1.0, 0]).min() >= np.abs(X[radius < 1.0, 0]).max()


def test_poles_are_the_most_frequent_words_without_opinion():
    radius, poles = radii(X, PART, Recipe(leaders=5.0))
    neutral = np.abs(X[:, 0]) < 0.25 * np.abs(X[radius == 1.0, 0]).min()
    assert len(poles) == POLES
    assert neutral[poles].all()
    assert PART[poles].min() >= np.delete(np.where(neutral, PART, 0), poles).max()
    assert (np.diff(radius[poles]) < 0).all()
    assert radius.argmax() == poles[0]


def test_strong_words_lead_themselves_and_weak_ones_end_at_a_pole():
    recipe = Recipe(leaders=5.0)
    radius, poles = radii(X, PART, recipe)
    x = X.copy()
    x[poles] = 0.0
    strong = np.flatnonzero(radius == 1.0)
    weak = np.flatnonzero((np.abs(x[:, 0]) < 0.05) & (radius < 1.0))
    text = np.concatenate([strong[:8], weak[:20], poles[2:4]])
    z = positions(x, radius, np.ones((len(x), 1)))[text]
    found = flow(z, powers(0.15, 8), 8)
    assert (found.leader[:8] == np.arange(8)).all()
    assert (found.leader[8:28] == 28).all()  # the more frequent of the two poles
    assert found.leader[29] == 28


def test_a_pole_reaches_as_far_as_it_should():
    x = np.array([[0.8], [0.0], [0.3], [0.5]])
    radius, poles = radii(x, np.array([0.5, 0.9, 0.5, 0.5]), Recipe(leaders=0.5, pole_reach=0.5))
    assert poles.tolist() == [1]
    # A word on the unit circle follows the pole exactly if |x| < pole_reach * 0.8 = 0.4 (up to the step between poles).
    for score, follows in ((0.38, True), (0.44, False)):
        assert (radius[1] * np.sqrt(1 - score**2) > 1) == follows


@pytest.mark.parametrize(
    "settings",
    [{"leaders": 0.0}, {"leaders": "many"}, {"pole_reach": 1.5}, {"follower_radius": -0.1}, {"dropout": 1.0}],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(BadInput, match=next(iter(settings))):
        Recipe(**settings)
