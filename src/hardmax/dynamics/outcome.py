"""What happened in a run: settled, undecided, still moving, periodic, self-similar, or growing without bound.

Judged from the tokens alone, with these thresholds (`scale` is the largest |z| of the first and the last layer):

* settled: in the last layer no token moved more than 1e-12 * min(1, alpha) * scale. The step of a layer is proportional
  to alpha where alpha is small, so a slow run is not taken for a finished one. A layer is a function of the cloud, so
  one such layer is enough; a rule that draws can stand still by chance, and `patience` asks for more of them.
* undecided: the same, but the run rests on comparisons that are closer than float64 can decide. In exact arithmetic the
  tokens may take another way, and need not come to rest. Ties that integer arithmetic has proved do not count. The
  sentence about a periodic or growing run says so as well.
* periodic: over the last two periods (p >= 2 layers each) every cloud equals the one p layers before within
  1e-9 * scale, and inside the period some token leaves its place by more than 1e-6 * scale.
* growing: over the last third, and at least 4 layers, the largest |z| rises at every layer, by 5 % or more in all, and
  its increments do not fall off: their mean over the second half is at least 99 % of that over the first. A bounded
  quantity cannot keep this up; that it will go on is an extrapolation, and "growing" means no more than that.
* moving: everything else.

In rational arithmetic (`exact_outcome`) a state that comes back exactly comes back forever, because a layer is a
function of the cloud alone; "settled" means that what is left of a geometric approach is below the rounding of float64.
A cloud that comes back as a linear image with the same scores up to a factor is "self-similar", forever as well; see
`hardmax.dynamics.exact.self_similar` for the proof.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.exact.linear import Objects
from hardmax.dynamics.exact.numbers import IntegerCloud
from hardmax.dynamics.exact.self_similar import self_similar
from hardmax.dynamics.trajectory import Outcome

QUIET = 1e-12
RETURNED, LEFT = 1e-9, 1e-6
GROWTH_LAYERS, GROWTH, KEEPS_UP = 4, 1.05, 0.99
# Settled: what is left of a geometric approach with ratio 1/(1+alpha) is below this part of the largest coordinate.
ROUNDING = Fraction(1, 2**52)


def detect(
    tokens: Floats, normalization: str = "rescale", alpha: float = 1.0, patience: int = 1, undecided: int = 0,
    first_layer: int = 0,
) -> Outcome:  # fmt: skip
    """Say what the run Z^0..Z^K did; see the top of the file for the thresholds.

    Args:
        tokens: (layers+1, n, d) finite.
        normalization: on the sphere nothing can grow.
        patience: how many layers in a row must be quiet.
        undecided: the number of comparisons that float64 could not decide.
        first_layer: the number of the first of these layers, if earlier ones were not kept.

    Example:
        >>> still = np.ones((4, 1, 2))
        >>> detect(still).kind, detect(still * np.array([1, 2, 1, 2])[:, None, None]).kind
        ('settled', 'moving')
    """
    layers = len(tokens) - 1
    lengths = np.sqrt(np.einsum("kij,kij->ki", tokens, tokens)).max(axis=1)
    scale = max(float(lengths[0]), float(lengths[-1]))
    steps = np.array([_distance(tokens[k + 1], tokens[k]) for k in range(layers)])
    quiet = QUIET * min(1.0, alpha) * scale
    loud = np.flatnonzero(steps > quiet)
    still_since = int(loud[-1]) + 1 if len(loud) else 0
    doubt = ""
    if undecided:
        doubt = f", but {undecided} comparisons on the way were closer than float64 can decide; where the layers have "
        doubt += "rational values, exact=True decides them"

    if layers and layers - still_since >= min(patience, layers):
        kind: Any = "undecided" if undecided else "settled"
        still_since += first_layer
        return Outcome(kind, layer=still_since, detail=f"no token moves from layer {still_since} on{doubt}")
    if layers == 0:
        return Outcome("moving", detail="no layer was run")
    if (found := _period(tokens, scale)) is not None:
        period, first = found[0], found[1] + first_layer
        return Outcome(
            "periodic", period, first, f"the cloud returns every {period} layers from layer {first} on{doubt}"
        )
    if normalization != "sphere" and (since := _growing_since(lengths)) is not None:
        return Outcome(
            "growing",
            layer=since + first_layer,
            detail=f"the largest token grew from {lengths[since]:.3g} to {lengths[-1]:.3g}{doubt}",
        )
    return Outcome(
        "moving",
        layer=layers + first_layer,
        detail=f"in the last layer a token moved by {steps[-1] / scale:.2g} of the cloud's size",
    )


def _distance(one: Floats, other: Floats) -> float:
    """The farthest that a token is from its counterpart."""
    away = one - other
    return float(np.sqrt(np.einsum("ij,ij->i", away, away).max()))


def _period(tokens: Floats, scale: float) -> tuple[int, int] | None:
    """The shortest period of the last layers, and the layer from which on it holds."""
    last = len(tokens) - 1
    for period in range(2, last // 2 + 1):
        returned = 0  # layers, counted from the end, that equal the one a period before
        while returned <= last - period and (
            _distance(tokens[last - returned], tokens[last - returned - period]) <= RETURNED * scale
        ):
            returned += 1
        if returned > period and any(
            _distance(tokens[last - s], tokens[last]) > LEFT * scale for s in range(1, period)
        ):
            return period, last - period - returned + 1
    return None


def _growing_since(lengths: Floats) -> int | None:
    """The layer from which on the largest token grows, if it does so without an end in sight."""
    layers = len(lengths) - 1
    if layers < GROWTH_LAYERS:
        return None
    rises = np.diff(lengths)
    tail = rises[layers - max(layers // 3, GROWTH_LAYERS) :]
    half = len(tail) // 2
    if tail.min() <= 0 or lengths[-1] < GROWTH * lengths[layers - len(tail)]:
        return None
    if tail[-half:].mean() < KEEPS_UP * tail[:half].mean():
        return None
    falls = np.flatnonzero(rises <= 0)
    return int(falls[-1]) + 1 if len(falls) else 0


def exact_outcome(
    states: Sequence[IntegerCloud], alpha: Fraction, heads: Sequence[Objects | None] | None = None
) -> Outcome:
    """Judge the states Z^0..Z^K in rational arithmetic, and the one after them.

    Args:
        heads: the matrices A of the heads; None if a layer does not commute with linear maps that keep the scores.
    """
    last, bound = len(states) - 2, ROUNDING * alpha / (1 + alpha)
    seen: dict[tuple[int, ...], int] = {}
    for k, state in enumerate(states):
        key = (state.denominator, *state.rows.flat)
        if key in seen:
            first, period = seen[key], k - seen[key]
            if period == 1:
                return Outcome("settled", layer=first, detail=f"the cloud stands still from layer {first} on")
            return Outcome("periodic", period, first, f"layer {k} is exactly layer {first}: a cycle of {period} layers")
        seen[key] = k
    if _still(states[last], states[last + 1], bound):
        first = last
        while first > 0 and _still(states[first - 1], states[first], bound):
            first -= 1
        return Outcome("settled", layer=first, detail=f"from layer {first} on a layer moves no token visibly")
    if last >= GROWTH_LAYERS and (start := _growing_exactly_since(states[: last + 1])) is not None:
        return Outcome("growing", layer=start, detail=f"the largest coordinate grows at every layer from {start} on")
    if heads is not None and (similar := self_similar(states, heads)) is not None:
        return similar
    return Outcome("moving", detail=f"tokens still move at layer {last}")


def _still(before: IntegerCloud, after: IntegerCloud, bound: Fraction) -> bool:
    """Whether no coordinate moves by more than `bound` times the largest coordinate."""
    a, b = before.denominator, after.denominator
    largest = max(abs(x) for x in before.rows.flat) * b * bound.numerator
    pairs = zip(before.rows.flat, after.rows.flat, strict=True)
    return all(abs(x * b - y * a) * bound.denominator <= largest for x, y in pairs)


def _growing_exactly_since(states: Sequence[IntegerCloud]) -> int | None:
    """The layer from which on the largest coordinate grows geometrically, None if it does not.

    Geometric: the last ratio of growth, minus one, is at least half of that `GROWTH_LAYERS` layers before.
    """
    sizes = [Fraction(max(abs(x) for x in s.rows.flat), s.denominator) for s in states]
    if not all(sizes[-GROWTH_LAYERS - 1 :]):
        return None
    rates = [after / before - 1 if before else Fraction(0) for before, after in pairwise(sizes)]
    recent = rates[-GROWTH_LAYERS:]
    if min(recent) <= 0 or recent[-1] * 2 < recent[0]:
        return None
    start = len(rates)
    while start > 0 and rates[start - 1] > 0:
        start -= 1
    return start
