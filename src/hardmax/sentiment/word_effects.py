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
deletions. `study_numpy` computes this, and `study_compiled` the same in compiled code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit.ways import SMALL, Job
from hardmax.sentiment.layers_numpy import MANY, Floats, Ints, Parameters, contributions, score
from hardmax.sentiment.layout import Deletions, Layout, Names, lay_out, shared
from hardmax.sentiment.model import SentimentModel, damped, probabilities
from hardmax.sentiment.study_numpy import Base, Without, base_of
from hardmax.text.vocabulary import owners

TRACER = Job("study_compiled.study_bags")  # the compiled layers with all that they find out
FEW, FEW_IN_SPACE = 30_000, 5_000  # terms; up to here plain NumPy is quicker than loading the compiled code
COMPARED = 1_000  # about so many terms of a long text are long enough that another may follow them
NEUTRAL = 0.1  # a word that says less than this part of what the strongest word says has no opinion


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
        bases: what is known of each text before anything is deleted, if the layers ran in NumPy.
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
    bases: tuple[Base, ...] = ()

    def probabilities(self) -> Floats:
        """(B, C) of the texts."""
        return probabilities(damped(self.logits, self.parameters.bias, self.damping))


def study(words: Layout, found: Deletions, parameters: Parameters) -> Study:
    """Run the layers on texts. `parameters` hold the vectors of the terms of the texts and of the added ones only."""
    total, classes = len(words.ids), len(parameters.bias)
    in_space, first = parameters.vectors.shape[1] > 2, parameters.vectors[:total, 0]
    # Of many copies each is compared with each.
    if (total > MANY and (in_space or 2 * len(np.unique(first)) < total)) or not TRACER.plain_up_to(
        FEW_IN_SPACE if in_space else FEW, total
    ):
        return _compiled(words, found, parameters)
    leader, since, busy = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, bool)
    parts, logits, bases = np.empty((total, classes)), np.empty((len(words), classes)), []
    with TRACER.counted():
        for t, (a, b) in enumerate(pairwise(words.terms.tolist())):
            f, logits[t] = score(parameters.vectors[a:b], parameters, whole=False)
            leader[a:b], since[a:b], busy[a:b] = f.leader + a, f.since, f.busy
            parts[a:b] = contributions(f, parameters)
            bases.append(base_of(parameters.vectors[a:b], f, parameters.layers))
    return Study(words, found, parameters, leader, since, parts, logits, busy, bases=tuple(bases))


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
    logits, left = np.empty((int(words.forms[-1]), len(parameters.bias))), np.empty(int(words.forms[-1]), np.int64)
    with TRACER.counted():
        texts = [_without(of, t) for t in range(len(words))]
    work = sum(len(one.again) * len(one.base.play) * min(len(one.base.play), COMPARED) for one in texts)
    if not TRACER.plain_up_to(SMALL, work * parameters.vectors.shape[1]):
        of.given = _compiled(words, found, parameters).given
        return without_each(of)
    with TRACER.counted():
        for one, (a, b) in zip(texts, pairwise(words.forms.tolist()), strict=True):
            for f in one.again.tolist():
                one.scores[f] = one.run(f)
            logits[a:b], left[a:b] = one.scores, one.left
    of.given = logits, left
    return of.given


def _without(of: Study, t: int) -> Without:
    words, new, terms = of.words, of.deletions.new.offsets, len(of.words.ids)
    (a, b), forms = words.terms[t : t + 2].tolist(), (int(words.forms[t]), int(words.forms[t + 1]))
    z, x = of.parameters.vectors[a:b], of.parameters.vectors[terms + new[t] : terms + new[t + 1]]
    given = of.deletions, forms, a, int(new[t]), of.parameters, of.contributions[a:b], of.logits[t]
    return Without(of.bases[t], z, x, *given)


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


def study_texts(model: SentimentModel, texts: Sequence[str]) -> tuple[Study, Names]:
    """Texts and what deleting their words would do, for a model; and the word forms of the texts."""
    words, names, found = lay_out(model.vocabulary, texts)
    vectors = model.embedding.take(np.concatenate([words.ids, found.new.ids]), axis=0).astype(np.float64)
    return replace(study(words, found, model.with_vectors(vectors)), damping=model.damping), names
