"""Followers of a large cloud in the plane that are checked by cells, so that only the outermost tokens are replayed.

V are the tokens that are replayed: the outermost ones, and whoever is said to lead or to tie. All others are *inside*.
It is shown here that nobody ever looks at one that is inside, and that each of them ends where it is said to end. For
this every token inside is taken through the same layers as V. It follows someone in V at each layer until it follows a
leader; and until the last layer it is deeper than `wide` inside a polygon of V, some vertex of which therefore scores
more than it, by wide |q| at least, for every query q. Nothing is taken from the engine.

Cells. The plane is divided by rays from the origin and by squares |x| + |y| = const into quadrilaterals. If the four
corners of a cell follow the same token of V by more than wide |A z|, so does every token in the cell, because
<A z, v - u> - wide |A z| is a concave function of z; then all of them move by one affine map, and the image of the cell
is a quadrilateral again. If its corners are inside a polygon, so is the cell. So corners are taken through the layers,
and only the tokens of the cells whose corners disagree are taken one by one; their narrowest decision is noted.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import FOLLOWER

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DIRECTIONS = 720  # in which the corners of a polygon are looked for
SAMPLE = 1 << 14
OUTERMOST = 12000  # tokens that are replayed
RAYS, SQUARES = 1024, 8  # by which the plane is divided at first
HALVINGS = 3  # how often cells are divided whose corners disagree
WORTH = 2  # of 65,000 tokens, in a cell that is looked at
FAINT = 1e-250  # a query that short has no direction to speak of
CHUNK = 1 << 15  # tokens looked at together: they stay in the cache


def outermost(tokens: Floats) -> Ints:
    """The tokens nearest to the boundary of their convex hull, about as many as can be replayed in no time."""
    most = min(OUTERMOST, len(tokens) // 8)
    polygon = corners(tokens[:: max(1, len(tokens) // SAMPLE)])
    for share in (0.0, 0.02, 0.2):  # the polygon of some may leave many outside: then look again
        far = np.flatnonzero(~deep_inside(tokens, polygon, share))
        polygon = corners(np.concatenate((polygon, tokens[far])))
        if len(far) > most / 2:
            break
    for halvings in range(5, 20):
        if len(far) <= most:
            break
        far = far[~deep_inside(tokens[far], polygon, 2.0**-halvings)]
    return far


class Inside:
    """What becomes of the tokens that are not replayed.

    Args:
        scenes: for each layer the places of V, who of them leads by then, and their names as tokens.
        wide: a gap of wide |A z| is clear, and the depth at which nobody is seen.
        flag: gaps up to this many |z|_A max|z|_A are too close.

    Attributes:
        margin: the narrowest decision of a token that was taken through the layers by itself, relative to |z|_A
            max|z|_A; wider ones than `wide` are not counted.
    """

    def __init__(
        self, scenes: list[tuple[Floats, Bools, Ints]], alpha: float, A: Floats | None, wide: float, flag: float,
        largest: float,
    ) -> None:  # fmt: skip
        self.alpha, self.A, self.wide, self.flag, self.largest = alpha, A, wide, flag, largest
        self.margin = np.inf
        self.name = scenes[0][2]
        self.scenes = []
        for layer, (x, leads, _) in enumerate(scenes):
            polygon = corners(x)
            near = np.flatnonzero(~deep_inside(x, polygon, depth=2 * wide))
            with np.errstate(over="ignore"):
                depth = wide * np.float64(1 + alpha) ** (len(scenes) - layer)
            self.scenes.append((x, leads, polygon, near, corners(x[leads]) if leads.sum() >= 3 else x[:0], depth))

    def as_claimed(self, c: "Certificate", tokens: Floats, aside: Bools) -> Bools:
        """Which of the tokens set aside end as the certificate says, and are seen by nobody."""
        good = np.zeros(len(tokens), bool)
        size = 1.001 * float(np.abs(tokens[~aside]).sum(axis=1).max())
        part = _cell(tokens[:: 1 + len(tokens) // (4 * SAMPLE)], size)
        leader, since = self._cells(size, np.bincount(part, minlength=(RAYS * SQUARES) << 2 * HALVINGS))
        for start in range(0, len(tokens), CHUNK):
            here = slice(start, start + CHUNK)
            cell = _cell(tokens[here], size)
            good[here] = (leader[cell] == c.target[here]) & (since[cell] == c.decided_at[here])
        good &= c.role == FOLLOWER
        good &= aside
        left = np.flatnonzero(aside & ~good)
        for some in np.array_split(left, 1 + len(left) // CHUNK):
            ends, at, _ = self._through_layers(tokens[some], alone=True)
            good[some] = (ends >= 0) & (self.name[ends] == c.target[some]) & (at == c.decided_at[some])
        return good

    def _cells(self, size: float, count: Ints) -> tuple[Ints, Ints]:
        """For each cell the name of the leader that all tokens in it follow in the end, or -1, and since when.

        `count` tells how many of some tokens are in each cell: those that hold few are not worth the effort.
        """
        count = count.reshape(SQUARES << HALVINGS, RAYS << HALVINGS)
        leader, since = np.full((SQUARES, RAYS), -1), np.zeros((SQUARES, RAYS), np.int64)
        row, column = (a.ravel() for a in np.indices(leader.shape))
        for halving in range(HALVINGS + 1):
            rows, columns = leader.shape
            rays = columns + 1
            held = count.reshape(rows, len(count) // rows, columns, -1).sum(axis=(1, 3))[row, column]
            row, column = row[held >= WORTH], column[held >= WORTH]
            node = (row * rays + column) + np.array([[0], [1], [rays], [rays + 1]])  # the four corners of each cell
            nodes, place = np.unique(node, return_inverse=True)
            x = 1.0 - np.abs(turn := nodes % rays * (4.0 / columns) - 2.0)
            ring = np.column_stack((x, np.copysign(1.0 - np.abs(x), turn)))
            points = (nodes // rays * (size / rows))[:, None] * ring
            found = [array[place.reshape(node.shape)] for array in self._through_layers(points, alone=False)]
            one = (found[0][0] >= 0) & np.logical_and.reduce([(a == a[:1]).all(axis=0) for a in found])
            leader[row[one], column[one]], since[row[one], column[one]] = found[0][0, one], found[1][0, one]
            if halving < HALVINGS:
                leader, since = (a.repeat(2, axis=0).repeat(2, axis=1) for a in (leader, since))
                row = (2 * row[~one] + np.array([[0], [0], [1], [1]])).ravel()
                column = (2 * column[~one] + np.array([[0], [1], [0], [1]])).ravel()
        return np.where(leader < 0, -1, self.name[leader]).ravel(), since.ravel()

    def _through_layers(self, points: Floats, alone: bool) -> tuple[Ints, Ints, Ints]:
        """For each point the leader that it follows in the end (-1: not shown), since when, and a digest of its path.

        Alone, a point may decide by less than `wide` |A z|; the narrowest of these decisions is noted.
        """
        leader, since = np.full(len(points), -1), np.zeros(len(points), np.int64)
        path = np.zeros(len(points), np.int64)
        alive, z = np.arange(len(points)), points
        for layer, (x, leads, polygon, near, led, depth) in enumerate(self.scenes):
            inside = deep_inside(z, polygon, depth=self.wide)
            leader[alive[~inside]] = -1
            alive, z = alive[inside], z[inside]
            to = leader[alive]
            looking = np.flatnonzero(to < 0)
            target, clear = self._look(z[looking], x, near, alone)
            to[looking] = np.where(clear, target, -1)
            path[alive[looking]] = path[alive[looking]] * 1_000_003 + target + 1
            arrives = looking[clear & leads[target]]
            leader[alive[arrives]], since[alive[arrives]] = to[arrives], layer
            stays = to >= 0
            # On its way to a leader from so deep inside a polygon of leaders, a point stays deep enough to the end.
            stays[arrives[deep_inside(z[arrives], led, depth=depth)]] = False
            alive, z, to = alive[stays], z[stays], to[stays]
            z = (z + self.alpha * x[to]) / (1 + self.alpha)
        return leader, since, path

    def _look(self, z: Floats, x: Floats, near: Ints, alone: bool) -> tuple[Ints, Bools]:
        if not len(z):
            return np.empty(0, np.int64), np.empty(0, bool)
        q = z if self.A is None else z @ self.A
        _, top, gap = by_direction(q, x[near], self.wide)
        length = np.hypot(q[:, 0], q[:, 1])
        clear = (gap > self.wide * length) & (length > FAINT)
        if alone:
            scale = np.sqrt((q * z).sum(axis=1)) * self.largest
            close = ~clear & (gap > self.flag * scale) & (scale > FAINT)
            self.margin = min(self.margin, float((gap[close] / scale[close]).min(initial=np.inf)))
            clear |= close
        return near[top], clear


def _cell(tokens: Floats, longest: float) -> NDArray[np.int32]:
    """The number of the cell of each token: ray by the angle, square by the sum |x| + |y|."""
    x, y = tokens[:, 0], tokens[:, 1]
    rays, squares = RAYS << HALVINGS, SQUARES << HALVINGS
    size = np.abs(x)
    size += np.abs(y)
    turn = np.copysign(1.0 - x / np.maximum(size, FAINT), y)
    turn += 2.0
    turn *= rays / 4 * (1 - 1e-15)
    size *= squares / longest
    return np.asarray(size.astype(np.int32) * rays + turn.astype(np.int32), np.int32)


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


def corners(points: Floats) -> Floats:
    """Vertices of the convex hull, counterclockwise: the farthest points in many directions, in order of these."""
    if len(points) > 4 * DIRECTIONS:
        rough = _farthest(points, 16)
        points = np.concatenate((rough, points[~deep_inside(points, rough)]))
    return _farthest(points, DIRECTIONS)


def _farthest(points: Floats, directions: int) -> Floats:
    angle = 2 * np.pi * np.arange(directions) / directions
    which = np.concatenate(
        [(np.column_stack((np.cos(a), np.sin(a))) @ points.T).argmax(axis=1) for a in np.array_split(angle, 16)]
    )
    found = points[which]
    return found[(found != np.roll(found, 1, axis=0)).any(axis=1)]


def deep_inside(tokens: Floats, polygon: Floats, share: float = 0.0, depth: float = 0.0) -> Bools:
    """Which of the tokens are deeper inside the polygon than `depth`, or than a share of its inner radius.

    Let c be the center, r its distance to the nearest side, and c, a, b the triangle with the side in whose direction a
    token p lies: p - c = s (a - c) + t (b - c), and s + t < 1 - depth / r puts it into the polygon
    shrunk by that factor, around each of whose points a ball of radius `depth` fits into the polygon.
    """
    inside = np.zeros(len(tokens), bool)
    if len(polygon) < 3:
        return inside
    center = polygon.mean(axis=0)
    angle = np.arctan2(polygon[:, 1] - center[1], polygon[:, 0] - center[0])
    order = np.argsort(angle)
    angle, a = angle[order], polygon[order] - center
    b = np.roll(a, -1, axis=0)
    side, area = b - a, a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    radius = float((area / np.hypot(side[:, 0], side[:, 1])).min()) if (area > 0).all() else 0.0
    if not radius > depth:
        return inside
    inner = (1 - share - depth / radius) * (1 - 1e-12)
    slope = side / area[:, None]
    for start in range(0, len(tokens), CHUNK):
        here = slice(start, start + CHUNK)
        u, v = tokens[here, 0] - center[0], tokens[here, 1] - center[1]
        good = u * u + v * v < (inner * radius) ** 2
        far = np.flatnonzero(~good)
        u, v = u[far], v[far]
        wedge = np.searchsorted(angle, np.arctan2(v, u), side="right") - 1
        good[far] = u * slope[wedge, 1] - v * slope[wedge, 0] < inner
        inside[here] = good
    return inside
