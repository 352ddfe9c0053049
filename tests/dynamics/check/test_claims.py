"""What the checkers read from tokens, against plain Python."""

import numpy as np
import pytest

from hardmax.dynamics.check.claims import MIX, distinct

RNG = np.random.default_rng(5)
GRID = np.stack(np.meshgrid(*[np.linspace(-1, 1, 20)] * 3), -1).reshape(-1, 3)


@pytest.mark.parametrize(
    "tokens",
    [
        RNG.normal(size=(500, 3)),
        RNG.normal(size=(40, 2))[RNG.integers(0, 40, 900)],
        RNG.integers(-4, 5, (2000, 3)).astype(float),
        np.column_stack((np.ones(300), RNG.permutation(300).astype(float))),
        np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [1.0, -0.0], [0.0, 1.0]]),
        np.array([[7.0, 7.0]]),
        np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 5.0], [1.0, 2.0]]),
        GRID,
        np.concatenate((GRID, GRID[-1:])),
        np.concatenate((GRID, GRID[7:8])),
        np.repeat(GRID, 2, axis=0),
    ],
    ids=[
        "all distinct",
        "copies",
        "integers",
        "one coordinate is the same",
        "negative zero",
        "one token",
        "two are alike",
        "a grid",
        "a grid whose last token comes twice",
        "a grid with a copy",
        "a grid with all of its copies",
    ],
)
def test_distinct_tokens_are_named_by_their_first_copies_in_the_order_of_these(tokens):
    seen = {}
    for i, row in enumerate(map(tuple, tokens)):
        seen.setdefault(row, i)
    first, inverse = distinct(tokens)
    assert first.tolist() == list(seen.values())
    assert [first[k] for k in inverse] == [seen[row] for row in map(tuple, tokens)]


def test_tokens_of_equal_hashes_are_told_apart():
    """The hash of one coordinate takes one of another if the rows differ in both: h(y ^ h(x)) for every next y."""

    def mixed(x):
        bits = np.array([x]).view(np.uint64) * MIX
        return bits ^ (bits >> np.uint64(29))

    other = float((mixed(1.0) ^ mixed(2.0) ^ np.array([3.0]).view(np.uint64)).view(np.float64)[0])
    assert np.isfinite(other)
    tokens = np.array([[1.0, 3.0], [2.0, other], [1.0, 3.0], [2.0, other], [2.0, 3.0]])
    first, inverse = distinct(tokens)
    assert sorted(first) == [0, 1, 4]
    assert first[inverse].tolist() == [0, 1, 0, 1, 4]
