"""The corpus in a worker: a fixed sample of labeled texts, predicted, with the leaders of each."""

from pathlib import Path
from typing import Any

from hardmax.errors import HardmaxError
from hardmax.web import limits
from hardmax.web.model_jobs import data_file, model

MOST_LEADERS = 40  # of a class, in the histogram


def corpus(body: dict[str, Any]) -> dict[str, Any]:
    """The whole sample, which the server keeps and answers with parts of; or {"available": False, "reason": ...}."""
    given = data_file()
    data = "imdb" if given is None else Path(given).name
    if body.get("model") is not None:
        model(body["model"])  # a name that does not exist is the caller's error; that there is no model at all is not
    try:
        name, one = model(body.get("model"))
        texts, labels, ids, note = _sample(one.classes, given)
    except HardmaxError as error:
        return {"available": False, "reason": str(error), "data": data}
    return {"available": True, "reason": None, "data": data, "note": note, "model": name} | _predicted(
        one, texts, labels, ids
    )


def _sample(classes: tuple[Any, ...], given: str | None) -> tuple[list[str], list[Any], list[int], str]:
    import numpy as np

    from hardmax.text.datasets import match_labels, read

    found = read(given or "imdb")
    note = "Reviews of the training part: the models that come with hardmax have seen them." if given is None else ""
    labels = match_labels(found.labels, classes).tolist()
    rows = np.arange(len(found))
    if len(found) > limits.SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(len(found), limits.SAMPLE, replace=False))
    chosen = rows.tolist()
    return [found.texts[i] for i in chosen], [labels[i] for i in chosen], chosen, note


def _predicted(one: Any, texts: list[str], labels: list[Any], ids: list[int]) -> dict[str, Any]:
    import numpy as np

    from hardmax.sentiment.batches import trace
    from hardmax.sentiment.model import probabilities, winners
    from hardmax.sentiment.vocabulary_view import leaders

    traced = trace(one, texts)
    chosen = winners(traced.logits)
    sure = probabilities(traced.logits)[np.arange(len(texts)), chosen].tolist()
    strength = np.abs(traced.clusters()).max(axis=1, initial=0.0)
    reviews = []
    for t, (text, label, number) in enumerate(zip(texts, labels, ids, strict=True)):
        place = traced.place(t)
        leading = np.flatnonzero(traced.since[place] >= 0)
        leading = leading[np.argsort(-strength[place][leading], kind="stable")]
        reviews.append(
            {
                "id": number,
                "text": text,
                "label": label,
                "predicted": one.classes[int(chosen[t])],
                "probability": sure[t],
                "leaders": [one.vocabulary.terms[i] for i in traced.bags.ids[place][leading].tolist()],
            }
        )
    right = [r["label"] == r["predicted"] for r in reviews]
    by_class = leaders(one, texts, most=MOST_LEADERS)
    counts = {c: [0] * (1 + max(len(r["leaders"]) for r in reviews)) for c in one.classes}
    for r in reviews:
        counts[r["predicted"]][len(r["leaders"])] += 1
    return {
        "n": len(reviews),
        "accuracy": sum(right) / len(right),
        "classes": list(one.classes),
        "labels": {str(k): str(v) for k, v in dict(one.card.get("labels", {})).items()},
        "histogram": [{"class": c, "leaders": rows} for c, rows in by_class.items()],
        "leader_counts": [{"class": c, "counts": found} for c, found in counts.items()],
        "reviews": reviews,
    }
