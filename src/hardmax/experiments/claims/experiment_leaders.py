"""First experiment: leaders stay fixed and are the vertices of the limit polytope."""

from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, shown
from hardmax.experiments.claims.hull import in_hull
from hardmax.experiments.claims.limits import limit_of
from hardmax.experiments.claims.runs import run

STATEMENT = "Leaders stay where they are, and the vertices of the convex hull of all limits are the leaders' points."
CITATION = "[AFZ24], first experiment"
KINDS = clouds.KINDS
TRIALS = 48
FIELDS = ("tokens", "alpha", "A", "layers")


def generate(rng: Random, kind: str) -> Case:
    """A small cloud, A = I."""
    case = clouds.cloud_case(rng, kind, largest=8)
    return Case(kind, {**case.data, "A": None})


def check(case: Case) -> str | None:
    """A limit is a vertex if it is no convex combination of the others: one linear program in Fractions each."""
    done = run(case)
    for i, since in done.leader_since.items():
        if any(Z[i] != done.states[since][i] for Z in done.states[since:]):
            return f"leader {i} has moved after layer {since}"
    lim = limit_of(case)
    points = list(dict.fromkeys(lim.points))
    for p in points:
        others = [q for q in points if q != p]
        vertex = not others or not in_hull(p, others)
        if vertex != (p in lim.vertices):
            return f"the limit {shown(p)} is {'a' if vertex else 'no'} vertex of the hull of the limits; leaders differ"
    return None
