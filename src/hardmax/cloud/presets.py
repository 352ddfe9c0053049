"""Clouds of tokens with a name: the four configurations of Fig. 2 of [AFZ24], and others worth a look.

All numbers are written out or computed from integers, so that a preset is the same bytes on every machine.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import cos, log, pi, sqrt
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.generated import DEFAULT_TOKENS, KINDS, cloud
from hardmax.errors import BadInput

Row = tuple[Fraction, ...]


def _rows(text: str) -> list[Row]:
    """Tokens from text: coordinates apart by spaces, tokens by commas; "1/3" and "-0.25" are exact."""
    return [tuple(Fraction(x) for x in token.split()) for token in text.split(",")]


SQUARE = "1 1, -1 1, -1 -1, 1 -1"


def _triangle() -> list[Row]:
    """Three corners around the origin and nine tokens inside."""
    return _rows(
        "-1.2 -0.7, 1.3 -0.5, -0.1 1.2, 0.45 -0.1, -0.35 -0.3, 0.1 0.55, -0.25 0.4, 0.6 -0.35, -0.7 -0.5,"
        "0.15 -0.25, -0.05 0.2, 0.3 0.25"
    )


def _emerging() -> list[Row]:
    """The eight tokens that [AFZ24, Fig. 2] gives."""
    return _rows("1 1/3, -1/12 1/12, -1 -1, 0 1/4, -0.3 -0.7, -0.6 -0.9, 0.8 0.1, 0.6 0.15")


def _square() -> list[Row]:
    return _rows(SQUARE + ", 0.137 -0.23, -0.459 -0.483, 0.313 0.413, 0.107 0.23, -0.044 0.435, -0.316 0.003")


def _square_ties() -> list[Row]:
    return _rows(SQUARE + ", 0.5 0, -0.5 0, 0.357 0.034, -0.2 0.33, 0.229 -0.457, -0.324 -0.368")


def _grid() -> list[Row]:
    steps = [Fraction(k, 4) for k in range(-4, 5)]
    return [row for row in product(steps, steps) if any(row)]


def _polygon() -> list[Row]:
    """(3/5, 4/5) and its reflections lie on the unit circle exactly; the inner tokens tie between two of them."""
    corners = "0.8 0.6, 0.6 0.8, -0.6 0.8, -0.8 0.6, -0.8 -0.6, -0.6 -0.8, 0.6 -0.8, 0.8 -0.6"
    return _rows(corners + ", 0.5 0, 0 0.5, -0.5 0, 0 -0.5, 0.25 0.25, -0.25 0.25, -0.25 -0.25, 0.25 -0.25")


def _late_leader() -> list[Row]:
    """Token 6 follows two moving tokens and passes the edge x = 1 by 2^-k (k/1000 - 1/2): at layer 502 if alpha = 1."""
    return _rows(SQUARE + ", 1.001 0.5, 1.001 -0.5, 0.5 0")


def _cube() -> list[Row]:
    corners = [tuple(Fraction(x) for x in row) for row in product((-1, 1), repeat=3)]
    return corners + _rows(
        "0.5 0 0, -0.5 0 0, 0 0.25 0.25, 0.3 -0.2 0.45, -0.4 0.35 -0.15, 0.1 0.4 0.2, -0.25 -0.3 -0.45, 0.15 -0.5 0.05"
    )


def _gaussian() -> list[Row]:
    """Box-Muller from a fixed stream of uniform numbers, rounded to thousandths."""
    uniform = Random(2407).random

    def normal() -> Fraction:
        return Fraction(round(1000 * sqrt(-2 * log(1 - uniform())) * cos(2 * pi * uniform())), 1000)

    return [(normal(), normal()) for _ in range(100)]


# name -> what it shows, and the function that makes its tokens
PRESETS: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "triangle": ("a triangle with nine tokens inside (Fig. 2)", _triangle),
    "emerging": ("a leader that emerges after some layers (Fig. 2)", _emerging),
    "square": ("a square with six random tokens inside (Fig. 2)", _square),
    "square-ties": ("a square with (±0.5, 0): clusters that are no leaders (Fig. 2)", _square_ties),
    "grid": ("a 9 x 9 grid without its center: ties everywhere, eight clusters", _grid),
    "polygon": ("an octagon on the unit circle with tokens that tie between two corners", _polygon),
    "late-leader": (
        "a leader that appears at layer 502 for alpha = 1; found by limit(), not by float64 layers",
        _late_leader,
    ),
    "cube": ("a cube in three dimensions with eight tokens inside", _cube),
    "gaussian": ("100 Gaussian tokens in the plane", _gaussian),
}


def preset(
    name: str, exact: bool = False, *, n: int | None = None, dim: int | None = None, seed: int | None = None
) -> NDArray[Any]:
    """The (n, d) tokens of a named cloud, float64, or Fractions (dtype object) with exact=True.

    Args:
        name: one of `PRESETS`, or a generated cloud: "random", "ring", "ball" (see `hardmax.cloud.generated.cloud`).
        exact: Fractions instead of float64.
        n, dim, seed: of a generated cloud; 100 tokens, dimension 2, seed 0 if not given.

    Raises:
        BadInput: no such name (the message lists them), or n, dim, seed for a cloud that is not generated.

    Example:
        >>> preset("square")[:2]
        array([[ 1.,  1.],
               [-1.,  1.]])
        >>> preset("random", n=300, dim=3, seed=7).shape
        (300, 3)
    """
    if name in KINDS:
        return cloud(name, DEFAULT_TOKENS if n is None else n, 2 if dim is None else dim, seed or 0, exact)
    if name not in PRESETS:
        names = ", ".join([*PRESETS, *KINDS])
        raise BadInput(f"there is no preset {name!r}", found=names, fix="use one of the names above")
    for option, value in (("n", n), ("dim", dim), ("seed", seed)):
        if value is not None:
            raise BadInput(
                f"the preset {name!r} is always the same tokens, but {option} is {value!r}",
                fix=f"{', '.join(KINDS)} take n, dim and seed",
            )
    return np.array(PRESETS[name][1](), dtype=object if exact else np.float64)
