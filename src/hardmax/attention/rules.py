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

from hardmax.cloud.by_value import ByValue
from hardmax.errors import BadInput


@dataclass(frozen=True)
class Hardmax:
    """Equal weights on C_i = argmax_j s_ij. Implements [AFZ24, eq. (1.1b)].

    Attributes:
        tie_tolerance: scores within tie_tolerance * |z_i|_A * max_j |z_j|_A of the maximum count as equal to it, on
            top of what rounding blurs anyway (`hardmax.attention.ties`).

    Example:
        >>> import hardmax as hx
        >>> Z = [[1, 0], [0.99, 0.5], [0.5, 0]]
        >>> hx.simulate(Z, layers=0).follows(0)[2]
        (0,)
        >>> hx.simulate(Z, layers=0, rule=Hardmax(tie_tolerance=0.05)).follows(0)[2]
        (0, 1)
    """

    tie_tolerance: float = 0.0

    def __post_init__(self) -> None:
        _at_least_zero("tie_tolerance", self.tie_tolerance)


@dataclass(frozen=True)
class Softmax:
    """w_ij = exp(beta s_ij) / sum_l exp(beta s_il); beta -> infinity gives Hardmax.

    Example:
        >>> import hardmax as hx
        >>> hx.simulate([[1.0], [0.0]], alpha=1.0, layers=1, rule=Softmax(beta=0.0)).tokens[1].ravel()
        array([0.75, 0.25])
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        _at_least_zero("beta", self.beta)


@dataclass(frozen=True)
class Localmax:
    """Equal weights on { j : s_ij >= max_l s_il - eps } (arXiv 2509.15958).

    Example:
        >>> import hardmax as hx
        >>> hx.simulate([[1.0], [0.95], [0.0]], layers=0, rule=Localmax(eps=0.1)).follows(0)[0]
        (0, 1)
    """

    eps: float = 0.1

    def __post_init__(self) -> None:
        _at_least_zero("eps", self.eps)


@dataclass(frozen=True)
class Uniform:
    """w_ij = 1/n: every token is attracted to the mean of all tokens.

    Example:
        >>> import hardmax as hx
        >>> hx.simulate([[3.0], [0.0], [0.0]], alpha=1.0, layers=1, rule=Uniform()).tokens[1].ravel()
        array([2. , 0.5, 0.5])
    """


@dataclass(frozen=True)
class RandomFollow:
    """Each token follows one token drawn uniformly, anew at every layer.

    Example:
        >>> import hardmax as hx
        >>> [len(C) for C in hx.simulate([[1.0], [2.0], [3.0]], rule=RandomFollow(seed=7)).follows(4)]
        [1, 1, 1]
    """

    seed: int = 0


@dataclass(frozen=True)
class Chain:
    """Each token follows token j with probability softmax_j(beta s_ij), anew at every layer (arXiv 2508.09628).

    Example:
        >>> import hardmax as hx
        >>> hx.simulate([[1.0], [9.0]], layers=1, rule=Chain(beta=100.0, seed=7)).follows(0)
        ((1,), (1,))
    """

    beta: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _at_least_zero("beta", self.beta)


Rule = Hardmax | Softmax | Localmax | Uniform | RandomFollow | Chain


@dataclass(frozen=True, eq=False)
class Head(ByValue):
    """One attention head: its own matrix A of the scores (None: identity) and value matrix V (None: identity).

    Example:
        >>> import hardmax as hx
        >>> heads = [Head(A=[[2, 0], [0, 1]]), Head(A=[[1, 0], [0, 2]])]
        >>> hx.simulate([[1, 0], [0, 1], [0.5, 0.5]], layers=0, heads=heads).follows(0)[2]
        (0, 1)
    """

    A: Any = None
    V: Any = None


@dataclass(frozen=True, eq=False)
class FeedForward(ByValue):
    """The sublayer x -> eta x + W relu(U x + b) [AFZ25], applied to every token after the attention of a layer.

    Example:
        >>> import hardmax as hx
        >>> absolute_value = FeedForward(W=[[1, 1]], U=[[1], [-1]], b=[0, 0], eta=0.0)
        >>> hx.simulate([[2.0], [-2.0]], layers=1, feed_forward=absolute_value).tokens[1].ravel()
        array([2., 2.])
    """

    W: Any
    U: Any
    b: Any
    eta: Any = 1.0


# A feed-forward sublayer may also be any function from (n, d) to (n, d) arrays.
Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]
Sublayer = FeedForward | Function


class NamedFunction:
    """A sublayer that is a Python function, which no file and no pickle holds: only its name is stored.

    Two of them are equal if their names are; one that was loaded cannot be called.

    Example:
        >>> NamedFunction("numpy.tanh")
        numpy.tanh (callable, not stored)
    """

    def __init__(self, name: str, function: Function | None = None) -> None:
        self.name, self.function = name, function

    @staticmethod
    def of(function: Function) -> "NamedFunction":
        """Wrap a function under the name of its module and its own."""
        if isinstance(function, NamedFunction):
            return function
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return NamedFunction(f"{getattr(function, '__module__', None) or '?'}.{name}", function)

    def __call__(self, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.function is None:
            raise BadInput(f"feed_forward was the Python function {self.name}, which is not stored with its result")
        return self.function(tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFunction) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return NamedFunction, (self.name,)

    def __deepcopy__(self, memo: object) -> "NamedFunction":
        return self

    def __repr__(self) -> str:
        return self.name if self.function is not None else f"{self.name} (callable, not stored)"


def _at_least_zero(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise BadInput(f"{name} is {value!r}; expected a number >= 0")
    if not isfinite(value) or value < 0:
        raise BadInput(f"{name} is {value!r}; expected a finite number >= 0")
