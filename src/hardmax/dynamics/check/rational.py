"""Checks a certificate in rational arithmetic from the data alone; shares no code with the solver that made it.

Here: what no certificate can have, whatever the tokens. `rational_check_replay.py` runs the layers against the claims,
`rational_check_pattern.py` proves inequalities for all layers at once.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from hardmax.cloud.parameters import exact_cloud
from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, TIE, Certificate, fingerprint
from hardmax.dynamics.check.rational_replay import Replay
from hardmax.errors import BadInput


def problems(certificate: Certificate, Z: Any) -> list[str]:
    """Everything that is wrong with the certificate for the tokens Z; an empty list if nothing is.

    Example:
        >>> from hardmax.dynamics.exact import limit_exact
        >>> problems(limit_exact([[1], [-1]], 1).certificate, [[1], [-2]])
        ['the certificate was made for other tokens, alpha, A or tie_tolerance']
    """
    try:
        tokens = exact_cloud(Z)
    except BadInput as error:
        return [str(error)]
    try:
        wrong = _malformed(certificate, tokens)
        return wrong or Replay(certificate, tokens).run()
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        return [f"the certificate is malformed: {type(error).__name__}: {error}"]


def _malformed(c: Certificate, tokens: Any) -> list[str]:
    """Shapes, types and values that no certificate in rational arithmetic can have."""
    n, dim = tokens.shape
    wrong = []
    if c.exact is not True or c.method != "rational":
        wrong.append(f"exact={c.exact!r} and method={c.method!r} do not go with a certificate in rational arithmetic")
    if type(c.undecided) is not int or c.undecided != 0:
        wrong.append(f"undecided is {c.undecided!r}, but rational arithmetic decides every comparison")
    if not isinstance(c.tie_tolerance, float) or c.tie_tolerance != 0.0:
        wrong.append(f"tie_tolerance is {c.tie_tolerance!r}, but rational arithmetic has none")
    if not isinstance(c.alpha, Fraction) or c.alpha <= 0:
        wrong.append(f"alpha is {c.alpha!r}; expected a Fraction > 0")
    if c.A is not None and not _is_definite(c.A, dim):
        wrong.append(f"A is not a symmetric positive definite ({dim}, {dim}) array of Fractions")
    for name in ("decided_at", "role", "target"):
        array = getattr(c, name)
        if not isinstance(array, np.ndarray) or array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
            wrong.append(f"{name} is not an integer array of length {n}")
    if not _fractions(c.limit, (n, dim)):
        wrong.append(f"limit is not an array of Fractions of shape {(n, dim)}")
    if not isinstance(c.margin, float) or not c.margin > 0:
        wrong.append(f"margin is {c.margin!r}; expected a float > 0")
    if not isinstance(c.groups, tuple) or not all(
        isinstance(g, tuple) and all(type(i) is int for i in g) for g in c.groups
    ):
        wrong.append("groups is not a tuple of tuples of token indices")
    if wrong:
        return wrong
    if c.problem != fingerprint(tokens, c.alpha, c.A, c.tie_tolerance):
        return ["the certificate was made for other tokens, alpha, A or tie_tolerance"]
    if (c.decided_at < 0).any():
        wrong.append("decided_at holds a negative layer")
    if not np.isin(c.role, (LEADER, FOLLOWER, TIE, PATTERN)).all():
        wrong.append("role holds something else than leader, follower, tie, pattern")
    grouped = np.isin(c.role, (TIE, PATTERN))
    if (c.target >= n).any() or (c.target < -len(c.groups)).any() or ((c.target < 0) != grouped).any():
        wrong.append("target does not name a token (leader, follower) or a group (tie, pattern)")
    elif sorted({-1 - int(t) for t in c.target if t < 0}) != list(range(len(c.groups))):
        wrong.append("groups holds a set that nobody follows")
    if len(set(c.groups)) != len(c.groups):
        wrong.append("groups holds a set twice")
    for g, group in enumerate(c.groups):
        if not group or list(group) != sorted(set(group)) or group[0] < 0 or group[-1] >= n:
            wrong.append(f"groups[{g}] is not an ascending set of token indices")
    pattern = c.role == PATTERN
    if pattern.any() and (c.decided_at[pattern] != c.decided_at.max()).any():
        wrong.append("a pattern is decided for all its tokens at once, after all others")
    return wrong


def _fractions(array: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(array, np.ndarray) and array.shape == shape and all(isinstance(x, Fraction) for x in array.flat)


def _is_definite(A: Any, dim: int) -> bool:
    """Symmetric, and all pivots of elimination are positive."""
    if not _fractions(A, (dim, dim)) or (A != A.T).any():
        return False
    rows = A.copy()
    for k in range(dim):
        if rows[k, k] <= 0:
            return False
        for i in range(k + 1, dim):
            rows[i] = rows[i] - rows[k] * (rows[i, k] / rows[k, k])
    return True
