"""Fact 6: who follows one leader and nothing else does so forever."""

from hardmax.experiments.claims import anymatrix, clouds
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.definition import toward
from hardmax.experiments.claims.runs import run

STATEMENT = (
    "If C_i = {l} and C_l = {l} at layer k then at every later layer, and z_i^{k+s} = l + (1+alpha)^{-s} (z_i^k - l)."
)
CITATION = "[AFZ24], fact 6, which holds for any real A"
KINDS = (*clouds.KINDS, anymatrix.KIND)
TRIALS = 150
FIELDS = ("tokens", "alpha", "A", "layers")
generate = anymatrix.cloud_case


def check(case: Case) -> str | None:
    """Every token at every layer; positions in float64 within 1e-12 of the largest coordinate."""
    done = run(case, definite=case.kind != anymatrix.KIND)
    bound: dict[int, tuple[int, int]] = {}
    for k, (Z, sets) in enumerate(zip(done.states, done.sets, strict=True)):
        for i, followed in enumerate(sets):
            if i in bound:
                since, leader = bound[i]
                if followed != (leader,):
                    return f"token {i} followed leader {leader} at layer {since} and follows {followed} at layer {k}"
                left = 1 / (1 + done.alpha) ** (k - since)
                if not done.same(Z[i], toward(Z[leader], done.states[since][i], left)):
                    return f"token {i} leaves the closed form at layer {k}"
            elif len(followed) == 1 and followed != (i,) and sets[followed[0]] == followed:
                bound[i] = (k, followed[0])
    return None
