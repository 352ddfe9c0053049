"""Clouds from a seed: the same numbers in Python and in the page, where `web/static/js/model.js` mirrors this file.

A 32-bit counter generator feeds integer arithmetic; every coordinate is a whole number of thousandths. Only + - * / and
floor on numbers that float64 holds exactly, so that both languages give the same bits on every machine.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput

MOST_TOKENS = 100_000
DEFAULT_TOKENS = 100
Candidates = tuple[NDArray[np.int64], NDArray[np.bool_]]  # (m, d) thousandths, and which of them are accepted


def uniform_words(seed: int, first: int, count: int) -> NDArray[np.int64]:
    """Words number first, first+1, ... of the stream of a seed: 32-bit integers, uniform (the mixer "mulberry32").

    Word i mixes the counter seed + (i+1) 0x6D2B79F5 mod 2^32, so any part of the stream is had without the rest.

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
KINDS: dict[str, tuple[str, Callable[[int], int], int, Callable[[NDArray[np.int64], int], Candidates]]] = {
    "random": ("Gaussian tokens", lambda dim: 12 * dim, 16, _normal),
    "ring": ("a noisy ring; in three dimensions a noisy sphere", lambda dim: dim + 2, 3, _ring),
    "ball": ("tokens spread evenly in a disc; in three dimensions in a ball", lambda dim: dim, 3, _ball),
}


def cloud(kind: str, n: int = DEFAULT_TOKENS, dim: int = 2, seed: int = 0, exact: bool = False) -> NDArray[Any]:
    """The (n, dim) tokens that a kind and a seed stand for: distinct, nonzero, whole thousandths.

    Candidates are taken from the stream in order; a candidate that is rejected, zero or there already is passed over.

    Args:
        kind: "random", "ring" or "ball".
        n: how many tokens, 1 to 100,000.
        dim: 2 to 16 for random, 2 or 3 for ring and ball.
        seed: 0 to 2^32 - 1.
        exact: Fractions (dtype object) instead of float64.

    Raises:
        BadInput: an unknown kind, or a number outside its range.

    Example:
        >>> cloud("ball", n=2, seed=7)
        array([[ 0.043, -0.189],
               [-0.068, -0.52 ]])
    """
    if kind not in KINDS:
        raise BadInput(
            f"there is no generated cloud {kind!r}", found=", ".join(KINDS), fix="use one of the names above"
        )
    _, words_for, largest, candidates = KINDS[kind]
    _check("n", n, 1, MOST_TOKENS)
    _check("dim", dim, 2, largest, f" for {kind}")
    _check("seed", seed, 0, 2**32 - 1)
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


def _check(name: str, value: Any, least: int, most: int, where: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise BadInput(f"{name} is {value!r}; expected a whole number from {least} to {most}{where}")
