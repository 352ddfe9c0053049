"""What `simulate` and `limit` return for a list of clouds: one result per cloud, in one container."""

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.trajectory import Trajectory
from hardmax.errors import BadInput, NotCertified, counted
from hardmax.io.progress import Report
from hardmax.views import LOAD, Result, frame, view

if TYPE_CHECKING:
    import pandas

T = TypeVar("T", bound=Trajectory | Equilibrium)


class Batch(Result, Sequence[T], Generic[T]):
    """The results of a ragged batch, one per cloud. A slice is a batch again.

    The trajectories of a batch are computed when they are first used; their last layers and leaders are known at once.

    Attributes:
        kind: `Trajectory` or `Equilibrium`.
        last: for every cloud, its (n, d) tokens after the last layer; of a limit, where they end.
        leaders: for every cloud, the indices of its leaders.
        undecided: comparisons closer than float64 rounding can decide, in all clouds together.

    Example:
        >>> import hardmax as hx
        >>> batch = hx.simulate([[[1.0], [0.5]], [[2.0], [-3.0], [1.0]]], alpha=1.0, layers=1)
        >>> batch
        Batch of 2 trajectories, 5 tokens
        >>> batch.leaders[1], batch[0].tokens[1].ravel()
        (array([0, 1]), array([1.  , 0.75]))
        >>> hx.limit([[[1.0], [0.5]], [[2.0], [-3.0], [1.0]]])[1:].last[0].ravel()
        array([ 2., -3.,  2.])
    """

    def __init__(self, kind: type[T], results: Sequence[T], **known: list[Any]) -> None:
        self.kind, self._results = kind, results
        self.__dict__.update(known)  # `last`, `leaders` and `_undecided`, where they are known without the results

    @cached_property
    def last(self) -> list[NDArray[Any]]:
        return [r.tokens[-1] if isinstance(r, Trajectory) else r.points for r in self._results]

    @cached_property
    def leaders(self) -> list[NDArray[np.int64]]:
        return [r.leaders for r in self._results]

    @cached_property
    def _undecided(self) -> list[int]:
        return [r.undecided for r in self._results]

    @property
    def undecided(self) -> int:
        return sum(self._undecided)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Batch[T]": ...
    def __getitem__(self, index: int | slice) -> "T | Batch[T]":
        if isinstance(index, slice):
            last, leaders, undecided = self.last[index], self.leaders[index], self._undecided[index]
            return Batch(self.kind, self._results[index], last=last, leaders=leaders, _undecided=undecided)
        if not -len(self) <= index < len(self):
            raise IndexError(f"cloud {index} is outside 0..{len(self) - 1}")
        return self._results[index % len(self)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        return (self.kind, len(self)) == (other.kind, len(other)) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self) -> "pandas.DataFrame":
        """One row per cloud: its number, size, step size, leaders, depth and what happened to it.

        Raises:
            MissingExtra: pandas is not installed.

        Example:
            >>> import hardmax as hx
            >>> hx.limit([[1.0], [0.5]], alpha=[0.5, 1.0]).to_frame()
               cloud  alpha  n  dim  leaders  undecided  layers  centers  margin
            0      0    0.5  2    1        1          0       0        1     0.5
            1      1    1.0  2    1        1          0       0        1     0.5
        """
        rows = [_row(result) for result in self]
        columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
        return frame({"cloud": range(len(self))} | columns)

    @staticmethod
    def load(path: str | Path) -> "Batch[Any]":
        """Read back what `save` wrote to .npz or .json."""
        loaded: Batch[Any] = view(Batch, LOAD)(path)
        return loaded

    def __repr__(self) -> str:
        nouns = ("trajectory", "trajectories") if self.kind is Trajectory else ("limit",)
        return f"Batch of {counted(len(self), *nouns)}, {counted(sum(map(len, self.last)), 'token')}"


def _row(result: Trajectory | Equilibrium) -> dict[str, Any]:
    n, dim = result.tokens.shape[-2:]
    row = {"alpha": result.alpha, "n": n, "dim": dim, "leaders": len(result.leaders), "undecided": result.undecided}
    if isinstance(result, Trajectory):
        return row | {"layers": result.layers, "outcome": result.outcome.kind, "period": result.outcome.period}
    return row | {"layers": result.layers, "centers": len(result.centers), "margin": result.margin}


def for_each_step(kind: type[T], alpha: Sequence[Any], run: Callable[[Any], "T | Batch[T]"]) -> Batch[T]:
    """The results for several step sizes: all clouds with the first one, then all with the next, in one batch."""
    if len(alpha) == 0:
        raise BadInput("alpha is an empty list", fix="give at least one step size")
    found: list[T] = []
    for step in alpha:
        result = run(step)
        found.extend(result if isinstance(result, Batch) else [result])
    return Batch(kind, found)


def run_each(kind: type[T], Z: Any, run: Callable[..., T], report: Report | None = None) -> Batch[T]:
    """Run every cloud of a batch; an error names the cloud."""
    if len(Z) == 0:
        raise BadInput("Z is an empty batch", fix="give at least one cloud")
    done: list[T] = []
    for b, one in enumerate(Z):
        try:
            done.append(run(one))
        except (BadInput, NotCertified) as error:
            raise of_cloud(b, error) from error
        dim, first = done[b].tokens.shape[-1], done[0].tokens.shape[-1]
        if dim != first:
            raise BadInput(f"Z[{b}] has dimension {dim}, but Z[0] has dimension {first}")
        if report is not None:
            report(b + 1, len(Z))
    return Batch(kind, done)


def of_cloud(b: int, error: BadInput | NotCertified) -> BadInput | NotCertified:
    """The same error, with the number of its cloud."""
    what = f"cloud {b} of the batch: {error.what}"
    if isinstance(error, NotCertified):
        return NotCertified(what, found=error.found, fix=error.fix, known=error.known | {"cloud": b})
    return BadInput(what, found=error.found, fix=error.fix)
