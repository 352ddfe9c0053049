"""Checks a float64 certificate from the data alone.

Shares no code with the engine that made it, only the tie rule (`attention/ties.py`) that both must obey. The tokens
are replayed with plain NumPy up to the last decision; at the layer where a token is said to be decided, the
conditions that make the decision final are tested against *all* tokens.

One file above the usual length: `_Replay` is one class whose conditions are read side by side with their proofs.
"""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.attention.ties import EPS, Band, pair_scores, rounding_bound, tie_band, weighted_mean, wider
from hardmax.cloud.metric import metric
from hardmax.cloud.parameters import step_size
from hardmax.cloud.tokens import Floats, Ints, cloud
from hardmax.dynamics.check.claims import FOLLOWER, LEADER, TIE, distinct, malformed
from hardmax.dynamics.check.convex import Convex
from hardmax.dynamics.check.exact_ties import ExactClaims
from hardmax.dynamics.check.strongest import SMALL, all_gaps, contenders, strongest
from hardmax.errors import BadInput

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate
    from hardmax.dynamics.check.large import SetAside

LARGE = 8192  # tokens from which on checking followers all at once pays
CHUNK = 1 << 15
ATTEMPTS = 4  # at setting tokens aside
FEW_PAIRS, PAIRS = 1 << 16, 1 << 19  # compared at once, and also after choosing keys
SMALLEST = 1e-100  # norm whose square loses no digits


def problems(certificate: "Certificate", Z: Any) -> list[str]:
    """Everything that is wrong with the certificate for the tokens Z; an empty list if nothing is."""
    try:
        return _problems(certificate, Z)
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        return [f"the certificate is malformed: {error}"]


def _problems(certificate: "Certificate", Z: Any) -> list[str]:
    try:
        tokens = cloud(Z).tokens
        alpha = step_size(certificate.alpha)
        matrix = metric(certificate.A, tokens.shape[1])
    except BadInput as error:
        return [str(error)]
    c = certificate
    if c.exact or c.method != "float64":
        return [f"exact={c.exact} and method={c.method!r} do not go with a float64 certificate"]
    wrong = malformed(c, tokens, (LEADER, FOLLOWER, TIE))
    wrong = wrong or [f"groups[{g}] holds one token only" for g, group in enumerate(c.groups) if len(group) < 2]
    if wrong:
        return wrong
    # Decisions follow one another: nothing decides itself after standing still for so long.
    patience, last = 10_000 + 100 / np.log1p(alpha), int(c.decided_at.max())
    if last > patience:
        longest = int(np.diff(np.unique(c.decided_at), prepend=0).max())
        if longest > patience:
            return [f"decided_at claims that nothing is decided for {longest} layers and something after that"]
    if len(tokens) >= LARGE:
        try:
            return _without_those_set_aside(c, tokens, alpha, matrix)
        except _TooClose:  # a token that was set aside may be seen after all
            pass
    wrong = (replay := _Replay(c, tokens, alpha, matrix)).run()
    if wrong and replay.small and replay.wide < 3:  # gaps of more than the claimed margin were not needed
        replay = _Replay(c, tokens, alpha, matrix)
        replay.wide = 3.0
        return replay.run()
    return wrong


class _TooClose(Exception):
    """A score of a token that was set aside might be seen after all."""


class _TooMany(_TooClose):
    """So it is, but there are fewer of them now."""


def _without_those_set_aside(c: "Certificate", tokens: Floats, alpha: float, matrix: Any) -> list[str]:
    some, few = tokens[: 4 * SMALL], 3.5 * SMALL
    if len(np.unique(some[:, 0])) < few and len(set(map(tuple, some.tolist()))) < few:
        raise _TooClose  # so many copies that distinct tokens are few, perhaps so few that all gaps are reported
    reach = max(2.0**-19, 4 * _flag(c, tokens.shape[1], matrix).own)
    if tokens.shape[1] == 2:
        return _in_the_plane(c, tokens, alpha, matrix, reach)
    from hardmax.dynamics.check.large import SetAside

    queries = _times_matrix(_scaled(matrix)[0], tokens)
    norms = np.sqrt(np.maximum(np.einsum("ij,ij->i", queries, tokens), 0.0))
    found = SetAside(c, tokens, queries, norms, reach)
    found.forget()
    for _ in range(ATTEMPTS):
        try:
            left = np.flatnonzero(~found.aside)
            part = _part if found.aside.any() else _Replay
            replay = part(c, tokens, alpha, matrix, left, reach, found)
            return replay.run() or _ends(c, tokens, found.known)
        except _TooMany:
            pass
    raise _TooClose


def _in_the_plane(c: "Certificate", tokens: Floats, alpha: float, matrix: Any, reach: float) -> list[str]:
    from hardmax.dynamics.check.plane import Inside, outermost

    aside = np.ones(len(tokens), bool)
    aside[outermost(tokens)] = False
    aside &= c.role == FOLLOWER
    aside[np.array(sorted({i for group in c.groups for i in group}), np.int64)] = False
    last, inside, blur, unclear = int(c.decided_at.max()), None, 0.0, np.empty(0, np.int64)
    for _ in range(ATTEMPTS):
        left = np.flatnonzero(~aside)
        replay = _part(c, tokens, alpha, matrix, left, reach)
        if replay.run():  # wrong, or one of the others is followed: all of them can tell
            raise _TooClose
        new = np.unique(replay.inverse[np.searchsorted(left, unclear)])
        if inside is None or replay.blur > blur or not inside.holds([x[new] for x in replay.places(last)]):
            blur = replay.blur  # where it is more, tokens have to be deeper inside
            claimed, bands = min(float(c.margin), 2.0**-20), [replay.flag.at(layer) for layer in range(last + 1)]
            inside = Inside(
                replay.scenes(last), replay.name, alpha, replay.A,
                [(max(claimed, replay.blur, 4 * a), 4 * b) for a, b in bands], (4 * bands[-1][0], 4 * bands[-1][1]),
                replay.largest, replay.shortest,
            )  # fmt: skip
            good = inside.as_claimed(c, tokens, aside)
            unclear = np.flatnonzero(aside & ~good)
            aside &= good
            if len(unclear):
                continue
        replay.margin = min(replay.margin, inside.margin)
        replay.check_figures()
        return replay.wrong or _ends(c, tokens, aside)
    raise _TooClose


def _ends(c: "Certificate", tokens: Floats, aside: Any) -> list[str]:
    """Whether the tokens that were set aside end at the places of their leaders."""
    near = 32 * EPS * np.abs(tokens.take(np.flatnonzero(~aside), axis=0)).max()
    for start in range(0, len(tokens), CHUNK):
        part = slice(start, start + CHUNK)
        ends, places = c.limit[part], np.take(c.limit, c.target[part], axis=0)  # the leader's limit is its place
        if not np.array_equal(ends, places) and ((np.abs(ends - places) > near).T & aside[part]).any():
            return ["limit is not the leader's place"]
    return []


def _part(
    c: "Certificate", tokens: Floats, alpha: float, matrix: Any, left: Ints, reach: float,
    found: "SetAside | None" = None,
) -> "_Replay":  # fmt: skip
    """The replay of some of the tokens."""
    if tokens.shape[1] == 2 and 2 * len(left) > len(tokens):
        raise _TooClose
    place = np.minimum(np.searchsorted(left, np.maximum(c.target[left], 0)), len(left) - 1)
    named = (c.target[left] < 0) | (left[place] == c.target[left])
    part_of_c = replace(
        c, decided_at=c.decided_at[left], role=c.role[left], limit=c.limit[left],
        target=np.where(c.target[left] >= 0, place, c.target[left]),
        groups=tuple(tuple(np.searchsorted(left, group).tolist()) for group in c.groups),
    )  # fmt: skip
    replay = _Replay(part_of_c, tokens[left], alpha, matrix, names=left, reach=reach, found=found)
    if not named.all():
        replay.wrong.append("target names a token that follows another")
    return replay


class _Replay:
    """The distinct tokens, replayed layer by layer."""

    def __init__(
        self,
        c: "Certificate",
        tokens: Floats,
        alpha: float,
        matrix: Any,
        names: Ints | None = None,
        reach: float = np.inf,
        found: "SetAside | None" = None,
    ) -> None:
        self.c, self.alpha, self.reach, self.found = c, alpha, reach, found
        self.A, self.size = _scaled(matrix)
        self.shortest = float(np.sqrt(self.size / matrix.condition))  # |z|_A <= |A z| / shortest
        first, self.inverse = distinct(tokens)
        self.first, self.start = first, tokens[first]
        self.weight = np.bincount(self.inverse).astype(np.float64)
        self.tie = tie_band(c.tie_tolerance)
        self.flag = _flag(c, tokens.shape[1], matrix)
        self.wrong: list[str] = []
        self.margin, self.undecided, self.largest = np.inf, 0, 0.0
        self.blur = 0.0  # the widest `flag`, relative to |z_i|_A max|z|_A
        self.seen: list[Floats] = []  # the places at each layer
        self.hulls: list[Convex] = []  # in the plane, their convex hulls
        self._reached: dict[tuple[int, bytes], float] = {}
        # In larger clouds the margin is a lower bound, at most 2^-20.
        self.in_plane = tokens.shape[1] == 2 and reach < np.inf  # there are other tokens to be looked at
        self.small = names is None and len(self.start) <= SMALL
        self.wide = min(1.5 * c.margin, 3.0) if self.small else 2.0**-19  # relative gaps up to this are exact
        self.name = first if names is None else names[first]
        self.known = np.zeros(len(first), bool) if found is None else found.known[self.name]  # as claimed at layer 0
        # The claims by distinct token; `target` and `groups` by position among them.
        self.decided, self.role, self.limit = c.decided_at[first], c.role[first], c.limit[first]
        self.target = np.where(c.target[first] >= 0, self.inverse[np.maximum(c.target[first], 0)], c.target[first])
        self.groups = [np.unique(self.inverse[list(g)]) for g in c.groups]
        self.likely = np.where(self.target >= 0, self.target, np.arange(len(first)))  # whom each follows, as a guess

    def run(self) -> list[str]:
        c, inverse, first = self.c, self.inverse, self.first
        if self.wrong:
            return self.wrong
        if len(first) < len(inverse):
            for name in ("decided_at", "role", "target", "limit"):
                array = getattr(c, name)
                if (array != array[first][inverse]).any():
                    return [f"{name} differs between copies of one token"]
            for g, members in enumerate(self.groups):
                if len(c.groups[g]) != int(self.weight[members].sum()):
                    return [f"groups[{g}] does not hold all copies of its tokens"]
            named = c.target[c.target >= 0]
            if (first[inverse[named]] != named).any():
                return ["target names a copy that is not the first"]
        x, last = self.start, int(self.decided.max())
        self.offset_at_decision = np.zeros_like(self.limit)
        for layer in range(last + 1):
            looking = np.flatnonzero(self.decided >= layer)
            new = looking[self.decided[looking] == layer]
            self.offset_at_decision[new] = x[new] - self.limit[new]
            if layer == 0 and self.found is not None:
                looking = looking[~self.known[looking]]
            mean = self._look(layer, x, looking)
            if self.wrong:
                return self.wrong
            if self.in_plane:
                self.seen.append(x)
            if layer == last:
                break
            still = self.decided[looking] > layer
            moving = looking[still]
            ahead = (x[moving] + self.alpha * mean[still]) / (1 + self.alpha)
            x = self._decided_places(layer + 1)
            x[moving] = ahead
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
            q, own = _times_matrix(self.A, x[looking]), norm[looking]
        else:
            exponent = np.maximum(np.frexp(np.abs(x).max(axis=1))[1], -1000)
            near = x * np.ldexp(1.0, -exponent)[:, None]
            own = self._norms(near)
            norm = np.ldexp(own, exponent)
            largest, q, own, power = norm.max(), _times_matrix(self.A, near[looking]), own[looking], exponent[looking]
        self.largest = largest
        flag = self._band(self.flag, layer, own, largest, power)
        best, top, gap, keys = self._strongest(q, own, x, norm, flag, self.likely[looking])
        self.likely[looking] = top
        if self.reach < np.inf:  # would a token that was set aside be seen?
            reach = self.reach * own * largest
            far = reach * (1 + self.alpha) ** layer  # who was set aside has come nearer to its leader
            self.blur = max(self.blur, float((flag / np.maximum(own * largest, 1e-300)).max(initial=0.0)))
            if not ((own > 0) & (3 * flag <= reach)).all():
                raise _TooClose
            unseen = (best >= reach).all() if self.found is None else self.found.unseen(q, best - far, far)
            if not unseen:
                raise _TooMany
        mean = x[top]
        single = np.where(gap > flag, top, -1)
        sets: dict[int, Ints] = {}
        scale = own * largest
        close = np.flatnonzero(gap <= 2 * flag)
        if len(close):
            longest, outer, tie = _longest(x), x[keys], self._band(self.tie, layer, own, largest, power)
        for r in close:
            i = int(looking[r])
            near = keys[outer @ q[r] >= best[r] - 3 * flag[r]]
            s = pair_scores(np.broadcast_to(q[r], x[near].shape), x[near])  # in the order that the tie rule prescribes
            gap[r] = np.subtract(*np.sort(s)[:-3:-1])
            if gap[r] > flag[r]:
                single[r], mean[r] = near[s.argmax()], x[near[s.argmax()]]
                continue
            near, s = near[s >= s.max() - flag[r]], s[s >= s.max() - flag[r]]
            follows = near[s >= s.max() - tie[r]]
            if layer == 0:
                level = self._exactly_top(i, near)
                self.undecided += len(np.setdiff1d(follows, level))
                follows = np.union1d(follows, level)
            else:
                behind = self._behind(layer, q[r], 0 if power is None else int(power[r]), follows, longest)
                follows = np.setdiff1d(follows, behind)
                self.undecided += len(near) - len(behind) - 1
            if len(follows) == 1:
                single[r], mean[r] = follows[0], x[follows[0]]
            else:
                sets[i] = follows
                mean[r] = weighted_mean(x[follows], self.weight[follows])
        won = gap < np.inf
        if len(close):
            won &= (single >= 0) & (gap > tie)
        self.margin = min(self.margin, float((gap[won] / scale[won]).min(initial=np.inf)))
        self._claims(layer, x, q, power, largest, looking, single, sets)
        return mean

    def _strongest(
        self, q: Floats, own: Floats, x: Floats, norm: Floats, flag: Floats, guess: Ints
    ) -> tuple[Floats, Ints, Floats, Ints]:
        """For each query the best score, whose it is, the gap to the next, and the tokens that come near any best."""
        if not self.in_plane:
            if len(q) * len(x) <= FEW_PAIRS:
                return *all_gaps(q, x), np.arange(len(x))
            slack = np.maximum(3 * flag, self.wide * own * norm.max())
            keys, guess = contenders(q, own, x, norm, slack, guess)
            if len(q) * len(keys) <= PAIRS:
                best, top, gap = all_gaps(q, x[keys])
                return best, keys[top], gap, keys
            place = np.zeros(len(x), np.int64)
            place[keys] = np.arange(len(keys))
            best, top, gap = strongest(q, own, x[keys], norm[keys], slack, place[guess])
            return best, keys[top], gap, keys
        from hardmax.dynamics.check.plane import by_direction

        # No token deep inside a polygon of tokens comes near a best score.
        wide = 2 * self.reach * float(norm.max()) / self.shortest
        self.hulls.append(Convex(x, like=self.hulls[-1] if self.hulls else None))
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

    @np.errstate(over="ignore")  # an infinite width keeps everyone
    def _behind(self, layer: int, query: Floats, exponent: int, follows: Ints, longest: float) -> Ints:
        """Followers whose offset tells them from their leader, or from a better follower of it."""
        gone: list[int] = []
        done = follows[(self.decided[follows] < layer) & (self.role[follows] != TIE)]
        a, b = self.flag.at(layer)
        length = np.linalg.norm(query)
        blur = float(np.ldexp(b * self.size * longest, -exponent))
        for leader in np.unique(self.target[done]):
            group = done[self.target[done] == leader]
            if len(group) < 2:
                continue
            since = self.decided[group]
            grown = (1 + self.alpha) ** (since - since.max()).astype(np.float64)
            offset = self.offset_at_decision[group] * grown[:, None]
            ahead = offset @ query
            size = np.linalg.norm(offset, axis=1).max()
            width = (a * length + blur) * size if size > 0 else 0.0
            width += 2 * length * float(((2 + 10 * since) * EPS * longest * grown).max())
            gone += group[ahead < ahead.max() - width].tolist()
        return np.array(gone, dtype=np.int64)

    def _exactly_top(self, i: int, near: Ints) -> Ints:
        """Which of the near tokens reach the maximum exactly, in integer arithmetic."""
        scores = self.exact.whole[near].dot(self.exact.query(self.exact.whole[i]))
        return near[np.asarray(scores == max(scores), dtype=bool)]

    def _claims(
        self, layer: int, x: Floats, q: Floats, power: Ints | None, largest: float, looking: Ints, single: Ints,
        sets: dict[int, Ints],
    ) -> None:  # fmt: skip
        at, role, target = self.decided[looking], self.role[looking], self.target[looking]
        leads = single == looking
        token = self.name[looking]
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
        tied = np.flatnonzero((role == TIE) & (single < 0)) if sets else ()
        if len(tied):
            q, longest = q if power is None else np.ldexp(q, power[:, None]), self.size * _longest(x)
        for r in tied:
            if not self.wrong:
                self._tie_claim(layer, x, q[r], largest, longest, int(looking[r]), sets[int(looking[r])], bool(now[r]))

    def _tie_claim(
        self, layer: int, x: Floats, q: Floats, largest: float, longest: float, i: int, follows: Ints, now: bool
    ) -> None:
        group = self.groups[-1 - self.target[i]]
        others = group[group != i]
        t = self.limit[i]
        a, b = self.tie.at(layer)
        # A claim may use the whole tolerance, and more where it rounds in another order than the solver. That a token
        # should have been decided before is said only where there is no doubt: within a part of the tolerance.
        loose = 8 if now else 2
        band = loose * (a + b) * largest * largest
        query = t if self.A is None else self.A @ t
        base, w = self.limit[others], self.weight[others]
        since = self.decided[others]
        offset = self.offset_at_decision[others] * ((1 + self.alpha) ** np.minimum(since - since.max(), 0.0))[:, None]
        # Offsets are judged by their direction, but a limit that two ties share may be off by its last bits.
        size = float(np.linalg.norm(offset, axis=1).max())
        narrow = loose * (a + b) * longest * size + (32 * EPS * longest * float(np.abs(x).max()) if now else 0.0)
        holds = {
            "follows another set than its group": np.array_equal(group, follows),
            "its group holds undecided tokens": bool((self.decided[others] <= layer).all()),
            "its limit is not the mean of its group": np.abs(w @ base / w.sum() - t).max() * largest <= band,
            "the mean of its group moves": np.abs(w @ offset / w.sum()).max() * longest <= narrow,
            "its group is not in one face": np.abs(base @ query - query @ t).max() <= band
            and np.abs(offset @ query).max() <= narrow
            and np.abs(offset @ q).max() <= narrow,
            "its face does not support the cloud": i in group or self._reach(layer, x, query) <= query @ t + band,
            "it does not stand still": i not in group or np.abs(t - x[i]).max() * largest <= band,
        }
        name = f"token {self.name[i]}"
        if now:
            if layer == 0 and not self._tie_holds_exactly(i):
                self.undecided += 1
            self.wrong += [f"{name}: {what}" for what, good in holds.items() if not good]
        elif all(holds.values()):
            self.wrong.append(f"{name} is decided at layer {layer} already")

    def _reach(self, layer: int, x: Floats, query: Floats) -> float:
        """max_x <query, x>; many ties share one face."""
        key = (layer, query.tobytes())
        if key not in self._reached:
            self._reached[key] = float((x @ query).max())
        return self._reached[key]

    def _tie_holds_exactly(self, i: int) -> bool:
        """The same conditions for the tokens as they were given."""
        number = int(-1 - self.target[i])
        return self.exact.tie_holds(i, self.groups[number], number)

    @cached_property
    def exact(self) -> ExactClaims:
        return ExactClaims(self.start, self.c.A, self.weight, self.role, self.target, self.groups)

    def check_figures(self) -> None:
        margin = self.margin if self.small else min(self.margin, 2.0**-20)
        # The two computations of a gap differ by their rounding.
        near = np.isfinite(margin) and abs(self.c.margin - margin) <= 1e-6 * margin + self.flag.at(0)[0]
        if not (self.c.margin == margin or near):
            self.wrong.append(f"margin is {self.c.margin:g}, but the narrowest decision has {margin:g}")
        if self.c.undecided != self.undecided:
            self.wrong.append(f"undecided is {self.c.undecided}, but {self.undecided} comparisons are")


def _longest(x: Floats) -> float:
    return float(np.linalg.norm(x, axis=1).max())


def _scaled(matrix: Any) -> tuple[Floats | None, float]:
    """A and its norm in the middle of the range of float64.

    A positive factor of A changes nothing; a power of four changes no digit of the norms either.
    """
    if matrix.A is None:
        return None, float(matrix.size)
    shift = -2 * (int(np.frexp(np.abs(matrix.A).max())[1]) // 2)
    return np.ldexp(matrix.A, shift), float(np.ldexp(matrix.size, shift))


def _flag(c: "Certificate", dim: int, matrix: Any) -> Band:
    """The band within which scores are looked at closely."""
    return wider(tie_band(c.tie_tolerance), rounding_bound(dim, matrix))


def _times_matrix(A: Floats | None, x: Floats) -> Floats:
    """A x_i for every row, in one fixed order of summation."""
    if A is None:
        return x
    return np.stack([sum(row[k] * x[:, k] for k in range(len(row))) for row in A], axis=1)
