"""The labels of a batch of texts, and what is written about each of them."""

from dataclasses import dataclass
from typing import Any

from hardmax.scale.sources import BadRow, Place, Placed, Row

Record = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What is written about each text.

    Attributes:
        model: a model folder, or the name of a shipped model; workers of a cluster must reach it under this name.
        probabilities: that of every class.   text: the text itself.
        explain: the leaders and what each of them contributes or, without attention, the words that matter.
        abstain_below: the label is None where its probability is lower, and where no word is known.
    """

    model: str
    probabilities: bool = False
    text: bool = False
    explain: bool = False
    abstain_below: float | None = None


@dataclass(frozen=True)
class Labels:
    """What became of some rows: the records of the good ones with their places, and the bad ones."""

    records: list[Record]
    places: list[Place]
    bad: list[BadRow]


def label(rows: list[Row], wanted: Wanted) -> list[Record]:
    """The records of some rows: id, label, probability, and what else is wanted."""
    import numpy as np

    from hardmax.sentiment.explain_many import reasons
    from hardmax.sentiment.files import load_classifier
    from hardmax.sentiment.model import winners
    from hardmax.sentiment.vocabulary_view import abstaining

    model = load_classifier(wanted.model)
    texts = [row.text for row in rows]
    logits = model.logits(texts)
    chosen, p = winners(logits), model.from_logits(logits)
    labels = [model.classes[k] for k in chosen]
    if wanted.abstain_below is not None:
        labels = list(abstaining(model, texts, wanted.abstain_below))
    names = [str(c) for c in model.classes]
    sure = p[np.arange(len(rows)), chosen].tolist()
    why = reasons(model, texts) if wanted.explain else iter(())
    records = []
    for i, row in enumerate(rows):
        record: Record = {"id": row.key, "label": labels[i], "probability": sure[i]}
        if wanted.probabilities:
            record["probabilities"] = dict(zip(names, p[i].tolist(), strict=True))
        record |= next(why, {})
        if wanted.text:
            record["text"] = row.text
        records.append(record)
    return records


def label_batch(batch: list[Placed], wanted: Wanted) -> Labels:
    """The labels of the good rows of a batch, and its bad rows."""
    good = [(place, row) for place, row in batch if isinstance(row, Row)]
    records = label([row for _, row in good], wanted) if good else []
    return Labels(records, [place for place, _ in good], [row for _, row in batch if isinstance(row, BadRow)])
