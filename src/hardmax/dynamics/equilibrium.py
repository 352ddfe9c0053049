"""What `limit` returns: where every token ends at infinite depth."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.by_value import ByValue
from hardmax.dynamics.certificate import Certificate
from hardmax.errors import counted
from hardmax.shapes import Array, Integer, Shaped, checked
from hardmax.views import PLOT, WIDGET, Stored, frame, view

if TYPE_CHECKING:
    import pandas

    from hardmax.dynamics.polytope import Polytope


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(Stored, ByValue):
    """The infinite-depth limit of the hardmax dynamics, in closed form.

    Attributes:
        tokens: (n, d) the input.
        points: (n, d) where each token ends; Fractions (dtype object) with exact=True.
        cluster: (n,) index into `centers` of the point where each token ends.
        centers: (c, d) the distinct limit points: the finite set S of [AFZ24, Theorem 1.1]. Vertices of K first.
        kind: for each center "vertex" (a leader: a vertex of K) or "face" (the A-projection of 0 onto a face of K).
        leader_since: {index: first layer with C_i = {i}}.
        certificate: how this is known; `certificate.verify(Z)` checks it from the data alone.

    Example:
        >>> import hardmax as hx
        >>> eq = hx.limit([[1, 1], [-1, 1], [1, -1], [-1, -1], [0.5, 0]])
        >>> eq
        Equilibrium of 5 tokens in dimension 2: 5 centers, 4 leaders, decided at layer 0, proved
        >>> eq.centers[eq.cluster[4]], eq.kind[4]
        (array([1., 0.]), 'face')
    """

    tokens: Shaped[Array, "n d"]
    points: Shaped[Array, "n d"]
    cluster: Integer[Array, " n"]
    centers: Shaped[Array, "c d"]
    kind: tuple[str, ...]
    leader_since: dict[int, int]
    certificate: Certificate

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.points, dtype=dtype, copy=copy)

    @cached_property
    def leaders(self) -> NDArray[np.int64]:
        """Indices of the leaders, ascending (Def. 1.1). Copies of one point lead together."""
        return np.array(sorted(self.leader_since), dtype=np.int64)

    @property
    def exact(self) -> bool:
        """Whether exact=True was given, so that the points are Fractions."""
        return self.points.dtype == object

    @property
    def alpha(self) -> Any:
        """The step size."""
        return self.certificate.alpha if self.exact else float(self.certificate.alpha)

    @property
    def A(self) -> NDArray[Any] | None:
        """The matrix of the scores; None is the identity."""
        A = self.certificate.A
        return A if A is None or self.exact else A.astype(np.float64)

    @property
    def layers(self) -> int:
        """The layer at which everything was decided."""
        return self.certificate.layers

    @property
    def margin(self) -> float:
        """The narrowest decision, relative to |z_i|_A max_j |z_j|_A."""
        return self.certificate.margin

    @property
    def undecided(self) -> int:
        """Comparisons closer than float64 rounding can decide. 0 means that the limit is proved."""
        return self.certificate.undecided

    @cached_property
    def polytope(self) -> "Polytope":
        """The limit polytope K: the convex hull of the leaders' points; `vertex_index` holds the leaders' numbers."""
        from hardmax.dynamics.polytope import Polytope

        first = np.unique(self.cluster[self.leaders], return_index=True)[1]  # of the leaders that end at one center
        K = Polytope.of(self.points[self.leaders[first]], self.A)
        return replace(K, vertex_index=self.leaders[first][K.vertex_index])

    def to_frame(self) -> "pandas.DataFrame":
        """One row per token: where it starts (x0, ...) and ends (limit0, ...), its cluster, and whether it leads.

        Raises:
            MissingExtra: pandas is not installed.

        Example:
            >>> import hardmax as hx
            >>> hx.limit([[1, 0], [0.5, 0]]).to_frame()
               token   x0   x1  limit0  limit1  cluster    kind  leads  decided_at
            0      0  1.0  0.0     1.0     0.0        0  vertex   True           0
            1      1  0.5  0.0     1.0     0.0        0  vertex  False           0
        """
        every = range(self.tokens.shape[1])
        token = np.arange(len(self.tokens))
        return frame(
            {"token": token}
            | {f"x{k}": self.tokens[:, k] for k in every}
            | {f"limit{k}": self.points[:, k] for k in every}
            | {"cluster": self.cluster, "kind": [self.kind[c] for c in self.cluster]}
            | {"leads": np.isin(token, self.leaders), "decided_at": self.certificate.decided_at}
        )

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw start, limit and K (extra `plot`); see `hardmax.plot.plot_limit`."""
        return view(Equilibrium, PLOT)(self, ax=ax, **options)

    def widget(self, **options: Any) -> Any:
        """The playground with these tokens in a notebook (extra `jupyter`); see `hardmax.widget`."""
        return view(Equilibrium, WIDGET)(self, **options)

    def __repr__(self) -> str:
        n, dim = self.points.shape
        return (
            f"Equilibrium of {counted(n, 'token')} in dimension {dim}: {counted(len(self.centers), 'center')}, "
            f"{counted(len(self.leaders), 'leader')}, decided at layer {self.layers}, "
            f"{'proved' if self.undecided == 0 else f'{self.undecided} undecided'}"
        )
