"""One round of the max identifier: where to put the top b of the tent, and which token of each sequence is nearest."""

from dataclasses import dataclass

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import IllConditioned
from hardmax.transformer.ragged import Ragged

# A nearest token must be nearest by this much in every sequence; by GOOD_MARGIN / N there is no need to look further.
LEAST_MARGIN, GOOD_MARGIN = 1e-10, 1e-3
# How many unseparated pairs vote for a token, how many of the most wanted tokens are tried, and how many b for each.
PAIRS, CANDIDATES, PLACES = 64, 3, 8


@dataclass(frozen=True, eq=False)
class TokenSets:
    """The sets S^j of projected tokens; values closer than rounding count as one token.

    Attributes:
        values: (V,) the distinct values, ascending.
        codes: (P,) ascending j V + v for every token v of S^j.
        starts: (N+1,) where the tokens of each sequence begin in `codes`.
        digests: (N,) equal for equal sets.
    """

    values: Floats
    codes: Ints
    starts: Ints
    digests: Ints

    @staticmethod
    def of(batch: Ragged, s: Floats, near: float) -> "TokenSets":
        order = np.argsort(s, kind="stable")
        fresh = np.concatenate([[True], np.diff(s[order]) > near])
        ids = np.empty(len(s), dtype=np.int64)
        ids[order] = np.cumsum(fresh) - 1
        values = s[order][fresh]
        codes = np.unique(batch.sequence_of * len(values) + ids)
        starts = np.searchsorted(codes, np.arange(len(batch) + 1) * len(values))
        # Sums of random numbers: different sets collide with probability 2^-63, and a collision is noticed later.
        random = np.random.default_rng(0).integers(0, 2**63, len(values), dtype=np.int64)
        digests = np.add.reduceat(random[codes % len(values)], starts[:-1])
        return TokenSets(values, codes, starts, digests)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def tokens(self, j: int) -> Ints:
        """The token numbers of S^j."""
        return self.codes[self.starts[j] : self.starts[j + 1]] - j * len(self.values)

    def around(self, b: float) -> Floats:
        """(4, N) for each sequence its two tokens below b and the two from b on: the two nearest are among them."""
        at = np.searchsorted(self.codes, np.arange(len(self)) * len(self.values) + np.searchsorted(self.values, b))
        return np.stack([self._value(at + step) for step in (-2, -1, 0, 1)])

    def _value(self, position: Ints) -> Floats:
        """(N,) the value at a position of `codes`, NaN where that is not in the sequence."""
        inside = (position >= self.starts[:-1]) & (position < self.starts[1:])
        return np.where(inside, self.values[self.codes[np.where(inside, position, 0)] % len(self.values)], np.nan)


@dataclass(frozen=True, eq=False)
class Choice:
    """A round: the top of the tent, (N,) the nearest token of each sequence, and by how much it is nearest."""

    b: float
    nearest: Floats
    margin: float


def choose_round(sets: TokenSets, i: Ints, j: Ints, grid: float) -> Choice:
    """A round that separates at least one of the pairs (i, j), and many if one token is missing in many."""
    some = np.linspace(0, len(i) - 1, min(PAIRS, len(i))).astype(np.int64)
    pairs = [(int(i[p]), int(j[p])) for p in some]
    differences = [np.setxor1d(sets.tokens(a), sets.tokens(b), assume_unique=True) for a, b in pairs]
    token, votes = np.unique(np.concatenate(differences), return_counts=True)
    best = token[np.argsort(-votes, kind="stable")]
    found = Choice(np.nan, np.empty(0), -np.inf)
    good = max(GOOD_MARGIN / len(sets), LEAST_MARGIN)
    for v in best[:CANDIDATES].tolist():
        voters = [pair for pair, difference in zip(pairs, differences, strict=True) if v in difference]
        for b in _places(sets, v, voters):
            choice = _round_at(sets, float(np.rint(b / grid) * grid))
            found = choice if choice.margin > found.margin else found
            if found.margin > good:
                return found
    for v in best.tolist():
        if found.margin > LEAST_MARGIN:
            return found
        choice = _round_at(sets, float(np.rint(_clear_place(sets, v) / grid) * grid))
        found = choice if choice.margin > found.margin else found
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
