"""Whom a token follows [AFZ24, Fig. 1], and four clouds at layers 0, 1, 2, 5 and 30 [AFZ24, Fig. 2].

Token i follows the tokens whose orthogonal projection on the direction A z_i is largest, [AFZ24, eq. (1.1b)]; they lie
in the closed half-space H_i = {z : <A z_i, z - z_i> >= 0}. The first figure has the paper's matrices and its follow
sets, C_1 = {2, 3} (a tie) for A = I and C_1 = {4} for A = (2 1; 1 1); the coordinates of its four tokens are our own.
"""

from typing import Any, NamedTuple

import numpy as np

from hardmax.cloud.presets import preset
from hardmax.cloud.tokens import Floats
from hardmax.dynamics.limit import limit
from hardmax.dynamics.simulate import simulate
from hardmax.experiments import Context, Outcome, reproduction

TOKENS = ((1.0, 0.0), (2.0, 1.0), (2.0, -1.0), (1.5, 2.5))
TOKEN = 0
MATRICES = (((1.0, 0.0), (0.0, 1.0)), ((2.0, 1.0), (1.0, 1.0)))
ALPHA = 0.5
LAYERS = (0, 1, 2, 5, 30)
CLOUDS = {
    "triangle": "a triangle", "emerging": "an emerging leader", "square": "a square",
    "square-ties": "clusters without leader",
}  # fmt: skip


class FollowSet(NamedTuple):
    """The follow set of one token."""

    tokens: Floats  # (n, 2)
    token: int  # its index i
    matrix: Floats  # A
    direction: Floats  # A z_i
    follows: tuple[int, ...]  # C_i


def follow_set(tokens: Any, token: int, matrix: Any) -> FollowSet:
    """Whom one token of a cloud follows.

    Example:
        >>> follow_set([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]], 0, [[1.0, 0.0], [0.0, 1.0]]).follows
        (1,)
    """
    Z, A = np.asarray(tokens, np.float64), np.asarray(matrix, np.float64)
    traj: Any = simulate(Z, A=A, layers=0)
    return FollowSet(Z, token, A, A @ Z[token], traj.follows(0)[token])


@reproduction(
    "follow-set", "Whom a token follows, for two matrices A", aliases=("fig1",), source="[AFZ24] Fig. 1", minutes=0.1
)
def follow_sets(context: Context) -> Outcome:
    """Draw one panel for each matrix."""
    found = [follow_set(TOKENS, TOKEN, A) for A in MATRICES]
    scores = [each.tokens @ each.direction for each in found]
    rows = [
        (m, j + 1, *TOKENS[j], scores[m][j], scores[m][j] >= scores[m][TOKEN], j in each.follows)
        for m, each in enumerate(found)
        for j in range(len(TOKENS))
    ]
    columns = ("matrix", "token", "x", "y", "score", "in_half_space", "followed")
    context.table("follow-set", "", rows, columns, show=False)
    shown = [(j + 1, *(f"{score:g}" for score in both)) for j, both in enumerate(zip(*scores, strict=True))]
    caption = "Scores <A z_1, z_j> (largest: followed); tokens are numbered from 1, as in the paper"
    context.table("scores", caption, shown, ("token j", "A = I", "A = (2 1; 1 1)"), csv=False)
    text = "Two panels: the direction A z_1, the shaded half-space H_1 and the followed tokens."
    context.figure("follow-set", "dynamics:plot_follow_sets", found, text=text)
    inside = all(allowed or not followed for *_, allowed, followed in rows)
    sets = ["{" + ", ".join(str(j + 1) for j in each.follows) + "}" for each in found]
    return Outcome(
        f"C_1 = {sets[0]} for A = I and C_1 = {sets[1]} for A = (2 1; 1 1); "
        + ("every followed token lies in H_1." if inside else "a followed token lies OUTSIDE H_1."),
        "Four tokens: C_1 = {2, 3} for A = I and C_1 = {4} for A = (2 1; 1 1); the shaded half-space is H_1.",
        "Matrices and follow sets are the paper's, the coordinates are our own: the paper gives none.",
        {"follows": [[j + 1 for j in each.follows] for each in found], "inside_half_space": inside},
    )


@reproduction("configurations", "Four clouds at five layers", aliases=("fig2",), source="[AFZ24] Fig. 2", minutes=0.1)
def configurations(context: Context) -> Outcome:
    """Simulate, certify the limits, draw four rows of five panels."""
    runs: dict[str, Any] = {name: simulate(preset(name), alpha=ALPHA, layers=max(LAYERS)) for name in CLOUDS}
    ends: dict[str, Any] = {name: limit(preset(name), alpha=ALPHA) for name in CLOUDS}
    text = "Four rows of five panels: tokens at layers 0, 1, 2, 5 and 30."
    plot = "dynamics:plot_configurations", list(runs.values()), LAYERS, list(CLOUDS.values())
    context.figure("configurations", *plot, text=text)
    rows = [
        (name, k, i, *traj.tokens[k, i].tolist(), " ".join(map(str, traj.follows(k)[i])), traj.leader_since.get(i, ""))
        for name, traj in runs.items()
        for k in LAYERS
        for i in range(traj.n)
    ]
    columns: tuple[str, ...] = ("configuration", "layer", "token", "x", "y", "follows", "leader_since")
    context.table("configurations", "", rows, columns, show=False)
    summary = [_summary(name, runs[name], ends[name]) for name in CLOUDS]
    shown = [(x["name"], x["tokens"], x["leaders"], len(x["face_limits"]), f"{x['gap']:.2g}") for x in summary]
    columns = ("configuration", "tokens", "leaders", "limit points on faces", "farthest from its limit at layer 30")
    context.table("limits", "Layer 30 against infinite depth", shown, columns, csv=False)
    proved = all(each["certificate_verified"] for each in summary)
    return Outcome(
        f"{', '.join(str(each['leaders']) for each in summary)} leaders; in the second row they lead since layers "
        f"{', '.join(map(str, sorted(summary[1]['leader_since'].values())))}; the fourth row has limits "
        f"{' and '.join(f'({x:g}, {y:g})' for x, y in summary[3]['face_limits'])} on faces. All limits "
        + ("are certified." if proved else "are NOT all certified."),
        "Four rows: all tokens gather at the vertices of a polytope spanned by leaders, one leader emerges late, and "
        "exact ties give clusters that are not leaders, at (±1, 0).",
        "The second row and the outer tokens of the last two are the paper's; the paper draws the other tokens at "
        "random, ours are fixed numbers of our own. Ties are exact here: nothing is decided by rounding.",
        {"configurations": summary},
    )


def _summary(name: str, traj: Any, eq: Any) -> dict[str, Any]:
    faces = [tuple(map(float, z)) for z, kind in zip(eq.centers, eq.kind, strict=True) if kind == "face"]
    gap = ((traj.tokens[-1] - eq.points) ** 2).sum(axis=1).max() ** 0.5
    return {
        "name": name, "tokens": traj.n, "leaders": len(eq.leaders), "face_limits": faces, "gap": float(gap),
        "leader_since": {str(i): int(k) for i, k in eq.leader_since.items()},
        "certificate_verified": bool(eq.certificate.verify(preset(name))),
    }  # fmt: skip
