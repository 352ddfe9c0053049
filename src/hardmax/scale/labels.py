"""Label many texts in the order of their rows: on this machine, or by a Ray Data pipeline on a cluster.

Each element of the pipeline is a batch of rows, so that one task labels many texts at once. Files are read by one task
for each unit of `Source.units`, batches are labeled wherever there is a free processor.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.errors import BadInput, HardmaxError
from hardmax.scale.cluster import cluster_at
from hardmax.scale.sources import START, BadRow, Place, Placed, Row, Source, batches

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

ENGINES = ("local", "ray")
READING, LABELING = 0.1, 0.9  # processors of a task; while they differ, Ray does not make one task of both
BLOCK = 1  # bytes: every batch is sent on at once, and not kept until there are many
Element = dict[str, Any]
Record = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What is written about each text."""

    model: str  # a model folder, or a shipped model; workers of a cluster must reach it under this name
    probabilities: bool = False  # that of every class
    text: bool = False  # the text itself
    explain: bool = False  # the leaders and what each contributes or, without attention, the words that matter
    abstain_below: float | None = None  # the label is None where its probability is lower, and where no word is known


@dataclass(frozen=True)
class Labels:
    """The result for some rows: the records of the good ones with their places, and the bad ones."""

    records: list[Record]
    places: list[Place]
    bad: list[BadRow]


def label(rows: list[Row], wanted: Wanted) -> list[Record]:
    """The records of some rows: id, label, probability, and what else is wanted; see `_several` for several labels."""
    import numpy as np

    from hardmax.sentiment.explain_many import reasons
    from hardmax.sentiment.files import load_model
    from hardmax.sentiment.model import winners
    from hardmax.sentiment.vocabulary_view import abstaining

    model = load_model(wanted.model)
    texts = [row.text for row in rows]
    if model.multi_label:
        return _several(model, rows, texts, wanted)
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


def _several(model: "SentimentModel", rows: list[Row], texts: list[str], wanted: Wanted) -> list[Record]:
    """The records of texts that may have any number of labels: those with p > 1/2, and the probability of each."""
    logits = model.logits(texts)
    names, every = [str(c) for c in model.classes], model.from_logits(logits).tolist()
    return [
        {"id": row.key, "labels": [name for name, z in zip(names, zs, strict=True) if z > 0],
         "probabilities": dict(zip(names, p, strict=True))} | ({"text": row.text} if wanted.text else {})
        for row, zs, p in zip(rows, logits.tolist(), every, strict=True)
    ]  # fmt: skip


def label_batch(batch: list[Placed], wanted: Wanted) -> Labels:
    """The labels of the good rows of a batch, and its bad rows."""
    good = [(place, row) for place, row in batch if isinstance(row, Row)]
    records = label([row for _, row in good], wanted) if good else []
    return Labels(records, [place for place, _ in good], [row for _, row in batch if isinstance(row, BadRow)])


def labeled(
    source: Source, wanted: Wanted, engine: str = "local", address: str | None = None, after: Place = START
) -> Iterator[Labels]:
    """The labels of every batch of rows, in order; of rows up to the place `after`, only the bad ones.

    The engine "local" is compiled code with the threads of this machine, "ray" a cluster; see `cluster_at`.
    """
    if engine == "local":
        return (label_batch(batch, wanted) for batch in batches(source.rows(), after))
    if engine != "ray":
        raise BadInput(f"there is no engine {engine!r}", fix="use " + " or ".join(ENGINES))
    return _on_ray(source, wanted, address, after)


def _on_ray(source: Source, wanted: Wanted, address: str | None, after: Place) -> Iterator[Labels]:
    if "-" in source.files:
        raise BadInput("a cluster cannot read standard input", fix="write the texts to a file, or use --engine local")
    source = replace(source, folder=str(Path.cwd()))  # workers have another working folder
    if Path(wanted.model).exists():
        wanted = replace(wanted, model=str(Path(wanted.model).resolve()))
    with cluster_at(address) as ray:
        from ray.util.client import ray as client

        away = client.is_connected()
        for packed in _remote(ray, source, wanted, after) if away else stream(source, wanted, after):
            found = pickle.loads(packed)
            if isinstance(found, HardmaxError):
                raise found
            yield found


def stream(source: Source, wanted: Wanted, after: Place) -> Iterator[bytes]:
    """The pipeline itself, run by a process of the cluster: packed labels, or a packed error."""
    import logging

    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.target_max_block_size = BLOCK
    units = [{"first": unit.start, "stop": unit.stop} for unit in source.units()]
    data: Any = ray.data.from_items(units, override_num_blocks=len(units))
    data = data.flat_map(_read, fn_args=(source, after), num_cpus=READING)
    data = data.map(_label, fn_args=(wanted,), num_cpus=LABELING)
    for element in data.iter_rows():
        yield element["batch"]


def _read(unit: Element, source: Source, after: Place) -> Iterator[Element]:
    """The batches of some files; an error takes the place of what cannot be read."""
    try:
        for batch in batches(source.rows(range(unit["first"], unit["stop"])), after):
            yield {"batch": pickle.dumps(batch)}
    except HardmaxError as error:
        yield {"batch": pickle.dumps(error)}


def _label(element: Element, wanted: Wanted) -> Element:
    """The labels of a batch, computed with one thread."""
    from hardmax.jit.threads import at_most

    batch = pickle.loads(element["batch"])
    if isinstance(batch, HardmaxError):
        return element
    try:
        with at_most(1):
            return {"batch": pickle.dumps(label_batch(batch, wanted))}
    except HardmaxError as error:
        return {"batch": pickle.dumps(error)}


class _Remote:
    """The pipeline in a process of the cluster, for a program that is not part of it."""

    def __init__(self, source: Source, wanted: Wanted, after: Place) -> None:
        self.found = stream(source, wanted, after)

    def following(self) -> bytes | None:
        """The next labels, or None at the end."""
        return next(self.found, None)


def _remote(ray: Any, source: Source, wanted: Wanted, after: Place) -> Iterator[bytes]:
    """What `stream` yields, when the cluster was reached through ray://, where Ray Data cannot run."""
    pipeline = ray.remote(num_cpus=0)(_Remote).remote(source, wanted, after)
    ahead = pipeline.following.remote()
    while (packed := ray.get(ahead)) is not None:
        ahead = pipeline.following.remote()
        yield packed
