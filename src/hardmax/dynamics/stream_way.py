"""What a streamed limit needs to know of the dimension."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.large import Rest
from hardmax.dynamics.plane import Pool


@dataclass(frozen=True, eq=False)
class Fates:
    """What becomes of tokens that are not in the system.

    Attributes:
        leader: (n,) the point that each follows in the end; -1 if it has to join the system, 0 if it was not asked for.
        last: the last layer at which one of them is decided.
        margin: the narrowest of their decisions.
        settled: (n,) whether the token is decided at layer 0, whoever joins the system; None if this is not known.
        first_margin: the narrowest decision of layer 0.
    """

    leader: NDArray[np.int32]
    last: int
    margin: float
    settled: NDArray[np.bool_] | None = None
    first_margin: float = np.inf


class Way(Protocol):
    """What depends on the dimension: who is in the system, and what becomes of the tokens that are not.

    Attributes:
        failed: why there is no system; empty as long as there is one.
        again: whether the first pass has to begin again, since tokens that it left out may matter.
        first: after `layers`, the place in the system of each of its distinct points.
    """

    first: Ints

    @property
    def failed(self) -> str: ...

    @property
    def again(self) -> bool: ...

    def begin(self) -> None:
        """Begin the first pass."""

    def add(self, tokens: Floats, start: int) -> None:
        """Show tokens start..start+len(tokens)-1 to the first pass."""

    def state(self) -> dict[str, Any]:
        """Arrays with what the first pass has found so far, and `restore` continues from."""

    def restore(self, state: dict[str, Any]) -> None: ...

    def seal(self) -> Pool | None:
        """End the first pass: the system."""

    def layers(self, system: Pool, max_layers: int) -> Rest | None:
        """Run the engine on the system; None if that is not enough."""

    def take(self, tokens: Floats, but: Ints) -> Fates:
        """What becomes of tokens that pass by, but for those at some places."""
