"""A vocabulary: the n-grams a model knows, and texts as lists of their numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.text.words import split, terms

if TYPE_CHECKING:
    from hardmax.text.lookup import Lookup

LONGEST = 3  # words in an n-gram


@dataclass(frozen=True, eq=False)
class Bags:
    """Texts as bags of terms: the numbers of the distinct known terms of every text, in order of appearance.

    Attributes:
        ids: (T,) all texts one after the other.
        offsets: (B + 1,) text t holds ids[offsets[t]:offsets[t + 1]].
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def take(self, which: NDArray[np.integer[Any]]) -> "Bags":
        """The bags of some of the texts, in the order given."""
        sizes = np.diff(self.offsets)[which]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        index = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][which] - offsets[:-1], sizes)
        return Bags(self.ids[index], offsets)


class Vocabulary:
    """The known terms (n-grams of 1 to `ngrams` words), numbered from 0.

    Example:
        >>> vocabulary = Vocabulary(["good", "not good", "film"], ngrams=2)
        >>> vocabulary.bag("Not good. Not a good film")
        [0, 1, 2]
    """

    def __init__(self, known: Sequence[str], ngrams: int) -> None:
        if not 1 <= ngrams <= LONGEST:
            raise BadInput(f"ngrams must be 1, 2 or {LONGEST}", found=repr(ngrams))
        self.terms = tuple(known)
        self.ngrams = ngrams
        if len(self.number) != len(self.terms):
            twice = next(t for i, t in enumerate(self.terms) if self.number[t] != i)
            raise BadInput(f"the vocabulary holds the term {twice!r} twice")

    @classmethod
    def count(cls, texts: Iterable[str], ngrams: int = 1, min_texts: int = 1) -> "Vocabulary":
        """The terms that occur in at least `min_texts` texts. The texts are read once, a thousand at a time.

        Example:
            >>> Vocabulary.count(["a good film", "a bad film"], min_texts=2).terms
            ('a', 'film')
        """
        from hardmax.text.counting import TermCounts, chunks

        counts = TermCounts(ngrams, min_texts)
        for part in chunks(texts):
            counts.add(part)
        return cls(counts.kept, ngrams)

    def __len__(self) -> int:
        return len(self.terms)

    @cached_property
    def number(self) -> dict[str, int]:
        """Term -> its number."""
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def lookup(self) -> "Lookup":
        """The compiled form: a table of hashes."""
        from hardmax.text.lookup import Lookup

        return Lookup(self.terms, self.ngrams)

    def bag(self, text: str) -> list[int]:
        """Numbers of the distinct known terms of one text, in order of appearance, in plain Python."""
        number = self.number
        found = (number.get(t.form, -1) for t in terms(split(text), self.ngrams))
        return [i for i in dict.fromkeys(found) if i >= 0]

    def bags(self, texts: Sequence[str]) -> Bags:
        """The same for many texts, compiled and in threads."""
        return self.lookup.bags(texts)
