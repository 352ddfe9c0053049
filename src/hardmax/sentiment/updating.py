"""One step of Adam on the words of a batch, compiled; words that do not occur are not touched (lazy Adam)."""

from typing import Any

import numpy as np

from hardmax.jit import njit
from hardmax.sentiment.recipe import ROOM

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8


@njit()
def step_words(
    ids: Any,
    offsets: Any,
    texts: Any,
    places: Any,
    c: Any,
    pull: Any,
    x: Any,
    m: Any,
    s: Any,
    radius: Any,
    pace: Any,
    sideways: Any,
    vectors: Any,
    sums: Any,
    stamp: Any,
    touched: Any,
    step: Any,
    rate: Any,
) -> None:
    """Add up the gradient of every word in the order of the texts, then move the words that occur.

    Word w moves at rate * pace[w].

    Args:
        pull: (B, m) gradient of the loss by the mean of each text, along the score coordinates; word i of text t gets
            c_i pull[t].
        sums, stamp, touched: scratch of the size of the vocabulary.
    """
    dims = x.shape[1]
    count = 0
    for t in range(texts.size):
        first = offsets[texts[t]]
        for p in range(offsets[texts[t] + 1] - first):
            weight = c[places[t] + p]
            if weight != 0.0:
                w = ids[first + p]
                if stamp[w] != step:
                    stamp[w] = step
                    touched[count] = w
                    count += 1
                    for k in range(dims):
                        sums[w, k] = 0.0
                for k in range(dims):
                    sums[w, k] += weight * pull[t, k]
    one, two = 1.0 - FIRST**step, 1.0 - SECOND**step
    for q in range(count):
        w = touched[q]
        square = 0.0
        for k in range(dims):
            g = sums[w, k]
            m[w, k] = FIRST * m[w, k] + (1.0 - FIRST) * g
            s[w, k] = SECOND * s[w, k] + (1.0 - SECOND) * g * g
            x[w, k] -= rate * pace[w] * (m[w, k] / one) / (np.sqrt(s[w, k] / two) + SMALL)
            square += x[w, k] * x[w, k]
        most = ROOM * radius[w]
        if square > most * most:
            shrink = most / np.sqrt(square)
            square = 0.0
            for k in range(dims):
                x[w, k] *= shrink
                square += x[w, k] * x[w, k]
        height = np.sqrt(max(radius[w] * radius[w] - square, 0.0))
        for k in range(dims):
            vectors[w, k] = x[w, k]
        for k in range(sideways.shape[1]):
            vectors[w, dims + k] = height * sideways[w, k]
