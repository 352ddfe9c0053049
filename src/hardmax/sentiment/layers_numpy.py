"""The layers of `hardmax.sentiment.layers_compiled` in NumPy, for one text: nothing to compile, every state at hand.

Same operations in the same order, hence the same bits; a test compares the two. The proofs are in `layers_compiled`.
`SentimentModel.run` chooses between the two.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardmax.jit.ways import Job

BAND, TINY, BUCKETS = 1e-12, 1e-3, 64  # as in search.py
SCORES_AT_ONCE = 4_000_000
FEW_CANDIDATES = 16  # so many of the longest words are looked at first
MANY = 20_000  # with more terms than this, the compiled search is worth loading
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
    """

    weights: Floats
    leader: Ints
    since: Ints
    settled: Ints
    states: Floats
    tie: bool
    busy: NDArray[np.bool_]
    target: Ints


def flow(z: Floats, rest: Floats, layers: int, neutral: float = 0.0, whole: bool = True) -> Flow:
    """Run the layers on the words z, beside `neutral` words that stand at 0.

    Args:
        whole: compute the positions at all layers; otherwise until all words have settled, which tells everything else.

    Example:
        >>> flow(np.array([[2.0, 0.0], [1.0, 0.0]]), powers(1.0, 1), 1).weights.tolist()
        [0.75, 0.25]
    """
    n = len(z)
    each = 1.0 / (n + neutral) if n else 0.0
    if layers == 0 or n == 0:
        own = np.arange(n)
        nothing = np.zeros(n, np.int64)
        return Flow(np.full(n, each), own, nothing, nothing.copy(), z[None].copy(), False, np.zeros(n, bool), own[None])
    target, least = np.full((layers + 1, n), -1), np.zeros((layers + 1, n))
    leader, since, settled = np.arange(n), np.full(n, -1), np.full(n, layers + 1)
    states = np.empty((layers + 1, n, z.shape[1]))
    states[0] = z
    keep, move = rest[1], 1.0 - rest[1]
    undecided = np.arange(n)
    any_tie = False
    for k in range(layers + 1):
        now = states[k]
        if undecided.size:
            arg, tie, score = _follow(now, undecided)
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
            states[k + 1] = keep * now + move * now[to]
            stays = np.flatnonzero(to == np.arange(n))
            states[k + 1, stays] = now[stays]
            for i in np.flatnonzero(to < 0).tolist():
                share = _spread(now, i, least[k, i], move)
                total = keep * now[i]
                for m in range(n):
                    total = total + share[m] * now[m]
                states[k + 1, i] = total
    for i in undecided.tolist():
        for _ in range(n):
            if since[leader[i]] >= 0 or leader[leader[i]] == leader[i]:
                break
            leader[i] = leader[leader[i]]
    weights = _weights(each, rest, layers, leader, settled, states, target, least)
    followed = target[:layers][settled > np.arange(layers)[:, None]]  # by words that have not settled
    busy = np.full(n, bool((followed < 0).any()))
    busy[followed] = True
    return Flow(weights, leader, since, settled, states, any_tie, busy, target)


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


def pair_scores(z: Floats, who: Ints, some: Ints) -> Floats:
    """<z_i, z_j> for i in `who` and j in `some`, added up coordinate by coordinate as the kernel does."""
    mine, theirs = z[who], z[some]
    total = mine[:, 0, None] * theirs[:, 0]
    for x in range(1, z.shape[1]):
        total += mine[:, x, None] * theirs[:, x]
    return total


def _follow(z: Floats, who: Ints) -> tuple[Ints, NDArray[np.bool_], Floats]:
    """For each i in `who`: whom it follows, whether that is a tie, and the least tied score.

    The scores are computed in blocks of rows, and by compiled code for more than MANY terms: a text of two megabytes
    has a hundred thousand terms, and ten billion scores do not fit into memory.
    """
    if len(z) > MANY:
        from hardmax.sentiment.search import follow_many

        arg, tie, least = np.empty(len(who), np.int64), np.empty(len(who), np.bool_), np.empty(len(who))
        follow_many(np.ascontiguousarray(z), np.ascontiguousarray(who), arg, tie, least)
        return arg, tie, least
    step = max(1, SCORES_AT_ONCE // len(z))
    parts = [_follow_some(z, who[start : start + step]) for start in range(0, len(who), step)]
    chosen, tied, lowest = zip(*parts, strict=True)
    return np.concatenate(chosen), np.concatenate(tied), np.concatenate(lowest)


def _follow_some(z: Floats, who: Ints) -> tuple[Ints, NDArray[np.bool_], Floats]:
    squares = z[:, 0] * z[:, 0]
    for x in range(1, z.shape[1]):
        squares = squares + z[:, x] * z[:, x]
    norm = np.sqrt(squares)
    largest = float(norm.max())
    top = largest * (1.0 + 2.0 * BAND)
    band = BAND * np.maximum(norm[who], TINY * top) * top
    some = candidates(z, who, norm, 4 * band)
    scores = pair_scores(z, who, some)
    best = scores.max(axis=1)
    arg, tie, least = some[scores.argmax(axis=1)], np.zeros(len(who), bool), best - band
    # One score clearly above all others needs no more care; otherwise the rule of search.follows, word by word.
    unclear = np.flatnonzero((scores >= (best - 4 * band)[:, None]).sum(axis=1) > 1)
    if unclear.size:
        scale = (BUCKETS - 0.001) / largest if largest > 0 else 0.0
        order = np.argsort(((largest - norm) * scale).astype(np.int64), kind="stable").tolist()
    for row in unclear.tolist():
        i, every = int(who[row]), pair_scores(z, who[row : row + 1], np.arange(len(z)))[0].tolist()
        high, chosen, tied, near = every[i], i, False, float(band[row])
        for j in order:
            score = every[j]
            if score > high + near:
                high, chosen, tied = score, j, False
            elif score >= high - near and j != chosen:
                if (np.abs(z[j] - z[chosen]) > BAND * top).any():
                    tied = True
                elif chosen != i and j < chosen:
                    chosen = j
        arg[row], tie[row], least[row] = chosen, tied, high - near
    return arg, tie, least


def candidates(z: Floats, who: Ints, norm: Floats, near: Floats) -> Ints:
    """The words that can have the largest score with one of `who`, or one at most `near` below it.

    <z_i, z_j> <= |z_i||z_j|: a word that is shorter than the least score over |z_i| is no one's. Scores are those with
    the longest words, and with the best one for the word that reaches least, as long as that leaves too many.
    """
    own, some = norm[who], np.arange(len(z))
    if min(len(z), len(who)) <= FEW_CANDIDATES or not own.all():
        return some
    longest = np.argpartition(-norm, FEW_CANDIDATES)[:FEW_CANDIDATES]
    best = pair_scores(z, who, longest).max(axis=1)
    for _ in range(FEW_CANDIDATES):
        reach = (best - near) / own
        least = int(reach.argmin())
        some = np.flatnonzero(norm >= reach[least] * (1.0 - 1e-9))
        further = pair_scores(z, who[least : least + 1], some)[0]
        if len(some) <= 4 * FEW_CANDIDATES or further.max() <= best[least]:
            break
        best = np.maximum(best, pair_scores(z, who, some[further.argmax()][None])[:, 0])
    return some


def _spread(z: Floats, i: int, least: float, weight: float) -> Floats:
    members = pair_scores(z, np.array([i]), np.arange(len(z)))[0] >= least
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
