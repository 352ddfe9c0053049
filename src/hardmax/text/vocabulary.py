"""A vocabulary: the n-grams a model knows, and texts as lists of their numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput
from hardmax.text.words import split, terms

if TYPE_CHECKING:
    from hardmax.text.ngrams import Lookup

LONGEST = 3  # words in an n-gram
FEW = 20_000  # characters; fewer are split in plain Python, which is quicker than loading the compiled code


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
        offsets = np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)
        return cls(np.ascontiguousarray(ids, np.int32), offsets)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def owners(self) -> NDArray[np.int64]:
        """(T,) the text of every term."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def take(self, which: NDArray[np.integer[Any]]) -> "Bags":
        """The bags of some of the texts, in the order given."""
        sizes = np.diff(self.offsets)[which]
        starts = np.cumsum(sizes) - sizes
        return Bags.of(self.ids[np.arange(sizes.sum()) + np.repeat(self.offsets[:-1][which] - starts, sizes)], sizes)


@dataclass(frozen=True, init=False)
class Vocabulary:
    """The known terms (n-grams of 1 to `ngrams` words), numbered from 0.

    Example:
        >>> vocabulary = Vocabulary(["good", "not good", "film"], ngrams=2)
        >>> vocabulary.bag("Not good. Not a good film")
        [0, 1, 2]
    """

    terms: tuple[str, ...]
    ngrams: int

    def __init__(self, known: Sequence[str], ngrams: int) -> None:
        if not isinstance(ngrams, int | np.integer) or not 1 <= ngrams <= LONGEST:
            raise BadInput(f"n-grams must have 1 to {LONGEST} words", found=repr(ngrams))
        object.__setattr__(self, "terms", tuple(known))
        object.__setattr__(self, "ngrams", int(ngrams))
        if len(self.number) != len(self.terms):
            twice = next(t for i, t in enumerate(self.terms) if self.number[t] != i)
            raise BadInput(f"the vocabulary holds the term {twice!r} twice")

    def __reduce__(self) -> tuple[type["Vocabulary"], tuple[tuple[str, ...], int]]:
        return Vocabulary, (self.terms, self.ngrams)  # the tables are made again when needed

    @classmethod
    def count(
        cls,
        texts: Iterable[str],
        ngram_range: tuple[int, int] = (1, 1),
        min_df: int = 1,
        max_features: int | None = None,
    ) -> "Vocabulary":
        """The terms of a collection, which is read once, a thousand texts at a time.

        Args:
            ngram_range: the smallest and the largest number of words in a term.
            min_df: ignore terms that occur in fewer texts.
            max_features: keep at most this many terms, those that occur in the most texts.

        Example:
            >>> Vocabulary.count(["a good film", "a bad film"], min_df=2).terms
            ('a', 'film')
        """
        from hardmax.text.ngrams import TermCounts, chunks

        if not (np.shape(ngram_range) == (2,) and 1 <= ngram_range[0] <= ngram_range[1] <= LONGEST):
            raise BadInput(
                f"ngram_range must be (smallest, largest) with 1 <= smallest <= largest <= {LONGEST}",
                found=repr(ngram_range),
            )
        counts = TermCounts(ngram_range[1], min_df)
        for part in chunks(texts):
            counts.add(part)
        return cls(counts.terms(ngram_range[0], max_features), ngram_range[1])

    def __len__(self) -> int:
        return len(self.terms)

    @cached_property
    def number(self) -> dict[str, int]:
        """Term -> its number."""
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def lookup(self) -> "Lookup":
        """The compiled form: a table of hashes."""
        from hardmax.text.ngrams import Lookup

        return Lookup(self.terms, self.ngrams)

    def bag(self, text: str) -> list[int]:
        """Numbers of the distinct known terms of one text, in order of appearance, in plain Python."""
        number = self.number
        found = (number.get(t.form, -1) for t in terms(split(text), self.ngrams))
        return [i for i in dict.fromkeys(found) if i >= 0]

    def bags(self, texts: Sequence[str]) -> Bags:
        """The same for many texts: in plain Python for FEW characters, otherwise compiled and in threads."""
        if len(texts) + sum(map(len, texts)) <= FEW:
            found = [self.bag(text) for text in texts]
            return Bags.of([i for bag in found for i in bag], [len(bag) for bag in found])
        return Bags.of(*self.lookup.bags(texts))
