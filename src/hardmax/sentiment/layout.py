"""Texts as arrays: where their words are, which terms they form, and what deleting a word does to the terms.

Deleting a word form f from a text takes out all its occurrences, as a person would who edits the text. It removes the
terms that then occur nowhere any more, and it makes neighbors of words that were apart, which may form new terms:

    "not a dull film", without "a":   removes "a", "not a", "a dull";   adds "not dull" (if it is known).

Everything is computed for all forms of many texts at once, with NumPy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.text.vocabulary import Bags, Vocabulary
from hardmax.text.words import split

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """The words of B texts one after the other. Numbers of forms and terms count on from text to text.

    Attributes:
        words, forms, terms: (B + 1,) where those of each text begin.
        begins, ends: (W,) places of the words in their text, in characters.
        sentence: (W,) the sentence of each word.
        form: (W,) the form of each word, numbered by first appearance.
        spans: (W, L) the known term of length l + 1 that ends at this word, or -1.
        ids: (T,) numbers of the terms in the vocabulary, by first appearance.
    """

    words: Ints
    forms: Ints
    terms: Ints
    begins: Ints
    ends: Ints
    sentence: Ints
    form: Ints
    spans: Ints
    ids: Ints

    def __len__(self) -> int:
        return len(self.words) - 1


@dataclass(frozen=True, eq=False)
class Deletions:
    """What deleting each form does, as pairs (form, term) in the order of the forms.

    Attributes:
        gone_form, gone_term: (P,) terms that are removed.
        new_form, new_term: (Q,) terms that are added, as indices into `new`.
        new: the added terms of each text, as numbers in the vocabulary.
    """

    gone_form: Ints
    gone_term: Ints
    new_form: Ints
    new_term: Ints
    new: Bags


Find = Callable[[Ints], Ints]  # words that would stand side by side (Q, length) -> vocabulary numbers (Q,), or -1


def lay_out(vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[Layout, list[str], Find]:
    """The layout of texts, the forms of their words, and how to find more terms; in plain Python.

    Example:
        >>> found, _, _ = lay_out(Vocabulary(["dull", "not dull"], 2), ["Not dull, not a dull film"])
        >>> found.form.tolist(), found.spans.tolist()
        ([0, 1, 0, 2, 1, 3], [[-1, -1], [0, 1], [-1, -1], [-1, -1], [0, -1], [-1, -1]])
    """
    number, longest = vocabulary.number.get, vocabulary.ngrams
    known: list[str] = []
    rows: list[tuple[int, int, int, int]] = []
    spans: list[list[int]] = []
    ids: list[int] = []
    ends_of = [[0], [0], [0]]
    sentences = 0
    for text in texts:
        forms: dict[str, int] = {}
        terms: dict[int, int] = {}
        first, before = len(known), len(ids)
        found = split(text)
        for w, word in enumerate(found):
            rows.append((word.start, word.end, sentences, first + forms.setdefault(word.form, len(forms))))
            line, form = [], ""
            for length in range(1, longest + 1):
                if length > w + 1:
                    line.append(-1)
                    continue
                form = word.form if length == 1 else f"{found[w - length + 1].form} {form}"
                i = number(form, -1)
                line.append(-1 if i < 0 else before + terms.setdefault(i, len(terms)))
            spans.append(line)
        sentences += 1
        known += forms
        ids += terms
        for so_far, count in zip(ends_of, (len(rows), len(known), len(ids)), strict=True):
            so_far.append(count)
    table = np.array(rows, np.int64).reshape(-1, 4)

    def find(windows: Ints) -> Ints:
        names = (" ".join(known[f] for f in line) for line in table[windows, 3].tolist())
        return np.fromiter((number(name, -1) for name in names), np.int64, len(windows))

    words, forms_at, terms_at = (np.array(so_far, np.int64) for so_far in ends_of)
    begins, ends, sentence, form_of = (np.ascontiguousarray(column) for column in table.T)
    places = np.array(spans, np.int64).reshape(-1, longest), np.array(ids, np.int64)
    return Layout(words, forms_at, terms_at, begins, ends, sentence, form_of, *places), known, find


def deletions(words: Layout, find: Find, terms_known: int) -> Deletions:
    """What deleting each form does; `terms_known` is the size of the vocabulary."""
    gone_form, gone_term = _gone(words)
    form, text, ids = _neighbors(words, find)
    # A new n-gram that stands elsewhere in the text adds nothing. (It does not contain the deleted word, so it stays.)
    owner = np.repeat(np.arange(len(words)), np.diff(words.terms))
    there = np.isin(text * terms_known + ids, owner * terms_known + words.ids)
    keys, which = np.unique((text * terms_known + ids)[~there], return_inverse=True)
    pairs = np.unique(form[~there] * max(len(keys), 1) + which)
    new_form, new_term = np.divmod(pairs, max(len(keys), 1))
    new = Bags.of(keys % terms_known, np.bincount(keys // terms_known, minlength=len(words)))
    return Deletions(gone_form, gone_term, new_form, new_term, new)


def _gone(words: Layout) -> tuple[Ints, Ints]:
    """A term is gone if every place where it stands holds the form."""
    total = max(len(words.ids), 1)
    keys = [np.empty(0, np.int64)]
    for length in range(1, words.spans.shape[1] + 1):
        last = np.flatnonzero(words.spans[:, length - 1] >= 0)
        term = words.spans[last, length - 1]
        inside = [words.form[last - k] for k in range(length)]
        for k, form in enumerate(inside):
            once = np.ones(len(last), bool)  # a form that stands twice in one place counts once
            for other in inside[:k]:
                once &= form != other
            keys.append((form * total + term)[once])
    pairs, count = np.unique(np.concatenate(keys), return_counts=True)
    form, term = np.divmod(pairs, total)
    gone = count == np.bincount(words.spans[words.spans >= 0], minlength=total)[term]
    return form[gone], term[gone]


def _neighbors(words: Layout, find: Find) -> tuple[Ints, Ints, Ints]:
    """(form, text, vocabulary number) of the known n-grams that close the gaps which a form leaves."""
    form, sentence, count = words.form, words.sentence, len(words.form)
    if not count or words.spans.shape[1] == 1:
        return (np.empty(0, np.int64),) * 3
    breaks = (form[1:] != form[:-1]) | (sentence[1:] != sentence[:-1])
    first = np.concatenate([[0], np.flatnonzero(breaks) + 1])  # of runs of one form
    last = np.concatenate([first[1:] - 1, [count - 1]])
    run = np.cumsum(np.concatenate([[0], breaks]))

    def step(at: Ints, by: int, deleted: Ints) -> Ints:
        """The next word of the sentence in one direction, past the deleted form; -1 at its end."""
        to = at + by
        inside = (at >= 0) & (to >= 0) & (to < count)
        to = np.where(inside, to, 0)
        skip = form[to] == deleted  # runs of one form are never neighbors within a sentence: one jump is enough
        beyond = (first if by < 0 else last)[run[to]] + by
        to = np.where(skip, beyond, to)
        inside &= (to >= 0) & (to < count)
        to = np.where(inside, to, 0)
        return np.where(inside & (sentence[to] == sentence[np.maximum(at, 0)]), to, -1)

    deleted = form[first]
    left, right = step(first, -1, deleted), step(last, 1, deleted)
    windows = [np.stack([left, right], axis=1)]
    if words.spans.shape[1] > 2:
        windows += [
            np.stack([step(left, -1, deleted), left, right], axis=1),
            np.stack([left, right, step(right, 1, deleted)], axis=1),
        ]
    found = []
    for window in windows:
        which = np.flatnonzero((window >= 0).all(axis=1))
        ids = find(window[which])
        found.append(np.stack([deleted[which], first[which], ids])[:, ids >= 0])
    forms, at, ids = np.concatenate(found, axis=1)
    return forms, np.searchsorted(words.words, at, side="right") - 1, ids


def known_words(words: Layout) -> NDArray[np.bool_]:
    """(W,) whether each word is in a known term."""
    found = np.zeros(len(words.spans), bool)
    for length in range(words.spans.shape[1]):
        last = np.flatnonzero(words.spans[:, length] >= 0)
        for k in range(length + 1):
            found[last - k] = True
    return found


def shared(words: Layout, parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(W,) parts of the terms (T,), shared equally by their occurrences, and there by their words."""
    spans = words.spans
    count = np.bincount(spans[spans >= 0], minlength=len(parts))
    found = np.zeros(len(spans))
    for length in range(spans.shape[1]):
        last = np.flatnonzero(spans[:, length] >= 0)
        term = spans[last, length]
        for k in range(length + 1):  # no two places of one length end at the same word, so nothing is added twice
            found[last - k] += parts[term] / (count[term] * (length + 1))
    return found


def term_names(words: Layout, names: Sequence[str]) -> list[str]:
    """The terms, from the names of the forms."""
    spans, form = words.spans, words.form.tolist()
    terms, first = np.unique(spans.ravel(), return_index=True)
    found = [""] * len(words.ids)
    for i, at in zip(terms.tolist(), first.tolist(), strict=True):
        if i >= 0:
            last, more = divmod(at, spans.shape[1])
            found[i] = " ".join(names[f] for f in form[last - more : last + 1])
    return found


def places(words: Layout) -> list[list[tuple[int, int]]]:
    """(start, end) of the occurrences of each form."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(int(words.forms[-1]))]
    for f, start, end in zip(words.form.tolist(), words.begins.tolist(), words.ends.tolist(), strict=True):
        found[f].append((start, end))
    return found


def terms_of_forms(words: Layout, parts: NDArray[np.float64]) -> list[list[int]]:
    """The terms that hold each form, the largest part first."""
    pairs = [np.empty((0, 2), np.int64)]
    for length in range(words.spans.shape[1]):
        last = np.flatnonzero(words.spans[:, length] >= 0)
        pairs += [np.stack([words.form[last - k], words.spans[last, length]], axis=1) for k in range(length + 1)]
    every = np.unique(np.concatenate(pairs), axis=0)
    found: list[list[int]] = [[] for _ in range(int(words.forms[-1]))]
    for f, i in every[np.lexsort((-np.abs(parts[every[:, 1]]), every[:, 0]))].tolist():
        found[f].append(i)
    return found
