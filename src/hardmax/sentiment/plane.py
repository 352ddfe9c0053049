"""The terms of an explanation in the plane, for pictures."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation


def flat_states(ex: "Explanation") -> NDArray[np.float64]:
    """(layers + 1, n, 2): first coordinate along the score that was explained, second across it.

    In two dimensions this is a rotation. In more, the second axis is the principal direction of the rest; the picture
    is then a projection, and distances in it are only lower bounds.
    """
    states = ex.flow.states
    v = ex.study.parameters.scores[ex.row]
    size = float(np.sqrt((v**2).sum()))
    first = v / size if size > 0 else np.eye(len(v))[0]
    across = states - (states @ first)[..., None] * first
    flat = np.zeros((*states.shape[:2], 2))
    flat[..., 0] = states @ first
    if len(v) == 2:
        flat[..., 1] = states @ np.array([-first[1], first[0]])
    elif len(v) > 2 and states.shape[1]:
        start = across[0]
        _, directions = np.linalg.eigh(start.T @ start)
        second = directions[:, -1]
        second = second * (1.0 if second[np.abs(second).argmax()] > 0 else -1.0)  # the sign is free: fix it
        flat[..., 1] = across @ second
    if flat[0, :, 1].sum() < 0:
        flat[..., 1] *= -1.0
    return flat


def label_order(ex: "Explanation") -> list[int]:
    """Indices of the leaders among the terms, the largest contribution of a cluster first."""
    leaders = np.unique(ex.study.leader)
    parts = np.bincount(ex.study.leader, ex.contributions, len(ex.contributions))[leaders]
    return leaders[np.argsort(-np.abs(parts), kind="stable")].tolist()
