"""Stage 1, pool `max`: rounds of hardmax give every sequence a number of its own (lemma L3).

s in [1, 2] is a projection of the tokens, kept in e0. Round k adds the tent -|s - b_k| to e1 (and removes the one
before); hardmax with scores x_i[0] x_l[1] picks the token l* of the sequence that is nearest to b_k, as all queries are
positive, and V = c_k e1 e0^T hands c_k s_{l*} to every token. After K rounds e1 holds A_j = sum_k c_k (nearest to b_k).
*K <= N-1 suffices.* If the sets S^i, S^j differ in a token x, any b close to x has different nearest tokens in them; a
round for an unseparated pair raises the number of classes. A_i = A_j is then at most a hyperplane in c.
*Tight*: S^0 = base, S^j = base + {t_j} needs N-1 rounds, since only b near t_j tells j from 0.
*Broadcast s, not the maximum*: V = e1 e1^T would double A in every round.
*Ties*: for b midway between two tokens hardmax returns their average, which may be the very token that is missing. So
b keeps a margin from every such midpoint of every sequence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hardmax.cloud.ragged import Ragged, Sequences
from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.directions import smallest_gap
from hardmax.construction.problem import Problem
from hardmax.construction.separate_mean import NEAR, Separated, contradiction, key_error, measure, project
from hardmax.errors import ContradictoryTargets, IllConditioned
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.exact import EPS

LIFT = 2.0  # above every tent: e1 + LIFT > 0
TRIES = 32
# c_k are multiples of 2^-16, so that A_j needs few bits more than s.
GRAIN = 2.0**16
# A nearest token must be nearest by this much in every sequence; by GOOD_MARGIN / N there is no need to look further.
LEAST_MARGIN, GOOD_MARGIN = 1e-10, 1e-3
# How many unseparated pairs vote for a token, how many of the most wanted tokens are tried, and how many b for each.
PAIRS, CANDIDATES, PLACES = 64, 3, 8


@dataclass(frozen=True, eq=False)
class TokenSets:
    """The sets S^j of projected tokens; values closer than rounding count as one token."""

    values: Floats  # (V,) the distinct values, ascending
    codes: Ragged[np.int64]  # j V + v for every token v of S^j, ascending in each set and from set to set
    digests: Ints  # (N,) equal for equal sets

    @staticmethod
    def of(batch: Sequences, s: Floats, near: float) -> "TokenSets":
        order = np.argsort(s, kind="stable")
        fresh = np.concatenate([[True], np.diff(s[order]) > near])
        ids = np.empty(len(s), dtype=np.int64)
        ids[order] = np.cumsum(fresh) - 1
        values = s[order][fresh]
        every = np.unique(batch.owner * len(values) + ids)
        codes = Ragged(every, np.searchsorted(every, np.arange(len(batch) + 1) * len(values)))
        # Sums of random numbers: different sets collide with probability 2^-63, and a collision is noticed later.
        random = np.random.default_rng(0).integers(0, 2**63, len(values), dtype=np.int64)
        return TokenSets(values, codes, codes.reduce(np.add, random[every % len(values)]))

    def __len__(self) -> int:
        return len(self.codes)

    def tokens(self, j: int) -> Ints:
        """The token numbers of S^j."""
        return self.codes[j] - j * len(self.values)

    def around(self, b: float) -> Floats:
        """(4, N) for each sequence its two tokens below b and the two from b on: the two nearest are among them."""
        first = np.arange(len(self)) * len(self.values)
        at = np.searchsorted(self.codes.values, first + np.searchsorted(self.values, b))
        return np.stack([self._value(at + step) for step in (-2, -1, 0, 1)])

    def _value(self, position: Ints) -> Floats:
        """(N,) the value at a position of `codes`, NaN where that is not in the sequence."""
        codes = self.codes
        inside = (position >= codes.offsets[:-1]) & (position < codes.offsets[1:])
        return np.where(inside, self.values[codes.values[np.where(inside, position, 0)] % len(self.values)], np.nan)


@dataclass(frozen=True, eq=False)
class Choice:
    """A round: the top of the tent, (N,) the nearest token of each sequence, and by how much it is nearest."""

    b: float
    nearest: Floats
    margin: float


@dataclass(frozen=True, eq=False)
class SeparatedByMax(Separated):
    """Identifiers z_j = A_j + LIFT made by rounds of hardmax, and g = s."""

    rounds: tuple[Block, ...]  # the first holds `ff`; one block without attention if all targets are equal
    last: float | None  # b_K, the top of the tent that is still in e1; None without rounds
    margin: float  # the smallest distance by which a nearest token is nearest
    weight: float  # sum of the c_k

    def front(self, dim: int, rho: float = 1.0, A: float = 1.0, into: int = 0) -> list[Block]:
        """The rounds, and a layer (eta = 0) after which a token is rho s e0 + A z e_into.

        Its units are s, e1 + LIFT, (s - b)_+, (b - s)_+: the last two remove the tent.
        """
        if self.last is None:  # z is constant and s is in e0 already
            return list(self.rounds)
        W = np.zeros((into + 1, 4))
        W[0, 0], W[into, 1:] = rho, A
        U = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
        b = np.array([0.0, LIFT, -self.last, self.last])
        used = W.any(axis=0)
        ff = FeedForwardLayer(U[used], b[used], W[:, used], np.array([0, 1]), np.arange(len(W)), 0.0)
        return [*self.rounds, Block(ff, AttentionLayer.identity(dim), "separate")]

    def temperature(self, stack: Sequence[Block], room: float, longest: int) -> float:
        """A temperature at which softmax attention gives the same answers on the data as hardmax.

        Keys are A z + ..., so z may move by `room`, that of the keys, over A, the largest weight behind the rounds. Let
        eta = min(margin/8, room/2A) / sum c_k. If all rounds so far erred by <= c eta, A differs by <= 2 eta sum c <=
        margin/4 between tokens of a sequence, so the nearest token still leads by margin/2, and queries are >= 1: the
        others weigh <= (n-1) e^(-margin / 2T) in all, which is <= eta for T = margin / (2 ln((n-1)/eta)). Tokens are
        <= 1 apart, so this round errs by <= c_k eta as well, and z by <= room/2A in the end: the key stays on its
        plateau, and the output is the same.
        """
        if self.last is None or longest < 2:
            return float(np.inf)
        room /= max(1.0, float(np.abs(stack[len(self.rounds)].ff.W).max()))
        eta = min(self.margin / 8, room / 2) / max(1.0, self.weight)
        return float(self.margin / (2 * np.log(max(2.0, (longest - 1) / eta))))


def separate_by_max(problem: Problem, u: Floats, rng: np.random.Generator) -> SeparatedByMax:
    """Find the rounds for the direction u.

    Raises:
        ContradictoryTargets: equal sets of tokens with different targets.
        IllConditioned: two sequences are closer along u than float64 resolves.
    """
    batch, axes = problem.batch, np.flatnonzero(u)
    spread = float(np.ptp(project(batch.values, u, axes)[0]))
    if spread > 0:
        u = u * 2.0 ** -np.ceil(np.log2(spread))
    dot, size = project(batch.values, u, axes)
    # s = <u, x> + shift is in [1, 2]; the tops b and the shift lie on a grid on which shift - b is exact.
    lowest = float(dot.min())
    grid = 2 * float(np.spacing(max(4.0, abs(1 - lowest))))
    shift = float(np.ceil((1 - lowest) / grid) + 1) * grid
    s, s_error = np.maximum(dot + shift, 0.0), key_error(size, np.array([shift]), [], len(axes))
    sets = TokenSets.of(batch, s, NEAR * float(s_error.max()))
    labels = _merge_equal_sets(problem, sets)
    rounds = _separate(problem, sets, labels, grid)
    features = np.stack([choice.nearest for choice in rounds], axis=1) if rounds else np.zeros((len(batch), 0))
    c = _weights(features, labels, rng)
    z = features @ c + (LIFT if rounds else 0.0)
    # Tents are added and removed in float64: a few roundings of s and of e1 in every round.
    z_error = (c.sum() + 4 * len(c) + 4) * s_error.max() + 8 * (len(c) + 2) * EPS * (z + 4)
    margin = min((choice.margin for choice in rounds), default=np.inf)
    if margin < NEAR * z_error.max():
        raise IllConditioned(
            "pool='max': the nearest tokens are too close together for float64",
            found=f"tie margin {margin:.3g}, rounding bound {z_error.max():.3g}",
            fix="use pool='mean'",
        )
    tops = [choice.b for choice in rounds]
    blocks = tuple(_blocks(batch.dim, u[axes], axes, shift, tops, c))
    last = tops[-1] if tops else None
    return SeparatedByMax(blocks[0].ff, s, s_error, z, z_error, labels, blocks, last, margin, float(c.sum()))


def _merge_equal_sets(problem: Problem, sets: TokenSets) -> Ints:
    """Labels after sequences with equal sets of tokens were merged: no round can tell them apart."""
    labels = problem.labels.copy()
    order = np.lexsort((labels, sets.digests))
    same = sets.digests[order][1:] == sets.digests[order][:-1]
    for a, b in zip(order[:-1][same].tolist(), order[1:][same].tolist(), strict=True):
        if labels[a] == labels[b]:
            continue
        one, other = measure(problem.batch, a), measure(problem.batch, b)
        first, second = sorted((a, b))
        if one[0] != other[0]:
            raise IllConditioned(
                f"sequences {first} and {second} are closer than float64 resolves",
                found="different sets of tokens, but every token of one is within rounding of a token of the other",
                fix="round the tokens so that equal ones are equal, or rescale them; merge the two if they are one",
            )
        if problem.target_set(a) == problem.target_set(b):
            labels[labels == labels[b]] = labels[a]
        elif one == other:
            raise contradiction(problem, a, b)
        else:
            raise ContradictoryTargets(
                f"sequences {first} and {second} hold the same set of tokens, in different proportions, but have "
                "different targets; pool='max' sees sets only",
                fix="use pool='mean', which tells proportions apart",
                sequences=(first, second),
            )
    return labels


def _separate(problem: Problem, sets: TokenSets, labels: Ints, grid: float) -> list[Choice]:
    """Rounds until no two sequences with different labels have the same nearest tokens in all of them."""
    rounds: list[Choice] = []
    group = np.zeros(len(problem.batch), dtype=np.int64)
    while True:
        order = np.lexsort((labels, group))
        i, j = order[:-1], order[1:]
        open_pairs = (group[i] == group[j]) & (labels[i] != labels[j])
        if not open_pairs.any():
            return rounds
        choice = choose_round(sets, i[open_pairs], j[open_pairs], grid)
        rounds.append(choice)
        _, feature = np.unique(choice.nearest, return_inverse=True)
        _, group = np.unique(group * (int(feature.max()) + 1) + feature.ravel(), return_inverse=True)
        group = group.ravel()


def _weights(features: Floats, labels: Ints, rng: np.random.Generator) -> Floats:
    """c_k in [1/2, 1], the best of a few random choices: the widest smallest gap between different labels."""
    candidates = np.rint(rng.uniform(0.5, 1.0, (TRIES, features.shape[1])) * GRAIN) / GRAIN
    gaps = [smallest_gap(features @ c, labels) for c in candidates]
    return candidates[int(np.argmax(gaps))]


def _blocks(dim: int, u: Floats, axes: Ints, shift: float, tops: list[float], c: Floats) -> list[Block]:
    """The rounds as blocks of width <= 4: the first also projects, the others also remove the tent before."""
    one, both = np.array([0]), np.array([0, 1])
    if not tops:
        return [Block.feed_forward(dim, "separate", u[None], [shift], [[1.0]], reads=axes, writes=[0])]
    beta = shift - tops[0]  # exact: both are on the grid
    W = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, -1.0]])
    layers = [FeedForwardLayer(np.stack([u, u, -u]), np.array([shift, beta, -beta]), W, axes, both, 0.0)]
    for before, b in pairwise(tops):
        U = np.array([[1.0], [-1.0], [1.0], [-1.0]])
        W = np.array([[-1.0, -1.0, 1.0, 1.0]])
        layers.append(FeedForwardLayer(U, np.array([-b, b, -before, before]), W, one, np.array([1]), 1.0))
    attention = [AttentionLayer.of(dim, rho=1.0, V={(1, 0): weight}, query=0, key=1) for weight in c.tolist()]
    return [Block(ff, sa, "separate") for ff, sa in zip(layers, attention, strict=True)]


def choose_round(sets: TokenSets, i: Ints, j: Ints, grid: float) -> Choice:
    """A round that separates at least one of the pairs (i, j), and many if one token is missing in many."""
    some = np.linspace(0, len(i) - 1, min(PAIRS, len(i))).astype(np.int64)
    pairs = [(int(i[p]), int(j[p])) for p in some]
    differences = [np.setxor1d(sets.tokens(a), sets.tokens(b), assume_unique=True) for a, b in pairs]
    token, votes = np.unique(np.concatenate(differences), return_counts=True)
    best = token[np.argsort(-votes, kind="stable")]
    found = Choice(np.nan, np.empty(0), -np.inf)
    good = max(GOOD_MARGIN / len(sets), LEAST_MARGIN)

    def tries() -> Iterator[tuple[float, float]]:
        """Places b, and the margin that makes it needless to try them."""
        for v in best[:CANDIDATES].tolist():
            voters = [pair for pair, difference in zip(pairs, differences, strict=True) if v in difference]
            yield from ((b, good) for b in _places(sets, v, voters))
        yield from ((_clear_place(sets, v), LEAST_MARGIN) for v in best.tolist())

    for b, enough in tries():
        if found.margin > enough:
            return found
        found = max(found, _round_at(sets, float(np.rint(b / grid) * grid)), key=lambda choice: choice.margin)
    if found.margin > LEAST_MARGIN:
        return found
    first, second = sorted(pairs[0])
    raise IllConditioned(
        f"pool='max' cannot tell sequences {first} and {second} apart without a near tie",
        found=f"the nearest token would be nearest by {found.margin:.3g} only; {LEAST_MARGIN:g} is needed",
        fix="use pool='mean', or round or rescale the tokens",
    )


def _places(sets: TokenSets, v: int, voters: list[tuple[int, int]]) -> list[float]:
    """Places where v is nearest in every sequence of the pairs that has it: each of them separates all these pairs."""
    x = float(sets.values[v])
    low, high = x - 0.25, x + 0.25
    for pair in voters:
        for tokens in (sets.tokens(k) for k in pair):
            at = int(np.searchsorted(tokens, v))
            if at == len(tokens) or tokens[at] != v:
                continue
            low = max(low, (x + sets.values[tokens[at - 1]]) / 2) if at else low
            high = min(high, (x + sets.values[tokens[at + 1]]) / 2) if at + 1 < len(tokens) else high
    # Multiples of the golden ratio modulo 1 are spread evenly, and never twice at the same midpoint.
    parts = (np.arange(1, PLACES + 1) * 0.6180339887498949) % 1.0
    return [float(low + (high - low) * part) for part in parts]


def _clear_place(sets: TokenSets, v: int) -> float:
    """b near the token v, as far as possible from every midpoint of two neighboring tokens of a sequence.

    Within a quarter of the way to the neighboring values v is nearest wherever it is present, and elsewhere the two
    candidates do not change: they tie at their midpoint only, and b - midpoint is half of the margin.
    """
    x = float(sets.values[v])
    first = x - (x - sets.values[v - 1]) / 4 if v > 0 else x - 0.25
    last = x + (sets.values[v + 1] - x) / 4 if v + 1 < len(sets.values) else x + 0.25
    tokens = sets.around(x)
    middle = (tokens[1] + tokens[2]) / 2
    inside = np.unique(middle[(middle > first) & (middle < last)])
    # A midpoint may lie just outside the window, so its ends count as midpoints.
    edges = np.concatenate([[first], inside, [last]])
    widest = int(np.argmax(np.diff(edges)))
    return float((edges[widest] + edges[widest + 1]) / 2)


def _round_at(sets: TokenSets, b: float) -> Choice:
    tokens = sets.around(b)
    distance = np.where(np.isnan(tokens), np.inf, np.abs(tokens - b))
    nearest = np.take_along_axis(tokens, np.argmin(distance, axis=0)[None], axis=0)[0]
    two = np.sort(distance, axis=0)
    with np.errstate(invalid="ignore"):
        margin = np.where(np.isinf(two[1]), np.inf, two[1] - two[0])
    return Choice(b, nearest, float(margin.min()))
