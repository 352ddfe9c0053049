"""Exact cases: the cycles and collapses that come with the package, and their checker.

A layer is a function of the cloud alone. So a cloud that comes back exactly comes back forever: a cycle is proved by
computing one period. A cloud that comes back turned and scaled, Z^1 = Z^0 M^T with M^T A M = c A, does so forever as
well, because all scores are multiplied by c > 0 and all follow sets stay: a collapse is proved by one layer.

The checker is independent on purpose: it uses the definition of the claims (`claims.definition`) and linear algebra of
its own in Fractions. The package's exact engine is asked as well, at the end; the two share no code.

The fields of a case: `name` and `statement` are for people; `tokens`, `alpha` and `heads` (matrices, whose follow means
are averaged) start the run; `matrices` says what every matrix is; `period` counts the layers of a cycle (1 for a
collapse); `moving` lists the tokens that are not at rest; `ties` says whether some token ties in some layer.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from hardmax.errors import BadInput
from hardmax.experiments.case import Case, Rows, load_case
from hardmax.experiments.claims.definition import Sets, cloud_of, dot, follow_sets, mean, times

KINDS = ("cycle", "collapse")
FIELDS = ("name", "statement", "alpha", "tokens", "heads", "matrices", "period", "moving", "ties")
MOST_TOKENS, MOST_DIMENSIONS = 64, 16
STORED = Path(__file__).with_name("cases")


def stored() -> list[str]:
    """Names of the cases that come with the package.

    Example:
        >>> "two-definite-heads-period-2" in stored()
        True
    """
    return sorted(path.stem for path in STORED.glob("*.json"))


def load(name: str | Path) -> tuple[Case, list[str]]:
    """A case by the name of a stored one or from a .json file, and what is wrong with the file's checksum.

    Raises:
        BadInput: there is no such case, or the file does not hold one.
    """
    path = STORED / f"{name}.json"
    if str(name) not in stored():
        path = Path(name)
        if path.suffix.lower() != ".json":
            fix = "use one of them or a .json file"
            raise BadInput(f"there is no stored case {str(name)!r}", found=", ".join(stored()), fix=fix)
    case, intact = load_case(path, KINDS, FIELDS)
    n, d = len(case["tokens"]), len(case["tokens"][0])
    if n > MOST_TOKENS or d > MOST_DIMENSIONS:
        bounds = f"at most {MOST_TOKENS} tokens in dimension {MOST_DIMENSIONS} are replayed"
        raise BadInput(f"{path} has {n} tokens in dimension {d}; {bounds}")
    return case, [] if intact else ["the file was changed: its checksum does not match its content"]


def check(case: Case) -> list[str]:
    """The claims of the case that do not hold, as sentences; empty if all of them hold."""
    wrong = [f"head {h}: {text}" for h, A in enumerate(case["heads"]) for text in _matrix_is(A, case["matrices"])]
    if len(set(case["tokens"])) < len(case["tokens"]):
        wrong.append("two tokens are equal")
    wrong += _cycle(case) if case.kind == "cycle" else _collapse(case)
    return [*wrong, *_second_opinion(case)]


def layer(tokens: Rows, alpha: Fraction, heads: Rows) -> tuple[Rows, list[Sets]]:
    """One layer and the follow sets by head: z_i' = (z_i + alpha mean_h mean(C_i^h)) / (1 + alpha).

    Implements [AFZ24, eq. (1.1a)] and [AFZ24, eq. (1.1b)]. Departs: several heads, averaged.

    Example:
        >>> one = Fraction(1)
        >>> layer(((one,), (-one,), (one / 2,)), one, (((one,),),))[0][2]
        (Fraction(3, 4),)
    """
    sets = [follow_sets(tokens, A) for A in heads]
    moved = []
    for i, z in enumerate(tokens):
        goal = mean([mean([tokens[j] for j in by_token[i]]) for by_token in sets])
        moved.append(tuple((x + alpha * y) / (1 + alpha) for x, y in zip(z, goal, strict=True)))
    return tuple(moved), sets


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
    tokens, period = case["tokens"], case["period"]
    run, tied = [tokens], False
    for _ in range(period):
        after, sets = layer(run[-1], case["alpha"], case["heads"])
        tied |= any(len(C) > 1 for by_token in sets for C in by_token)
        run.append(after)
    if run[-1] != tokens:
        yield f"layer {period} is not layer 0"
    early = next((k for k in range(1, period) if run[k] == tokens), None)
    if early is not None:
        yield f"layer {early} is layer 0 already: the period is not {period}"
    moving = {i for i in range(len(tokens)) if any(Z[i] != tokens[i] for Z in run)}
    if moving != set(case["moving"]):
        yield f"the tokens that move are {sorted(moving)}, not {sorted(case['moving'])}"
    if not moving:
        yield "nothing moves"
    if tied != case["ties"]:
        yield "there are ties" if tied else "there are no ties"


def _collapse(case: Case) -> Iterator[str]:
    tokens, (A, *more), d = case["tokens"], case["heads"], len(case["tokens"][0])
    if more or len(tokens) < d:
        yield "a collapse is checked for one head and tokens that span the space"
        return
    after, (sets,) = layer(tokens, case["alpha"], case["heads"])
    M = _linear_map(tokens, after)
    if M is None or any(times(M, z) != w for z, w in zip(tokens, after, strict=True)):
        yield "layer 1 is not a linear image of layer 0"
        return
    turned = _product(_product(_transposed(M), A), M)
    i, j = next((i, j) for i in range(d) for j in range(d) if A[i][j])
    c = turned[i][j] / A[i][j]
    if c <= 0 or turned != tuple(tuple(c * x for x in row) for row in A):
        yield "the scores of layer 1 are not those of layer 0 times a positive number"
    # |M^k|_F < 1 for one k is enough for M^k -> 0.
    power = M
    for _ in range(64):
        power = _product(power, M)
        if sum(x * x for row in power for x in row) < 1:
            break
    else:
        yield "the tokens do not shrink"
    if any(len(C) > 1 for C in sets) != case["ties"]:
        yield "there are ties" if not case["ties"] else "there are no ties"
    if set(case["moving"]) != {i for i, (z, w) in enumerate(zip(tokens, after, strict=True)) if z != w}:
        yield "the tokens that move are others"


def _second_opinion(case: Case) -> Iterator[str]:
    """The package's exact engine on the same numbers."""
    from hardmax.dynamics.exact.layers import simulate_exact

    tokens, alpha, period = case["tokens"], case["alpha"], case["period"]
    heads = [[list(row) for row in A] for A in case["heads"]]
    traj = simulate_exact([list(z) for z in tokens], alpha, None, period, heads=heads, definite=False)
    outcome = traj.outcome
    if case.kind == "cycle" and (outcome.kind, outcome.period) != ("periodic", period):
        yield f"hardmax.simulate(exact=True) says: {outcome.kind}, {outcome.detail}"
    if cloud_of(traj.tokens[1]) != layer(tokens, alpha, case["heads"])[0]:
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


def _transposed(A: Rows) -> Rows:
    return tuple(zip(*A, strict=True))


def _product(A: Rows, B: Rows) -> Rows:
    return tuple(tuple(dot(row, column) for column in _transposed(B)) for row in A)
