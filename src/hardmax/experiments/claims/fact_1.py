"""Fact 1: leaders persist and stand still."""

from hardmax.experiments.claims import anymatrix, clouds
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.runs import run

STATEMENT = "A token with C_i = {i} at one layer keeps C_i = {i} and its place at every later layer."
CITATION = "[AFZ24], fact 1, which holds for any real A"
KINDS = (*clouds.KINDS, anymatrix.KIND)
TRIALS = 150
FIELDS = ("tokens", "alpha", "A", "layers")
generate = anymatrix.cloud_case


def check(case: Case) -> str | None:
    """Every token, every layer: once alone, always alone, and not a bit moves. The package names the same leaders."""
    done = run(case, definite=case.kind != anymatrix.KIND)
    since: dict[int, int] = {}
    for k, (Z, sets) in enumerate(zip(done.states, done.sets, strict=True)):
        for i, followed in enumerate(sets):
            if i in since and followed != (i,):
                return f"token {i} led at layer {since[i]} and follows {followed} at layer {k}"
            if i in since and Z[i] != done.states[since[i]][i]:
                return f"token {i} led at layer {since[i]} and has moved at layer {k}"
            if followed == (i,):
                since.setdefault(i, k)
    if since != done.leader_since:
        return f"the follow sets show the leaders {since}; the run lists {done.leader_since}"
    return None
