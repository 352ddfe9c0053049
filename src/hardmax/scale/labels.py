"""Label many texts: batches in the order of their rows, on this machine or on a Ray cluster.

The rows are read in one place, so that order, ids and bad rows are the same for every engine; what is sent to a worker
is a batch of texts, what comes back is a batch of records.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.errors import BadInput
from hardmax.scale.cluster import on_cluster

if TYPE_CHECKING:
    from hardmax.text.tables import Row

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


def label(rows: list["Row"], wanted: Wanted) -> list[Record]:
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


def batches(rows: Iterable["Row"], size: int) -> Iterator[list["Row"]]:
    """The rows in lists of at most `size`.

    Example:
        >>> list(batches("abcde", 2))
        [['a', 'b'], ['c', 'd'], ['e']]
    """
    source = iter(rows)
    while batch := list(islice(source, size)):
        yield batch


def labeled(
    work: Iterable[list["Row"] | None], wanted: Wanted, engine: str = "local", address: str | None = None
) -> Iterator[list[Record] | None]:
    """The records of every batch, in order; None for a batch that is None (it is done already).

    Args:
        engine: "local" (compiled code with the threads of this machine), or "ray".
        address: of a running cluster ("auto", "ray://host:10001"); None starts one on this machine.
    """
    if engine == "local":
        return (None if batch is None else label(batch, wanted) for batch in work)
    if engine != "ray":
        raise BadInput(f"there is no engine {engine!r}", fix="use " + " or ".join(ENGINES))
    return _on_ray(work, wanted, address)


def _on_ray(work: Iterable[list["Row"] | None], wanted: Wanted, address: str | None) -> Iterator[list[Record] | None]:
    """A window of batches on the cluster; Ray runs a batch again if its worker dies."""
    if Path(wanted.model).exists():  # workers have another working folder
        wanted = replace(wanted, model=str(Path(wanted.model).resolve()))
    with on_cluster(label, address) as (ray, remote, room):
        asked: deque[Any] = deque()
        for batch in work:
            asked.append(None if batch is None else remote.remote(batch, wanted))
            if len(asked) >= room:
                yield _got(ray, asked.popleft())
        while asked:
            yield _got(ray, asked.popleft())


def _got(ray: Any, reference: Any) -> Any:
    return None if reference is None else ray.get(reference)
