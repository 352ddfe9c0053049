"""Exact arithmetic agrees with the definition taken literally, for networks of any kind."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from construction_cases import literal_outputs
from hardmax.cloud.ragged import ragged
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.rational import ExactRows, exact_forward


def _block(rng, dim, width, heads):
    """Small integers and halves, so that kinks and ties are hit; some parabola units; several heads."""
    U = rng.integers(-2, 3, (width, dim)) / 2
    b = rng.integers(-3, 4, width) / 2
    if rng.integers(2):  # every second layer holds units of the one-hot
        k = np.arange(width)
        U[:, :] = 0
        U[:, 0], U[:, 1], b = 2 * k, -1.0, 1.0 - k * k
    W = rng.integers(-2, 3, (dim, width)) / 4
    Q, K = (rng.integers(-1, 2, (heads, dim)).astype(float) for _ in range(2))
    left, right = rng.integers(-1, 2, (dim, 2)).astype(float), rng.integers(-1, 2, (2, dim)) / 2
    sa = AttentionLayer(float(rng.choice([0.0, 1.0, 0.5])), Q, K, left, right)
    return Block(FeedForwardLayer.of(U, b, W, float(rng.choice([0.0, 1.0, -0.5]))), sa)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 2))
def test_rational_evaluation_is_the_definition(seed, heads):
    rng = np.random.default_rng(seed)
    sequences = [rng.integers(-2, 3, (n, 3)) / 2 for n in (1, 3, 5)]
    batch = ragged(sequences)
    blocks = [_block(rng, 3, 5, heads) for _ in range(3)]
    full = [
        {
            "eta": block.ff.eta, "U": block.ff.full_U(3), "b": block.ff.b, "W": block.ff.full_W(3),
            "rho": block.sa.rho, "Q": block.sa.Q, "K": block.sa.K, "V": block.sa.V,
        }
        for block in blocks
    ]  # fmt: skip
    state = exact_forward(blocks, ExactRows.of(batch.values), batch)
    values, exact = state.floats()
    where = state.where[batch.owner] if state.per_sequence else state.where
    for j, sequence in enumerate(sequences):
        rows = where[batch.starts[j] : batch.starts[j] + batch.lengths[j]]
        literal = literal_outputs(full, sequence)
        assert {tuple(map(float, token)) for token in literal} == {tuple(row) for row in values[rows] + 0.0}
        assert exact[rows].all() == all(x == float(x) for token in literal for x in token)
