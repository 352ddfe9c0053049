"""Many texts at once, compiled and in threads: scores, the weights that are the gradient, and explanations as arrays.

Every text writes to places of its own, so the results have the same bits for any number of threads.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardmax.io.scratch import empty
from hardmax.jit import bare_njit, njit, over_parts
from hardmax.sentiment.layers_compiled import run_bag, weigh
from hardmax.sentiment.layers_numpy import Compiled, Floats, Ints, Parameters
from hardmax.sentiment.search import workspace_for
from hardmax.text.vocabulary import Bags

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

PART = 16  # texts that a thread takes at a time
_CHUNK = 8192  # texts whose weights are held at once
_NONE = np.empty((0, 0))
_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xBF58476D1CE4E5B9)
_C = np.uint64(0x94D049BB133111EB)


class Batch(NamedTuple):
    """The texts to run, and how.

    Attributes:
        ids, offsets: those of `Bags`.
        texts: (B,) which texts.   places: (B,) where the weights of each text begin.
        drop: words are left out with this probability (in training), drawn from `seed`.
        nearby: (2, layers + 2) the powers for alpha + h and alpha - h, or nothing: then no slopes are computed.
    """

    ids: NDArray[np.int32]
    offsets: Ints
    texts: Ints
    places: Ints
    drop: float
    seed: np.uint64
    nearby: Floats


class Scored(NamedTuple):
    """What comes out of a batch of B texts.

    Attributes:
        logits: (B, C') bias + V sum_i z_i^K / (n + n0).
        weights: (words of the batch,) c with sum_i z_i^K / (n + n0) = sum_i c_i z_i^0; 0 for a word that was left out.
        heads: (B,) numbers of leaders.
        slopes: (B, C') difference of the logits between the two nearby alphas, for the pattern at alpha.
    """

    logits: Floats
    weights: Floats
    heads: Ints
    slopes: Floats


def run_batch(
    bags: Bags, texts: Ints, parameters: Parameters, drop: float = 0.0, seed: int = 0, nearby: Floats = _NONE
) -> tuple[Batch, Scored]:
    """Run some of the texts through the layers."""
    sizes = bags.offsets[texts + 1] - bags.offsets[texts]
    places = np.cumsum(sizes) - sizes
    batch = Batch(bags.ids, bags.offsets, texts, places, drop, np.uint64(seed), nearby)
    shape = len(texts), len(parameters.bias)
    out = Scored(np.empty(shape), np.empty(int(sizes.sum())), np.empty(len(texts), np.int64), np.zeros(shape))
    work = 100.0 * out.weights.size
    over_parts(lambda start, stop: run_texts(start, stop, batch, parameters, out), len(texts), work, PART)
    Compiled.ready = True
    return batch, out


def run_bags(bags: Bags, parameters: Parameters) -> tuple[Floats, Ints]:
    """Scores (B, C') and numbers of leaders (B,) of all texts."""
    shape = len(bags), len(parameters.bias)
    logits, heads = empty(shape[0] * shape[1], np.float64).reshape(shape), empty(len(bags), np.int64)
    for begin in range(0, len(bags), _CHUNK):
        part = slice(begin, min(begin + _CHUNK, len(bags)))
        _, out = run_batch(bags, np.arange(part.start, part.stop), parameters)
        logits[part], heads[part] = out.logits, out.heads
    return logits, heads


@njit(inline="always")
def coin(seed: np.uint64, text: np.uint64, place: np.uint64) -> np.uint64:
    """A random 64-bit number that depends on its three arguments alone."""
    h = seed + text * _A + place * _B
    h = (h ^ (h >> np.uint64(30))) * _B
    h = (h ^ (h >> np.uint64(27))) * _C
    return h ^ (h >> np.uint64(31))


@njit()
def run_texts(start: Any, stop: Any, batch: Any, parameters: Any, out: Any) -> None:
    """Texts batch.texts[start:stop], into `out`."""
    offsets, texts, places, E, V = batch.offsets, batch.texts, batch.places, parameters.vectors, parameters.scores
    layers, logits, c, slopes = parameters.layers, out.logits, out.weights, out.slopes
    d, classes = E.shape[1], V.shape[0]
    longest = np.int64(1)
    for t in range(start, stop):
        longest = max(longest, offsets[texts[t] + 1] - offsets[texts[t]])
    work = workspace_for(longest, d, layers)
    z, since, where, weight = work.z, work.since, np.empty(longest, np.int64), np.empty(longest)
    threshold = np.uint64(batch.drop * 2.0**53)
    mean = np.empty(d)
    for t in range(start, stop):
        text = texts[t]
        first, size = offsets[text], offsets[text + 1] - offsets[text]
        n = np.int64(0)
        for p in range(size):
            c[places[t] + p] = 0.0
            if batch.drop > 0.0 and (coin(batch.seed, np.uint64(text), np.uint64(p)) >> np.uint64(11)) < threshold:
                continue
            word = batch.ids[first + p]
            if d == 2:  # without an inner loop more words are fetched from memory at a time
                z[n, 0], z[n, 1] = E[word, 0], E[word, 1]
            else:
                for x in range(d):
                    z[n, x] = E[word, x]
            where[n] = p
            n += 1
        mean[:] = 0.0
        out.heads[t] = 0
        if n:
            each = 1.0 / (n + parameters.neutral)
            moving, _ = run_bag(n, each, parameters.rest, layers, weight, work)
            for i in range(n):
                c[places[t] + where[i]] = weight[i]
                out.heads[t] += since[i] >= 0
                for x in range(d):
                    mean[x] += weight[i] * z[i, x]
            for side in range(batch.nearby.shape[0]):
                weigh(n, each, batch.nearby[side], layers, weight, work, moving)
                for k in range(classes):
                    total = 0.0
                    for i in range(n):
                        for x in range(d):
                            total += V[k, x] * weight[i] * z[i, x]
                    slopes[t, k] = total if side == 0 else slopes[t, k] - total
        for k in range(classes):
            total = 0.0
            for x in range(d):
                total += V[k, x] * mean[x]
            logits[t, k] = parameters.bias[k] + total


class Traced(NamedTuple):
    """What the layers do to the T terms of B texts.

    Attributes:
        leader: (T,) the leader a term ends at, as an index among the terms of its text.
        since: (T,) the layer from which a term leads, -1 if it does not.
        contributions: (T, C') <v, z_i^K> / (n + n0).
        logits: (B, C') bias + the sum of a text's contributions, with the bits of `run_bags`.
        busy: (T,) whether a term is followed by one that has not settled yet; true for the whole text if it has a tie.
    """

    leader: Ints
    since: Ints
    contributions: Floats
    logits: Floats
    busy: NDArray[np.bool_]


class Traces:
    """Explanations of many texts as arrays over their terms, those of `Traced`; the term numbers are in `bags`.

    `hardmax.sentiment.explain` says the same about one text in words; a test compares the two.
    """

    def __init__(self, bags: Bags, found: Traced) -> None:
        self.bags = bags
        self.leader, self.since, self.contributions, self.logits, self.busy = found

    def __len__(self) -> int:
        return len(self.bags)

    def place(self, t: int) -> slice:
        """Where the terms of text t are."""
        return slice(int(self.bags.offsets[t]), int(self.bags.offsets[t + 1]))

    def clusters(self) -> Floats:
        """(T, C') at a leader the contribution of its whole cluster, 0 at the other terms."""
        owner = self.leader + self.bags.offsets[self.bags.owners]
        columns = [np.bincount(owner, weights=c, minlength=owner.size) for c in self.contributions.T]
        return np.stack(columns, axis=1) if owner.size else np.zeros((0, self.contributions.shape[1]))


def trace(model: "SentimentModel", texts: Sequence[str]) -> Traces:
    """Explain many texts: leaders and contributions as arrays."""
    bags, parameters = model.vocabulary.bags(texts), model.arrays
    out = traced_for(bags.ids.size, len(bags), len(parameters.bias))

    def part(start: int, stop: int) -> None:
        _trace(start, stop, bags.ids, bags.offsets, parameters, out)

    over_parts(part, len(bags), 100.0 * bags.ids.size, PART)
    return Traces(bags, out)


def traced_for(terms: int, texts: int, classes: int) -> Traced:
    """Room for the traces of texts."""
    leader, since = np.empty((2, terms), np.int64)
    return Traced(leader, since, np.empty((terms, classes)), np.empty((texts, classes)), np.zeros(terms, np.bool_))


@njit()
def _trace(start: Any, stop: Any, ids: Any, offsets: Any, parameters: Any, out: Any) -> None:
    longest, d = np.int64(1), parameters.vectors.shape[1]
    for t in range(start, stop):
        longest = max(longest, offsets[t + 1] - offsets[t])
    work, weight, end, mean = workspace_for(longest, d, parameters.layers), np.empty(longest), np.empty(d), np.empty(d)
    for t in range(start, stop):
        trace_text(t, offsets[t], offsets[t + 1] - offsets[t], ids, parameters, out, work, weight, end, mean)


@bare_njit()
def trace_text(
    t: Any, first: Any, n: Any, ids: Any, parameters: Any, out: Any, work: Any, weight: Any, end: Any, mean: Any
) -> Any:
    """Text t with the terms ids[first : first + n], into `out`; what `run_bag` returns, ties in any layer counted."""
    E, V, rest, layers = parameters.vectors, parameters.scores, parameters.rest, parameters.layers
    d, classes = E.shape[1], V.shape[0]
    z, leader, since, settled, history = work.z, work.leader, work.since, work.settled, work.history
    for k in range(classes):
        out.logits[t, k] = parameters.bias[k]
    if n == 0:
        return np.int64(0), False
    for i in range(n):
        for x in range(d):
            z[i, x] = E[ids[first + i], x]
    words = n + parameters.neutral
    moving, tie = run_bag(n, 1.0 / words, rest, layers, weight, work)
    for p in range(moving):
        i = work.moving[p]
        for k in range(min(settled[i], layers)):
            if work.target[k, i] < 0:
                tie = True
            else:
                out.busy[first + work.target[k, i]] = True
    if tie:
        for i in range(n):
            out.busy[first + i] = True
    mean[:] = 0.0
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
            mean[x] += weight[i] * z[i, x]
        out.leader[first + i], out.since[first + i] = j, since[i]
        for k in range(classes):
            total = 0.0
            for x in range(d):
                total += V[k, x] * end[x]
            out.contributions[first + i, k] = total / words
    for k in range(classes):
        total = 0.0
        for x in range(d):
            total += V[k, x] * mean[x]
        out.logits[t, k] = parameters.bias[k] + total
    return moving, tie
