"""The tokens of a cloud in the plane as they pass by: see `hardmax.dynamics.plane` and `hardmax.dynamics.passive`."""

from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.large import CHUNK, SAMPLE, Rest, reach, system_and_cells
from hardmax.dynamics.plane import Plane, Pool
from hardmax.dynamics.stream_way import Fates


class InPlane:
    """A `hardmax.dynamics.stream_way.Way` for dimension 2."""

    again = False  # whom the first pass leaves out never matters

    def __init__(self, problem: Problem, sample: Floats) -> None:
        self.problem, self.sample = problem, sample
        self.begin()

    def begin(self) -> None:
        few = self.sample[:: 1 + len(self.sample) // SAMPLE]
        self.plane = Plane(self.problem.matrix, self.problem.alpha, reach(self.problem), few)

    @property
    def failed(self) -> str:
        return self.plane.failed

    def add(self, tokens: Floats, start: int) -> None:
        self.plane.add(tokens, start)

    def state(self) -> dict[str, Any]:
        vertices, pool, shallowest = self.plane.state()
        return {"vertices": vertices, "tokens": pool.tokens, "index": pool.index, "shallowest": shallowest}

    def restore(self, state: dict[str, Any]) -> None:
        self.plane.restore(state["vertices"], Pool(state["tokens"], state["index"]), float(state["shallowest"]))

    def seal(self) -> Pool | None:
        self.plane.seal()
        return None if self.failed else self.plane.system

    def layers(self, system: Pool, max_layers: int) -> Rest | None:
        found = system_and_cells(self.plane, system.tokens, system.index, self.sample, self.problem, max_layers)
        if found is None:
            return None
        rest, self.history, self.cells = found
        self.first = self.history.run.cloud.first
        return rest

    def take(self, tokens: Floats, but: Ints) -> Fates:
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
