"""The hull search in the plane: whatever it decides is the answer of the plain search, and it decides nearly always."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.sentiment.batches import run_batch
from hardmax.sentiment.hull_search_2d import follow_in_plane
from hardmax.sentiment.layers_numpy import Parameters, flow, powers
from hardmax.sentiment.search import workspace_for
from hardmax.text.vocabulary import Bags


def room_of(z):
    room = workspace_for(len(z), 2, 1)
    room.z[:] = z
    return room


def decided(z):
    room = room_of(z)
    hull = follow_in_plane(len(z), room)
    return room.leader.copy() if hull else np.full(len(z), -1)


def compiled(z, alpha, layers):
    model = Parameters(z, powers(alpha, layers), layers, np.eye(2), np.zeros(2))
    _, out = run_batch(Bags.of(np.arange(len(z)), [len(z)]), np.array([0]), model)
    return out.weights, out.heads[0]


coordinates = st.one_of(st.integers(-3, 3).map(float), st.floats(-2, 2, width=16), st.floats(-1e-3, 1e-3))
clouds = st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=40).map(np.array)


@given(clouds)
@settings(derandomize=True, deadline=None, max_examples=400)
def test_a_decided_word_follows_the_one_of_the_largest_score(z):
    arg = decided(z)
    scores = z @ z.T
    for i in np.flatnonzero(arg >= 0):
        best = scores[i].max()
        assert scores[i, arg[i]] >= best - 1e-12 * abs(best)
        rivals = np.flatnonzero(scores[i] >= best - 1e-13 * np.hypot(*z[i]) * np.hypot(*z.T).max())
        assert (z[rivals] == z[arg[i]]).all(), "an undeclared tie"
        assert arg[i] == (i if i in rivals else rivals.min())


@pytest.mark.parametrize("half", [True, False])
def test_words_in_general_position_are_all_decided(half):
    rng = np.random.default_rng(4)
    for n in (3, 30, 300, 3000):
        z = rng.standard_normal((n, 2))
        if half:
            z[:, 1] = np.abs(z[:, 1])
        assert (decided(z) == (z @ z.T).argmax(axis=1)).all()


def test_words_on_a_circle_all_lead():
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False) + 0.01
    z = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert decided(z).tolist() == list(range(200))


@pytest.mark.parametrize(
    "z",
    [[[1.0, 1], [2, 2], [3, 3]], [[0.0, 0], [0, 0], [0, 0]], [[1.0, 0], [1, 0], [1, 0]], [[1.0, 0], [-1, 0], [0, 0]]],
)
def test_without_a_hull_nothing_is_decided(z):
    assert (decided(np.array(z)) == -1).all()


def test_ties_and_words_at_the_origin_are_left_to_the_other_search():
    z = np.array([[1.0, 1], [-1, 1], [0, 0.5], [0, 0]])
    assert decided(z).tolist() == [0, 1, -1, -1]


def test_copies_on_the_rim_follow_themselves_and_others_the_first_of_them():
    z = np.array([[0.1, 0.5], [0, 2], [1, 0.1], [0, 2], [-1, 0.1]])
    assert decided(z).tolist() == [1, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e-150, 1e100])
@pytest.mark.parametrize("layers", [3, 1000])
def test_very_small_and_large_numbers_and_very_many_layers_are_fine(size, layers):
    z = np.random.default_rng(1).standard_normal((20, 2)) * size
    f = flow(z, powers(9.0, layers), layers)
    weights, heads = compiled(z, 9.0, layers)
    assert (weights == f.weights).all()
    assert heads == np.count_nonzero(f.since >= 0)


@pytest.mark.parametrize("seed", range(8))
def test_long_bags_of_every_shape_give_the_bits_of_the_plain_path(seed):
    rng = np.random.default_rng(seed)
    n, alpha, layers = int(rng.integers(60, 400)), float(rng.choice([0.05, 0.3, 2.0, 20.0])), 9
    z = rng.standard_normal((n, 2))
    z /= np.hypot(*z.T)[:, None]
    z *= [rng.uniform(0.1, 1, (n, 1)) ** 3, rng.uniform(0.8, 0.9, (n, 1)), rng.uniform(0.95, 1, (n, 1))][seed % 3]
    if seed % 2:
        z[:, 1] = np.abs(z[:, 1])
        z[:4] = [0, 1.05]  # copies that lead
    z = z.astype(np.float16).astype(np.float64)  # as shipped: exact ties happen
    f = flow(z, powers(alpha, layers), layers)
    weights, heads = compiled(z, alpha, layers)
    assert (weights == f.weights).all()
    assert heads == np.count_nonzero(f.since >= 0)
