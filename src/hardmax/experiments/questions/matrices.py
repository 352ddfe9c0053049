"""Question: what happens when A is not symmetric, or not positive definite?

Clouds of standard normal tokens, matrices of eight families, one head; and regular polygons turned by a rotation. Every
run ends in one of five ways: at several points, at one point, at the origin, in a cycle, or it still moves.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.experiments.journal import Journal
from hardmax.experiments.provenance import provenance
from hardmax.experiments.questions.batches import FATES, Run, fates
from hardmax.experiments.questions.cases import load
from hardmax.experiments.questions.evidence import Evidence, Progress, explorer
from hardmax.experiments.tables import Share, Table

QUESTION = "A not symmetric or not positive definite: do tokens settle, cycle, or collapse to 0?"
AT_ONCE = 200


@dataclass(frozen=True)
class Setting:
    """Clouds and matrices."""

    trials: int = 300
    seed: int = 0
    dims: tuple[int, ...] = (2, 3, 4, 8)
    tokens: tuple[int, ...] = (5, 20)
    run: Run = field(default_factory=Run)

    @staticmethod
    def quick() -> "Setting":
        return Setting(trials=60, dims=(2, 3), tokens=(5,), run=Run(layers=300))


def draw_matrix(family: str, d: int, rng: np.random.Generator) -> Floats:
    """One matrix of a family; all are scaled to about the same size.

    Example:
        >>> A = draw_matrix("rotation", 3, np.random.default_rng(0))
        >>> bool(np.allclose(A @ A.T, np.eye(3)))
        True
    """
    N = rng.standard_normal((d, d))
    if family == "definite":
        return np.asarray(N @ N.T / d)
    if family == "negative definite":
        return np.asarray(-(N @ N.T) / d)
    if family == "indefinite":
        return np.asarray(N + N.T) / 2
    if family == "antisymmetric":
        return np.asarray(N - N.T) / 2
    if family == "rotation":
        Q, R = np.linalg.qr(N)
        Q = Q * np.sign(np.diag(R))
        Q[:, 0] *= np.sign(np.linalg.det(Q))
        return np.asarray(Q)
    if family.startswith("definite + "):
        strength = float(family.split()[2])
        M = rng.standard_normal((d, d))
        return np.asarray(N @ N.T / d + strength * (M - M.T) / 2)
    return np.asarray(N)


FAMILIES = (
    "definite", "definite + 1 antisymmetric", "definite + 10 antisymmetric", "general", "indefinite", "antisymmetric",
    "rotation", "negative definite",
)  # fmt: skip
POLYGON = "rotation, regular polygon"


@explorer(Setting)
def explore(setting: Setting, tell: Progress, notes: Journal) -> Evidence:
    """Count the fates of random clouds by family, dimension and number of tokens."""
    cells = [(family, d, n) for family in FAMILIES for d in setting.dims for n in setting.tokens]
    cells += [(POLYGON, 2, setting.tokens[0])]
    rows, total = [], dict.fromkeys(FATES, 0)
    for number, (family, d, n) in enumerate(cells):
        tell(number, len(cells), f"{family}, d = {d}, n = {n}")
        counts = _counts(setting, family, d, n, notes)
        for fate in FATES if family != POLYGON else ():
            total[fate] += counts[fate]
        rows.append((family, d, n, *(Share(counts[fate], setting.trials) for fate in FATES)))
    table = Table(
        "fates", f"{setting.trials} clouds a row, alpha = {setting.run.alpha:g}, at most {setting.run.layers} layers: "
        "count (95 % interval)", ("family", "d", "n", *FATES), tuple(rows),
    )  # fmt: skip
    case, _ = load("square-collapses-to-zero")
    return Evidence(
        "matrices", QUESTION, _answer(total, setting), asdict(setting), provenance(setting.seed), (table,), (case,)
    )


def _counts(setting: Setting, family: str, d: int, n: int, journal: Journal) -> dict[str, int]:
    key: dict[str, Any] = {"matrices": [family, d, n], **asdict(setting)}
    if (known := journal.get(key)) is not None:
        return known
    counts = dict.fromkeys(FATES, 0)
    rng = np.random.default_rng((setting.seed, [*FAMILIES, POLYGON].index(family), d, n))
    for begin in range(0, setting.trials, AT_ONCE):
        count = min(AT_ONCE, setting.trials - begin)
        A = np.stack([draw_matrix(family.partition(",")[0], d, rng) for _ in range(count)])
        clouds = rng.standard_normal((count, n, d)) if family != POLYGON else np.broadcast_to(polygon(n), (count, n, 2))
        for fate in fates(clouds, A[None], setting.run):
            counts[fate] += 1
    return journal.put(key, counts)


def polygon(n: int) -> Floats:
    """The corners of a regular polygon on the unit circle."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _answer(total: dict[str, int], setting: Setting) -> str:
    runs = sum(total.values())
    return (
        f"Of {runs:,} random runs of normal clouds {Share(total['cycle'], runs)} were cycles, "
        f"{Share(total['zero'], runs)} went to 0, {Share(total['moving'], runs)} were still moving after "
        f"{setting.run.layers} layers; the others came to rest at one point ({total['one point']:,}) or at several "
        f"({total['several points']:,}). Cycles exist all the same (question one-head), with ties, which random clouds "
        "do not have; and a regular polygon that is turned far enough goes to 0."
    )
