"""Word vectors read from the files of other tools, and how a text becomes their mean."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.sentiment.model import Label
from hardmax.text.words import Word

Floats = NDArray[np.float64]
Feature = tuple[int, int, Floats]  # first and last word that it belongs to, its vector


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Word vectors and how a text becomes their mean.

    Attributes:
        words: the words of a text with their places.
        features: from the forms of the words of a text to its features.
        weights: (C', d), or None: then they are given to `explain_embeddings`.
        bias: (C',).   classes: the labels.   unit: whether the mean is brought to unit length.
    """

    words: Callable[[str], list[Word]]
    features: Callable[[list[str]], list[Feature]]
    weights: Floats | None = None
    bias: Floats | None = None
    classes: tuple[Label, ...] = ()
    unit: bool = False
