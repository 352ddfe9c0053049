"""Many short clouds, or one small one: every layer of every cloud in a few compiled calls.

Only clear cases are decided here. A cloud in which two scores come closer than the flag band (a tie, or rounding that
cannot tell) is flagged and left to the caller's careful engine.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.fused_clouds import run_clouds
from hardmax.attention.ties import Band
from hardmax.cloud.distinct import KEY
from hardmax.errors import BadInput
from hardmax.jit.threads import over_parts

Floats = NDArray[np.float64]

_IDENTITY = np.empty((0, 0))


@dataclass(frozen=True, eq=False, init=False)
class Fused:
    """What became of every token; the tokens of all clouds one after the other.

    Attributes:
        tokens: (T, d) after the last layer; the limit point of locked tokens for infinite depth.
        lock_layer: (T,) the first layer k with C_i = {l} and l a leader (for a leader: with C_i = {i}); -1 if none.
        lock_target: (T,) that leader's first token, counted within its cloud; -1 if none.
        stopped: (B,) the layer at which all tokens were locked, or the number of layers.
        flagged: (B,) whether a comparison fell inside the band: nothing else about this cloud may be used.
        leads: (T,) whether the token is a leader (all copies of a leader are).
        margin: (B,) min over all decisions of (best - second) / (|z_i|_A max_j |z_j|_A); inf for a single point.
        history: (K+1, T, d) the states Z^0..Z^K, if asked for.
        targets: (K+1, T) the followed token (first copy, within its cloud) at every layer, if asked for.
    """

    tokens: Floats
    lock_layer: NDArray[np.int32]
    lock_target: NDArray[np.int32]
    stopped: NDArray[np.int32]
    flagged: NDArray[np.bool_]
    leads: NDArray[np.bool_]
    margin: Floats
    history: Floats | None
    targets: NDArray[np.int32] | None

    def __init__(self, **arrays: Any) -> None:
        # The generated initializer of a frozen class takes a quarter of the time of a call for ten tokens.
        self.__dict__.update(arrays)


def run_fused(
    tokens: Floats,
    offsets: NDArray[np.int64],
    alpha: float,
    layers: int | None,
    A: Floats | None,
    flag: Band,
    history: bool = False,
    max_layers: int = 1000,
) -> Fused:
    """Run the hardmax dynamics of every cloud tokens[offsets[b]:offsets[b+1]].

        z' = (z + alpha t) / (1 + alpha) for an active token that follows t alone,
        z^{k+s} = l + (1 + alpha)^{-s} (z^k - l) for a token locked to the leader l.

    Implements [AFZ24, eqs. (1.1a), (1.1b)] where follow sets have one point.
    Departs: equal tokens are merged first; ties are flagged, not averaged.

    Args:
        tokens: (T, d) finite, C-contiguous, without -0.0.
        offsets: (B+1,) ascending, from 0 to T; no cloud is empty.
        layers: follow sets are looked at for the states 0..layers; None for infinite depth.
        A: symmetric positive definite, or None for the identity.
        flag: at layer k a gap of at most (own + own_k k) |z_i| max|z| + cloud_k k max|z|^2 flags the cloud.
        history: whether to keep every layer (with finite `layers`).
        max_layers: with `layers=None`, give up on tokens still active then.

    Example:
        >>> Z = np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.1]])
        >>> run = run_fused(Z, np.array([0, 3]), 0.5, None, None, Band(1e-14, 0.0, 0.0))
        >>> run.lock_target.tolist(), run.tokens[2].tolist()
        ([0, 1, 0], [1.0, 0.0])
    """
    if history and layers is None:
        raise BadInput("history=True with layers=None: infinitely many layers cannot be kept", fix="give layers")
    total, d = tokens.shape
    clouds = len(offsets) - 1
    forever = layers is None
    depth = max_layers if layers is None else layers
    last = np.empty((total, d))
    locks = np.empty((2, total), np.int32)
    stopped, flagged, margin = np.empty(clouds, np.int32), np.empty(clouds, np.bool_), np.empty(clouds)
    leads = np.empty(total, np.bool_)
    kept = (depth + 1, total) if history else (0, 0)
    states, targets = np.empty((*kept, d)), np.empty(kept, np.int32)
    matrix = _IDENTITY if A is None else A
    powers = _powers(float(alpha), depth)
    band = (float(flag.own), float(flag.own_k), float(flag.cloud_k))

    def run(begin: int, end: int) -> None:
        run_clouds(
            tokens, offsets, begin, end, float(alpha), depth, forever, matrix, powers, band, KEY,
            last, locks, stopped, flagged, leads, margin, states, targets,
        )  # fmt: skip

    # A cloud is computed by one thread from its own tokens alone, so its bits depend neither on the threads nor on the
    # rest of the batch.
    if clouds == 1:
        run(0, 1)
    else:
        over_parts(run, clouds, work=float((np.diff(offsets).astype(np.float64) ** 2).sum()))
    return Fused(
        tokens=last, lock_layer=locks[0], lock_target=locks[1], stopped=stopped, flagged=flagged,
        leads=leads, margin=margin, history=states if history else None, targets=targets if history else None,
    )  # fmt: skip


@lru_cache(maxsize=8)
def _powers(alpha: float, depth: int) -> Floats:
    """rho^0..rho^depth with rho = 1/(1+alpha), cut off where it has become 0 in float64 (below 2^-1075)."""
    length = min(depth, int(750 / log1p(alpha)) + 1)
    return np.power(1.0 / (1.0 + alpha), np.arange(length + 1.0))
