"""Scores become weights: every rule of `hardmax.attention.rules` on a dense block of scores.

A block holds some tokens (rows) against all distinct points (columns). `copies[r, c]` is how many tokens at point c the
token of row r can see: 0 hides the point (causal mask), 2 makes it count twice in a mean.
"""

import numpy as np

from hardmax.attention.rules import Chain, Hardmax, Localmax, RandomFollow, Rule, Softmax, Uniform
from hardmax.cloud.tokens import Floats


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
