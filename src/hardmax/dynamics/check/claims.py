"""What a certificate claims, as plain data: the roles, the fingerprint of the problem, and what no certificate can be.

The checkers read a certificate through this module and share no code with the solvers that made it. They repeat on
purpose what the solvers do (distinct rows, layers, elimination): a mistake would have to be made twice to go unseen.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

# The role of a token in the limit (Certificate.role).
LEADER, FOLLOWER, TIE, PATTERN = 0, 1, 2, 3
MIX = np.uint64(0x9E3779B97F4A7C15)  # an odd number: it makes hashes of rows
SAMPLE = 1024  # rows that tell whether there are copies
ROLE_NAMES = ("leader", "follower", "tie", "pattern")


def fingerprint(tokens: NDArray[Any], alpha: Any, A: NDArray[Any] | None, tie_tolerance: float) -> str:
    """A digest of the problem, so that a certificate cannot be shown for another one."""
    digest = sha256()
    for part in (tokens, A):
        if part is None:
            digest.update(b"identity")
        else:
            digest.update(str(part.shape).encode())
            if part.dtype == object:
                digest.update(" ".join(map(_text, part.ravel())).encode())
            else:
                digest.update(np.ascontiguousarray(part).data.cast("B"))
    digest.update(f"{alpha!r} {tie_tolerance!r}".encode())
    return digest.hexdigest()


def _text(x: Any) -> str:
    return f"{x.numerator:x}/{x.denominator:x}"  # hexadecimal: Python writes no integer of 4,300 digits in decimal


def distinct(tokens: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first copy of each distinct row, and for each row the place of its first copy among these.

    Rows are ordered by one number each, their first coordinate or, where some are equal there, a hash: sorting all
    coordinates takes longer. Among distinct rows the last coordinate then decides, and so on.
    """
    first = tokens[:, 0]
    if len(first) <= SAMPLE or len(np.unique(first[:SAMPLE])) == SAMPLE:
        order = np.argsort(first)
        if (first[order[1:]] > first[order[:-1]]).all():
            return order, _inverse(order)
    key = np.zeros(len(tokens), np.uint64)
    for column in tokens.T:
        key *= MIX
        key += (column + 0.0).view(np.uint64)  # -0 is 0
        key ^= key >> np.uint64(29)
    order = np.argsort(key)
    new = np.append(True, key[order[1:]] != key[order[:-1]])
    copy = np.minimum.reduceat(order, np.flatnonzero(new))
    inverse = np.empty(len(tokens), np.int64)
    inverse[order] = np.cumsum(new) - 1
    if not (tokens == tokens[copy].take(inverse, axis=0)).all():  # two rows have the same hash
        copy, inverse = (a.ravel() for a in np.unique(tokens, axis=0, return_index=True, return_inverse=True)[1:])
    rank = np.lexsort(tokens[copy].T)
    return copy[rank], _inverse(rank)[inverse]


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def malformed(c: "Certificate", tokens: NDArray[Any], roles: tuple[int, ...]) -> list[str]:
    """Types, shapes and values that no certificate for these tokens can have; `roles` are the possible ones."""
    n = len(tokens)
    wrong = []
    for name in ("decided_at", "role", "target"):
        array = getattr(c, name)
        if not isinstance(array, np.ndarray) or array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
            wrong.append(f"{name} is not an integer array of length {n}")
    if not isinstance(c.limit, np.ndarray) or c.limit.shape != tokens.shape or c.limit.dtype != tokens.dtype:
        wrong.append(f"limit is not an array of {tokens.dtype} numbers of shape {tokens.shape}")
    if not isinstance(c.groups, tuple) or not all(
        isinstance(g, tuple) and all(isinstance(i, (int, np.integer)) for i in g) for g in c.groups
    ):
        wrong.append("groups is not a tuple of tuples of token indices")
    if type(c.undecided) is not int or c.undecided < 0:
        wrong.append(f"undecided is {c.undecided!r}; expected a count")
    if not isinstance(c.margin, float) or not c.margin > 0:
        wrong.append(f"margin is {c.margin!r}; expected a float > 0")
    if wrong:
        return wrong
    if c.problem != fingerprint(tokens, c.alpha, c.A, c.tie_tolerance):
        return ["the certificate was made for other tokens, alpha, A or tie_tolerance"]
    if c.role.min() < min(roles) or c.role.max() > max(roles):
        wrong.append(f"role holds something else than {', '.join(ROLE_NAMES[r] for r in roles)}")
    if c.decided_at.min() < 0:
        wrong.append("decided_at holds a negative layer")
    grouped = (c.role == TIE) | (c.role == PATTERN)
    if c.target.max() >= n or c.target.min() < -len(c.groups) or ((c.target < 0) != grouped).any():
        wrong.append("target does not name a token (leader, follower) or a group (tie, pattern)")
    elif sorted(set((-1 - c.target[grouped]).tolist())) != list(range(len(c.groups))):
        wrong.append("groups holds a set that no token follows")
    if len(set(c.groups)) != len(c.groups):
        wrong.append("groups holds a set twice")
    for g, group in enumerate(c.groups):
        if not group or list(group) != sorted(set(group)) or group[0] < 0 or group[-1] >= n:
            wrong.append(f"groups[{g}] is not an ascending set of token indices")
    return wrong
