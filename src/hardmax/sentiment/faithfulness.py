"""How far explanations can be trusted, measured: what happens to a prediction without the words they name.

Comprehensiveness: the probability of the predicted class falls by so much when the k named terms are left out (more is
better). Sufficiency: it falls by so much when only they are kept (less is better). [DeYoung et al., ERASER, 2020.]
The leaders are compared with other ways to name k terms of the same text:

- `score`: terms ranked by <v, E_w>, which needs no attention;
- `leave-one-out`: terms ranked by how much the logit falls without each of them, the strongest rival;
- `random`: terms drawn by chance.

Every ranking is in favour of the predicted class: the best argument first. Terms are taken out of the bag; the layers
then run anew on what is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.sentiment.model import probabilities, winners
from hardmax.sentiment.tracing import Traces, trace
from hardmax.text.vocabulary import Bags

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

Floats = NDArray[np.float64]
TOP = 5
MOST_TEXTS = 1000
_TERMS = 400_000  # terms whose leave-one-out bags are held at once


@dataclass(frozen=True)
class Faithfulness:
    """What was measured.

    Attributes:
        texts: how many texts.   top: k for the rows named "top".
        rows: {ranking, terms, comprehensiveness, sufficiency, flips} each; `terms` is the mean number of terms named,
            `flips` the part of texts whose label changes when they are left out.
    """

    texts: int
    top: int
    rows: tuple[dict[str, Any], ...]

    def row(self, ranking: str) -> dict[str, Any]:
        """The row of a ranking."""
        return next(row for row in self.rows if row["ranking"] == ranking)


def faithfulness(
    model: "SentimentModel",
    texts: Sequence[str],
    *,
    top: int = TOP,
    seed: int = 0,
    progress: Callable[[int, int, str], object] | None = None,
) -> Faithfulness:
    """Measure comprehensiveness and sufficiency of the leaders, and of the other rankings, on the same texts.

    Rows: the `top` leaders against `top` terms of each other ranking; and all leaders that speak for the label against
    as many terms of each other ranking.
    """
    traced = trace(model, texts)
    tell = progress or (lambda done, total, what: None)
    tell(0, 3, "leave one out")
    goodness = {
        "leaders": _leader_goodness(traced),
        "score": _toward(traced, (np.asarray(model.embedding, np.float64) @ model.scores.T)[traced.bags.ids]),
        "leave-one-out": _leave_one_out(model, traced),
        "random": np.random.default_rng(seed).random(traced.bags.ids.size),
    }
    supporting = _count(traced, goodness["leaders"] > 0)
    named = _count(traced, np.isfinite(goodness["leaders"]))
    rows = []
    for step, (kind, wanted) in enumerate((("top", np.minimum(top, named)), ("supporting", supporting)), 1):
        tell(step, 3, f"{kind} terms")
        for ranking, value in goodness.items():
            chosen = _choose(traced.bags, value, wanted)
            name = f"{kind} {top} {ranking}" if kind == "top" else f"supporting {ranking}"
            rows.append({"ranking": name, **_measure(model, traced, chosen)})
    tell(3, 3, "done")
    return Faithfulness(len(texts), top, tuple(rows))


def _toward(traced: Traces, values: Floats) -> Floats:
    """(T,) of values (T, C'): their part in favour of each text's predicted class against the mean of the others."""
    text_of = np.repeat(np.arange(len(traced)), np.diff(traced.bags.offsets))
    chosen = winners(traced.logits)[text_of]
    if values.shape[1] == 1:
        return np.where(chosen == 1, values[:, 0], -values[:, 0])
    own = values[np.arange(len(values)), chosen]
    return np.asarray(own - (values.sum(axis=1) - own) / (values.shape[1] - 1))


def _leader_goodness(traced: Traces) -> Floats:
    """Contribution of the cluster in favour of the label; -inf for terms that lead nobody."""
    owner = traced.leader + np.repeat(traced.bags.offsets[:-1], np.diff(traced.bags.offsets))
    leads = np.zeros(owner.size, bool)
    leads[owner] = True
    return np.where(leads, _toward(traced, traced.clusters()), -np.inf)


def _count(traced: Traces, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(B,) how many terms of each text are in `which`."""
    text_of = np.repeat(np.arange(len(traced)), np.diff(traced.bags.offsets))
    return np.bincount(text_of[which], minlength=len(traced)).astype(np.int64)


def _leave_one_out(model: "SentimentModel", traced: Traces) -> Floats:
    """(T,) by how much the score of the label falls when a term is left out."""
    bags = traced.bags
    sizes = np.diff(bags.offsets)
    fall = np.empty(bags.ids.size)
    full = traced.logits
    for t in range(len(bags)):
        place = traced.place(t)
        ids, n = bags.ids[place], int(sizes[t])
        if n == 0:
            continue
        without = np.empty((n, len(model.bias)))
        step = max(1, _TERMS // n)
        for a in range(0, n, step):
            some = np.arange(a, min(a + step, n))
            kept = np.arange(n)[None, :] != some[:, None]
            left = np.broadcast_to(ids, kept.shape)[kept]
            offsets = np.arange(len(some) + 1, dtype=np.int64) * (n - 1)
            without[some] = model.run(Bags(np.ascontiguousarray(left), offsets))[0]
        change = full[t] - without
        if change.shape[1] == 1:
            fall[place] = change[:, 0] if full[t, 0] > 0 else -change[:, 0]
        else:
            k = int(full[t].argmax())
            fall[place] = change[:, k] - (change.sum(axis=1) - change[:, k]) / (change.shape[1] - 1)
    return fall


def _choose(bags: Bags, value: Floats, wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(T,) the `wanted[t]` terms of largest value of every text; the earlier term at equal values."""
    chosen = np.zeros(bags.ids.size, bool)
    for t in range(len(bags)):
        a, b = int(bags.offsets[t]), int(bags.offsets[t + 1])
        chosen[a + np.argsort(-value[a:b], kind="stable")[: wanted[t]]] = True
    return chosen


def _measure(model: "SentimentModel", traced: Traces, chosen: NDArray[np.bool_]) -> dict[str, float]:
    labels = winners(traced.logits)
    every = np.arange(len(traced))
    before = probabilities(traced.logits)[every, labels]
    without = model.run(_keep(traced, ~chosen))[0]
    only = model.run(_keep(traced, chosen))[0]
    return {
        "terms": float(chosen.sum() / max(len(traced), 1)),
        "comprehensiveness": float((before - probabilities(without)[every, labels]).mean()),
        "sufficiency": float((before - probabilities(only)[every, labels]).mean()),
        "flips": float((winners(without) != labels).mean()),
    }


def _keep(traced: Traces, which: NDArray[np.bool_]) -> Bags:
    offsets = np.concatenate([[0], np.cumsum(_count(traced, which))]).astype(np.int64)
    return Bags(np.ascontiguousarray(traced.bags.ids[which]), offsets)
