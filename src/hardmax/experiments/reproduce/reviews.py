"""Film reviews as the paper reads them: case kept, stop words left out, the first 128 words, padding up to there.

Implements [AFZ24, section 6] (the data). Departs: 25,000 reviews where the paper has 50,000; words by a regular
expression, with the stop words of scikit-learn and without lemmatising, as the paper's own table of words is not
published. Copies of a word stay together in every layer, so a review is stored as its distinct words with their counts;
<PAD> is a word like any other, which attends, is attended to and is trained.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.text.splits import at_random

LENGTH = 128
PADDING = "<PAD>"
ASIDE = 0.3
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_TAG = re.compile(r"<[^<>]{0,40}>")


@dataclass(frozen=True, eq=False)
class Reviews:
    """Labeled reviews for the paper's recipe.

    Attributes:
        words: the vocabulary; words[0] is <PAD>.
        ids, counts: (T,) the distinct words of all reviews and how often each occurs in its review.
        offsets: (B + 1,) review t holds ids[offsets[t]:offsets[t + 1]]; its counts sum up to 128.
        labels: (B,) 0 negative, 1 positive.
        learn, aside: indices to learn from and to test on, 70 % and 30 % at random.
        texts: the reviews themselves.
    """

    words: tuple[str, ...]
    ids: NDArray[np.int64]
    counts: NDArray[np.float64]
    offsets: NDArray[np.int64]
    labels: NDArray[np.int64]
    learn: NDArray[np.int64]
    aside: NDArray[np.int64]
    texts: tuple[str, ...]

    @cached_property
    def truncated(self) -> float:
        """Part of the reviews that are cut at 128 words: those without padding."""
        return float(np.mean(self.ids[self.offsets[1:] - 1] != 0))


def paper_words(text: str, stop: Iterable[str]) -> list[str]:
    """The words that the paper keeps of a text, at most 128.

    Example:
        >>> paper_words("The plot was thin.<br />Not a good film, not at all", {"was", "a", "not", "at", "all"})
        ['The', 'plot', 'thin', 'Not', 'good', 'film']
    """
    stop = stop if isinstance(stop, set | frozenset) else set(stop)
    kept = (word for word in _WORD.findall(_TAG.sub(" ", text)) if word not in stop)
    return [word for word, _ in zip(kept, range(LENGTH), strict=False)]


def stop_words() -> frozenset[str]:
    """The English stop words of scikit-learn, in lower case: "The" and "Not" are kept, "the" and "not" are not."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def prepare(texts: Sequence[str], labels: Any, most: int | None = None, seed: int = 0) -> Reviews:
    """Reviews as the paper's model sees them, and the 70/30 split.

    Args:
        most: use only so many of the texts, drawn at random.

    Raises:
        BadInput: fewer than 10 texts, or labels other than 0 and 1.
    """
    labels = np.asarray(labels, np.int64)
    if len(texts) < 10 or len(labels) != len(texts) or not np.isin(labels, (0, 1)).all():
        raise BadInput(f"{len(texts)} texts and {len(labels)} labels", fix="at least 10 texts with labels 0 and 1")
    chosen = np.arange(len(texts))
    if most is not None and most < len(texts):
        chosen = at_random(len(texts), most / len(texts), seed)[1]
    stop = stop_words()
    found = [paper_words(texts[i], stop) for i in chosen.tolist()]
    # As the paper does, the words of the reviews kept aside have vectors too (random ones: nothing is learned there).
    often = Counter(word for review in found for word in review)
    words = (PADDING, *sorted(often, key=lambda word: (-often[word], word)))
    number = {word: i for i, word in enumerate(words)}
    ids: list[int] = []
    counts: list[int] = []
    offsets = [0]
    for review in found:
        bag = Counter(review)
        ids += [number[word] for word in bag]
        counts += bag.values()
        if len(review) < LENGTH:
            ids.append(0)
            counts.append(LENGTH - len(review))
        offsets.append(len(ids))
    learn, aside = at_random(len(chosen), ASIDE, seed)
    return Reviews(
        words, np.array(ids), np.array(counts, np.float64), np.array(offsets), labels[chosen], learn, aside,
        tuple(texts[i] for i in chosen.tolist()),
    )  # fmt: skip
