"""Tokens of a large cloud in the plane that look at others for some layers, while nobody looks at them.

A token is *passive* if it follows one point of the system (the tokens that the engine runs on) by a gap that float64
can tell, at every layer until it is decided, and lies deeper than `narrow` inside the convex hull of the system at
every layer until nobody looks any more. Then some vertex of the hull scores more than it, by narrow |q| at least, for
every query q. By the choice of `narrow` this is more than rounding, and more than the narrowest decision of the system:
nobody's follow set or tie, and no gap that is reported, has to do with the token, so it need not be there when the
engine runs. Afterward it is taken through the same layers with the same arithmetic. A token that does not stay passive
joins the system, and the engine runs again. On its way to a leader, from deep enough inside the hull of the leaders of
that layer, a token stays deep enough inside to the end: from a depth h, h rho^s is left after s layers.

Its own gaps need not be computed either where they exceed narrow |A z|: the directions in which a point wins by that
much over all others are an arc (`hardmax.dynamics.plane.Directions`).

Most tokens are taken through the layers all at once, by *cells*: rays from the origin and squares |x| + |y| = const
divide the plane into quadrilaterals. If the corners of a cell follow the same point v by more than narrow |A z|, so
does every token in the cell, because <A z, v - u> - narrow |A z| is a concave function of z; all of them move by one
affine map, and the image of the cell is again the hull of the images of its corners. If these are inside a polygon, so
is the cell. Only the tokens of cells whose corners disagree are taken one by one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import RESOLUTION
from hardmax.attention.search_dense import find_dense
from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.certificate import LEADER
from hardmax.dynamics.engine import Run
from hardmax.dynamics.plane import Directions, Plane, Polygon, hull

MORE = 8  # layers that passive tokens may take after everyone in the system is decided
TINY = 1e-300
FAINT = 1e-60  # of the largest norm: shorter tokens go to the engine; the inner corners of the innermost cells
RAYS, SQUARES = 256, 8  # by which the plane is divided at first
HALVINGS = 4  # how often cells are divided whose corners disagree
WORTH = 1  # tokens of the sample in a cell that is looked at
FINEST = 2.0**-36  # relative gaps that arcs can tell, whose ends are rounded


@dataclass(frozen=True, eq=False)
class Arena:
    """The system at one layer, as passive tokens see it."""

    points: Floats
    leads: NDArray[np.bool_]  # by point: whether it is a leader by now
    polygon: Polygon  # the convex hull
    share: float  # of the way from its boundary to its center: how deep passive tokens are
    corners: Ints  # the point of each vertex
    near: Ints  # points that can come near a best score
    directions: Directions | None  # None: nobody can be passive
    inner: Polygon | None  # the hull of the leaders


class History:
    """The layers of one run of the engine, to be taken again by passive tokens."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self._places: list[Floats] = []
        self._layers: list[Arena] = []
        self.last, self.margin, self.blur = 0, np.inf, 0.0

    def note(self, run: Run) -> bool:
        """Called after every look of the engine; whether it looked at gaps of at most `reach`."""
        self.run, self.last = run, run.layer
        self._places.append(run.points.copy())
        self.blur = max(self.blur, run.blur)
        return self.blur <= self.plane.reach

    def probe(self, tokens: Floats, max_layers: int) -> None:
        """From some tokens, how many layers they take: those who take longer will join the system."""
        most, layer = min(self.last + MORE, max_layers), 0
        while len(tokens) and layer <= most and (now := self._at(layer)).directions is not None:
            target = self._follow(now, layer, tokens, alone=True)
            target[now.leads[target]] = -1
            tokens = self._moved(now, tokens, target, np.flatnonzero(target >= 0))
            layer += 1
        self.last = max(self.last, min(layer, most))

    def take(self, tokens: Floats, alone: bool = True) -> tuple[Ints, Ints, list[Ints]]:
        """For each token the point that it follows in the end, or -1 if it is not passive; since when; whom before.

        Alone, a token may decide by less than narrow |A z|; the narrowest of these decisions is noted. Otherwise
        the last result tells whom the token follows at each layer until it follows a leader, several layers in one
        number.
        """
        leader, decided_at = np.full(len(tokens), -1, np.int64), np.zeros(len(tokens), np.int64)
        trail: list[Ints] = []
        bits = (len(self.run.role) + 1).bit_length()
        moving, z = np.arange(len(tokens)), tokens
        for layer in range(self.last + 1):
            now = self._at(layer)
            if now.directions is None or not len(moving):
                break
            to = leader[moving]
            looking = np.flatnonzero(to < 0)
            to[looking] = self._follow(now, layer, z if len(looking) == len(z) else z.take(looking, axis=0), alone)
            to[now.polygon.outside(z, now.share)] = -1
            leader[moving[to < 0]] = -1
            arrives = looking[(to[looking] >= 0) & now.leads[to[looking]]]
            leader[moving[arrives]], decided_at[moving[arrives]] = to[arrives], layer
            if not alone:
                if layer % (62 // bits) == 0:
                    trail.append(np.zeros(len(tokens), np.int64))
                at = moving[looking]
                trail[-1][at] = (trail[-1][at] << bits) + to[looking] + 1
            stays = to >= 0
            if now.inner is not None:
                on_its_way = np.flatnonzero(leader[moving] >= 0)
                stays[on_its_way] = False
                with np.errstate(over="ignore"):
                    depth = 2 * self._narrow(self.last) * np.float64(1.0 + self.plane.alpha) ** (self.last - layer)
                shallow = now.inner.outside(z.take(on_its_way, axis=0), min(1.0, depth / now.inner.radius))
                stays[on_its_way[shallow]] = True
            on = np.flatnonzero(stays)
            moving, z = moving.take(on), self._moved(now, z, to, on)
        else:
            return leader, decided_at, trail
        leader[moving] = -1
        return leader, decided_at, trail

    def _follow(self, now: Arena, layer: int, tokens: Floats, alone: bool) -> Ints:
        """The point that each token follows at a layer; -1 if that is not clear."""
        assert now.directions is not None
        target = np.append(now.corners, -1).take(now.directions.winner(tokens))
        if alone:
            close = np.flatnonzero(target < 0)
            target[close] = self._look(now, layer, tokens.take(close, axis=0))
        return target

    def _moved(self, now: Arena, z: Floats, target: Ints, rows: Ints) -> Floats:
        """Some of the tokens at the next layer. (`take` is much faster than an index where rows are short.)"""
        pull = now.points.take(target.take(rows), axis=0)
        pull *= self.plane.alpha
        pull += z.take(rows, axis=0)
        pull /= 1.0 + self.plane.alpha
        return pull

    def _look(self, now: Arena, layer: int, tokens: Floats) -> Ints:
        """Whom tokens follow that have no clear winner, computed as the engine does; -1 if float64 cannot tell."""
        run, n = self.run, len(tokens)
        queries = self.plane.metric.queries(tokens)
        norms = self.plane.metric.norms(tokens, queries)
        target, best, second = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        find_dense(queries, now.points[now.near], np.arange(n), target, best, second)
        a, b = run.flag.at(layer)
        flag, gap = a * norms * run.largest + b * run.largest * run.largest, best - second
        clear = (gap > flag) & (flag <= self.plane.reach * norms * run.largest) & (norms > FAINT * run.largest)
        self.margin = min(self.margin, float((gap[clear] / (norms[clear] * run.largest)).min(initial=np.inf)))
        return np.where(clear, now.near[target], -1)

    def _at(self, layer: int) -> Arena:
        """The system at a layer, also after all of its points are decided."""
        while layer >= len(self._layers):
            k = len(self._layers)
            self._layers.append(self._arena(k, self._places[k] if k <= self.run.layer else self.run.decided_points(k)))
        return self._layers[layer]

    def _narrow(self, layer: int) -> float:
        """A length that rises with the layer: gaps of narrow |A z| are certain, and not the narrowest."""
        run, metric = self.run, self.plane.metric
        a, b = run.flag.at(layer)
        gap = 2 * max(min(run.margin, RESOLUTION), FINEST, self.blur, a + b / self._shortest)
        return float(gap * run.largest * np.sqrt(metric.condition / metric.size))  # |z|_A <= |A z| / sqrt(least)

    def _arena(self, layer: int, points: Floats) -> Arena:
        run, metric = self.run, self.plane.metric
        corners = hull(points, self._layers[-1].corners if self._layers else None)
        polygon = Polygon(points[corners])
        corners = np.roll(corners, -polygon.first)
        if layer == 0:
            # Whoever has moved is this long at least: <A z, v> > 0 for z and the vertex v that it followed, which is
            # not the origin.
            norms = metric.norms(points[corners])
            shortest = float(norms[norms > 0].min()) / run.largest
            self._shortest = max(self.plane.alpha / (1.0 + self.plane.alpha) * shortest, TINY)
        leads = (run.role == LEADER) & (run.decided_at <= layer)
        narrow = self._narrow(layer)
        share = 2 * narrow / polygon.radius if polygon.radius > 0 else np.inf
        near, directions = corners, None
        if share < 0.5:
            near = polygon.outside(points, share)
            directions = Directions(metric, polygon, points[near], narrow)
        at = corners[leads[corners]]
        inner = Polygon(points[at]) if len(at) >= 3 else None
        inner = None if inner is None or inner.radius <= 0 else inner
        return Arena(points, leads, polygon, share, corners, near, directions, inner)


class Cells:
    """What becomes of all tokens of a cell, by its number.

    Args:
        sample: some tokens: cells that hold few of them are not worth the effort.

    Attributes:
        leader, since: what the codes of `of` stand for: the point that is followed in the end, and since when. The
            last entry is for tokens that have to be taken one by one, of code -1.
    """

    def __init__(self, history: History, sample: Floats) -> None:
        self.size = 1.001 * float(np.abs(history.plane.polygon.vertices).sum(axis=1).max())
        codes: dict[tuple[int, int], int] = {}
        cells = (SQUARES << HALVINGS, RAYS << HALVINGS)
        count = [np.bincount(self._number(sample), minlength=cells[0] * cells[1] + 1)[:-1].reshape(cells)]
        for _ in range(HALVINGS):  # of larger cells
            pairs = count[-1][::2] + count[-1][1::2]
            count.append(pairs[:, ::2] + pairs[:, 1::2])
        table = np.full((SQUARES, RAYS), -1, np.int32)
        row, ray = (a.ravel() for a in np.indices(table.shape))
        for halving in range(HALVINGS + 1):
            rows, rays = table.shape
            worth = count[HALVINGS - halving][row, ray] >= WORTH
            row, ray = row[worth], ray[worth]
            corner = (row * (rays + 1) + ray) + np.array([[0], [1], [rays + 1], [rays + 2]])
            seen = np.zeros((rows + 1) * (rays + 1), bool)
            seen[corner] = True
            nodes = np.flatnonzero(seen)
            leader, since, trail = history.take(self._place(nodes, rows, rays), alone=False)
            place = (np.cumsum(seen, dtype=np.int32) - 1).take(corner)  # of the corners among the nodes
            one = (leader.take(place) >= 0).all(axis=0)
            for steps in trail:
                one &= ((way := steps.take(place)) == way[0]).all(axis=0)
            at = place[0, one]
            ends, which = np.unique(leader[at] * (history.last + 1) + since[at], return_inverse=True)
            number = [codes.setdefault(divmod(e, history.last + 1), len(codes)) for e in ends.tolist()]
            table[row[one], ray[one]] = np.array(number, np.int64)[which]
            if halving < HALVINGS:
                table = table.repeat(2, axis=0).repeat(2, axis=1)
                row = (2 * row[~one] + np.array([[0], [0], [1], [1]])).ravel()
                ray = (2 * ray[~one] + np.array([[0], [1], [0], [1]])).ravel()
        self._table = np.append(table, np.int32(-1))
        self.leader, self.since = np.array([*codes, (-1, 0)], np.int64).T

    def _place(self, nodes: Ints, rows: int, rays: int) -> Floats:
        """Where the corners of cells are, by their numbers."""
        x = 1.0 - np.abs(place := nodes % (rays + 1) * (4.0 / rays) - 2.0)
        ring = np.column_stack((x, np.copysign(1.0 - np.abs(x), place)))
        return np.maximum(nodes // (rays + 1) * (self.size / rows), FAINT * self.size)[:, None] * ring

    def _number(self, tokens: Floats) -> NDArray[np.int32]:
        """The cell of each token: ray by its angle, square by |x| + |y|."""
        size = np.abs(tokens[:, 0]) + np.abs(tokens[:, 1])
        place = np.copysign(1.0 - tokens[:, 0] / np.maximum(size, TINY), tokens[:, 1])  # as `turn`
        rays, squares = RAYS << HALVINGS, SQUARES << HALVINGS
        place += 2.0
        place *= rays / 4 * (1 - 1e-15)
        faint = np.flatnonzero(size < FAINT * self.size)
        size *= squares / self.size
        number = size.astype(np.int32)
        number *= rays
        number += place.astype(np.int32)
        number[faint] = rays * squares
        return number

    def of(self, tokens: Floats) -> NDArray[np.int32]:
        """The code of each token."""
        return self._table.take(self._number(tokens))
