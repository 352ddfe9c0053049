"""Exact cases: the runs that come with the package as proofs and counterexamples, and their checker.

A layer is a function of the cloud alone, so a finite computation can prove a statement about all layers. There are four
kinds:

* **cycle**: layer p is layer 0. The cloud comes back exactly, and so forever.
* **collapse** and **alternation**: layer p is a linear image of layer 0 with the tokens renamed, z_i^p = T z_o(i)^0,
  where T^T A T = c A with c > 0. A cloud and its image have the same follow sets (<A T x, T y> = c <A x, y>) and T
  commutes with means, so z_i^{p+s} = T z_o(i)^s for all s, and by induction z_i^{mp+s} = T^m z_{o^m(i)}^s. In a
  collapse T^m -> 0, and all tokens go to 0. In an alternation a direction f has T^T f = f, so <f, z_i^{mp+s}>
  = <f, z_{o^m(i)}^s> takes finitely many values, each again and again; a token for which two of them differ never
  converges.
* **decided**: every token leads, or follows one leader and nothing else; it does so forever [fact 6], and converges.

The checker is independent on purpose: it uses the definition of the claims (`claims.definition`) and linear algebra of
its own in Fractions. The package's exact engine is asked as well, at the end; the two share no code.

The fields of a case: `name` and `statement` are for people; `tokens`, `alpha` and `heads` (matrices, whose follow means
are averaged) start the run; `matrices` says what every matrix is; `period` is p (1 if decided); `moving` lists the
tokens that are not at rest (in an alternation those that never converge); `ties` says whether some token
ties in the first p layers, and hence in any layer. `map` is T, `order` lists o(i), `direction` is f.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput
from hardmax.experiments.case import Case, Rows, load_case
from hardmax.experiments.claims.definition import Sets, cloud_of, dot, follow_sets, mean, times, toward

RUN = ("name", "statement", "alpha", "tokens", "heads", "matrices", "period", "moving", "ties")
FIELDS = {
    "cycle": RUN,
    "collapse": (*RUN, "map", "order"),
    "alternation": (*RUN, "map", "order", "direction"),
    "decided": RUN,
}
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
    case, intact = load_case(path, FIELDS)
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
    states, sets = [case["tokens"]], []
    for _ in range(case["period"]):
        after, by_head = layer(states[-1], case["alpha"], case["heads"])
        states.append(after)
        sets += by_head
    if any(len(C) > 1 for by_token in sets for C in by_token) != case["ties"]:
        wrong.append("there are no ties" if case["ties"] else "there are ties")
    moving, more = {"cycle": _cycle, "decided": _decided}.get(case.kind, _image)(case, states)
    if moving != set(case["moving"]):
        wrong.append(f"the tokens that move are {sorted(moving)}, not {sorted(case['moving'])}")
    if not moving:
        wrong.append("nothing moves")
    return [*wrong, *more, *_second_opinion(case)]


def layer(tokens: Rows, alpha: Fraction, heads: Rows) -> tuple[Rows, list[Sets]]:
    """One layer and the follow sets by head: z_i' = (z_i + alpha mean_h mean(C_i^h)) / (1 + alpha).

    Implements [AFZ24, eq. (1.1a)] and [AFZ24, eq. (1.1b)]. Departs: several heads, averaged.

    Example:
        >>> one = Fraction(1)
        >>> layer(((one,), (-one,), (one / 2,)), one, (((one,),),))[0][2]
        (Fraction(3, 4),)
    """
    sets = [follow_sets(tokens, A) for A in heads]
    goals = [mean([mean([tokens[j] for j in C]) for C in by_head]) for by_head in zip(*sets, strict=True)]
    return tuple(toward(z, goal, alpha / (1 + alpha)) for z, goal in zip(tokens, goals, strict=True)), sets


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


def _cycle(case: Case, states: list[Rows]) -> tuple[set[int], list[str]]:
    """The tokens that move, and what is wrong with the cycle."""
    tokens, period, wrong = case["tokens"], case["period"], []
    if states[-1] != tokens:
        wrong.append(f"layer {period} is not layer 0")
    early = next((k for k in range(1, period) if states[k] == tokens), None)
    if early is not None:
        wrong.append(f"layer {early} is layer 0 already: the period is not {period}")
    return {i for i in range(len(tokens)) if any(Z[i] != tokens[i] for Z in states)}, wrong


def _image(case: Case, states: list[Rows]) -> tuple[set[int], list[str]]:
    """The tokens that move (or never converge), and what is wrong with the linear image."""
    tokens, T, order, wrong = case["tokens"], case["map"], case["order"], []
    if sorted(order) != list(range(len(tokens))):
        return set(), [f"the order {list(order)} does not rename the {len(tokens)} tokens"]
    if states[-1] != tuple(times(T, tokens[j]) for j in order):
        wrong.append(f"layer {case['period']} is not the image of layer 0")
    for A in case["heads"]:
        turned = _product(_product(_transposed(T), A), T)
        c = next((x / y for row, old in zip(turned, A, strict=True) for x, y in zip(row, old, strict=True) if y), 1)
        if c <= 0 or turned != tuple(tuple(c * x for x in row) for row in A):
            wrong.append("the scores of the image are not those of layer 0 times a positive number")
    if case.kind == "collapse":
        if not _vanishes(T):
            wrong.append("the tokens do not shrink")
        return {i for i, z in enumerate(tokens) if states[-1][i] != z}, wrong
    f = case["direction"]
    if times(_transposed(T), f) != f:
        wrong.append("the direction is not fixed")
    never = set()
    for i in range(len(tokens)):
        names = [i]
        while order[names[-1]] != i:
            names.append(order[names[-1]])
        if len({dot(f, Z[j]) for Z in states[:-1] for j in names}) > 1:
            never.add(i)
    return never, wrong


def _vanishes(T: Rows) -> bool:
    """Whether T^k -> 0: |T^k|_F < 1 for one k is enough."""
    for _ in range(8):
        T = _product(T, T)
        if sum(x * x for row in T for x in row) < 1:
            return True
    return False


def _decided(case: Case, states: list[Rows]) -> tuple[set[int], list[str]]:
    """The followers, and what is not decided at layer 0."""
    if len(case["heads"]) > 1:
        return set(), ["several heads are not decided by one layer"]
    sets = follow_sets(case["tokens"], case["heads"][0])
    leaders = {i for i, C in enumerate(sets) if (i,) == C}
    followers = set(range(len(sets))) - leaders
    undecided = [i for i in followers if len(sets[i]) > 1 or sets[i][0] not in leaders]
    return followers, [f"token {i} does not follow one leader" for i in undecided]


def _second_opinion(case: Case) -> Iterator[str]:
    """The package's exact engine on the same numbers."""
    from hardmax.dynamics.exact.layers import simulate_exact

    tokens, alpha, period = case["tokens"], case["alpha"], case["period"]
    heads = [[list(row) for row in A] for A in case["heads"]]
    rounds, names = 1, list(case.data.get("order", ()))
    while names != sorted(names) and rounds < MOST_TOKENS**2:  # until all have their own names
        rounds, names = rounds + 1, [case["order"][j] for j in names]
    rounds = 2 * rounds if "order" in case.data else 1
    traj: Any = simulate_exact([list(z) for z in tokens], alpha, None, period * rounds, heads=heads, definite=False)
    outcome = traj.outcome
    expected = {"cycle": "periodic", "decided": outcome.kind}.get(case.kind, "self-similar")
    if outcome.kind != expected or (case.kind == "cycle" and outcome.period != period):
        yield f"hardmax.simulate(exact=True) says: {outcome.kind}, {outcome.detail}"
    if case.kind == "decided" and set(traj.leader_since) != set(range(len(tokens))) - set(case["moving"]):
        yield "hardmax.simulate(exact=True) finds other leaders"
    if cloud_of(traj.tokens[1]) != layer(tokens, alpha, case["heads"])[0]:
        yield "hardmax.simulate(exact=True) gives another layer 1"


def _transposed(A: Rows) -> Rows:
    return tuple(zip(*A, strict=True))


def _product(A: Rows, B: Rows) -> Rows:
    return tuple(tuple(dot(row, column) for column in _transposed(B)) for row in A)
