"""How an infinite-depth limit is known, in a form that can be checked from the data alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hardmax.cloud.by_value import ByValue
from hardmax.dynamics.check.claims import FOLLOWER, LEADER, PATTERN, ROLE_NAMES, TIE, fingerprint
from hardmax.shapes import Array, Integer, Shaped
from hardmax.views import Result

__all__ = ["FOLLOWER", "LEADER", "PATTERN", "ROLE_NAMES", "TIE", "Certificate", "Group", "fingerprint", "group_of"]

Group = tuple[int, ...] | range
MANY = 8192  # tokens


def group_of(members: Sequence[int], n: int) -> Group:
    """A set of some of n tokens as certificates hold it; numbers of all tokens would take more memory than the tokens.

    Example:
        >>> group_of([0, 2], 3), group_of(range(10_000), 10_000)
        ((0, 2), range(0, 10000))
    """
    everyone = range(n)
    if len(members) == n >= MANY and (members == everyone or list(members) == list(everyone)):
        return everyone
    return tuple(members)


@dataclass(frozen=True, eq=False, repr=False)  # not @checked: a damaged certificate must reach its checker
class Certificate(Result, ByValue):
    """Why each token ends where `limit` says it ends.

    From layer `decided_at[i]` on token i follows the same set forever, for one of four reasons:

    * leader: C_i = {i}, so z_i stands still [fact 1];
    * follower: C_i = {l} with l a leader, so z_i^{k+s} = l + (1+alpha)^{-s} (z_i^k - l) [fact 6];
    * tie: C_i = T with a mean t that does not move and whose face of K supports the whole cloud, so z_i -> t;
    * pattern: all follow sets together reproduce themselves forever (moving targets; rational arithmetic only).

    Attributes:
        decided_at: (n,) the layer from which on the follow set of each token is constant.
        role: (n,) LEADER, FOLLOWER, TIE or PATTERN (0..3).
        target: (n,) the leader's index (first copy; a leader's own for leaders), or -1-g for `groups[g]`.
        groups: index sets that are followed as a whole (ties and patterns), all copies listed, ascending: tuples, or
            range(n) for everyone in a large cloud.
        limit: (n, d) where each token ends.
        margin: every token followed alone won by at least margin * |z_i|_A * max_j |z_j|_A: in float64 at every layer
            that was looked at, in rational arithmetic (ties included) at the layers `decided_at`. Infinite if none.
        undecided: comparisons within float64 rounding: ties if within the tie band, else settled by their float64
            order. 0: the certificate is a proof.
        method: "float64" or "rational": the arithmetic that settled it.
        problem: fingerprint of tokens, alpha, A and tie_tolerance.

    Example:
        >>> import hardmax as hx
        >>> hx.limit([[1, 0], [-1, 0], [0.5, 0.1]]).certificate
        Certificate (float64): 2 leaders, 1 followers, 0 ties, 0 patterns; layer 0, margin 0.471, 0 undecided
    """

    alpha: Any
    A: Shaped[Array, "d d"] | None
    decided_at: Integer[Array, " n"]
    role: Shaped[Array, " n"]
    target: Integer[Array, " n"]
    groups: tuple[Group, ...]
    limit: Shaped[Array, "n d"]
    margin: float
    undecided: int
    tie_tolerance: float
    exact: bool
    method: str
    problem: str

    @property
    def layers(self) -> int:
        """The layer at which everything was decided."""
        return int(self.decided_at.max())

    def __repr__(self) -> str:
        roles = ", ".join(f"{int((self.role == r).sum())} {name}s" for r, name in enumerate(ROLE_NAMES))
        figures = f"layer {self.layers}, margin {self.margin:.3g}, {self.undecided} undecided"
        return f"Certificate ({self.method}): {roles}; {figures}"

    def check(self, Z: Any) -> list[str]:
        """Everything that is wrong with this certificate for the tokens Z; an empty list if nothing is."""
        if self.method == "rational":
            from hardmax.dynamics.check.rational import problems
        else:
            from hardmax.dynamics.check.floats import problems
        return problems(self, Z)

    def verify(self, Z: Any) -> bool:
        """Recompute what is needed from the data, independently of the code that made the certificate.

        Example:
            >>> import hardmax as hx
            >>> Z = [[1, 0], [-1, 0], [0.5, 0.1]]
            >>> hx.limit(Z).certificate.verify(Z)
            True
        """
        return not self.check(Z)
