"""What `study_compiled` and `rerun_compiled` compute, in NumPy: the scores of a text without each of its forms.

The same operations in the same order, hence the same bits; a test compares the two. The two modules say why it is
right. Forms are taken all at once where nobody followed what they remove, and one by one otherwise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardmax.sentiment.layers_numpy import Floats, Flow, Ints, Parameters, Reach, dots, flow, pair_scores
from hardmax.sentiment.layout import Deletions, member

DOUBT = 4.0  # as in study_compiled
CLEAR = 1.0 - 1e-9  # as in rerun_compiled
SMALL, SHARE = 2048, 16
Mask = NDArray[np.bool_]


class Base(NamedTuple):
    """What is known of a text before anything is deleted, as in `study_compiled.Base`.

    Attributes:
        tie: whether there is one in any layer.
        target, since: (n,) of layer 0.
        floors: (n,) the scores that terms choose there, less a doubt.   inner: the least of them over the lengths.
        seen: (n,) whether a moving term follows it.   moving: the terms that had not settled at layer 0.
        places, bars: (L, d) and (L,) where these look at all layers, and what they choose there, less a doubt.
        inner_looks: the least of `bars` over the lengths.
        play: the terms in play.   outer: a bound for the lengths of the others; None if all are in play.
    """

    words: Reach
    tie: bool
    target: Ints
    since: Ints
    floors: Floats
    inner: float
    seen: Mask
    moving: Ints
    places: Floats
    bars: Floats
    inner_looks: float
    play: Ints
    outer: float | None


def base_of(z: Floats, f: Flow, layers: int) -> Base:
    """From a run of the layers on the terms z of a text."""
    words, n, target = Reach(z), len(z), f.target[0]
    layer, term, places, score = _looks(f, layers)
    length = np.sqrt(dots(places, places))
    bars = score - words.doubt(length, DOUBT)
    followed, seen, moving = f.target[layer, term], np.zeros(n, bool), np.flatnonzero(f.settled > 0)
    seen[followed[followed >= 0]] = seen[f.leader[moving]] = True
    for look in np.flatnonzero(followed < 0).tolist():
        seen |= pair_scores(places[look : look + 1], f.states[layer[look]])[0] >= score[look]
    floors = np.where(target >= 0, dots(z, z[target]), f.least[0]) - words.doubt(words.norm, DOUBT)
    inner, tie = _least(floors, words.norm), bool((followed < 0).any())
    play, outer, slack = np.arange(n), None, 0.01
    while n > SMALL and slack > 1e-6:
        longer = np.flatnonzero(words.norm > inner * (1.0 - slack))
        if len(longer) <= max(SMALL, n // SHARE):
            play, outer = longer, inner * (1.0 - slack)
            break
        slack /= 4.0
    return Base(
        words, tie, target, f.since, floors, inner, seen, moving, places, bars, _least(bars, length), play, outer
    )


def _looks(f: Flow, layers: int) -> tuple[Ints, Ints, Floats, Floats]:
    """The layers, the terms, the places and the best scores of all looks of terms that had not settled at layer 0."""
    moving = np.flatnonzero(f.settled > 0)
    term = np.repeat(moving, np.minimum(f.settled[moving], max(layers - 1, 0)) + 1)
    layer = np.arange(len(term)) - np.searchsorted(term, term)
    places, target = f.states[layer, term], f.target[layer, term]
    return layer, term, places, np.where(target >= 0, dots(places, f.states[layer, target]), f.least[layer, term])


def _least(scores: Floats, lengths: Floats) -> float:
    found = np.zeros(len(scores))
    np.divide(scores, lengths, out=found, where=scores > 0.0)
    return float(found.min(initial=np.inf)) * CLEAR


class Without:
    """The scores of one text without each of its forms.

    Args:
        z, x: the terms, and those that deletions add.   forms: the first form and the one after the last.
        found: what deletions do to the terms of all texts; `first` is the first term of this one, `new` the first
            added one.
        contributions, logits: those of the text.
    """

    def __init__(
        self, base: Base, z: Floats, x: Floats, found: Deletions, forms: tuple[int, int], first: int, new: int,
        parameters: Parameters, contributions: Floats, logits: Floats,
    ) -> None:  # fmt: skip
        a, b = forms
        self.base, self.z, self.x, self.parameters, self.contributions = base, z, x, parameters, contributions
        self.gone_at, self.new_at = found.gone_at[a : b + 1], found.new_at[a : b + 1]
        self.gone = found.gone_term[self.gone_at[0] : self.gone_at[-1]] - first
        self.new = found.new_term[self.new_at[0] : self.new_at[-1]] - new
        self.gone_at, self.new_at = self.gone_at - self.gone_at[0], self.new_at - self.new_at[0]
        self.logits, self.words, self.size = logits, len(z) + parameters.neutral, np.sqrt(dots(x, x))
        who = np.flatnonzero((base.target >= 0) & (base.target != np.arange(len(z))))
        self.follower = who[np.argsort(base.target[who], kind="stable")]
        self.followers = np.searchsorted(base.target[self.follower], np.arange(len(z) + 1))
        self.is_gone = np.zeros(len(z), bool)
        self.left = len(z) - np.diff(self.gone_at) + np.diff(self.new_at)
        self.scores = self._by_sums()

    def _by_sums(self) -> Floats:
        """The scores, where only the sums change; `again` are the forms without which the layers have to run again."""
        base, parameters, forms, n = self.base, self.parameters, len(self.left), len(self.z)
        gone_of, new_of = (np.repeat(np.arange(forms), np.diff(at)) for at in (self.gone_at, self.new_at))
        lost, again, rows = np.zeros(forms, bool), np.zeros(forms, bool), []
        self.to, self.level = np.full(len(self.x), n), np.zeros(len(self.x))
        heads = np.full(len(self.new), n)
        if parameters.layers and n:
            calm = self._calm()
            heads = self.to[self.new]
            pairs = np.sort(gone_of * n + self.gone)
            headless = (heads < n) & member(new_of * n + heads, pairs)
            far = np.zeros(forms)
            np.maximum.at(far, new_of, self.size[self.new])
            close = (np.diff(self.new_at)[new_of] > 1) & (
                self.size[self.new] * far[new_of] >= self.level[self.new] * CLEAR
            )
            again = np.bincount(new_of, ~calm[self.new], forms) > 0
            fixed = base.seen[self.gone] | (base.tie & (base.words.norm[self.gone] >= base.words.top * CLEAR))
            again |= np.bincount(gone_of, fixed, forms) > 0
            lost = np.bincount(gone_of, np.diff(self.followers)[self.gone], forms) > 0
            lost |= np.bincount(new_of, headless | close, forms) > 0
            for f in np.flatnonzero(lost & ~again).tolist():
                turned = self._turned(f, float(far[f]), heads)
                again[f] = turned is None
                if turned is not None:
                    rows.append((np.full(2 * len(turned[0]), f), *turned))
        again |= n == 0
        own = self.contributions * self.words
        ends = self._ends(self.x[self.new], heads, heads == n)
        into = np.concatenate([gone_of, new_of, *(of for of, _, _ in rows)])
        both = [np.stack([end, -own[who]], axis=1).reshape(-1, own.shape[1]) for _, who, end in rows]
        values = np.concatenate([-own[self.gone], ends, *both])
        change = np.stack([np.bincount(into, column, forms) for column in values.T], axis=1)
        bias = parameters.bias
        total = (self.logits - bias) * self.words + change
        scores = bias + total / np.maximum(self.left + parameters.neutral, 1e-300)[:, None]
        scores[self.left == 0] = bias
        self.again = np.flatnonzero(again & (self.left > 0))
        return np.asarray(scores)

    def _calm(self) -> Mask:
        """(X,) whether nothing else changes with each of the added terms; and whom they follow, with which score."""
        base, n = self.base, len(self.z)
        self.to, self.level, calm = self._look(self.x, None)
        calm &= (self.to == n) | (np.append(base.since, 0)[self.to] == 0)
        calm &= ~(base.tie & (self.size > base.words.top))
        calm[self._near(self.z, base.floors, base.inner, calm)] = False
        calm[self._near(base.places, base.bars, base.inner_looks, calm)] = False
        return calm

    def _near(self, points: Floats, floors: Floats, inner: float, some: Mask) -> Ints:
        """Which of some added terms have a score of at least its floor with one of the points."""
        which = np.flatnonzero(some & (self.size >= inner))
        return which[[bool((pair_scores(self.x[b : b + 1], points)[0] >= floors).any()) for b in which.tolist()]]

    def _look(self, x: Floats, own: Ints | None, gone: Mask | None = None) -> tuple[Ints, Floats, Mask]:
        """Whom each x follows among the terms that are not gone, its score, and whether it is clear.

        `own` are the places of x among the terms; without them, n stands for x itself.
        """
        words, n, square = self.base.words, len(self.z), dots(x, x)
        near = words.doubt(np.sqrt(square), DOUBT)
        head, best, second = np.full(len(x), n), square.copy(), np.full(len(x), -np.inf)
        for rows, some in words.groups(x, near, gone):
            scores, every = pair_scores(x[rows], self.z[some]), np.arange(len(rows))
            if own is not None:
                scores[own[rows, None] == some] = -np.inf
            if not len(some):
                continue
            arg = scores.argmax(axis=1)
            top = scores[every, arg]
            scores[every, arg] = -np.inf
            leads = top <= square[rows]
            second[rows] = np.where(leads, top, np.maximum(scores.max(axis=1), square[rows]))
            best[rows], head[rows] = np.where(leads, square[rows], top), np.where(leads, n, some[arg])
        if own is not None:
            head = np.where(head == n, own, head)
        return head, best, best - second > near

    def _turned(self, f: int, far: float, heads: Ints) -> tuple[Ints, Floats] | None:
        """The terms that follow somebody else without the form f, and their ends; None if more changes than that."""
        base, n = self.base, len(self.z)
        gone = self.gone[self.gone_at[f] : self.gone_at[f + 1]]
        pairs = slice(int(self.new_at[f]), int(self.new_at[f + 1]))
        new, x = self.new[pairs], self.x[self.new[pairs]]
        self.is_gone[gone] = True
        try:
            level = self.level[new]
            homeless = np.flatnonzero((heads[pairs] < n) & np.append(self.is_gone, False)[heads[pairs]])
            if len(homeless):
                head, level[homeless], clear = self._look(x[homeless], None, self.is_gone)
                if not (clear & (np.append(base.since, 0)[head] == 0)).all():
                    return None
                heads[pairs.start + homeless] = head
            if len(new) > 1:
                close = pair_scores(x, x) >= (level * CLEAR)[:, None]
                np.fill_diagonal(close, False)
                if close[self.size[new] * far >= level * CLEAR].any():
                    return None
            who = np.concatenate([np.empty(0, np.int64), *(self._followers(g) for g in gone.tolist())])
            who = who[~self.is_gone[who]]
            z = self.z[who]
            head, best, clear = self._look(z, who, self.is_gone)
            leads = base.since == 0
            leads[who[head == who]] = True  # nobody is left that it would follow
            if not clear.all() or not leads[head].all():
                return None
            long = np.flatnonzero(base.words.norm[who] >= base.inner_looks)
            if (pair_scores(z[long], base.places) >= base.bars).any():
                return None
            long = np.flatnonzero(base.words.norm[who] * far >= best * CLEAR)
            if len(new) and (pair_scores(z[long], x) >= (best[long] * CLEAR)[:, None]).any():
                return None
            return who, self._ends(z, head, head == who)
        finally:
            self.is_gone[gone] = False

    def _followers(self, g: int) -> Ints:
        return self.follower[self.followers[g] : self.followers[g + 1]]

    def _ends(self, x: Floats, head: Ints, leads: Mask) -> Floats:
        """(m, C') the scores of the ends of x that follow a head from layer 0 on, or lead."""
        keep, scores = self.parameters.rest[self.parameters.layers], self.parameters.scores
        to = self.z[np.where(leads, 0, head)] if len(self.z) else x
        at = np.where((leads | (keep == 1.0))[:, None], x, keep * x + (1.0 - keep) * to)
        return pair_scores(at, scores)

    def run(self, f: int) -> Floats:
        """The scores without a form with which more changes, by a run of the layers, if possible on a part."""
        base = self.base
        gone = self.gone[self.gone_at[f] : self.gone_at[f + 1]]
        new = self.new[self.new_at[f] : self.new_at[f + 1]]
        some = np.ones(len(self.z), bool)
        some[gone] = False
        if base.outer is not None:
            long = new[self.size[new] >= base.inner].tolist()
            close = [np.flatnonzero(pair_scores(self.x[q : q + 1], self.z)[0] >= base.floors) for q in long]
            part = np.concatenate([base.play, base.moving, *(self._followers(g) for g in gone.tolist()), *close])
            part = part[np.sort(np.unique(part, return_index=True)[1])]
            found = self._run(part[some[part]], gone, new, base.outer)
            if found is not None:
                return found
        found = self._run(np.flatnonzero(some), gone, new, None)
        assert found is not None
        return found

    def _run(self, some: Ints, gone: Ints, new: Ints, outer: float | None) -> Floats | None:
        """With the terms `some` and the new ones; None if it is not certain that the others stay as they are."""
        parameters, bag = self.parameters, np.concatenate([self.z[some], self.x[new]])
        left, bias = len(self.z) - len(gone) + len(new), parameters.bias
        neutral = parameters.neutral if outer is None else 1.0 - len(bag)  # of a part no mean is taken
        f = flow(bag, parameters.rest, parameters.layers, neutral, whole=False)
        if outer is not None and not self._enough(f, bag, some, outer):
            return None
        weighted = parameters.scores[:, None] * f.weights[:, None] * bag
        total = weighted.reshape(len(bias), -1).cumsum(axis=1)[:, -1] if len(bag) else np.zeros(len(bias))
        if outer is not None:
            lost = self.contributions[np.concatenate([gone, some])] * self.words
            same = np.concatenate([((self.logits - bias) * self.words)[None], -lost]).cumsum(axis=0)[-1]
            total = (same + total) / (left + parameters.neutral)
        return np.asarray(bias + total)

    def _enough(self, f: Flow, bag: Floats, some: Ints, outer: float) -> bool:
        """Whether what ran on a part of the text is what the whole text would have done."""
        if ((self.base.since[some] == 0) & (f.since[: len(some)] != 0)).any():
            return False
        first = np.where(f.target[0] >= 0, dots(bag, bag[f.target[0]]), f.least[0])
        _, _, places, later = _looks(f, self.parameters.layers)
        return all(
            bool((score * CLEAR > np.sqrt(dots(at, at)) * outer).all()) for at, score in ((bag, first), (places, later))
        )
