"""Clouds with ties and without, and certificates of which one field was changed."""

from dataclasses import replace

import numpy as np

import hardmax as hx
from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, TIE

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
CLOUDS = {
    "ties": np.array([*SQUARE, [0.5, 0.0], [-0.5, 0.0], [0.3, 0.2], [1.0, 1.0]]),
    "emerging": hx.preset("emerging"),
    "gaussian": np.random.default_rng(0).normal(size=(60, 3)),
    "large": np.random.default_rng(1).normal(size=(1500, 2)),
    "polygon": np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(5) / 5] + [[-0.4, 0.0]]),
}


def changed(array, index, value):
    copy = np.array(array)
    copy[index] = value
    return copy


def corruptions(c):
    """(field, what was done, certificate)"""
    last, other = len(c.role) - 1, int(c.target[c.role == LEADER][-1])
    yield "alpha", "twice", replace(c, alpha=c.alpha * 2)
    yield "A", "another matrix", replace(c, A=2 * np.eye(c.limit.shape[1]))
    for shift in (1, -1):
        yield "decided_at", f"all {shift:+d}", replace(c, decided_at=c.decided_at + shift)
        yield (
            "decided_at",
            f"last {shift:+d}",
            replace(c, decided_at=changed(c.decided_at, last, c.decided_at[last] + shift)),
        )
        yield (
            "decided_at",
            f"a leader {shift:+d}",
            replace(c, decided_at=changed(c.decided_at, other, c.decided_at[other] + shift)),
        )
    for role in (LEADER, FOLLOWER, TIE, PATTERN, 9):
        if role != c.role[last]:
            yield "role", f"last becomes {role}", replace(c, role=changed(c.role, last, role))
    for target in {0, other, len(c.role), -1, -99} - {int(c.target[last])}:
        yield "target", f"last to {target}", replace(c, target=changed(c.target, last, target))
    yield "groups", "one more", replace(c, groups=(*c.groups, (0, 1)))
    if c.groups:
        yield "groups", "none", replace(c, groups=())
        yield "groups", "one member less", replace(c, groups=(c.groups[0][1:], *c.groups[1:]))
        yield "groups", "one member more", replace(c, groups=(tuple(range(len(c.role))), *c.groups[1:]))
    yield "limit", "moved", replace(c, limit=changed(c.limit, (last, 0), c.limit[last, 0] + 1e-6))
    yield "limit", "all moved", replace(c, limit=c.limit * 1.001)
    yield "limit", "shape", replace(c, limit=c.limit[:-1])
    yield "margin", "twice", replace(c, margin=c.margin * 2)
    yield "margin", "half", replace(c, margin=c.margin / 2)
    yield "undecided", "one more", replace(c, undecided=c.undecided + 1)
    yield "tie_tolerance", "larger", replace(c, tie_tolerance=c.tie_tolerance + 1e-3)
    yield "exact", "claimed", replace(c, exact=True)
    yield "method", "claimed", replace(c, method="rational")
    yield "problem", "another", replace(c, problem="0" * 64)


TIE_CONDITIONS = {
    "limit": "its limit is not the mean of its group",
    "drift": "the mean of its group moves",
    "base": "its group is not in one face",
    "offset": "its group is not in one face",
    "seen": "its group is not in one face",
    "beyond": "its face does not support the cloud",
}


def tied_to_the_first_two(c):
    """The certificate with the false claim that token 4 is tied between tokens 0 and 1 forever, at (0, 1, 0)."""
    return replace(
        c,
        decided_at=changed(c.decided_at, 4, 0),
        role=changed(c.role, 4, TIE),
        target=changed(c.target, 4, -1),
        groups=((0, 1),),
        limit=changed(c.limit, 4, [0.0, 1.0, 0.0]),
    )
