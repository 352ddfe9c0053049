"""Fused blocks and chains are the same functions as the blocks one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.cloud.ragged import ragged
from hardmax.construction.certificate import _Intervals
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.evaluate import chains, forward, fused, touched
from hardmax.transformer.rational import ExactRows, exact_attention, exact_chain, exact_feed_forward, exact_forward

TAME = settings(derandomize=True, deadline=None, max_examples=40)


def block(rng, dim, reads, writes, eta=1.0, sa=None, width=3):
    """A random block with short dyadic parameters."""
    U, W = np.zeros((width, dim)), np.zeros((dim, width))
    U[:, reads] = rng.integers(-8, 9, (width, len(reads))) / 4
    W[writes] = rng.integers(-8, 9, (len(writes), width)) / 4
    ff = FeedForwardLayer.of(U, rng.integers(-8, 9, width) / 4, W, eta)
    return Block(ff, sa or AttentionLayer.identity(dim), "")


def exact_one_by_one(blocks, batch):
    state = ExactRows.of(batch.values)
    for b in blocks:
        state = exact_feed_forward(b.ff, state)
        if not b.sa.is_identity:
            state = exact_attention(b.sa, state, batch)
    values, exact = state.floats()
    return values[state.where], exact


@pytest.fixture
def batch():
    rng = np.random.default_rng(5)
    return ragged([np.round(rng.standard_normal((n, 3)), 2) for n in (4, 1, 6)])


def test_blocks_that_do_not_read_what_was_written_become_one(batch):
    rng = np.random.default_rng(0)
    mean = AttentionLayer.of(3, rho=1.0, V={(2, 0): 0.5})
    apart = [block(rng, 3, [0], [1]), block(rng, 3, [0], [1, 2]), block(rng, 3, [0], [2], sa=mean)]
    assert len(fused(apart)) == 1
    assert len(fused([*apart, block(rng, 3, [0], [1])])) == 2  # attention stands in between
    assert len(fused([block(rng, 3, [0], [1]), block(rng, 3, [1], [0])])) == 2
    assert len(fused([block(rng, 3, [0], [1], eta=0.0), block(rng, 3, [0], [1])])) == 2
    one_by_one, _ = exact_one_by_one(apart, batch)
    together, _ = exact_one_by_one(fused(apart), batch)
    assert np.array_equal(one_by_one, together)


@TAME
@given(st.integers(0, 10**6))
def test_any_stack_is_the_same_function_after_fusing(seed):
    rng = np.random.default_rng(seed)
    tokens = ragged([np.round(rng.standard_normal((n, 3)), 1) for n in (3, 5)])
    some = [list(rng.choice(3, rng.integers(1, 3), replace=False)) for _ in range(14)]
    stack = [block(rng, 3, some[2 * i], some[2 * i + 1], eta=float(rng.choice([1.0, 1.0, 0.0]))) for i in range(7)]
    assert [b for chain in chains(stack) for b in chain] == stack
    expected, _ = exact_one_by_one(stack, tokens)
    for same in (stack, fused(stack)):
        state = exact_forward(same, ExactRows.of(tokens.values), tokens)
        assert np.array_equal(state.floats()[0][state.where], expected)
        rows = forward(same, tokens).tokens()
        np.testing.assert_allclose(rows, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


@TAME
@given(st.integers(0, 10**6))
def test_a_chain_skips_only_units_that_are_asleep(seed):
    """Coordinates on the kinks of many units: the rounding bound must not put an active unit to sleep."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-6, 7, (9, 3)) / 4 + rng.choice([0.0, 2.0**-52, -(2.0**-53)], (9, 3))
    chain = [block(rng, 3, [0, 1], [0, 1, 2]) for _ in range(5)]
    expected = ExactRows.of(rows)
    for b in chain:
        expected = exact_feed_forward(b.ff, expected)
    found = exact_chain(chain, ExactRows.of(rows))
    for k in range(3):
        assert ((found.column(k) << expected.exponent) == (expected.column(k) << found.exponent)).all()


def test_a_chain_touches_only_its_coordinates():
    rng = np.random.default_rng(1)
    assert touched([block(rng, 5, [1], [3]), block(rng, 5, [3], [1])]).tolist() == [1, 3]


def test_long_chains_run_on_distinct_rows_with_the_same_bits():
    rng = np.random.default_rng(2)
    tokens = ragged([rng.integers(0, 2, (6, 3)).astype(float) for _ in range(5)])
    chain = [block(rng, 3, [0], [0]) for _ in range(12)]
    assert np.array_equal(forward(chain, tokens).tokens(), forward(chain, tokens, dense=True).tokens())


@TAME
@given(st.integers(0, 10**6), st.booleans())
def test_intervals_of_an_extreme_token_hold_the_exact_numbers(seed, ties):
    """Scores of rank one with positive queries, keys with ties and near ties."""
    rng = np.random.default_rng(seed)
    tokens = rng.uniform(1, 2, (12, 3))
    if ties:
        tokens[:, 1] = 1 + rng.integers(0, 2, 12) / 2 + rng.choice([0.0, 2.0**-51], 12)
    batch = ragged([tokens[:5], tokens[5:]])
    widen = Block(FeedForwardLayer.of(0.3 * np.eye(3), np.full(3, 0.1), np.eye(3)), AttentionLayer.identity(3), "")
    pick = Block(
        FeedForwardLayer.of(np.zeros((1, 3)), [0.0], np.zeros((3, 1)), 1.0),
        AttentionLayer.of(3, rho=1.0, V={(2, 0): 0.7}, query=0, key=1),
        "",
    )
    state = _Intervals(batch, {})
    state.block(widen, first=True)
    state.block(pick, first=False)
    expected = exact_forward([widen, pick], ExactRows.of(batch.values), batch)
    truth = expected.floats()[0][expected.where]
    for k in range(3):
        mid, radius = state.column(k)
        assert (np.abs(truth[:, k] - mid) <= radius + 2.0**-52 * np.abs(truth[:, k])).all()
        if not ties:
            assert (radius < 1e-13).all()
