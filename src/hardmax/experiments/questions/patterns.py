"""Patterns of attention that a cycle could have, and the one orbit that each of them allows.

One token z = sum_i l_i v_i moves between leaders v_1..v_m; with G_ij = <A v_i, v_j> the score of leader j is
sum_i l_i G_ij (docs/open-questions.md, "How the cycles were found"). A pattern says, for each layer of the period and
each head, which leaders z follows. Then every layer is an affine map of the weights l with known numbers, and the orbit
is its one fixed point. What is left is to ask whether a G exists: a linear program (`programs`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product

Group = tuple[int, ...]  # leaders followed together: one, or several that tie
Step = tuple[Group, ...]  # one group per head
Weights = tuple[Fraction, ...]


@dataclass(frozen=True)
class Pattern:
    """What the moving token follows, layer by layer.

    Attributes:
        leaders: m.
        steps: for every layer of the period one group of leaders for every head.
    """

    leaders: int
    steps: tuple[Step, ...]

    @property
    def heads(self) -> int:
        """How many heads."""
        return len(self.steps[0])

    @property
    def repeats(self) -> bool:
        """Whether its steps have a shorter period."""
        return any(self.steps == self.steps[s:] + self.steps[:s] for s in range(1, len(self.steps)))

    def orbit(self, alpha: Fraction) -> list[Weights]:
        """The weights of the moving token at every layer of the period.

        Layer k is l -> a_k l + b_k: with rho = 1/(1+alpha) and t_k the mean over heads of the groups' means, a = rho
        and b = (1-rho) t_k. A token that ties with everything ties with itself, which makes a larger.

        Example:
            >>> [str(x) for x in Pattern(2, (((0,),), ((1,),))).orbit(Fraction(1))[0]]
            ['1/3', '2/3']
        """
        m, rho = self.leaders, 1 / (1 + alpha)
        maps = []
        for step in self.steps:
            a, b = rho, [Fraction(0)] * m
            for group in step:
                with_itself = len(group) == m
                share = (1 - rho) / len(step) / (len(group) + with_itself)
                a += share * with_itself
                for i in group:
                    b[i] += share
            maps.append((a, b))
        slope, rest = Fraction(1), [Fraction(0)] * m
        for a, b in maps:
            slope, rest = a * slope, [a * x + y for x, y in zip(rest, b, strict=True)]
        points = [tuple(x / (1 - slope) for x in rest)]
        for a, b in maps[:-1]:
            points.append(tuple(a * x + y for x, y in zip(points[-1], b, strict=True)))
        return points

    def __str__(self) -> str:
        return " ".join("+".join("".join(str(i + 1) for i in group) for group in step) for step in self.steps)


def patterns(leaders: int, period: int, heads: int, sizes: tuple[int, ...]) -> Iterator[Pattern]:
    """Every pattern once, up to renaming leaders and heads and to the layer where the period begins.

    Args:
        sizes: how many leaders a group may have; (1,) is without ties.

    Example:
        >>> [str(p) for p in patterns(3, 2, 1, (1,))]
        ['1 2']
    """
    groups = [group for size in sizes for group in combinations(range(leaders), size)]
    steps = list(product(groups, repeat=heads))
    names = list(permutations(range(leaders)))
    seen: set[tuple[Step, ...]] = set()
    for candidate in product(steps, repeat=period):
        pattern = Pattern(leaders, candidate)
        if candidate in seen or pattern.repeats:
            continue
        seen.update(_images(candidate, names, heads))
        if len({_mean(step) for step in candidate}) > 1:  # one mean forever: the token converges to it
            yield pattern


def _images(steps: tuple[Step, ...], names: list[tuple[int, ...]], heads: int) -> Iterator[tuple[Step, ...]]:
    for name in names:
        renamed = [tuple(tuple(sorted(name[i] for i in group)) for group in step) for step in steps]
        for order in permutations(range(heads)):
            turned = [tuple(step[h] for h in order) for step in renamed]
            for s in range(len(turned)):
                yield tuple(turned[s:] + turned[:s])


def _mean(step: Step) -> tuple[tuple[int, Fraction], ...]:
    weights: dict[int, Fraction] = {}
    for group in step:
        for i in group:
            weights[i] = weights.get(i, Fraction(0)) + Fraction(1, len(group))
    return tuple(sorted(weights.items()))
