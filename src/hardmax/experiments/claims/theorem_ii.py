"""Theorem 1.1 (ii): leaders reach distinct vertices of K in finitely many layers and stay there."""

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, shown
from hardmax.experiments.claims.definition import dot, times
from hardmax.experiments.claims.limits import limit_of

STATEMENT = (
    "There is a leader, and every leader reaches a vertex of K in finitely many layers and stays there; different "
    "leaders reach different vertices, and K has no others."
)
CITATION = "[AFZ24, Theorem 1.1 (ii)]"
KINDS = clouds.KINDS
TRIALS = 60
FIELDS = ("tokens", "alpha", "A")
generate = clouds.cloud_case


def check(case: Case) -> str | None:
    """Leaders by the definition, layer by layer; a vertex l is exposed by its own direction: <A l, v> < <A l, l>."""
    lim = limit_of(case)
    if not lim.leaders:
        return "there is no leader"
    for k, sets in enumerate(lim.follows):
        for i, followed in enumerate(sets):
            since = lim.leaders.get(i)
            if (followed == (i,)) != (since is not None and k >= since):
                return f"token {i} follows {followed} at layer {k}; it is said to lead since layer {since}"
            if since is not None and k >= since and lim.states[k][i] != lim.points[i]:
                return f"leader {i} is at {shown(lim.states[k][i])} at layer {k} and not where it is said to end"
    if len(lim.vertices) != len(lim.leaders):
        return f"{len(lim.leaders)} leaders share {len(lim.vertices)} points"
    for v in lim.vertices:
        seen = times(lim.A, v)
        if any(dot(seen, w) >= dot(seen, v) for w in lim.vertices if w != v):
            return f"the leader at {shown(v)} is not exposed by its own direction"
    return None
