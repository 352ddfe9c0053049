"""Sums whose rounding error is known exactly."""

from hardmax.cloud.tokens import Floats


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """s, e with s = fl(a + b) and s + e = a + b exactly (Knuth); e = 0 says that nothing was rounded.

    Example:
        >>> two_sum(1.0, 2.0**-60)
        (1.0, 8.673617379884035e-19)
    """
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)
