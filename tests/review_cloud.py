"""The words of one small review in the plane, for tests of pictures."""

import numpy as np

from hardmax.experiments.reproduce.words import WordCloud


def cloud(word="great"):
    """Two words, of which the second follows the first; the decoder is 2 x + y - 1/2."""
    states = np.array([[[1.0, 0.0], [0.2, 0.1]], [[1.0, 0.0], [0.6, 0.05]]])
    return WordCloud(
        "positive", 1.0, (word, "b"), np.array([1.0, 3.0]), states, np.array([0, 0]), np.array([0, -1]),
        np.array([2.0, 1.0]), -0.5,
    )  # fmt: skip
