"""The effect of each word: exactly the model's answer for the text without it, without reading the text again.

The effect of a word is the decrease of the log-odds of the predicted label when all its occurrences are deleted,

    effect_f = odds(text) - odds(text without f),   odds = log p / (1 - p), p the probability of the label,

positive if the word favors the label. `hardmax.sentiment.layout` says which terms a deletion removes and adds. Most
deletions leave the other terms where they are, by two facts about the layers. In both, no two scores are tied.

1. A term that no other term follows in any layer can be removed: the largest score of every other term is still there.
2. A term a can be added if all terms have settled at layer 0, no term i has <z_i, z_a> >= <z_i, z_leader(i)>, and a
   itself follows a leader or nobody: the leaders still lead, so every term follows its leader forever (see
   `layers_compiled`), and z_a^K = r z_a + (1 - r) z_leader with r = (1 + alpha)^-K. If some terms have not settled at
   layer 0, it is enough that a lies inside the hull of the leaders and follows one of them: then it stays there, and
   no point of the space has a larger score with a than with every leader.

Then the sum of the scores changes by the terms removed and added alone. The layers run again for the other deletions,
those of a word that others follow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit.ways import Job
from hardmax.sentiment.layers_numpy import MANY, Floats, Ints, Parameters, contributions, score
from hardmax.sentiment.layout import Deletions, Layout, Names, lay_out, member, shared
from hardmax.sentiment.model import SentimentModel, damped, probabilities
from hardmax.text.vocabulary import owners

TRACER = Job("study_compiled.study_bags")  # the compiled layers with all that they find out
FEW = 20_000  # terms; up to here plain NumPy is quicker than loading the compiled code
CLOSE = 1e-9  # scores within this part of the largest count as undecided: the layers run again
MOST_SCORES = 200_000_000  # of the terms that the deletions of one text add; beyond, their deletions are run again
PAIRS = 64  # of the terms that one deletion adds, up to which all pairs are looked at
NEUTRAL = 0.1  # a word that says less than this part of what the strongest word says has no opinion
AT_ONCE = 4_000_000  # scores that are held at once


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

    def probabilities(self) -> Floats:
        """(B, C) of the texts."""
        return probabilities(damped(self.logits, self.parameters.bias, self.damping))


def study(words: Layout, found: Deletions, parameters: Parameters) -> Study:
    """Run the layers on texts. `parameters` hold the vectors of the terms of the texts and of the added ones only."""
    total, classes = len(words.ids), len(parameters.bias)
    if total > FEW or not TRACER.plain(total) or np.diff(words.terms).max(initial=0) > MANY:
        return _compiled(words, found, parameters)
    leader, since, busy = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, bool)
    parts, logits = np.empty((total, classes)), np.empty((len(words), classes))
    with TRACER.counted():
        for t, (a, b) in enumerate(pairwise(words.terms.tolist())):
            f, logits[t] = score(parameters.vectors[a:b], parameters, whole=False)
            leader[a:b], since[a:b], busy[a:b] = f.leader + a, f.since, f.busy
            parts[a:b] = contributions(f, parameters)
    return Study(words, found, parameters, leader, since, parts, logits, busy)


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
    again |= _followed(of, forms)
    which = np.flatnonzero(again)
    if not TRACER.plain(float((size[which] ** 2).sum()) * parameters.vectors.shape[1]):
        of.given = _compiled(words, found, parameters).given
        return without_each(of)
    weight = (size + parameters.neutral)[:, None]
    ends = of.contributions * (np.diff(words.terms) + parameters.neutral)[term_text][:, None]
    total = (of.logits - parameters.bias)[text] * weight
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

    A form is neutral if what it says, its effect at an unchanged number of terms, is less than a part NEUTRAL of what
    the strongest form of its text says; or if its effect has the other sign, since it comes from that number alone:
    deleting any word makes the mean shorter.
    """
    logits, left = without_each(of)
    n0, bias, texts = of.parameters.neutral, of.parameters.bias, len(of.words)
    # What one text has is a number, which NumPy spreads over its forms.
    text: Any = owners(of.words.forms) if texts != 1 else 0

    def odds(scores: Floats, label: Ints) -> Floats:
        return log_odds(damped(scores, bias, of.damping), label)

    label, full = labels[text], odds(of.logits, labels)[text]
    effect = full - odds(logits, label)
    scale = (left + n0) / np.maximum(of.words.terms[1:] - of.words.terms[:-1] + n0, 1e-300)[text]
    says = full - odds(bias + (logits - bias) * scale[:, None], label)
    size, most = np.abs(says), np.zeros(texts)
    if texts == 1:
        most[0] = size.max(initial=0.0)
    else:
        np.maximum.at(most, text, size)
    return effect, ~((size >= NEUTRAL * most[text]) & (says * effect > 0))


def of_words(of: Study, label: int, row: int) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """For one text (F,) the effects of its forms on a class, whether they are neutral, and their parts of a score."""
    logits, left = without_each(of)
    if len(of.parameters.bias) > 1 or TRACER.plain(len(of.leader)):
        parts = np.bincount(of.words.form, shared(of.words, of.contributions[:, row]), len(left))
        return *effects(of, np.array([label])), parts.astype(np.float64, copy=False)
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
        heads = a + np.flatnonzero(of.since[a:b] == 0)
        busy = bool(of.busy[a:b].any())
        if (
            a == b
            or (mine.stop - mine.start) * (b - a) > MOST_SCORES
            or (busy and (of.busy[a:b].all() or new.shape[1] != 2 or len(heads) > PAIRS))
        ):
            continue
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
            if busy:
                calm[some] = clear & ~leads & (of.since[a + arg] == 0) & _inside(x, parameters.vectors[heads], band)
            else:
                calm[some] = clear & (leads | (of.leader[a + arg] == a + arg)) & (scores < reached - band).all(axis=1)
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


def _inside(points: Floats, corners: Floats, band: float) -> NDArray[np.bool_]:
    """Whether points of the plane are inside the hull of the corners: below its support in all normals of its edges."""
    i, j = np.nonzero((corners[:, None] != corners[None]).any(axis=2))
    normals = (corners[i] - corners[j])[:, ::-1] * np.array([1.0, -1.0])
    support = (normals @ corners.T).max(axis=1, initial=-np.inf)
    edges = (normals * corners[i]).sum(axis=1) >= support - band
    return ((points @ normals[edges].T) < support[edges] - band).all(axis=1) & (len(corners) > 2)


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
