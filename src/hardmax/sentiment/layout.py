"""Texts as arrays: where their words are, which terms they form, and what deleting a word does to the terms.

Deleting a word form f from a text takes out all its occurrences, as a person would who edits the text. It removes the
terms that then occur nowhere any more, and it makes neighbors of words that were apart, which may form new terms:

    "not a dull film", without "a":   removes "a", "not a", "a dull";   adds "not dull" (if it is known).

Everything is computed for all forms of many texts at once, with NumPy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit.ways import Job
from hardmax.text.clean import clean, compose
from hardmax.text.hashes import Keys, bits_for, chain, word_hash
from hardmax.text.hashes import find as find_plain
from hardmax.text.vocabulary import FEW, Bags, Vocabulary
from hardmax.text.words import form_of

POINTS = np.uint64(word_hash("!")), np.uint64(word_hash("?"))
SCANNER = Job("layout_compiled.lay_out_texts")  # the compiled splitter: whether it is in memory, or worth loading
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """The words of B texts one after the other. Numbers of forms and terms count on from text to text.

    Attributes:
        words, forms, terms: (B + 1,) where those of each text begin.
        begins, ends: (W,) places of the words in their text, in characters.
        sentence: (W,) the sentence of each word.   points: (W,) whether it is ! or ?.
        form: (W,) the form of each word, numbered by first appearance.
        spans: (W, L) the known term of length l + 1 that ends at this word, or -1.
        ids: (T,) numbers of the terms in the vocabulary, by first appearance.
        first: (T,) where each term appears first, as an index into all spans.
    """

    words: Ints
    forms: Ints
    terms: Ints
    begins: Ints
    ends: Ints
    sentence: Ints
    points: NDArray[np.bool_]
    form: Ints
    spans: Ints
    ids: Ints
    first: Ints

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


# begins, ends, sentence, hashes, where texts begin; and for the names: places (W, 2) in the texts of the last item
Words = tuple[Ints, Ints, Ints, Keys, Ints, Ints, Sequence[str]]
Find = Callable[..., Ints]  # words that would stand side by side, (Q, length) each -> vocabulary numbers, or -1


def lay_out(vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[Layout, "Names", Deletions]:
    """The layout of texts, the forms of their words, and what deleting each of them does.

    Example:
        >>> found, names, _ = lay_out(Vocabulary(["dull", "not dull"], 2), ["Not dull, not a dull film"])
        >>> found.form.tolist(), found.spans.tolist()
        ([0, 1, 0, 2, 1, 3], [[-1, -1], [0, 1], [-1, -1], [-1, -1], [0, -1], [-1, -1]])
        >>> list(names)
        ['not', 'dull', 'a', 'film']
    """
    size = sum(map(len, texts))
    if vocabulary.tokenizer is not None or (size <= FEW and SCANNER.plain(size)):
        with SCANNER.counted():
            return _lay_out_plain(vocabulary, _plain_words(vocabulary, texts))
    from hardmax.sentiment.layout_compiled import lay_out_texts

    begins, ends, sentence, hashes, offsets, where, written = _compiled_words(texts)
    points = (hashes == POINTS[0]) | (hashes == POINTS[1])
    table = vocabulary.table.view()
    table.setflags(write=False)  # a table that is mapped into memory has no other kind: one specialization for both
    bits = np.uint64(bits_for(len(vocabulary)))
    forms_at, terms_at, form, spans, ids, first, *pairs, seen = lay_out_texts(
        hashes, sentence, points, offsets, vocabulary.ngrams, table, bits
    )
    SCANNER.ready = True
    words = Layout(offsets, forms_at, terms_at, begins, ends, sentence, points, form, spans, ids, first)
    text = np.searchsorted(offsets, seen, side="right") - 1
    gone_form, gone_term, new_form, new_term, new_ids, new_at = pairs
    new = Bags(new_ids.astype(np.int32), new_at)
    return words, Names(written, False, text, where[seen]), Deletions(gone_form, gone_term, new_form, new_term, new)


def _lay_out_plain(vocabulary: Vocabulary, words: Words) -> tuple[Layout, "Names", Deletions]:
    """The same in NumPy, for words that were split."""
    begins, ends, sentence, hashes, offsets, where, written = words
    texts = len(offsets) - 1
    text = np.repeat(np.arange(texts), np.diff(offsets))
    form, first = _numbered(np.lexsort((hashes, text)), lambda a, b: (hashes[a] != hashes[b]) | (text[a] != text[b]))
    names = Names(written, True, text[first], where[first])

    def find(*windows: Ints) -> Ints:
        keys = []
        for window in windows:
            key = hashes[window[:, 0]]
            for column in window.T[1:]:
                key = chain(key, hashes[column])
            keys.append(key)
        return find_plain(vocabulary.table, bits_for(len(vocabulary)), np.concatenate(keys))

    spans = np.full((len(form), vocabulary.ngrams), -1)
    lasts = [
        np.flatnonzero(sentence[length:] == sentence[: len(form) - length]) + length
        for length in range(min(vocabulary.ngrams, len(form)))
    ]
    if lasts:
        found = find(*(last[:, None] + np.arange(-length, 1) for length, last in enumerate(lasts)))
        for length, (last, a) in enumerate(zip(lasts, np.cumsum([0, *map(len, lasts)]), strict=False)):
            spans[last, length] = found[a : a + len(last)]
    at = np.flatnonzero(spans.ravel() >= 0)
    owner, ids = text[at // vocabulary.ngrams], spans.ravel()[at]
    term, first_term = _numbered(np.lexsort((ids, owner)), lambda a, b: (ids[a] != ids[b]) | (owner[a] != owner[b]))
    spans.ravel()[at] = term
    forms_at, terms_at = (np.searchsorted(of, np.arange(texts + 1)) for of in (text[first], owner[first_term]))
    points = (hashes == POINTS[0]) | (hashes == POINTS[1])
    places = begins, ends, sentence, points
    layout = Layout(offsets, forms_at, terms_at, *places, form, spans, ids[first_term], at[first_term])
    return layout, names, _deletions(layout, find, len(vocabulary))


def _numbered(order: Ints, differ: Callable[[Ints, Ints], NDArray[np.bool_]]) -> tuple[Ints, Ints]:
    """Numbers of things by first appearance, and where each appears first; `order` brings equal ones together."""
    new = np.ones(len(order), bool)
    new[1:] = differ(order[1:], order[:-1])
    first = order[new]  # the order is stable: the first of a group is the earliest
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    number = np.empty(len(order), np.int64)
    number[order] = rank[np.cumsum(new) - 1]
    return number, np.sort(first)


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """The forms of words, made when they are asked for: parts of `texts`, in normal form already if `plain`."""

    texts: Sequence[str]
    plain: bool
    text: Ints  # of each form
    places: Ints  # (F, 2) within it

    made: dict[int, str] = field(default_factory=dict)

    def __getitem__(self, f: Any) -> Any:
        name = self.made.get(f)
        if name is None:
            start, end = self.places[f]
            name = self.texts[self.text[f]][start:end]
            name = self.made[f] = name if self.plain else form_of(name)
        return name

    def __len__(self) -> int:
        return len(self.text)


def _plain_words(vocabulary: Vocabulary, texts: Sequence[str]) -> Words:
    found = [vocabulary.words(text) for text in texts]
    every = [word for words in found for word in words]
    begins, ends, inner = (
        np.array([getattr(word, name) for word in every], np.int64) for name in ("start", "end", "sentence")
    )
    hashes = np.array([word_hash(word.form) for word in every], np.uint64)
    offsets = np.cumsum([0, *map(len, found)])
    breaks = np.ones(len(every), bool)
    breaks[1:] = inner[1:] != inner[:-1]
    breaks[offsets[:-1][offsets[:-1] < len(every)]] = True
    forms = ["".join(word.form for word in words) for words in found]
    sizes = np.array([len(word.form) for word in every], np.int64)
    last = np.cumsum(sizes)
    last -= np.repeat(np.concatenate([[0], last])[offsets[:-1]], np.diff(offsets))
    return begins, ends, np.cumsum(breaks), hashes, offsets, np.stack([last - sizes, last], axis=1), forms


def _compiled_words(texts: Sequence[str]) -> Words:
    from hardmax.text.ngrams import scan_texts

    cleaned, moved = zip(*(compose(clean(text)) for text in texts), strict=True) if texts else ((), ())
    hashes, places, before, offsets = scan_texts(list(cleaned))
    was = places.copy()
    for t in (t for t, map_ in enumerate(moved) if map_ is not None):
        mine, table = slice(int(offsets[t]), int(offsets[t + 1])), np.array(moved[t], np.int64)
        was[mine] = np.stack([table[places[mine, 0], 0], table[places[mine, 1] - 1, 1]], axis=1)
    return was[:, 0].copy(), was[:, 1].copy(), np.cumsum(before == 0), hashes, offsets, places, cleaned


def _deletions(words: Layout, find: Find, terms_known: int) -> Deletions:
    """What deleting each form does; `terms_known` is the size of the vocabulary."""
    gone_form, gone_term = _gone(words)
    form, text, ids = _neighbors(words, find)
    # A new n-gram that stands elsewhere in the text adds nothing. (It does not contain the deleted word, so it stays.)
    owner = np.repeat(np.arange(len(words)), np.diff(words.terms))
    there = member(text * terms_known + ids, np.sort(owner * terms_known + words.ids))  # np.isin loads np.ma
    keys, which = np.unique((text * terms_known + ids)[~there], return_inverse=True)
    pairs, _ = np.unique(form[~there] * max(len(keys), 1) + which, return_index=True)  # alone, np.unique loads np.ma
    new_form, new_term = np.divmod(pairs, max(len(keys), 1))
    new = Bags.of(keys % terms_known, np.bincount(keys // terms_known, minlength=len(words)))
    return Deletions(gone_form, gone_term, new_form, new_term, new)


def member(values: Ints, among: Ints) -> NDArray[np.bool_]:
    """Whether each value is in a sorted array.

    Example:
        >>> member(np.array([1, 5]), np.array([2, 5, 7])).tolist()
        [False, True]
    """
    if not len(among):
        return np.zeros(len(values), bool)
    return np.asarray(among[np.minimum(np.searchsorted(among, values), len(among) - 1)] == values)


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
    form, count = words.form, len(words.form)
    if not count or words.spans.shape[1] == 1:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    text = np.repeat(np.arange(len(words)), np.diff(words.words))
    breaks = form[1:] != form[:-1]  # no form is in two texts
    first = np.concatenate([[0], np.flatnonzero(breaks) + 1])  # of runs of one form
    last = np.concatenate([first[1:] - 1, [count - 1]])
    run = np.cumsum(np.concatenate([[0], breaks]))

    def step(at: Ints, by: int) -> Ints:
        """The next word of the text in one direction, past the deleted form; -1 at the end."""
        to = np.where(at >= 0, at + by, -1)
        inside = (to >= 0) & (to < count)
        to = np.where(inside, to, 0)
        to = np.where(form[to] == deleted, (first if by < 0 else last)[run[to]] + by, to)
        inside &= (to >= 0) & (to < count)
        return np.where(inside & (text[np.where(inside, to, 0)] == text[np.maximum(at, 0)]), to, -1)

    deleted = form[first]
    left, right = step(first, -1), step(last, 1)
    windows = [np.stack([left, right], axis=1)]
    if words.spans.shape[1] > 2:
        windows += [np.stack([step(left, -1), left, right], axis=1), np.stack([left, right, step(right, 1)], axis=1)]
    kept, owners = [], []
    for window in windows:
        # Words that become neighbors are in one sentence if they were; ! and ? always end the sentence before them.
        joined = (words.sentence[window[:, 1:]] == words.sentence[window[:, :-1]]) | words.points[window[:, 1:]]
        which = np.flatnonzero((window >= 0).all(axis=1) & joined.all(axis=1))
        kept.append(window[which])
        owners.append(first[which])
    ids, at = find(*kept), np.concatenate(owners)
    known = np.flatnonzero(ids >= 0)
    return form[at[known]], text[at[known]], ids[known]


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


class TermNames(Sequence[str]):
    """The names of the terms, made when they are asked for, from those of the forms."""

    def __init__(self, words: Layout, names: Sequence[str]) -> None:
        self.words, self.names = words, names

    def __getitem__(self, i: Any) -> Any:
        last, more = divmod(int(self.words.first[i]), self.words.spans.shape[1])
        return " ".join(self.names[f] for f in self.words.form[last - more : last + 1].tolist())

    def __len__(self) -> int:
        return len(self.words.ids)


def places(words: Layout, at: Ints) -> list[tuple[int, int]]:
    """(start, end) of some words."""
    return list(zip(words.begins[at].tolist(), words.ends[at].tolist(), strict=True))


def terms_of(words: Layout, parts: NDArray[np.float64], at: Ints) -> list[int]:
    """The terms that hold any of some words, the largest part first."""
    count, longest = words.spans.shape
    found: set[int] = set()
    for length in range(longest):
        for k in range(length + 1):  # a term of this length holds the word if it ends at most `length` words later
            last = at + k
            found.update(words.spans[last[last < count], length].tolist())
    terms = np.array(sorted(found - {-1}), np.int64)
    return terms[np.argsort(-np.abs(parts[terms]), kind="stable")].tolist()
