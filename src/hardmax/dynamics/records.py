"""Trajectories, limits, batches and polytopes as documents of plain data, and back."""

from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import RULES, FeedForward, Head, NamedFunction
from hardmax.cloud.parameters import exact_matrix
from hardmax.cloud.tokens import Numbers, compact
from hardmax.dynamics.batch import Batch
from hardmax.dynamics.certificate import LEADER, Certificate, group_of
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.follow_sets import SetTable
from hardmax.dynamics.polytope import Polytope
from hardmax.dynamics.trajectory import Outcome, Problem, Trajectory
from hardmax.errors import BadInput
from hardmax.io.documents import Document, integers, join, numbers, read_document, scalar, split, write_json, write_npz

TRAJECTORY = "hardmax.simulate/1"
EQUILIBRIUM = "hardmax.limit/1"
BATCH = "hardmax.batch/1"
POLYTOPE = "hardmax.polytope/1"
SET_ARRAYS = {"follow_set": 2, "set_size": 1, "set_members": 1}  # the arrays of a `SetTable`, and their axes
T = TypeVar("T")


# -- problems and trajectories ---------------------------------------------------------------------------------------


def _problem_document(problem: Problem) -> Document:
    return {
        "alpha": problem.alpha,
        "heads": [{"A": head.A, "V": head.V} for head in problem.heads],
        "rule": {"name": type(problem.rule).__name__, **asdict(problem.rule)},
        "normalization": problem.normalization,
        "causal": problem.causal,
        "feed_forward": _sublayer_document(problem.feed_forward),
        "exact": problem.exact,
    }


def _sublayer_document(sublayer: FeedForward | NamedFunction | None) -> Document | None:
    if isinstance(sublayer, NamedFunction):
        return {"function": sublayer.name, "note": "callable, not stored"}
    return None if sublayer is None else {"W": sublayer.W, "U": sublayer.U, "b": sublayer.b, "eta": sublayer.eta}


def _problem(document: Document) -> Problem:
    rule = dict(document["rule"])
    name = rule.pop("name")
    kind = next((kind for kind in RULES.values() if kind.__name__ == name), None)
    if kind is None:
        raise ValueError(f"the rule {name!r} is unknown")
    return Problem(
        alpha=scalar(document["alpha"]),
        heads=tuple(Head(_matrix(head, "A"), _matrix(head, "V")) for head in document["heads"]),
        rule=kind(**rule),
        normalization=str(document["normalization"]),
        causal=bool(document["causal"]),
        feed_forward=_sublayer(document["feed_forward"]),
        exact=bool(document["exact"]),
    )


def _matrix(document: Document, key: str) -> NDArray[Any] | None:
    return None if document.get(key) is None else numbers(document, key, 2)


def _sublayer(document: Document | None) -> FeedForward | NamedFunction | None:
    if document is None:
        return None
    if "function" in document:
        return NamedFunction(str(document["function"]))
    W, U, b = numbers(document, "W", 2), numbers(document, "U", 2), numbers(document, "b", 1)
    return FeedForward(W, U, b, scalar(document["eta"]))


def _trajectory_header(traj: Trajectory) -> Document:
    return {
        "schema": TRAJECTORY,
        **{name: getattr(traj, name) for name in ("n", "dim", "layers", "first_layer")},
        "leaders": traj.leaders.tolist(),
        "leader_since": traj.leader_since,
        "outcome": asdict(traj.outcome),
        "undecided": traj.undecided,
        **_problem_document(traj.problem),
    }


def trajectory_summary(traj: Trajectory) -> Document:
    """What `hardmax simulate --json` gives: `tokens` and `follows` are those of the last layer."""
    return _trajectory_header(traj) | {"A": traj.A, "tokens": traj.tokens[-1], "follows": traj.follows(traj.layers)}


def trajectory_document(traj: Trajectory) -> Document:
    """The .json form: the summary, and tokens (`trajectory`) and follow sets (`follow_sets`) of all layers."""
    return trajectory_summary(traj) | {"trajectory": traj.tokens, "follow_sets": list(traj.sets)}


def trajectory_arrays(traj: Trajectory) -> Document:
    """The .npz form: the follow sets as a `SetTable`."""
    table = traj.sets if isinstance(traj.sets, SetTable) else SetTable.of(traj.sets)
    which = table.which[np.minimum(np.arange(len(table)), len(table.which) - 1)]
    sets = dict(zip(SET_ARRAYS, (which, table.size, table.members), strict=True))
    return _trajectory_header(traj) | {"tokens": traj.tokens} | sets


def _trajectory(document: Document) -> Trajectory:
    if "trajectory" not in document and "follow_set" not in document:
        raise ValueError("it holds the last layer only")
    tokens = numbers(document, "trajectory" if "trajectory" in document else "tokens", 3)
    return Trajectory(
        tokens=tokens,
        problem=_problem(document),
        leader_since=_since(document, tokens.shape[1]),
        outcome=Outcome(**document["outcome"]),
        sets=_follow_sets(document, tokens.shape),
        undecided=int(document["undecided"]),
        first_layer=int(document.get("first_layer", 0)),
    )


def _follow_sets(document: Document, shape: tuple[int, ...]) -> SetTable:
    if "follow_sets" in document:
        table = SetTable.of(tuple(tuple(int(i) for i in s) for s in layer) for layer in document["follow_sets"])
    else:
        which, size, members = (integers(document, key, dim) for key, dim in SET_ARRAYS.items())
        if size.min() < 0 or size.sum() != len(members):
            raise ValueError("set_size and set_members do not match")
        _check_indices(np.unique(which), len(size))
        _check_indices(members, shape[1])
        table = SetTable(which.astype(np.int32), size.astype(np.int32), members.astype(np.int32), len(which) - 1)
    if table.which.shape != shape[:2]:
        raise ValueError("tokens and follow sets do not match")
    _check_indices(table.members, shape[1])
    return table


def _since(document: Document, n: int) -> dict[int, int]:
    since = {int(i): int(layer) for i, layer in document["leader_since"].items()}
    _check_indices(since, n)
    return since


def _check_indices(indices: Any, n: int) -> None:
    found = np.fromiter(indices, np.int64)
    for i in found[(found < 0) | (found >= n)][:1]:
        raise ValueError(f"there is no token {i} among {n}")


# -- limits ----------------------------------------------------------------------------------------------------------


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
        **{name: getattr(eq, name) for name in ("margin", "undecided", "exact")},
        **{name: getattr(c, name) for name in ("tie_tolerance", "method", "problem")},
        "groups": [list(group) for group in c.groups],
        "tokens": eq.tokens,
        "limit": eq.points,
        "cluster": eq.cluster,
        "centers": eq.centers,
        **{name: getattr(c, name) for name in ("decided_at", "role", "target")},
    }
    if c.limit.dtype == object and not eq.exact:  # floats whose limit was settled in rational arithmetic
        document["rational_limit"] = c.limit
    return document if eq.A is None else document | {"A": eq.A}


def _equilibrium(document: Document) -> Equilibrium:
    tokens, points = numbers(document, "tokens", 2), numbers(document, "limit", 2)
    n = len(tokens)
    per_token = {key: _per_token(document, key, n) for key in ("cluster", "decided_at", "role", "target")}
    if points.shape != tokens.shape or any(len(array) != n for array in per_token.values()):
        raise ValueError("the arrays differ in length")
    centers, kind = numbers(document, "centers", 2), tuple(str(k) for k in document["kind"])
    if len(kind) != len(centers):
        raise ValueError("centers and kind differ in length")
    _check_indices(per_token["cluster"], len(centers))
    groups = tuple(group_of([int(i) for i in g], n) for g in document["groups"])
    _check_indices((i for g in groups for i in g), n)
    margin = document["margin"]
    alpha = scalar(document["alpha"])
    A = _matrix(document, "A")
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


def _per_token(document: Document, key: str, n: int) -> Numbers:
    """Integers of a document that fit into the type that results hold."""
    values = integers(document, key)
    kept = compact(values, n)
    if (kept != values).any():
        raise ValueError(f"{key} holds a number that is too large")
    return kept


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


# -- files -----------------------------------------------------------------------------------------------------------


def write_trajectory(traj: Trajectory, path: Path) -> None:
    """All layers to .npz or .json; `load_trajectory` reads them back."""
    _write(trajectory_arrays(traj) if _is_npz(path) else trajectory_document(traj), path)


def write_equilibrium(eq: Equilibrium, path: Path) -> None:
    """A limit and its certificate to .npz or .json; `load_equilibrium` reads them back."""
    _write(equilibrium_document(eq), path)


def batch_summary(batch: Batch[Any]) -> Document:
    """What `hardmax simulate --json` and `limit --json` give for a batch: `clouds` holds the summary of each."""
    summary: Callable[[Any], Document] = trajectory_summary if batch.kind is Trajectory else equilibrium_document
    return {"schema": TRAJECTORY if batch.kind is Trajectory else EQUILIBRIUM, "clouds": [summary(r) for r in batch]}


def write_batch(batch: Batch[Any], path: Path) -> None:
    """Every result of a batch in full; in .npz the arrays of all clouds one after the other (`io.documents.join`)."""
    whole: Callable[[Any], Document] = equilibrium_document
    if batch.kind is Trajectory:
        whole = trajectory_arrays if _is_npz(path) else trajectory_document
    clouds = [whole(result) for result in batch]
    document: Document = {"schema": BATCH, "kind": batch.kind.__name__}
    _write(document | (join(clouds) if _is_npz(path) else {"clouds": clouds}), path)


def _batch(document: Document) -> Batch[Any]:
    clouds = split(document)
    if document["kind"] == "Trajectory":
        return Batch(Trajectory, [_trajectory(each) for each in clouds])
    if document["kind"] == "Equilibrium":
        return Batch(Equilibrium, [_equilibrium(each) for each in clouds])
    raise ValueError(f"the kind {document['kind']!r} is unknown")


def write_polytope(polytope: Polytope, path: Path) -> None:
    """Vertices, faces, dimension and A to .npz or .json; `load_polytope` reads them back."""
    document = {
        "schema": POLYTOPE,
        "dimension": polytope.dimension,
        "faces": polytope.facets,
        "vertices": polytope.vertices,
        "vertex_index": polytope.vertex_index,
        "A": polytope.A,
    }
    _write({key: value for key, value in document.items() if value is not None}, path)


def _polytope(document: Document) -> Polytope:
    vertices, index, faces = numbers(document, "vertices", 2), integers(document, "vertex_index"), document.get("faces")
    if len(vertices) != len(index):
        raise ValueError("vertices and vertex_index differ in length")
    facets = None if faces is None else tuple(tuple(int(v) for v in face) for face in faces)
    _check_indices((v for face in facets or () for v in face), len(vertices))
    return Polytope(vertices, index, int(document["dimension"]), _matrix(document, "A"), facets)


def _is_npz(path: Path) -> bool:
    return path.suffix.lower() == ".npz"


def _write(document: Document, path: Path) -> None:
    (write_npz if _is_npz(path) else write_json)(document, path)


def _load(schema: str, made: Callable[[Document], T], path: str | Path) -> T:
    """Read a result from .npz or .json.

    Raises:
        BadInput: the file is missing, damaged, of another kind or of a newer version.
    """
    document = read_document(Path(path), schema)
    try:
        return made(document)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise BadInput(f"{path} is damaged: {error!r}") from error


load_trajectory = partial(_load, TRAJECTORY, _trajectory)
load_equilibrium = partial(_load, EQUILIBRIUM, _equilibrium)  # `certificate.verify` then checks it from the data alone
load_batch = partial(_load, BATCH, _batch)
load_polytope = partial(_load, POLYTOPE, _polytope)
