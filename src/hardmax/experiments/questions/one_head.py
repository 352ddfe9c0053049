"""Question: can one head cycle, and what is the smallest cycle?

Proved (docs/open-questions.md): without ties never; never when the tokens span at most a plane, so a cycle needs
dimension 3, four leaders and five tokens; period 2 needs a direction x with <A x, x> <= 0. `one-head-period-2` attains
5, 3 and 2 at once. What is searched here: all patterns of a size by linear programs, for matrices of any kind and for
those whose symmetric part is positive definite, and random leaders with small whole coordinates by dimension.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hardmax.experiments.journal import Journal
from hardmax.experiments.provenance import provenance
from hardmax.experiments.questions.cases import Case, load, replay, stored
from hardmax.experiments.questions.evidence import Evidence, Progress, explorer
from hardmax.experiments.questions.search import Size, confirmed, draw_leaders, sweep
from hardmax.experiments.tables import Share, Table

QUESTION = "Can one head cycle when A is not positive definite, and what is the smallest cycle?"
WORDS = {
    "any": "any matrix",
    "positive": "positive definite symmetric part",
    "definite": "symmetric positive definite",
}


@dataclass(frozen=True)
class Setting:
    """What is searched.

    Attributes:
        trials: clouds of random leaders for every row of the second table.
        sizes: (leaders, period, class) that are searched completely.
        drawn: (dimension, leaders, period, class) of random leaders.
        alphas: step sizes.
    """

    trials: int = 15
    seed: int = 0
    sizes: tuple[tuple[int, int, str], ...] = (
        (3, 2, "any"), (3, 3, "any"), (3, 4, "any"), (3, 5, "any"), (4, 2, "any"), (4, 3, "any"), (4, 4, "any"),
        (4, 2, "positive"), (4, 3, "positive"), (4, 4, "positive"), (5, 2, "positive"), (5, 3, "positive"),
    )  # fmt: skip
    drawn: tuple[tuple[int, int, int, str], ...] = (
        (2, 4, 2, "any"), (2, 5, 3, "any"), (2, 6, 4, "any"), (3, 4, 2, "any"), (3, 5, 3, "positive"),
        (3, 6, 3, "positive"), (4, 5, 3, "positive"),
    )  # fmt: skip
    alphas: tuple[str, ...] = ("1/2", "1", "4")

    @staticmethod
    def quick() -> "Setting":
        return Setting(
            trials=2, sizes=((3, 2, "any"), (3, 3, "any"), (4, 2, "any"), (4, 2, "positive")),
            drawn=((2, 4, 2, "any"), (3, 4, 2, "any")), alphas=("1",),
        )  # fmt: skip


@explorer(Setting)
def explore(setting: Setting, tell: Progress, notes: Journal) -> Evidence:
    """Search for cycles of one head; every one that is reported is confirmed in rational arithmetic."""
    alphas = [Fraction(a) for a in setting.alphas]
    steps = len(setting.sizes) + len(setting.drawn)
    complete, drawn, cases = [], [], []
    for number, (leaders, period, among) in enumerate(setting.sizes):
        tell(number, steps, f"all patterns of {leaders} leaders, period {period}, {WORDS[among]}")
        row, case = searched(Size(leaders, period, 1, among, ties=True), alphas, notes)
        complete.append(row)
        cases += [case] if case is not None else []
    for number, (dim, leaders, period, among) in enumerate(setting.drawn):
        tell(len(setting.sizes) + number, steps, f"random leaders, d = {dim}, {WORDS[among]}")
        row, case = _drawn(Size(leaders, period, 1, among, ties=True), dim, alphas, setting, notes)
        drawn.append(row)
        cases += [case] if case is not None else []
    tables = (
        Table(
            "patterns", "All patterns of a size: how many can be cycles (pattern and alpha), the widest one, and the "
            "exact case made from it",
            ("leaders", "period", "matrices", "patterns", "programs", "cycles", "margin", "follows", "exact"),
            tuple(complete),
        ),
        Table(
            "drawn", "Random leaders with whole coordinates from -3 to 3 that can all lead, pairs that tie",
            ("d", "leaders", "period", "matrices", "clouds", "cycles of programs", "exact"), tuple(drawn),
        ),
        stored_table(),
    )  # fmt: skip
    settings: dict[str, Any] = asdict(setting)
    return Evidence("one-head", QUESTION, _answer(setting), settings, provenance(setting.seed), tables, tuple(cases))


def searched(size: Size, alphas: list[Fraction], journal: Journal) -> tuple[tuple[Any, ...], Case | None]:
    """A row of the table of complete searches, and the exact case of its widest cycle."""
    key = {"search": asdict(size), "alphas": [str(a) for a in alphas]}
    known = journal.get(key)
    if known is None:
        found = sweep(size, alphas)
        name = f"found-{size.heads}-{size.among}-{size.leaders}-{size.period}"
        case = None if found.best is None else confirmed(found.best, size.among, name)
        known = {
            "row": [found.patterns, found.programs, found.hits, found.best.margin if found.best else "",
                    str(found.best.pattern) if found.best else "", "yes" if case else "no" if found.best else ""],
            "case": None if case is None else case.document(),
        }  # fmt: skip
        journal.put(key, known)
    return (size.leaders, size.period, WORDS[size.among], *known["row"]), _read(known["case"])


def _drawn(
    size: Size, dim: int, alphas: list[Fraction], setting: Setting, journal: Journal
) -> tuple[tuple[Any, ...], Case | None]:
    key = {"draw": asdict(size), "dim": dim, "trials": setting.trials, "seed": setting.seed, "alphas": setting.alphas}
    known = journal.get(key)
    if known is None:
        rng = np.random.default_rng((setting.seed, dim, size.leaders, size.period))
        found = draw_leaders(size, dim, setting.trials, alphas, rng)
        case = None if found.case is None else found.case.document()
        known = journal.put(key, {"row": [found.clouds, found.hits, found.programs], "case": case})
    clouds, hits, programs = known["row"]
    exact = "yes" if known["case"] else "no" if hits else ""
    row = (dim, size.leaders, size.period, WORDS[size.among], clouds, Share(hits, max(programs, 1)), exact)
    return row, _read(known["case"])


def _read(document: dict[str, Any] | None) -> Case | None:
    from hardmax.experiments.questions.cases import from_document

    return None if document is None else from_document(document)


def stored_table() -> Table:
    """The cases that come with the package, each replayed now."""
    rows = []
    for name in stored():
        case, changed = load(name)
        holds = "no" if changed or replay(case) else "yes"
        n, d = len(case.tokens), len(case.tokens[0])
        rows.append((name, case.kind, case.matrices, len(case.heads), n, d, str(case.alpha), case.period,
                     "yes" if case.ties else "no", holds))  # fmt: skip
    columns = ("case", "kind", "matrices", "heads", "n", "d", "alpha", "period", "ties", "holds exactly")
    return Table("stored", "Exact cases that come with the package", columns, tuple(rows))


def _answer(setting: Setting) -> str:
    holds = [name for name in stored() if not replay(load(name)[0])]
    smallest = "one-head-period-2" in holds
    return (
        f"{'Yes' if smallest else 'Not shown here'}: with ties. The smallest cycle has 5 tokens in dimension 3 and "
        "period 2; each of the three numbers is proved to be the least. Without ties one head never cycles (proved). "
        f"{len(holds)} of {len(stored())} stored cases hold in rational arithmetic."
    )
