"""What `simulate` returns: the tokens and follow sets of every layer, the leaders, and the problem that was solved."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import FeedForward, Hardmax, Head, NamedFunction, Rule
from hardmax.cloud.by_value import ByValue
from hardmax.dynamics.follow_sets import FollowSets
from hardmax.errors import BadInput, counted
from hardmax.shapes import Array, Shaped, checked
from hardmax.views import PLOT, WIDGET, Shown, Stored, frame, view

if TYPE_CHECKING:
    import pandas

    from hardmax.dynamics.polytope import Polytope


@dataclass(frozen=True)
class Outcome(Shown):
    """What happened in the layers that were run.

    Attributes:
        kind: "settled" (no token moves beyond rounding any more), "undecided" (the same, but the run rests on
            comparisons that float64 cannot decide), "moving" (not settled yet), "periodic" (the cloud comes back to
            itself), "self-similar" (it comes back as a linear image of itself; exact runs only), or "growing" (norms
            grow without bound).
        period: the number of layers after which the cloud comes back, if periodic or self-similar.
        layer: the first layer at which this was seen.
        detail: one sentence that describes it.

    Example:
        >>> import hardmax as hx
        >>> hx.simulate([[1, 0], [-1, 0]], layers=3).outcome.kind
        'settled'
    """

    kind: Literal["settled", "undecided", "moving", "periodic", "self-similar", "growing"]
    period: int | None = None
    layer: int | None = None
    detail: str = ""


@dataclass(frozen=True, eq=False)
class Problem(Shown, ByValue):
    """Everything that a trajectory was made from, apart from the tokens and the number of layers.

    Attributes:
        alpha: the step size: a float, or a Fraction in exact arithmetic.
        heads: the matrices A and V of every head, as arrays; None is the identity.
        feed_forward: the sublayer after the attention; a Python function is kept by its name (`NamedFunction`).

    Example:
        >>> import hardmax as hx
        >>> problem = hx.simulate([[1.0, 0.0]], alpha=0.25, layers=1, causal=True).problem
        >>> problem.alpha, problem.causal, problem.is_plain
        (0.25, True, False)
    """

    alpha: Any
    heads: tuple[Head, ...] = (Head(),)
    rule: Rule = field(default_factory=Hardmax)
    normalization: str = "rescale"
    causal: bool = False
    feed_forward: FeedForward | NamedFunction | None = None
    exact: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether only the rule and A may differ from the paper: one head, V = I, rescaled, no mask, no sublayer."""
        one_head = len(self.heads) == 1 and self.heads[0].V is None
        return one_head and self.normalization == "rescale" and not self.causal and self.feed_forward is None


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Stored, ByValue):
    """Tokens at every layer, Z^0..Z^K, with follow sets and leaders.

    Two trajectories are equal if their tokens, problems, follow sets, leaders and outcomes are.

    Attributes:
        tokens: (layers+1, n, d); float64, or Fractions (dtype object) with exact=True.
        problem: everything it was made from: alpha, heads (A and V), rule, normalization, mask, sublayer.
        leader_since: {index: first layer k with C_i(Z^k) = {i}} (Def. 1.1). Copies of one point lead together.
        outcome: settled, undecided, moving, periodic, self-similar or growing.
        sets: the follow sets of every layer; see `follows`.
        undecided: comparisons closer than float64 rounding can decide (0 in exact arithmetic). They were taken as ties.
        first_layer: the layer of `tokens[0]`: 0, or the last layer with keep="last".

    A trajectory is also a sequence of clouds: `len(traj)`, `traj[k]` and `np.asarray(traj)` are those of `tokens`.

    Example:
        >>> import hardmax as hx
        >>> traj = hx.simulate([[1, 0], [-1, 0], [0.5, 0]], alpha=1.0, layers=2)
        >>> traj
        Trajectory of 3 tokens in dimension 2, 2 layers, 2 leaders, moving
        >>> traj.follows(0), traj.leaders, traj.tokens[2, 2]
        (((0,), (1,), (0,)), array([0, 1]), array([0.875, 0.   ]))
        >>> len(traj), traj[-1][2]
        (3, array([0.875, 0.   ]))
    """

    tokens: Shaped[Array, "depth n d"]
    problem: Problem
    leader_since: dict[int, int]
    outcome: Outcome
    sets: Sequence[FollowSets]
    undecided: int = 0
    first_layer: int = 0

    @property
    def layers(self) -> int:
        """The number of layers that were run."""
        return self.first_layer + int(self.tokens.shape[0]) - 1

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int | slice) -> NDArray[Any]:
        return self.tokens[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.tokens, dtype=dtype, copy=copy)

    @property
    def n(self) -> int:
        """The number of tokens."""
        return int(self.tokens.shape[1])

    @property
    def dim(self) -> int:
        """The dimension of the tokens."""
        return int(self.tokens.shape[2])

    @property
    def alpha(self) -> Any:
        """The step size."""
        return self.problem.alpha

    @property
    def A(self) -> NDArray[Any] | None:
        """The matrix of the scores; None is the identity, or stands for several heads (`problem.heads`)."""
        heads = self.problem.heads
        return heads[0].A if len(heads) == 1 else None

    @property
    def rule(self) -> Rule:
        """The rule by which a token weighs the others."""
        return self.problem.rule

    @property
    def exact(self) -> bool:
        """Whether exact=True was given, so that the tokens are Fractions."""
        return self.problem.exact

    @cached_property
    def leaders(self) -> NDArray[np.int64]:
        """Indices of the tokens that led at some layer 0..K, ascending (Def. 1.1, cumulative)."""
        return np.array(sorted(self.leader_since), dtype=np.int64)

    def follows(self, layer: int) -> FollowSets:
        """C_i(Z^k) for every token: a tuple of ascending index tuples. Implements [AFZ24, eq. (1.1b)]."""
        return self.sets[self._layer(layer) - self.first_layer]

    @cached_property
    def polytope(self) -> "Polytope":
        """The convex hull of the tokens at the last layer."""
        return self.polytope_at(self.layers)

    def polytope_at(self, layer: int) -> "Polytope":
        """The convex hull of the tokens at one layer."""
        from hardmax.dynamics.polytope import Polytope

        return Polytope.of(self.tokens[self._layer(layer) - self.first_layer], self.A)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per layer and token: layer, token, coordinates x0, x1, ..., the tokens it follows, whether it leads.

        Raises:
            MissingExtra: pandas is not installed.

        Example:
            >>> import hardmax as hx
            >>> hx.simulate([[1, 0], [0.5, 0]], alpha=1.0, layers=1).to_frame()
               layer  token    x0   x1 follows  leads
            0      0      0  1.00  0.0    (0,)   True
            1      0      1  0.50  0.0    (0,)  False
            2      1      0  1.00  0.0    (0,)   True
            3      1      1  0.75  0.0    (0,)  False
        """
        layer = np.repeat(np.arange(self.first_layer, self.layers + 1), self.n)
        token = np.tile(np.arange(self.n), len(self))
        never = self.layers + 1
        since = np.array([self.leader_since.get(i, never) for i in range(self.n)])
        return frame(
            {"layer": layer, "token": token}
            | {f"x{k}": self.tokens[:, :, k].ravel() for k in range(self.dim)}
            | {"follows": [followed for sets in self.sets for followed in sets], "leads": since[token] <= layer}
        )

    def plot(self, layer: int = -1, ax: Any = None, **options: Any) -> Any:
        """Draw one layer (extra `plot`); see `hardmax.plot.plot_layer`."""
        return view(Trajectory, PLOT)(self, self._layer(layer), ax=ax, **options)

    def widget(self, **options: Any) -> Any:
        """The playground with these tokens in a notebook (extra `jupyter`); see `hardmax.widget`."""
        return view(Trajectory, WIDGET)(self, **options)

    def __repr__(self) -> str:
        return (
            f"Trajectory of {counted(self.n, 'token')} in dimension {self.dim}, {counted(self.layers, 'layer')}, "
            f"{counted(len(self.leaders), 'leader')}, {self.outcome.kind}"
        )

    def _layer(self, layer: int) -> int:
        """The number of a layer that was kept; -1 is the last one."""
        if isinstance(layer, bool) or not isinstance(layer, (int, np.integer)):
            raise BadInput(f"layer is {layer!r}; expected a whole number from 0 to {self.layers}")
        if not -self.layers - 1 <= layer <= self.layers:
            raise BadInput(f"layer {layer} is outside 0..{self.layers}")
        number = int(layer) % (self.layers + 1)
        if number < self.first_layer:
            raise BadInput(f'layer {number} was not kept: keep="last" stores layer {self.layers} only')
        return number
