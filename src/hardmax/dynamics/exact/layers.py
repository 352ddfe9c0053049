"""Layers in rational arithmetic: the paper's system and its variants, without rounding."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hardmax.attention.rules import FeedForward, Hardmax, Head
from hardmax.cloud.parameters import exact_cloud, exact_matrix, exact_number, layer_count
from hardmax.dynamics.exact.follow import Places, Scores, distinct, next_layer
from hardmax.dynamics.exact.linear import Objects, identity, inverse
from hardmax.dynamics.exact.numbers import IntegerCloud, exact_metric, exact_step, over_common_denominator
from hardmax.dynamics.layer_parts import named_heads
from hardmax.dynamics.outcome import exact_outcome
from hardmax.dynamics.trajectory import Problem, Trajectory
from hardmax.errors import BadInput, NotExact
from hardmax.io.progress import Report


def simulate_exact(
    Z: Any,
    alpha: Any,
    A: Any,
    layers: int,
    *,
    V: Any = None,
    heads: Sequence[Any] | None = None,
    causal: bool = False,
    normalization: str = "rescale",
    feed_forward: Any = None,
    definite: bool = True,
    keep: str = "all",
    report: Report | None = None,
) -> Trajectory:
    """Run layers of hardmax attention in rational arithmetic.

    z_i' = (I + alpha W)^-1 (z_i + alpha mean_h V_h m_i^h), m_i^h = mean of C_i^h, W = mean_h V_h; with one head and
    V = I this is z_i' = (z_i + alpha m_i) / (1 + alpha). Implements [AFZ24, eq. (1.1a)].
    Departs: with several heads a token's follow set is the union over the heads.

    The arguments are those of `hardmax.simulate`.

    Raises:
        BadInput: something cannot be used as it is. NotExact: the variant has no rational values.

    Example:
        >>> simulate_exact([[1], [-1], ["1/2"]], "1/2", None, 1).tokens[1, 2, 0]
        Fraction(2, 3)
    """
    tokens = exact_cloud(Z)
    step, depth = exact_step(alpha), layer_count(layers)
    layer = _layer_map(tokens.shape[1], step, A, V, heads, normalization, feed_forward, definite)
    cloud = IntegerCloud.of(tokens)
    origin, _ = distinct(cloud.rows)
    states, sets, leader_since = [cloud], [], {}
    for k in range(depth + 1):
        by_head = [_attend(cloud, matrix, causal) for matrix in layer.matrices]
        union = tuple(_union(C) for C in zip(*by_head, strict=True))
        sets.append(union)
        place, _ = distinct(cloud.rows)
        for i, C in enumerate(union):
            # copies of one point lead together, but tokens that have met on the way do not
            if i not in leader_since and all(origin[j] == origin[i] and place[j] == place[i] for j in C):
                leader_since[i] = k
        cloud = layer.apply(cloud, by_head)
        states.append(cloud)
        if report is not None:
            report(k, depth)

    first = 0 if keep == "all" else depth
    linear = layer.feed_forward is None and all(head.V is None for head in layer.heads)
    return Trajectory(
        tokens=np.stack([state.fractions() for state in states[first:-1]]),
        problem=Problem(step, layer.heads, Hardmax(), normalization, causal, layer.feed_forward, exact=True),
        leader_since=leader_since,
        outcome=exact_outcome(states, step, layer.matrices if linear else None),
        sets=sets[first:],
        first_layer=first,
    )


@dataclass(frozen=True, eq=False)
class _LayerMap:
    """z' = (keep z + sum_h move_h m^h) / denominator, then the feed-forward sublayer; all matrices of integers."""

    heads: tuple[Head, ...]
    matrices: list[Objects | None]
    keep: Objects
    moves: list[Objects]
    denominator: int
    feed_forward: FeedForward | None

    def apply(self, cloud: IntegerCloud, by_head: list[list[Places]]) -> IntegerCloud:
        moved = next_layer(cloud, by_head, self.keep, self.moves, self.denominator)
        return moved if self.feed_forward is None else _sublayer(moved, self.feed_forward)


def _sublayer(cloud: IntegerCloud, ff: FeedForward) -> IntegerCloud:
    """eta x + W relu(U x + b) with integers over one denominator."""
    inner, u = over_common_denominator(np.concatenate([ff.U, ff.b[:, None]], axis=1))
    outer, w = over_common_denominator(ff.W)
    hidden = cloud.rows @ inner[:, :-1].T + cloud.denominator * inner[:, -1]  # over u * denominator
    hidden[hidden < 0] = 0
    rows = (hidden @ outer.T) * ff.eta.denominator + cloud.rows * (ff.eta.numerator * u * w)
    return IntegerCloud.reduced(rows, cloud.denominator * u * w * ff.eta.denominator)


def _attend(cloud: IntegerCloud, matrix: Objects | None, causal: bool) -> list[Places]:
    """Token-level follow sets of one head; equal tokens are merged before anything is compared."""
    if causal:
        return Scores(cloud.rows, matrix, causal=True).follow_sets(range(len(cloud.rows)))
    place, members = distinct(cloud.rows)
    points = cloud.rows[[m[0] for m in members]]
    merged = Scores(points, matrix).follow_sets(range(len(points)))
    if len(points) == len(place):
        return merged
    spread = {C: tuple(sorted(i for p in C for i in members[p])) for C in set(merged)}
    return [spread[merged[p]] for p in place]


def _union(sets: Sequence[Places]) -> Places:
    return sets[0] if len(set(sets)) == 1 else tuple(sorted(set().union(*sets)))


def _layer_map(
    dim: int, alpha: Fraction, A: Any, V: Any, heads: Any, normalization: str, feed_forward: Any, definite: bool
) -> _LayerMap:
    named = named_heads(A, V, heads)
    metrics = [exact_metric(h.A, dim, definite, f"{name}A") for name, h in named.items()]
    one = identity(dim) * Fraction(1)
    values = [one if h.V is None else exact_matrix(h.V, dim, dim, f"{name}V") for name, h in named.items()]
    keep, gains = one, [v * (alpha / len(values)) for v in values]
    if normalization == "rescale":
        rescale = inverse(one + sum(gains))
        if rescale is None:
            raise BadInput(
                f"I + alpha V is singular for alpha = {alpha}, so the layer cannot be rescaled",
                fix='use another alpha, or normalization="none"',
            )
        keep, gains = rescale, [rescale @ g for g in gains]
    elif normalization == "sphere":
        raise NotExact(
            'normalization="sphere" divides by lengths, which are square roots and not rational',
            fix='use normalization="rescale" or "none", or exact=False',
        )
    elif normalization != "none":
        raise BadInput(f'normalization is {normalization!r}; expected "rescale", "none" or "sphere"')
    whole, denominator = over_common_denominator(np.stack([keep, *gains]))
    checked = tuple(
        Head(m, None if h.V is None else v) for h, m, v in zip(named.values(), metrics, values, strict=True)
    )
    matrices = [None if m is None else over_common_denominator(m)[0] for m in metrics]
    sublayer = _exact_sublayer(feed_forward, dim)
    return _LayerMap(checked, matrices, whole[0], list(whole[1:]), denominator, sublayer)


def _exact_sublayer(sublayer: Any, dim: int) -> FeedForward | None:
    if sublayer is None:
        return None
    if not isinstance(sublayer, FeedForward):
        raise NotExact(
            f"feed_forward is {sublayer!r}, a function whose values are not known to be rational",
            fix="use hardmax.FeedForward(W, U, b, eta), or exact=False",
        )
    try:
        width = len(sublayer.b)
    except TypeError as error:
        raise BadInput(f"feed_forward.b is {sublayer.b!r}; expected a list of numbers") from error
    bias = exact_matrix([list(sublayer.b)], 1, width, "feed_forward.b")[0]
    return FeedForward(
        exact_matrix(sublayer.W, dim, width, "feed_forward.W"),
        exact_matrix(sublayer.U, width, dim, "feed_forward.U"),
        bias,
        exact_number(sublayer.eta, "feed_forward.eta"),
    )
