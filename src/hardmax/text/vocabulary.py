"""A vocabulary: the n-grams a model knows, and texts as lists of term numbers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput
from hardmax.io.scratch import empty
from hardmax.jit.ways import WORTH_COMPILING, Job
from hardmax.text.hashes import (
    Keys,
    bits_for,
    chain,
    empty_table,
    fill,
    find,
    slots_for,
    term_hashes,
    word_hash,
    word_hashes,
)
from hardmax.text.tokenizer import Tokenizer
from hardmax.text.words import Cut, Word, cut, numbered, split, terms

if TYPE_CHECKING:
    from hardmax.text.ngrams import Lookup

LONGEST = 3  # words in an n-gram
AT_ONCE = 1 << 20  # terms that are handled at once where there may be very many
FEW = 100_000  # characters; fewer are split in plain Python, which is quicker than loading the compiled code
OF_A_TEXT = 100  # characters
SCANNER = Job("ngrams._bags")  # the compiled splitter: whether it is in memory, or worth loading


def spans(offsets: NDArray[np.int64], most: int = AT_ONCE) -> Iterator[tuple[int, int]]:
    """Neighboring rows (a, b) with at most `most` numbers together, or one row with more; row t has offsets[t] on.

    Example:
        >>> list(spans(np.array([0, 3, 4, 9, 12]), 5))
        [(0, 2), (2, 3), (3, 4)]
    """
    a, rows = 0, len(offsets) - 1
    while a < rows:
        b = max(a + 1, int(np.searchsorted(offsets, offsets[a] + most, side="right")) - 1)
        yield a, b
        a = b


def owners(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of every number; those of row t are at offsets[t]:offsets[t + 1].

    Example:
        >>> owners(np.array([0, 3, 4])).tolist()
        [0, 0, 0, 1]
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


@dataclass(frozen=True, eq=False)
class Bags:
    """Texts as bags of terms: the numbers of the distinct known terms of every text, in order of appearance.

    Attributes:
        ids: (T,) all texts one after the other.
        offsets: (B + 1,) text t holds ids[offsets[t]:offsets[t + 1]].
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, ids: ArrayLike, sizes: ArrayLike) -> "Bags":
        """Bags from all term numbers one after the other and the size of each bag."""
        counts = np.asarray(sizes, np.int64)
        offsets = empty(counts.size + 1, np.int64)
        offsets[0] = 0
        counts.cumsum(out=offsets[1:])
        return cls(np.ascontiguousarray(ids, np.int32), offsets)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def owners(self) -> NDArray[np.int64]:
        """(T,) the text of every term."""
        return owners(self.offsets)

    def take(self, which: NDArray[np.integer[Any]]) -> "Bags":
        """The bags of some of the texts, in the order given."""
        sizes = np.diff(self.offsets)[which]
        starts = np.cumsum(sizes) - sizes
        ids, total = empty(int(sizes.sum()), np.int32), np.append(starts, sizes.sum())
        for a, b in spans(total):
            first = self.offsets[:-1][which[a:b]] - starts[a:b]
            ids[total[a] : total[b]] = self.ids[np.arange(total[a], total[b]) + np.repeat(first, sizes[a:b])]
        return Bags.of(ids, sizes)


@dataclass(frozen=True, init=False, eq=False)
class Vocabulary:
    """The known terms (n-grams of 1 to `ngrams` words), numbered from 0.

    Terms are found by their hashes in one table, without a string for each of them in memory.

    Example:
        >>> vocabulary = Vocabulary(["good", "not good", "film"], ngrams=2)
        >>> vocabulary.bag("Not good. Not a good film")
        [0, 1, 2]
        >>> vocabulary.find("not good"), vocabulary.find("bad")
        (1, -1)
    """

    ngrams: int
    joined: bytes | memoryview
    tokenizer: Tokenizer | None

    def __init__(self, known: Sequence[str], ngrams: int, tokenizer: Tokenizer | None = None) -> None:
        if not isinstance(ngrams, int | np.integer) or not 1 <= ngrams <= LONGEST:
            raise BadInput(f"n-grams must have 1 to {LONGEST} words", found=repr(ngrams))
        every = tuple(known)
        for term in every:
            if not term or "\n" in term:
                raise BadInput("a term must not be empty or hold a line break", found=repr(term))
        if len(set(every)) != len(every):
            twice = next(term for i, term in enumerate(every) if term in every[:i])
            raise BadInput(f"the vocabulary holds the term {twice!r} twice")
        object.__setattr__(self, "ngrams", int(ngrams))
        object.__setattr__(self, "tokenizer", tokenizer)
        object.__setattr__(self, "joined", "\n".join(every).encode("utf-8", "surrogatepass"))
        self.__dict__["terms"] = every

    @classmethod
    def stored(
        cls, joined: bytes | memoryview, table: Keys, count: int, ngrams: int, tokenizer: Tokenizer | None = None
    ) -> "Vocabulary":
        """A vocabulary from its parts: the terms in UTF-8, one in a line, and their `table`; nothing is read yet."""
        vocabulary = cls((), ngrams, tokenizer)
        object.__setattr__(vocabulary, "joined", joined)
        del vocabulary.__dict__["terms"]
        vocabulary.__dict__.update(table=table, size=count)
        if not (table.dtype == np.uint64 and table.shape == (slots_for(count),)):
            raise BadInput(f"the table of {count} terms has the shape {table.shape} and the type {table.dtype}")
        return vocabulary

    def __reduce__(self) -> tuple[type["Vocabulary"], tuple[Any, ...]]:
        return Vocabulary, (self.terms, self.ngrams, self.tokenizer)  # the table is made again when needed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        same = self.ngrams == other.ngrams and self.joined == other.joined
        return bool(same and self.tokenizer == other.tokenizer)

    def __hash__(self) -> int:
        return hash((self.ngrams, len(self)))

    @classmethod
    def count(
        cls,
        texts: Iterable[str],
        ngram_range: tuple[int, int] = (1, 1),
        min_df: int = 1,
        max_features: int | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> "Vocabulary":
        """The terms of a collection, which is read once, a thousand texts at a time.

        Args:
            ngram_range: the smallest and the largest number of words in a term.
            min_df: ignore terms that occur in fewer texts.
            max_features: keep at most this many terms, those that occur in the most texts.
            tokenizer: a tokenizer of one's own.

        Example:
            >>> Vocabulary.count(["a good film", "a bad film"], min_df=2).terms
            ('a', 'film')
        """
        if not (np.shape(ngram_range) == (2,) and 1 <= ngram_range[0] <= ngram_range[1] <= LONGEST):
            raise BadInput(
                f"ngram_range must be (smallest, largest) with 1 <= smallest <= largest <= {LONGEST}",
                found=repr(ngram_range),
            )
        if tokenizer is not None:
            return cls(_counted(texts, ngram_range, min_df, max_features, tokenizer), ngram_range[1], tokenizer)
        from hardmax.text.ngrams import TermCounts, chunks

        counts = TermCounts(ngram_range[1], min_df)
        for part in chunks(texts):
            counts.add(part)
        return cls(counts.terms(ngram_range[0], max_features), ngram_range[1])

    def __len__(self) -> int:
        return self.size

    @cached_property
    def size(self) -> int:
        """The number of terms."""
        return len(self.terms)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """All terms, in their order."""
        known = str(self.joined, "utf-8", "surrogatepass")
        return tuple(known.split("\n")) if known else ()

    @cached_property
    def table(self) -> Keys:
        """The table in which terms are found by their hashes: see `hardmax.text.hashes`."""
        if len(self.joined) > FEW or not SCANNER.plain(len(self.joined)):
            from hardmax.text.ngrams import table_of

            return table_of(self.terms)
        table = empty_table(len(self))
        taken = fill(table, term_hashes(self.terms))
        if taken >= 0:
            raise BadInput(
                f"the term {self.terms[taken]!r} has the same hash as another term", fix="remove one of them"
            )
        return table

    @cached_property
    def lookup(self) -> "Lookup":
        """The compiled form."""
        from hardmax.text.ngrams import Lookup

        return Lookup(self.table, len(self), self.ngrams)

    def find(self, term: str) -> int:
        """The number of a term, -1 if it is unknown."""
        return int(self.numbers(term_hashes([term]))[0])

    def words(self, text: str) -> list[Word]:
        """The words of a text."""
        return split(text) if self.tokenizer is None else self.tokenizer.words(text)

    def cut(self, text: str) -> Cut:
        """The words of a text as arrays."""
        if self.tokenizer is None:
            return cut(text)
        words = self.tokenizer.words(text)
        form, forms = numbered([word.form for word in words])
        return Cut(forms, form, *np.array([word[1:] for word in words], np.int64).reshape(-1, 3).T.copy())

    def spans(self, hashes: Keys, form: NDArray[np.int64], sentence: NDArray[np.int64]) -> NDArray[np.int64]:
        """(W, L) the known term of l + 1 words that ends at each word, or -1; of W words by form and sentence.

        Args:
            hashes: of the forms.
        """
        found, each = np.full((len(form), self.ngrams), -1), hashes[form]
        found[:, 0], keys = self.numbers(hashes)[form], each
        for k in range(1, min(self.ngrams, len(form))):
            inside = np.flatnonzero(sentence[k:] == sentence[:-k])
            keys = chain(keys[:-1], each[k:])
            found[inside + k, k] = self.numbers(keys[inside])
        return found

    def numbers(self, hashes: Keys) -> NDArray[np.int64]:
        """The numbers of the terms with these hashes, -1 for an unknown one."""
        return find(self.table, bits_for(len(self)), hashes)

    def known(self, words: Sequence[Word]) -> NDArray[np.int64]:
        """`spans` of the words of one text.

        Example:
            >>> vocabulary = Vocabulary(["good", "not good"], ngrams=2)
            >>> vocabulary.known(vocabulary.words("not a good film, not good")).tolist()
            [[-1, -1], [-1, -1], [0, -1], [-1, -1], [-1, -1], [0, 1]]
        """
        hashes = np.array([word_hash(word.form) for word in words], np.uint64)
        return self.spans(hashes, np.arange(len(words)), np.array([word.sentence for word in words], np.int64))

    def bag(self, text: str) -> list[int]:
        """Numbers of the distinct known terms of one text, in order of appearance, without compiled code."""
        words = self.cut(text)
        found = self.spans(word_hashes(words.forms), words.form, words.sentence)
        return list(dict.fromkeys(found[found >= 0].tolist()))

    def bags(self, texts: Sequence[str], few: int = FEW) -> Bags:
        """The same for many texts, compiled and in threads.

        Up to `few` characters are read in plain Python until the compiled code is in memory, or worth loading; a text
        takes as long as OF_A_TEXT of them before its first.
        """
        size = 0
        for text in texts:
            size += OF_A_TEXT + len(text)
            if size > WORTH_COMPILING * few:
                break
        if self.tokenizer is not None or SCANNER.plain_up_to(few, size):
            with SCANNER.counted() if self.tokenizer is None else nullcontext():
                found = [self.bag(text) for text in texts]
            return Bags.of([i for bag in found for i in bag], [len(bag) for bag in found])
        bags = Bags.of(*self.lookup.bags(texts))
        SCANNER.ready = True
        return bags


def _counted(
    texts: Iterable[str], ngram_range: tuple[int, int], min_df: int, max_features: int | None, tokenizer: Tokenizer
) -> list[str]:
    """The terms of a collection by a tokenizer, in plain Python, in the order in which they appear."""
    counts: Counter[str] = Counter()
    for text in texts:
        found = terms(tokenizer.words(text), ngram_range[1])
        counts.update(list(dict.fromkeys(t.form for t in found if t.last - t.first >= ngram_range[0] - 1)))
    kept = [term for term, count in counts.items() if count >= min_df]
    if max_features is not None and len(kept) > max_features:
        most = set(sorted(kept, key=lambda term: -counts[term])[:max_features])
        kept = [term for term in kept if term in most]
    return kept
