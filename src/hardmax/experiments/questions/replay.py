"""The checker of exact cases: the definition of a layer in Fractions, token by token, and nothing else.

The package's own exact engine is asked as well, at the end; the two share no code.
"""

from collections.abc import Iterator
from fractions import Fraction

from hardmax.experiments.questions.cases import Case, Row, Rows

FollowSets = list[tuple[int, ...]]


def check(case: Case) -> list[str]:
    """What does not hold of the case's claims, as sentences; empty if all do."""
    wrong = [f"head {h}: {text}" for h, A in enumerate(case.heads) for text in _matrix_is(A, case.matrices)]
    if len(set(case.tokens)) < len(case.tokens):
        wrong.append("two tokens are equal")
    wrong += _cycle(case) if case.kind == "cycle" else _collapse(case)
    return [*wrong, *_second_opinion(case)]


def layer(tokens: Rows, alpha: Fraction, heads: tuple[Rows, ...]) -> tuple[Rows, list[FollowSets]]:
    """One layer and the follow sets by head: z_i' = (z_i + alpha mean_h mean(C_i^h)) / (1 + alpha).

    Implements [AFZ24, eq. (1.1a)] and [AFZ24, eq. (1.1b)]. Departs: several heads, averaged.

    Example:
        >>> one = Fraction(1)
        >>> layer(((one,), (-one,), (one / 2,)), one, (((one,),),))[0][2]
        (Fraction(3, 4),)
    """
    sets = [[follow_set(A, z, tokens) for z in tokens] for A in heads]
    moved = []
    for i, z in enumerate(tokens):
        pull = [Fraction(0)] * len(z)
        for by_token in sets:
            C = by_token[i]
            pull = [p + sum(tokens[j][k] for j in C) / Fraction(len(C)) for k, p in enumerate(pull)]
        moved.append(tuple((x + alpha * p / len(heads)) / (1 + alpha) for x, p in zip(z, pull, strict=True)))
    return tuple(moved), sets


def follow_set(A: Rows, z: Row, tokens: Rows) -> tuple[int, ...]:
    """C = argmax_j <A z, z_j>. Implements [AFZ24, eq. (1.1b)]."""
    query = [_dot(row, z) for row in A]
    scores = [_dot(query, other) for other in tokens]
    best = max(scores)
    return tuple(j for j, s in enumerate(scores) if s == best)


def is_positive_definite(A: Rows) -> bool:
    """Whether <x, A x> > 0 for all x != 0, by elimination on the symmetric part (Sylvester's criterion).

    Example:
        >>> is_positive_definite(((Fraction(2), Fraction(1)), (Fraction(1), Fraction(1))))
        True
    """
    S = [[(a + b) / 2 for a, b in zip(row, column, strict=True)] for row, column in zip(A, _transposed(A), strict=True)]
    for k in range(len(S)):
        if S[k][k] <= 0:
            return False
        for i in range(k + 1, len(S)):
            factor = S[i][k] / S[k][k]
            S[i] = [x - factor * y for x, y in zip(S[i], S[k], strict=True)]
    return True


def _matrix_is(A: Rows, what: str) -> Iterator[str]:
    if what in ("positive definite", "symmetric") and _transposed(A) != A:
        yield "the matrix is not symmetric"
    if what.startswith("positive definite") and not is_positive_definite(A):
        yield "the symmetric part of the matrix is not positive definite"


def _cycle(case: Case) -> Iterator[str]:
    run, tied = [case.tokens], False
    for _ in range(case.period):
        after, sets = layer(run[-1], case.alpha, case.heads)
        tied |= any(len(C) > 1 for by_token in sets for C in by_token)
        run.append(after)
    if run[-1] != case.tokens:
        yield f"layer {case.period} is not layer 0"
    for k in range(1, case.period):
        if run[k] == case.tokens:
            yield f"layer {k} is layer 0 already: the period is not {case.period}"
            break
    moving = {i for i in range(len(case.tokens)) if any(Z[i] != case.tokens[i] for Z in run)}
    if moving != set(case.moving):
        yield f"the tokens that move are {sorted(moving)}, not {sorted(case.moving)}"
    if not moving:
        yield "nothing moves"
    if tied != case.ties:
        yield "there are ties" if tied else "there are no ties"


def _collapse(case: Case) -> Iterator[str]:
    (A, *more), d = case.heads, len(case.tokens[0])
    if more or len(case.tokens) < d:
        yield "a collapse is checked for one head and tokens that span the space"
        return
    after, sets = layer(case.tokens, case.alpha, case.heads)
    M = _linear_map(case.tokens, after)
    if M is None or any(tuple(_dot(row, z) for row in M) != w for z, w in zip(case.tokens, after, strict=True)):
        yield "layer 1 is not a linear image of layer 0"
        return
    turned = _times(_times(_transposed(M), A), M)
    i, j = next((i, j) for i in range(d) for j in range(d) if A[i][j])
    c = turned[i][j] / A[i][j]
    if c <= 0 or turned != tuple(tuple(c * x for x in row) for row in A):
        yield "the scores of layer 1 are not those of layer 0 times a positive number"
    # |M^k|_F < 1 for one k is enough for M^k -> 0.
    power = M
    for _ in range(64):
        power = _times(power, M)
        if sum(x * x for row in power for x in row) < 1:
            break
    else:
        yield "the tokens do not shrink"
    if any(len(C) > 1 for C in sets[0]) != case.ties:
        yield "there are ties" if not case.ties else "there are no ties"
    if set(case.moving) != {i for i, (z, w) in enumerate(zip(case.tokens, after, strict=True)) if z != w}:
        yield "the tokens that move are others"


def _second_opinion(case: Case) -> Iterator[str]:
    """The package's exact engine on the same numbers."""
    from hardmax.dynamics.exact.layers import simulate_exact

    heads = [[list(row) for row in A] for A in case.heads]
    traj = simulate_exact([list(z) for z in case.tokens], case.alpha, None, case.period, heads=heads, definite=False)
    outcome = traj.outcome
    if case.kind == "cycle" and (outcome.kind, outcome.period) != ("periodic", case.period):
        yield f"hardmax.simulate(exact=True) says: {outcome.kind}, {outcome.detail}"
    after, _ = layer(case.tokens, case.alpha, case.heads)
    if tuple(tuple(z) for z in traj.tokens[1].tolist()) != after:
        yield "hardmax.simulate(exact=True) gives another layer 1"


def _linear_map(before: Rows, after: Rows) -> Rows | None:
    """M with M z_i = w_i for d independent tokens, found by elimination; None if they do not span the space."""
    d = len(before[0])
    rows = [list(z) + list(w) for z, w in zip(before, after, strict=True)]
    for k in range(d):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return _transposed(tuple(tuple(row[d:]) for row in rows[:d]))


def _dot(x: Row | list[Fraction], y: Row | list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def _transposed(A: Rows) -> Rows:
    return tuple(zip(*A, strict=True))


def _times(A: Rows, B: Rows) -> Rows:
    columns = _transposed(B)
    return tuple(tuple(_dot(row, column) for column in columns) for row in A)
