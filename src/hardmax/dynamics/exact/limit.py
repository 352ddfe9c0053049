"""The infinite-depth limit in rational arithmetic, with its certificate.

The layers are followed until the future of every point is certain. Points are distinct tokens with multiplicities. With
A symmetric positive definite, a point other than i that i follows has a larger A-norm [Cauchy-Schwarz], so that one
pass in the order of falling norm settles all that can be settled.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from hardmax.cloud.parameters import exact_cloud, layer_count
from hardmax.cloud.tokens import compact
from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, TIE, Certificate, fingerprint, group_of
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.exact.follow import Places, Scores, distinct, next_layer
from hardmax.dynamics.exact.linear import Objects
from hardmax.dynamics.exact.numbers import IntegerCloud, exact_metric, exact_step, over_common_denominator
from hardmax.dynamics.exact.pattern import Forms, first_change, forms_of
from hardmax.errors import NotCertified, counted

OPEN = -1
Point = tuple[Fraction, ...]

FIRST_WAIT = 1  # layers a pattern must have lasted before it is examined as a whole; then 4, 10, 22, ...
CHAIN_WAIT = 64  # a point cannot follow a single point that is not a leader forever: wait longer before examining


def limit_exact(Z: Any, alpha: Any, A: Any = None, max_layers: int = 10_000) -> Equilibrium:
    """Where every token ends at infinite depth, in Fractions, with a certificate.

    Implements [AFZ24, Theorem 1.1]. Departs: repeated tokens are one point with a multiplicity and lead together; a
    token at 0 is allowed, and ends at 0 ("face", the improper face K) if the mean of all tokens stays 0.

    The arguments are those of `hardmax.limit`.

    Raises:
        NotCertified: some token was not decided within `max_layers`.

    Example:
        >>> limit_exact([[1, 1], [1, -1], [-1, 1], [-1, -1], ["1/2", 0]], "1/2").points[4].tolist()
        [Fraction(1, 1), Fraction(0, 1)]
    """
    tokens = exact_cloud(Z)
    step, depth = exact_step(alpha), layer_count(max_layers, "max_layers")
    metric = exact_metric(A, tokens.shape[1])
    place, members = distinct(tokens)
    points = tokens[[m[0] for m in members]]
    matrix = None if metric is None else over_common_denominator(metric)[0]
    descent = Descent(points, [len(m) for m in members], step, matrix)
    if not descent.run(depth):
        raise _not_certified(descent, place, max_layers)

    limit = np.array([descent.base[p] for p in place], dtype=object)
    leader_since = {i: descent.decided_at[p] for i, p in enumerate(place) if descent.role[p] == LEADER}
    certificate = _certificate(descent, place, members, tokens, step, metric, limit)
    return Equilibrium(tokens, limit, *_clusters(limit, leader_since), leader_since, certificate)


def _certificate(
    descent: "Descent", place: list[int], members: list[list[int]], tokens: Objects, alpha: Any, A: Any, limit: Objects
) -> Certificate:
    """From points to tokens: the target of each, and the sets that are followed as a whole."""
    groups: dict[tuple[int, ...], int] = {}
    target = np.empty(len(place), dtype=np.int64)
    for i, p in enumerate(place):
        C = descent.sets[p]
        if descent.role[p] in (LEADER, FOLLOWER):
            target[i] = members[C[0]][0]
        else:
            followed = tuple(sorted(j for w in C for j in members[w]))
            target[i] = -1 - groups.setdefault(followed, len(groups))
    return Certificate(
        alpha=alpha,
        A=A,
        decided_at=compact(np.array([descent.decided_at[p] for p in place]), len(place)),
        role=np.array([descent.role[p] for p in place], dtype=np.int8),
        target=compact(target, len(place)),
        groups=tuple(group_of(group, len(place)) for group in groups),
        limit=limit,
        margin=descent.margin,
        undecided=0,
        tie_tolerance=0.0,
        exact=True,
        method="rational",
        problem=fingerprint(tokens, alpha, A, 0.0),
    )


def _clusters(limit: Objects, leader_since: dict[int, int]) -> tuple[np.ndarray, Objects, tuple[str, ...]]:
    """The distinct limit points: vertices in the order of their leaders, then faces in the order of their tokens."""
    number: dict[tuple[Any, ...], int] = {}
    for i in [*sorted(leader_since), *range(len(limit))]:
        number.setdefault(tuple(limit[i]), len(number))
    vertices = {tuple(limit[i]) for i in leader_since}
    cluster = compact(np.array([number[tuple(row)] for row in limit]), len(limit))
    kind = tuple("vertex" if point in vertices else "face" for point in number)
    return cluster, np.array(list(number), dtype=object), kind


def _not_certified(descent: "Descent", place: list[int], max_layers: int) -> NotCertified:
    waiting = [i for i, p in enumerate(place) if descent.role[p] == OPEN]
    now = descent.cloud.fractions()
    return NotCertified(
        f"{len(waiting)} of {len(place)} tokens are not decided after {max_layers} layers",
        found=f"token {waiting[0]} still follows "
        f"{counted(len(descent.sets[place[waiting[0]]]), 'point')} that may move",
        fix="raise max_layers",
        known={
            "certain": [i for i, p in enumerate(place) if descent.role[p] != OPEN],
            "open": waiting,
            "points": np.array([descent.base[p] or tuple(now[p]) for p in place], dtype=object),
            "leaders": [i for i, p in enumerate(place) if descent.role[p] == LEADER],
            "layers": descent.layer,
        },
    )


class Descent:
    """The dynamics of distinct points, and what is certain about each of them.

    Attributes:
        cloud: the points at layer `layer`.
        sets: the points that each point follows at that layer.
        role, base, decided_at: for each point its role in the limit (OPEN: not known yet), where it ends, and the layer
            from which on its follow set is constant.
        margin: the smallest relative gap of the strict comparisons at the layers `decided_at`.
    """

    def __init__(self, points: Objects, weights: Sequence[int], alpha: Fraction, matrix: Objects | None) -> None:
        self.cloud, self.layer = IntegerCloud.of(points), 0
        self.weights, self.alpha, self.matrix = list(weights), alpha, matrix
        count = len(points)
        self.sets: list[Places] = [()] * count
        self.role = [OPEN] * count
        self.base: list[Point] = [()] * count
        self.decided_at = [0] * count
        self.margin = inf
        self._event = (0, self.cloud)  # the last layer at which a follow set changed or a point was settled
        self._wait = FIRST_WAIT

    @property
    def open(self) -> list[int]:
        """The points whose future is not known yet."""
        return [i for i, r in enumerate(self.role) if r == OPEN]

    def run(self, max_layers: int) -> bool:
        """Go on until everything is certain (True) or `max_layers` are over (False)."""
        while True:
            self._look()
            if not (waiting := self.open):
                return True
            chained = any(len(self.sets[i]) == 1 for i in waiting)
            if self.layer - self._event[0] >= max(self._wait, CHAIN_WAIT * chained):
                self._wait = 2 * self._wait + 2
                forms = self._forms()
                if forms is not None:
                    change = first_change(forms, self.sets, waiting, self.matrix, self.alpha, max_layers - self.layer)
                    if change is None:  # nothing will happen before max_layers, and what comes after is not known
                        return False
                    if change == inf:
                        self._settle_pattern(forms)
                        return True
                    self._jump(forms, int(change))
                    continue
            if self.layer >= max_layers:
                return False
            self._advance()

    def _look(self) -> None:
        """Find the follow sets of the open points, and settle those that can be settled."""
        waiting, scores = self.open, Scores(self.cloud.rows, self.matrix)
        for i, C in zip(waiting, scores.follow_sets(waiting), strict=True):
            if self.sets[i] != C:
                self.sets[i] = C
                self._mark()
        settled = self._settle(self.cloud)
        for i, (role, base) in settled.items():
            self.role[i], self.base[i], self.decided_at[i] = role, base, self.layer
        if settled:
            self._mark()
            self.margin = min(self.margin, scores.narrowest(list(settled), [self.sets[i] for i in settled]))

    def _mark(self) -> None:
        self._event, self._wait = (self.layer, self.cloud), FIRST_WAIT

    def _settle(self, cloud: IntegerCloud) -> dict[int, tuple[int, Point]]:
        """The points that can be settled with the cloud where it is and the follow sets as they are.

        Whatever is settled at one layer could be settled at every later one: the conditions are inequalities that hold
        for all present tokens, and later tokens are convex combinations of these.
        """
        found: dict[int, tuple[int, Point]] = {}
        supports: dict[Point, bool] = {}
        for i in self._by_falling_norm(cloud):
            C = self.sets[i]
            if (i,) == C:
                found[i] = LEADER, cloud.point(i)  # fact 1: it leads and stands still forever
            elif len(C) == 1:
                role, base = found.get(C[0], (self.role[C[0]], self.base[C[0]]))
                if role == LEADER:
                    found[i] = FOLLOWER, base  # fact 6
            else:
                bases = {w: found[w][1] if w in found else self.base[w] for w in C if w != i}
                if all(bases.values()) and (t := self._tie_point(cloud, i, bases, supports)) is not None:
                    found[i] = TIE, t
        return found

    def _tie_point(
        self, cloud: IntegerCloud, i: int, bases: dict[int, Point], supports: dict[Point, bool]
    ) -> Point | None:
        """The mean t of the tied targets w = b_w + o_w (limit and offset), if i follows them forever.

        Conditions: the offsets cancel and are orthogonal to A z_i and A t; <A t, b_w> = |t|_A^2; and no token is beyond
        the face, <A t, y> <= |t|_A^2. If i is one of those it follows, t must be z_i, which then stands still.
        Proof: w^m = b_w + rho^m o_w, so the mean stays t and z_i^m = t + rho^m (z_i - t). On the segment [z_i, t] all
        w^m have one score. For y outside the set <A z, max - y> is > 0 at z_i, >= 0 at t and affine between; later y
        are convex combinations with a positive weight on their old self, so it stays so.
        """
        rows, D = cloud.rows, cloud.denominator
        total = sum(self.weights[w] for w in bases)
        dim = range(rows.shape[1])
        t = tuple(sum((self.weights[w] * b[k] for w, b in bases.items()), Fraction(0)) / total for k in dim)
        if any(sum(self.weights[w] * rows[w, k] for w in bases) != t[k] * total * D for k in dim):
            return None  # the offsets do not cancel
        if i in self.sets[i] and any(rows[i, k] != t[k] * D for k in dim):
            return None
        query, direction = self._times_matrix(rows[i]), self._times_matrix(np.array(t, dtype=object))
        height = direction @ np.array(t, dtype=object)
        for w, b in bases.items():
            base = np.array(b, dtype=object)
            if query @ base * D != query @ rows[w] or direction @ base != height or direction @ rows[w] != height * D:
                return None
        if t not in supports:
            supports[t] = bool((rows @ direction <= height * D).all())
        return t if supports[t] else None

    def _times_matrix(self, vector: Objects) -> Objects:
        return vector if self.matrix is None else self.matrix @ vector

    def _by_falling_norm(self, cloud: IntegerCloud) -> list[int]:
        return sorted(self.open, key=lambda i: -int(self._times_matrix(cloud.rows[i]) @ cloud.rows[i]))

    def _advance(self) -> None:
        """One layer, z' = (q z + p mean C) / (p + q) with alpha = p / q. Implements [AFZ24, eq. (1.1a)]."""
        p, q = self.alpha.numerator, self.alpha.denominator
        self.cloud = next_layer(self.cloud, [self.sets], q, [p], p + q, self.weights)
        self.layer += 1

    def _forms(self) -> Forms | None:
        """Closed forms of all points, as if no follow set changed any more."""
        known = {i: self.base[i] for i, r in enumerate(self.role) if r != OPEN}
        return forms_of(self.cloud, self.sets, self.weights, self.alpha, known, self._by_falling_norm(self.cloud))

    def _jump(self, forms: Forms, change: int) -> None:
        """Go to the layer where a follow set changes, or to the first before it where a point can be settled."""

        def settles(m: int) -> bool:
            return bool(self._settle(forms.at(m)))

        if change > 1 and settles(change - 1):  # what can be settled at one layer can be settled at all later ones
            change = 1 + bisect_left(range(1, change - 1), True, key=settles)
        self.cloud, self.layer = forms.at(change), self.layer + change

    def _settle_pattern(self, forms: Forms) -> None:
        """All open points keep their follow sets forever; they have done so since the last event."""
        layer, cloud = self._event
        waiting = self.open
        for i in waiting:
            self.role[i], self.base[i], self.decided_at[i] = PATTERN, forms.limit(i), layer
        narrowest = Scores(cloud.rows, self.matrix).narrowest(waiting, [self.sets[i] for i in waiting])
        self.margin = min(self.margin, narrowest)
