"""The effect of each word: exactly the model's answer for the text without it, without reading the text again.

The effect of a word is the decrease of the log-odds of the predicted label when all its occurrences are deleted,

    effect_f = odds(text) - odds(text without f),   odds = log p / (1 - p), p the probability of the label,

positive if the word favors the label. `hardmax.sentiment.layout` says which terms a deletion removes and adds. Most
deletions leave the other terms where they are, by two facts about the layers. In both, no two scores are tied.

1. A term that no other term follows in any layer can be removed: the largest score of every other term is still there.
2. A term a can be added if all terms have settled at layer 0, no term i has <z_i, z_a> >= <z_i, z_leader(i)>, and a
   itself follows a leader or nobody: the leaders still lead, so every term follows its leader forever (see
   `layers_compiled`), and z_a^K = r z_a + (1 - r) z_leader with r = (1 + alpha)^-K. Where some terms have not settled
   at layer 0, a must not have a score with any place at which these look for a leader that is as large as the one they
   choose there: a stays between its own place and a leader, whose score is no larger than that one.
3. A term that followed a removed one follows another head from now on, or leads, if that is so at layer 0 and it comes
   no nearer to the others than a in 2.

Then the sum of the scores changes by the terms removed, added and turned alone. The layers run again for the other
deletions. In `study_compiled` the same is compiled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit.ways import SMALL, Job
from hardmax.sentiment.layers_numpy import (
    Floats,
    Flow,
    Ints,
    Parameters,
    candidates,
    contributions,
    pair_scores,
    score,
)
from hardmax.sentiment.layout import Deletions, Layout, Names, lay_out, member, shared
from hardmax.sentiment.model import SentimentModel, damped, probabilities
from hardmax.text.vocabulary import owners

TRACER = Job("study_compiled.study_bags")  # the compiled layers with all that they find out
FEW = 20_000  # terms; up to here plain NumPy is quicker than loading the compiled code
CLOSE = 1e-9  # scores within this part of the largest count as undecided: the layers run again
MOST_SCORES = 200_000_000  # of the terms that the deletions of one text add; beyond, their deletions are run again
MANY = 5_000  # terms of one text; in longer texts compiled code is quicker if it is stored
COMPARED = 1_000  # about so many terms of a long text are long enough that another may follow them
PAIRS = 64  # of the terms that one deletion adds, up to which all pairs are looked at
NEUTRAL = 0.1  # a word that says less than this part of what the strongest word says has no opinion
AT_ONCE = 4_000_000  # scores that are held at once


Looks = tuple[Floats, Floats, NDArray[np.bool_]]


@dataclass(eq=False, slots=True)
class Study:
    """Texts with what the layers do to their terms, and what deleting words would do; made by `study`.

    Attributes:
        words: the layout of the texts.   deletions: what deleting each form does to the terms.
        parameters: those of the model, with vectors of the terms at hand alone: first (T,) those of the texts, one
            text after the other, then those that a deletion adds.
        leader: (T,) the leader of each term, as an index among all terms.   since: (T,) as in `Traced`.
        contributions: (T, C') parts of the scores.   logits: (B, C') the scores.
        busy: (T,) as in `Traced`.
        looks: of each text where its terms that had not settled at layer 0 look for a leader, the scores that they
            choose there, less a doubt, and (n,) which terms they follow.
        given: what `without_each` gives, where it is known already.
        damping: of the model's probabilities.
    """

    words: Layout
    deletions: Deletions
    parameters: Parameters
    leader: Ints
    since: Ints
    contributions: Floats
    logits: Floats
    busy: NDArray[np.bool_]
    given: tuple[Floats, Ints] | None = None
    damping: float = 0.0
    looks: "tuple[Looks, ...]" = ()

    def probabilities(self) -> Floats:
        """(B, C) of the texts."""
        return probabilities(damped(self.logits, self.parameters.bias, self.damping))


def study(words: Layout, found: Deletions, parameters: Parameters) -> Study:
    """Run the layers on texts. `parameters` hold the vectors of the terms of the texts and of the added ones only."""
    total, classes = len(words.ids), len(parameters.bias)
    longest = total if total <= MANY else int(np.diff(words.terms).max())
    if total > FEW or not TRACER.plain_up_to(MANY, longest):
        return _compiled(words, found, parameters)
    leader, since, busy = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, bool)
    parts, logits, looks = np.empty((total, classes)), np.empty((len(words), classes)), []
    with TRACER.counted():
        for t, (a, b) in enumerate(pairwise(words.terms.tolist())):
            f, logits[t] = score(parameters.vectors[a:b], parameters, whole=False)
            leader[a:b], since[a:b], busy[a:b] = f.leader + a, f.since, f.busy
            parts[a:b] = contributions(f, parameters)
            looks.append(_looks(f, parameters.layers))
    return Study(words, found, parameters, leader, since, parts, logits, busy, looks=tuple(looks))


def _looks(f: Flow, layers: int) -> Looks:
    """The looks of one text without ties; see `Study`."""
    moving = np.flatnonzero((f.settled > 0) & (not f.busy.all()))
    term = np.repeat(moving, np.minimum(f.settled[moving], max(layers - 1, 0)) + 1)
    layer = np.arange(len(term)) - np.searchsorted(term, term)
    places, target = f.states[layer, term], f.target[layer, term]
    chosen = (places * f.states[layer, target]).sum(axis=1)
    followed = np.zeros(len(f.leader), bool)
    followed[target] = followed[f.leader[moving]] = True
    return places, chosen - CLOSE * np.abs(chosen), followed


def _compiled(words: Layout, found: Deletions, parameters: Parameters) -> Study:
    """The layers in compiled code, and the scores without each form in the same pass."""
    from hardmax.sentiment.study_compiled import study_texts as compiled

    worth = compiled(np.arange(len(words.ids), dtype=np.int32), words, found, parameters)
    TRACER.ready = True
    leader, since, parts, logits, busy = worth.traces
    if len(words) > 1:
        leader += np.repeat(words.terms[:-1], np.diff(words.terms))
    return Study(words, found, parameters, leader, since, parts, logits, busy, (worth.without, worth.left))


def without_each(of: Study) -> tuple[Floats, Ints]:
    """(F, C') the scores of the texts without each of their word forms, and (F,) the number of terms then."""
    if of.given is not None:
        return of.given
    words, found, parameters = of.words, of.deletions, of.parameters
    forms = int(words.forms[-1])
    text, term_text = owners(words.forms), owners(words.terms)
    size = np.diff(words.terms)[text]
    new_ends, again = _added(of, forms)
    change = np.zeros((forms, len(parameters.bias)))
    with TRACER.counted():
        for f in np.flatnonzero(_followed(of, forms) & ~again).tolist():
            found_ways = _look_again(of, f, int(text[f]))
            again[f] = found_ways is None
            change[f] = 0.0 if found_ways is None else found_ways
    which = np.flatnonzero(again)
    work = float((size[which] * np.minimum(size[which], COMPARED)).sum()) * parameters.vectors.shape[1]
    if not TRACER.plain_up_to(SMALL, work):
        of.given = _compiled(words, found, parameters).given
        return without_each(of)
    weight = (size + parameters.neutral)[:, None]
    ends = of.contributions * (np.diff(words.terms) + parameters.neutral)[term_text][:, None]
    total = (of.logits - parameters.bias)[text] * weight + change
    total += _sums(found.new_at, new_ends[found.new_term]) - _sums(found.gone_at, ends[found.gone_term])
    left = size - np.diff(found.gone_at) + np.diff(found.new_at)
    logits = parameters.bias + total / np.maximum(left + parameters.neutral, 1e-300)[:, None]
    logits[left == 0] = parameters.bias
    with TRACER.counted():
        for f, t in zip(which.tolist(), text[which].tolist(), strict=True):
            logits[f] = score(parameters.vectors[_left(of, f, t)], parameters, whole=False)[1]
    of.given = logits, left
    return of.given


def effects(of: Study, labels: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """(F,) the effect of each form on one class per text, and whether the form is neutral.

    A form is neutral

    - if what it says, its effect at an unchanged number of terms, is less than a part NEUTRAL of what the strongest
      form of its text says;
    - if its effect has the other sign, since it comes from that number alone: deleting any word makes the mean shorter;
    - if it counts against the class, but not by itself: its part does not, or is less than NEUTRAL times the largest
      part. Without a word that all others follow, these may follow one that speaks for the class.
    """
    logits, left = without_each(of)
    n0, bias, texts = of.parameters.neutral, of.parameters.bias, len(of.words)
    # What one text has is a number, which NumPy spreads over its forms.
    text: Any = owners(of.words.forms) if texts != 1 else 0

    def odds(scores: Floats, label: Ints) -> Floats:
        return log_odds(damped(scores, bias, of.damping), label)

    def loud(values: Floats) -> NDArray[np.bool_]:
        size, most = np.abs(values), np.zeros(texts)
        if texts == 1:
            most[0] = size.max(initial=0.0)
        else:
            np.maximum.at(most, text, size)
        return np.asarray(size >= NEUTRAL * most[text])

    label, full = labels[text], odds(of.logits, labels)[text]
    effect = full - odds(logits, label)
    scale = (left + n0) / np.maximum(of.words.terms[1:] - of.words.terms[:-1] + n0, 1e-300)[text]
    says = full - odds(bias + (logits - bias) * scale[:, None], label)
    part = by_form(of, toward(of, labels))
    return effect, ~(loud(says) & (says * effect > 0) & ((effect > 0) | loud(part) & (part < 0)))


def toward(of: Study, labels: Ints) -> Floats:
    """(T,) the parts of the terms in the log-odds of one class per text, before damping.

    With several classes these are not a sum; the parts are those to first order: that of the score of the class, less
    the mean of those of the other scores, by their probabilities.
    """
    if of.logits.shape[1] == 1:
        sign: Any = 2.0 * labels - 1.0
        return np.asarray(of.contributions[:, 0] * (sign if len(sign) == 1 else sign[owners(of.words.terms)]))
    every, scores = np.arange(len(labels)), of.logits.copy()
    scores[every, labels] = -np.inf
    weights = -np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= -weights.sum(axis=1, keepdims=True)
    weights[every, labels] = 1.0
    return np.asarray((of.contributions * weights[owners(of.words.terms)]).sum(axis=1))


def by_form(of: Study, parts: Floats) -> Floats:
    """(F,) the parts of the forms, from those of the terms (T,)."""
    found = np.bincount(of.words.form, shared(of.words, parts), int(of.words.forms[-1]))
    return found.astype(np.float64, copy=False)


def of_words(of: Study, label: int, row: int) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """For one text (F,) the effects of its forms on a class, whether they are neutral, and their parts of a score."""
    logits, left = without_each(of)
    if len(of.parameters.bias) > 1 or TRACER.plain(len(of.leader)):
        return *effects(of, np.array([label])), by_form(of, of.contributions[:, row])
    from hardmax.sentiment.study_compiled import of_words as compiled

    numbers = float(of.logits[0, 0]), float(of.parameters.bias[0]), of.parameters.neutral, NEUTRAL, 2.0 * label - 1.0
    return compiled(of.words.spans, of.words.form, of.contributions, logits, left, *numbers)


def log_odds(logits: Floats, label: NDArray[np.integer] | np.integer) -> Floats:
    """(B,) log p / (1 - p) of one class per row, or of one for all rows, from scores (B, C').

    Example:
        >>> log_odds(np.array([[2.0], [-1.0]]), np.array([0, 0])).tolist()
        [-2.0, 1.0]
        >>> log_odds(np.array([[1.0, 1.0, 1.0]]), np.array([2])).round(4).tolist()
        [-0.6931]
    """
    if logits.shape[1] == 1:
        return np.asarray(logits[:, 0] * (2.0 * label - 1.0))
    every = np.arange(len(logits))
    others = logits.copy()
    others[every, label] = -np.inf
    top = others.max(axis=1, initial=-np.inf)
    return np.asarray(logits[every, label] - top - np.log(np.exp(others - top[:, None]).sum(axis=1)))


def _sums(at: Ints, values: Floats) -> Floats:
    """(F, C') sums of rows of values; those of f are at[f]:at[f + 1]."""
    rows = owners(at)
    return np.stack([np.bincount(rows, column, len(at) - 1) for column in values.T], axis=1)


def _followed(of: Study, forms: int) -> NDArray[np.bool_]:
    """(F,) whether a term that is removed with a form is followed by one that stays."""
    found, leader, terms = of.deletions, of.leader, max(len(of.leader), 1)
    own = leader == np.arange(len(leader))
    followers = np.bincount(leader, minlength=terms) - np.bincount(np.flatnonzero(own), minlength=terms)
    form, term = owners(found.gone_at), found.gone_term
    both = ~own[term] & member(form * terms + leader[term], form * terms + term)  # leader and follower are removed
    outside = np.bincount(form, followers[term] - both, forms) > 0
    return outside | (np.bincount(form, of.busy[term], forms) > 0)


def _look_again(of: Study, f: int, t: int) -> Floats | None:
    """(C',) the change of the sum of the scores where followers of what form f removes from text t find other heads.

    None if it is not certain that nothing else changes: see `hardmax.sentiment.study_compiled`.
    """
    found, parameters, (a, b) = of.deletions, of.parameters, of.words.terms[t : t + 2]
    places, floors, followed = of.looks[t]
    gone = found.gone_term[found.gone_at[f] : found.gone_at[f + 1]] - a
    if of.busy[a:b].all() or followed[gone].any():
        return None
    z, stays = parameters.vectors[a:b], np.ones(b - a, bool)
    stays[gone] = False
    left = np.flatnonzero(stays)
    who = left[~stays[of.leader[a:b][left] - a]]
    x, norm = z[who], np.sqrt((z[left] ** 2).sum(axis=1))
    near, mine = CLOSE * np.sqrt((x**2).sum(axis=1)) * norm.max(initial=0.0), np.searchsorted(left, who)
    some = candidates(z[left], mine, norm, near)
    head, best = np.empty(len(who), np.int64), np.empty(len(who))
    for rows in np.array_split(np.arange(len(who)), 1 + len(who) * len(some) // AT_ONCE):
        scores = pair_scores(z[left], mine[rows], some)
        head[rows], best[rows] = left[some[scores.argmax(axis=1)]], scores.max(axis=1, initial=-np.inf)
        if ((scores >= (best - near)[rows, None]).sum(axis=1) > 1).any():
            return None
    leads = of.since[a:b] == 0
    leads[who[head == who]] = True  # nobody is left that it would follow
    new = parameters.vectors[len(of.words.ids) + found.new_term[found.new_at[f] : found.new_at[f + 1]]]
    if not leads[head].all() or (x @ places.T >= floors).any() or (x @ new.T >= (best - near)[:, None]).any():
        return None
    rest = np.where(head == who, 1.0, parameters.rest[parameters.layers])[:, None]
    ends = (rest * x + (1.0 - rest) * z[head]) @ parameters.scores.T
    return np.asarray(ends.sum(axis=0) - of.contributions[a + who].sum(axis=0) * (b - a + parameters.neutral))


def _added(of: Study, forms: int) -> tuple[Floats, NDArray[np.bool_]]:
    """(X, C') final scores of the terms that deletions add, and (F,) whether one of a form changes other terms."""
    found, parameters, terms = of.deletions, of.parameters, len(of.words.ids)
    new = parameters.vectors[terms:]
    ends = new @ parameters.scores.T
    if parameters.layers == 0 or not len(new):
        return ends, np.zeros(forms, bool)
    rest, calm = parameters.rest[parameters.layers], np.zeros(len(new), bool)
    target, best = np.full(len(new), -1), np.zeros(len(new))
    for t in np.flatnonzero(np.diff(found.new.offsets)).tolist():
        a, b = of.words.terms[t], of.words.terms[t + 1]
        mine = slice(int(found.new.offsets[t]), int(found.new.offsets[t + 1]))
        if a == b or (mine.stop - mine.start) * (b - a) > MOST_SCORES or of.busy[a:b].all():
            continue
        places, floors, _ = of.looks[t]
        z = parameters.vectors[a:b]
        reached = (z * parameters.vectors[of.leader[a:b]]).sum(axis=1)
        for some in np.array_split(np.arange(mine.start, mine.stop), 1 + (mine.stop - mine.start) * (b - a) // AT_ONCE):
            x = parameters.vectors[terms + some]
            scores, own = x @ z.T, (x * x).sum(axis=1)
            band = CLOSE * max(float(reached.max(initial=0.0)), float(own.max(initial=0.0)))
            arg = scores.argmax(axis=1)
            top = scores[np.arange(len(some)), arg]
            clear = ((scores >= (np.maximum(top, own) - band)[:, None]).sum(axis=1) + (own >= top - band)) == 1
            leads = own > top
            calm[some] = clear & (leads | (of.since[a + arg] == 0)) & (scores < reached - band).all(axis=1)
            calm[some] &= (x @ places.T < floors).all(axis=1)
            target[some], best[some] = np.where(leads, -1, a + arg), np.maximum(top, own)
    follows = calm & (target >= 0)
    ends[follows] = rest * ends[follows] + (1.0 - rest) * (parameters.vectors[target[follows]] @ parameters.scores.T)
    form, term = owners(found.new_at), found.new_term
    to = target[term]
    gone = (to >= 0) & member(form * terms + to, owners(found.gone_at) * terms + found.gone_term)
    changes = ~calm[term] | gone
    # Of several terms that come together, none may follow another.
    count = np.bincount(form, minlength=forms)[form]
    many = (count > 1) & ~changes
    length = np.sqrt((new[term] ** 2).sum(axis=1))
    longest = np.zeros(forms)
    np.maximum.at(longest, form[many], length[many])
    many &= length * longest[form] >= best[term] * (1.0 - CLOSE)  # <a, a'> <= |a| |a'|
    changes |= many & (count > PAIRS)
    which = np.flatnonzero(many & (count <= PAIRS))
    first = np.searchsorted(form, form[which])
    pair = np.repeat(which, count[which])
    other = np.arange(len(pair)) + np.repeat(first - np.cumsum(count[which]) + count[which], count[which])
    close = (new[term[pair]] * new[term[other]]).sum(axis=1) >= best[term[pair]] * (1.0 - CLOSE)
    changes[pair[close & (pair != other)]] = True
    return ends, np.bincount(form, changes, forms) > 0


def _left(of: Study, f: int, t: int) -> Ints:
    """The rows of the vectors of the terms of text t without the form f."""
    found, start, stop = of.deletions, of.words.terms[t], of.words.terms[t + 1]
    stays = np.ones(stop - start, bool)
    stays[found.gone_term[found.gone_at[f] : found.gone_at[f + 1]] - start] = False
    new = found.new_term[found.new_at[f] : found.new_at[f + 1]]
    return np.concatenate([start + np.flatnonzero(stays), len(of.words.ids) + new])


def study_texts(model: SentimentModel, texts: Sequence[str]) -> tuple[Study, Names]:
    """Texts and what deleting their words would do, for a model; and the word forms of the texts."""
    words, names, found = lay_out(model.vocabulary, texts)
    vectors = model.embedding.take(np.concatenate([words.ids, found.new.ids]), axis=0).astype(np.float64)
    return replace(study(words, found, model.with_vectors(vectors)), damping=model.damping), names
