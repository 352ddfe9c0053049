"""Stage 3: a staircase whose plateaus hold the keys (lemma L4).

For a gap (lo, hi) let w = 2^(floor(log2(hi - lo)) - 2) and B the multiple of 1/8 nearest to (lo + hi)/(2w) - 1/2. Then
    step(t) = relu(t/w - B) - relu(t/w - B - 1)
is 0 for t <= Bw and 1 for t >= (B+1)w, and lo < Bw, (B+1)w < hi with at least 23/64 of the gap to spare on either side
(the ramp takes at most 1/4 of the gap, the rounding of B at most w/16). 1/w, -B, -B-1, +-1 are float64 numbers if
|B| < 2^49, so the plateaus are *exactly* 0 and 1 for the stored parameters, not only for ideal ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hardmax.cloud.ragged import Bools
from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import HardmaxError
from hardmax.transformer.blocks import FeedForwardLayer
from hardmax.transformer.exact import EPS

Trouble = Callable[[int, int, float, float], HardmaxError]


@dataclass(frozen=True, eq=False)
class Steps:
    """R-1 steps between R runs of keys with one value each."""

    w: Floats  # (R-1,) the widths of the dyadic steps
    B: Floats  # (R-1,) where they begin, in units of w; ascending
    values: Ints  # (R,) the value of each run, in key order
    gap: float  # the smallest distance between keys of neighboring runs (inf for one run)
    slack: float  # the smallest room between a key and a ramp, in units of its rounding bound
    largest: float  # the largest key

    def __len__(self) -> int:
        return len(self.w)

    def run_of(self, key: Floats) -> Ints:
        """The number of the run of each key: how many ramps are behind it."""
        return np.searchsorted(self.B * self.w, key, side="right")

    def noise(self, weights: Floats) -> float:
        """eps sum |W||h|: the rounding of a staircase with these step weights at the largest key, without its order."""
        height = np.maximum(self.largest / self.w - self.B, 0.0)
        return float(2 * EPS * (np.abs(weights) * height).sum())


def fit_steps(
    key: Floats, error: Floats, values: Ints, trouble: Trouble, exceptional: Bools | None = None, thin: float = 0.5
) -> Steps:
    """Steps between neighboring keys with different values.

    Args:
        key, error: keys and their rounding bounds.
        values: what the staircase must tell apart.
        trouble: makes the error for two row indices whose keys are too close, given the gap and the bound.
        exceptional: per row, whether a rule that new inputs should follow fails there.
        thin: beside an exceptional run the step is centered at this part of the gap from it (1/2 is the middle).

    Raises:
        HardmaxError: made by `trouble`.
    """
    order = np.argsort(key, kind="stable")
    sorted_values = values[order]
    change = np.flatnonzero(sorted_values[1:] != sorted_values[:-1])
    # The plateau left of a change must hold every key up to there with its error, the one right of it all others.
    lo = np.maximum.accumulate((key + error)[order])[change]
    hi = np.minimum.accumulate((key - error)[order][::-1])[::-1][change + 1]
    left, right = order[change], order[change + 1]
    gaps = hi - lo

    def trouble_at(r: int) -> HardmaxError:
        return trouble(int(left[r]), int(right[r]), float(key[right[r]] - key[left[r]]), float(error[left[r]]))

    if len(gaps) and not gaps.min() > 0:
        raise trouble_at(int(np.argmin(gaps)))
    if exceptional is not None and thin < 0.5:
        # Shrink a gap toward the run that is an exception to the rule, so that new inputs between follow the rule.
        part = 2 * thin * (hi - lo)
        to_left = exceptional[left] & ~exceptional[right]
        to_right = exceptional[right] & ~exceptional[left]
        lo, hi = np.where(to_right, hi - part, lo), np.where(to_left, lo + part, hi)
    w = np.exp2(np.floor(np.log2(np.maximum(hi - lo, 2.0**-1000))) - 2)
    B = np.rint(8 * ((lo + hi) / (2 * w) - 0.5)) / 8
    # Checked, not trusted: Bw and (B+1)w are exact products.
    fits = (B * w >= lo) & ((B + 1) * w <= hi) & (np.abs(B) < 2.0**49)
    if not fits.all():
        raise trouble_at(int(np.argmin(fits)))
    room = np.minimum((B * w - key[left]) / error[left], (key[right] - (B + 1) * w) / error[right])
    gap, slack = (float(part.min(initial=np.inf)) for part in (key[right] - key[left], room))
    return Steps(w, B, sorted_values[np.append(change, len(order) - 1)], gap, slack, float(key[order[-1]]))


def staircase(steps: Steps, heights: Floats, direction: dict[int, float], write: int) -> FeedForwardLayer:
    """The layer (eta = 0) that writes heights[r] on run r into one coordinate; t = sum direction[k] x_k.

    The weights of the steps are differences of heights; they must be exact, as those of integers are.
    """
    reads = np.array(sorted(direction), dtype=np.int64)
    v = np.array([direction[k] for k in reads.tolist()])
    U, b = step_units(steps, v)
    W = step_weights(np.diff(heights))
    if heights[0] != 0 or not len(W):  # a constant unit
        U, b, W = np.vstack([np.zeros_like(v), U]), np.append(1.0, b), np.append(heights[0], W)
    return FeedForwardLayer(U, b, W[None], reads, np.array([write]), 0.0)


def step_weights(rises: Floats) -> Floats:
    """(2(R-1),) the weights of the units of `step_units` that make each step rise by a number."""
    return np.repeat(rises, 2) * np.tile([1.0, -1.0], len(rises))


def step_units(steps: Steps, v: Floats) -> tuple[Floats, Floats]:
    """U (2(R-1), r) and b of the units t/w - B, t/w - B - 1 of every step, one after another; v holds powers of two."""
    U = np.repeat((1 / steps.w)[:, None] * v, 2, axis=0)
    b = -np.repeat(steps.B, 2)
    b[1::2] -= 1
    return U, b + 0.0
