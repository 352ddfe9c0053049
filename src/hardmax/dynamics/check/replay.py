"""The replay of distinct tokens, layer by layer.

In a large cloud compiled code takes care of all tokens whose decisions are clear (`clear`). The others, and all tokens
of small clouds, are looked at here with plain NumPy. At the layer where a token is said to be decided, the conditions
that make the decision final are tested against all tokens of the replay. Who follows whom where scores are close is
found in `follow_sets`, and ties are judged in `tied`.
"""

from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, FOLLOWER, LEADER, TIE, Floats, Ints, TooClose
from hardmax.dynamics.check.convex import Convex
from hardmax.dynamics.check.exact_ties import ExactClaims
from hardmax.dynamics.check.faces import Faces, faces_of
from hardmax.dynamics.check.follow_sets import FollowSets, closely
from hardmax.dynamics.check.pairs import Pairs, near_pairs
from hardmax.dynamics.check.strongest import SMALL, ClosePairs, all_gaps, contenders, strongest
from hardmax.dynamics.check.tied import tie_claims

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate
    from hardmax.dynamics.check.origin import Origin

FEW, SEVERAL_PAIRS = 32, 1 << 22  # queries that are compared with all, and pairs of them at most
FEW_PAIRS, PAIRS = 1 << 16, 1 << 19  # pairs that are compared at once, and pairs after choosing keys
SMALLEST = 1e-100  # norm whose square loses no digits


class Replay:
    """Some distinct tokens, replayed layer by layer.

    Args:
        c: what is claimed of these tokens; targets and groups are places among them.
        tie, flag: the bands within which scores are equal, and within which they are looked at closely.
        names: the tokens' places in the cloud of which these are a part.
        reach: gaps up to this much are looked at, so that tokens that were set aside are not seen.
        compiled: whether compiled code looks at the tokens first.
        weight: how many copies of each there are.
        called: what each is called when something is wrong.
        origin: the token at the origin, if others are set aside: it needs them at layer 0, and is not looked at then.
    """

    def __init__(
        self,
        c: "Certificate",
        tokens: Floats,
        alpha: float,
        matrix: Any,
        tie: Any,
        flag: Any,
        names: Ints | None = None,
        reach: float = np.inf,
        compiled: bool = False,
        weight: Floats | None = None,
        called: Ints | None = None,
        origin: "Origin | None" = None,
    ) -> None:
        self.c, self.alpha, self.reach, self.compiled, self.origin = c, alpha, reach, compiled, origin
        self.A, self.size = scaled(matrix)
        self.shortest = float(np.sqrt(self.size / matrix.condition))  # |z|_A <= |A z| / shortest
        self.start = tokens
        self.weight = np.ones(len(tokens)) if weight is None else weight
        self.tie, self.flag = tie, flag
        self.wrong: list[str] = []
        self.margin, self.undecided, self.largest = np.inf, 0, 0.0
        self.blur = 0.0  # the widest `flag`, relative to |z_i|_A max|z|_A
        self.seen: list[Floats] = []  # the places at each layer
        self.hulls: list[Convex] = []  # in the plane, their convex hulls
        # In larger clouds the margin is a lower bound, at most 2^-20.
        self.in_plane = tokens.shape[1] == 2 and reach < np.inf  # there are other tokens to be looked at
        self.small = reach == np.inf and len(self.start) <= SMALL
        self.wide = min(1.5 * c.margin, 3.0) if self.small else 2.0**-19  # relative gaps up to this are exact
        self.name = np.arange(len(tokens)) if names is None else names
        self.called = self.name if called is None else called
        self.decided, self.target = np.array(c.decided_at, np.int64), np.array(c.target, np.int64)
        self.role = np.array(c.role)
        self.limit, self.offset_at_decision = c.limit, np.zeros_like(c.limit)
        self.groups = [np.asarray(g, np.int64) for g in c.groups]
        # A guess of the token that each follows; one of several if it is tied.
        named = np.array([group[0] for group in self.groups] or [0])
        self.likely = np.where(self.target >= 0, self.target, named[np.maximum(-1 - self.target, 0)])

    def run(self) -> list[str]:
        if self.wrong:
            return self.wrong
        x, last = self.start, int(self.decided.max())
        clear = Clear(self) if self.compiled else None
        for layer in range(last + 1):
            looking = np.flatnonzero(self.decided >= layer)
            if clear is not None:
                looking = clear.look(layer, x)
            else:
                new = looking[self.decided[looking] == layer]
                self.offset_at_decision[new] = x[new] - self.limit[new]
            if layer == 0 and self.origin is not None:
                looking = looking[looking != self.origin.place]
            mean = self._look(layer, x, looking) if len(looking) else x[:0]
            if self.wrong:
                return self.wrong
            if self.in_plane:
                self.seen.append(x)
            if layer == last:
                break
            still = self.decided[looking] > layer
            moving = looking[still]
            ahead = (x[moving] + self.alpha * mean[still]) / (1 + self.alpha)
            if clear is not None:
                x = clear.move(layer + 1, x, moving, ahead)
            else:
                x = self._decided_places(layer + 1)
                x[moving] = ahead
                if layer == 0 and self.origin is not None:
                    x[self.origin.place] = self.alpha * self.origin.mean / (1 + self.alpha)
        if not self.in_plane:
            self.check_figures()
        return self.wrong

    def _decided_places(self, layer: int) -> Floats:
        """Where the tokens decided before a layer are at it."""
        shrink = (1 + self.alpha) ** np.arange(-layer, 1.0)  # 1 for those without an offset yet
        return np.asarray(self.limit + shrink[np.minimum(self.decided, layer)][:, None] * self.offset_at_decision)

    def places(self, last: int) -> list[Floats]:
        """For each layer the places of the tokens."""
        return self.seen + [self._decided_places(layer) for layer in range(len(self.seen), last + 1)]

    def scenes(self, last: int) -> list[tuple[Floats, Convex, Any]]:
        """For each layer the places of the tokens, their convex hull, and who of them leads by then."""
        places = self.places(last)
        hulls = self.hulls + [Convex(x, like=self.hulls[-1]) for x in places[len(self.hulls) :]]
        leads = ((self.role == LEADER) & (self.decided <= layer) for layer in range(last + 1))
        return list(zip(places, hulls, leads, strict=True))

    def _look(self, layer: int, x: Floats, looking: Ints) -> Floats:
        """Follow sets of the tokens not decided before `layer`; tests the claims made at it; returns the means."""
        # Only the direction of a query matters: each token looks from a distance of about 1, so that no product of its
        # coordinates underflows. Its scores, bands and gaps are then in units of 2^-exponent.
        # Where all are of about this size, that is so for power 0, too.
        norm, power = self._norms(x), None
        largest = norm.max()
        if norm.min() > SMALLEST and largest < 1 / SMALLEST:
            q, own = times_matrix(self.A, x[looking]), norm[looking]
        else:
            exponent = np.maximum(np.frexp(np.abs(x).max(axis=1))[1], -1000)
            near = x * np.ldexp(1.0, -exponent)[:, None]
            own = self._norms(near)
            norm = np.ldexp(own, exponent)
            largest, q, own, power = norm.max(), times_matrix(self.A, near[looking]), own[looking], exponent[looking]
        self.largest = largest
        flag = self._band(self.flag, layer, own, largest, power)
        reach = self.reach * own * largest if self.reach < np.inf else None
        if reach is not None:
            self.blur = max(self.blur, float((flag / np.maximum(own * largest, 1e-300)).max(initial=0.0)))
            if not ((own > 0) & (3 * flag <= reach)).all():
                raise TooClose
        if self.in_plane:
            self.hulls.append(Convex(x, like=self.hulls[-1] if self.hulls else None))
        mean, rest = np.empty_like(q), np.ones(len(q), bool)
        usual = self.A is None and SMALLEST < largest < 1 / SMALLEST
        faces = faces_of(self, layer, x, looking, q, 3 * flag) if usual else None
        if faces is not None:
            rows = faces.rows
            rest[rows] = False
            some_power, some_reach = None if power is None else power[rows], None if reach is None else reach[rows]
            mean[rows] = self._on_faces(layer, x, q[rows], some_power, some_reach, looking[rows], faces)
        if rest.any():
            q, own, looking, flag = q[rest], own[rest], looking[rest], flag[rest]
            power, reach = None if power is None else power[rest], None if reach is None else reach[rest]
            mean[rest] = self._compared(layer, x, norm, q, own, power, flag, reach, looking)
        return mean

    def _on_faces(
        self, layer: int, x: Floats, q: Floats, power: Ints | None, reach: Floats | None, looking: Ints, faces: Faces
    ) -> Floats:
        """The same for tokens that follow faces; nothing is compared."""
        top = self.likely[looking] = faces.first[faces.which]
        if reach is not None and not (np.einsum("ij,ij->i", q, x[top]) >= reach).all():
            raise TooClose
        if layer > 0:
            self.undecided += int((faces.size[faces.which] - 1).sum())
        every = np.arange(len(looking))
        self._claims(layer, x, q, power, self.largest, looking, np.full(len(looking), -1), every, faces)
        mean, moving = np.zeros_like(q), np.flatnonzero(self.decided[looking] > layer)
        if len(moving):
            mean[moving] = faces.means(x, self.weight, moving)
        return mean

    def has_moved(self, layer: int, k: int) -> NDArray[np.bool_]:
        """Which tokens follow a leader since before a layer, and not along a line on which coordinate k is constant."""
        followers = (self.decided < layer) & (self.role != TIE)
        return np.asarray(followers & (self.offset_at_decision[:, k] != 0))

    def _compared(
        self, layer: int, x: Floats, norm: Floats, q: Floats, own: Floats, power: Ints | None, flag: Floats,
        reach: Floats | None, looking: Ints,
    ) -> Floats:  # fmt: skip
        """The same for tokens that are compared with all others."""
        largest, pairs = self.largest, ClosePairs(3 * flag)
        best, top, gap, keys = self._strongest(q, own, x, norm, flag, self.likely[looking], pairs)
        self.likely[looking] = top
        if reach is not None and not (best >= reach).all():  # a token that was set aside would be seen
            raise TooClose
        mean = x[top]
        single = np.where(gap > flag, top, -1)
        scale = own * largest
        close = np.flatnonzero(gap <= 2 * flag)
        won, sets = gap < np.inf, FollowSets()
        if len(close):
            tie = self._band(self.tie, layer, own, largest, power)
            close_power = None if power is None else power[close]
            near = pairs.of(close, len(keys)) or near_pairs(q[close], x[keys], best[close] - 3 * flag[close])
            near_them = Pairs(near[0], keys[near[1]])
            sets = closely(self, layer, x, q[close], close_power, looking[close], near_them, flag[close], tie[close])
            gap[close], single[close], mean[close] = sets.gap, sets.single, sets.mean
            won = (gap < np.inf) & (single >= 0) & (gap > tie)
        self.margin = min(self.margin, float((gap[won] / scale[won]).min(initial=np.inf)))
        self._claims(layer, x, q, power, largest, looking, single, close, sets)
        return mean

    def _strongest(
        self, q: Floats, own: Floats, x: Floats, norm: Floats, flag: Floats, guess: Ints, pairs: ClosePairs
    ) -> tuple[Floats, Ints, Floats, Ints]:
        """For each query the best score, whose it is, the gap to the next, and the tokens that come near any best."""
        if not self.in_plane:
            if len(q) * len(x) <= FEW_PAIRS or (len(q) <= FEW and len(q) * len(x) <= SEVERAL_PAIRS):
                return *all_gaps(q, x), np.arange(len(x))
            slack = np.maximum(3 * flag, self.wide * own * norm.max())
            if self.compiled and SMALLEST < np.abs(x).max() < 1 / SMALLEST:
                from hardmax.dynamics.check.comparison import strongest_compiled

                return *strongest_compiled(np.ascontiguousarray(q), own, x, norm, slack, guess, pairs), np.arange(
                    len(x)
                )
            keys, guess = contenders(q, own, x, norm, slack, guess)
            if len(q) * len(keys) <= PAIRS:
                best, top, gap = all_gaps(q, x[keys])
                return best, keys[top], gap, keys
            place = np.zeros(len(x), np.int64)
            place[keys] = np.arange(len(keys))
            best, top, gap = strongest(q, own, x[keys], norm[keys], slack, place[guess], pairs)
            return best, keys[top], gap, keys
        from hardmax.dynamics.check.plane import by_direction

        # No token deep inside a polygon of tokens comes near a best score.
        wide = 2 * self.reach * float(norm.max()) / self.shortest
        keys = np.flatnonzero(~self.hulls[-1].inside(x, depth=wide))
        best, top, gap = by_direction(q, x[keys], wide)
        return best, keys[top], gap, keys

    @np.errstate(over="ignore", invalid="ignore")  # as is found out
    def _norms(self, x: Floats) -> Floats:
        return np.sqrt(np.maximum(np.einsum("ij,ij->i", x if self.A is None else x @ self.A, x), 0.0))

    def _band(self, band: Any, layer: int, own: Floats, largest: float, exponent: Ints | None) -> Floats:
        a, b = band.at(layer)
        if exponent is None:
            return np.asarray(a * own * largest + b * largest * largest)
        with np.errstate(over="ignore"):
            return np.asarray(a * own * largest + np.minimum(np.ldexp(b * largest * largest, -exponent), 1e300))

    def _claims(
        self, layer: int, x: Floats, q: Floats, power: Ints | None, largest: float, looking: Ints, single: Ints,
        close: Ints, sets: "FollowSets | Faces",
    ) -> None:  # fmt: skip
        at, role, target = self.decided[looking], self.role[looking], self.target[looking]
        leads = single == looking
        token = self.called[looking]
        follows_leader = (single >= 0) & ~leads
        follows_leader &= (self.role[single] == LEADER) & (self.decided[single] <= layer)
        now = at == layer
        as_said = (single == target) & np.where(role == LEADER, leads, follows_leader)
        as_said = np.where(now, np.where(role == TIE, single < 0, as_said), ~(leads | follows_leader))
        for what, bad in (
            ()
            if as_said.all()
            else (
                (f"said to lead from layer {layer} on, but follows another", now & (role == LEADER) & ~leads),
                ("its target is not itself", now & (role == LEADER) & (target != looking)),
                (
                    f"said to follow one leader from layer {layer} on, but does not",
                    now & (role == FOLLOWER) & ~(follows_leader & (single == target)),
                ),
                (f"is decided at layer {layer} already", ~now & (leads | follows_leader)),
                ("said to be tied, but follows one token", now & (role == TIE) & (single >= 0)),
            )
        ):
            if bad.any():
                self.wrong.append(f"token {token[np.flatnonzero(bad)[0]]} {what}")
        sure = np.flatnonzero(now & (role != TIE) & (single >= 0))
        away = np.abs(self.limit[looking[sure]] - x[single[sure]]).max(initial=0.0)
        if away and away > 32 * (layer + 1) * EPS * np.abs(x).max():
            self.wrong.append("limit is not the leader's place")
        tied = np.flatnonzero((role[close] == TIE) & (single[close] < 0))
        if len(tied) and not self.wrong:
            r = close[tied]
            seen = q[r] if power is None else np.ldexp(q[r], power[r, None])
            length = self.size * longest(x)
            tie_claims(self, layer, x, seen, largest, length, looking[r], sets, tied, now[r])

    @cached_property
    def exact(self) -> ExactClaims:
        return ExactClaims(self.start, self.c.A, self.weight, self.role, self.target, self.groups)

    def check_figures(self) -> None:
        margin = self.margin if self.small else min(self.margin, 2.0**-20)
        self.wrong += wrong_figures(self.c, margin, self.undecided, self.flag)


class Clear:
    """The compiled part of a replay: the tokens about which nothing is left to ask, and the places of all."""

    def __init__(self, replay: Replay) -> None:
        from hardmax.dynamics.check.clear import look, move

        n, d = replay.start.shape
        self._look, self._move = look, move
        self.replay = replay
        self.A = np.empty((0, d)) if replay.A is None else plain(replay.A)
        self.role, self.decided, self.target = (
            np.asarray(a, np.int64) for a in (replay.role, replay.decided, replay.target)
        )
        self.limit = plain(replay.limit)
        self.flag = np.array([replay.flag.own, replay.flag.own_k, replay.flag.cloud_k])
        self.norm, self.ahead, self.unclear = np.empty(n), np.empty((n, d)), np.empty(n, bool)
        self.off = 0.0
        self.shrink = (1 + replay.alpha) ** -np.arange(float(self.decided.max()) + 1)

    def look(self, layer: int, x: Floats) -> Ints:
        """Test the claims made at a layer; the tokens that have to be looked at closely."""
        replay, x = self.replay, plain(x)
        margin, self.off = self._look(
            layer, x, self.A, self.decided, self.role, self.target, self.limit, replay.offset_at_decision, self.norm,
            replay.likely, replay.alpha, self.flag, replay.wide, self.off, self.ahead,
            self.unclear,
        )  # fmt: skip
        replay.margin = min(replay.margin, margin)
        return np.flatnonzero(self.unclear)

    def move(self, layer: int, x: Floats, moving: Ints, ahead: Floats) -> Floats:
        """The places at the next layer, where the tokens `moving` are `ahead`."""
        self.ahead[moving] = ahead
        x = x.copy() if layer == 1 else x  # the tokens that were given stay as they are
        self._move(x, self.decided, self.limit, self.replay.offset_at_decision, self.ahead, self.shrink, layer)
        return x


def plain(array: Floats) -> Floats:
    """The array, or a copy, of the one kind that compiled code is compiled for: contiguous and writeable."""
    return np.require(array, requirements=["C", "W"])


def wrong_figures(c: "Certificate", margin: float, undecided: int, flag: Any) -> list[str]:
    """What is wrong with the numbers of the certificate, if these were found."""
    wrong = []
    # The two computations of a gap differ by their rounding.
    near = isfinite(margin) and abs(c.margin - margin) <= 1e-6 * margin + flag.at(0)[0]
    if not (c.margin == margin or near):
        wrong.append(f"margin is {c.margin:g}, but the narrowest decision has {margin:g}")
    if c.undecided != undecided:
        wrong.append(f"undecided is {c.undecided}, but {undecided} comparisons are")
    return wrong


def longest(x: Floats) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", x, x).max()))


def scaled(matrix: Any) -> tuple[Floats | None, float]:
    """A and its norm in the middle of the range of float64.

    A positive factor of A changes nothing; a power of four changes no digit of the norms either.
    """
    if matrix.A is None:
        return None, float(matrix.size)
    shift = -2 * (int(np.frexp(np.abs(matrix.A).max())[1]) // 2)
    return np.ldexp(matrix.A, shift), float(np.ldexp(matrix.size, shift))


def times_matrix(A: Floats | None, x: Floats) -> Floats:
    """A x_i for every row, in one fixed order of summation."""
    if A is None:
        return x
    return np.stack([sum(row[k] * x[:, k] for k in range(len(row))) for row in A], axis=1)
