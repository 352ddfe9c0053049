"""A small made-up corpus of reviews: opinions as words and as pairs of words, among filler."""

import random

GOOD = ["good", "great", "lovely", "superb", "moving", "clever"]
BAD = ["bad", "awful", "dull", "boring", "silly", "weak"]
FILLER = ["the", "a", "film", "it", "was", "story", "and", "of", "actor", "scene"]
FILLER += ["with", "one", "very", "plot", "in", "to", "is", "that", "this", "end"]


def reviews(count, seed):
    """`count` texts, half of them of each class, and their labels "pos" and "neg"."""
    rng = random.Random(seed)
    texts, labels = [], []
    for i in range(count):
        ours, others = (GOOD, BAD) if i % 2 else (BAD, GOOD)
        words = rng.choices(FILLER, k=rng.randint(5, 40)) + rng.choices(ours, k=rng.randint(2, 4))
        if rng.random() < 0.3:
            words.append(f"not {rng.choice(others)}")
        rng.shuffle(words)
        texts.append(" ".join(words).capitalize() + rng.choice(".!?"))
        labels.append("pos" if i % 2 else "neg")
    return texts, labels
