"""Ties: whether tokens that are said to follow a group forever do so, as far as float64 can tell."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, Floats, Ints, distinct

if TYPE_CHECKING:
    from hardmax.dynamics.check.replay import Replay

PRODUCTS = 1 << 20  # of a token, or of a limit, and another token: compared at once
Bools = NDArray[np.bool_]


def tie_claims(
    replay: "Replay", layer: int, x: Floats, q: Floats, largest: float, longest: float, i: Ints, same: Ints,
    members: list[Ints], now: Bools,
) -> None:  # fmt: skip
    """Test the tokens i with the queries q, which follow the sets members[same]; those of a group all at once."""
    number, bad, follows = -1 - replay.target[i], np.zeros(len(i), bool), np.zeros(len(i), bool)
    place = {m.tobytes(): k for k, m in enumerate(members)}
    same_set = np.array([place[m.tobytes()] for m in members])[same]
    for g in np.unique(number):
        group, rows = replay.groups[g], np.flatnonzero(number == g)
        follows[rows] = same_set[rows] == place.get(group.tobytes(), -1)
        inside = np.isin(i[rows], group)
        step = max(1, PRODUCTS // len(group))
        outside = rows[~inside]
        blocks = [outside[k : k + step] for k in range(0, len(outside), step)] + [np.array([r]) for r in rows[inside]]
        for some in blocks:
            holds = conditions(replay, layer, x, q[some], largest, longest, i[some], follows[some], now[some])
            all_hold = np.array(list(holds.values())).all(axis=0)
            bad[some] = all_hold != now[some]
            if layer == 0:
                exact = replay.exact.ties_hold(i[some], group, int(g))
                replay.undecided += int((now[some] & ~exact).sum())
    r = np.flatnonzero(bad)[:1]
    if not len(r):
        return
    name = f"token {replay.called[i[r[0]]]}"
    if not now[r[0]]:
        replay.wrong.append(f"{name} is decided at layer {layer} already")
        return
    holds = conditions(replay, layer, x, q[r], largest, longest, i[r], follows[r], now[r])
    replay.wrong += [f"{name}: {what}" for what, good in holds.items() if not good[0]]


def conditions(
    replay: "Replay", layer: int, x: Floats, q: Floats, largest: float, longest: float, i: Ints, follows: Bools,
    now: Bools,
) -> dict[str, Bools]:  # fmt: skip
    """What makes a tie last, for tokens i of one group: either none of them is in the group, or there is one only.

    Args:
        q: their queries, and `follows`, whether each follows exactly the group.
        now: whether they are said to be tied from this layer on.
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
    size = float(np.linalg.norm(offset, axis=1).max())
    narrow = loose * (a + b) * longest * size + np.where(now, 32 * EPS * longest * float(np.abs(x).max()), 0.0)

    def most(directions: Floats, rows: Floats, heights: Floats | float = 0.0) -> Floats:
        return np.asarray(np.abs(directions @ rows.T - np.reshape(heights, (-1, 1))).max(axis=1))

    yes = np.ones(len(i), bool)
    return {
        "follows another set than its group": follows,
        "its group holds undecided tokens": yes & bool((since <= layer).all()),
        "its limit is not the mean of its group": np.abs(w @ base / w.sum() - t).max(axis=1)[which] * largest <= band,
        "the mean of its group moves": np.abs(w @ offset / w.sum()).max() * longest <= narrow,
        "its group is not in one face": (most(query, base, level)[which] <= band)
        & (most(query, offset)[which] <= narrow)
        & (most(q, offset) <= narrow),
        "its face does not support the cloud": yes if own else _reach(x, query)[which] <= level[which] + band,
        "it does not stand still": np.abs(replay.limit[i] - x[i]).max(axis=1) * largest <= band if own else yes,
    }


def _reach(x: Floats, queries: Floats) -> Floats:
    """max_x <query, x>."""
    step = max(1, PRODUCTS // len(x))
    return np.concatenate([(queries[k : k + step] @ x.T).max(axis=1) for k in range(0, len(queries), step)])
