"""Trajectories and limits as documents of plain data, and back."""

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hardmax.attention import rules
from hardmax.cloud.parameters import exact_matrix
from hardmax.dynamics.certificate import LEADER, Certificate
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.polytope import Polytope
from hardmax.dynamics.trajectory import FollowSets, Outcome, Trajectory, TrajectoryBatch
from hardmax.errors import BadInput
from hardmax.io.documents import Document, integers, numbers, read_document, scalar, write_json, write_npz

RULES = {kind.__name__: kind for kind in get_args(rules.Rule)}
TRAJECTORY = "hardmax.simulate/1"
BATCH = "hardmax.batch/1"
EQUILIBRIUM = "hardmax.limit/1"


def _trajectory_header(traj: Trajectory) -> Document:
    return {
        "schema": TRAJECTORY,
        "n": traj.n,
        "dim": traj.dim,
        "alpha": traj.alpha,
        "layers": traj.layers,
        "leaders": traj.leaders.tolist(),
        "leader_since": traj.leader_since,
        "outcome": asdict(traj.outcome),
        "rule": {"name": type(traj.rule).__name__, **asdict(traj.rule)},
        "normalization": traj.normalization,
        "undecided": traj.undecided,
        "exact": traj.exact,
    }


def trajectory_summary(traj: Trajectory) -> Document:
    """What `hardmax simulate --json` gives: `tokens` and `follows` are those of the last layer."""
    return _trajectory_header(traj) | {"A": traj.A, "tokens": traj.tokens[-1], "follows": traj.follows(traj.layers)}


def trajectory_document(traj: Trajectory) -> Document:
    """The .json form: the summary, and tokens (`trajectory`) and follow sets (`follow_sets`) of all layers."""
    sets = [traj.follows(k) for k in range(traj.layers + 1)]
    return trajectory_summary(traj) | {"trajectory": traj.tokens, "follow_sets": sets}


def trajectory_arrays(traj: Trajectory) -> Document:
    """The .npz form: each distinct follow set once, because thousands of tokens share few of them."""
    number: dict[tuple[int, ...], int] = {}
    which = np.array([[number.setdefault(s, len(number)) for s in traj.follows(k)] for k in range(traj.layers + 1)])
    arrays = {
        "tokens": traj.tokens,
        "follow_set": which,
        "set_size": np.array([len(s) for s in number], dtype=np.int64),
        "set_members": np.array([i for s in number for i in s], dtype=np.int64),
    }
    return _trajectory_header(traj) | arrays | ({} if traj.A is None else {"A": traj.A})


def batch_summary(batch: TrajectoryBatch) -> Document:
    """What `hardmax simulate --json` gives for a batch: `clouds` holds the summary of each."""
    return {"schema": TRAJECTORY, "clouds": [trajectory_summary(traj) for traj in batch]}


def batch_arrays(batch: TrajectoryBatch) -> Document:
    """The last layer and the leaders of all clouds: cloud b has tokens[offsets[b]:offsets[b+1]], and so for leaders."""
    return {
        "schema": BATCH,
        "clouds": len(batch),
        "tokens": np.concatenate(list(batch.last)),
        "offsets": np.concatenate([[0], np.cumsum([len(z) for z in batch.last])]),
        "leaders": np.concatenate(list(batch.leaders)),
        "leader_offsets": np.concatenate([[0], np.cumsum([len(z) for z in batch.leaders])]),
        "undecided": batch.undecided,
    }


def write_trajectory(traj: Trajectory, path: Path) -> None:
    """All layers to .npz or .json; `load_trajectory` reads them back."""
    if path.suffix.lower() == ".npz":
        write_npz(trajectory_arrays(traj), path)
    else:
        write_json(trajectory_document(traj), path)


def write_batch(batch: TrajectoryBatch, path: Path) -> None:
    """The last layers and leaders to .npz, a summary of every cloud to .json."""
    if path.suffix.lower() == ".npz":
        write_npz(batch_arrays(batch), path)
    else:
        write_json(batch_summary(batch), path)


def write_equilibrium(eq: Equilibrium, path: Path) -> None:
    """A limit and its certificate to .npz or .json; `load_equilibrium` reads them back."""
    (write_npz if path.suffix.lower() == ".npz" else write_json)(equilibrium_document(eq), path)


def write_polytope(polytope: Polytope, path: Path) -> None:
    """Vertices, faces and dimension to .npz or .json."""
    document = {
        "schema": "hardmax.polytope/1",
        "dimension": polytope.dimension,
        "faces": polytope.facets,
        "vertices": polytope.vertices,
        "vertex_index": polytope.vertex_index,
    }
    (write_npz if path.suffix.lower() == ".npz" else write_json)(document, path)


def load_trajectory(path: str | Path) -> Trajectory:
    """Read a trajectory from .npz or .json.

    Raises:
        BadInput: the file is missing, damaged, of another kind or of a newer version.
    """
    path = Path(path)
    document = read_document(path, TRAJECTORY)
    try:
        if "trajectory" not in document and "follow_set" not in document:
            raise ValueError("it holds the last layer only")
        tokens = numbers(document, "trajectory" if "trajectory" in document else "tokens", 3)
        sets = _follow_sets(document, tokens.shape)
        rule = dict(document["rule"])
        name = rule.pop("name")
        if name not in RULES:
            raise ValueError(f"the rule {name!r} is unknown")
        made = RULES[name](**rule)
        return Trajectory(
            tokens=tokens,
            alpha=scalar(document["alpha"]),
            A=None if document.get("A") is None else numbers(document, "A", 2),
            leader_since=_since(document, tokens.shape[1]),
            outcome=Outcome(**document["outcome"]),
            sets=sets.__getitem__,
            rule=made,
            normalization=str(document["normalization"]),
            undecided=int(document["undecided"]),
            exact=bool(document["exact"]),
        )
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise BadInput(f"{path} is damaged: {error!r}") from error


def _follow_sets(document: Document, shape: tuple[int, ...]) -> list[FollowSets]:
    if "follow_sets" in document:
        sets = [tuple(tuple(int(i) for i in s) for s in layer) for layer in document["follow_sets"]]
        distinct = {s for layer in sets for s in layer}
    else:
        ends = np.cumsum(integers(document, "set_size"))[:-1]
        table = [tuple(members.tolist()) for members in np.split(integers(document, "set_members"), ends)]
        distinct = set(table)
        sets = [tuple(table[k] for k in layer) for layer in np.asarray(document["follow_set"]).tolist()]
    if [len(layer) for layer in sets] != [shape[1]] * shape[0]:
        raise ValueError("tokens and follow sets do not match")
    _check_indices((i for s in distinct for i in s), shape[1])
    return sets


def _check_agreement(eq: Equilibrium) -> None:
    """What the certificate does not hold itself must follow from it, or `verify` would say nothing about it."""
    c = eq.certificate
    leading = np.flatnonzero(c.role == LEADER)
    if eq.leader_since != {int(i): int(c.decided_at[i]) for i in leading}:
        raise ValueError("leader_since differs from the certificate")
    if (eq.centers[eq.cluster] != eq.points).any():
        raise ValueError("centers and cluster do not give the limit")
    vertices = set(eq.cluster[leading].tolist())
    if [k == "vertex" for k in eq.kind] != [b in vertices for b in range(len(eq.kind))]:
        raise ValueError("kind differs from the certificate")
    if c.A is not None and c.A.shape != (eq.tokens.shape[1],) * 2:
        raise ValueError(f"A has shape {c.A.shape}")


def _since(document: Document, n: int) -> dict[int, int]:
    since = {int(i): int(layer) for i, layer in document["leader_since"].items()}
    _check_indices(since, n)
    return since


def _check_indices(indices: Any, n: int) -> None:
    for i in indices:
        if not 0 <= i < n:
            raise ValueError(f"there is no token {i} among {n}")


def equilibrium_document(eq: Equilibrium) -> Document:
    """The form of both files: what `hardmax limit --json` gives, the input, and the certificate."""
    c = eq.certificate
    document: Document = {
        "schema": EQUILIBRIUM,
        "n": len(eq.tokens),
        "dim": eq.tokens.shape[1],
        "alpha": eq.alpha,
        "certified": eq.undecided == 0,
        "layers": eq.layers,
        "leaders": eq.leaders.tolist(),
        "leader_since": eq.leader_since,
        "kind": list(eq.kind),
        "margin": eq.margin,
        "undecided": eq.undecided,
        "exact": eq.exact,
        "tie_tolerance": c.tie_tolerance,
        "method": c.method,
        "problem": c.problem,
        "groups": c.groups,
        "tokens": eq.tokens,
        "limit": eq.points,
        "cluster": eq.cluster,
        "centers": eq.centers,
        "decided_at": c.decided_at,
        "role": c.role,
        "target": c.target,
    }
    if c.limit.dtype == object and not eq.exact:  # floats whose limit was settled in rational arithmetic
        document["rational_limit"] = c.limit
    return document if eq.A is None else document | {"A": eq.A}


def load_equilibrium(path: str | Path) -> Equilibrium:
    """Read a limit and its certificate from .npz or .json; `certificate.verify` then checks it from the data alone.

    Raises:
        BadInput: the file is missing, damaged, of another kind or of a newer version.
    """
    path = Path(path)
    document = read_document(path, EQUILIBRIUM)
    try:
        tokens, points = numbers(document, "tokens", 2), numbers(document, "limit", 2)
        n = len(tokens)
        per_token: dict[str, NDArray[Any]] = {
            k: integers(document, k) for k in ("cluster", "decided_at", "role", "target")
        }
        if points.shape != tokens.shape or any(len(array) != n for array in per_token.values()):
            raise ValueError("the arrays differ in length")
        centers, kind = numbers(document, "centers", 2), tuple(str(k) for k in document["kind"])
        if len(kind) != len(centers):
            raise ValueError("centers and kind differ in length")
        _check_indices(per_token["cluster"], len(centers))
        groups = tuple(tuple(int(i) for i in g) for g in document["groups"])
        _check_indices((i for g in groups for i in g), n)
        margin = document["margin"]
        alpha = scalar(document["alpha"])
        A = None if document.get("A") is None else numbers(document, "A", 2)
        limit = points
        if "rational_limit" in document:
            alpha, A = Fraction(alpha), None if A is None else exact_matrix(A, *A.shape)
            limit = numbers(document, "rational_limit", 2)
        certificate = Certificate(
            alpha=alpha,
            A=A,
            decided_at=per_token["decided_at"],
            role=per_token["role"].astype(np.int8),
            target=per_token["target"],
            groups=groups,
            limit=limit,
            margin=np.inf if margin is None else float(margin),
            tie_tolerance=float(document["tie_tolerance"]),
            undecided=int(document["undecided"]),
            exact=limit.dtype == object,
            method=str(document["method"]),
            problem=str(document["problem"]),
        )
        eq = Equilibrium(tokens, points, per_token["cluster"], centers, kind, _since(document, n), certificate)
        _check_agreement(eq)
        return eq
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise BadInput(f"{path} is damaged: {error!r}") from error
