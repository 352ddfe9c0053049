"""Ties: whether tokens that are said to follow a group forever do so, as far as float64 can tell."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, Floats, Ints, distinct

if TYPE_CHECKING:
    from hardmax.dynamics.check.faces import Faces
    from hardmax.dynamics.check.follow_sets import FollowSets
    from hardmax.dynamics.check.replay import Replay

BLOCK, STEP = 1 << 18, 1 << 12  # scores that are computed at once, and tokens at most for each of the queries
SIGNS = np.array([[1.0], [-1.0]])
Bools = NDArray[np.bool_]


def tie_claims(
    replay: "Replay", layer: int, x: Floats, q: Floats, largest: float, longest: float, i: Ints,
    sets: "FollowSets | Faces", rows: Ints, now: Bools,
) -> None:  # fmt: skip
    """Test the tokens i with the queries q, which are these `rows` of `sets`; those of a group all at once."""
    number, bad, follows = -1 - replay.target[i], np.zeros(len(i), bool), np.zeros(len(i), bool)
    in_group, alone, blocks = np.zeros(len(x), bool), np.zeros(len(i), bool), list[Ints]()
    for g in np.unique(number):
        group, tied = replay.groups[g], np.flatnonzero(number == g)
        follows[tied] = sets.follow(rows[tied], group)
        in_group[group] = True
        inside = in_group[i[tied]]
        in_group[group] = False
        blocks += [np.array([r]) for r in tied[inside]] + [tied[~inside]] * (not inside.all())
        alone[tied[inside]] = True
    sure = np.zeros(len(i), bool)
    for some in blocks if layer == 0 else ():
        if now[some].any():
            exact = sets.level[rows[some]] & replay.exact.ties_hold(i[some], int(number[some[0]]))
            replay.undecided += int((now[some] & ~exact).sum())
            sure[some] = exact & now[some] & follows[some]
    if x is replay.start:  # which the exact claims are about
        sure &= known_exactly(replay, i, sure)
    else:
        sure[:] = False
    blocks = [left for some in blocks if len(left := some[~sure[some]])]
    reach = np.full(len(i), -np.inf)  # a token in its own group follows it, so its face supports the cloud
    outside = np.flatnonzero(~(alone | sure))
    a, b = replay.tie.at(layer)
    reach[outside] = farthest(x, replay.limit[i[outside]], replay.A, (a + b) * largest * largest)
    for some in blocks:
        holds = conditions(replay, layer, x, q[some], largest, longest, i[some], follows[some], now[some], reach[some])
        all_hold = np.array(list(holds.values())).all(axis=0)
        bad[some] = all_hold != now[some]
    r = np.flatnonzero(bad)[:1]
    if not len(r):
        return
    name = f"token {replay.called[i[r[0]]]}"
    if not now[r[0]]:
        replay.wrong.append(f"{name} is decided at layer {layer} already")
        return
    holds = conditions(replay, layer, x, q[r], largest, longest, i[r], follows[r], now[r], reach[r])
    replay.wrong += [f"{name}: {what}" for what, good in holds.items() if not good[0]]


def known_exactly(replay: "Replay", i: Ints, holds: Bools) -> Bools:
    """For which of the tokens i whose tie holds exactly at layer 0 nothing is left to ask.

    Limits that are those of the exact claims meet the conditions below as these do, up to their rounding: it is a small
    part of what is allowed. The exact claims do not know when tokens are decided.
    """
    if not holds.any():
        return holds
    good = replay.exact.are_ends(replay.limit) & (replay.decided <= 0)
    number = -1 - replay.target[i]
    groups = np.array([good[group].all() for group in replay.groups])
    return np.asarray(good[i] & groups[number])


def conditions(
    replay: "Replay", layer: int, x: Floats, q: Floats, largest: float, longest: float, i: Ints, follows: Bools,
    now: Bools, reach: Floats,
) -> dict[str, Bools]:  # fmt: skip
    """What makes a tie last, for tokens i of one group: either none of them is in the group, or there is one only.

    Args:
        q: their queries, and `follows`, whether each follows exactly the group.
        now: whether they are said to be tied from this layer on.
        reach: the largest score of any token with the limit of each as its query.
    """
    group = replay.groups[-1 - replay.target[i[0]]]
    others = group[group != i[0]]
    own = len(others) < len(group)
    a, b = replay.tie.at(layer)
    # A claim may use the whole tolerance, and more where it rounds in another order than the solver. That a token
    # should have been decided before is said only where there is no doubt: within a part of the tolerance.
    loose = np.where(now, 8.0, 2.0)
    band = loose * (a + b) * largest * largest
    first, which = distinct(replay.limit[i])  # many ties share one face
    t = replay.limit[i[first]]
    query = t if replay.A is None else t @ replay.A
    level = np.einsum("ij,ij->i", query, t)
    base, w = replay.limit[others], replay.weight[others]
    since = replay.decided[others]
    offset = replay.offset_at_decision[others] * ((1 + replay.alpha) ** np.minimum(since - since.max(), 0.0))[:, None]
    # Offsets are judged by their direction, but a limit that two ties share may be off by its last bits.
    size = float(np.sqrt(np.einsum("ij,ij->i", offset, offset).max()))
    narrow = loose * (a + b) * longest * size + np.where(now, 32 * EPS * longest * float(np.abs(x).max()), 0.0)

    yes = np.ones(len(i), bool)
    return {
        "follows another set than its group": follows,
        "its group holds undecided tokens": yes & bool((since <= layer).all()),
        "its limit is not the mean of its group": np.abs(w @ base / w.sum() - t).max(axis=1)[which] * largest <= band,
        "the mean of its group moves": np.abs(w @ offset / w.sum()).max() * longest <= narrow,
        "its group is not in one face": (_off_face(query, level, t, base, float(band.min()))[which] <= band)
        & (_size(query, offset, float(narrow.min()))[which] <= narrow)
        & (_size(q, offset, float(narrow.min())) <= narrow),
        "its face does not support the cloud": reach <= level[which] + band,
        "it does not stand still": np.abs(replay.limit[i] - x[i]).max(axis=1) * largest <= band if own else yes,
    }


def farthest(x: Floats, limits: Floats, A: Floats | None, room: float) -> Floats:
    """max_x <A t, x> for each limit t, of which many are the same; or a bound that is at most `room` above <A t, t>.

    The bound is the score of the corner of the box of all tokens that is farthest in the direction of the query.
    """
    first, which = distinct(limits)
    t = limits[first]
    query = t if A is None else t @ A
    low, high = box_of(x)
    most = np.maximum(query * low, query * high).sum(axis=1)
    left = np.flatnonzero(~(most <= np.einsum("ij,ij->i", query, t) + room))
    most[left] = _range(query[left], x)[0]
    return np.asarray(most[which])


def box_of(x: Floats) -> Floats:
    """(2, d) the least and the largest coordinates, column by column: NumPy is slow along a long first axis."""
    return np.array([[column.min() for column in x.T], [column.max() for column in x.T]])


def _size(queries: Floats, x: Floats, room: float) -> Floats:
    """max_x |<query, x>| for each query, or a bound that is at most half of `room`."""
    most = np.abs(queries) @ np.maximum(*np.abs(box_of(x)))
    left = np.flatnonzero(~(most <= room / 2))
    most[left] = np.maximum(*_range(queries[left], x))
    return np.asarray(most)


def _off_face(queries: Floats, level: Floats, t: Floats, base: Floats, room: float) -> Floats:
    """max_x |<query, x> - level| over the base for each query, or a bound that is at most half of `room`."""
    if len(t) == 1 and (bound := np.abs(queries) @ np.maximum(*np.abs(box_of(base - t)))) <= room / 2:
        return np.asarray(bound)
    return np.asarray(np.maximum(*_range(queries, base) - level * SIGNS))


def _range(queries: Floats, x: Floats) -> Floats:
    """(2, q) max_x <query, x> and max_x -<query, x>, from blocks that stay in the cache."""
    most = np.full((2, len(queries)), -np.inf)
    step = max(1, BLOCK // max(1, min(len(x), STEP)))
    for a in range(0, len(queries), step):
        part = slice(a, a + step)
        for b in range(0, len(x), STEP):
            scores = queries[part] @ x[b : b + STEP].T
            np.maximum(most[0, part], scores.max(axis=1), out=most[0, part])
            np.maximum(most[1, part], -scores.min(axis=1), out=most[1, part])
    return most
