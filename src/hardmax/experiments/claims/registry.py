"""Which claims there are, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from random import Random

from hardmax.errors import BadInput
from hardmax.experiments.claims.case import Case

# name -> its module, in the order in which they run
MODULES = {
    "theorem-1.1-i": "theorem_i",
    "theorem-1.1-ii": "theorem_ii",
    "theorem-1.1-iii": "theorem_iii",
    **{f"fact-{n}": f"fact_{n}" for n in range(1, 11)},
    "experiment-convergence": "experiment_convergence",
    "experiment-leaders": "experiment_leaders",
    "experiment-growth": "experiment_growth",
    "lemma-4.1-extremes": "lemma_extremes",
    "lemma-4.2-corner": "lemma_corner",
    "lemma-4.3-sphere": "lemma_sphere",
    "construction-exact": "construction_exact",
    "construction-counts": "construction_counts",
    "counterexample-hull": "counterexample_hull",
    "counterexample-frank-wolfe": "counterexample_frank_wolfe",
}


@dataclass(frozen=True)
class Claim:
    """A statement of the papers with a generator of cases and a check.

    Attributes:
        kinds: the kinds of cases; trial t has kind t modulo their number.
        trials: how many trials there are unless said otherwise.
        fields: the names of the numbers that a case holds.
        check: None if the claim holds in a case, else a sentence that says how it is violated.
    """

    name: str
    statement: str
    citation: str
    kinds: tuple[str, ...]
    trials: int
    fields: tuple[str, ...]
    generate: Callable[[Random, str], Case]
    check: Callable[[Case], str | None]

    def case(self, seed: int, trial: int) -> Case:
        """The case of a trial: a function of seed, claim and trial alone, whatever ran before."""
        rng = Random(f"{seed} {self.name} {trial}")
        drawn = self.generate(rng, self.kinds[trial % len(self.kinds)])
        return Case(drawn.kind, {field: drawn[field] for field in self.fields})


def claim(name: str) -> Claim:
    """The claim with this name.

    Example:
        >>> claim("fact-3").statement
        'Every token of layer k+1 lies in the convex hull of the tokens of layer k.'
    """
    home = import_module(f"hardmax.experiments.claims.{MODULES[name]}")
    return Claim(
        name,
        home.STATEMENT,
        home.CITATION,
        tuple(home.KINDS),
        home.TRIALS,
        tuple(home.FIELDS),
        home.generate,
        home.check,
    )


def select(names: Sequence[str] = ()) -> list[Claim]:
    """The claims with these names, in the order of the list; the beginning of names ("fact", "theorem-1.1") is enough.

    Raises:
        BadInput: no such claim; the message lists them.

    Example:
        >>> [c.name for c in select(["lemma"])]
        ['lemma-4.1-extremes', 'lemma-4.2-corner', 'lemma-4.3-sphere']
    """
    chosen = set()
    for name in names or MODULES:
        found = {m for m in MODULES if m == name or m.startswith(f"{name}-")}
        if not found:
            raise BadInput(
                f"there is no claim {name[:60]!r}", found=", ".join(MODULES), fix="hardmax verify --list explains them"
            )
        chosen |= found
    return [claim(m) for m in MODULES if m in chosen]
