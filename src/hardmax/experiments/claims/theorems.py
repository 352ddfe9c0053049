"""Theorem 1.1 [AFZ24]: where the tokens go, checked on limits with their certificates."""

from hardmax.experiments.case import Case
from hardmax.experiments.claims.clouds import limit_claim
from hardmax.experiments.claims.definition import dot, in_hull, mean, times
from hardmax.experiments.claims.runs import limit_of
from hardmax.io.documents import point


@limit_claim("theorem-1.1-i", "[AFZ24, Theorem 1.1 (i)]", trials=60)
def tokens_converge(case: Case) -> str | None:
    """Nonzero distinct tokens, A symmetric positive definite: every token converges to a point of a finite set S in the
    boundary of a convex polytope K.

    The follow sets that the certificate calls final are those of the definition; S solves its fixed-point equation.

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
            return f"the limit of token {i} is given as {point(p)}, which is not the mean of what it follows"
    for p in dict.fromkeys(lim.points):
        seen = times(lim.A, p)
        if not any(p):
            return "the origin is given as a limit"
        if any(dot(seen, v) > dot(seen, p) for v in lim.vertices) or not in_hull(p, lim.vertices):
            return f"the limit {point(p)} does not lie in the boundary of the hull of the leaders"
    return None


@limit_claim("theorem-1.1-ii", "[AFZ24, Theorem 1.1 (ii)]", trials=60)
def leaders_reach_vertices(case: Case) -> str | None:
    """There is a leader, and every leader reaches a vertex of K in finitely many layers and stays there; different
    leaders reach different vertices, and K has no others.

    Leaders by the definition, layer by layer; a vertex l is exposed by its own direction: <A l, v> < <A l, l>.
    """
    lim = limit_of(case)
    if not lim.leaders:
        return "there is no leader"
    for k, sets in enumerate(lim.follows):
        for i, followed in enumerate(sets):
            since = lim.leaders.get(i)
            if (followed == (i,)) != (since is not None and k >= since):
                return f"token {i} follows {followed} at layer {k}; it is listed as a leader since layer {since}"
            if since is not None and k >= since and lim.states[k][i] != lim.points[i]:
                return f"leader {i} is at {point(lim.states[k][i])} at layer {k}, which is not its limit"
    if len(lim.vertices) != len(lim.leaders):
        return f"{len(lim.leaders)} leaders share {len(lim.vertices)} points"
    for v in lim.vertices:
        seen = times(lim.A, v)
        if any(dot(seen, w) >= dot(seen, v) for w in lim.vertices if w != v):
            return f"the leader at {point(v)} is not exposed by its own direction"
    return None


@limit_claim("theorem-1.1-iii", "[AFZ24, Theorem 1.1 (iii)]", trials=80)
def other_limits_are_projections(case: Case) -> str | None:
    """A point of S that is not a vertex of K is the projection of the origin onto a face of K in the norm of A.

    With F the vertices v that maximize <A s, v>: <A s, v> = <A s, s> on F, and s is in the hull of F.

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
            return f"the limit {point(s)} is not on the face that its direction A s supports"
        if not in_hull(s, face):
            return f"the limit {point(s)} is not in the hull of the face that its direction A s supports"
    return None
