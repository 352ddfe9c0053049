"""Sentiment models small enough to check by hand."""

import numpy as np

from hardmax.sentiment.model import SentimentModel
from hardmax.text.vocabulary import Vocabulary

TERMS = ["great", "dull", "film", "plot", "not dull", "the", "fine", "!"]
PLACES = [[0.9, 0.5], [-0.9, 0.6], [0.1, 0.4], [-0.3, 0.5], [0.6, 0.7], [0.02, 0.1], [0.5, 0.5], [0.2, 0.2]]


def two_classes(layers=3, alpha=1.0, dim=2):
    """negative/positive; great, dull and not dull are far out, the others near the middle."""
    places = np.array(PLACES, np.float32)
    if dim > 2:
        more = np.random.default_rng(0).normal(0, 0.2, (len(TERMS), dim - 2)).astype(np.float32)
        places = np.concatenate([places, more], axis=1)
    scores = np.zeros((1, dim))
    scores[0, 0] = 8.0
    return SentimentModel(
        Vocabulary(TERMS, 2), places[:, :dim], scores, np.array([0.25]), alpha, layers, ("negative", "positive")
    )


def three_classes():
    scores = np.array([[4.0, 0.0], [-4.0, 0.0], [0.0, 3.0]])
    return SentimentModel(
        Vocabulary(TERMS, 2), np.array(PLACES, np.float32), scores, np.array([0.1, 0.2, -0.3]), 1.0, 3, ("a", "b", "c")
    )


def random_model(terms=60, dim=2, layers=4, classes=2, seed=0, neutral_words=0.0, damping=0.0):
    """Words w0, w1, ... at random places, for comparisons with slower code."""
    rng = np.random.default_rng(seed)
    rows = 1 if classes == 2 else classes
    return SentimentModel(
        Vocabulary([f"w{i}" for i in range(terms)], 1),
        rng.normal(size=(terms, dim)).astype(np.float32),
        rng.normal(size=(rows, dim)),
        rng.normal(size=rows),
        0.7,
        layers,
        tuple(range(classes)),
        neutral_words=neutral_words,
        damping=damping,
    )


HOSTILE = {
    "script": "<script>alert('dull')</script> <b onclick=x>great</b> \"quoted\" & <",
    "nul": "great\x00dull \x1b[2J\x1b[31mfilm\x07",
    "surrogate": "great \ud800 film \udfff",
    "right to left": "سيء great \u202e dull עברית",
    "emoji": "great 👩\u200d👩\u200d👧 film 😀!!!",
    "wide": "電影 great 非常好",
    "empty": "",
    "spaces": " \n\t ",
    "unknown": "zxqw yyyy",
    "dollar": "great $x^2$ \\frac{1}{2} dull_film",
    "one long word": "a" * 5000 + " great",
}
