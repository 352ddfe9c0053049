"""Clouds of tokens with a name: the four configurations of Fig. 2 of [AFZ24], others worth a look, and random ones.

All numbers are written out or computed from integers, so that a preset is the same bytes on every machine.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import cos, log, pi, sqrt
from random import Random
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, whole

Row = tuple[Fraction, ...]


def _rows(text: str) -> list[Row]:
    """Tokens from text: spaces separate coordinates, commas separate tokens; "1/3" and "-0.25" are exact."""
    return [tuple(Fraction(x) for x in token.split()) for token in text.split(",")]


SQUARE = "1 1, -1 1, -1 -1, 1 -1"


def _grid() -> list[Row]:
    steps = [Fraction(k, 4) for k in range(-4, 5)]
    return [row for row in product(steps, steps) if any(row)]


def _gaussian() -> list[Row]:
    """Box-Muller from a fixed stream of uniform numbers, rounded to thousandths."""
    uniform = Random(2407).random

    def normal() -> Fraction:
        return Fraction(round(1000 * sqrt(-2 * log(1 - uniform())) * cos(2 * pi * uniform())), 1000)

    return [(normal(), normal()) for _ in range(100)]


# name -> what it shows, and its tokens: as text, or the function that makes them
PRESETS: dict[str, tuple[str, str | Callable[[], list[Row]]]] = {
    "triangle": (
        "a triangle with nine tokens inside (Fig. 2)",
        "-1.2 -0.7, 1.3 -0.5, -0.1 1.2, 0.45 -0.1, -0.35 -0.3, 0.1 0.55, -0.25 0.4, 0.6 -0.35, -0.7 -0.5,"
        "0.15 -0.25, -0.05 0.2, 0.3 0.25",
    ),
    "emerging": (
        "a leader that emerges after some layers (Fig. 2)",
        "1 1/3, -1/12 1/12, -1 -1, 0 1/4, -0.3 -0.7, -0.6 -0.9, 0.8 0.1, 0.6 0.15",
    ),
    "square": (
        "a square with six random tokens inside (Fig. 2)",
        SQUARE + ", 0.137 -0.23, -0.459 -0.483, 0.313 0.413, 0.107 0.23, -0.044 0.435, -0.316 0.003",
    ),
    "square-ties": (
        "a square with (±0.5, 0): clusters that are not leaders (Fig. 2)",
        SQUARE + ", 0.5 0, -0.5 0, 0.357 0.034, -0.2 0.33, 0.229 -0.457, -0.324 -0.368",
    ),
    "grid": ("a 9 x 9 grid without its center: ties everywhere, eight clusters", _grid),
    # (3/5, 4/5) and its reflections lie on the unit circle exactly; the inner tokens tie between two of them.
    "polygon": (
        "an octagon on the unit circle with tokens that tie between two corners",
        "0.8 0.6, 0.6 0.8, -0.6 0.8, -0.8 0.6, -0.8 -0.6, -0.6 -0.8, 0.6 -0.8, 0.8 -0.6,"
        "0.5 0, 0 0.5, -0.5 0, 0 -0.5, 0.25 0.25, -0.25 0.25, -0.25 -0.25, 0.25 -0.25",
    ),
    # Token 6 follows two moving tokens and passes the edge x = 1 by 2^-k (k/1000 - 1/2): at layer 502 if alpha = 1.
    "late-leader": (
        "a leader that appears at layer 502 for alpha = 1; found by limit(), not by float64 layers",
        SQUARE + ", 1.001 0.5, 1.001 -0.5, 0.5 0",
    ),
    "cube": (
        "a cube in three dimensions with eight tokens inside",
        "-1 -1 -1, -1 -1 1, -1 1 -1, -1 1 1, 1 -1 -1, 1 -1 1, 1 1 -1, 1 1 1, 0.5 0 0, -0.5 0 0, 0 0.25 0.25,"
        "0.3 -0.2 0.45, -0.4 0.35 -0.15, 0.1 0.4 0.2, -0.25 -0.3 -0.45, 0.15 -0.5 0.05",
    ),
    "gaussian": ("100 Gaussian tokens in the plane", _gaussian),
}


# -- random clouds ---------------------------------------------------------------------------------------------------

MOST_TOKENS = 100_000
DEFAULT_TOKENS = 100
Candidates = tuple[NDArray[np.int64], NDArray[np.bool_]]  # (m, d) thousandths, and which of them are accepted


def uniform_words(seed: int, first: int, count: int) -> NDArray[np.int64]:
    """Words number first, first+1, ... of the stream of a seed: 32-bit integers, uniform (the mixer "mulberry32").

    Word i mixes the counter seed + (i+1) 0x6D2B79F5 mod 2^32, so any part of the stream can be computed on its own.

    Example:
        >>> uniform_words(7, 0, 2).tolist()
        [50271532, 266108690]
    """
    with np.errstate(over="ignore"):  # arithmetic modulo 2^32 is meant
        counter = np.uint32(seed) + np.arange(first + 1, first + count + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
        word = (counter ^ (counter >> np.uint32(15))) * (counter | np.uint32(1))
        word ^= word + (word ^ (word >> np.uint32(7))) * (word | np.uint32(61))
    return (word ^ (word >> np.uint32(14))).astype(np.int64)


def _normal(words: NDArray[np.int64], dim: int) -> Candidates:
    """The sum of twelve uniform numbers minus six: mean 0, variance 1, nearly Gaussian."""
    sums = words.reshape(-1, dim, 12).sum(axis=2)
    thousandths = (sums * 1000 + 2**31) // 2**32 - 6000
    return thousandths, np.ones(len(thousandths), dtype=bool)


def _ball(words: NDArray[np.int64], dim: int) -> Candidates:
    """Uniform in the square (cube), kept if within distance 1."""
    thousandths = words.reshape(-1, dim) * 2001 // 2**32 - 1000
    return thousandths, (thousandths**2).sum(axis=1) <= 10**6


def _ring(words: NDArray[np.int64], dim: int) -> Candidates:
    """Directions spread evenly, radii between 0.8 and 1.2.

    A direction is the stereographic image (2a, 1 - |a|^2) / (1 + |a|^2) of a point a with |a| <= 1, mirrored at random.
    That map stretches by 2 / (1 + |a|^2) in each of dim-1 directions; keeping a with probability
    (1 + |a|^2)^(1-dim) makes the density constant.
    """
    q = 2**15
    row = words.reshape(-1, dim + 2)
    a = row[:, : dim - 1] * (2 * q + 1) // 2**32 - q
    s = (a**2).sum(axis=1)
    side = np.where(row[:, dim - 1] < 2**31, 1, -1)
    stretch = 1 + s / (q * q)
    weight = row[:, dim] / 2**32 * stretch
    if dim == 3:
        weight = weight * stretch
    radius = 800 + row[:, dim + 1] * 401 // 2**32
    whole = q * q + s
    ahead = side * radius * (q * q - s)
    aside = (2 * q * radius)[:, None] * a
    scaled = np.concatenate([aside, ahead[:, None]], axis=1) / whole[:, None]
    return np.floor(scaled + 0.5).astype(np.int64), (s <= q * q) & (weight < 1)


# kind -> what it is, words of the stream for each candidate, the largest dimension, and how words become candidates
GENERATED: dict[str, tuple[str, Callable[[int], int], int, Callable[[NDArray[np.int64], int], Candidates]]] = {
    "random": ("Gaussian tokens", lambda dim: 12 * dim, 16, _normal),
    "ring": ("a noisy ring; in three dimensions a noisy sphere", lambda dim: dim + 2, 3, _ring),
    "ball": ("tokens spread evenly in a disc; in three dimensions in a ball", lambda dim: dim, 3, _ball),
}


@overload
def random_cloud(kind: str, n: int = ..., dim: int = ..., seed: int = ..., exact: bool = ...) -> NDArray[Any]: ...
@overload
def random_cloud(
    kind: str, n: int = ..., dim: int = ..., *, seed: Sequence[int], exact: bool = ...
) -> list[NDArray[Any]]: ...
def random_cloud(
    kind: str, n: int = DEFAULT_TOKENS, dim: int = 2, seed: int | Sequence[int] = 0, exact: bool = False
) -> NDArray[Any] | list[NDArray[Any]]:
    """The (n, dim) tokens that a kind and a seed stand for: distinct, nonzero, whole thousandths.

    They are the same on every machine, and in the page, whose JavaScript mirrors this code: a 32-bit counter generator
    feeds integer arithmetic, and only + - * / and floor are used, on numbers that float64 holds exactly.

    Candidates are taken from the stream in order; a candidate that is rejected, zero or there already is passed over.

    Args:
        kind: "random", "ring" or "ball".
        n: the number of tokens, 1 to 100,000.
        dim: 2 to 16 for random, 2 or 3 for ring and ball.
        seed: 0 to 2^32 - 1; for several seeds, such as range(10), the result is a list of clouds: a batch.
        exact: Fractions (dtype object) instead of float64.

    Raises:
        BadInput: an unknown kind, or a number outside its range.

    Example:
        >>> random_cloud("ball", n=2, seed=7)
        array([[ 0.043, -0.189],
               [-0.068, -0.52 ]])
        >>> len(random_cloud("random", n=50, seed=range(10)))
        10
    """
    if isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, str):
        return [random_cloud(kind, n, dim, one, exact) for one in seed]
    if kind not in list(GENERATED):  # a list, because what has no hash is no name either
        raise BadInput(
            f"there is no random cloud {kind!r}", found=", ".join(GENERATED), fix="use one of the names above"
        )
    _, words_for, largest, candidates = GENERATED[kind]
    whole("n", n, 1, MOST_TOKENS)
    whole("dim", dim, 2, largest, f" for {kind}")
    seed = whole("seed", seed, 0, 2**32 - 1)
    width = words_for(dim)
    found: dict[tuple[int, ...], None] = {}
    used = 0
    while len(found) < n:
        block = 2 * (n - len(found)) + 16
        thousandths, accepted = candidates(uniform_words(seed, used, block * width), dim)
        for row in map(tuple, thousandths[accepted].tolist()):
            if any(row) and len(found) < n:
                found.setdefault(row)
        used += block * width
    rows = np.array(list(found), dtype=np.int64)
    if exact:
        return np.array([[Fraction(x, 1000) for x in row] for row in rows.tolist()], dtype=object)
    return rows / 1000


def preset(
    name: str, exact: bool = False, *, n: int | None = None, dim: int | None = None, seed: int | None = None
) -> NDArray[Any]:
    """The (n, d) tokens of a named cloud, float64, or Fractions (dtype object) with exact=True.

    Args:
        name: one of `PRESETS`, or a random cloud: "random", "ring", "ball" (see `hardmax.random_cloud`).
        exact: Fractions instead of float64.
        n, dim, seed: for a random cloud; the default is 100 tokens in dimension 2 with seed 0.

    Raises:
        BadInput: there is no such name (the message lists them), or n, dim or seed is given for a fixed cloud.

    Example:
        >>> preset("square")[:2]
        array([[ 1.,  1.],
               [-1.,  1.]])
        >>> preset("random", n=300, dim=3, seed=7).shape
        (300, 3)
    """
    if name in list(GENERATED):
        return random_cloud(name, DEFAULT_TOKENS if n is None else n, 2 if dim is None else dim, seed or 0, exact)
    if name not in list(PRESETS):
        names = ", ".join([*PRESETS, *GENERATED])
        raise BadInput(f"there is no preset {name!r}", found=names, fix="use one of the names above")
    for option, value in (("n", n), ("dim", dim), ("seed", seed)):
        if value is not None:
            raise BadInput(
                f"the preset {name!r} is always the same tokens, but {option} is {value!r}",
                fix=f"{', '.join(GENERATED)} take n, dim and seed",
            )
    made = PRESETS[name][1]
    return np.array(_rows(made) if isinstance(made, str) else made(), dtype=object if exact else np.float64)
