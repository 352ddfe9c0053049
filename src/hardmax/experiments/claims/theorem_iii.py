"""Theorem 1.1 (iii): points of S that are no vertices are projections of the origin onto faces of K."""

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, shown
from hardmax.experiments.claims.definition import dot, times
from hardmax.experiments.claims.hull import in_hull
from hardmax.experiments.claims.limits import limit_of

STATEMENT = "A point of S that is not a vertex of K is the projection of the origin onto a face of K in the norm of A."
CITATION = "[AFZ24, Theorem 1.1 (iii)]"
KINDS = clouds.KINDS
TRIALS = 80
FIELDS = ("tokens", "alpha", "A")
generate = clouds.cloud_case


def check(case: Case) -> str | None:
    """With F the vertices v that maximize <A s, v>: <A s, v> = <A s, s> on F, and s is in the hull of F.

    F spans a face of K, and <A s, v - s> = 0 on it makes s its point of least A-norm.
    """
    lim = limit_of(case)
    for s in dict.fromkeys(lim.points):
        if s in lim.vertices:
            continue
        seen = times(lim.A, s)
        values = [dot(seen, v) for v in lim.vertices]
        face = [v for v, value in zip(lim.vertices, values, strict=True) if value == max(values)]
        if max(values) != dot(seen, s):
            return f"the limit {shown(s)} is not on the face that its direction A s supports"
        if not in_hull(s, face):
            return f"the limit {shown(s)} is not in the hull of the face that its direction A s supports"
    return None
