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

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EPS = 2.0**-52

# The role of a token in the limit (Certificate.role).
LEADER, FOLLOWER, TIE, PATTERN = 0, 1, 2, 3
MIX = np.uint64(0x9E3779B97F4A7C15)  # an odd number: it makes hashes of rows
SAMPLE = 256  # rows that tell whether it is easy to see that all are distinct
TABLES = 8  # in which rows are looked up
ROLE_NAMES = ("leader", "follower", "tie", "pattern")


class TooClose(Exception):
    """A token that was set aside might be seen after all: only a replay of all tokens can tell."""


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
    """The first copies of the distinct rows, ascending, and for each row the place of its first copy among these.

    Every row writes its number into a table, at a place that depends on its coordinates only, the first row last. So
    all copies of a row find the same number there. If it is that of an equal row, it is that of the first copy; rows
    that find another one, and with them all their copies, look again in another table.
    """
    every = np.arange(len(tokens))
    for some in (SAMPLE, len(tokens)):
        ascending = np.sort(tokens[:some, 0])
        if not (ascending[1:] > ascending[:-1]).all() and not _rise(tokens[:some]):
            break
    else:
        return every, every
    first, left, columns = every.copy(), every, np.ascontiguousarray(tokens.T) + 0.0  # -0 is 0
    bits = len(tokens).bit_length() + 1
    key = np.zeros(len(tokens), np.uint64)
    for column in columns:
        key ^= column.view(np.uint64)
        key *= MIX
        key ^= key >> np.uint64(29)
    for _ in range(TABLES):
        key *= MIX
        place = (key >> np.uint64(64 - bits)).astype(np.int32 if bits < 31 else np.int64)
        table = np.empty(1 << bits, every.dtype)
        table[place[::-1]] = left[::-1]
        first[left] = found = table[place]
        other = np.zeros(len(left), bool)
        for column in columns:
            other |= column[left] != column[found]
        if not other.any():
            break
        left, key = left[other], key[other]
        key ^= key >> np.uint64(31)
    else:  # rows of one hash
        _, copy, inverse = np.unique(tokens[left], axis=0, return_index=True, return_inverse=True)
        first[left] = left[copy[inverse.ravel()]]
    own = first == every
    return np.flatnonzero(own), (np.cumsum(own) - 1)[first]


def _rise(tokens: NDArray[np.float64]) -> bool:
    """Whether rows rise in dictionary order, as those of grids do, if columns come first that change least."""
    after, before = tokens[1:].T, tokens[:-1].T
    rises = np.zeros(len(tokens) - 1, bool)
    for k in np.argsort([-np.count_nonzero(a != b) for a, b in zip(after, before, strict=True)]):
        rises = (after[k] > before[k]) | ((after[k] == before[k]) & rises)
    return bool(rises.all())


def mistyped(c: "Certificate", tokens: NDArray[Any]) -> list[str]:
    """Types and shapes that no certificate for these tokens can have; or that it was made for others."""
    n = len(tokens)
    wrong = []
    for name in ("decided_at", "role", "target"):
        array = getattr(c, name)
        if not isinstance(array, np.ndarray) or array.shape != (n,) or array.dtype.kind not in "iu":
            wrong.append(f"{name} is not an integer array of length {n}")
    if not isinstance(c.limit, np.ndarray) or c.limit.shape != tokens.shape or c.limit.dtype != tokens.dtype:
        wrong.append(f"limit is not an array of {tokens.dtype} numbers of shape {tokens.shape}")
    if not isinstance(c.groups, tuple) or not all(
        isinstance(g, range)
        or (isinstance(g, tuple) and all(issubclass(kind, (int, np.integer)) for kind in set(map(type, g))))
        for g in c.groups
    ):
        wrong.append("groups is not a tuple of tuples of token indices")
    if type(c.undecided) is not int or c.undecided < 0:
        wrong.append(f"undecided is {c.undecided!r}; expected a count")
    if not isinstance(c.margin, float) or not c.margin > 0:
        wrong.append(f"margin is {c.margin!r}; expected a float > 0")
    if not wrong and c.problem != fingerprint(tokens, c.alpha, c.A, c.tie_tolerance):
        return ["the certificate was made for other tokens, alpha, A or tie_tolerance"]
    return wrong


def malformed(c: "Certificate", tokens: NDArray[Any], roles: tuple[int, ...]) -> list[str]:
    """Types, shapes and values that no certificate for these tokens can have; `roles` are the possible ones."""
    return mistyped(c, tokens) or misvalued(c, len(tokens), roles)


def array_of(group: Any) -> Ints:
    """The members of a group."""
    if isinstance(group, range):  # NumPy would count it in Python
        return np.arange(group.start, group.stop, group.step)
    return np.asarray(group, np.int64)


@np.errstate(over="ignore", invalid="ignore")
def _finite(x: Floats) -> bool:
    return bool(np.isfinite(x.sum()) or np.isfinite(x).all())  # the sum is known much faster


def misvalued(c: "Certificate", n: int, roles: tuple[int, ...]) -> list[str]:
    """The same for values only, where types and shapes are as they should be."""
    wrong = []
    if c.role.min() < min(roles) or c.role.max() > max(roles):
        wrong.append(f"role holds something else than {', '.join(ROLE_NAMES[r] for r in roles)}")
    if c.decided_at.min() < 0:
        wrong.append("decided_at holds a negative layer")
    if c.limit.dtype != object and not _finite(c.limit):
        wrong.append("limit holds a number that is not finite")
    grouped = (c.role == TIE) | (c.role == PATTERN)
    if c.target.max() >= n or c.target.min() < -len(c.groups) or ((c.target < 0) != grouped).any():
        wrong.append("target does not name a token (leader, follower) or a group (tie, pattern)")
    elif sorted(set((-1 - c.target[grouped]).tolist())) != list(range(len(c.groups))):
        wrong.append("groups holds a set that no token follows")
    groups = [array_of(group) for group in c.groups]
    if len({group.tobytes() for group in groups}) != len(groups):
        wrong.append("groups holds a set twice")
    for g, group in enumerate(groups):
        if not len(group) or (group[1:] <= group[:-1]).any() or group[0] < 0 or group[-1] >= n:
            wrong.append(f"groups[{g}] is not an ascending set of token indices")
    return wrong
