"""The intervals of the certificate hold the rational numbers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from construction_cases import labeled
from hardmax.cloud.ragged import ragged
from hardmax.construction.certificate import _Intervals, prove
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.rational import ExactRows, exact_forward


def _random_block(rng, dim, width, uniform):
    ff = FeedForwardLayer.of(
        rng.standard_normal((width, dim)),
        rng.standard_normal(width),
        rng.standard_normal((dim, width)),
        rng.choice([0.0, 1.0, 0.3]),
    )
    scale = 0.0 if uniform else 1.0
    sa = AttentionLayer(
        float(rng.choice([0.0, 1.0, 0.7])),
        scale * rng.standard_normal((1, dim)),
        scale * rng.standard_normal((1, dim)),
        rng.standard_normal((dim, 1)),
        rng.standard_normal((1, dim)),
    )
    return Block(ff, sa)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.booleans())
def test_intervals_hold_the_exact_numbers(seed, uniform):
    rng = np.random.default_rng(seed)
    batch = ragged([rng.standard_normal((n, 3)) for n in (1, 4, 7)])
    blocks = [_random_block(rng, 3, 4, uniform), _random_block(rng, 3, 5, uniform)]
    state = _Intervals(batch, {})
    for i, block in enumerate(blocks):
        state.feed_forward(block.ff, first=i == 0)
        state.attention(block.sa)
    exact = exact_forward(blocks, ExactRows.of(batch.values), batch)
    values, _ = exact.floats()
    truth = values[exact.where]
    if exact.per_sequence:
        truth = truth[batch.owner]
    for k in range(3):
        mid, radius = state.column(k)
        mid, radius = (np.broadcast_to(x, len(mid)) for x in (mid, radius))
        if state.per_sequence:
            mid, radius = mid[batch.owner], radius[batch.owner]
        # half a unit in the last place for rounding the truth to float64
        assert (np.abs(truth[:, k] - mid) <= radius + 2.0**-52 * np.abs(truth[:, k])).all()


def test_a_general_network_is_not_called_exact():
    rng = np.random.default_rng(0)
    batch = ragged(labeled(6, 3)[0])
    proof = prove([_random_block(rng, 3, 4, True), _random_block(rng, 3, 4, True)], batch)
    assert not proof.exact.any()
