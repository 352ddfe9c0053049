"""Checks a certificate in rational arithmetic from the data alone; shares no code with the solver that made it.

The layers are replayed in plain integers, in leaps where it can be shown that no follow set changes (`pattern`). At
each layer every token that is not decided yet is tested against the definition of a decision; it must be decided at the
layer that the certificate names, not before and not after, in the role that it names.
"""

from fractions import Fraction
from math import gcd, inf, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.cloud.parameters import exact_cloud
from hardmax.dynamics.check.claims import FOLLOWER, LEADER, PATTERN, ROLE_NAMES, TIE, malformed
from hardmax.dynamics.check.pattern import Closed, lasts
from hardmax.errors import BadInput

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

CLOSE = Fraction(1, 10**9)  # margins are floats: they must agree with the exact value to this part of it
SMALLEST = Fraction(1, 2**1074)  # the smallest positive float
ROUGH = 256  # bits
PATIENCE = 1024  # layers
SHORTEST_LEAP = 16  # layers; to look at them one by one is as fast


def problems(certificate: "Certificate", Z: Any) -> list[str]:
    """Everything that is wrong with the certificate for the tokens Z; an empty list if nothing is.

    Example:
        >>> from hardmax.dynamics.exact.limit import limit_exact
        >>> problems(limit_exact([[1], [-1]], 1).certificate, [[1], [-2]])
        ['the certificate was made for other tokens, alpha, A or tie_tolerance']
    """
    try:
        tokens = exact_cloud(Z)
    except BadInput as error:
        return [str(error)]
    try:
        wrong = _malformed(certificate, tokens)
        return wrong or _Replay(certificate, tokens).run()
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        return [f"the certificate is malformed: {type(error).__name__}: {error}"]


def _malformed(c: "Certificate", tokens: Any) -> list[str]:
    """What no certificate in rational arithmetic can have, whatever the tokens."""
    dim = tokens.shape[1]
    wrong = []
    if c.exact is not True or c.method != "rational":
        wrong.append(f"exact={c.exact!r} and method={c.method!r} do not go with a certificate in rational arithmetic")
    if type(c.undecided) is not int or c.undecided != 0:
        wrong.append(f"undecided is {c.undecided!r}, but rational arithmetic decides every comparison")
    if not isinstance(c.tie_tolerance, float) or c.tie_tolerance != 0.0:
        wrong.append(f"tie_tolerance is {c.tie_tolerance!r}, but rational arithmetic has none")
    if not isinstance(c.alpha, Fraction) or c.alpha <= 0:
        wrong.append(f"alpha is {c.alpha!r}; expected a Fraction > 0")
    if c.A is not None and not _is_definite(c.A, dim):
        wrong.append(f"A is not a symmetric positive definite ({dim}, {dim}) array of Fractions")
    if not _fractions(c.limit, tokens.shape):
        wrong.append(f"limit is not an array of Fractions of shape {tokens.shape}")
    wrong = wrong or malformed(c, tokens, (LEADER, FOLLOWER, TIE, PATTERN))
    if not wrong and (c.decided_at[c.role == PATTERN] != c.decided_at.max()).any():
        wrong.append("a pattern is decided for all its tokens at once, after all others")
    return wrong


def _fractions(array: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(array, np.ndarray) and array.shape == shape and all(isinstance(x, Fraction) for x in array.flat)


def _is_definite(A: Any, dim: int) -> bool:
    """Symmetric, and all pivots of elimination are positive."""
    if not _fractions(A, (dim, dim)) or (A != A.T).any():
        return False
    rows = A.copy()
    for k in range(dim):
        if rows[k, k] <= 0:
            return False
        for i in range(k + 1, dim):
            rows[i] = rows[i] - rows[k] * (rows[i, k] / rows[k, k])
    return True


class _Replay:
    """The distinct tokens layer by layer, as integers over one denominator, beside what the certificate claims."""

    def __init__(self, c: "Certificate", tokens: Any) -> None:
        self.c, self.wrong = c, list[str]()
        numbers: dict[tuple[Fraction, ...], int] = {}
        self.point_of = [numbers.setdefault(tuple(row), len(numbers)) for row in tokens]
        self.copies = [[i for i, p in enumerate(self.point_of) if p == q] for q in range(len(numbers))]
        self.first = [copies[0] for copies in self.copies]
        self.weight = [len(copies) for copies in self.copies]
        self._place(tokens[self.first])
        dim = range(tokens.shape[1])
        scale = 1 if c.A is None else lcm(*(a.denominator for a in c.A.flat))  # no comparison depends on it
        self.A = np.array([[int(i == j) if c.A is None else int(c.A[i, j] * scale) for j in dim] for i in dim], object)
        self.decided = [int(c.decided_at[f]) for f in self.first]
        self.role = [int(c.role[f]) for f in self.first]
        self.limit = [c.limit[f] for f in self.first]
        self.follows: list[tuple[int, ...]] = [()] * len(self.first)  # at the present layer
        self.narrowest: Fraction | None = None  # the square of the margin
        self.last_event = 0

    def run(self) -> list[str]:
        self._check_copies()
        depth, layer = max(self.decided), 0
        while not self.wrong:
            self._look(layer)
            if layer == depth or self.wrong:
                break
            layer += self._leap(layer)
        if not self.wrong and PATTERN in self.role:
            if self.last_event != depth:
                self.wrong.append(f"the pattern is decided at layer {self.last_event} already, not at {depth}")
            else:
                self._check_pattern()
        if not self.wrong:
            self._check_margin()
        return self.wrong

    def _place(self, points: Any) -> None:
        """Put the distinct tokens at these points (Fractions)."""
        self.denominator = lcm(*(v.denominator for z in points for v in z))
        self.x = np.array([[int(v * self.denominator) for v in z] for z in points], dtype=object)

    def _check_copies(self) -> None:
        """Claims are the same for copies of one token, and name all copies, or the first one."""
        c = self.c
        for i, p in enumerate(self.point_of):
            f = self.first[p]
            for name in ("decided_at", "role", "target", "limit"):
                if np.any(getattr(c, name)[i] != getattr(c, name)[f]):
                    self.wrong.append(f"{name} differs between tokens {f} and {i}, copies of one token")

    def _look(self, layer: int) -> None:
        """Test what is decided at this layer, and that nothing else could be."""
        waiting = [i for i, k in enumerate(self.decided) if k >= layer]
        queries = {i: self.A @ self.x[i] for i in waiting}
        for i, follows in zip(waiting, self._follow_sets(waiting, queries), strict=True):
            if follows != self.follows[i]:
                self.follows[i], self.last_event = follows, layer
        for i in waiting:
            role, limit = self._decision(i, layer, queries[i])
            if self.decided[i] > layer:
                if role is not None:
                    self._say(i, f"is decided at layer {layer} already, as a {ROLE_NAMES[role]}")
                continue
            self.last_event = layer if role is not None else self.last_event
            self._claims(i, layer, role, limit)
        self._note_gaps([i for i in waiting if self.decided[i] == layer], queries)
        self._stop_waiting_in_vain(layer, [i for i in waiting if self.decided[i] > layer])

    def _follow_sets(self, waiting: list[int], queries: dict[int, Any]) -> list[tuple[int, ...]]:
        """Who has the largest score, exactly; most are excluded by the first `ROUGH` bits of all coordinates.

        With x = 2^s (r + f), 0 <= f < 1, |r| <= M, a score <A x, y> / 4^s is off by at most sum |A| (2 M + 1).
        """
        shift = max(max(int(v).bit_length() for v in self.x.flat) - ROUGH, 0)
        rough = self.x >> shift
        error = abs(self.A).sum() * (2 * abs(rough).max() + 1)
        result = []
        for i in waiting:
            scores = rough @ (self.A @ rough[i])
            near = np.flatnonzero(scores >= scores.max() - 2 * error)
            exact = self.x[near] @ queries[i]
            best = max(exact)
            result.append(tuple(int(j) for j, s in zip(near, exact, strict=True) if s == best))
        return result

    def _note_gaps(self, decided: list[int], queries: dict[int, Any]) -> None:
        """The square of the narrowest gap to the best of the others, relative to |z_i|_A max |z_j|_A."""
        largest = max(z @ (self.A @ z) for z in self.x) if decided else 0
        for i in decided:
            scores = self.x @ queries[i]
            rest = np.delete(scores, self.follows[i])
            if len(rest):
                gap = scores[self.follows[i][0]] - max(rest)
                ratio = Fraction(gap * gap, scores[i] * largest)
                self.narrowest = ratio if self.narrowest is None else min(self.narrowest, ratio)

    def _stop_waiting_in_vain(self, layer: int, waiting: list[int]) -> None:
        """A false layer may be very large: look, ever more rarely, whether all follow sets are final already.

        A true certificate calls this a pattern as soon as it is one; a tie can be found some layers later only.
        """
        since = layer - self.last_event
        if waiting and since > 0 and since & (since - 1) == 0:
            patient = since < PATIENCE and any(self.role[i] != PATTERN for i in waiting)
            if not patient and self._pattern_lasts(waiting):
                self.wrong.append(f"all follow sets are final at layer {self.last_event} already")

    def _decision(self, i: int, layer: int, query: Any) -> tuple[int | None, Any]:
        """The role and limit that the follow sets of this layer alone give token i forever."""
        follows = self.follows[i]
        if follows == (i,):
            return LEADER, self.x[i] / Fraction(self.denominator)
        if len(follows) == 1:
            leader = follows[0]
            if self.follows[leader] == (leader,):
                return FOLLOWER, self.x[leader] / Fraction(self.denominator)
            return None, None
        others = [w for w in follows if w != i]
        if any(self.decided[w] > layer or self.role[w] == PATTERN for w in others):
            return None, None
        # static tie: t = mean of the limits b_w; offsets o_w = w - b_w cancel, are orthogonal to A z_i and A t; all
        # b_w lie in the face <A t, .> = <A t, t>, no token is beyond it; a token that also follows itself stands at t.
        # In integers: b_w = limit / scale, t = T / (scale total), w = x / D, o_w = offset / (scale D).
        D = self.denominator
        scale = lcm(*(v.denominator for w in others for v in self.limit[w]))
        limit = {w: np.array([int(v * scale) for v in self.limit[w]], dtype=object) for w in others}
        total = sum(self.weight[w] for w in others)
        T = sum(limit[w] * self.weight[w] for w in others)
        normal = self.A @ T
        height = normal @ T
        offset = {w: self.x[w] * scale - limit[w] * D for w in others}
        holds = (
            not np.any(sum(offset[w] * self.weight[w] for w in others))
            and (i not in follows or (self.x[i] * (scale * total) == T * D).all())
            and all(normal @ limit[w] * total == height and normal @ offset[w] == 0 for w in others)
            and all(query @ offset[w] == 0 for w in others)
            and max(self.x @ normal) * (scale * total) <= height * D
        )
        return (TIE, T / Fraction(scale * total)) if holds else (None, None)

    def _claims(self, i: int, layer: int, role: int | None, limit: Any) -> None:
        """What the certificate says of token i against what is so."""
        if self.role[i] != (PATTERN if role is None else role):
            self._say(i, f"is not a {ROLE_NAMES[self.role[i]]} from layer {layer} on")
            return
        if role is not None and np.any(self.limit[i] != limit):
            self._say(i, "does not end at the limit that is named")
        target = int(self.c.target[self.first[i]])
        if target >= 0 and self.first[self.follows[i][0]] != target:
            self._say(i, f"does not follow token {target}, or this is not the first of its copies")
        if target < 0:
            followed = sorted(t for w in self.follows[i] for t in self.copies[w])
            if list(self.c.groups[-1 - target]) != followed:
                self._say(i, f"does not follow groups[{-1 - target}]")

    def _say(self, i: int, what: str) -> None:
        self.wrong.append(f"token {self.first[i]} {what}")

    def _move(self) -> None:
        """z' = (z + alpha mean C) / (1 + alpha), for decided tokens with the set that was checked."""
        p, q = self.c.alpha.numerator, self.c.alpha.denominator
        total = [sum(self.weight[j] for j in follows) for follows in self.follows]
        common = lcm(*total)
        moved = []
        for z, follows, share in zip(self.x, self.follows, total, strict=True):
            pull = sum(self.x[j] * self.weight[j] for j in follows) * (common // share)
            moved.append(z * (q * common) + pull * p)
        self.x, self.denominator = np.array(moved, dtype=object), self.denominator * (p + q) * common
        divisor = gcd(self.denominator, *self.x.flat)
        self.x, self.denominator = self.x // divisor, self.denominator // divisor

    def _closed(self, waiting: list[int]) -> list[Closed] | None:
        """Closed forms from here on if no follow set changes; None if a token follows itself and moves."""
        now = self.x / Fraction(self.denominator)
        forms = {i: Closed(b, [z - b]) for i, (b, z) in enumerate(zip(self.limit, now, strict=True))}
        # a followed token has a larger norm [Cauchy-Schwarz], so its form is known already
        for i in sorted(waiting, key=lambda i: -(now[i] @ (self.A @ now[i]))):
            others = [w for w in self.follows[i] if w != i]
            forms[i] = Closed.following(
                now[i], [forms[w] for w in others], [self.weight[w] for w in others], self.c.alpha
            )
            if i in self.follows[i] and (len(forms[i].parts) > 1 or forms[i].parts[0].any()):
                return None
        return [forms[i] for i in range(len(now))]

    def _pattern_lasts(self, waiting: list[int], until: int | None = None) -> bool:
        forms = self._closed(waiting)
        if forms is None:
            return False
        scale = lcm(*(v.denominator for form in forms for z in (form.base, *form.parts) for v in z))
        whole = [form.times(scale) for form in forms]
        return all(lasts(i, self.follows[i], whole, self.A, self.c.alpha, until) for i in waiting)

    def _leap(self, layer: int) -> int:
        """Go on by one layer, or by many at once while no follow set changes; returns by how many.

        Not across the next decision that is claimed. Whatever could be decided in between could be decided where the
        leap ends, where `_look` finds it: leading and following depend on the follow sets alone, and the conditions
        of a tie, once true, stay true.
        """
        waiting = [i for i, k in enumerate(self.decided) if k > layer]
        since = layer - self.last_event
        stretch = min(since, min(self.decided[i] for i in waiting) - layer - 1)
        if since & (since - 1) == 0 and stretch >= SHORTEST_LEAP and self._pattern_lasts(waiting, stretch):
            rho = 1 / (1 + self.c.alpha)
            self._place([form.at(stretch, rho) for form in self._closed(waiting) or []])
            return stretch
        self._move()
        return 1

    def _check_pattern(self) -> None:
        waiting = [i for i, r in enumerate(self.role) if r == PATTERN]
        if not self._pattern_lasts(waiting):
            self.wrong.append("the follow sets of the pattern do not last forever")
            return
        forms = self._closed(waiting) or []
        for i in waiting:
            if np.any(forms[i].base != self.limit[i]):
                self._say(i, "does not end at the limit that is named")

    def _check_margin(self) -> None:
        if self.narrowest is None or self.c.margin == inf:
            good = self.narrowest is None and self.c.margin == inf
        else:
            margin = Fraction(self.c.margin)
            step = max(margin * CLOSE, SMALLEST)  # tiny margins are rounded to multiples of the smallest float
            good = (margin - step) ** 2 <= self.narrowest <= (margin + step) ** 2
        if not good:
            self.wrong.append(f"margin is {self.c.margin!r}, which is not that of the narrowest decision")
