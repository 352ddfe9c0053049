"""Checks a certificate in rational arithmetic from the data alone; shares no code with the solver that made it.

The layers are replayed one by one. At each layer every token that is not decided yet is tested against the definition
of a decision; it must be decided at the layer the certificate names, not before and not after, in the role it names.
"""

from fractions import Fraction
from math import gcd, inf, lcm
from typing import Any

import numpy as np

from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, ROLE_NAMES, TIE, Certificate, fingerprint
from hardmax.dynamics.rational_check_pattern import Closed, lasts_for_ever
from hardmax.errors import BadInput
from hardmax.tokens import exact_cloud

CLOSE = Fraction(1, 10**9)  # margins are floats: they must agree with the exact value to this part of it


def problems(certificate: Certificate, Z: Any) -> list[str]:
    """Everything that is wrong with the certificate for the tokens Z; an empty list if nothing is.

    Example:
        >>> from hardmax.dynamics.rational import limit_exact
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


def _malformed(c: Certificate, tokens: Any) -> list[str]:
    """Shapes, types and values that no certificate in rational arithmetic can have."""
    n, dim = tokens.shape
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
    for name in ("decided_at", "role", "target"):
        array = getattr(c, name)
        if not isinstance(array, np.ndarray) or array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
            wrong.append(f"{name} is not an integer array of length {n}")
    if not _fractions(c.limit, (n, dim)):
        wrong.append(f"limit is not an array of Fractions of shape {(n, dim)}")
    if not isinstance(c.margin, float) or not c.margin > 0:
        wrong.append(f"margin is {c.margin!r}; expected a float > 0")
    if not isinstance(c.groups, tuple) or not all(
        isinstance(g, tuple) and all(type(i) is int for i in g) for g in c.groups
    ):
        wrong.append("groups is not a tuple of tuples of token indices")
    if wrong:
        return wrong
    if c.problem != fingerprint(tokens, c.alpha, c.A, c.tie_tolerance):
        return ["the certificate was made for other tokens, alpha, A or tie_tolerance"]
    if (c.decided_at < 0).any():
        wrong.append("decided_at holds a negative layer")
    if not np.isin(c.role, (LEADER, FOLLOWER, TIE, PATTERN)).all():
        wrong.append("role holds something else than leader, follower, tie, pattern")
    grouped = np.isin(c.role, (TIE, PATTERN))
    if (c.target >= n).any() or (c.target < -len(c.groups)).any() or ((c.target < 0) != grouped).any():
        wrong.append("target does not name a token (leader, follower) or a group (tie, pattern)")
    elif sorted({-1 - int(t) for t in c.target if t < 0}) != list(range(len(c.groups))):
        wrong.append("groups holds a set that nobody follows")
    if len(set(c.groups)) != len(c.groups):
        wrong.append("groups holds a set twice")
    for g, group in enumerate(c.groups):
        if not group or list(group) != sorted(set(group)) or group[0] < 0 or group[-1] >= n:
            wrong.append(f"groups[{g}] is not an ascending set of token indices")
    pattern = c.role == PATTERN
    if pattern.any() and (c.decided_at[pattern] != c.decided_at.max()).any():
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

    def __init__(self, c: Certificate, tokens: Any) -> None:
        self.c, self.wrong = c, list[str]()
        numbers: dict[tuple[Fraction, ...], int] = {}
        self.point_of = [numbers.setdefault(tuple(row), len(numbers)) for row in tokens]
        self.copies = [[i for i, p in enumerate(self.point_of) if p == q] for q in range(len(numbers))]
        self.first = [copies[0] for copies in self.copies]
        self.weight = [len(copies) for copies in self.copies]
        self.denominator = lcm(*(x.denominator for x in tokens.flat))
        self.x = np.array([[int(v * self.denominator) for v in row] for row in tokens[self.first]], dtype=object)
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
            self._move()
            layer += 1
        if not self.wrong and PATTERN in self.role:
            if self.last_event != depth:
                self.wrong.append(f"the pattern is decided at layer {self.last_event} already, not at {depth}")
            else:
                self._check_pattern()
        if not self.wrong:
            self._check_margin()
        return self.wrong

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
        queries = self.x @ self.A.T
        waiting = [i for i, k in enumerate(self.decided) if k >= layer]
        scores = {i: self.x @ queries[i] for i in waiting}
        for i in waiting:
            best = max(scores[i])
            follows = tuple(j for j, s in enumerate(scores[i]) if s == best)
            if follows != self.follows[i]:
                self.follows[i], self.last_event = follows, layer
        now = layer in self.decided
        largest = max(z @ q for z, q in zip(self.x, queries, strict=True)) if now else 0
        for i in waiting:
            role, limit = self._decision(i, layer, queries[i])
            if self.decided[i] > layer:
                if role is not None:
                    self._say(i, f"is decided at layer {layer} already, as a {ROLE_NAMES[role]}")
                continue
            self.last_event = layer if role is not None else self.last_event
            self._claims(i, layer, role, limit)
            rest = [s for j, s in enumerate(scores[i]) if j not in self.follows[i]]
            if rest:
                gap = max(scores[i]) - max(rest)
                ratio = Fraction(gap * gap) / (scores[i][i] * largest)
                self.narrowest = ratio if self.narrowest is None else min(self.narrowest, ratio)
        if all(self.role[i] == PATTERN for i in waiting) and max(self.decided) > layer:
            # A false layer may be very large: look, ever more rarely, whether the pattern is final already.
            since = layer - self.last_event
            if since > 0 and since & (since - 1) == 0 and self._pattern_lasts():
                self.wrong.append(f"the pattern is decided at layer {self.last_event} already")

    def _decision(self, i: int, layer: int, query: Any) -> tuple[int | None, Any]:
        """The role and limit that the follow sets of this layer alone give token i for ever."""
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
        # b_w lie in the face <A t, .> = <A t, t>, nobody beyond it; whoever follows himself too stands at t
        total = sum(self.weight[w] for w in others)
        t = sum(self.limit[w] * self.weight[w] for w in others) / total
        normal = self.A @ t
        height = normal @ t
        offset = {w: self.x[w] - self.limit[w] * self.denominator for w in others}
        holds = (
            not np.any(sum(offset[w] * self.weight[w] for w in others))
            and all(normal @ self.limit[w] == height and normal @ offset[w] == 0 for w in others)
            and all(query @ offset[w] == 0 for w in others)
            and max(self.x @ normal) <= height * self.denominator
            and (i not in follows or (self.x[i] == t * self.denominator).all())
        )
        return (TIE, t) if holds else (None, None)

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

    def _closed(self) -> list[Closed | None]:
        """Closed forms from here on if nobody changes whom he follows; None for who follows himself and moves."""
        now = self.x / Fraction(self.denominator)
        forms: list[Closed | None] = [
            None if r == PATTERN else Closed(b, [z - b]) for r, b, z in zip(self.role, self.limit, now, strict=True)
        ]
        norms = [z @ (self.A @ z) for z in now]
        # whoever is followed has a larger norm [Cauchy-Schwarz], so his form is there already
        for i in sorted((i for i, r in enumerate(self.role) if r == PATTERN), key=lambda i: -norms[i]):
            others = [w for w in self.follows[i] if w != i]
            known = [forms[w] for w in others]
            if all(f is not None for f in known):
                form = Closed.following(now[i], known, [self.weight[w] for w in others], self.c.alpha)  # type: ignore[arg-type]
                stands = len(form.parts) == 1 and not form.parts[0].any()
                forms[i] = form if i not in self.follows[i] or stands else None
        return forms

    def _pattern_lasts(self) -> bool:
        forms = self._closed()
        waiting = [i for i, r in enumerate(self.role) if r == PATTERN]
        if any(f is None for f in forms):
            return False
        return all(lasts_for_ever(i, self.follows[i], forms, self.A, self.c.alpha) for i in waiting)  # type: ignore[arg-type]

    def _check_pattern(self) -> None:
        if not self._pattern_lasts():
            self.wrong.append("the follow sets of the pattern do not last for ever")
            return
        for i, form in enumerate(self._closed()):
            if self.role[i] == PATTERN and form is not None and np.any(form.base != self.limit[i]):
                self._say(i, "does not end at the limit that is named")

    def _check_margin(self) -> None:
        if self.narrowest is None or self.c.margin == inf:
            good = self.narrowest is None and self.c.margin == inf
        else:
            square = Fraction(self.c.margin) ** 2
            # the smallest positive float stands for everything below it
            good = abs(square - self.narrowest) <= CLOSE * self.narrowest or (
                self.c.margin == np.nextafter(0.0, 1.0) and self.narrowest <= square
            )
        if not good:
            self.wrong.append(f"margin is {self.c.margin!r}, which is not that of the narrowest decision")
