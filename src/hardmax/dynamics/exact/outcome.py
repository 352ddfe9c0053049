"""What happened in a run in rational arithmetic: settled, moving, periodic or growing."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from hardmax.dynamics.exact.numbers import IntegerCloud
from hardmax.dynamics.trajectory import Outcome

# Settled: what is left of a geometric approach with ratio 1/(1+alpha) is below this part of the largest coordinate.
ROUNDING = Fraction(1, 2**52)
GROWTH_SEEN = 4  # layers in a row whose largest coordinate must grow, by a ratio that does not die out


def outcome_of(states: Sequence[IntegerCloud], alpha: Fraction) -> Outcome:
    """Judge the states Z^0..Z^K and the one after them.

    A layer is a function of the cloud alone, so that a state that comes back exactly comes back forever.
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
    if last >= GROWTH_SEEN and (start := _growing_from(states[: last + 1])) is not None:
        return Outcome("growing", layer=start, detail=f"the largest coordinate grows at every layer from {start} on")
    return Outcome("moving", detail=f"tokens still move at layer {last}")


def _still(before: IntegerCloud, after: IntegerCloud, bound: Fraction) -> bool:
    """Whether no coordinate moves by more than `bound` times the largest coordinate."""
    a, b = before.denominator, after.denominator
    largest = max(abs(x) for x in before.rows.flat) * b * bound.numerator
    pairs = zip(before.rows.flat, after.rows.flat, strict=True)
    return all(abs(x * b - y * a) * bound.denominator <= largest for x, y in pairs)


def _growing_from(states: Sequence[IntegerCloud]) -> int | None:
    """The layer from which on the largest coordinate grows geometrically, None if it does not.

    Geometric: the last ratio of growth, minus one, is at least half of that `GROWTH_SEEN` layers before.
    """
    sizes = [Fraction(max(abs(x) for x in s.rows.flat), s.denominator) for s in states]
    if not all(sizes[-GROWTH_SEEN - 1 :]):
        return None
    rates = [after / before - 1 if before else Fraction(0) for before, after in pairwise(sizes)]
    recent = rates[-GROWTH_SEEN:]
    if min(recent) <= 0 or recent[-1] * 2 < recent[0]:
        return None
    start = len(rates)
    while start > 0 and rates[start - 1] > 0:
        start -= 1
    return start
