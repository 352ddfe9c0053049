"""A token at the origin of a large cloud in the plane, which follows all tokens as long as it is there.

It is never followed itself: any other token scores more with itself. So only where it stays, or where it moves in the
first layer, depends on the tokens that are set aside, and that is found here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.dynamics.check.claims import EPS, TIE, Floats, Ints, TooClose
from hardmax.dynamics.check.exact_ties import ExactClaims
from hardmax.dynamics.check.means import weighted_mean

if TYPE_CHECKING:
    from hardmax.dynamics.check.floats import Claims


@dataclass(frozen=True, eq=False)
class Origin:
    """The place of the token, the mean of the cloud, and how many of the comparisons about it are undecided."""

    place: int
    mean: Floats
    undecided: int = 0

    @property
    def stays(self) -> bool:
        return not self.mean.any()


def at_origin(tokens: Floats) -> Ints:
    some = np.flatnonzero(tokens[:, 0] == 0)
    return some[~tokens[some].any(axis=1)]


def origin_of(claims: "Claims", A: Floats | None, tie: float) -> Origin | None:
    """The token at the origin, if there is one and what is claimed of it at layer 0 is so; the tokens are distinct.

    Args:
        tie: the width of the tie rule at layer 0, relative to the norms of query and cloud.

    Raises:
        TooClose: It is not so, or only a replay of all tokens can tell.
    """
    c, tokens, weight = claims.c, claims.tokens, claims.weight
    if weight is None:  # copies are left out before wherever there is such a token
        return None
    here = at_origin(tokens)
    if not len(here):
        return None
    place = int(here[0])
    if c.decided_at[place] > 0:
        mean = np.array(weighted_mean(tokens, weight))
        if not mean.any():
            raise TooClose
        return Origin(place, mean)
    number = int(-1 - c.target[place])
    alone = c.role[place] == TIE and not c.limit[place].any() and int((c.target == -1 - number).sum()) == 1
    if not alone or len(c.groups[number]) < len(tokens) or c.decided_at.any():
        raise TooClose
    if not _stays(claims, place, weight, A, tie):
        raise TooClose
    groups: Any = c.groups  # arrays
    exact = ExactClaims(tokens, c.A, weight, c.role, c.target, groups).ties_hold(np.array([place]), number)
    return Origin(place, np.zeros(2), int(not exact[0]))


def _stays(claims: "Claims", place: int, weight: Floats, A: Floats | None, tie: float) -> bool:
    """Conditions (1) and (2) of a tie in float64; the others hold for a query of 0 and a token that stands still."""
    c, x = claims.c, claims.tokens
    largest = float(np.sqrt(np.einsum("ij,ij->i", x if A is None else x @ A, x).max()))
    offset = x - c.limit
    narrow = 8 * tie * float(np.sqrt(np.einsum("ij,ij->i", offset, offset).max())) + 32 * EPS * float(np.abs(x).max())
    share = np.where(np.arange(len(x)) == place, 0.0, weight)
    share /= share.sum()
    return bool(_mean_size(share, c.limit) <= 8 * tie * largest and _mean_size(share, offset) <= narrow)


def _mean_size(share: Floats, x: Floats) -> float:
    """max|share @ x|: products are summed in pairs, pairs of pairs, ..., as the rounding of a million would be seen."""
    return max(abs(float((share * column).sum())) for column in x.T)
