"""A trajectory from the definition, and text files: what the tests of files share."""

from fractions import Fraction

import numpy as np

import hardmax as hx
from reference import leader_since, run


def literal_trajectory(exact: bool, layers: int = 4, rule=None) -> hx.Trajectory:
    """A trajectory from the definition, token by token."""
    alpha = Fraction(1, 2) if exact else 0.5
    states, sets = run(hx.preset("emerging", exact=exact), alpha, layers)
    return hx.Trajectory(
        tokens=np.array(states),
        problem=hx.Problem(alpha, rule=rule or hx.Hardmax(), exact=exact),
        leader_since=leader_since(states, sets),
        outcome=hx.Outcome("moving", detail="a sentence"),
        sets=sets,
        undecided=0 if exact else 3,
    )


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path
