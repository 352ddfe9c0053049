"""One round of the max identifier: where to put the top b of the tent, and which token of each sequence is nearest."""

from dataclasses import dataclass

import numpy as np

from hardmax.errors import IllConditioned
from hardmax.ragged import Ragged
from hardmax.tokens import Floats, Ints

# A nearest token must be nearest by this much in every sequence.
LEAST_MARGIN = 1e-10
# How many unseparated pairs vote for a token, and how many of the most wanted tokens are tried.
PAIRS, CANDIDATES = 64, 4


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

    def around(self, v: int) -> Floats:
        """(5, N) for each sequence its two tokens below value v, v itself if it is there, and two above; NaN for none.

        These hold the two tokens nearest to any b that is closer to v than to the neighbouring values.
        """
        base = np.arange(len(self)) * len(self.values)
        at = np.searchsorted(self.codes, base + v)
        has = (at < self.starts[1:]) & (self.codes[np.minimum(at, len(self.codes) - 1)] == base + v)
        above = at + has
        here = np.where(has, self.values[v], np.nan)
        return np.stack([self._value(at - 2), self._value(at - 1), here, self._value(above), self._value(above + 1)])

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
    differences = [np.setxor1d(sets.tokens(int(i[p])), sets.tokens(int(j[p])), assume_unique=True) for p in some]
    token, votes = np.unique(np.concatenate(differences), return_counts=True)
    best = token[np.argsort(-votes, kind="stable")]
    found = max((_round_near(sets, int(v), grid) for v in best[:CANDIDATES]), key=lambda choice: choice.margin)
    if found.margin > LEAST_MARGIN:
        return found
    for v in best[CANDIDATES:]:
        found = _round_near(sets, int(v), grid)
        if found.margin > LEAST_MARGIN:
            return found
    first, second = sorted((int(i[0]), int(j[0])))
    raise IllConditioned(
        f"pool='max' cannot tell sequences {first} and {second} apart without a near tie",
        found=f"the nearest token would be nearest by {found.margin:.3g} only; {LEAST_MARGIN:g} is needed",
        fix="use pool='mean', or round or rescale the tokens",
    )


def _round_near(sets: TokenSets, v: int, grid: float) -> Choice:
    """b near the token v, as far as possible from every midpoint of two neighbouring tokens of a sequence.

    Within a quarter of the way to the neighbouring values the token v is nearest wherever it is present, and elsewhere
    the two candidates do not change: they tie at their midpoint only, and b - midpoint is half of the margin.
    """
    x = float(sets.values[v])
    first = x - (x - sets.values[v - 1]) / 4 if v > 0 else x - 0.25
    last = x + (sets.values[v + 1] - x) / 4 if v + 1 < len(sets.values) else x + 0.25
    tokens = sets.around(v)
    middle = np.where(np.isnan(tokens[2]), (tokens[1] + tokens[3]) / 2, np.nan)
    inside = np.unique(middle[(middle > first) & (middle < last)])
    # A midpoint may lie just outside the window, so its ends count as midpoints.
    edges = np.concatenate([[first], inside, [last]])
    widest = int(np.argmax(np.diff(edges)))
    b = float(np.rint((edges[widest] + edges[widest + 1]) / 2 / grid) * grid)
    distance = np.where(np.isnan(tokens), np.inf, np.abs(tokens - b))
    nearest = np.take_along_axis(tokens, np.argmin(distance, axis=0)[None], axis=0)[0]
    two = np.sort(distance, axis=0)
    with np.errstate(invalid="ignore"):
        margin = np.where(np.isinf(two[1]), np.inf, two[1] - two[0])
    return Choice(b, nearest, float(margin.min()))
