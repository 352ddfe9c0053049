"""Explanations of many texts at once, compiled: who leads, and every term's part of the scores.

`hardmax.sentiment.explain` says the same about one text in words; a test compares the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.jit import njit, over_parts
from hardmax.sentiment.layers_compiled import run_bag
from hardmax.sentiment.workspace import room_for
from hardmax.text.vocabulary import Bags

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

_PART = 16  # texts that a thread takes at a time


@dataclass(frozen=True, eq=False)
class Traces:
    """Texts on their way through a model; arrays over the terms of all texts, text t at offsets[t]:offsets[t + 1].

    Attributes:
        bags: the term numbers.
        leader: (T,) the leader a term ends at, as an index among the terms of its text.
        since: (T,) the layer from which a term leads, -1 if it does not.
        contributions: (T, C') <v, z_i^K> / n.
        logits: (B, C') bias + the sum of a text's contributions.
    """

    bags: Bags
    leader: NDArray[np.int64]
    since: NDArray[np.int64]
    contributions: NDArray[np.float64]
    logits: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.bags)

    def place(self, t: int) -> slice:
        """Where the terms of text t are."""
        return slice(int(self.bags.offsets[t]), int(self.bags.offsets[t + 1]))

    def clusters(self) -> NDArray[np.float64]:
        """(T, C') at a leader the contribution of its whole cluster, 0 at the other terms."""
        owner = self.leader + np.repeat(self.bags.offsets[:-1], np.diff(self.bags.offsets))
        columns = [np.bincount(owner, weights=c, minlength=owner.size) for c in self.contributions.T]
        return np.stack(columns, axis=1) if owner.size else np.zeros((0, self.contributions.shape[1]))


def trace(model: "SentimentModel", texts: Sequence[str]) -> Traces:
    """Explain many texts: leaders and contributions as arrays; the same bits for any number of threads."""
    return trace_bags(model, model.vocabulary.bags(texts))


def trace_bags(model: "SentimentModel", bags: Bags) -> Traces:
    """The same for texts that are bags already."""
    total, classes = bags.ids.size, len(model.bias)
    leader, since = np.empty(total, np.int64), np.empty(total, np.int64)
    parts, logits = np.empty((total, classes)), np.empty((len(bags), classes))
    vectors = model._vectors
    run = vectors, model.rest, model.layers, model.scores, model.bias, leader, since, parts, logits
    over_parts(lambda a, b: _trace(bags.ids, bags.offsets, a, b, *run), len(bags), 100.0 * total, _PART)
    return Traces(bags, leader, since, parts, logits)


@njit()
def _trace(ids, offsets, start, stop, E, rest, layers, V, bias, leader_out, since_out, parts, logits):  # type: ignore[no-untyped-def]
    d, classes = E.shape[1], V.shape[0]
    longest = 1
    for t in range(start, stop):
        longest = max(longest, offsets[t + 1] - offsets[t])
    room = room_for(longest, d, layers)
    z, leader, since, settled, history = room.z, room.leader, room.since, room.settled, room.history
    weight, end = np.empty(longest), np.empty(d)
    for t in range(start, stop):
        first, n = offsets[t], offsets[t + 1] - offsets[t]
        for k in range(classes):
            logits[t, k] = bias[k]
        if n == 0:
            continue
        for i in range(n):
            for x in range(d):
                z[i, x] = E[ids[first + i], x]
        run_bag(n, rest, layers, weight, room)
        for i in range(n):
            # A settled word is on the straight way to its leader, which stands where it was when it began to lead.
            s, j = settled[i], leader[i]
            for x in range(d):
                if s > layers:
                    end[x] = history[layers, i, x]
                else:
                    own = z[i, x] if s == 0 else history[s, i, x]
                    at = z[j, x] if since[j] == 0 else history[since[j], j, x]
                    end[x] = own if j == i else rest[layers - s] * own + (1.0 - rest[layers - s]) * at
            leader_out[first + i], since_out[first + i] = j, since[i]
            for k in range(classes):
                total = 0.0
                for x in range(d):
                    total += V[k, x] * end[x]
                parts[first + i, k] = total / n
                logits[t, k] += total / n
