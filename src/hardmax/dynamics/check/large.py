"""Followers of a large cloud that are checked all at once, so that only the others have to be replayed.

A token that is said to follow one leader l from layer 0 on is *known* if it is shown here that it does so, by a gap of
more than `reach` |z|_A max|z|_A. It is *set aside* if no token that is not set aside ever looks at it, at any layer up
to the last one. What is left is replayed without them. Nothing is taken from the engine.

Write w^k = l + rho^k (w - l) for the place of a follower of l, and V for the tokens that are not set aside.

Let N be A-norms, and `bar` a number.
* Nobody looks at w if N_w < bar, provided that every query of V, at every layer, has a best score above bar times its
  norm, with room (this is tested while V is replayed): <q, w^k> is between <q, w> and <q, l>, and <q, w> <= N_q N_w.
* Each query is compared with its claimed target, b = <q, l>, and with every x in V of N_x >= b / N_q (less the gap);
  shorter ones cannot reach it (Cauchy-Schwarz), and those set aside are shorter if b / N_q > bar.
* All followers of l are compared with the same x at once, or with none: if their directions are within an angle theta
  of a unit vector c, then <u, l - x> >= <c, l - x> cos(theta) - (|l - x|^2 - <c, l - x>^2)^(1/2) sin(theta) for each
  of these directions u. Where this is large enough, none of them follows x. The followers of leaders that have few are
  compared one by one, in order of falling b / N_q, so that those of a block need about as many x.
"""

from itertools import pairwise
from math import acos, cos, sin
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import FOLLOWER, LEADER

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK, KEYS = 256, 512  # queries and keys compared at once: their scores stay in the cache
CHUNK = 1 << 13  # tokens looked at together: they stay in the cache
SHARES = 0.5, 0.9  # of the followers of a leader, in the order of their angles: they are compared in parts
ROUGH = 2e-3  # of the lengths: the square root of the rounding of float32, the error of the root of a difference
FEW = 24  # followers up to which that does not pay
CROWD = 256  # followers from which on a leader's are compared together


class SetAside:
    """Which tokens are set aside.

    Args:
        queries: (n, d) rows A z_i, and `norms` (n,) their A-norms.
        reach: gaps up to this many |z_i|_A max|z|_A are looked at when V is replayed.

    Attributes:
        known, aside: (n,) whether a token is known, and whether it is set aside as well.
        bar: best scores of V must stay above this many |q|_A.
    """

    def __init__(self, c: "Certificate", tokens: Floats, queries: Floats, norms: Floats, reach: float) -> None:
        self.tokens, self.queries, self.norms = tokens, queries, norms
        self.reach, self.largest = 2 * reach, float(norms.max())
        self.bar = 0.0
        n = len(tokens)
        self.leads = np.zeros(n, bool)
        leaders = np.flatnonzero((c.role == LEADER) & (c.decided_at == 0))
        self.leaders = leaders[c.target[leaders] == leaders]
        self.leads[self.leaders] = True
        self.follows = (c.role == FOLLOWER) & (c.decided_at == 0)
        self.follows &= self.leads[np.where(self.follows, c.target, 0)]
        self.follows[np.array(sorted({i for group in c.groups for i in group}), np.int64)] = False
        self.target = c.target
        self.known, self.aside = np.zeros((2, n), bool)
        self._by_norm()

    def _by_norm(self) -> None:
        # No square here is to overflow, or to lose digits; tokens of other sizes are replayed.
        size = float(np.abs(self.tokens).max())
        rows = np.flatnonzero(self.follows & (self.norms > 1e-60 * self.largest))
        if not len(rows) or not 1e-80 < min(size, self.largest) <= max(size, self.largest) < 1e80:
            return
        rows = rows[np.argsort(self.target[rows], kind="stable")]
        best = np.concatenate([
            np.einsum("ij,ij->i", self.queries[part], self.tokens.take(self.target[part], axis=0))
            for part in np.array_split(rows, 1 + len(rows) // CHUNK)
        ])  # fmt: skip
        floor = best - self.reach * self.norms[rows] * self.largest
        need = floor / self.norms[rows] * (1 - 1e-9)
        self.bar = 0.97 * float(need.min())
        self.known[rows] = True
        self.aside[rows] = self.norms[rows] < self.bar
        keys = np.flatnonzero(~self.aside)
        copy = (self.target[keys] != keys) & self.leads[np.maximum(self.target[keys], 0)]
        copy[copy] = (self.tokens[keys[copy]] == self.tokens[self.target[keys[copy]]]).all(axis=1)
        keys = keys[~copy]  # whoever follows a leader follows its copies
        keys = keys[np.argsort(-self.norms[keys])]
        self.place = np.full(len(self.tokens), -1, np.int64)  # of a token among the keys
        self.place[keys] = np.arange(len(keys))
        self.places, self.rising = self.tokens[keys], -self.norms[keys]
        self.unit = 1.0 / float(np.abs(self.places).max())  # float32 has a narrow range
        self.single = (self.places * self.unit).astype(np.float32)
        self.columns = np.ascontiguousarray(self.single.T)
        self.squares = np.einsum("ki,ki->i", self.columns, self.columns)
        self.longest = float(self.squares.max())
        ends = np.flatnonzero(np.diff(self.target[rows], append=-1)) + 1
        alone = []
        for start, stop in zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True):
            if stop - start < CROWD:
                alone.append(np.arange(start, stop))
                continue
            for at in range(start, stop, CHUNK):
                some = slice(at, min(stop, at + CHUNK))
                self._compare(rows[some], floor[some], need[some])
        left = np.concatenate([*alone, np.empty(0, np.int64)])
        left = left[np.argsort(-need[left])]
        for at in range(0, len(left), BLOCK):
            block = left[at : at + BLOCK]
            self._compare_each(rows[block], floor[block], float(need[block].min()))
        self.aside &= self.known

    def _compare_each(self, rows: Ints, floor: Floats, need: float) -> None:
        """Take back those of the followers that have another token above the floor."""
        q = self.queries.take(rows, axis=0)
        length = np.sqrt(np.einsum("ij,ij->i", q, q))
        count = int(np.searchsorted(self.rising, -need, side="right"))
        single = np.ascontiguousarray((q / length[:, None]).T, np.float32)
        bar = (floor / length * self.unit - (q.shape[1] + 4) * 2.0**-23 * np.sqrt(self.longest)).astype(np.float32)
        leader = self.place[self.target[rows]]
        close = np.zeros(len(rows), bool)
        for start in range(0, count, KEYS):
            stop = min(count, start + KEYS)
            scores = self.single[start:stop] @ single
            own = np.flatnonzero((leader >= start) & (leader < stop))
            scores[leader[own] - start, own] = -np.inf
            close |= scores.max(axis=0) >= bar  # down the columns: many maxima at once
        for r in np.flatnonzero(close):
            scores = self.places[:count] @ q[r]
            scores[leader[r]] = -np.inf
            self.known[rows[r]] = scores.max() < floor[r]

    def _compare(self, rows: Ints, floor: Floats, need: Floats) -> None:
        """Take back those of the followers of one leader that have another token above the floor."""
        leader = self.tokens[self.target[rows[0]]]
        q = self.queries[rows]
        length = np.sqrt(np.einsum("ij,ij->i", q, q))
        directions = q / length[:, None]
        middle = directions.sum(axis=0)
        middle /= np.sqrt(middle @ middle)
        cosine = directions @ middle
        count = int(np.searchsorted(self.rising, -need.min(), side="right"))
        place = leader * self.unit
        along, square = np.stack((middle, place)).astype(np.float32) @ self.columns[:, :count]
        along -= np.float32(place @ middle)
        square *= -2
        square += self.squares[:count]
        square += np.float32(place @ place)
        across = np.sqrt(np.maximum(square - along * along, 0.0))
        size = np.sqrt(self.longest + place @ place)
        # Besides the gap, with room for the rounding of float32: of `across`, it is that of a difference of squares.
        room = float(((q @ leader - floor) / length).max()) * self.unit + 1e-5 * size
        others = np.ones(count, bool)
        others[self.place[self.target[rows[0]]]] = False
        single = directions.astype(np.float32)
        bar = (floor / length * self.unit - 2e-6 * size).astype(np.float32)
        order = np.argsort(-cosine)
        for a, b in pairwise([0, *(int(share * len(rows)) for share in SHARES if len(rows) > FEW), len(rows)]):
            some = order[a:b]
            angle = acos(max(-1.0, min(1.0, cosine[some[-1]])))
            near = slice(0, int(np.searchsorted(self.rising, -need[some].min(), side="right")))
            close = others[near]
            if angle < 1.5:  # from half a circle on, the bound says nothing
                towards, sine = np.float32(cos(angle)), np.float32(sin(angle))
                close = close & (towards * along[near] + sine * across[near] >= -room - ROUGH * size * sine)
            keys = np.flatnonzero(close)
            if len(keys):
                some = some[(single[some] @ self.single[keys].T).max(axis=1) >= bar[some]]
                if len(some):
                    self.known[rows[some[(q[some] @ self.places[keys].T).max(axis=1) >= floor[some]]]] = False
