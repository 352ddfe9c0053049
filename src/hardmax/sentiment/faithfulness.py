"""How far explanations can be trusted, measured: what happens to a prediction without the words they name.

Comprehensiveness: how much the probability of the predicted class falls when the k named terms are left out (more is
better). Sufficiency: how much it falls when only they are kept (less is better). [DeYoung et al., ERASER, 2020.]
The leaders are ranked as in an explanation: by their effect, the exact decrease of the log-odds of the label when a
leader is left out (`leave_one_out`). Leaders that speak against the label are not reasons for it and are not named.
They are compared with other ways to name terms of the same text:

- `score`: terms ranked by <v, E_w>, which needs no attention;
- `leave-one-out`: all terms ranked by their effect, the strongest rival;
- `random`: terms chosen at random.

Every ranking is in favor of the predicted class, with the best argument first. Terms are taken out of the bag, and the
layers run again on what is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.batches import Traces, trace
from hardmax.sentiment.leave_one_out import effects, measured_leaders
from hardmax.sentiment.model import probabilities, winners
from hardmax.text.vocabulary import Bags

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

Floats = NDArray[np.float64]
TOP = 5


@dataclass(frozen=True)
class Faithfulness:
    """What was measured.

    Attributes:
        texts: number of texts.   top: k for the rows named "top".
        rows: {ranking, terms, comprehensiveness, sufficiency, flips} for each; `terms` is the mean number of terms
            named, `flips` the part of the texts whose label changes when they are left out.
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

    Rows: the `top` leaders that speak for the label (fewer where a text has fewer) against `top` terms of each other
    ranking; and all leaders that speak for the label against as many terms of each other ranking.

    Raises:
        BadInput: there is no text.
    """
    if not len(texts):
        raise BadInput("faithfulness needs at least one text")
    traced = trace(model, texts)
    tell = progress or (lambda done, total, what: None)
    tell(0, 3, "leave one out")
    leading, every_effect = _effects(model, traced)
    goodness = {
        "leaders": leading,
        "score": _toward(traced, (np.asarray(model.embedding, np.float64) @ model.scores.T)[traced.bags.ids]),
        "leave-one-out": every_effect,
        "random": np.random.default_rng(seed).random(traced.bags.ids.size),
    }
    supporting = _count(traced, goodness["leaders"] > 0)
    every = np.full(len(traced), top)
    rows = []
    for step, kind in enumerate(("top", "supporting"), 1):
        tell(step, 3, f"{kind} terms")
        for ranking, value in goodness.items():
            wanted = supporting if kind == "supporting" else np.minimum(every, supporting)
            chosen = _choose(traced.bags, value, every if kind == "top" and ranking != "leaders" else wanted)
            name = f"{kind} {top} {ranking}" if kind == "top" else f"supporting {ranking}"
            rows.append({"ranking": name, **_measure(model, traced, chosen)})
    tell(3, 3, "done")
    return Faithfulness(len(texts), top, tuple(rows))


def _toward(traced: Traces, values: Floats) -> Floats:
    """(T,) of values (T, C'): their part in favor of each text's predicted class against the mean of the others."""
    chosen = winners(traced.logits)[traced.bags.owners]
    if values.shape[1] == 1:
        return np.where(chosen == 1, values[:, 0], -values[:, 0])
    own = values[np.arange(len(values)), chosen]
    return np.asarray(own - (values.sum(axis=1) - own) / (values.shape[1] - 1))


def _effects(model: "SentimentModel", traced: Traces) -> tuple[Floats, Floats]:
    """(T,) the effects of the leaders, -inf for terms that do not lead; and (T,) the effects of all terms."""
    leading, every = np.full(traced.bags.ids.size, -np.inf), np.empty(traced.bags.ids.size)
    for t in range(len(traced)):
        place = traced.place(t)
        ids = traced.bags.ids[place]
        every[place] = effects(model, ids, range(len(ids)), traced.logits[t])
        which = place.start + measured_leaders(traced.leader[place], traced.contributions[place])
        leading[which] = every[which]
    return leading, every


def _count(traced: Traces, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(B,) how many terms of each text are in `which`."""
    return np.bincount(traced.bags.owners[which], minlength=len(traced)).astype(np.int64)


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
        "terms": float(chosen.sum() / len(traced)),
        "comprehensiveness": float((before - probabilities(without)[every, labels]).mean()),
        "sufficiency": float((before - probabilities(only)[every, labels]).mean()),
        "flips": float((winners(without) != labels).mean()),
    }


def _keep(traced: Traces, which: NDArray[np.bool_]) -> Bags:
    return Bags.of(traced.bags.ids[which], _count(traced, which))
