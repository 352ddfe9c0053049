"""Question: do several heads with symmetric positive definite matrices always converge?

For one head they do [AFZ24, Theorem 1.1]. For two heads random clouds always converged. They need not: the linear
programs of `search` find a cycle of 4 tokens in dimension 3, period 2, without ties, and it exists for every alpha > 0
(proof in docs/open-questions.md). Fewer leaders, a lower dimension or a shorter period are impossible.
"""

from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.experiments.journal import Journal
from hardmax.experiments.provenance import provenance
from hardmax.experiments.questions.batches import Run, fates, still_cycle
from hardmax.experiments.questions.cases import Case, load, replay
from hardmax.experiments.questions.evidence import Evidence, Progress, explorer
from hardmax.experiments.questions.one_head import searched
from hardmax.experiments.questions.search import Size
from hardmax.experiments.tables import Share, Table

QUESTION = "Do several heads with symmetric positive definite matrices always converge?"
FOUND = "two-definite-heads-period-2"
AT_ONCE = 500


@dataclass(frozen=True)
class Setting:
    """What is tried.

    Attributes:
        trials: random clouds for every row.
        shapes: (heads, n, d) of random clouds.
        sizes: (heads, leaders, period) that are searched completely by linear programs.
        steps: alphas for which the cycle is checked exactly.
        noise: how far all numbers of the cycle are moved.
    """

    trials: int = 1000
    seed: int = 0
    shapes: tuple[tuple[int, int, int], ...] = ((2, 4, 3), (2, 12, 3), (4, 12, 3))
    sizes: tuple[tuple[int, int, int], ...] = (
        (2, 2, 2), (2, 2, 3), (2, 2, 4), (2, 3, 2), (2, 3, 3), (2, 3, 4), (2, 4, 2), (2, 4, 3), (3, 3, 2),
    )  # fmt: skip
    alphas: tuple[str, ...] = ("1/2", "4")
    steps: tuple[str, ...] = ("1/100", "1/10", "1/2", "1", "2", "10", "100")
    noise: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1)
    run: Run = field(default_factory=lambda: Run(layers=400))

    @staticmethod
    def quick() -> "Setting":
        return Setting(
            trials=100, shapes=((2, 4, 3),), sizes=((2, 2, 2), (2, 3, 2)), alphas=("1",), steps=("1/2", "1"),
            noise=(0.01,), run=Run(layers=200),
        )  # fmt: skip


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


FAMILIES = ("wishart", "stretched", "diagonal", "simplex")


@explorer(Setting)
def explore(setting: Setting, tell: Progress, notes: Journal) -> Evidence:
    """Random clouds, complete searches, the cycle for many alphas, and how much noise it bears."""
    cells = [(family, *shape) for family in FAMILIES for shape in setting.shapes]
    steps = len(cells) + len(setting.sizes) + 2
    at_random, complete, cases = [], [], []
    for number, cell in enumerate(cells):
        tell(number, steps, f"random clouds: {cell[0]}, {cell[1]} heads, n = {cell[2]}, d = {cell[3]}")
        at_random.append(_random(setting, *cell, notes))
    alphas = [Fraction(a) for a in setting.alphas]
    for number, (heads, leaders, period) in enumerate(setting.sizes):
        tell(len(cells) + number, steps, f"all patterns: {heads} heads, {leaders} leaders, period {period}")
        row, case = searched(Size(leaders, period, heads, "definite", ties=False), alphas, notes)
        complete.append((heads, *row[:2], *row[3:]))
        cases += [case] if case is not None else []
    tell(steps - 2, steps, "the cycle for many alphas, and with noise")
    tables = (
        Table("random", f"{setting.trials} clouds a row, alpha = {setting.run.alpha:g}",
              ("heads drawn as", "heads", "n", "d", "cycles", "moving"), tuple(at_random)),
        Table("patterns", "All patterns without ties, both heads symmetric positive definite",
              ("heads", "leaders", "period", "patterns", "programs", "cycles", "margin", "follows", "exact"),
              tuple(complete)),
        Table("steps", "The cycle in rational arithmetic, by alpha", ("alpha", "token", "period", "holds exactly"),
              tuple((a, _shown(at_alpha(Fraction(a))), 2, "no" if replay(at_alpha(Fraction(a))) else "yes")
                    for a in setting.steps)),
        Table("noise", "All tokens and matrices moved by normal noise (the matrices stay symmetric), alpha = 1",
              ("noise", "still a cycle"), tuple((s, _shaken(setting, s)) for s in setting.noise)),
    )  # fmt: skip
    settings: dict[str, Any] = asdict(setting)
    answer = _answer(tables, replay(at_alpha(Fraction(1))))
    return Evidence("definite-heads", QUESTION, answer, settings, provenance(setting.seed), tables, tuple(cases))


def at_alpha(alpha: Fraction) -> Case:
    """The cycle of two definite heads for any alpha > 0: the token is (1, 2 + alpha, 1 + alpha) / (4 + 2 alpha).

    Example:
        >>> replay(at_alpha(Fraction(22, 7)))
        []
    """
    case, _ = load(FOUND)
    token = tuple(x / (4 + 2 * alpha) for x in (Fraction(1), 2 + alpha, 1 + alpha))
    return replace(case, alpha=alpha, tokens=(*case.tokens[:3], token))


def _shown(case: Case) -> str:
    return "(" + ", ".join(str(x) for x in case.tokens[3]) + ")"


def _random(setting: Setting, family: str, heads: int, n: int, d: int, journal: Journal) -> tuple[Any, ...]:
    key: dict[str, Any] = {"heads": [family, heads, n, d], "trials": setting.trials, "seed": setting.seed}
    key |= {"run": asdict(setting.run)}
    known = journal.get(key)
    if known is None:
        known = {"cycle": 0, "moving": 0}
        rng = np.random.default_rng((setting.seed, FAMILIES.index(family), heads, n, d))
        for begin in range(0, setting.trials, AT_ONCE):
            count = min(AT_ONCE, setting.trials - begin)
            matrices = draw_heads(family, heads, count, d, rng)
            for fate in fates(draw_clouds(family, count, n, d, rng), matrices, setting.run):
                if fate in known:
                    known[fate] += 1
        journal.put(key, known)
    return family, heads, n, d, Share(known["cycle"], setting.trials), Share(known["moving"], setting.trials)


def _shaken(setting: Setting, noise: float) -> Share:
    """How often the cycle survives noise in all its numbers."""
    case = at_alpha(Fraction(1))
    rng = np.random.default_rng((setting.seed, 77))
    matrices = np.array(case.heads, dtype=np.float64)[:, None]
    M = matrices + noise * rng.standard_normal((len(case.heads), setting.trials, 3, 3))
    tokens = np.array(case.tokens, dtype=np.float64)
    clouds = tokens + noise * rng.standard_normal((setting.trials, *tokens.shape))
    kept = still_cycle(clouds, (M + np.swapaxes(M, -1, -2)) / 2, setting.run, case.period)
    return Share(sum(kept), setting.trials)


def _answer(tables: tuple[Table, ...], wrong: list[str]) -> str:
    cycles = [share for table in tables[:1] for share in table.column("cycles")]
    found, trials = sum(s.count for s in cycles), sum(s.trials for s in cycles)
    if wrong:
        return f"The known cycle does not hold: {wrong[0]}. Random clouds: {Share(found, trials)} cycles."
    return (
        "No. Two symmetric positive definite heads cycle with 4 tokens in dimension 3, period 2, without ties, for "
        "every alpha > 0 (proved; all three numbers are the least possible). Chance hardly shows it: "
        f"{Share(found, trials)} of the random clouds cycled; the linear programs find it at once."
    )
