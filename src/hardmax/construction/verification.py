"""Is it really exact? Five levels that share as little code as possible.

* certificate: intervals from the stored parameters and the data, for all sequences: a proof over the reals;
* float64: the forward pass in NumPy, staircases by bisection, for all sequences;
* dense: the forward pass in NumPy, every unit, for a sample;
* rational: the stored parameters in exact arithmetic;
* torch: another library, every unit, softmax attention where that is the same map.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardmax.cloud.distinct import distinct_rows
from hardmax.cloud.ragged import Bools, Ragged
from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.certificate import fingerprint, prove
from hardmax.construction.problem import Problem, prototypes
from hardmax.errors import BadInput, counted, need, whole
from hardmax.io.documents import json_text
from hardmax.transformer.evaluate import forward
from hardmax.transformer.export import one_thread
from hardmax.transformer.rational import ExactRows, exact_forward
from hardmax.views import Shown

if TYPE_CHECKING:
    from hardmax.construction.network import Network

LEVELS = ("certificate", "float64", "dense", "rational", "torch")
# Levels that visit every unit look at as many sequences as this many unit evaluations allow, and at most at SAMPLE;
# at LAYERS blocks of one sequence in all; the rational level looks at this many tokens, divided by the number of
# blocks that work on single tokens.
UNITS, LAYERS, SAMPLE, RATIONAL_TOKENS = 2e8, 4e3, 200, 2_000_000


class Comparison(NamedTuple):
    """Sequence by sequence."""

    exact: Bools  # (N,) whether the set of output tokens is the target set, bit for bit
    right: Bools  # (N,) whether it is after moving every output token to the nearest target
    error: Floats  # (N,) the largest distance (maximum norm) between output tokens and target tokens


@dataclass(frozen=True)
class Level:
    """What one level found.

    Attributes:
        name: which level.
        sequences: the number of sequences it looked at.
        exact: the number of sequences with exactly their target (bit for bit, or as rational numbers).
        right: the number of sequences with their target after each output was moved to the nearest target.
        max_error: the largest distance of an output from its target (maximum norm).
        passed: whether the result is what the style promises.
        seconds: the time it took.
        note: why it failed, if it did.
    """

    name: str
    sequences: int
    exact: int
    right: int
    max_error: float
    passed: bool
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Verification(Shown):
    """The report of `Network.verify`; it is true if the network is exact.

    Attributes:
        exact: whether every level that was run passed.
        sequences: the number of sequences in the data.
        levels: the levels that were run.
        min_gap: the smallest distance between keys that must be told apart.
        slack: the smallest distance of a key from a ramp in units of its rounding bound.
        max_error: the largest error on any level.
    """

    exact: bool
    sequences: int
    levels: tuple[Level, ...]
    min_gap: float
    slack: float
    max_error: float

    def __bool__(self) -> bool:
        return self.exact

    def to_json(self) -> dict[str, Any]:
        """A dictionary for json.dumps; infinite numbers become None."""
        document: dict[str, Any] = json.loads(json_text(asdict(self)))
        return document

    def __str__(self) -> str:
        verdict = "exact" if self.exact else "NOT exact"
        count = counted(self.sequences, "sequence")
        lines = [f"{verdict}: {count}, smallest gap {self.min_gap:.3g}, slack {self.slack:.3g}"]
        for level in self.levels:
            lines.append(
                f"  {'ok  ' if level.passed else 'FAIL'} {level.name:<12} {level.exact}/{level.sequences} exact, "
                f"largest error {level.max_error:.3g}, {level.seconds:.2f} s{'; ' + level.note if level.note else ''}"
            )
        return "\n".join(lines)


def verify(
    net: "Network", problem: Problem, levels: str | Iterable[str] | None, sample: int | None, seed: int
) -> Verification:
    """Check a network against data; `Network.verify` says what the options mean."""
    if problem.batch.dim != net.dim:
        raise BadInput(f"the tokens have dimension {problem.batch.dim}, but the network was built for {net.dim}")
    if levels is None:
        levels = (name for name in LEVELS if name != "torch" or find_spec("torch") is not None)
    levels = (levels,) if isinstance(levels, str) else tuple(levels)
    if not levels or not set(levels) <= set(LEVELS):
        raise BadInput(f"levels is {list(levels)!r}", fix=f"use some of {', '.join(LEVELS)}")
    problem = _with_classes_of(net, problem)
    rng = np.random.default_rng(whole("seed", seed, 0))
    if sample is None:
        work = sum(block.ff.width * max(1, len(block.ff.writes)) for block in net.stack)
        sample = int(np.clip(min(UNITS / work / problem.batch.lengths.mean(), LAYERS / net.blocks), 1, SAMPLE))
    few = _sample(rng, len(problem.batch), whole("sample", sample, 1))
    rational = _sample(rng, len(problem.batch), _rational_sample(net, problem))
    which = {"dense": few, "torch": few, "rational": rational}
    reports, gap, slack = [], net.gap, net.slack
    for name in levels:
        start = perf_counter()
        chosen, note = which.get(name), ""
        part = problem if chosen is None else problem.take(chosen)
        if name == "certificate":
            found, gap, slack, note = _certificate(net, part)
        else:
            found = _EVALUATE[name](net, part)
        reports.append(_level(net, name, found, perf_counter() - start, note))
    exact, error = all(level.passed for level in reports), max(level.max_error for level in reports)
    return Verification(exact, len(problem.batch), tuple(reports), gap, slack, error)


def _level(net: "Network", name: str, found: Comparison, seconds: float, note: str) -> Level:
    real = name in ("certificate", "rational")
    # Over the reals every style is exact. In float64 only `bitwise` promises bits; the others promise the right target.
    good = found.exact if real or net.style == "bitwise" else found.right
    passed = bool(good.all()) and not note
    error = float(found.error.max(initial=0.0))
    if not passed and not note:
        note = f"first wrong sequence: {int(np.argmin(good))}"
    return Level(name, len(good), int(found.exact.sum()), int(found.right.sum()), error, passed, seconds, note)


def _certificate(net: "Network", problem: Problem) -> tuple[Comparison, float, float, str]:
    proof = prove(net.fused, problem.batch)
    found = compare(problem, proof.rows, proof.per_sequence, proof.exact, proof.where)
    same = fingerprint(net.stack) == net.certified
    return found, proof.gap, proof.slack, "" if same else "the parameters are not those that were certified"


def _by_parts(problem: Problem, tokens: int, compared: Callable[[Problem], Comparison]) -> Comparison:
    """The comparisons of consecutive parts of about this many tokens, as one."""
    pieces, first = [], 0
    for batch in problem.batch.groups(tokens):
        wanted = problem.wanted.take(np.arange(first, first + len(batch)))
        pieces.append(compared(Problem(batch, problem.targets, wanted, problem.classes)))
        first += len(batch)
    return Comparison(*map(np.concatenate, zip(*pieces, strict=True)))


def _float64(net: "Network", problem: Problem, dense: bool = False) -> Comparison:
    def compared(part: Problem) -> Comparison:
        state = forward(net.stack if dense else net.fused, part.batch, dense=dense)
        return compare(part, state.rows, state.per_sequence)

    return _by_parts(problem, 1 << 20, compared)


def _rational(net: "Network", problem: Problem) -> Comparison:
    def compared(part: Problem) -> Comparison:
        first, where = distinct_rows(part.batch.values)
        state = exact_forward(net.fused, ExactRows.of(part.batch.values[first], where), part.batch)
        rows, exact = state.floats()
        return compare(part, rows, state.per_sequence, exact, state.where)

    return _by_parts(problem, 1 << 15, compared)


def _torch(net: "Network", problem: Problem) -> Comparison:
    torch = need("torch", "torch", "the level torch")
    module = net.to_torch()
    with one_thread(torch), torch.no_grad():
        outputs = [module(torch.from_numpy(np.array(tokens))).numpy() for tokens in problem.batch]
    return compare(problem, np.concatenate(outputs), per_sequence=False)


_EVALUATE: dict[str, Callable[["Network", Problem], Comparison]] = {
    "float64": _float64,
    "dense": lambda net, problem: _float64(net, problem, dense=True),
    "rational": _rational,
    "torch": _torch,
}


def _rational_sample(net: "Network", problem: Problem) -> int:
    """The number of sequences for the rational level; rounds of attention and lifts cost as much as the first block."""
    spread = sum(block.ff.eta == 1.0 and block.stage == "separate" for block in net.fused)
    tokens = RATIONAL_TOKENS / max(1, spread)
    return max(1, int(tokens / problem.batch.lengths.mean()))


def _sample(rng: np.random.Generator, n: int, size: int) -> Ints | None:
    return None if size >= n else np.sort(rng.choice(n, size, replace=False))


def _with_classes_of(net: "Network", problem: Problem) -> Problem:
    """Number the labels as the network does; a label that it does not know gets a number that it never gives."""
    if (problem.classes is None) != (net.classes is None):
        raise BadInput(f"the network was built for {net.task}, but the data is for {problem.task}")
    if problem.classes is None or net.classes is None:
        return problem
    number = {label: c for c, label in enumerate(net.classes)}
    known = [number.get(label, len(number) + k) for k, label in enumerate(problem.classes)]
    targets = prototypes(max(len(number), max(known) + 1), net.dim)
    wanted = Ragged(np.array(known)[problem.wanted.values], problem.wanted.offsets)
    return Problem(problem.batch, targets, wanted, problem.classes)


def compare(
    problem: Problem, rows: Floats, per_sequence: bool, exact_rows: Bools | None = None, where: Ints | None = None
) -> Comparison:
    """Compare outputs with the targets of a problem.

    Args:
        rows: (T, d), or (N, d) if `per_sequence`; or fewer, with `where` saying which row each token or sequence has.
        exact_rows: where False, the row is not exact whatever its float64 digits say.
    """
    where = np.arange(len(rows)) if where is None else where
    ids = match_rows(rows, problem.targets)
    if exact_rows is not None:
        ids = np.where(exact_rows, ids, -1)
    exact = _same_sets(problem, ids[where], per_sequence)
    right, error = exact.copy(), np.zeros(len(exact))
    wrong = np.flatnonzero(~exact)
    if len(wrong):
        near = np.where(ids >= 0, ids, nearest_targets(rows, problem.targets))
        right = _same_sets(problem, near[where], per_sequence)
        for j in wrong:
            error[j] = _distance(problem, int(j), rows, where, per_sequence)
    return Comparison(exact, right, error)


def match_rows(rows: Floats, targets: Floats) -> Ints:
    """(rows,) the index of the target with the same bits, or -1.

    Example:
        >>> match_rows(np.array([[3.0], [1.0]]), np.array([[1.0], [2.0]]))
        array([-1,  0])
    """
    first, point_of = distinct_rows(np.concatenate([targets, rows]) + 0.0)
    same = first[point_of[len(targets) :]]  # the first row with these bits: a target if there is one
    return np.where(same < len(targets), same, -1)


def nearest_targets(rows: Floats, targets: Floats) -> Ints:
    """(rows,) the target nearest in the Euclidean norm; equal bits first, without a search."""
    ids = match_rows(rows, targets)
    missing = np.flatnonzero(ids < 0)
    if len(missing):
        from scipy.spatial import cKDTree

        finite = np.nan_to_num(rows[missing], nan=0.0, posinf=1e300, neginf=-1e300)
        scale = float(np.abs(targets).max()) or 1.0
        ids[missing] = cKDTree(targets / scale).query(np.clip(finite / scale, -1e6, 1e6))[1]
    return ids


def _same_sets(problem: Problem, ids: Ints, per_sequence: bool) -> Bools:
    wanted = problem.wanted
    if per_sequence:
        return (wanted.lengths == 1) & (ids == wanted.values[wanted.starts])
    base = len(problem.targets) + 1
    found = np.unique(problem.batch.owner * base + np.where(ids < 0, base - 1, ids))
    same = np.ones(len(wanted), dtype=bool)
    same[np.setxor1d(found, np.sort(wanted.owner * base + wanted.values), assume_unique=True) // base] = False
    return same


def _distance(problem: Problem, j: int, rows: Floats, where: Ints, per_sequence: bool) -> float:
    """The Hausdorff distance in the maximum norm between outputs and targets of one sequence."""
    first, last = problem.batch.offsets[j : j + 2]
    outputs = rows[np.unique(where[j : j + 1] if per_sequence else where[first:last])]
    targets = problem.targets[problem.wanted[j]]
    apart = np.abs(outputs[:, None] - targets[None]).max(axis=2)
    return float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))
