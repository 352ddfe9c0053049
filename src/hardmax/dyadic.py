"""Float64 numbers as what they are: integers times powers of two, in Python integers of any size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.tokens import Floats

Integers = NDArray[np.object_]


def integers(values: Any) -> tuple[Integers, int]:
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
    return _shifted(whole >> zeros, lsb + e), e


def _shifted(odd: NDArray[np.int64], shift: NDArray[np.int64]) -> Integers:
    """odd << shift as Python integers; in int64 first where everything fits, which is many times faster."""
    largest = int(np.abs(odd).max(initial=0)).bit_length() + int(shift.max(initial=0))
    if largest < 63:
        return np.left_shift(odd, shift).astype(object)
    result: Integers = odd.astype(object) << shift.astype(object)
    return result


def integer(value: float) -> tuple[int, int]:
    """k, e with value = k / 2^e, exactly."""
    numerator, denominator = float(value).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def nearest(numerators: Integers, exponent: int, denominators: Any = 1) -> Floats:
    """The float64 nearest to numerators / (denominators 2^exponent): one rounding, whatever the size of the integers."""
    flat = numerators.ravel()
    scale = 1 << exponent
    if isinstance(denominators, int):
        bottom = denominators * scale
        quotients = [n / bottom for n in flat]
    else:
        quotients = [n / (d * scale) for n, d in zip(flat, np.ravel(denominators), strict=True)]
    return np.array(quotients, dtype=np.float64).reshape(numerators.shape)


def trailing_zeros(*columns: Integers) -> int:
    """The largest k such that 2^k divides every integer; a large number if all are 0."""
    union = 0
    for column in columns:
        union |= int(np.bitwise_or.reduce(column.ravel())) if column.size else 0
    return (union & -union).bit_length() - 1 if union else 1 << 30
