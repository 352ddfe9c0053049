"""Stages 3 and 4: from keys to the numbers of targets, and from numbers to the targets (lemmas L5 to L8).

Style `two` reads the targets off a staircase (`telescope`). Style `bitwise` rounds the number tau of a target to an
integer (`snap`, L7), squares it (`square`, L6) and selects the target (`select`, L5). Style `narrow` adds up tau step
by step (`climb`), drops everything else so that all tokens with one leader meet (`collapse`), and moves leader after
leader onto its target (`move_leaders`, L8).
"""

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.steps import Steps, step_units, step_weights
from hardmax.transformer.blocks import Block
from hardmax.transformer.exact import two_sum

# L7: float64 numbers between 2^52 and 2^53 are the integers, so adding SNAP rounds to an integer.
SNAP = 1.5 * 2.0**52
# The parabola of the leaders hangs this far below the axis, in units of the scale S.
DEPTH = 4.0


def telescope(dim: int, steps: Steps, targets: Floats) -> Block:
    """A staircase with values in R^d: y = y_0 + sum_r (y_{r+1} - y_r) step_r(t) is the target of the run that t is in.

    Where y_{r+1} - y_r is not a float64 in some coordinate the step is used twice, with weights y_{r+1} and -y_r.
    """
    U, b = step_units(steps, np.ones(1))
    y = targets[steps.values]  # (R, d)
    before, after = y[:-1], y[1:]
    rise, residual = two_sum(after, -before)
    twice = np.asarray(residual.any(axis=1))
    repeats = np.where(twice, 4, 2)
    unit = np.repeat(np.arange(len(rise)), repeats)
    place = np.arange(len(unit)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    source = 2 * unit + place % 2
    sign = np.where(place % 2 == 0, 1.0, -1.0)[:, None]
    height = np.where(twice[unit][:, None], np.where((place < 2)[:, None], after[unit], -before[unit]), rise[unit])
    U, b, W = U[source], b[source], (height * sign).T
    if y[0].any() or not len(b):
        U, b, W = np.vstack([np.zeros((1, 1)), U]), np.append(1.0, b), np.hstack([y[:1].T, W])
    writes = np.flatnonzero(W.any(axis=1))
    return Block.feed_forward(dim, "place", U, b, W[writes], reads=[0], writes=writes)


def snap(dim: int, coordinate: int, stage: str = "snap", sign: float = 1.0) -> Block:
    """x_i -> x_i + SNAP (eta = 1, U = 0, b = 1), undone by a later bias or by sign = -1.

    L7: over the reals nothing happens but a shift. In float64 an integer with noise below 1/2 becomes exact.
    """
    return Block.feed_forward(
        dim, stage, np.zeros((1, 0)), [1.0], [[sign * SNAP]], reads=[], writes=[coordinate], eta=1.0
    )


def square(dim: int, D: int) -> Block:
    """(tau + SNAP) e0 -> (tau, tau^2), for integers 0 <= tau < D.

    L6: tau^2 = tau + 2 sum_{k=1}^{D-2} relu(tau - k), since the sum of the first tau-1 integers is tau (tau-1) / 2.
    """
    k = np.arange(max(1, D - 1), dtype=np.float64)
    W = np.vstack([k == 0, np.where(k == 0, 1.0, 2.0)])
    return Block.feed_forward(dim, "square", np.ones((len(k), 1)), -SNAP - k, W, reads=[0], writes=[0, 1])


def select(dim: int, targets: Floats) -> Block:
    """(tau, tau^2) -> targets[tau].

    L5: on integers relu(1 + 2k tau - tau^2 - k^2) = relu(1 - (tau - k)^2) = [tau = k]. All numbers are integers below
    2^53, and y_k 1 + zeros is y_k: bit for bit the target, in any order of summation.
    """
    k = np.arange(len(targets), dtype=np.float64)
    U = np.stack([2 * k, np.full_like(k, -1.0)], axis=1)
    writes = np.flatnonzero(targets.any(axis=0))
    W = np.ascontiguousarray(targets.T[writes])
    return Block.feed_forward(dim, "place", U, 1 - k * k, W, reads=[0, 1], writes=writes)


def climb(dim: int, steps: Steps, tau: Floats, width: int) -> list[Block]:
    """e1 += tau(key), width/2 steps in a block, eta = 1: the key stays in e0 (L4). tau of the first run is 0."""
    U, b = step_units(steps, np.ones(1))
    W = step_weights(np.diff(tau))
    return [
        Block.feed_forward(dim, "leaders", U[part], b[part], W[None, part], reads=[0], writes=[1], eta=1.0)
        for part in _parts(len(b), width)
    ]


def collapse(dim: int, D: int, scale: float, width: int) -> list[Block]:
    """(key, tau) -> scale (h tau, h^2 tau^2 - DEPTH), for integers 0 <= tau < D; h is `spacing(D)`.

    Dropping the key makes all tokens with one leader equal: from here on they are one point, the leader, on a parabola
    from where each can be addressed alone (L8).
    L7: in float64 the snap turns tau with its rounding noise into an integer; over the reals it is a shift.
    L6: tau^2 = tau + 2 sum_{k=1}^{D-2} relu(tau - k), and with x_0 = scale h tau this is relu(x_0 / (scale h) - k).
    """
    h = spacing(D)
    drop = np.array([[scale * h, 0.0], [scale * h * h, -scale * DEPTH]])
    blocks = [
        snap(dim, 1, "collapse"),
        Block.feed_forward(dim, "collapse", [[1.0], [0.0]], [-SNAP, 1.0], drop, reads=[1], writes=[0, 1]),
    ]
    k = np.arange(1.0, D - 1)
    for part in _parts(len(k), width):
        U, W = np.full((len(k[part]), 1), 1 / (scale * h)), np.full((1, len(k[part])), 2 * scale * h * h)
        blocks.append(Block.feed_forward(dim, "collapse", U, -k[part], W, reads=[0], writes=[1], eta=1.0))
    return blocks


def move_leaders(dim: int, targets: Floats, scale: float, width: int) -> list[Block]:
    """Move leader k from its place on the parabola onto targets[k], width/2 leaders in a block.

    In units of the scale S >= |y| leader k waits at l_k = (kh, k^2 h^2 - 4). The unit
        relu((2k/h) x_0 - x_1 / h^2 + 1 - k^2 - 4/h^2)
    is 1 - (m-k)^2 at leader m: 1 for m = k and <= 0 for every other one. Times h^2, at a target with
    |y_0|, |y_1| <= 1, it is
        2kh y_0 - y_1 + h^2 - k^2 h^2 - 4 <= 2 + 1 + 1 - 4,  and < 0 since kh < 1.
    So leader k moves by unit (y_k - l_k), onto y_k, and is never touched again, though key and output share
    coordinates: that is why dimension 2 is enough (L8). y_k - l_k need not be a float64, so two copies of the unit
    carry y_k and -l_k.
    Departs: the paper needs |y|^2 for the distance to the leaders; here |y| is enough, so no target is too large.
    """
    h = spacing(len(targets))
    blocks = []
    for part in _parts(len(targets), width // 2):
        k = np.arange(len(targets), dtype=np.float64)[part]
        U = np.stack([2 * k / (h * scale), np.full_like(k, -1 / (h * h * scale))], axis=1)
        b = 1 - k * k - DEPTH / (h * h)
        W = np.zeros((dim, 2 * len(k)))
        W[:, 0::2] = targets[part].T
        W[0, 1::2] = -scale * h * k
        W[1, 1::2] = scale * (DEPTH - h * h * k * k)
        writes = np.flatnonzero(W.any(axis=1))
        U, b = np.repeat(U, 2, axis=0), np.repeat(b, 2)
        blocks.append(Block.feed_forward(dim, "place", U, b, W[writes], reads=[0, 1], writes=writes, eta=1.0))
    return blocks


def spacing(D: int) -> float:
    """h, the largest power of two with h D <= 1."""
    return float(2.0 ** -np.ceil(np.log2(D)))


def _parts(n: int, size: int) -> list[slice]:
    return [slice(first, first + size) for first in range(0, n, size)]
