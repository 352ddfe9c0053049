"""Label many texts in batches, in the order of their rows, on this machine or on a Ray cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hardmax.errors import BadInput
from hardmax.scale.sources import START, BadRow, Place, Placed, Row, Source, batches

ENGINES = ("local", "ray")
Record = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What is written about each text.

    Attributes:
        model: a model folder, or the name of a shipped model; workers of a cluster must reach it under this name.
        probabilities: that of every class.   text: the text itself.
        explain: the leaders and what each of them contributes.
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
    """The records of some rows: line or id, label, probability, and what else is wanted."""
    import numpy as np

    from hardmax.sentiment.explain_many import leaders
    from hardmax.sentiment.files import load_classifier
    from hardmax.sentiment.model import probabilities, winners
    from hardmax.sentiment.vocabulary_view import abstaining

    model = load_classifier(wanted.model)
    texts = [row.text for row in rows]
    logits = model.logits(texts)
    chosen, p = winners(logits), probabilities(logits)
    labels = [model.classes[k] for k in chosen]
    if wanted.abstain_below is not None:
        labels = list(abstaining(model, texts, wanted.abstain_below))
    names = [str(c) for c in model.classes]
    sure = p[np.arange(len(rows)), chosen].tolist()
    why = leaders(model, texts) if wanted.explain else None
    records = []
    for i, row in enumerate(rows):
        record: Record = {"line": row.line} if row.id is None else {"id": row.id}
        record |= {"label": labels[i], "probability": sure[i]}
        if wanted.probabilities:
            record["probabilities"] = dict(zip(names, p[i].tolist(), strict=True))
        if why is not None:
            record |= dict(zip(("logit", "bias", "leaders"), next(why), strict=True))
        if wanted.text:
            record["text"] = row.text
        records.append(record)
    return records


def label_batch(batch: list[Placed], wanted: Wanted) -> Labels:
    """The labels of the good rows of a batch, and its bad rows."""
    good = [(place, row) for place, row in batch if isinstance(row, Row)]
    records = label([row for _, row in good], wanted) if good else []
    return Labels(records, [place for place, _ in good], [row for _, row in batch if isinstance(row, BadRow)])


def labeled(
    source: Source, wanted: Wanted, engine: str = "local", address: str | None = None, after: Place = START
) -> Iterator[Labels]:
    """The labels of every batch of rows, in order; of rows up to the place `after`, only the bad ones.

    Args:
        engine: "local" (compiled code with the threads of this machine), or "ray".
        address: of a running cluster ("auto", "ray://host:10001"); None starts one on this machine.
    """
    if engine == "local":
        return (label_batch(batch, wanted) for batch in batches(source.rows(), after))
    if engine != "ray":
        raise BadInput(f"there is no engine {engine!r}", fix="use " + " or ".join(ENGINES))
    from hardmax.scale.pipeline import on_ray

    return on_ray(source, wanted, address, after)
