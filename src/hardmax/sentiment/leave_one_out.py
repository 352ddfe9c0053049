"""What a prediction loses without a term: the layers run again on what is left, nothing is estimated.

The effect of a term is the decrease of the log-odds of the predicted label when the term is left out of the bag,

    effect_i = odds(text) - odds(text without term i),   odds = log p / (1 - p), p the probability of the label,

positive if the term speaks for the label. With two classes the log-odds are the logit or its negative. Leaders are
ranked by it, in explanations and when their faithfulness is measured: the contribution of a leader's cluster is an
exact part of the logit too, but without their leader the followers go to another one, so it is not what is lost.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.text.vocabulary import Bags

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

Floats = NDArray[np.float64]
MOST_LEADERS, LEAST_LEADERS = 64, 8  # of one text whose effect is computed: those with the largest parts
MOST_TERMS = 2_000_000  # in all bags of one text, beyond LEAST_LEADERS of them
_TERMS = 400_000  # terms that are held at once
_FEW = 100_000  # in all bags of one text: up to here plain NumPy takes a few seconds at most, compiling takes fifty


def effects(model: "SentimentModel", ids: NDArray[np.integer], which: Sequence[int], logits: Floats) -> Floats:
    """(len(which),) the effect of terms number `which` of a bag `ids` whose scores are `logits`."""
    label = int(logits[0] > 0) if len(logits) == 1 else int(logits.argmax())
    return log_odds(logits[None], label)[0] - log_odds(without_each(model, ids, which), label)


def leader_effects(
    model: "SentimentModel", ids: NDArray[np.integer], leader: NDArray[np.integer], parts: Floats, logits: Floats
) -> dict[int, float]:
    """The effect of every leader of a bag, as far as `measured_leaders` names it."""
    which = measured_leaders(leader, parts).tolist()
    return dict(zip(which, effects(model, ids, which, logits).tolist(), strict=True))


def measured_leaders(leader: NDArray[np.integer], parts: Floats) -> NDArray[np.integer]:
    """All leaders of a bag; of the many leaders of a very long text only those with the largest parts.

    Args:
        leader: (n,) the leader of every term.   parts: (n, C') the contribution of every term.
    """
    leaders, n = np.unique(leader), len(leader)
    most = min(MOST_LEADERS, max(LEAST_LEADERS, MOST_TERMS // max(n, 1)))
    if len(leaders) > most:
        sums = np.stack([np.bincount(leader, weights=column, minlength=n) for column in parts.T], axis=1)
        leaders = np.sort(leaders[np.argsort(-np.abs(sums[leaders]).max(axis=1), kind="stable")[:most]])
    return leaders


def without_each(model: "SentimentModel", ids: NDArray[np.integer], which: Sequence[int]) -> Floats:
    """(len(which), C') scores of a bag without its term number `which[k]`."""
    n = len(ids)
    found = np.empty((len(which), len(model.bias)))
    step = max(1, _TERMS // max(n, 1))
    for a in range(0, len(which), step):
        some = np.asarray(which[a : a + step], np.int64)
        kept = np.arange(n)[None, :] != some[:, None]
        left = np.broadcast_to(ids, kept.shape)[kept]
        found[a : a + step] = model.run(Bags.of(left, [n - 1] * len(some)), _FEW)[0]
    return found


def log_odds(logits: Floats, label: int) -> Floats:
    """(B,) log p / (1 - p) of a class from scores (B, C').

    Example:
        >>> log_odds(np.array([[2.0], [-1.0]]), 0).tolist(), log_odds(np.array([[1.0, 1.0, 1.0]]), 2).round(4).tolist()
        ([-2.0, 1.0], [-0.6931])
    """
    if logits.shape[1] == 1:
        return logits[:, 0].copy() if label == 1 else -logits[:, 0]
    others = np.delete(logits, label, axis=1)
    top = others.max(axis=1)
    return np.asarray(logits[:, label] - top - np.log(np.exp(others - top[:, None]).sum(axis=1)))
