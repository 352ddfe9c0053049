"""Texts as arrays: where their words are, which terms they form, and what deleting a word does to the terms.

Deleting a word form f from a text takes out all its occurrences, as a person would who edits the text. It removes the
terms that then occur nowhere any more, and it makes neighbors of words that were apart, which may form new terms:

    "not a dull film", without "a":   removes "a", "not a", "a dull";   adds "not dull" (if it is known).

Everything is computed for all forms of many texts at once, with NumPy here, and compiled in `layout_compiled`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit.ways import Job
from hardmax.text.clean import clean, compose
from hardmax.text.hashes import Keys, bits_for, chain, word_hash, word_hashes
from hardmax.text.vocabulary import Bags, Vocabulary, owners
from hardmax.text.words import form_of

POINTS = np.uint64(word_hash("!")), np.uint64(word_hash("?"))
SCANNER = Job("layout_compiled.lay_out_texts")  # the compiled splitter: whether it is in memory, or worth loading
FEW = 1_100_000  # characters; fewer are read in NumPy, which is quicker than loading the compiled code
Ints = NDArray[np.int64]


@dataclass(eq=False, slots=True)
class Layout:
    """The words of B texts one after the other. Numbers of forms and terms count on from text to text.

    Attributes:
        words, forms, terms: (B + 1,) where those of each text begin.
        begins, ends: (W,) places of the words in their text, in characters.
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
    form: Ints
    spans: Ints
    ids: Ints
    first: Ints

    def __len__(self) -> int:
        return len(self.words) - 1


@dataclass(eq=False, slots=True)
class Deletions:
    """What deleting each form does: pairs (form, term) in the order of the forms.

    A term stands for the same words wherever it stands, so it is gone without any one of them: the terms that are
    removed with a form are those that hold it.

    Attributes:
        gone_at, gone_term: form f removes the terms gone_term[gone_at[f] : gone_at[f + 1]].
        new_at, new_term: the same for the terms that it adds, as indices into `new`.
        new: the added terms of each text, as numbers in the vocabulary.
    """

    gone_at: Ints
    gone_term: Ints
    new_at: Ints
    new_term: Ints
    new: Bags


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
    if vocabulary.tokenizer is not None or SCANNER.plain_up_to(FEW, size):
        with SCANNER.counted():
            return _lay_out_plain(vocabulary, texts)
    from hardmax.sentiment.layout_compiled import lay_out_texts
    from hardmax.text.ngrams import scan_texts

    pairs = [compose(clean(text)) for text in texts]
    cleaned = [text for text, _ in pairs]
    hashes, places, before, offsets = scan_texts(cleaned)
    table, bits = vocabulary.table, np.uint64(bits_for(len(vocabulary)))
    if table.flags.writeable:  # a table that is mapped into memory is not: one specialization for both
        table = table.view()
        table.setflags(write=False)
    (
        forms_at, terms_at, form, spans, ids, first, gone_at, gone_term, new_at, new_term, new_ids, new_of, seen,
    ) = lay_out_texts(hashes, before, offsets, vocabulary.ngrams, table, bits)  # fmt: skip
    SCANNER.ready = True
    was = places if all(moved is None for _, moved in pairs) else places.copy()
    for t in (t for t, (_, moved) in enumerate(pairs) if moved is not None):
        mine, moved = slice(int(offsets[t]), int(offsets[t + 1])), np.array(pairs[t][1], np.int64)
        was[mine] = np.stack([moved[places[mine, 0], 0], moved[places[mine, 1] - 1, 1]], axis=1)
    words = Layout(offsets, forms_at, terms_at, was[:, 0], was[:, 1], form, spans, ids, first)
    text = np.searchsorted(offsets, seen, side="right") - 1 if len(texts) > 1 else np.zeros(len(seen), np.int64)
    simple = all(map(str.isascii, cleaned))  # then lower case is all that a form needs, at once for the whole text
    names = Names([text.lower() for text in cleaned] if simple else cleaned, simple, text, places.take(seen, axis=0))
    return words, names, Deletions(gone_at, gone_term, new_at, new_term, Bags(new_ids, new_of))


def _lay_out_plain(vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[Layout, "Names", Deletions]:
    """The same in NumPy."""
    cuts = [vocabulary.cut(text) for text in texts]
    forms_at, offsets = (np.cumsum([0, *map(len, of)]) for of in ([c.forms for c in cuts], [c.form for c in cuts]))
    written, text = [form for cut in cuts for form in cut.forms], owners(offsets)
    form, begins, ends, inner = (
        np.concatenate([np.empty(0, np.int64), *of]) for of in zip(*(c[1:] for c in cuts), strict=True)
    )
    form += forms_at[text]
    sentence = text * (int(inner.max(initial=0)) + 1) + inner
    hashes = word_hashes(written)
    spans = vocabulary.spans(hashes, form, sentence)
    at = np.flatnonzero(spans.ravel() >= 0)
    owner, ids = text[at // vocabulary.ngrams], spans.ravel()[at]
    term, first = _numbered(owner * len(vocabulary) + ids)
    spans.ravel()[at] = term
    terms_at = np.searchsorted(owner[first], np.arange(len(texts) + 1))
    layout = Layout(offsets, forms_at, terms_at, begins, ends, form, spans, ids[first], at[first])
    return layout, Names.of(written), _deletions(layout, vocabulary, hashes[form], sentence)


def _numbered(keys: Ints) -> tuple[Ints, Ints]:
    """Numbers of the distinct keys by first appearance, for each key, and where each of them appears first."""
    most = int(keys.max(initial=-1)) + 1
    if most > 8 * len(keys):
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    else:  # without sorting
        place = np.full(most, -1)
        place[keys[::-1]] = np.arange(len(keys))[::-1]  # what is written last, the first place, remains
        first, which = place[place >= 0], (np.cumsum(place >= 0) - 1)[keys]
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which], np.sort(first)


class Names(Sequence[str]):
    """The forms of words, made when they are asked for: parts of `texts`, in normal form already if `plain`.

    Args:
        text: (F,) the text of each form.   places: (F, 2) its place within it.
    """

    def __init__(self, texts: list[str], plain: bool, text: Ints, places: Ints) -> None:
        self.texts, self.plain, self.text, self.places = texts, plain, text, places

    @classmethod
    def of(cls, forms: list[str]) -> "Names":
        """Forms that are known already."""
        ends = np.cumsum([0, *map(len, forms)])
        return cls(["".join(forms)], True, np.zeros(len(forms), np.int64), np.stack([ends[:-1], ends[1:]], axis=1))

    @cached_property
    def every(self) -> list[str]:
        """All of them."""
        return self.some(np.arange(len(self)))

    def some(self, forms: Ints) -> list[str]:
        """Some of them."""
        where = self.places.take(forms, axis=0).tolist()
        if len(self.texts) == 1:
            (text,) = self.texts
            names = [text[start:end] for start, end in where]
        else:
            texts = zip(self.text.take(forms).tolist(), where, strict=True)
            names = [self.texts[t][start:end] for t, (start, end) in texts]
        return names if self.plain else list(map(form_of, names))

    def __getitem__(self, f: Any) -> Any:
        return self.every[f]

    def __len__(self) -> int:
        return len(self.text)


def _deletions(words: Layout, vocabulary: Vocabulary, hashes: Keys, sentence: Ints) -> Deletions:
    """What deleting each form does; (W,) hashes of the words and numbers of their sentences."""
    gone_at, gone_term = holding(words)
    form, text, ids = _neighbors(words, vocabulary, hashes, sentence)
    terms_known = len(vocabulary)
    # A new n-gram that stands elsewhere in the text adds nothing. (It does not contain the deleted word, so it stays.)
    owner = owners(words.terms)
    there = member(text * terms_known + ids, np.sort(owner * terms_known + words.ids))  # np.isin loads np.ma
    keys = (text * terms_known + ids)[~there]
    which, first = _numbered(keys)
    _, pairs = np.unique(form[~there] * max(len(first), 1) + which, return_index=True)
    pairs.sort()  # by form, and for each form in the order of the text
    pairs = pairs[np.argsort(form[~there][pairs], kind="stable")]
    new = Bags.of(keys[first] % terms_known, np.bincount(keys[first] // terms_known, minlength=len(words)))
    return Deletions(
        gone_at, gone_term, np.searchsorted(form[~there][pairs], np.arange(len(gone_at))), which[pairs], new
    )


def member(values: Ints, among: Ints) -> NDArray[np.bool_]:
    """Whether each value is in a sorted array.

    Example:
        >>> member(np.array([1, 5]), np.array([2, 5, 7])).tolist()
        [False, True]
    """
    if not len(among):
        return np.zeros(len(values), bool)
    return np.asarray(among[np.minimum(np.searchsorted(among, values), len(among) - 1)] == values)


def holding(words: Layout) -> tuple[Ints, Ints]:
    """Of each form the terms that hold it, as in `Deletions`: where those of the form begin, and all of them."""
    longest, forms = words.spans.shape[1], int(words.forms[-1])
    last, length = np.divmod(words.first, longest)
    every = np.arange(len(last))
    keys = [np.empty(0, np.int64)]
    for k in range(longest):
        which = np.flatnonzero(length >= k)
        keys.append(words.form[last[which] - k] * max(len(last), 1) + every[which])
    pairs, _ = np.unique(np.concatenate(keys), return_index=True)  # a form that stands twice in a term counts once
    form, term = np.divmod(pairs, max(len(last), 1))
    return np.searchsorted(form, np.arange(forms + 1)), term


def _neighbors(words: Layout, vocabulary: Vocabulary, hashes: Keys, sentence: Ints) -> tuple[Ints, Ints, Ints]:
    """(form, text, vocabulary number) of the known n-grams that close the gaps which a form leaves, in order."""
    form, count = words.form, len(words.form)
    if not count or words.spans.shape[1] == 1:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    text, points = owners(words.words), (hashes == POINTS[0]) | (hashes == POINTS[1])
    edges = np.flatnonzero(form[1:] != form[:-1]) + 1  # of runs of one form; no form is in two texts
    first, run = edges[:-1], np.cumsum(np.bincount(edges, minlength=count))
    deleted = form[first]

    def joined(a: Ints, b: Ints) -> NDArray[np.bool_]:
        """Words that become neighbors are in one sentence if they were; ! and ? always end the sentence before them."""
        return (text[a] == text[b]) & ((sentence[a] == sentence[b]) | points[b])

    gap = np.flatnonzero(joined(first - 1, edges[1:]))
    first, left, right, deleted = first[gap], first[gap] - 1, edges[1:][gap], deleted[gap]
    windows: list[tuple[Ints, tuple[Ints, ...]]] = [(np.arange(len(gap)), (left, right))]
    if words.spans.shape[1] > 2:
        begins, ends = np.append(0, edges) - 1, np.append(edges, count)
        before, after = left - 1, right + 1
        before = np.where((before >= 0) & (form[before] == deleted), begins[run[before]], before)
        after = np.where(form[np.minimum(after, count - 1)] == deleted, ends[run[np.minimum(after, count - 1)]], after)
        some = np.flatnonzero((before >= 0) & joined(before, left))
        windows.append((some, (before[some], left[some], right[some])))
        some = np.flatnonzero(after < count)
        some = some[joined(right[some], after[some])]
        windows.append((some, (left[some], right[some], after[some])))
    keys, gaps = [], []
    for which, (start, *others) in windows:
        keys.append(hashes[start])
        for column in others:
            keys[-1] = chain(keys[-1], hashes[column])
        gaps.append(first[which])
    at = np.concatenate(gaps)
    order = np.argsort(at, kind="stable")
    ids, at = vocabulary.numbers(np.concatenate(keys)[order]), at[order]
    known = np.flatnonzero(ids >= 0)
    return form[at[known]], text[at[known]], ids[known]


def known_words(spans: Ints) -> NDArray[np.bool_]:
    """(W,) whether each word is in a known term."""
    found = np.zeros(len(spans), bool)
    for length, column in enumerate(spans.T):
        there = column >= 0
        for k in range(length + 1):
            found[: len(found) - k] |= there[k:]
    return found


def shared(words: Layout, parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(W,) parts of the terms (T,), shared equally by their occurrences, and there by their words."""
    count = np.bincount(words.spans.ravel() + 1, minlength=len(parts) + 1)[1:]
    found, each = np.zeros(len(words.spans)), np.zeros(len(parts) + 1)
    for length, column in enumerate(words.spans.T):
        each[:-1] = parts / (count * (length + 1))
        value = each[column]  # 0, the last, where no term ends
        for k in range(length + 1):
            found[: len(found) - k] += value[k:]
    return found


class TermNames(Names):
    """The names of the terms, made from those of the forms."""

    def __init__(self, words: Layout, forms: Names) -> None:
        self.words, self.forms = words, forms

    @cached_property
    def every(self) -> list[str]:
        """All of them."""
        names, (last, more) = self.forms.every, np.divmod(self.words.first, self.words.spans.shape[1])
        words = [names[f] for f in self.words.form.tolist()]
        where = zip(last.tolist(), more.tolist(), strict=True)
        return [" ".join(words[at - k : at + 1]) if k else words[at] for at, k in where]

    def some(self, terms: Ints) -> list[str]:
        """Some of them."""
        form, longest = self.words.form, self.words.spans.shape[1]
        last, more = np.divmod(self.words.first[terms], longest)
        found = self.forms.some(form[last])
        for k in range(1, longest):
            which = np.flatnonzero(more >= k)
            for i, before in zip(which.tolist(), self.forms.some(form[last[which] - k]), strict=True):
                found[i] = f"{before} {found[i]}"
        return found

    def __len__(self) -> int:
        return len(self.words.ids)


class Inside:
    """Where forms stand: the terms that hold them, the leaders of these, and their places; found when asked for.

    Args:
        parts: (T,) the parts of the terms.   leader: (T,) their leaders.
    """

    def __init__(
        self, words: Layout, found: Deletions, parts: NDArray[np.float64], leader: Ints, names: TermNames
    ) -> None:
        self._given, self._leader, self._names = (words, found, parts), leader, names

    @cached_property
    def _sorted(self) -> tuple[list[int], list[int], list[tuple[int, int]], list[int]]:
        """Terms by form, where those of each form begin; and the same for places."""
        words, found, parts = self._given
        terms = found.gone_term[np.lexsort((-np.abs(parts[found.gone_term]), owners(found.gone_at)))]
        order = np.argsort(words.form, kind="stable")
        places = list(zip(words.begins[order].tolist(), words.ends[order].tolist(), strict=True))
        begin = np.searchsorted(words.form[order], np.arange(len(found.gone_at)))
        return terms.tolist(), found.gone_at.tolist(), places, begin.tolist()

    def leaders(self, forms: Sequence[int]) -> list[str]:
        """For each of these forms the leader of the term with the largest part among those that hold it."""
        terms, begin, _, _ = self._sorted
        return self._names.some(self._leader[np.array([terms[begin[f]] for f in forms], np.int64)])

    def places(self, f: int) -> tuple[tuple[int, int], ...]:
        """(start, end) of all occurrences of a form."""
        _, _, places, begin = self._sorted
        return tuple(places[begin[f] : begin[f + 1]])

    def of(self, f: int) -> tuple[tuple[str, ...], str, tuple[tuple[int, int], ...]]:
        """The terms that hold a form, the largest part first; the leader of the first; the places of the form."""
        terms, begin, _, _ = self._sorted
        names, mine = self._names.every, terms[begin[f] : begin[f + 1]]
        return tuple([names[i] for i in mine]), names[self._leader[mine[0]]], self.places(f)
