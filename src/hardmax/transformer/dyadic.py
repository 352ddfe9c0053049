"""Float64 numbers as what they are: integers times powers of two, in Python integers of any size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats

# Numbers that need more limbs than this (a range of exponents of many hundreds) take the slow path.
MOST_LIMBS = 12

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
    """The float64 nearest to numerators / (denominators 2^exponent): one rounding, integers of any size."""
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


def exact_products(x: Floats, v: Floats) -> tuple[Integers, int]:
    """(rows,) integers k and an exponent e with <x, v> = k / 2^e, exactly, for every row of x.

    Both factors are cut into limbs of so few bits that every product and every sum of d products stays below 2^53:
    then the matrix product of limbs is exact in float64, in any order of summation.

    Example:
        >>> k, e = exact_products(np.array([[0.5, 3.0]]), np.array([0.25, 1.0]))
        >>> k[0] / 2**e
        3.125
    """
    bits = (52 - max(1, len(v)).bit_length()) // 2
    x_limbs, x_top = _limbs(x, bits)
    v_limbs, v_top = _limbs(v, bits)
    if x_limbs is None or v_limbs is None:
        (x_int, x_exp), (v_int, v_exp) = integers(x), integers(v)
        return (x_int * v_int).sum(axis=1) if len(v) else np.full(len(x), 0, dtype=object), x_exp + v_exp
    lower = np.stack(v_limbs, axis=1)  # (d, limbs of v)
    sums = np.zeros((len(x_limbs) + len(v_limbs) - 1, len(x)), dtype=np.int64)
    for a, limb in enumerate(x_limbs):
        product = (limb @ lower).astype(np.int64)
        for b in range(len(v_limbs)):
            sums[a + b] += product[:, b]
    total = sums[0].astype(object)
    for row in sums[1:]:
        total = (total << bits) + row.astype(object)
    exponent = (len(x_limbs) + len(v_limbs)) * bits - x_top - v_top
    return (total, exponent) if exponent >= 0 else (total << -exponent, 0)


def _limbs(values: Floats, bits: int) -> tuple[list[Floats] | None, int]:
    """values = sum_a limb_a 2^(top - (a+1) bits) with integers |limb_a| < 2^bits; None if there are too many."""
    top = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    rest = np.ldexp(values, -top)
    if (np.ldexp(rest, top) != values).any():  # a number 2^1022 below the largest one was lost
        return None, top
    limbs: list[Floats] = []
    while True:
        unit = 2.0 ** (-(len(limbs) + 1) * bits)
        limb = np.trunc(rest / unit)  # exact: a division by a power of two
        limbs.append(limb)
        rest = rest - limb * unit  # exact: the lower bits of the same number
        if not rest.any():
            return limbs, top
        if len(limbs) == MOST_LIMBS:
            return None, top
