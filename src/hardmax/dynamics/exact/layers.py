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

    Args:
        Z: (n, d) integers, Fractions, decimal strings, or floats at their exact binary value.
        V: value matrix. heads: a list of `Head` or matrices A, instead of A and V.
        causal: token i sees the tokens j <= i only.
        normalization: "rescale", or "none": z_i' = z_i + alpha mean_h V_h m_i^h.
        feed_forward: a `FeedForward`, applied to every token after the attention of a layer.
        definite: whether A must be symmetric positive definite.
        keep: "all" layers, or the "last" one. report: called with (layers done, layers).

    Raises:
        BadInput: something cannot be used as it is. NotExact: the variant has no rational values.

    Example:
        >>> simulate_exact([[1], [-1], ["1/2"]], "1/2", None, 1).tokens[1, 2, 0]
        Fraction(2, 3)
    """
    tokens = exact_cloud(Z)
    step, depth = exact_step(alpha), layer_count(layers)
    layer = _layer_map(tokens.shape[1], step, A, V, heads, causal, normalization, feed_forward, definite)
    cloud = IntegerCloud.of(tokens)
    origin, _ = distinct(cloud.rows)
    states, sets, leader_since = [cloud], [], {}
    for k in range(depth + 1):
        by_head = [_attend(cloud, matrix, causal) for matrix in layer.matrices]
        union = by_head[0] if len(by_head) == 1 else [_union(C) for C in zip(*by_head, strict=True)]
        sets.append(tuple(union))
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
    history = np.empty((depth + 1 - first, *tokens.shape), dtype=object)
    for k, state in enumerate(states[first:-1]):
        history[k] = state.fractions()

    linear = layer.feed_forward is None and all(head.V is None for head in layer.heads)
    sublayer = None if layer.feed_forward is None else FeedForward(*layer.feed_forward)
    return Trajectory(
        tokens=history,
        problem=Problem(step, layer.heads, Hardmax(), normalization, causal, sublayer, exact=True),
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
    feed_forward: tuple[Objects, Objects, Objects, Fraction] | None

    def apply(self, cloud: IntegerCloud, by_head: list[list[Places]]) -> IntegerCloud:
        moved = next_layer(cloud, by_head, self.keep, self.moves, self.denominator)
        return moved if self.feed_forward is None else _sublayer(moved, *self.feed_forward)


def _sublayer(cloud: IntegerCloud, W: Objects, U: Objects, b: Objects, eta: Fraction) -> IntegerCloud:
    """eta x + W relu(U x + b) with integers over one denominator."""
    inner, u = over_common_denominator(np.concatenate([U, b[:, None]], axis=1))
    outer, w = over_common_denominator(W)
    hidden = cloud.rows @ inner[:, :-1].T + cloud.denominator * inner[:, -1]  # over u * denominator
    hidden[hidden < 0] = 0
    rows = (hidden @ outer.T) * eta.denominator + cloud.rows * (eta.numerator * u * w)
    return IntegerCloud.reduced(rows, cloud.denominator * u * w * eta.denominator)


def _attend(cloud: IntegerCloud, matrix: Objects | None, causal: bool) -> list[Places]:
    """Token-level follow sets of one head; equal tokens are merged before anything is compared."""
    if causal:
        return Scores(cloud.rows, matrix, causal=True).follow_sets(range(len(cloud.rows)))
    place, members = distinct(cloud.rows)
    points = cloud.rows[[m[0] for m in members]]
    merged = Scores(points, matrix).follow_sets(range(len(points)))
    if len(points) == len(place):
        return merged
    spread: dict[Places, Places] = {}
    for C in merged:
        if C not in spread:
            spread[C] = tuple(sorted(i for p in C for i in members[p]))
    return [spread[merged[p]] for p in place]


def _union(sets: Sequence[Places]) -> Places:
    return sets[0] if len(set(sets)) == 1 else tuple(sorted(set().union(*sets)))


def _layer_map(
    dim: int,
    alpha: Fraction,
    A: Any,
    V: Any,
    heads: Sequence[Any] | None,
    causal: bool,
    normalization: str,
    feed_forward: Any,
    definite: bool,
) -> _LayerMap:
    if heads is not None and (A is not None or V is not None):
        raise BadInput("A or V is given together with heads; each head has its own", fix="put A and V into Head(A, V)")
    if heads is not None and not len(heads):
        raise BadInput("heads is empty", fix="give at least one Head, or leave heads out")
    listed = [h if isinstance(h, Head) else Head(h) for h in heads] if heads is not None else [Head(A, V)]
    names = ["A"] if heads is None else [f"heads[{h}].A" for h in range(len(listed))]
    metrics = [exact_metric(h.A, dim, definite, name) for h, name in zip(listed, names, strict=True)]
    one = identity(dim) * Fraction(1)
    values = [
        one if h.V is None else exact_matrix(h.V, dim, dim, name[:-1] + "V")
        for h, name in zip(listed, names, strict=True)
    ]
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
    matrices = [None if m is None else over_common_denominator(m)[0] for m in metrics]
    return _LayerMap(
        heads=tuple(Head(m, None if h.V is None else v) for h, m, v in zip(listed, metrics, values, strict=True)),
        matrices=matrices,
        keep=whole[0],
        moves=list(whole[1:]),
        denominator=denominator,
        feed_forward=_exact_sublayer(feed_forward, dim),
    )


def _exact_sublayer(sublayer: Any, dim: int) -> tuple[Objects, Objects, Objects, Fraction] | None:
    if sublayer is None:
        return None
    if not isinstance(sublayer, FeedForward):
        raise NotExact(
            f"feed_forward is {sublayer!r}, a function whose values are not known to be rational",
            fix="use hardmax.FeedForward(W, U, b, eta), or exact=False",
        )
    width = len(sublayer.b)
    bias = exact_matrix([list(sublayer.b)], 1, width, "feed_forward.b")[0]
    return (
        exact_matrix(sublayer.W, dim, width, "feed_forward.W"),
        exact_matrix(sublayer.U, width, dim, "feed_forward.U"),
        bias,
        exact_number(sublayer.eta, "feed_forward.eta"),
    )
