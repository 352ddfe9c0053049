"""Ties of the tokens as they were given, checked in integer and rational arithmetic."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.check.claims import TIE

Exact = NDArray[np.object_]


class ExactClaims:
    """Claims about ties at layer 0: `role`, `target` and `groups` by distinct token, as the certificate has them."""

    def __init__(
        self, tokens: Floats, A: Floats | None, weight: Floats, role: NDArray[Any], target: Ints, groups: list[Ints]
    ) -> None:
        self.whole = _whole(tokens)
        self.A = None if A is None else _whole(A)
        self.weight = weight.astype(np.int64).astype(object)
        self.role, self.target, self.groups = role, target, groups
        self._bases: dict[tuple[int, int], Exact] = {}
        self._faces: dict[tuple[int, int], tuple[bool, list[Exact]]] = {}

    def query(self, z: Exact) -> Exact:
        """A z."""
        return z if self.A is None else self.A.dot(z)

    def tie_holds(self, i: int, group: Ints, number: int) -> bool:
        """Whether token i follows the whole group forever: (1)-(4) of `tie_locks`, without any tolerance."""
        others = group[group != i]
        key = (number, i if len(others) < len(group) else -1)
        if key not in self._faces:
            self._faces[key] = self._face(others, self._base(i), own=key[1] >= 0)
        holds, bases = self._faces[key]
        seen = self.query(self.whole[i])
        scores = self.whole[others].dot(seen)
        return holds and bool((scores == scores[0]).all()) and all(seen.dot(b) == scores[0] for b in bases)

    def _face(self, others: Ints, t: Exact, own: bool) -> tuple[bool, list[Exact]]:
        base = np.array([self._base(int(w)) for w in others], dtype=object)
        weight = self.weight[others][:, None]
        total = weight.sum()
        query = self.query(t)
        level = query.dot(t)
        holds = (
            bool(((base * weight).sum(axis=0) == t * total).all())
            and bool(((self.whole[others] * weight).sum(axis=0) == t * total).all())
            and bool((base.dot(query) == level).all())
            and bool((self.whole[others].dot(query) == level).all())
            and (own or bool((self.whole.dot(query) <= level).all()))
        )
        return holds, list({tuple(b): b for b in base}.values())

    def _base(self, w: int) -> Exact:
        """Where a token that is decided at layer 0 ends, exactly."""
        if self.role[w] != TIE:
            return self.whole[self.target[w]]
        number = int(-1 - self.target[w])
        group = self.groups[number]
        if w in group:
            return self.whole[w]
        key = (number, -1)
        if key not in self._bases:
            base = np.array([self._base(int(v)) for v in group], dtype=object)
            weight = self.weight[group][:, None]
            mean = (base * weight).sum(axis=0) / Fraction(int(weight.sum()))
            # Whole numbers as int: the sums over large groups are ten times faster than with Fractions.
            self._bases[key] = np.array([x.numerator if x.denominator == 1 else x for x in mean], dtype=object)
        return self._bases[key]


def _whole(values: Floats) -> Exact:
    """All values times one power of two that makes them integers; no condition depends on the power."""
    parts: list[tuple[int, int]] = [float(x).as_integer_ratio() for x in values.ravel().tolist()]
    denominator = max(q for _, q in parts)  # powers of two: the largest is a multiple of all
    result: Any = np.empty(len(parts), dtype=object)
    result[:] = [p * (denominator // q) for p, q in parts]
    return result.reshape(values.shape)
