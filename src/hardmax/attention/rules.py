"""The rules by which a token weighs the others, and the parts of a layer around them.

Each rule turns scores s_ij = <A z_i, z_j> into weights w_ij >= 0 with sum_j w_ij = 1; the token is attracted to
m_i = sum_j w_ij z_j. The paper's rule is `Hardmax`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput


@dataclass(frozen=True)
class Hardmax:
    """Equal weights on C_i = argmax_j s_ij. Implements [AFZ24, eq. (1.1b)].

    Attributes:
        tie_tolerance: scores within tie_tolerance * |z_i|_A * max_j |z_j|_A of the maximum count as equal to it, on
            top of what rounding blurs anyway (`hardmax.attention.ties`).
    """

    tie_tolerance: float = 0.0

    def __post_init__(self) -> None:
        _at_least_zero("tie_tolerance", self.tie_tolerance)


@dataclass(frozen=True)
class Softmax:
    """w_ij = exp(beta s_ij) / sum_l exp(beta s_il); beta -> infinity gives Hardmax."""

    beta: float = 1.0

    def __post_init__(self) -> None:
        _at_least_zero("beta", self.beta)


@dataclass(frozen=True)
class Localmax:
    """Equal weights on { j : s_ij >= max_l s_il - eps } (arXiv 2509.15958)."""

    eps: float = 0.1

    def __post_init__(self) -> None:
        _at_least_zero("eps", self.eps)


@dataclass(frozen=True)
class Uniform:
    """w_ij = 1/n: every token is attracted to the mean of all."""


@dataclass(frozen=True)
class RandomFollow:
    """Each token follows one token drawn uniformly, anew at every layer."""

    seed: int = 0


@dataclass(frozen=True)
class Chain:
    """Each token follows token j with probability softmax_j(beta s_ij), anew at every layer (arXiv 2508.09628)."""

    beta: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _at_least_zero("beta", self.beta)


Rule = Hardmax | Softmax | Localmax | Uniform | RandomFollow | Chain


@dataclass(frozen=True, eq=False)
class Head:
    """One attention head: its own matrix A of the scores (None: identity) and value matrix V (None: identity)."""

    A: Any = None
    V: Any = None


@dataclass(frozen=True, eq=False)
class FeedForward:
    """The sublayer x -> eta x + W relu(U x + b) [AFZ25], applied to every token after the attention of a layer."""

    W: Any
    U: Any
    b: Any
    eta: float = 1.0


# A feed-forward sublayer may also be any function from (n, d) to (n, d) arrays.
Sublayer = FeedForward | Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _at_least_zero(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise BadInput(f"{name} is {value!r}; expected a number >= 0")
    if not isfinite(value) or value < 0:
        raise BadInput(f"{name} is {value!r}; expected a finite number >= 0")
