"""Questions: can one head cycle, and do several symmetric positive definite heads always converge?

What is proved stands in docs/paper.md, section 4. What is searched here: all patterns of a size by linear programs, for
matrices of any kind and for those whose symmetric part is positive definite, and random leaders with small whole
coordinates by dimension; random clouds; and the smallest cycle for many alphas and with noise.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.experiments import Case, Context, Outcome, Share, question
from hardmax.experiments.case import read_case
from hardmax.experiments.questions.cases import check, layer, load, stored
from hardmax.experiments.questions.matrices import count_fates, still_cycle
from hardmax.experiments.questions.search import Size, confirmed, draw_leaders, sweep
from hardmax.io.documents import point

WORDS = {"any": "any matrix", "positive": "positive definite symmetric part", "definite": "symmetric positive definite"}
SEARCHED = ("leaders", "period", "matrices", "patterns", "programs", "refuted", "cycles", "margin", "follows", "exact")
FOUND, WIDE = "two-definite-heads-period-2", "two-definite-heads-wide-cycle"
FAMILIES = ("wishart", "stretched", "diagonal", "simplex")


@question(
    "one-head",
    "Can one head cycle when A is not positive definite, and what is the smallest cycle?",
    quick={
        "trials": 2, "sizes": ((3, 2, "any"), (3, 3, "any"), (4, 2, "any"), (4, 2, "positive")),
        "drawn": ((2, 4, 2, "any"), (3, 4, 2, "any")), "alphas": ("1",),
    },
)  # fmt: skip
def one_head(
    context: Context,
    *,
    trials: int = 15,
    sizes: tuple[tuple[int, int, str], ...] = (
        (3, 2, "any"), (3, 3, "any"), (3, 4, "any"), (3, 5, "any"), (4, 2, "any"), (4, 3, "any"), (4, 4, "any"),
        (4, 2, "positive"), (4, 3, "positive"), (4, 4, "positive"), (5, 2, "positive"), (5, 3, "positive"),
    ),
    drawn: tuple[tuple[int, int, int, str], ...] = (
        (2, 4, 2, "any"), (2, 5, 3, "any"), (2, 6, 4, "any"), (3, 4, 2, "any"), (3, 5, 3, "positive"),
        (3, 6, 3, "positive"), (4, 5, 3, "positive"),
    ),
    alphas: tuple[str, ...] = ("1/2", "1", "4"),
) -> Outcome:  # fmt: skip
    """Search for cycles of one head; every cycle that is reported is confirmed in rational arithmetic.

    Args:
        trials: clouds of random leaders for every row of the second table.
        sizes: (leaders, period, class) that are searched completely.
        drawn: (dimension, leaders, period, class) of random leaders.
        alphas: step sizes.
    """
    complete = _searched(context, [Size(m, period, 1, among, ties=True) for m, period, among in sizes], alphas)
    caption = (
        "All patterns of a size: how many are refuted in rational numbers, how many can be cycles (pattern and alpha), "
        "the widest one, and whether an exact case was made from it"
    )
    context.table("patterns", caption, complete, SEARCHED)
    chosen = [(d, Size(m, period, 1, among, ties=True)) for d, m, period, among in drawn]
    caption = "Random leaders with whole coordinates from -3 to 3 that can all lead, pairs that tie"
    columns = ("d", "leaders", "period", "matrices", "clouds", "cycles of programs", "exact")
    context.table("drawn", caption, _drawn(context, chosen, alphas, trials), columns)
    cases = context.table("stored", "Exact cases that come with the package", replayed())
    plot = "cycles:plot_one_head_cycles", orbit("one-head-period-2"), orbit("one-head-period-3")
    context.figure("cycles", *plot, text="The smallest cycle of one head, and a cycle of period 3.")
    holds = [row["case"] for row in cases.records() if row["holds exactly"] == "yes"]
    return Outcome(
        f"{'Yes' if 'one-head-period-2' in holds else 'Not shown here'}: with ties. The smallest cycle has 5 tokens in "
        "dimension 3 and period 2; each of the three numbers is proved to be minimal. Without ties one head never "
        f"cycles (proved), but it need not converge. {len(holds)} of {len(cases.rows)} stored cases hold in rational "
        "arithmetic."
    )


def _searched(context: Context, sizes: Sequence[Size], alphas: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The rows of the table of complete searches; the exact case of each widest cycle is kept."""

    def search(size: Size) -> tuple[list[Any], Any]:
        patterns, hits, refuted, best = sweep(size, [Fraction(a) for a in alphas])
        counts = [patterns, patterns * len(alphas), refuted, hits]
        if best is None:
            return [*counts, "", "", ""], None
        case = confirmed(best, size.among, f"found-{size.heads}-{size.among}-{size.leaders}-{size.period}")
        return [*counts, best.margin, str(best.pattern), "yes" if case else "no"], case and case.document()

    text = "all patterns: {0.heads} heads, {0.leaders} leaders, period {0.period}, {0.among}"
    for (size,), (row, case) in context.sweep([(size,) for size in sizes], text, search, alphas=alphas).items():
        if case:
            context.case(read_case(case))
        yield size.leaders, size.period, WORDS[size.among], *row


def _drawn(
    context: Context, cells: Sequence[tuple[int, Size]], alphas: tuple[str, ...], trials: int
) -> Iterator[tuple[Any, ...]]:
    """The rows of the table of random leaders; exact cases are kept."""

    def draw(dim: int, size: Size) -> tuple[int, int, Any]:
        rng = np.random.default_rng((context.seed, dim, size.leaders, size.period))
        programs, hits, case = draw_leaders(size, dim, trials, [Fraction(a) for a in alphas], rng)
        return programs, hits, case and case.document()

    found = context.sweep(cells, "random leaders, d = {}, {.among}", draw, trials=trials, alphas=alphas)
    for (dim, size), (programs, hits, case) in found.items():
        if case:
            context.case(read_case(case))
        exact, cycles = "yes" if case else "no" if hits else "", Share(hits, max(programs, 1))
        yield dim, size.leaders, size.period, WORDS[size.among], trials, cycles, exact


def replayed() -> Iterator[dict[str, Any]]:
    """The cases that come with the package, each replayed now."""
    for name in stored():
        case, changed = load(name)
        yield {
            "case": name, "kind": case.kind, "matrices": case["matrices"], "heads": len(case["heads"]),
            "n": len(case["tokens"]), "d": len(case["tokens"][0]), "alpha": str(case["alpha"]),
            "period": case["period"], "ties": "yes" if case["ties"] else "no",
            "holds exactly": "no" if changed or check(case) else "yes",
        }  # fmt: skip


def orbit(name: str) -> dict[str, Floats]:
    """A stored cycle as floats: its tokens, its heads, and the places of the moving token over one period.

    Example:
        >>> orbit("one-head-period-2")["orbit"][:, 0].round(3).tolist()
        [0.333, -0.333]
    """
    case, _ = load(name)
    tokens, places = case["tokens"], []
    for _ in range(case["period"]):
        places.append(tokens[case["moving"][0]])
        tokens, _ = layer(tokens, case["alpha"], case["heads"])
    found = {"tokens": case["tokens"], "heads": case["heads"], "orbit": places}
    return {key: np.array(value, dtype=np.float64) for key, value in found.items()}


def draw_heads(family: str, heads: int, count: int, d: int, rng: np.random.Generator) -> Floats:
    """(heads, count, d, d) symmetric positive definite matrices.

    "wishart": N N^T / d. "stretched": random axes, eigenvalues from 1 to 1000. "diagonal": such eigenvalues on the
    coordinate axes. "simplex" clouds use wishart matrices.
    """
    shape = (heads, count, d, d)
    if family in ("wishart", "simplex"):
        N = rng.standard_normal(shape)
        return np.asarray(N @ np.swapaxes(N, -1, -2) / d)
    values = 10.0 ** rng.uniform(0, 3, shape[:-1])
    Q = np.broadcast_to(np.eye(d), shape) if family == "diagonal" else np.linalg.qr(rng.standard_normal(shape))[0]
    return np.asarray((Q * values[..., None, :]) @ np.swapaxes(Q, -1, -2))


def draw_clouds(family: str, count: int, n: int, d: int, rng: np.random.Generator) -> Floats:
    """(count, n, d) standard normal tokens; "simplex": the unit vectors, and points between them."""
    if family != "simplex":
        return rng.standard_normal((count, n, d))
    corners = np.broadcast_to(np.eye(d), (count, d, d))[:, :n]
    between = rng.dirichlet(np.ones(d), (count, max(n - d, 0)))
    return np.concatenate([corners, between], axis=1)


@question(
    "definite-heads",
    "Do several heads with symmetric positive definite matrices always converge?",
    quick={
        "trials": 100, "shapes": ((2, 4, 3),), "sizes": ((2, 2, 2), (2, 3, 2)), "alphas": ("1",),
        "steps": ("1/2", "1"), "noise": (0.01,), "layers": 200,
    },
)  # fmt: skip
def definite_heads(
    context: Context,
    *,
    trials: int = 1000,
    shapes: tuple[tuple[int, int, int], ...] = ((2, 4, 3), (2, 12, 3), (4, 12, 3)),
    sizes: tuple[tuple[int, int, int], ...] = (
        (2, 2, 2), (2, 2, 3), (2, 2, 4), (2, 3, 2), (2, 3, 3), (2, 3, 4), (2, 4, 2), (2, 4, 3), (3, 3, 2),
    ),
    alphas: tuple[str, ...] = ("1/2", "4"),
    steps: tuple[str, ...] = ("1/100", "1/10", "1/2", "1", "2", "10", "100"),
    noise: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1),
    layers: int = 400,
) -> Outcome:  # fmt: skip
    """Random clouds, complete searches, the cycle for many alphas, and how much noise it survives.

    Args:
        trials: random clouds for every row.   shapes: their (heads, n, d).   layers: how long they run.
        sizes: (heads, leaders, period) that are searched completely by linear programs, with step sizes `alphas`.
        steps: alphas for which the cycle is checked exactly.
        noise: how far all numbers of the cycle are moved.
    """

    def counts(family: str, heads: int, n: int, d: int) -> dict[str, int]:
        rng = np.random.default_rng((context.seed, FAMILIES.index(family), heads, n, d))

        def draw(count: int) -> tuple[Floats, Floats]:
            matrices = draw_heads(family, heads, count, d, rng)
            return draw_clouds(family, count, n, d, rng), matrices

        return count_fates(draw, trials, layers, 500)

    cells = [(family, *shape) for family in FAMILIES for shape in shapes]
    text = "random clouds: {}, {} heads, n = {}, d = {}"
    found = context.sweep(cells, text, counts, trials=trials, layers=layers)
    at_random = [(*cell, *(Share(one[fate], trials) for fate in ("cycle", "moving"))) for cell, one in found.items()]
    searched = _searched(context, [Size(m, period, h, "definite", ties=False) for h, m, period in sizes], alphas)
    complete = [(h, m, period, *row) for (h, *_), (m, period, _, *row) in zip(sizes, searched, strict=True)]
    columns: tuple[str, ...] = ("heads drawn as", "heads", "n", "d", "cycles", "moving")
    random = context.table("random", f"{trials} clouds per row, alpha = 1", at_random, columns)
    caption = "All patterns without ties, both heads symmetric positive definite"
    patterns = context.table("patterns", caption, complete, ("heads", *SEARCHED[:2], *SEARCHED[3:]))
    context.tell(0, None, "the cycle for many alphas, and with noise")
    of_alpha = {alpha: at_alpha(Fraction(alpha)) for alpha in steps}
    exact = [(a, point(case["tokens"][3]), 2, "no" if check(case) else "yes") for a, case in of_alpha.items()]
    columns = ("alpha", "token", "period", "holds exactly")
    context.table("steps", "The cycle in rational arithmetic, by alpha", exact, columns)
    caption = "All tokens and matrices moved by normal noise (the matrices stay symmetric), alpha = 1"
    shaken = [{"noise": size, "still a cycle": _shaken(context.seed, trials, layers, size)} for size in noise]
    context.table("noise", caption, shaken)
    text = "A cycle of two definite heads on the triangle of its three leaders."
    context.figure("cycle", "cycles:plot_cycle_in_triangle", orbit(FOUND), text=text)
    text = "The widest margin of a cycle, by size."
    context.figure("search", "measurements:plot_margins", patterns.records(), text=text)
    cycles = random.column("cycles")
    seen = Share(sum(s.count for s in cycles), sum(s.trials for s in cycles))
    wrong = check(at_alpha(Fraction(1)))
    if wrong:
        return Outcome(f"The known cycle does not hold: {wrong[0]}. Random clouds: {seen} cycles.")
    return Outcome(
        "No. Two symmetric positive definite heads cycle with 4 tokens in dimension 3, period 2, without ties, for "
        "every alpha > 0 (proved; all three numbers are minimal). Random search hardly finds it: "
        f"{seen} of the random clouds cycled; linear programs find it at once."
    )


def at_alpha(alpha: Fraction) -> Case:
    """The cycle of two definite heads for any alpha > 0: the token is (1, 2 + alpha, 1 + alpha) / (4 + 2 alpha).

    Example:
        >>> check(at_alpha(Fraction(22, 7)))
        []
    """
    case, _ = load(FOUND)
    token = tuple(x / (4 + 2 * alpha) for x in (Fraction(1), 2 + alpha, 1 + alpha))
    return case.changed(alpha=alpha, tokens=(*case["tokens"][:3], token))


def wide_cycle(alpha: Fraction) -> Case:
    """The cycle of two definite heads whose size stays above a bound for every alpha > 0.

    With M the least number such that E = (1+alpha)^-M < 1/3, the period is 4 M and the token starts at X = (1-E)^2 / h,
    Y = -(1-E^2) / h, h = 2 (1+E^2), where X = z_1 - z_3, Y = z_2 - z_4 (proof in docs/paper.md, Theorem 11).

    Example:
        >>> [wide_cycle(Fraction(alpha))["period"] for alpha in (3, 1, "1/10")]
        [4, 8, 48]
    """
    case, _ = load(WIDE)
    layers, E = 1, 1 / (1 + alpha)
    while Fraction(1, 3) <= E:
        layers, E = layers + 1, E / (1 + alpha)
    X, Y = (1 - E) ** 2 / (2 * (1 + E * E)), -(1 - E * E) / (2 * (1 + E * E))
    token = tuple(Fraction(1, 4) + x / 2 for x in (X, Y, -X, -Y))
    return case.changed(alpha=alpha, tokens=(*case["tokens"][:4], token), period=4 * layers)


def _shaken(seed: int, trials: int, layers: int, noise: float) -> Share:
    """How often the cycle survives noise in all its numbers."""
    cycle, rng = orbit(FOUND), np.random.default_rng((seed, 77))
    M = cycle["heads"][:, None] + noise * rng.standard_normal((2, trials, 3, 3))
    clouds = cycle["tokens"] + noise * rng.standard_normal((trials, 4, 3))
    return Share(sum(still_cycle(clouds, (M + np.swapaxes(M, -1, -2)) / 2, layers, 2)), trials)
