"""Rational arithmetic on whole clouds: integers over one common denominator.

A cloud of Fractions spends its time in greatest common divisors, one for every product. Here the coordinates are plain
integers, an (n, d) object array, over one positive denominator for the whole cloud. Scores are compared as integers,
because a common positive factor does not change who is largest; a divisor is taken out once a layer.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt, lcm, ldexp, log2, sqrt
from typing import Any

import numpy as np

from hardmax.cloud.parameters import exact_matrix, exact_number
from hardmax.dynamics.exact.linear import Objects, first_bad_minor, identity
from hardmax.errors import BadInput

SMALLEST = ldexp(1.0, -1074)  # the smallest positive float


@dataclass(frozen=True, eq=False)
class IntegerCloud:
    """The tokens `rows / denominator`, with the smallest possible positive denominator."""

    rows: Objects  # (n, d) Python ints
    denominator: int

    @staticmethod
    def of(tokens: Objects) -> "IntegerCloud":
        """From an (n, d) array of Fractions.

        Example:
            >>> c = IntegerCloud.of(np.array([[Fraction(1, 2), Fraction(1, 3)]]))
            >>> c.rows.tolist(), c.denominator
            ([[3, 2]], 6)
        """
        return IntegerCloud(*over_common_denominator(tokens))

    @staticmethod
    def reduced(rows: Objects, denominator: int) -> "IntegerCloud":
        """Take out the greatest common divisor of all numbers."""
        divisor = denominator
        for x in rows.flat:
            if divisor == 1:
                break
            divisor = gcd(divisor, x)
        if divisor == 1:
            return IntegerCloud(rows, denominator)
        return IntegerCloud(rows // divisor, denominator // divisor)

    def fractions(self) -> Objects:
        """The tokens as an (n, d) array of Fractions."""
        tokens: Objects = np.frompyfunc(lambda x: Fraction(x, self.denominator), 1, 1)(self.rows)
        return tokens

    def point(self, i: int) -> tuple[Fraction, ...]:
        """One token as a tuple of Fractions."""
        return tuple(Fraction(x, self.denominator) for x in self.rows[i])


def over_common_denominator(values: Objects) -> tuple[Objects, int]:
    """Fractions of any shape as integers over their least common denominator."""
    denominator = lcm(*(x.denominator for x in values.flat))
    return np.frompyfunc(lambda x: x.numerator * (denominator // x.denominator), 1, 1)(values), denominator


def exact_step(alpha: Any) -> Fraction:
    """Check alpha > 0, at its exact value."""
    value = exact_number(alpha, "alpha")
    if value <= 0:
        raise BadInput(f"alpha is {alpha!r}; expected a number > 0", fix="the paper uses alpha = 1/2")
    return value


def exact_metric(A: Any, dim: int, definite: bool = True, name: str = "A") -> Objects | None:
    """Check the matrix of the scores <A z_i, z_j> exactly; None stands for the identity.

    Raises:
        BadInput: wrong shape, or (with `definite`) not symmetric or not positive definite; the message names the
            asymmetric entry or the leading minor that is not positive (Sylvester's criterion).
    """
    if A is None:
        return None
    matrix = exact_matrix(A, dim, dim, name)
    fix = "pass definite=False to simulate with any matrix, which the theorem does not cover"
    if definite:
        problem = ""
        for i, j in np.argwhere(np.tril(matrix != matrix.T))[:1]:
            problem = f"it is not symmetric: {name}[{j}, {i}] = {matrix[j, i]} but {name}[{i}, {j}] = {matrix[i, j]}"
        if not problem and (minor := first_bad_minor(matrix)) is not None:
            problem = f"its leading minor of size {minor[0]} is {minor[1]}"
        if problem:
            raise BadInput(f"{name} must be symmetric positive definite, but {problem}", fix=fix)
    return None if (matrix == identity(dim)).all() else matrix


def root_of_ratio(square: int, other: int) -> float:
    """sqrt(square / other) as a float, for positive integers of any size; `SMALLEST` for anything below it.

    Example:
        >>> root_of_ratio(1, 4), root_of_ratio(10**2000, 10**1998), root_of_ratio(1, 10**2000)
        (0.5, 10.0, 5e-324)
    """
    shift = round(log2(other) - log2(square)) // 2 + 60  # so that the ratio times 4^shift has about 120 bits
    scaled = (square << 2 * shift) // other if shift >= 0 else square // (other << -2 * shift)
    try:
        return max(ldexp(float(isqrt(scaled)), -shift), SMALLEST)
    except OverflowError:
        return sqrt(float("inf"))
