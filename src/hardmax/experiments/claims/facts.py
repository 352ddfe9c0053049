"""Facts 1 to 10 on the layers of hardmax attention [AFZ24]: what every token does at every layer."""

from collections import Counter
from fractions import Fraction
from functools import partial
from operator import eq
from random import Random
from typing import Any

import numpy as np

from hardmax.experiments.case import Case
from hardmax.experiments.claims import clouds, definition
from hardmax.experiments.claims.claim import Undecided, claim
from hardmax.experiments.claims.clouds import ANY_MATRIX, KINDS, cloud_case, cloud_claim, limit_claim
from hardmax.experiments.claims.definition import Cloud, dot, in_hull, leads, mean, minus, norm2, times, toward
from hardmax.experiments.claims.runs import TOLERANCE, limit_of, run
from hardmax.io.documents import point


@cloud_claim("fact-1", "[AFZ24], fact 1, which holds for any real A", trials=150, kinds=(*KINDS, ANY_MATRIX))
def leaders_persist(case: Case) -> str | None:
    """A token with C_i = {i} at one layer keeps C_i = {i} and its place at every later layer.

    Every token, every layer: once alone, always alone, and not a bit moves. The package names the same leaders.
    """
    done = run(case, definite=case.kind != ANY_MATRIX)
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


@cloud_claim("fact-2", "[AFZ24, Fig. 1], the half-space, and fact 2", trials=150)
def norms_never_fall(case: Case) -> str | None:
    """Followed tokens lie in the half-space H_i = {z : <A z_i, z - z_i> >= 0}, so |z_i'|_A^2 >= |z_i|_A^2 + g^2 |m_i -
    z_i|_A^2, g = alpha/(1+alpha), m_i their mean: norms never fall, nonzero tokens stay nonzero.

    Every token at every layer; in float64 within 1e-12 of the largest squared norm.
    """
    done = run(case)
    g = done.alpha / (1 + done.alpha)
    slack = 0 if case.exact else TOLERANCE * max(norm2(z, done.A) for z in done.states[0])
    for k in range(done.layers):
        for i, z in enumerate(done.states[k]):
            followed = [done.states[k][j] for j in done.sets[k][i]]
            seen, goal = times(done.A, z), mean(followed)
            if any(dot(seen, minus(y, z)) < -slack for y in followed):
                return f"at layer {k} token {i} follows a token outside its half-space"
            after = norm2(done.states[k + 1][i], done.A)
            if after + slack < norm2(z, done.A) + g * g * norm2(minus(goal, z), done.A):
                return f"the norm of token {i} gains too little from layer {k} to {k + 1}"
            if any(z) and not any(done.states[k + 1][i]):
                return f"token {i} becomes 0 at layer {k + 1}"
    return None


@cloud_claim("fact-3", "[AFZ24], fact 3", trials=60, cases=partial(cloud_case, largest=8, layers=3, float_layers=8))
def hull_never_grows(case: Case) -> str | None:
    """Every token of layer k+1 lies in the convex hull of the tokens of layer k.

    By a linear program in Fractions for each token of few layers; in float64 by least squares, within 1e-9 of the
    largest coordinate.
    """
    done = run(case)
    for k in range(done.layers):
        before = done.states[k]
        for i, z in enumerate(done.states[k + 1]):
            inside = (
                in_hull(z, before) if case.exact else definition.distance_to_hull(z, before) <= 1e3 * done.tolerance
            )
            if not inside:
                return f"token {i} of layer {k + 1} lies outside the hull of layer {k}"
    return None


@cloud_claim("fact-4", "[AFZ24], fact 4", trials=120)
def tokens_stay_distinct(case: Case) -> str | None:
    """The map from tokens to followed means is monotone, <A (z_i - z_j), m_i - m_j> >= 0, so |z_i' - z_j'|_A >= |z_i -
    z_j|_A / (1+alpha): distinct tokens stay distinct.

    Both inequalities for every pair at every layer, squared; in float64 within 1e-12 of the largest squared norm.

    In rational arithmetic the second one says that tokens stay distinct; in float64 followers do merge with leaders.
    """
    done = run(case)
    slack = 0 if case.exact else 4 * TOLERANCE * max(norm2(z, done.A) for z in done.states[0])
    i, j = np.tril_indices(len(case["tokens"]), -1)
    A: Any = None if done.A is None else np.array(done.A)
    for k in range(done.layers):
        Z, after = done.states[k], done.states[k + 1]
        goals = tuple(mean([Z[j] for j in C]) for C in done.sets[k])
        # The inequalities are homogeneous: rationals become integers, as objects.
        numbers = np.array(definition.whole_numbers(Z + after + goals)[0], dtype=object if case.exact else float)
        apart, then, means = (part[i] - part[j] for part in np.split(numbers, 3))
        seen, then_seen = (x if A is None else x @ A.T for x in (apart, then))
        against = (seen * means).sum(axis=1) < -slack
        close = (1 + done.alpha) ** 2 * ((then_seen * then).sum(axis=1) + slack) < (seen * apart).sum(axis=1)
        for pair in np.flatnonzero(against | close):
            if against[pair]:
                return f"at layer {k} the means of tokens {j[pair]} and {i[pair]} are ordered against the tokens"
            return f"tokens {j[pair]} and {i[pair]} come too close from layer {k} to {k + 1}"
    return None


def cloud_with_factor(rng: Random, kind: str) -> Case:
    """A cloud and a lower triangular R with nonzero diagonal."""
    case = cloud_case(rng, kind, float_layers=12)

    def entry(i: int, j: int) -> Fraction:
        return Fraction(rng.choice([1, 2, 3]) if i == j else rng.randint(-2, 2) if j < i else 0, rng.choice([1, 2]))

    places = range(len(case["tokens"][0]))
    return case.changed(
        R=definition.converted([[entry(i, j) for j in places] for i in places], Fraction if case.exact else float)
    )


@cloud_claim(
    "fact-5", "[AFZ24], fact 5", trials=120, cases=cloud_with_factor, fields=("tokens", "alpha", "R", "layers")
)
def matrix_can_be_removed(case: Case) -> str | None:
    """With A = R R^T and w = R^T z the layers are those of A = I: equal follow sets, and w^k = R^T z^k.

    Run both systems. In float64 positions agree within 1e-10, as long as no comparison was too close to decide.
    """
    R, columns = case["R"], list(zip(*case["R"], strict=True))

    def turned(Z: Cloud) -> Cloud:
        """w = R^T z for every token."""
        return tuple(times(columns, z) for z in Z)

    given = run(case.changed(A=tuple(times(R, x) for x in R)))
    plain = run(case.changed(tokens=turned(case["tokens"]), A=None))
    if given.undecided or plain.undecided:
        raise Undecided("a comparison was closer than float64 rounding")
    for k, Z in enumerate(given.states):
        for i, z in enumerate(turned(Z)):
            if any(abs(a - b) > 100 * plain.tolerance for a, b in zip(z, plain.states[k][i], strict=True)):
                return f"at layer {k} token {i} is elsewhere in the coordinates without A"
            if given.sets[k][i] != plain.sets[k][i]:
                return f"at layer {k} token {i} follows {given.sets[k][i]}, and {plain.sets[k][i]} without A"
    return None


@cloud_claim("fact-6", "[AFZ24], fact 6, which holds for any real A", trials=150, kinds=(*KINDS, ANY_MATRIX))
def followers_of_one_leader_stay(case: Case) -> str | None:
    """If C_i = {l} and C_l = {l} at layer k then at every later layer, and z_i^{k+s} = l + (1+alpha)^{-s} (z_i^k - l).

    Every token at every layer; positions in float64 within 1e-12 of the largest coordinate.
    """
    done = run(case, definite=case.kind != ANY_MATRIX)
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


SQUARE = "square-exact"


def cloud_or_square(rng: Random, kind: str) -> Case:
    """A cloud of distinct tokens that are not 0, or the square of Fig. 2, scaled."""
    if kind != SQUARE:
        return cloud_case(rng, kind)
    scale = Fraction(rng.randint(1, 9), rng.randint(1, 9))
    doubled = [(2, 2), (2, -2), (-2, 2), (-2, -2), (1, 0), (-1, 0)]
    tokens = tuple((scale * x / 2, scale * y / 2) for x, y in doubled)
    return Case(kind, {"tokens": tokens, "alpha": Fraction(1, 2), "A": None})


@limit_claim("fact-7", "[AFZ24], fact 7", trials=75, cases=cloud_or_square, kinds=(SQUARE, *KINDS))
def other_limits_come_from_ties(case: Case) -> str | None:
    """A token whose limit is not a vertex follows several tokens at once from some layer on; where no tie ever occurs
    all limits are vertices. The square with (+-1/2, 0), alpha = 1/2, has the limits (+-1, 0).

    By the definition, layer by layer, up to the layer at which everything is decided and a few more.
    """
    lim = limit_of(case)
    tied = any(len(C) > 1 for sets in lim.follows for C in sets)
    for i, p in enumerate(lim.points):
        if p in lim.vertices:
            continue
        if lim.follows and not tied:
            return f"token {i} ends at {point(p)}, which is not a vertex, though no tie ever occurs"
        for k in range(lim.decided_at[i], len(lim.follows)):
            if len(lim.follows[k][i]) < 2:
                return f"token {i} ends at {point(p)}, which is not a vertex, and follows one token at layer {k}"
    corner = case["tokens"][0][0]
    if case.kind == SQUARE and lim.points[4:] != ((corner, 0), (-corner, 0)):
        return f"the tokens on the axis end at {', '.join(map(point, lim.points[4:]))}"
    return None


def cloud_with_zero(rng: Random, kind: str) -> Case:
    """A cloud with one token at 0; half of the clouds are symmetric, so that the mean is 0."""
    case = cloud_case(rng, kind, largest=6)
    tokens = list(case["tokens"])
    if rng.random() < 0.5:
        tokens = list(dict.fromkeys([*tokens, *(tuple(-x for x in z) for z in tokens)]))
    tokens.insert(rng.randint(0, len(tokens)), tuple(0 * x for x in tokens[0]))
    return case.changed(tokens=tuple(tokens))


@cloud_claim("fact-8", "[AFZ24], fact 8", trials=100, cases=cloud_with_zero)
def zero_tokens_follow_everybody(case: Case) -> str | None:
    """A token at 0 follows all tokens and moves to alpha/(1+alpha) times the mean of all tokens. It ends at 0 only if
    that mean is 0 at every layer; otherwise it is nonzero from then on and Theorem 1.1 covers it.

    The layers, and in rational arithmetic the limit that the package gives.
    """
    done = run(case)
    for k, Z in enumerate(done.states):
        for i, z in enumerate(Z):
            if any(z):
                continue
            if len(done.sets[k][i]) != len(Z):
                return f"token {i} is 0 at layer {k} and follows only {done.sets[k][i]}"
            goal = tuple(x * done.alpha / (1 + done.alpha) for x in mean(Z))
            if k < done.layers and not done.same(done.states[k + 1][i], goal):
                return f"token {i} is 0 at layer {k} and moves to {point(done.states[k + 1][i])}"
    if not case.exact:
        return None
    lim = limit_of(case)
    for i, p in enumerate(lim.points):
        if not any(p) and any(any(mean(Z)) or any(Z[i]) for Z in lim.states):
            return f"the limit of token {i} is given as 0, but the mean of all tokens is not always 0"
    return None


def cloud_with_copies(rng: Random, kind: str) -> Case:
    """A cloud in which some tokens occur two or three times, in random order."""
    case = cloud_case(rng, kind, largest=7)
    tokens = [z for z in case["tokens"] for _ in range(rng.choice([1, 1, 2, 3]))]
    rng.shuffle(tokens)
    return case.changed(tokens=tuple(tokens))


@cloud_claim("fact-9", "[AFZ24], fact 9", trials=120, cases=cloud_with_copies)
def copies_are_one_point(case: Case) -> str | None:
    """Copies of a token stay copies and never have C_i = {i}; the system is that of the distinct points, their
    multiplicities as weights in the means, and copies of a leader lead together.

    Against the weighted system of distinct points, written down a second time; float64 within 1e-12.
    """
    done = run(case)
    weight = Counter(done.states[0])
    points = tuple(weight)
    at = [points.index(z) for z in done.states[0]]
    current: Cloud = points
    for k, (Z, sets) in enumerate(zip(done.states, done.sets, strict=True)):
        for i, followed in enumerate(sets):
            copies = [j for j in range(len(Z)) if at[j] == at[i]]
            if any(Z[j] != Z[i] or sets[j] != followed for j in copies):
                return f"copies of token {i} part at layer {k}"
            points_followed = {at[j] for j in followed}
            if any(at[j] in points_followed and j not in followed for j in range(len(Z))):
                return f"token {i} follows some copies of a token and not the others at layer {k}"
            if followed == (i,) and len(copies) > 1:
                return f"token {i} has copies and still follows itself alone at layer {k}"
            if not done.same(Z[i], current[at[i]]):
                return f"token {i} is not where its point with multiplicities is at layer {k}"
            if case.exact and leads(Z, sets, i) and done.leader_since.get(i, k + 1) > k:
                return f"token {i} leads at layer {k} and is not listed"
        if case.exact:
            of_points = definition.follow_sets(current, done.A)
        else:  # float64 follows the sets of the run: near ties are its own decision
            first = [at.index(p) for p in range(len(points))]
            current = tuple(Z[i] for i in first)
            of_points = tuple(tuple(sorted({at[j] for j in sets[i]})) for i in first)
        current = _moved(current, [weight[p] for p in points], done.alpha, of_points)
    return None


def _moved(Z: Cloud, weights: list[int], alpha: definition.Number, sets: definition.Sets) -> Cloud:
    """z' = (z + alpha sum_j mu_j z_j / sum_j mu_j) / (1 + alpha) over the followed points."""
    moved = []
    for z, followed in zip(Z, sets, strict=True):
        total = sum(weights[j] for j in followed)
        part = Fraction(1, total) if isinstance(z[0], Fraction) else 1.0 / total
        goal = [part * sum(weights[j] * Z[j][c] for j in followed) for c in range(len(z))]
        moved.append(tuple((a + alpha * b) / (1 + alpha) for a, b in zip(z, goal, strict=True)))
    return tuple(moved)


def small_integers(rng: Random, kind: str) -> Case:
    """Small integer tokens and alpha = 2^r - 1, for which the merger can be proved, coordinate by coordinate.

    x = l + delta moves to (x + alpha l) / 2^r. For l != 0 the sum is rounded to a grid at least 2^(r-1) times as coarse
    as that of l, and 2^r l lies on it: once |delta| is below half of that grid the sum is rounded to 2^r l, and x
    becomes l. Where l = 0 the coordinate does not enter <l, x>. So <l, x> = <l, l> in the end, to the bit,
    unless rounding has made l or x follow something else before that.
    """
    dim, n = rng.randint(1, 3), rng.randint(2, 8)
    tokens = clouds.distinct(clouds.integers(rng, n, dim, 9)) or ((Fraction(1),) * dim,)
    return Case(kind, {"tokens": tokens, "alpha": Fraction(rng.choice((1, 3, 7))), "layers": 90})


@claim(
    "fact-10", "[AFZ24], fact 10", trials=60, cases=small_integers, kinds=("integers",),
    fields=("tokens", "alpha", "layers"),
)  # fmt: skip
def float_trap(case: Case) -> str | None:
    """A follower i comes so close to its leader l that after some tens of layers plain float64 has C_l != {l}, the
    leader is lost, or C_i != {l}, the follower is frozen beside it; exactly, both sets hold forever. Leaders kept
    cumulatively are the exact ones at any depth.

    The trap closes in plain float64, does not in Fractions, and `hardmax.simulate` in float64 steps over it.

    Plain float64 is the definition with == between float64 scores. For every follower i of a leader l in Fractions it
    must be wrong about C_l or C_i at some layer. The run of the package must list the leaders that Fractions have found
    by then, unless it says itself that a comparison was too close.
    """
    from hardmax.dynamics.simulate import simulate

    tokens, layers = case["tokens"], case["layers"]
    exact_states, exact_sets = definition.run(tokens, case["alpha"], None, layers)
    settled = min(12, layers)  # a token that follows a leader by now has the remaining layers to merge with it
    early = exact_sets[settled]
    rounded = definition.converted(tokens, float)
    states, sets = definition.run(rounded, float(case["alpha"]), None, layers)
    for i, followed in enumerate(early):
        leader = followed[0]
        same = all(map(eq, states[settled][leader], exact_states[settled][leader]))  # no rounding so far
        if len(followed) == 1 and leader != i and early[leader] == followed and same:
            if not exact_sets[-1][leader] == exact_sets[-1][i] == followed:
                return f"leader {leader} or its follower {i} changes in Fractions"
            if all(of_layer[leader] == of_layer[i] == (leader,) for of_layer in sets[settled:]):
                return f"plain float64 is right about leader {leader} and token {i} at all {layers} layers"
    done: Any = simulate(rounded, float(case["alpha"]), None, layers)
    if done.undecided:
        return None
    both = list(zip(exact_states, exact_sets, strict=True))
    wanted = [i for i in range(len(tokens)) if any(leads(Z, of_layer, i) for Z, of_layer in both)]
    if (found := done.leaders.tolist()) != wanted:
        return f"after {layers} layers the run lists the leaders {found}; in Fractions they are {wanted}"
    return None
