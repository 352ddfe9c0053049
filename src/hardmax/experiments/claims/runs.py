"""Layers as the package computes them, each held against the definition."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hardmax.experiments.claims import definition
from hardmax.experiments.claims.case import Case, Violated
from hardmax.experiments.claims.definition import Cloud, Matrix, Point, Sets, dot, times

# In float64 a score may miss the maximum by this part of sum |A z_i| |z_j|, a coordinate its value by this part of the
# largest one. Rounding is about 1e-15 of either.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Run:
    """Z^0..Z^K with their follow sets, and what the package says of leaders.

    Attributes:
        tolerance: 0 for rational arithmetic; in float64 TOLERANCE times the largest coordinate of the input.
        leader_since: {index: first layer at which it leads}.
        undecided: comparisons that float64 could not decide.
    """

    states: list[Cloud]
    sets: list[Sets]
    alpha: Any
    A: Matrix
    tolerance: Any
    leader_since: dict[int, int]
    undecided: int = 0

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return len(self.states) - 1

    def same(self, x: Point, y: Point) -> bool:
        """Whether two points are equal, within the tolerance."""
        return all(abs(a - b) <= self.tolerance for a, b in zip(x, y, strict=True))


def run(case: Case, layers: int | None = None, **options: Any) -> Run:
    """Run the case with `hardmax.simulate` and hold every layer against the definition.

    Raises:
        Violated: a follow set or a token is not what the definition says.
    """
    from hardmax.dynamics.simulate import simulate

    depth = case["layers"] if layers is None else layers
    done: Any = simulate(case["tokens"], case["alpha"], case["A"], depth, exact=case.exact, **options)
    states = [tuple(tuple(z) for z in state.tolist()) for state in done.tokens]
    sets = [done.follows(k) for k in range(depth + 1)]
    size = max(abs(x) for z in case["tokens"] for x in z)
    found = Run(
        states, sets, case["alpha"], case["A"], 0 if case.exact else TOLERANCE * size, dict(done.leader_since),
        done.undecided,
    )  # fmt: skip
    if states[0] != case["tokens"]:
        raise Violated("the first state of the run is not the input")
    if case.exact:
        _compare(found)
    else:
        _compare_floats(found)
    return found


def _compare(done: Run) -> None:
    """Every follow set and every token of every layer, exactly."""
    for k, Z in enumerate(done.states):
        wanted = definition.follow_sets(Z, done.A)
        if done.sets[k] != wanted:
            i = next(i for i, followed in enumerate(wanted) if followed != done.sets[k][i])
            raise Violated(f"at layer {k} token {i} follows {done.sets[k][i]}; the definition gives {wanted[i]}")
        if k < done.layers and done.states[k + 1] != definition.layer(Z, done.alpha, wanted):
            raise Violated(f"the tokens of layer {k + 1} are not those of the definition")


def _compare_floats(done: Run) -> None:
    """Followed tokens have the largest score, and moves go where they should, to rounding; exact ties are kept."""
    exact = definition.follow_sets(
        tuple(tuple(map(Fraction, z)) for z in done.states[0]),
        None if done.A is None else [[Fraction(x) for x in row] for row in done.A],
    )
    for i, followed in enumerate(exact):
        if not set(followed) <= set(done.sets[0][i]):
            raise Violated(f"at layer 0 token {i} follows {done.sets[0][i]}; the definition gives {followed}")
    for k, Z in enumerate(done.states):
        for i, z in enumerate(Z):
            seen = times(done.A, z)
            sizes = [dot([abs(x) for x in seen], [abs(x) for x in y]) for y in Z]
            values = [dot(seen, y) for y in Z]
            lowest = min(values[j] for j in done.sets[k][i])
            if max(values) - lowest > TOLERANCE * max(sizes):
                raise Violated(f"at layer {k} token {i} follows {done.sets[k][i]}, whose score is not the largest")
        if k < done.layers:
            moved = definition.layer(Z, done.alpha, done.sets[k])
            if not all(done.same(x, y) for x, y in zip(moved, done.states[k + 1], strict=True)):
                raise Violated(f"the tokens of layer {k + 1} are not the means that the follow sets give")
