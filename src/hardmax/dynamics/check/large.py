"""Followers of a large cloud that are checked all at once, so that only the others have to be replayed.

A token that is said to follow one leader l from layer 0 on is *known* if it is shown here that it does so, by a gap of
more than `reach` |z|_A max|z|_A. It is *set aside* if no token that is not set aside ever looks at it, at any layer up
to the last one. What is left is replayed without them. Nothing is taken from the engine.

Write w^k = l + rho^k (w - l) for the place of a follower of l, and V for the tokens that are not set aside.

Tokens are seen from the middle m of the cloud, in coordinates in which it is round: with y = (x - m) T and p = q T^-1
(T is symmetric), <q, x> = <q, m> + <p, y>. In what follows x and q are y and p, and `bar` is a number.
* Nobody looks at w if |w| < bar, provided that every query of V, at every layer, has a best score b above bar |q|, with
  room (this is tested while V is replayed): <q, w^k> = (1 - rho^k) <q, l> + rho^k <q, w> <= b - rho^k (b - bar |q|).
* Where that would leave many tokens in V, w is set aside if it is inside a polytope of leaders of center c, of which
  nothing moves: then <q, w^k> <= b - rho^k SHARE (b - <q, c>); see `solid`. Again the room is tested.
* Each query is compared with its claimed target, b = <q, l>, and with every x in V of |x| >= b / |q| (less the gap);
  shorter ones cannot reach it (Cauchy-Schwarz), and those set aside are shorter if b / |q| > bar.
* All followers of l are compared with the same x at once, or with none: if their directions are within an angle theta
  of a unit vector c, then <u, x - l> <= a cos(theta) + b sin(theta) for each of these directions u, if a = <c, x - l>
  is negative; b = (|x - l|^2 - a^2)^(1/2). Where this is less than -g, none of them has x in a gap g below l. It is
  where a + g cos(theta) < 0 and its square is more than (|x - l| sin(theta))^2: as |x - l| >= -a, this says that
  -a (1 - sin(theta)) > g cos(theta), hence -a cos(theta) > g; and (a cos(theta) + g)^2 > (b sin(theta))^2 follows.
* The followers of leaders that have few are compared one by one.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import FOLLOWER, LEADER
from hardmax.dynamics.check.contest import KEYS, Singles, with_ones
from hardmax.dynamics.check.solid import BLURRED, SHARE, VERTICES, Solid
from hardmax.dynamics.check.strongest import columns_near, strongest

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 1 << 14  # tokens looked at together: they stay in the cache
CONES = 128  # compared with keys at once
FEW = 48  # followers of a leader up to which they are compared one by one
SAMPLE = 512  # tokens that tell the shape of the cloud
STEEPEST = 1e-3  # ratio of the sides of a cloud that is made round
LOWER = 0.97  # of the least best score: those set aside are shorter
WORTH = 3  # at least one in so many is set aside, or nobody
ENOUGH, NEARLY = 0.75, 0.95  # of those known, or of all: if they are set aside by norm, a polytope does not pay
ENOUGH_TOKENS = {4: 1 << 15}  # by dimension: tokens from which on a polytope pays
CROWD = 128  # followers from which on those of a leader are compared in parts


class Middle:
    """The middle m of a cloud and the matrix T that makes it round; where it is round around 0, m = 0 and T = 1."""

    def __init__(self, tokens: Floats, euclidean: bool) -> None:
        some = tokens[:: 1 + len(tokens) // SAMPLE]
        self.m = some.mean(axis=0)
        spread, axes = np.linalg.eigh(np.atleast_2d(np.cov(some.T, ddof=0)))
        spread = np.sqrt(np.maximum(spread, STEEPEST**2 * spread[-1]))
        near = np.linalg.norm(self.m) < 0.3 * spread[0]
        self.round = not spread[0] > 0 or bool(euclidean and spread[-1] < 1.5 * spread[0] and near)
        if self.round:
            self.m = np.zeros(len(axes))
        else:
            self.T, self.inverse = (axes / spread) @ axes.T, (axes * spread) @ axes.T

    def places(self, x: Floats) -> Floats:
        return x if self.round else (x - self.m) @ self.T

    def queries(self, q: Floats) -> Floats:
        return q if self.round else q @ self.inverse


def _lengths(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)))


class SetAside:
    """Which tokens are set aside.

    Args:
        queries: (n, d) rows A z_i, and `norms` (n,) their A-norms.
        reach: gaps up to this many |z_i|_A max|z|_A are looked at when V is replayed.

    Attributes:
        known, aside: (n,) whether a token is known, and whether it is set aside as well.
    """

    def __init__(self, c: "Certificate", tokens: Floats, queries: Floats, norms: Floats, reach: float) -> None:
        n, largest = len(tokens), float(norms.max())
        self.leads = np.zeros(n, bool)
        leaders = np.flatnonzero((c.role == LEADER) & (c.decided_at == 0))
        self.leaders = leaders[c.target[leaders] == leaders]
        self.leads[self.leaders] = True
        self.follows = (c.role == FOLLOWER) & (c.decided_at == 0)
        self.follows &= self.leads[np.where(self.follows, c.target, 0)]
        self.follows[np.array(sorted({i for group in c.groups for i in group}), np.int64)] = False
        self.target = c.target
        self.known, self.aside = np.zeros((2, n), bool)
        self.bar, self.solid = -np.inf, False
        # No square here is to overflow, or to lose digits; tokens of other sizes are replayed.
        size = float(np.abs(tokens).max())
        if not 1e-80 < min(size, largest) <= max(size, largest) < 1e80:
            return
        self.middle, self.given, self.query = Middle(tokens, queries is tokens), tokens, queries
        self.longest = float(np.sqrt(tokens.shape[1])) * size
        self.tokens, self.queries = self.middle.places(tokens), self.middle.queries(queries)
        self.norms = norms if self.middle.round and queries is tokens else _lengths(self.tokens)
        self.lengths = self.norms if self.queries is self.tokens else _lengths(self.queries)
        self.rounding = 1e4 * tokens.shape[1] * 2.0**-52 * float(self.norms.max())  # of <p, y> / |p|
        rows = np.flatnonzero(self.follows & (norms > 1e-60 * largest))
        gap = 2 * reach * largest * norms[rows]
        sure = gap > 10 * self.rounding * self.lengths[rows]
        if not sure.all():
            rows, gap = rows[sure], gap[sure]
        if len(rows):
            self._by_norm(rows, gap)

    def forget(self) -> None:
        """Free what only the comparison of followers needs."""
        for name in ("given", "query", "tokens", "queries", "places", "single", "columns", "place", "rising"):
            self.__dict__.pop(name, None)

    def unseen(self, queries: Floats, floor: Floats, reach: Floats | float = 0.0) -> bool:
        """Whether scores of `floor` are beyond the reach of those set aside; if not, fewer are.

        `floor` is `reach` below the best scores, where `reach` is in units of rho^k.
        """
        if not self.aside.any():
            return True
        if self.solid:
            if self._is_wide(queries, floor + reach, reach).all():
                return True
            self.solid = False
            self._shorter_than(self.bar)
            return False
        lengths = np.maximum(_lengths(self.middle.queries(queries)), 1e-300)
        need = float(((floor - queries @ self.middle.m) / lengths).min(initial=np.inf))
        if need >= self.bar + self.rounding:
            return True
        self._shorter_than(LOWER * need)
        return False

    def _is_wide(self, queries: Floats, best: Floats, reach: Floats | float) -> NDArray[np.bool_]:
        """Whether those inside the polytope are farther than `reach` below the best scores."""
        room = reach + BLURRED * self.longest * _lengths(queries)
        return np.asarray(SHARE * (best - queries @ self.center) > room)

    def _shorter_than(self, bar: float) -> None:
        self.bar = bar
        self.aside = self.known & (self.norms < bar)
        if len(self.aside) > WORTH * self.aside.sum():
            self.aside[:] = False  # not worth the risk that one of them may be seen after all

    def _inside_leaders(self) -> None:
        """Set aside those inside a polytope of the leaders that are followed most, unless they are few."""
        followers = np.bincount(self.target[self.known], minlength=len(self.given))[self.leaders]
        most = self.leaders[np.argsort(-followers)[: VERTICES[self.given.shape[1]]]]
        solid, inside = Solid(self.given[most]), self.known.copy()
        inside[inside] = solid.inside(self.given[inside])
        if inside.sum() > max(ENOUGH * self.aside.sum(), len(inside) // WORTH):
            self.solid, self.center, self.aside = True, solid.center, inside

    def _by_norm(self, rows: Ints, gap: Floats) -> None:
        best = np.concatenate([
            np.einsum("ij,ij->i", self.queries.take(part, axis=0), self.tokens.take(self.target[part], axis=0))
            for part in np.array_split(rows, 1 + len(rows) // CHUNK)
        ])  # fmt: skip
        need = (best - gap) / self.lengths[rows] * (1 - 1e-9)
        self.known[rows] = True
        self._shorter_than(LOWER * float(need.min()))
        count, stays = int(self.aside.sum()), self.middle.round  # in other clouds, tokens are often seen after all
        if (
            self.given.shape[1] in VERTICES
            and len(self.given) > ENOUGH_TOKENS.get(self.given.shape[1], 0)
            and not (stays and count > ENOUGH * len(rows))
            and count < NEARLY * len(self.aside)
        ):
            self._inside_leaders()
        if self.solid:
            queries = self.query.take(rows, axis=0)
            if not self._is_wide(queries, best + queries @ self.middle.m, gap).all():
                self.solid = False
                self._shorter_than(self.bar)
        keys = np.flatnonzero(~self.aside)
        copy = (self.target[keys] >= 0) & (self.target[keys] != keys) & self.leads[self.target[keys]]
        copy[copy] = (self.given[keys[copy]] == self.given[self.target[keys[copy]]]).all(axis=1)
        keys = keys[~copy]  # whoever follows a leader follows its copies
        keys = keys[np.argsort(-self.norms[keys])]
        self.place = np.empty(len(self.tokens), np.int64)  # of a key, and all leaders that count are keys
        self.place[keys] = np.arange(len(keys))
        self.places, self.rising = self.tokens[keys], -self.norms[keys]
        self.unit = 1.0 / float(np.sqrt(np.einsum("ij,ij->i", self.places, self.places).max()))
        self.single = with_ones(self.places * self.unit)
        self.columns = np.ascontiguousarray(np.insert(self.single, 0, (self.single[:, :-1] ** 2).sum(axis=1), axis=1).T)
        longest_first = self.leaders[np.argsort(-self.norms[self.leaders])]
        short = len(self.leaders) <= 1 << 16  # numbers that are sorted faster
        number = np.zeros(len(self.tokens), np.uint16 if short else np.int64)
        number[longest_first] = np.arange(len(self.leaders))
        leader = number[self.target[rows]]
        few = np.bincount(leader)[leader] < FEW
        order = np.flatnonzero(~few)
        order = order[np.argsort(leader[order], kind="stable")]
        for at in range(0, len(order), CHUNK):
            some = order[at : at + CHUNK]
            self._compare(rows[some], best[some], gap[some], need[some])
        rows, gap = rows[few], gap[few]
        guess = self.place[self.target[rows]]
        _, top, wins_by = strongest(self.queries[rows], self.lengths[rows], self.places, -self.rising, gap, guess)
        self.known[rows] = (top == guess) & (wins_by > gap)
        self.aside &= self.known

    def _compare(self, rows: Ints, best: Floats, gap: Floats, need: Floats) -> None:
        """Take back those of the followers of some leaders that have another token in the gap below their best."""
        q = np.ascontiguousarray(self.queries.take(rows, axis=0).T)
        length = np.sqrt(np.einsum("ki,ki->i", q, q))
        u = q / length
        leader = self.target[rows]
        new = np.append(True, leader[1:] != leader[:-1])
        group = np.cumsum(new) - 1
        middle = np.add.reduceat(u, np.flatnonzero(new), axis=1)
        middle /= np.maximum(np.sqrt(np.einsum("ki,ki->i", middle, middle)), 1e-300)  # 0: the cone is too wide
        cosine = np.einsum("ki,ki->i", u, middle.take(group, axis=1))
        cone = 3 * group
        for part in range(2):  # many followers of a leader are compared in three parts: cones of different width
            size = np.bincount(cone)
            mean = np.bincount(cone, cosine) / np.maximum(size, 1)
            cone += (cone % 3 == part) & (size >= CROWD)[cone] & (cosine < mean[cone])
        order = np.argsort(cone.astype(np.uint16), kind="stable")
        rows, floor, length, cone = rows[order], (best - gap)[order], length[order], cone[order]
        starts = np.flatnonzero(np.append(True, cone[1:] != cone[:-1]))
        count = np.searchsorted(self.rising, -np.minimum.reduceat(need[order], starts), side="right")
        angle = np.arccos(np.clip(np.minimum.reduceat(cosine[order], starts), -1.0, 1.0))
        leader = self.place[self.target[rows[starts]]]
        widest = np.maximum.reduceat(gap[order] / length, starts)
        bound = self._bound(leader, middle[:, cone[starts] // 3].T, angle, widest)
        single = np.empty((len(q) + 1, len(rows)), np.float32)
        low = floor / length * self.unit
        single[:-1], single[-1] = u[:, order], (len(q) + 8) * 2.0**-23 * (1 + np.abs(low)) - low
        for at in range(0, len(starts), CONES):
            some = slice(at, at + CONES)
            close = np.empty((len(starts[some]), count[some].max()), bool)
            for start in range(0, close.shape[1], KEYS):
                tile = slice(start, min(start + KEYS, close.shape[1]))
                along, across = (b[some] @ self.columns[:, tile] for b in bound)
                along *= np.abs(along)
                np.greater_equal(along, across, out=close[:, tile])
            close[np.arange(len(close)), leader[some]] = False
            for c, near in enumerate(close, at):
                keys = np.flatnonzero(near[: count[c]])
                here = slice(starts[c], starts[c + 1] if c + 1 < len(starts) else None)
                hit = starts[c] + columns_near(self.single[keys], single[:, here])
                if len(hit):
                    scores = self.queries[rows[hit]] @ self.places[keys].T
                    self.known[rows[hit[scores.max(axis=1) >= floor[hit]]]] = False

    def _bound(self, leader: Ints, middle: Floats, angle: Floats, gap: Floats) -> tuple[Singles, Singles]:
        """For each cone w and s such that nobody in it has a key x in the gap if <w, y> |<w, y>| < <s, y>.

        Here y = (|x|^2, x, 1), <w, y> = a + g cos(theta), and -<s, y> is what its square must exceed (see the top of
        the file). Lengths are in units of the longest, so that |x - l| <= 2 and float32 is off by (24 d + 160) 2^-24 at
        most, which is added.
        """
        place, gap = self.places[leader] * self.unit, gap * self.unit + 1e-9
        towards, sine = np.cos(angle), np.sin(angle)
        w, s = np.zeros((2, len(leader), middle.shape[1] + 2))
        w[:, 1:-1], w[:, -1] = middle, gap * towards - np.einsum("ij,ij->i", middle, place)
        s[:, 0], s[:, 1:-1], s[:, -1] = 1, -2 * place, np.einsum("ij,ij->i", place, place)
        s *= -(sine[:, None] ** 2)
        s[:, -1] -= (24 * middle.shape[1] + 160) * 2.0**-24
        wide = (angle >= 1.5) | (gap > 1)  # the bound says nothing
        w[wide], s[wide, :-1], s[wide, -1] = 0, 0, -1
        return w.astype(np.float32), s.astype(np.float32)
