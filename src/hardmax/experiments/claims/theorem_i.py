"""Theorem 1.1 (i): every token converges to a point of a finite set S in the boundary of K."""

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, shown
from hardmax.experiments.claims.definition import dot, mean, times
from hardmax.experiments.claims.hull import in_hull
from hardmax.experiments.claims.limits import limit_of

STATEMENT = (
    "Nonzero distinct tokens, A symmetric positive definite: every token converges to a point of a finite set S in the "
    "boundary of a convex polytope K."
)
CITATION = "[AFZ24, Theorem 1.1 (i)]"
KINDS = clouds.KINDS
TRIALS = 60
FIELDS = ("tokens", "alpha", "A")
generate = clouds.cloud_case


def check(case: Case) -> str | None:
    """The follow sets that the certificate calls final are those of the definition; S solves its fixed-point equation.

    Once the sets S_i are final the layers are one linear map, z_i -> (z_i + alpha mean_{S_i} z) / (1 + alpha), and the
    limit solves p_i = mean_{S_i} p with p_i = z_i for leaders. A point p != 0 of K with <A p, v> <= <A p, p> for every
    vertex v lies in the boundary of K.
    """
    lim = limit_of(case)
    for k, sets in enumerate(lim.follows):
        for i, followed in enumerate(sets):
            if k >= lim.decided_at[i] and followed != lim.sets[i]:
                return f"token {i} follows {followed} at layer {k}, after its follow set {lim.sets[i]} was called final"
    for i, p in enumerate(lim.points):
        if p != mean([lim.points[j] for j in lim.sets[i]]):
            return f"token {i} is said to end at {shown(p)}, which is not the mean of the ends of those it follows"
    for p in dict.fromkeys(lim.points):
        seen = times(lim.A, p)
        if not any(p):
            return "the origin is said to be a limit"
        if any(dot(seen, v) > dot(seen, p) for v in lim.vertices) or not in_hull(p, lim.vertices):
            return f"the limit {shown(p)} does not lie in the boundary of the hull of the leaders"
    return None
