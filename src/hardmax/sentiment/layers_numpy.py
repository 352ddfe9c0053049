"""The layers of `hardmax.sentiment.layers_compiled` in NumPy, for one text: nothing to compile, every state at hand.

Same operations in the same order, hence the same bits; a test compares the two. The proofs are in `layers_compiled`.
`SentimentModel.run` chooses between the two.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardmax.jit.ways import Job

BAND, TINY, BUCKETS = 1e-12, 1e-3, 64  # as in search.py
AT_ONCE = 4_000_000  # scores
FEW_ROWS, FEW_SCORES = 4, 30_000  # with so few of them nothing more is left out
FEW_CANDIDATES = 16  # so many of the longest words are looked at first
MANY = 20_000  # with more terms than this in more than two dimensions, the compiled search is worth loading
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def powers(alpha: float, layers: int) -> Floats:
    """(1 + alpha)^-k for k = 0, ..., layers + 1, by repeated division: the same bits wherever they are used.

    Example:
        >>> powers(1.0, 2).tolist()
        [1.0, 0.5, 0.25, 0.125]
    """
    rest = np.ones(layers + 2)
    for k in range(1, layers + 2):
        rest[k] = rest[k - 1] / (1.0 + alpha)
    return rest


Compiled = Job("batches.run_texts")  # the compiled layers: whether they are in memory, or worth loading


class Parameters(NamedTuple):
    """The numbers of a model, as the compiled code takes them.

    Attributes:
        vectors: (V, d) where the terms start.   rest: (layers + 2,) the powers (1 + alpha)^-k.   layers: K.
        scores: (C', d).   bias: (C',).   neutral: n0, how many words without opinion every text has besides its own.
    """

    vectors: Floats
    rest: Floats
    layers: int
    scores: Floats
    bias: Floats
    neutral: float = 0.0


class Flow(NamedTuple):
    """What the layers do to one bag of words.

    Attributes:
        weights: (n,) c with sum_i z_i^K / (n + n0) = sum_i c_i z_i^0.
        leader: (n,) the leader each word ends at; a leader ends at itself.
        since: (n,) the layer at which a word began to lead, -1 if it never does.
        settled: (n,) the layer from which a word follows its leader forever; layers + 1 if not within these layers.
        states: (layers + 1, n, d) the positions; see `whole` of `flow`.
        tie: whether some word had the same score with two different points.
        busy: (n,) whether a word is followed by one that has not settled yet; true for all words if there is a tie.
        target: (layers + 1, n) whom a word that had not settled before followed at each layer, -1 for a tie.
        least: (layers + 1, n) the least score that was tied then.
    """

    weights: Floats
    leader: Ints
    since: Ints
    settled: Ints
    states: Floats
    tie: bool
    busy: NDArray[np.bool_]
    target: Ints
    least: Floats


def flow(
    z: Floats, rest: Floats, layers: int, neutral: float = 0.0, whole: bool = True, known: Any = None
) -> Flow:  # fmt: skip
    """Run the layers on the words z, beside `neutral` words that stand at 0.

    Args:
        whole: compute the positions at all layers; otherwise until all words have settled, which tells everything else.
        known: what the search of layer 0 has found, if scores of later layers turned out to be close: then all places
            are computed layer by layer. Otherwise a word that settled at layer 0 is on its way to its leader in one
            step, as in the compiled code.

    Example:
        >>> flow(np.array([[2.0, 0.0], [1.0, 0.0]]), powers(1.0, 1), 1).weights.tolist()
        [0.75, 0.25]
    """
    n = len(z)
    each = 1.0 / (n + neutral) if n else 0.0
    if layers == 0 or n == 0:
        own = np.arange(n)
        nothing = np.zeros(n, np.int64)
        nobody = np.zeros(n, bool), own[None], np.zeros((1, n))
        return Flow(np.full(n, each), own, nothing, nothing.copy(), z[None].copy(), False, *nobody)
    target, least = np.full((layers + 1, n), -1), np.zeros((layers + 1, n))
    leader, since, settled = np.arange(n), np.full(n, -1), np.full(n, layers + 1)
    states = np.empty((layers + 1, n, z.shape[1]))
    states[0] = z
    keep, move = rest[1], 1.0 - rest[1]
    undecided = np.arange(n)
    any_tie, stepwise, first = False, known is not None, None
    for k in range(layers + 1):
        now = states[k]
        if undecided.size:
            found = known if k == 0 and known else _follow(now, undecided, since == 0)
            first, (arg, tie, score, close) = first or found, found
            if stepwise < (close if k else tie.any()):
                if k > 2:  # up to here there is no difference
                    return flow(z, rest, layers, neutral, whole, first)
                stepwise = True
            any_tie |= bool(k == 0 and tie.any())
            leader[undecided], target[k, undecided], least[k, undecided] = arg, np.where(tie, -1, arg), score
            since[undecided[(arg == undecided) & ~tie]] = k
            done = ~tie & (since[arg] >= 0)
            settled[undecided[done]] = k
            undecided = undecided[~done]
        if not whole and not undecided.size:
            break
        if k < layers:
            to = np.where(settled <= k, leader, target[k])
            there = now[to]
            if not stepwise:
                on_way = undecided[(settled[to[undecided]] == 0) & (leader[to[undecided]] != to[undecided])]
                j = to[on_way]
                there[on_way] = rest[k] * z[j] + (1.0 - rest[k]) * z[leader[j]]
            states[k + 1] = keep * now + move * there
            stays = np.flatnonzero(to == np.arange(n))
            states[k + 1, stays] = now[stays]
            for i in np.flatnonzero(to < 0).tolist():
                share = _spread(now, i, least[k, i], move)
                some = np.flatnonzero(share)
                parts = np.concatenate([keep * now[i : i + 1], share[some, None] * now[some]])
                states[k + 1, i] = parts.cumsum(axis=0)[-1]  # one after the other
    for i in undecided.tolist():
        for _ in range(n):
            if since[leader[i]] >= 0 or leader[leader[i]] == leader[i]:
                break
            leader[i] = leader[leader[i]]
    weights = _weights(each, rest, layers, leader, settled, states, target, least)
    followed = target[:layers][settled > np.arange(layers)[:, None]]  # by words that have not settled
    busy = np.full(n, bool((followed < 0).any()))
    busy[followed] = True
    return Flow(weights, leader, since, settled, states, any_tie, busy, target, least)


def contributions(f: Flow, parameters: Parameters) -> Floats:
    """(n, C') the parts <v, z_i^K> / (n + n0) of the words, with the bits of the compiled code.

    A settled word is on the straight way to its leader, which stands where it was when it began to lead.

    Example:
        >>> one = Parameters(np.zeros((0, 1)), powers(1.0, 1), 1, np.array([[3.0]]), np.array([0.5]))
        >>> contributions(score(np.array([[2.0], [1.0]]), one)[0], one).tolist()
        [[3.0], [2.25]]
    """
    every, layers = np.arange(len(f.leader)), parameters.layers
    at_layer = np.minimum(f.settled, layers)
    own, leader = f.states[at_layer, every], f.states[np.maximum(f.since[f.leader], 0), f.leader]
    rest = parameters.rest[layers - at_layer][:, None]
    stays = (f.leader == every) | (f.settled > layers)
    end = np.where(stays[:, None], own, rest * own + (1.0 - rest) * leader)
    total = np.zeros((len(every), len(parameters.bias)))
    for x in range(end.shape[1]):
        total = total + end[:, x, None] * parameters.scores[:, x]
    return np.asarray(total / max(len(every) + parameters.neutral, 1e-300))


def score(z: Floats, parameters: Parameters, whole: bool = True) -> tuple[Flow, Floats]:
    """The words z through the layers, and the scores (C',) of the text; `whole` as in `flow`.

    Example:
        >>> one = Parameters(np.zeros((0, 1)), powers(1.0, 1), 1, np.array([[3.0]]), np.array([0.5]))
        >>> score(np.array([[2.0], [1.0]]), one)[1].tolist()
        [5.75]
    """
    f = flow(z, parameters.rest, parameters.layers, parameters.neutral, whole)
    # Word after word, then coordinate after coordinate, as the compiled code adds.
    mean = (f.weights[:, None] * z).cumsum(axis=0)[-1].tolist() if len(z) else [0.0] * z.shape[1]
    totals = []
    for row, b in zip(parameters.scores.tolist(), parameters.bias.tolist(), strict=True):
        total = 0.0
        for v, m in zip(row, mean, strict=True):
            total += v * m
        totals.append(b + total)
    return f, np.array(totals)


def pair_scores(x: Floats, y: Floats) -> Floats:
    """<x_i, y_j> for all pairs, added up coordinate by coordinate as the kernel does."""
    total = x[:, 0, None] * y[:, 0]
    for k in range(1, x.shape[1]):
        total += x[:, k, None] * y[:, k]
    return total


def dots(x: Floats, y: Floats) -> Floats:
    """<x_i, y_i>, added up in the same order."""
    total = x[:, 0] * y[:, 0]
    for k in range(1, x.shape[1]):
        total += x[:, k] * y[:, k]
    return total


class Reach:
    """Which words can have the largest scores.

    <x, z_j> <= |x||z_j|: a word that is shorter than the least best score over |x| is nobody's. In the plane many rows
    are taken in the order of their directions: what scores less than another word in the first and the last direction
    of a group does so in all between. Without that a text of 10 MB would compare its 200,000 terms with 1,500.

    Attributes:
        norm: (n,) the lengths of the words z.   top: the largest one, and a little more.
    """

    def __init__(self, z: Floats) -> None:
        self.z, self.norm = z, np.sqrt(dots(z, z))
        self.top = float(self.norm.max(initial=0.0)) * (1.0 + 2.0 * BAND)

    @cached_property
    def _longest(self) -> Ints:
        return np.argpartition(-self.norm, 2 * FEW_CANDIDATES)[: 2 * FEW_CANDIDATES]

    def doubt(self, length: Floats, times: float = 1.0) -> Floats:
        """So close scores of words of these lengths are a tie, or so many times as close."""
        return np.asarray(times * BAND * np.maximum(length, TINY * self.top) * self.top)

    def groups(self, x: Floats, near: Floats, gone: NDArray[np.bool_] | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Groups of the rows of x, with the words that can have the best score with one of them, or one `near` it."""
        size, here = np.sqrt(dots(x, x)), np.ones(len(self.z), bool) if gone is None else ~gone
        some = np.flatnonzero(here)
        if min(len(some), len(x)) > 2 * FEW_CANDIDATES and size.all() and here[self._longest].any():
            best = pair_scores(x, self.z[self._longest[here[self._longest]]]).max(axis=1)
            for _ in range(FEW_CANDIDATES if x.shape[1] > 2 else 3):
                reach = (best - near) / size
                least = int(reach.argmin())
                some = np.flatnonzero((self.norm >= reach[least] * (1.0 - 1e-9)) & here)
                further = pair_scores(x[least : least + 1], self.z[some])[0]
                if len(some) <= 4 * FEW_CANDIDATES or further.max() <= best[least]:
                    break
                best = np.maximum(best, pair_scores(x, self.z[some[further.argmax()]][None])[:, 0])
        if x.shape[1] != 2 or not size.all():
            yield from ((rows, some) for rows in np.array_split(np.arange(len(x)), 1 + len(x) * len(some) // AT_ONCE))
            return
        apart, unit = 1e-9 * self.top + float((near / size).max(initial=0.0)), x / size[:, None]
        waiting = [(np.argsort(np.arctan2(x[:, 1], x[:, 0]), kind="stable"), some)]
        while waiting:
            rows, some = waiting.pop()
            if len(rows) <= FEW_ROWS or len(rows) * len(some) <= FEW_SCORES:
                yield rows, some
                continue
            ends = unit[rows[[0, len(rows) // 2, -1]]]
            if (pair_scores(ends, ends) > 0.5).all():
                scores, keep = pair_scores(ends, self.z[some]), np.ones(len(some), bool)
                for j in scores.argmax(axis=1).tolist():
                    keep &= (scores[0] >= scores[0, j] - apart) | (scores[2] >= scores[2, j] - apart)
                some = some[keep]
            waiting += [(half, some) for half in np.array_split(rows, 2)]


def _follow(z: Floats, who: Ints, heads: NDArray[np.bool_]) -> tuple[Ints, NDArray[np.bool_], Floats, bool]:
    """For each i in `who`: whom it follows, whether that is a tie, and the least tied score; and if any are close.

    In the plane, copies of one of the `heads` are one.
    """
    arg, tie, least = np.empty(len(who), np.int64), np.zeros(len(who), np.bool_), np.empty(len(who))
    if len(z) > MANY and z.shape[1] > 2:  # ten billion scores
        from hardmax.sentiment.search import follow_many

        follow_many(np.ascontiguousarray(z), np.ascontiguousarray(who), arg, tie, least)
        return arg, tie, least, True
    close, words, x, unclear = False, Reach(z), z[who], np.zeros(len(who), bool)
    band = words.doubt(words.norm[who])
    for rows, some in words.groups(x, 4 * band):
        scores = pair_scores(x[rows], z[some])
        best = scores.max(axis=1)
        arg[rows], least[rows] = some[scores.argmax(axis=1)], best - band[rows]
        # One score clearly above all others needs no more care; otherwise the rule of search.follows, word by word.
        unclear[rows] = (scores >= (best - 4 * band[rows])[:, None]).sum(axis=1) > 1
    if unclear.any():
        largest = float(words.norm.max())
        scale = (BUCKETS - 0.001) / largest if largest > 0 else 0.0
        order = np.argsort(((largest - words.norm) * scale).astype(np.int64), kind="stable")
    for row in np.flatnonzero(unclear).tolist():
        every, near = pair_scores(x[row : row + 1], z)[0], float(band[row])
        above = every[order] - (every.max() - 6 * near)
        # What is far below changes nothing, unless there is a chain of scores from there to the best one.
        some = order if ((above >= 0) & (above < 4 * near)).any() else order[above >= 0]
        best = np.flatnonzero(every >= every.max() - 4 * near)
        same = best[heads[best]] if z.shape[1] == 2 else best[:0]
        close = close or len(best) - len(same) + len(np.unique(z[same], axis=0)) > 1
        high, chosen, tied = float(every[who[row]]), int(who[row]), False
        for j, score in zip(some.tolist(), every[some].tolist(), strict=True):
            if score > high + near:
                high, chosen, tied = score, j, False
            elif score >= high - near and j != chosen:
                if (np.abs(z[j] - z[chosen]) > BAND * words.top).any():
                    tied = True
                elif chosen != who[row] and j < chosen:
                    chosen = j
        arg[row], tie[row], least[row] = chosen, tied, high - near
    return arg, tie, least, close


def _spread(z: Floats, i: int, least: float, weight: float) -> Floats:
    members = pair_scores(z[i : i + 1], z)[0] >= least
    return np.where(members, weight / np.count_nonzero(members), 0.0)


def _weights(
    each: float, rest: Floats, layers: int, leader: Ints, settled: Ints, states: Floats, target: Ints, least: Floats
) -> Floats:
    every = np.arange(len(leader))
    own = np.where(leader == every, 1.0, rest[np.maximum(layers - settled, 0)])
    # In the order of the words: what a word keeps, then what it leaves to its leader.
    parts = np.stack([own * each, (1.0 - own) * each], axis=1)
    c = np.bincount(np.stack([every, leader], axis=1).ravel(), parts.ravel()).tolist()
    powers_, leads, layer_of = rest.tolist(), leader.tolist(), settled.tolist()
    keep, move = powers_[1], 1.0 - powers_[1]

    def put(j: int, weight: float, k: int) -> None:
        if layer_of[j] >= k or leads[j] == j:
            c[j] += weight
        else:
            own = powers_[k - layer_of[j]]
            c[j] += own * weight
            c[leads[j]] += (1.0 - own) * weight

    for k in range(min(max(layer_of), layers) - 1, -1, -1):
        before, moving = list(c), np.flatnonzero(settled > k).tolist()
        for i in moving:
            c[i] = keep * before[i]
        for i in moving:
            if before[i] == 0.0:
                continue
            if target[k, i] >= 0:
                put(int(target[k, i]), move * before[i], k)
            else:
                share = _spread(states[k], i, float(least[k, i]), move * before[i])
                for m in np.flatnonzero(share):
                    put(int(m), float(share[m]), k)
    return np.array(c)
