"""Followers of a large cloud that are checked all at once, so that only the others have to be replayed.

A token is *set aside* if it is said to follow one leader l from layer 0 on, and two things are shown here: it does so,
by a gap of more than `reach` |z|_A max|z|_A; and no token that is not set aside ever looks at it, at any layer up to
the last one. What is left, usually a few thousand tokens, is replayed without them. Nothing is taken from the engine.

Write w^k = l + rho^k (w - l) for the place of a follower of l, and V for the tokens that are not set aside.

Let N be A-norms, and `bar` a number.
* Nobody looks at w if N_w < bar, provided that every query of V, at every layer, has a best score above bar times its
  norm, with room (this is tested while V is replayed): <q, w^k> is between <q, w> and <q, l>, and <q, w> <= N_q N_w.
* Each query is compared with its claimed target, b = <q, l>, and with every x in V of N_x >= b / N_q (less the gap);
  shorter ones cannot reach it (Cauchy-Schwarz), and those set aside are shorter if b / N_q > bar. Scores in float32
  decide only where they differ by more than their rounding.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import FOLLOWER, LEADER

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 1 << 15  # tokens looked at together: they stay in the cache


class SetAside:
    """Which tokens are set aside.

    Args:
        queries: (n, d) rows A z_i, and `norms` (n,) their A-norms.
        reach: gaps up to this many |z_i|_A max|z|_A are looked at when V is replayed.

    Attributes:
        aside: (n,) whether a token is set aside.
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
        self.aside = np.zeros(n, bool)
        self._by_norm()

    def _by_norm(self) -> None:
        rows = np.flatnonzero(self.follows & (self.norms > 0))
        if not len(rows):
            return
        best = np.concatenate([
            np.einsum("ij,ij->i", self.queries[part], self.tokens[self.target[part]])
            for part in np.array_split(rows, 1 + len(rows) // CHUNK)
        ])  # fmt: skip
        floor = best - self.reach * self.norms[rows] * self.largest
        need = floor / self.norms[rows] * (1 - 1e-9)
        self.bar = 0.9 * float(np.partition(need, len(need) // 10_000)[len(need) // 10_000])
        good = (need > self.bar) & (self.norms[rows] < self.bar)
        self.aside[rows[good]] = True
        rows, floor, need = rows[good], floor[good], need[good]
        keys = np.flatnonzero(~self.aside)
        keys = keys[np.argsort(-self.norms[keys])]
        order = np.argsort(-need)
        unit = 1.0 / float(np.abs(self.tokens).max())
        single = np.ascontiguousarray((self.tokens[keys] * unit).astype(np.float32).T)
        for part in np.array_split(order, 1 + len(order) // 4096):
            if len(part):
                count = int(np.searchsorted(-self.norms[keys], -need[part].min(), side="right"))
                self._compare(rows[part], floor[part], keys[:count], single[:, :count], unit)

    def _compare(self, rows: Ints, floor: Floats, keys: Ints, single: NDArray[np.float32], unit: float) -> None:
        """Take back those of the rows that have another key than their target above the floor."""
        q = self.queries[rows]
        length = np.sqrt(np.einsum("ij,ij->i", q, q))
        dim = q.shape[1]
        longest = np.sqrt(dim)  # of a key in units of the largest coordinate
        # Rounding of both factors and of the sum in float32, relative to |q| times the longest key.
        error = (2 * dim + 8) * 2.0**-24 * longest
        query = (q / length[:, None]).astype(np.float32)
        bar = (floor * unit / length - error).astype(np.float32)
        for start in range(0, len(keys), 2048):
            scores = query @ single[:, start : start + 2048]
            for r in np.flatnonzero(scores.max(axis=1) >= bar):
                near = keys[start + np.flatnonzero(scores[r] >= bar[r])]
                near = near[self.tokens[near] @ q[r] >= floor[r]]
                if (self.tokens[near] != self.tokens[self.target[rows[r]]]).any():
                    self.aside[rows[r]] = False
