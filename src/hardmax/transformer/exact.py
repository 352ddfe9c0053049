"""Float64 numbers as what they are: integers times powers of two, and sums whose rounding error is known."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.cloud.tokens import Floats

EPS = 2.0**-53  # the largest relative error of one rounding

Integers = NDArray[np.object_]


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """s, e with s = fl(a + b) and s + e = a + b exactly (Knuth); e = 0 says that nothing was rounded.

    Example:
        >>> two_sum(1.0, 2.0**-60)
        (1.0, 8.673617379884035e-19)
    """
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def integers(values: ArrayLike) -> tuple[Integers, int]:
    """Integers k and an exponent e >= 0 with values = k / 2^e, exactly.

    Example:
        >>> integers(np.array([0.5, 3.0]))
        (array([1, 6], dtype=object), 1)
    """
    array = np.asarray(values, dtype=np.float64)
    mantissa, exponent = np.frexp(array)
    whole = np.ldexp(mantissa, 53).astype(np.int64)  # |whole| < 2^53, value = whole 2^(exponent - 53)
    shift = exponent.astype(np.int64) - 53
    lowest = whole & -whole  # the lowest set bit, 0 for 0
    zeros = np.where(whole == 0, 0, np.frexp(lowest.astype(np.float64))[1].astype(np.int64) - 1)
    lsb = np.where(whole == 0, 0, shift + zeros)
    e = max(0, -int(lsb.min(initial=0)))
    odd, shift = whole >> zeros, lsb + e
    if int(np.abs(odd).max(initial=0)).bit_length() + int(shift.max(initial=0)) < 63:
        return np.left_shift(odd, shift).astype(object), e  # many times faster than Python integers
    return odd.astype(object) << shift.astype(object), e


def integer(value: float) -> tuple[int, int]:
    """k, e with value = k / 2^e, exactly."""
    numerator, denominator = float(value).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def nearest(numerators: Integers, exponent: int, denominators: Integers | int = 1) -> Floats:
    """The float64 nearest to numerators / (denominators 2^exponent): one rounding, integers of any size."""
    bottoms = np.full(numerators.shape, denominators, dtype=object) << exponent
    quotients = [n / bottom for n, bottom in zip(numerators.ravel(), bottoms.ravel(), strict=True)]
    return np.array(quotients, dtype=np.float64).reshape(numerators.shape)


def trailing_zeros(*columns: Integers) -> int:
    """The largest k such that 2^k divides every integer; a large number if all are 0."""
    union = 0
    for column in columns:
        union |= int(np.bitwise_or.reduce(column.ravel())) if column.size else 0
    return (union & -union).bit_length() - 1 if union else 1 << 30
