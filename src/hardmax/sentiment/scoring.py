"""Metrics for probabilities and labels: accuracy and its confidence interval, macro-F1, log-loss, calibration."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.sentiment.columns import as_labels
from hardmax.sentiment.model import SentimentModel
from hardmax.text.datasets import match_labels

BINS = 10


def numbered(model: SentimentModel, labels: Any, count: int) -> NDArray[np.int64]:
    """The class numbers of labels, in the model's spelling or a usual other one."""
    number = {c: i for i, c in enumerate(model.classes)}
    return np.array([number[c] for c in match_labels(as_labels(labels, count), model.classes).tolist()], np.int64)


def scores_of(p: NDArray[np.float64], wanted: NDArray[np.int64]) -> dict[str, float]:
    """Accuracy, macro-F1, log-loss and calibration error of probabilities (B, C).

    Example:
        >>> scores_of(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))["accuracy"]
        0.5
    """
    chosen, every = p.argmax(axis=1), np.arange(len(p))
    f1 = []
    for k in range(p.shape[1]):
        both, either = ((chosen == k) & (wanted == k)).sum(), (chosen == k).sum() + (wanted == k).sum()
        if either:  # as in scikit-learn: a class that neither is there nor is predicted does not count
            f1.append(2 * both / either)
    bins = reliability(p, wanted)
    return {
        "accuracy": float((chosen == wanted).mean()),
        "macro_f1": float(np.mean(f1)),
        "log_loss": float(-np.log(np.maximum(p[every, wanted], 1e-300)).mean()),
        "calibration_error": float(sum(b["n"] * abs(b["accuracy"] - b["confidence"]) for b in bins) / len(p)),
    }


def reliability(p: NDArray[np.float64], wanted: NDArray[np.int64]) -> list[dict[str, float]]:
    """Confidence against accuracy in ten bins of the probability of the predicted label.

    Example:
        >>> reliability(np.array([[0.95, 0.05]]), np.array([0]))
        [{'low': 0.9, 'high': 1.0, 'n': 1, 'confidence': 0.95, 'accuracy': 1.0}]
    """
    sure, right = p.max(axis=1), p.argmax(axis=1) == wanted
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    return [
        {"low": k / BINS, "high": (k + 1) / BINS, "n": int(mine.sum()), "confidence": float(sure[mine].mean()),
         "accuracy": float(right[mine].mean())}
        for k in range(BINS) if (mine := place == k).any()
    ]  # fmt: skip


def wilson(right: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a part `right` of n (Wilson 1927), which stays within 0 and 1.

    Example:
        >>> [round(x, 3) for x in wilson(9, 10)]
        [0.596, 0.982]
    """
    from scipy.stats import binomtest

    found = binomtest(right, n).proportion_ci(method="wilson")
    return float(found.low), float(found.high)
