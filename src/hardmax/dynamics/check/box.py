"""Queries whose best scores are on the boundary of the smallest box that holds all tokens, in compiled code.

Let a_k <= x_k <= b_k for all tokens x, with one of equality for some of them, and let c_k(q) be b_k if q_k > 0, and a_k
if q_k < 0. A token v with v_k = c_k(q) wherever q_k is not 0 scores most, because for every token x

    <q, v> - <q, x> = sum_k |q_k| |c_k(q) - x_k| >= 0.

A token x that scores less differs from v where q_k is not 0, and so it scores less by |q_k| times the distance of the
side to the nearest token beside it at least. In a grid this settles nearly all queries, and nobody has to be searched.
"""

import numpy as np

from hardmax.dynamics.check.claims import Floats, Ints
from hardmax.jit import bare_njit, njit

DIMENSIONS = 16  # at most: corners are counted in a table


@njit()
def sides(x: Floats) -> tuple[Floats, Floats, Ints]:
    """The least and the largest coordinates, (2, d); their distances to the next ones; how many tokens are at corners.

    The corner of a query q has a bit for every k, which is set if q_k > 0, and if the box has a width there.
    """
    n, d = x.shape
    end, following = np.full((2, d), -np.inf), np.full((2, d), -np.inf)  # of -x and x
    for i in range(n):
        for k in range(d):
            for side in range(2):
                value = x[i, k] if side else -x[i, k]
                if value > end[side, k]:
                    following[side, k], end[side, k] = end[side, k], value
                elif end[side, k] > value > following[side, k]:
                    following[side, k] = value
    step = end - following
    end[0] = -end[0]
    count = np.zeros(1 << min(d, DIMENSIONS), np.int64)
    for i in range(n if d <= DIMENSIONS else 0):
        corner = 0
        for k in range(d):
            if x[i, k] != end[0, k] and x[i, k] != end[1, k]:
                corner = -1
                break
            if x[i, k] != end[0, k]:
                corner |= 1 << k
        if corner >= 0:
            count[corner] += 1
    return end, step, count


@bare_njit()
def lead(q: Floats, c: int, x: Floats, j: int, end: Floats, step: Floats, count: Ints) -> tuple[float, int]:
    """By how much token j scores more than all tokens that are not level with it by their coordinates, at least.

    It is -1 if the token is not on the boundary as the query q_c asks for it. The second number is 1 if the token is
    the only one that scores so much, else 0.
    """
    least, corner, d = np.inf, 0, x.shape[1]
    if d > DIMENSIONS:
        return -1.0, 0
    for k in range(d):
        if end[0, k] == end[1, k]:
            continue
        if q[c, k] == 0.0:
            corner = -1
            continue
        side = 1 if q[c, k] > 0.0 else 0
        if x[j, k] != end[side, k]:
            return -1.0, 0
        least = min(least, abs(q[c, k]) * step[side, k])
        if corner >= 0 and side:
            corner |= 1 << k
    return least, 1 if corner >= 0 and count[corner] == 1 else 0
