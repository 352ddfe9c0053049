"""The rules by which a token weighs the others, and the parts of a layer around them.

Each rule turns scores s_ij = <A z_i, z_j> into weights w_ij >= 0 with sum_j w_ij = 1; the token is attracted to
m_i = sum_j w_ij z_j. The paper's rule is `Hardmax`. Weights are computed on dense blocks of scores: some tokens (rows)
against all distinct points (columns). `copies[r, c]` is how many tokens at point c the token of row r can see: 0 hides
the point (causal mask), 2 makes it count twice in a mean.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.by_value import ByValue
from hardmax.errors import BadInput

Floats = NDArray[np.float64]


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
RULES: dict[str, type[Any]] = {
    "hardmax": Hardmax, "softmax": Softmax, "localmax": Localmax, "uniform": Uniform, "random": RandomFollow,
    "chain": Chain,
}  # fmt: skip


def as_rule(rule: Any, **settings: Any) -> Rule:
    """A rule, or the rule of a name with those of the settings that it has; None is Hardmax().

    Raises:
        BadInput: there is no rule of this name, or it is neither a rule nor a name.

    Example:
        >>> as_rule("softmax", beta=9.0, seed=7)
        Softmax(beta=9.0)
    """
    if isinstance(rule, get_args(Rule)):
        return rule
    name = "hardmax" if rule is None else rule
    if not isinstance(name, str) or name not in RULES:
        instances = ", ".join(f"{kind.__name__}(...)" for kind in RULES.values())
        raise BadInput(f"rule is {rule!r}; expected one of {', '.join(RULES)}, or {instances}")
    kind = RULES[name]
    made: Rule = kind(**{field.name: settings[field.name] for field in fields(kind) if field.name in settings})
    return made


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


def weights(
    rule: Rule, scores: Floats, copies: Floats, slack: Floats | float = 0.0, uniforms: Floats | None = None
) -> Floats:
    """The weights w_rc >= 0, sum_c w_rc = 1, with which the token of row r is attracted to point c.

    Hardmax and Localmax: w_rc = copies_rc / sum of copies over { c : s_rc >= max s - eps - slack } (Hardmax: eps = 0).
    Softmax: w_rc proportional to copies_rc exp(beta s_rc); Uniform: to copies_rc.
    Chain and RandomFollow: 1 at one point, drawn with the weights of Softmax(beta) and Uniform.

    Implements [AFZ24, eq. (1.1b)] for Hardmax.
    Departs: `slack` keeps ties that rounding would break (`hardmax.attention.ties`).

    Args:
        scores: (r, c) finite.
        copies: (r, c) or (c,), every row with a visible point.
        slack: (r,) or a number: how far below the maximum a score still ties with it.
        uniforms: (r,) numbers in [0, 1) that decide the draws of Chain and RandomFollow.

    Example:
        >>> weights(Hardmax(), np.array([[3.0, 1.0, 3.0]]), np.array([1.0, 1.0, 3.0]))
        array([[0.25, 0.  , 0.75]])
    """
    return weights_of_gaps(rule, gaps(scores, copies), copies, slack, uniforms)


def gaps(scores: Floats, copies: Floats) -> Floats:
    """max_c s_rc - s_rc over the visible points; infinite where a point is hidden."""
    visible = copies > 0
    seen = scores if visible.all() else np.where(visible, scores, -np.inf)
    return seen.max(axis=1, keepdims=True) - seen


def weights_of_gaps(
    rule: Rule, gap: Floats, copies: Floats, slack: Floats | float = 0.0, uniforms: Floats | None = None
) -> Floats:
    """`weights` from the gaps max s - s_rc >= 0, on which alone every rule depends."""
    match rule:
        case Hardmax():
            raw = np.where(gap <= np.reshape(slack, (-1, 1)), copies, 0.0)
        case Localmax():
            raw = np.where(gap <= rule.eps + np.reshape(slack, (-1, 1)), copies, 0.0)
        case Softmax():
            raw = _exponentials(gap, copies, rule.beta)
        case Uniform():
            raw = np.array(np.broadcast_to(copies, gap.shape), dtype=np.float64)
        case Chain():
            return _drawn(_exponentials(gap, copies, rule.beta), uniforms)
        case RandomFollow():
            return _drawn(np.broadcast_to(copies, gap.shape), uniforms)
    raw /= raw.sum(axis=1, keepdims=True)
    return raw


def is_random(rule: Rule) -> bool:
    """Whether the rule draws, so that equal tokens may follow different ones."""
    return isinstance(rule, (RandomFollow, Chain))


def follows_everyone(rule: Rule) -> bool:
    """Whether every visible token has a positive weight, whatever the scores."""
    return isinstance(rule, (Softmax, Uniform))


def _exponentials(gap: Floats, copies: Floats, beta: float) -> Floats:
    """copies * exp(-beta gap): the largest exponent is 0, so nothing overflows and the sum is at least 1."""
    if beta == 0:
        return np.array(np.broadcast_to(copies, gap.shape), dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        raw = gap * -beta  # -inf at hidden points, whose exponential is 0
        np.exp(raw, out=raw)
        raw *= copies
    return raw


def _drawn(raw: Floats, uniforms: Floats | None) -> Floats:
    """One column per row, drawn with probability proportional to `raw` by inverting the cumulative sum."""
    if uniforms is None:
        raise TypeError("a random rule needs its uniform numbers")
    cumulative = np.cumsum(raw, axis=1)
    mark = uniforms[:, None] * cumulative[:, -1:]
    # A column of weight 0 has the cumulative sum of its left neighbor and is passed over; where rounding lifts the
    # mark to the total itself, the last column of positive weight is meant.
    last = raw.shape[1] - 1 - np.argmax(raw[:, ::-1] > 0, axis=1)
    column = np.minimum((cumulative <= mark).sum(axis=1), last)
    chosen = np.zeros(raw.shape)
    chosen[np.arange(len(column)), column] = 1.0
    return chosen


def _at_least_zero(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise BadInput(f"{name} is {value!r}; expected a number >= 0")
    if not isfinite(value) or value < 0:
        raise BadInput(f"{name} is {value!r}; expected a finite number >= 0")
