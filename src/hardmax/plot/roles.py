"""Whom each token follows at one layer, as shapes and colors [AFZ24, Fig. 2]. No drawing here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.trajectory import Trajectory

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Roles:
    """What each of n tokens looks like at one layer.

    Attributes:
        star: (n,) the token follows itself and nothing else.
        face: (n,) number of the color of the token that is followed; -1 for ties between three or more.
        half: (n,) number of the second color for ties between two points, else -1.
        tie: (n,) the token follows two different points or more.
        pair: (n, 2) the two tokens of such a tie (elsewhere 0).
        ring: (n,) number of the token's own color if others follow it although it does not follow itself, else -1.
    """

    star: NDArray[np.bool_]
    face: Ints
    half: Ints
    tie: NDArray[np.bool_]
    pair: Ints
    ring: Ints


@dataclass(frozen=True, eq=False)
class Colors:
    """One color number for every token that is followed; leaders come first. Copies of one point share it.

    Attributes:
        number: (n,) the number of each token, -1 where nobody ever follows it.
        copy_of: (n,) the first token at the same point.
    """

    number: Ints
    copy_of: Ints


def first_copies(tokens: NDArray[Any]) -> Ints:
    """(n,) the index of the first equal row. Equal tokens stay equal forever, so layer 0 decides.

    Example:
        >>> first_copies(np.array([[1, 0], [2, 0], [1, 0]]))
        array([0, 1, 0])
    """
    first: dict[tuple[Any, ...], int] = {}
    return np.array([first.setdefault(tuple(row), i) for i, row in enumerate(tokens.tolist())], dtype=np.int64)


def colors(traj: Trajectory, layers: tuple[int, ...]) -> Colors:
    """Give every leader a color, and then every other token that is followed alone, or by a pair, in these layers."""
    copy_of = first_copies(traj.tokens[0])
    order = dict.fromkeys(int(copy_of[i]) for i in traj.leaders)
    seen: set[tuple[int, ...]] = set()
    for k in layers:
        seen |= set(traj.follows(k))
    others = set()
    for followed in seen:
        distinct = {int(copy_of[j]) for j in followed}
        if len(distinct) <= 2:
            others |= distinct
    order |= dict.fromkeys(sorted(others - set(order)))
    number = np.full(traj.n, -1, dtype=np.int64)
    for c, i in enumerate(order):
        number[i] = c
    return Colors(number[copy_of], copy_of)


def roles(traj: Trajectory, layer: int, paint: Colors) -> Roles:
    """Shapes and colors of all tokens at one layer."""
    n = traj.n
    star, tie = np.zeros(n, bool), np.zeros(n, bool)
    face, half = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    pair = np.zeros((n, 2), dtype=np.int64)
    followed_by_others = np.zeros(n, bool)
    known: dict[tuple[int, ...], list[int]] = {}  # few distinct sets, many tokens
    for i, followed in enumerate(traj.follows(layer)):
        distinct = known.get(followed)
        if distinct is None:
            distinct = known[followed] = sorted({int(paint.copy_of[j]) for j in followed})
        me = int(paint.copy_of[i])
        star[i] = distinct == [me]
        tie[i] = len(distinct) > 1
        if len(distinct) <= 2:
            face[i] = paint.number[distinct[0]]
            if tie[i]:
                half[i], pair[i] = paint.number[distinct[1]], distinct
            for j in distinct:
                if j != me:
                    followed_by_others[j] = True
    ring = np.where(followed_by_others[paint.copy_of] & ~star, paint.number, -1)
    return Roles(star, face, half, tie, pair, ring)
