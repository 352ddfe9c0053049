"""The layers on a bag: against the definition, token by token, and the two ways of running them against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from hardmax.sentiment.batches import run_batch
from hardmax.sentiment.layers_numpy import Parameters, flow, powers
from hardmax.text.vocabulary import Bags


def compiled(z, alpha, layers, neutral=0.0, **options):
    n, d = z.shape
    model = Parameters(z, powers(alpha, layers), layers, np.eye(d), np.zeros(d), neutral)
    _, out = run_batch(Bags.of(np.arange(n), [n]), np.array([0]), model, **options)
    return out.weights, out.logits[0], int(out.heads[0])


def clouds(values):
    return st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
        lambda s: st.lists(st.lists(values, min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0])
    )


generic = clouds(st.floats(-2, 2, width=32).map(lambda v: v + 1e-3))
grid = clouds(st.integers(-2, 2).map(float))


def by_definition(z, alpha, layers):
    """The states by all scores at every layer, with the same allowance for rounding in ties."""
    states = [z]
    for _ in range(layers):
        z = states[-1]
        scores = z @ z.T
        norm = np.sqrt((z**2).sum(axis=1))
        band = 1e-12 * np.maximum(norm, 1e-3 * norm.max()) * norm.max()
        chosen = scores >= (scores.max(axis=1) - band)[:, None]
        means = np.array([z[row].mean(axis=0) for row in chosen])
        states.append((z + alpha * means) / (1 + alpha))
    return states


@given(st.one_of(generic, grid), st.floats(0.05, 4), st.integers(0, 6), st.floats(0, 9))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_mean_of_the_last_layer_is_that_of_the_definition(rows, alpha, layers, neutral):
    z = np.array(rows)
    last = by_definition(z, alpha, layers)[-1]
    f = flow(z, powers(alpha, layers), layers, neutral)
    np.testing.assert_allclose(f.states[-1], last, atol=1e-9)
    np.testing.assert_allclose(f.weights @ z, last.sum(axis=0) / (len(z) + neutral), atol=1e-9)


@given(st.one_of(generic, grid), st.floats(0.05, 4), st.integers(0, 6), st.floats(0, 9))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_compiled_and_plain_give_the_same_bits(rows, alpha, layers, neutral):
    z = np.array(rows)
    f = flow(z, powers(alpha, layers), layers, neutral)
    weights, logits, heads = compiled(z, alpha, layers, neutral)
    assert (weights == f.weights).all()
    assert heads == np.count_nonzero(f.since >= 0)
    np.testing.assert_allclose(logits, f.weights @ z, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_leaders_are_those_of_the_reference(seed):
    z = np.random.default_rng(seed).standard_normal((12, 2))
    f = flow(z, powers(1.0, 4), 4)
    states, sets = reference.run(z, 1.0, 4)
    assert {i: k for i, k in enumerate(f.since.tolist()) if k >= 0} == reference.leader_since(states, sets)
    assert (f.since[f.leader] >= 0).all()


def test_long_bags_use_the_pruned_search_rightly():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((700, 2)) * rng.uniform(0.05, 1, (700, 1)) ** 3
    weights, logits, _ = compiled(z, 0.3, 8)
    last = by_definition(z, 0.3, 8)[-1]
    np.testing.assert_allclose(logits, last.mean(axis=0), atol=1e-10)
    assert np.isclose(weights.sum(), 1)


@pytest.mark.parametrize("dim", [1, 2, 3, 16])
@pytest.mark.parametrize("spread", [0.01, 0.5, 3.0])
def test_long_bags_in_any_dimension_give_the_same_bits(dim, spread):
    rng = np.random.default_rng(dim)
    z = rng.standard_normal((250, dim))
    z *= rng.uniform(0.1, 1, (250, 1)) ** spread / np.linalg.norm(z, axis=1, keepdims=True)
    z[1] = z[0]
    f = flow(z, powers(0.3, 8), 8)
    weights, _, heads = compiled(z, 0.3, 8)
    assert (weights == f.weights).all()
    assert heads == np.count_nonzero(f.since >= 0)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("zeros", [0, 5])
def test_long_bags_with_ties_copies_and_zeros_give_the_same_bits(dim, zeros):
    z = np.random.default_rng(dim).integers(-3, 4, (150, dim)).astype(float)
    z = np.vstack([z[(z != 0).any(axis=1)], np.zeros((zeros, dim)), [[1e-5] * dim]])
    f = flow(z, powers(0.3, 8), 8)
    weights, _, heads = compiled(z, 0.3, 8)
    assert (weights == f.weights).all()
    assert heads == np.count_nonzero(f.since >= 0)


@given(st.one_of(generic, grid), st.floats(0.05, 4), st.integers(0, 6))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_stopping_when_all_have_settled_changes_nothing_but_the_states(rows, alpha, layers):
    z = np.array(rows)
    whole, short = (flow(z, powers(alpha, layers), layers, whole=all_states) for all_states in (True, False))
    last = min(int(whole.settled.max()), layers)
    assert (whole.states[: last + 1] == short.states[: last + 1]).all()
    for name in ("weights", "leader", "since", "settled", "busy"):
        assert (getattr(whole, name) == getattr(short, name)).all()


def test_copies_of_a_word_lead_together():
    z = np.array([[2.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    f = flow(z, powers(1.0, 3), 3)
    assert f.since.tolist() == [0, 0, -1]
    assert not f.tie


def test_a_tie_between_points_takes_their_mean():
    z = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5]])
    f = flow(z, powers(1.0, 1), 1)
    assert f.tie
    assert f.states[1, 2].tolist() == [0.0, 0.75]
    np.testing.assert_allclose(f.weights, [0.5 * 0.5 / 3 + 1 / 3, 0.5 * 0.5 / 3 + 1 / 3, 0.5 / 3])


def test_words_are_left_out_at_the_rate_asked_for():
    z = np.random.default_rng(0).standard_normal((5000, 2))
    weights, _, _ = compiled(z, 1.0, 0, drop=0.3, seed=7)
    assert abs((weights == 0).mean() - 0.3) < 0.02
    assert (compiled(z, 1.0, 0, drop=0.3, seed=7)[0] == weights).all()
    assert (compiled(z, 1.0, 0, drop=0.3, seed=8)[0] != weights).any()
