"""Checks a float64 certificate from the data alone.

Shares no code with the engine that made it, only the tie rule (`attention/ties.py`) that both must obey. Copies of a
token are checked to be treated alike; the distinct tokens are replayed up to the last decision (`replay`), in a large
cloud in the plane without those that can be checked by cells (`plane`).
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.attention.ties import Band, rounding_bound, tie_band, wider
from hardmax.cloud.metric import metric
from hardmax.cloud.parameters import step_size
from hardmax.cloud.tokens import cloud
from hardmax.dynamics.check.claims import (
    EPS,
    FOLLOWER,
    LEADER,
    TIE,
    Floats,
    Ints,
    TooClose,
    array_of,
    distinct,
    mistyped,
    misvalued,
)
from hardmax.dynamics.check.replay import Replay, scaled, wrong_figures
from hardmax.dynamics.check.strongest import SMALL
from hardmax.errors import BadInput
from hardmax.jit.ways import Job

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate
    from hardmax.dynamics.check.origin import Origin

LARGE = 8192  # tokens from which on checking followers all at once pays
CHUNK = 1 << 15
ATTEMPTS = 4  # at setting tokens aside
PATIENCE = 10_000  # layers without a decision, for a step size that is not small
_JOB = Job("clear.clear_margin")


@dataclass(frozen=True, eq=False)
class Claims:
    """Tokens and what is claimed of them: targets and groups are places among these tokens, groups arrays.

    Attributes:
        name: their places in the cloud that was given.
        weight: how many copies of each there are; None: there may be copies among the tokens.
        wrong: what was found while copies and others were left out.
    """

    c: "Certificate"
    tokens: Floats
    name: Ints
    weight: Floats | None = None
    wrong: tuple[str, ...] = ()

    def distinct(self) -> "tuple[Claims, Ints, Ints]":
        """The first copies, their places, and for each token the place of its first copy among them."""
        if self.weight is not None:
            every = np.arange(len(self.tokens))
            return self, every, every
        c, (first, inverse) = self.c, distinct(self.tokens)
        weight = np.bincount(inverse).astype(np.float64)
        if len(first) == len(inverse):
            return replace(self, weight=weight), first, inverse
        groups = [np.unique(inverse[group]) for group in c.groups]
        wrong = [
            f"{name} differs between copies of one token"
            for name in ("decided_at", "role", "target", "limit")
            if ((array := getattr(c, name)) != array[first].take(inverse, axis=0)).any()
        ] + [
            f"groups[{g}] does not hold all copies of its tokens"
            for g, members in enumerate(groups)
            if len(c.groups[g]) != int(weight[members].sum())
        ]
        named = c.target[c.target >= 0]
        if (first[inverse[named]] != named).any():
            wrong.append("target names a copy that is not the first")
        target = np.where(c.target[first] >= 0, inverse[np.maximum(c.target[first], 0)], c.target[first])
        c = _of(c, first, target, groups)
        return Claims(c, self.tokens[first], self.name[first], weight, self.wrong + tuple(wrong[:1])), first, inverse

    def part(self, left: Ints) -> "Claims":
        """Some of the tokens, and of each group those that are among them."""
        target = self.c.target[left]
        place = np.minimum(np.searchsorted(left, np.maximum(target, 0)), len(left) - 1)
        named = (target < 0) | (left[place] == target)
        wrong = () if named.all() else ("target names a token that follows another",)
        kept = np.zeros(len(self.tokens), bool)
        kept[left] = True
        groups = [np.searchsorted(left, members[kept[members]]) for members in self.c.groups]
        c = _of(self.c, left, np.where(target >= 0, place, target), groups)
        weight = None if self.weight is None else self.weight[left]
        return Claims(c, self.tokens[left], self.name[left], weight, self.wrong + wrong)


def _of(c: "Certificate", some: Ints, target: Ints, groups: Any) -> "Certificate":
    return replace(
        c, decided_at=c.decided_at[some], role=c.role[some], limit=c.limit[some], target=target,
        groups=tuple(groups),
    )  # fmt: skip


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
    wrong = mistyped(c, tokens)
    if not wrong and _is_clear(c, tokens, alpha, matrix):
        return []
    if wrong:
        return wrong
    groups: Any = tuple(array_of(group) for group in c.groups)
    c = replace(c, groups=groups)
    wrong = misvalued(c, len(tokens), (LEADER, FOLLOWER, TIE))
    wrong = wrong or [f"groups[{g}] holds one token only" for g, group in enumerate(c.groups) if len(group) < 2]
    if wrong:
        return wrong
    # Decisions follow one another: nothing decides itself after standing still for so long.
    patience, last = PATIENCE + 100 / np.log1p(alpha), int(c.decided_at.max())
    if last > patience:
        longest = int(np.diff(np.unique(c.decided_at), prepend=0).max())
        if longest > patience:
            return [f"decided_at claims that nothing is decided for {longest} layers and something after that"]
    claims = Claims(c, tokens, np.arange(len(tokens)))
    if tokens.shape[1] == 2 and len(tokens) >= LARGE:
        from hardmax.dynamics.check.origin import at_origin

        some = tokens[: 4 * SMALL]  # without copies among these, there are so many that not all gaps are reported
        if len(distinct(some)[0]) < len(some) or len(at_origin(tokens)):
            claims = claims.distinct()[0]
        if len(claims.tokens) >= LARGE and not claims.wrong:
            try:
                return _in_the_plane(claims, alpha, matrix)
            except TooClose:  # a token that was set aside may be seen after all
                pass
    return _replayed(claims.distinct()[0], alpha, matrix)


def _is_clear(c: "Certificate", tokens: Floats, alpha: float, matrix: Any) -> bool:
    """Whether compiled code finds a cloud to be as claimed; if it does not, nothing is known."""
    n, d = tokens.shape
    A, flag = scaled(matrix)[0], flag_band(c, d, matrix)
    if c.groups or c.undecided or n >= LARGE or _JOB.plain(n * n * d):
        return False
    from hardmax.dynamics.check.clear import clear_margin

    decided, role, target = (np.ascontiguousarray(a, np.int64) for a in (c.decided_at, c.role, c.target))
    margin = clear_margin(
        np.ascontiguousarray(tokens), np.empty((0, d)) if A is None else A, decided, role, target,
        np.ascontiguousarray(c.limit), alpha, np.array([flag.own, flag.own_k, flag.cloud_k]), c.margin, PATIENCE,
    )  # fmt: skip
    _JOB.ready = True
    return margin >= 0 and not wrong_figures(c, margin, 0, flag)


def _replayed(claims: Claims, alpha: float, matrix: Any) -> list[str]:
    n, d = claims.tokens.shape
    compiled = not _JOB.plain(n * n * d)
    with nullcontext() if compiled else _JOB.counted():
        wrong = (replay := _replay(claims, alpha, matrix, compiled=compiled)).run()
        if wrong and replay.small and replay.wide < 3:  # gaps of more than the claimed margin were not needed
            replay = _replay(claims, alpha, matrix, compiled=compiled)
            replay.wide = 3.0
            wrong = replay.run()
    _JOB.ready |= compiled
    return wrong


def _replay(claims: Claims, alpha: float, matrix: Any, **others: Any) -> Replay:
    replay = replay_of(claims.c, claims.tokens, alpha, matrix, weight=claims.weight, called=claims.name, **others)
    replay.wrong += claims.wrong
    return replay


def replay_of(c: "Certificate", tokens: Floats, alpha: float, matrix: Any, **others: Any) -> Replay:
    """The replay of distinct tokens by the tie rule of the certificate."""
    flag = flag_band(c, tokens.shape[1], matrix)
    return Replay(c, tokens, alpha, matrix, tie_band(c.tie_tolerance), flag, **others)


def flag_band(c: "Certificate", dim: int, matrix: Any) -> Band:
    """The band within which scores are looked at closely."""
    return wider(tie_band(c.tie_tolerance), rounding_bound(dim, matrix))


def part_of(
    claims: Claims, alpha: float, matrix: Any, left: Ints, reach: float, origin: "Origin | None" = None
) -> tuple[Replay, Ints]:
    """The replay of some of the tokens, and for each of these the place of its first copy in it."""
    if 2 * len(left) > len(claims.tokens):
        raise TooClose
    some, first, inverse = claims.part(left).distinct()
    if origin is not None:
        origin = replace(origin, place=int(inverse[np.searchsorted(left, origin.place)]))
    return _replay(some, alpha, matrix, names=left[first], reach=reach, origin=origin), inverse


def _in_the_plane(claims: Claims, alpha: float, matrix: Any) -> list[str]:
    """The replay of the outermost tokens of a large cloud in the plane; all others are checked by cells."""
    from hardmax.dynamics.check.origin import origin_of
    from hardmax.dynamics.check.plane import Inside, outermost

    c, tokens = claims.c, claims.tokens
    origin = origin_of(claims, scaled(matrix)[0], sum(tie_band(c.tie_tolerance).at(0)))
    reach = max(2.0**-19, 4 * flag_band(c, 2, matrix).own)
    aside = np.ones(len(tokens), bool)
    aside[outermost(tokens)] = False
    aside &= c.role == FOLLOWER
    for group in c.groups:
        if len(group) < len(tokens):
            aside[group] = False
        elif origin is None or not origin.stays:  # the group of all is its own
            raise TooClose
    if origin is not None:
        aside[origin.place] = False
    last, inside, blur, unclear = int(c.decided_at.max()), None, 0.0, np.empty(0, np.int64)
    for _ in range(ATTEMPTS):
        left = np.flatnonzero(~aside)
        replay, place = part_of(claims, alpha, matrix, left, reach, origin)
        if replay.run():  # wrong, or one of the others is followed: all of them can tell
            raise TooClose
        new = np.unique(place[np.searchsorted(left, unclear)])
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
        replay.undecided += origin.undecided if origin is not None else 0
        replay.check_figures()
        return replay.wrong or _ends(c, tokens, aside)
    raise TooClose


def _ends(c: "Certificate", tokens: Floats, aside: Any) -> list[str]:
    """Whether the tokens that were set aside end at the places of their leaders."""
    near = 32 * EPS * np.abs(tokens.take(np.flatnonzero(~aside), axis=0)).max()
    for start in range(0, len(tokens), CHUNK):
        part = slice(start, start + CHUNK)
        ends, places = c.limit[part], np.take(c.limit, c.target[part], axis=0)  # the leader's limit is its place
        if not np.array_equal(ends, places) and ((np.abs(ends - places) > near).T & aside[part]).any():
            return ["limit is not the leader's place"]
    return []
