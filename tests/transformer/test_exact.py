"""Float64 numbers as integers: nothing is lost."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.transformer.exact import integers, nearest, trailing_zeros, two_sum
from hardmax.transformer.rational import ExactRows, _linear
from hardmax.transformer.tables import PiecewiseLinear

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MODERATE = st.floats(-1e3, 1e3)
TAME = settings(derandomize=True, deadline=None, max_examples=100)


@TAME
@given(st.lists(FLOATS, min_size=1, max_size=6))
def test_integers_are_the_numbers(values):
    k, e = integers(np.array(values))
    assert [Fraction(int(n), 2**e) for n in k] == [Fraction(v) for v in values]
    assert nearest(k, e).tolist() == [v + 0.0 for v in values]


@TAME
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=5))
def test_products_are_exact(pairs):
    x, v = (np.array(side) for side in zip(*pairs, strict=True))
    k, e = _linear(v, list(range(len(v))), ExactRows.of(x[None]))
    assert Fraction(int(k[0]), 2**e) == sum(Fraction(a) * Fraction(b) for a, b in pairs)


def test_products_of_many_rows_agree_with_fractions():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 16)) * 10.0 ** rng.integers(-6, 6, (200, 16))
    v = rng.standard_normal(16)
    k, e = _linear(v, list(range(16)), ExactRows.of(x))
    for row, n in zip(x, k, strict=True):
        assert Fraction(int(n), 2**e) == sum(Fraction(a) * Fraction(b) for a, b in zip(row, v, strict=True))


@TAME
@given(MODERATE, MODERATE)
def test_two_sum_knows_its_error(a, b):
    s, e = two_sum(a, b)
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)


def test_trailing_zeros_are_common():
    assert trailing_zeros(np.array([8, 12], dtype=object), np.array([0, 1 << 80], dtype=object)) == 2
    assert trailing_zeros(np.array([0], dtype=object)) > 10**6


@TAME
@given(st.integers(0, 10**6))
def test_a_table_of_pieces_is_the_sum_of_its_units(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    p = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 4.0], n)
    b, W = rng.integers(-8, 9, n) / 4, rng.integers(-3, 4, (2, n)) / 2
    table = PiecewiseLinear.of(np.ones(1), p, b, W)
    t = np.concatenate([rng.integers(-20, 21, 30) / 8, table.kinks])
    truth = W @ np.maximum(np.multiply.outer(p, t) + b[:, None], 0)
    assert (table.value(t) == truth).all()
    assert table.values_exact.all()
    flat = table.flat[table.locate(t)]
    assert (table.float_slopes[:, table.locate(t)][:, flat] == 0).all()
