"""What a streamed limit needs to know of the dimension: who is in the system, and what becomes of the other tokens.

In the plane (`InPlane`), see `hardmax.dynamics.plane` and `hardmax.dynamics.passive`. In other dimensions those that
nobody ever looks at are inside a body (`hardmax.dynamics.space`).
"""

from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.large import CHUNK, SAMPLE, Rest, reach, system_and_cells
from hardmax.dynamics.plane import Plane, Pool
from hardmax.dynamics.space import Fates


class InPlane:
    """The way of dimension 2: who is in the system, and what becomes of the tokens that are not.

    Attributes:
        failed: why there is no system; empty as long as there is one.
        again: whether the first pass has to begin again, since tokens that it left out may matter.
        first: after `layers`, the place in the system of each of its distinct points.
    """

    again = False  # whom the first pass leaves out never matters
    first: Ints

    def __init__(self, problem: Problem, sample: Floats) -> None:
        self.problem, self.sample = problem, sample
        self.begin()

    def begin(self) -> None:
        """Begin the first pass."""
        few = self.sample[:: 1 + len(self.sample) // SAMPLE]
        self.plane = Plane(self.problem.matrix, self.problem.alpha, reach(self.problem), few)

    @property
    def failed(self) -> str:
        return self.plane.failed

    def add(self, tokens: Floats, start: int) -> None:
        """Show tokens start..start+len(tokens)-1 to the first pass."""
        self.plane.add(tokens, start)

    def state(self) -> dict[str, Any]:
        """Arrays with what the first pass has found so far, and `restore` continues from."""
        vertices, pool, shallowest = self.plane.state()
        return {"vertices": vertices, "tokens": pool.tokens, "index": pool.index, "shallowest": shallowest}

    def restore(self, state: dict[str, Any]) -> None:
        self.plane.restore(state["vertices"], Pool(state["tokens"], state["index"]), float(state["shallowest"]))

    def seal(self) -> Pool | None:
        """End the first pass: the system."""
        self.plane.seal()
        return None if self.failed else self.plane.system

    def layers(self, system: Pool, max_layers: int) -> Rest | None:
        """Run the engine on the system; None if that is not enough."""
        found = system_and_cells(self.plane, system.tokens, system.index, self.sample, self.problem, max_layers)
        if found is None:
            return None
        rest, self.history, self.cells = found
        self.first = self.history.run.cloud.first
        return rest

    def take(self, tokens: Floats, but: Ints) -> Fates:
        """What becomes of tokens that pass by, but for those at some places."""
        cells, history = self.cells, self.history
        ends, seen = cells.leader.astype(np.int32), np.zeros(len(cells.leader), bool)
        leader, last, history.margin = np.empty(len(tokens), np.int32), 0, np.inf
        for at in range(0, len(tokens), CHUNK):
            code = cells.of(tokens[at : at + CHUNK])
            leader[at : at + CHUNK] = ends.take(code)
            seen[code] = True
        leader[but] = 0
        left = np.flatnonzero(leader < 0)
        for at in range(0, len(left), CHUNK):
            some = left[at : at + CHUNK]
            leader[some], since, _ = history.take(tokens.take(some, axis=0))
            last = max(last, int(since.max()))
        return Fates(leader, max(last, int(cells.since[seen].max())), history.margin)
