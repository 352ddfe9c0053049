"""Whom a token follows, drawn for two matrices [AFZ24, Fig. 1].

Token i follows the tokens whose orthogonal projection on the direction A z_i is largest, [AFZ24, eq. (1.1b)]; they lie
in the half-space H_i = {z : <A z_i, z - z_i> >= 0}. The tokens here are our own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table

TOKENS = ((0.9, 0.5), (1.9, 0.35), (1.15, 1.35), (0.2, 1.6), (-0.9, 0.8), (-0.6, -0.7), (0.7, -0.9), (1.6, -0.55))
TOKEN = 0
MATRICES = (((1.0, 0.0), (0.0, 1.0)), ((0.6, -0.3), (-0.3, 2.4)))


@dataclass(frozen=True, eq=False)
class FollowSet:
    """The follow set of one token.

    Attributes:
        tokens: (n, 2).   token: its index i.   matrix: A.
        direction: A z_i.   scores: (n,) <A z_i, z_j>.   follows: C_i.   allowed: the indices in H_i.
    """

    tokens: Floats
    token: int
    matrix: Floats
    direction: Floats
    scores: Floats
    follows: tuple[int, ...]
    allowed: tuple[int, ...]


def follow_set(tokens: Any, token: int, matrix: Any) -> FollowSet:
    """Whom one token of a cloud follows.

    Example:
        >>> follow_set([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]], 0, [[1.0, 0.0], [0.0, 1.0]]).follows
        (1,)
    """
    Z, A = np.asarray(tokens, np.float64), np.asarray(matrix, np.float64)
    direction = A @ Z[token]
    scores = Z @ direction
    traj: Any = simulate(Z, A=A, layers=0)
    allowed = np.flatnonzero(scores >= scores[token])
    return FollowSet(Z, token, A, direction, scores, traj.follows(0)[token], tuple(allowed.tolist()))


def settings(context: Context) -> dict[str, Any]:
    """Tokens and matrices."""
    return {"tokens": TOKENS, "token": TOKEN, "matrices": MATRICES}


def run(context: Context) -> Outcome:
    """Draw the two panels."""
    from hardmax.plot.figures_dynamics import plot_follow_sets

    found = [follow_set(TOKENS, TOKEN, A) for A in MATRICES]
    figures = write_figure(context, "follow-set", plot_follow_sets(found))
    head = ["matrix", "token", "x", "y", "score", "in_half_space", "followed"]
    rows = [
        [m, j, *each.tokens[j].tolist(), each.scores[j], j in each.allowed, j in each.follows]
        for m, each in enumerate(found)
        for j in range(len(each.tokens))
    ]
    data = {
        "panels": [
            {"matrix": e.matrix, "scores": e.scores, "follows": e.follows, "half_space": e.allowed} for e in found
        ]
    }
    files = [write_table(context, "follow-set", head, rows), write_data(context, "follow-set", settings(context), data)]
    who = [_names(each.follows) for each in found]
    return Outcome(
        paper="A sketch for two matrices: i follows the tokens with the largest projection on A z_i, all in H_i.",
        ours=f"The same geometry, computed: token {TOKEN} follows {who[0]} for A = I and {who[1]} for the second A; "
        + ("every followed token lies in H_i." if _inside(found) else "a followed token lies OUTSIDE H_i."),
        differs="The tokens and the second matrix are our own; the paper gives a sketch without coordinates.",
        numbers={"follows": [list(each.follows) for each in found], "inside_half_space": _inside(found)},
        files=(*figures, *files),
        pictures=(Picture(figures[0], "Two panels: the direction A z_i, the half-space H_i and the followed token."),),
        tables=(
            Table(
                "Scores <A z_i, z_j> (largest: followed)",
                ["token j", "A = I", "second A"],
                [[j, *(f"{each.scores[j]:.3f}" for each in found)] for j in range(len(TOKENS))],
            ),
        ),
    )


def _names(tokens: tuple[int, ...]) -> str:
    return f"token{'s' * (len(tokens) > 1)} " + ", ".join(map(str, tokens))


def _inside(found: list[FollowSet]) -> bool:
    return all(set(each.follows) <= set(each.allowed) for each in found)
