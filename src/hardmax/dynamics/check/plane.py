"""Followers of a large cloud in the plane that are checked by cells, so that only the outermost tokens are replayed.

V are the tokens that are replayed: the outermost ones, and whoever is said to lead or to tie. All others are *inside*.
It is shown here that nobody ever looks at one that is inside, and that each of them ends where it is said to end. For
this every token inside is taken through the same layers as V. It follows someone in V at each layer until it follows a
leader; and until the last layer it is deeper than `narrow` inside a polygon of V, some vertex of which therefore scores
more than it, by narrow |q| at least, for every query q. By the choice of `narrow` this is more than rounding and more
than the margin that is claimed. Nothing is taken from the engine.

Cells. The plane is divided by rays from the origin and by squares |x| + |y| = const into quadrilaterals. If the four
corners of a cell follow the same token of V by more than narrow |A z|, so does every token in the cell, because
<A z, v - u> - narrow |A z| is a concave function of z; then all of them move by one affine map, and the image of the
cell is a quadrilateral again. If its corners are inside a polygon, so is the cell. So corners are taken through the
layers, and only the tokens of the cells whose corners disagree are taken one by one; their narrowest decision is noted.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import FOLLOWER
from hardmax.dynamics.check.convex import CHUNK, Bools, Convex, Floats, Ints, Winners, angle

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

SAMPLE = 1 << 13  # tokens that tell where the outermost begin
OUTERMOST, FIRST = 2000, 4  # tokens that are replayed, chosen from so many times as many
RAYS, SQUARES = 512, 8  # by which the plane is divided at first
HALVINGS = 3  # how often cells are divided whose corners disagree
COUNTED = 1 << 16  # tokens by which cells are chosen that are worth the effort
FAINT = 1e-60  # of the largest: a shorter token is taken by itself, and never shorter than this is a corner of a cell
FINEST = 2.0**-36  # relative gaps that need no closer look


def outermost(tokens: Floats) -> Ints:
    """The tokens nearest to the boundary of their convex hull, about as many as can be replayed in no time."""
    most = min(OUTERMOST, len(tokens) // 8)
    sample = tokens[:: max(1, len(tokens) // SAMPLE)]
    polygon = Convex(sample)
    if polygon.radius <= 0:
        return np.arange(len(tokens))
    # The sample's polygon is smaller than that of all tokens by more here than there: first, FIRST times as many.
    gauge = np.sort(polygon.gauge(sample))
    far = np.flatnonzero(~polygon.inside(tokens, share=1 - gauge[-1 - len(sample) * FIRST * most // len(tokens)]))
    polygon = Convex(tokens[far])
    gauge = polygon.gauge(tokens[far]) if len(far) > most and polygon.radius > 0 else np.ones(len(far))
    return far[gauge >= np.sort(gauge)[-most:][0] - 1e-9]  # a side of a grid is taken as a whole


@dataclass(frozen=True, eq=False)
class Scene:
    """V at one layer: places, and who leads by then."""

    x: Floats
    leads: Bools
    hull: Convex
    near: Ints  # tokens that can come near a best score
    winners: Winners | None  # None: nothing can be shown
    led: Convex  # the polygon of the leaders


class Inside:
    """What becomes of the tokens that are not replayed.

    Args:
        places: for each layer the places of V, their hull, and who of them leads by then.
        names: the tokens of V.
        gaps: (layers, 2) numbers (a, b): gaps of more than (a + b max|z|_A / |z|_A) |z|_A max|z|_A are certain; a is
            at least the margin that is claimed.
        largest, shortest: max|z|_A, and |A z| / |z|_A at least.

    Attributes:
        margin: the narrowest decision of a token that was taken through the layers by itself, relative to |z|_A
            max|z|_A; those wider than the margin claimed may be missing.
    """

    def __init__(
        self, places: list[tuple[Floats, Convex, Bools]], names: Ints, alpha: float, A: Floats | None,
        gaps: list[tuple[float, float]], flag: tuple[float, float], largest: float, shortest: float,
    ) -> None:  # fmt: skip
        self.alpha, self.A, self.name, self.flag, self.largest = alpha, A, names, flag, largest
        self.margin = np.inf
        self.scenes: list[Scene] = []
        self.narrow: list[float] = []
        for (x, hull, leads), (a, b) in zip(places, gaps, strict=True):
            if not self.scenes:
                # Who has followed a vertex v is this long at least, because <A z, v> > 0; the origin is not followed.
                v = hull.vertices[hull.vertices.any(axis=1)]
                moved = alpha / (1 + alpha) * float(np.sqrt((self._query(v) * v).sum(axis=1).min())) / largest
            self.narrow.append(2 * max(a + (b / moved if b else 0.0), FINEST) * largest / shortest)
            near = np.flatnonzero(~hull.inside(x, depth=2 * self.narrow[-1]))
            winners = Winners(x, hull, near, self.narrow[-1]) if hull.radius > 2 * self.narrow[-1] else None
            self.scenes.append(Scene(x, leads, hull, near, winners, Convex(x[leads])))

    def _query(self, z: Floats) -> Floats:
        return z if self.A is None else z @ self.A

    def as_claimed(self, c: "Certificate", tokens: Floats, aside: Bools) -> Bools:
        """Which of the tokens set aside end as the certificate says, and are seen by nobody."""
        good = np.empty(len(tokens), bool)
        self.size = 1.001 * float(np.abs(self.scenes[0].x).sum(axis=1).max())
        table, leader, since = self._cells(tokens[:: 1 + len(tokens) // COUNTED])
        for start in range(0, len(tokens), CHUNK):
            here = slice(start, start + CHUNK)
            code = table.take(self._cell(tokens[here]))
            good[here] = (leader.take(code) == c.target[here]) & (since.take(code) == c.decided_at[here])
        good &= c.role == FOLLOWER
        good &= aside
        left = np.flatnonzero(aside & ~good)
        for some in np.array_split(left, 1 + len(left) // CHUNK):
            ends, at, _ = self._through_layers(tokens.take(some, axis=0), alone=True)
            good[some] = (ends >= 0) & (self.name[ends] == c.target[some]) & (at == c.decided_at[some])
        good[left] &= c.role[left] == FOLLOWER
        return good

    def holds(self, places: list[Floats]) -> bool:
        """Whether what was shown holds if more tokens are replayed, given their places at each layer.

        It does if all of them are deep inside: then nobody looks at them, and V and its polygons are what they were.
        """
        layers = zip(self.scenes, places, self.narrow, strict=True)
        return all(scene.hull.inside(x, depth=narrow).all() for scene, x, narrow in layers)

    def _cells(self, sample: Floats) -> tuple[NDArray[Any], Ints, Ints]:
        """By cell, a code: of the leader that all tokens in it follow in the end, and since when; -1 is for neither.

        Cells that hold no token of the sample are not worth the effort.
        """
        shape = SQUARES << HALVINGS, RAYS << HALVINGS
        finest = np.zeros(shape[0] * shape[1] + 1, bool)
        finest[self._cell(sample)] = True
        held = [finest[:-1].reshape(shape)]
        for _ in range(HALVINGS):
            pairs = held[-1][::2] | held[-1][1::2]
            held.append(pairs[:, ::2] | pairs[:, 1::2])
        table = np.full((SQUARES, RAYS), -1, np.int32)
        found = [np.array([-len(self.scenes)])]  # leader and layer in one number; the last one is for the code -1
        for halving in range(HALVINGS + 1):
            rows, rays = table.shape
            row, ray = np.divmod(np.flatnonzero((table < 0) & held[HALVINGS - halving]), rays)
            node = (row * (rays + 1) + ray) + np.array([[0], [1], [rays + 1], [rays + 2]])  # the four corners
            number = np.zeros((rows + 1) * (rays + 1), np.int32)
            number[node] = 1
            nodes = np.flatnonzero(number)
            number[nodes] = np.arange(len(nodes))
            leader, since, path = self._through_layers(self._corner(nodes, rows, rays), alone=False)
            place = number.take(node)
            one = (leader.take(place) >= 0).all(axis=0)
            for steps in path:
                taken = steps.take(place)
                one &= (taken == taken[0]).all(axis=0)
            ends, which = np.unique((leader * len(self.scenes) + since)[place[0, one]], return_inverse=True)
            table[row[one], ray[one]] = sum(map(len, found)) - 1 + which
            found.append(ends)
            if halving < HALVINGS:
                finer = np.broadcast_to(table[:, None, :, None], (rows, 2, rays, 2))
                table = finer.reshape(2 * rows, 2 * rays)
        codes = np.divmod(np.concatenate([*found[1:], found[0]]), len(self.scenes))
        if len(codes[0]) < 1 << 15:
            table = table.astype(np.int16)  # it is read in no order: the smaller the better
        return np.append(table, table.dtype.type(-1)), np.where(codes[0] < 0, -1, self.name[codes[0]]), codes[1]

    def _corner(self, nodes: Ints, rows: int, rays: int) -> Floats:
        x = 1.0 - np.abs(turn := nodes % (rays + 1) * (4.0 / rays) - 2.0)
        ring = np.column_stack((x, np.copysign(1.0 - np.abs(x), turn)))
        return np.maximum(nodes // (rays + 1) * (self.size / rows), FAINT * self.size)[:, None] * ring

    def _cell(self, tokens: Floats) -> NDArray[np.int32]:
        """The number of the cell of each token: ray by the angle, square by the sum |x| + |y|."""
        rays, squares = RAYS << HALVINGS, SQUARES << HALVINGS
        size = np.abs(tokens[:, 0])
        size += np.abs(tokens[:, 1])
        turn = angle(tokens[:, 0], tokens[:, 1], size)
        turn *= rays / 4 * (1 - 1e-15)
        faint = size < FAINT * self.size
        size *= squares / self.size
        cell = size.astype(np.int32)
        cell *= rays
        cell += turn.astype(np.int32)
        cell[faint] = rays * squares
        return np.asarray(cell, np.int32)

    def _through_layers(self, points: Floats, alone: bool) -> tuple[Ints, Ints, list[Ints]]:
        """For each point the leader that it follows in the end (-1: not shown), since when, and whom at each layer.

        Alone, a point may decide by less than narrow |A z|; the narrowest of these decisions is noted. Whom points
        follow is written in digits of as many values as there are tokens, as many as fit into a number.
        """
        leader, since = np.full(len(points), -1), np.zeros(len(points), np.int64)
        path: list[Ints] = []
        values = len(self.name) + 1
        digits = int(62 / np.log2(values))
        alive, z, last = np.arange(len(points)), points, len(self.scenes) - 1
        for layer, scene in enumerate(self.scenes):
            to = leader[alive]
            looking = np.flatnonzero(to < 0)
            to[looking] = self._look(z.take(looking, axis=0), layer, alone)
            to[~scene.hull.inside(z, depth=self.narrow[layer])] = -1
            leader[alive[to < 0]] = -1
            arrives = looking[scene.leads[to[looking]] & (to[looking] >= 0)]
            leader[alive[arrives]], since[alive[arrives]] = to[arrives], layer
            if not alone:
                path += [np.zeros(len(points), np.int64)] if layer % digits == 0 else []
                path[-1][alive[looking]] = path[-1][alive[looking]] * values + to[looking] + 1
            # On its way to a leader from so deep inside a polygon of leaders, a point stays deep enough to the end.
            arrived = np.flatnonzero(leader[alive] >= 0)
            with np.errstate(over="ignore"):
                depth = self.narrow[-1] * np.float64(1 + self.alpha) ** (last - layer)
            to[arrived[scene.led.inside(z.take(arrived, axis=0), depth=depth)]] = -1
            stays = np.flatnonzero(to >= 0)
            alive = alive[stays]
            z = (z.take(stays, axis=0) + self.alpha * scene.x.take(to[stays], axis=0)) / (1 + self.alpha)
        return leader, since, path

    def _look(self, z: Floats, layer: int, alone: bool) -> Ints:
        """Whom points follow, as places in V; -1 where that is not clear."""
        scene, narrow = self.scenes[layer], self.narrow[layer]
        if scene.winners is None:
            return np.full(len(z), -1)
        q = self._query(z)
        best, gap = scene.winners.of(q)
        clear = gap > narrow * np.sqrt(q[:, 0] * q[:, 0] + q[:, 1] * q[:, 1])
        target = np.where(clear, scene.hull.index[best], -1)
        close = np.flatnonzero(~clear)
        if alone and len(close):
            q, z = q.take(close, axis=0), z.take(close, axis=0)
            _, top, gap = by_direction(q, scene.x[scene.near], 2 * narrow)
            scale = np.sqrt((q * z).sum(axis=1)) * self.largest
            clear = gap > self.flag[0] * scale + self.flag[1] * self.largest * self.largest
            clear &= scale > FAINT * self.largest * self.largest
            self.margin = min(self.margin, float((gap[clear] / scale[clear]).min(initial=np.inf)))
            target[close[clear]] = scene.near[top[clear]]
        return target


def by_direction(q: Floats, x: Floats, wide: float) -> tuple[Floats, Ints, Floats]:
    """For every query the largest <q, x_j>, its j, and the gap to the next, exact if at most wide |q|.

    Queries of about one direction are compared with the same few candidates: a point that loses to another one by more
    than `wide` from both ends of a cone of less than a half turn loses to it everywhere in the cone.
    """
    best, gap = np.empty(len(q)), np.empty(len(q))
    top = np.empty(len(q), np.int64)
    angle = np.arctan2(q[:, 1], q[:, 0])
    order = np.argsort(angle)
    for block in np.array_split(order, 1 + len(order) // 512):
        first, last = float(angle[block[0]]), float(angle[block[-1]])
        keys = np.arange(len(x))
        if last - first < 3.0:
            ends = np.array([first - 1e-12, last + 1e-12])
            scores = x @ np.stack((np.cos(ends), np.sin(ends)))
            for winner in scores.argmax(axis=0):
                keys = keys[~(scores[winner] - scores[keys] > wide).all(axis=1)]
        scores = np.ascontiguousarray(x[keys] @ q[block].T)
        which, columns = scores.argmax(axis=0), np.arange(len(block))
        best[block], top[block] = scores[which, columns], keys[which]
        scores[which, columns] = -np.inf
        gap[block] = best[block] - scores.max(axis=0)
    return best, top, gap
