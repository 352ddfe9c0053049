"""The least value of a smooth function of many numbers, by L-BFGS with limits on the lengths of rows.

SciPy's L-BFGS-B bounds single numbers, not lengths, and its sums may depend on the number of threads; here every sum is
NumPy's own, so that the bits are the same for any number.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MEMORY = 6  # steps that are remembered
PART = 1 << 14  # numbers that are handled at a time
TOLERANCE = 1e-4  # it stops when a step lowers the value by less than this part


def minimize(
    value: Callable[[Floats], tuple[float, Floats]],
    x: Floats,
    most: int,
    tell: Callable[[int, float], object] | None = None,
    tolerance: float = TOLERANCE,
    bounds: "Bounds | None" = None,
    memory: int = MEMORY,
) -> tuple[Floats, list[float]]:
    """The least value of a smooth function of many numbers, by L-BFGS with step halving; and the values on the way.

    With little `memory` a step takes less time, where the numbers are very many.

    Example:
        >>> found, _ = minimize(lambda x: (float(((x - 3.0) ** 2).sum()), 2.0 * (x - 3.0)), np.zeros(2), 20)
        >>> found.round(6).tolist()
        [3.0, 3.0]
    """
    limits = bounds or Bounds(None, None)
    x = limits.clip(x)
    now, gradient = value(x)
    steps: list[Step] = []
    losses: list[float] = []
    room = np.empty_like(x)  # for products: new memory for each of them takes longer than the products themselves
    for k in range(most):
        along = limits.along(x, gradient)
        free = along(gradient)
        seen = steps if bounds is None else [Step.of(along(step.s), along(step.y), room) for step in steps]
        known = [step for step in seen if step.curve > 1e-12 * step.square]
        way = -along(_inverse_hessian(free, known, room))
        slope = dot(way, free, room)
        if slope >= 0.0:
            break
        size = 1.0 if known else min(1.0, 1.0 / np.sqrt(-slope)) * 10.0
        for _ in range(30):
            there = limits.clip(x + size * way)
            after, gradient_there = value(there)
            move = there - x
            if after <= now + 1e-4 * dot(gradient, move, room):
                break
            size *= 0.5
        else:
            break
        steps = [*steps[1 - memory :], Step.of(move, gradient_there - gradient, room)]
        decrease, x, now, gradient = now - after, there, after, gradient_there
        losses.append(now)
        if tell is not None:
            tell(k + 1, now)
        if decrease <= tolerance * abs(now) and k >= MEMORY - 1:  # a first step says little, it knows no curvature
            break
    return x, losses


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits on the lengths of the rows of x (V, m), as one array of V m numbers; None is no limit at all.

    Example:
        >>> limits = Bounds(np.array([0.0, 2.0]), np.array([1.0, np.inf]))
        >>> limits.clip(np.array([3.0, 4.0, 0.0, 1.0])).round(6).tolist()
        [0.6, 0.8, 0.0, 2.0]
    """

    least: Floats | None
    most: Floats | None

    def clip(self, x: Floats) -> Floats:
        """The nearest rows within the limits, in their own directions."""
        if self.least is None or self.most is None:
            return x
        rows = x.reshape(len(self.least), -1)
        length = np.sqrt((rows**2).sum(axis=1))
        wanted = np.clip(length, self.least, self.most)
        return np.asarray(rows * np.where(length > 0, wanted / np.maximum(length, 1e-300), 1.0)[:, None]).ravel()

    def along(self, x: Floats, gradient: Floats) -> Callable[[Floats], Floats]:
        """What is left of a direction without its part across the limits against which -gradient pushes."""
        if self.least is None or self.most is None:
            return lambda v: v
        rows = x.reshape(len(self.least), -1)
        length = np.sqrt((rows**2).sum(axis=1))
        normal = rows / np.maximum(length, 1e-300)[:, None]
        push = (gradient.reshape(rows.shape) * normal).sum(axis=1)
        out, back = length >= self.most * (1 - 1e-12), length <= self.least * (1 + 1e-12)
        normal[~((out & (push < 0)) | (back & (push > 0)))] = 0.0
        fixed = self.most <= 0

        def along(v: Floats) -> Floats:
            some = v.reshape(rows.shape)
            some = some - (some * normal).sum(axis=1, keepdims=True) * normal
            some[fixed] = 0.0
            return np.asarray(some).ravel()

        return along


@dataclass(frozen=True, eq=False)
class Step:
    """A step s of L-BFGS, the change y of the gradient along it, <s, y> and <y, y>."""

    s: Floats
    y: Floats
    curve: float
    square: float

    @classmethod
    def of(cls, s: Floats, y: Floats, room: Floats) -> "Step":
        """With both products, which every later step needs; `room` is scratch."""
        return cls(s, y, dot(s, y, room), dot(y, y, room))


def _inverse_hessian(gradient: Floats, steps: list[Step], room: Floats) -> Floats:
    """The two loops of L-BFGS: the inverse Hessian of the last steps times the gradient; `room` is scratch."""
    way, parts = gradient.copy(), []
    for step in reversed(steps):
        parts.append(dot(step.s, way, room) / step.curve)
        _add(way, -parts[-1], step.y, room)
    if steps:
        way *= steps[-1].curve / steps[-1].square
    for step, part in zip(steps, reversed(parts), strict=True):
        _add(way, part - dot(step.y, way, room) / step.curve, step.s, room)
    return way


def dot(a: Floats, b: Floats, room: Floats | None = None) -> float:
    """<a, b> added up by NumPy: a library's product may depend on its number of threads; `room` is scratch.

    Long arrays are halved as in NumPy's own pairwise sum, so that the products of a part stay in the cache.
    """
    if a.size <= PART:
        return float(np.multiply(a, b, out=None if room is None else room[: a.size]).sum())
    half = a.size // 2
    half -= half % 8
    return dot(a[:half], b[:half], room) + dot(a[half:], b[half:], room)


def _add(to: Floats, factor: float, what: Floats, room: Floats) -> None:
    """Add factor * what, a part that stays in the cache at a time; `room` is scratch."""
    for a in range(0, to.size, PART):
        some = what[a : a + PART]
        to[a : a + PART] += np.multiply(factor, some, out=room[: some.size])
