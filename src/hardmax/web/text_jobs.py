"""What workers compute with models: which models there are, why a text gets its label, a sample of labeled texts.

Requests name models, never paths.
"""

import re
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.errors import BadInput, HardmaxError
from hardmax.web import limits

if TYPE_CHECKING:
    from hardmax.sentiment.model import Label, SentimentModel
    from hardmax.sentiment.vocabulary_view import LeaderCount

    ByClass = dict[Label, list[LeaderCount]]

MOST_LEADERS = 40  # of a class, in the histogram
TRAINED_ON = "These reviews are from the training set, so the share of correct predictions would say nothing."
LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SETUP: dict[str, Any] = {"model": "imdb", "data": None}


def setup(body: dict[str, Any]) -> dict[str, Any]:
    """Remember the model and the data that the server was started with."""
    _SETUP.update(body)
    return dict(_SETUP)


def places() -> dict[str, str]:
    """Where each model is, by name: first the one that the server was started with, then the shipped ones."""
    from hardmax.sentiment.files import shipped

    given = _SETUP["model"]
    own = {} if given is None else {Path(given).name: str(given)}
    return own | {name: name for name in shipped() if name not in own}


def model(name: str | None) -> tuple[str, "SentimentModel"]:
    """A model by its name; None means the first."""
    from hardmax.sentiment.files import load_classifier

    known = places()
    if not known:
        fix = "train one with hardmax train DATA -o DIR, then run hardmax playground DIR"
        raise BadInput("there is no model", fix=fix)
    chosen = next(iter(known)) if name is None else name
    if chosen not in known:
        raise BadInput(f"there is no model {chosen!r}", found=", ".join(known), fix="use one of these names")
    return chosen, load_classifier(known[chosen])


def models(body: dict[str, Any]) -> dict[str, Any]:
    """All models; `reason` says why there is none."""
    found, wrong = [], []
    for name in places():
        try:
            _, one = model(name)
        except BadInput as error:
            wrong.append(str(error))
            continue
        sizes = {"dim": one.dim, "ngrams": one.vocabulary.ngrams, "terms": len(one.vocabulary)}
        about = {"description": one.description, "calibration": one.calibration}
        found.append({"name": name, **_card(one), **sizes, **about})
    reason = None if found else "; ".join(wrong) or "no model is installed"
    return {"schema": "hardmax.models/1", "models": found, "reason": reason}


def _card(one: "SentimentModel") -> dict[str, Any]:
    """What every answer says about its model; `labels` are the names of the classes."""
    return {"classes": list(one.classes), "labels": one.label_names, "alpha": one.alpha, "layers": one.layers}


def explain(body: dict[str, Any]) -> dict[str, Any]:
    """Why a text gets its label, and the path of its terms through the layers."""
    from hardmax.sentiment.explain import explain as run
    from hardmax.sentiment.highlight import marks
    from hardmax.sentiment.plane import flat_states

    name, one = model(body.get("model"))
    ex = run(one, body["text"])
    v, positions = one.scores[ex.row].tolist(), ex.flow.states
    shadow = positions.size > limits.TRACE
    if shadow:  # a long text in many dimensions: only the two that matter
        positions, v = flat_states(ex), [float((one.scores[ex.row] ** 2).sum() ** 0.5), 0.0]
    return ex.as_dict() | {
        "model": name,
        "decoder": {"v": v, "b": ex.bias, "neutral_words": float(one.neutral_words)},
        **_card(one),
        "split": [(mark.word, mark.start, mark.end) for mark in marks(ex)],
        "trace": {
            "terms": list(ex.term_names),
            "positions": positions,
            **{name: getattr(ex.flow, name) for name in ("leader", "since", "settled")},
            "contributions": ex.contributions,
            "shadow": shadow,
        },
    }


def corpus(body: dict[str, Any]) -> dict[str, Any]:
    """The whole sample, of which the server keeps and serves parts; or {"available": False, "reason": ...}."""
    given = _SETUP["data"]
    data = "imdb" if given is None else Path(given).name
    if body.get("model") is not None:
        model(body["model"])  # a wrong name is the caller's error; having no model at all is not
    try:
        name, one = model(body.get("model"))
        texts, labels, ids = body.get("sample") or _sample(one.classes, given)
    except HardmaxError as error:
        return {"available": False, "reason": str(error), "data": data}
    note = "" if given else TRAINED_ON
    found = {"available": True, "reason": None, "data": data, "note": note, "model": name}
    found |= _predicted(one, texts, labels, ids)
    return found if given else found | {"accuracy": None}  # on its own training texts it would say nothing


def _sample(classes: tuple[Any, ...], given: str | None) -> tuple[list[str], list[Any], list[int]]:
    import numpy as np

    from hardmax.text.datasets import match_labels, read

    found = read(given or "imdb")
    labels = match_labels(found.labels, classes).tolist()
    rows = np.arange(len(found))
    if len(found) > limits.SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(len(found), limits.SAMPLE, replace=False))
    chosen = rows.tolist()
    return [found.texts[i] for i in chosen], [labels[i] for i in chosen], chosen


def _predicted(one: Any, texts: list[str], labels: list[Any], ids: list[int]) -> dict[str, Any]:
    import numpy as np

    from hardmax.sentiment.model import winners

    logits = one.logits(texts)
    chosen = winners(logits)
    sure = one.from_logits(logits)[np.arange(len(texts)), chosen].tolist()
    named, by_class = (_leading if one.layers else _deciding)(one, texts)
    reviews = [
        {
            "id": number,
            "text": LINE_BREAK.sub("\n", text),  # the same words in the same sentences
            "label": label,
            "predicted": one.classes[int(k)],
            "probability": p,
            "leaders": words,
        }
        for number, text, label, k, p, words in zip(ids, texts, labels, chosen, sure, named, strict=True)
    ]
    right = [r["label"] == r["predicted"] for r in reviews]
    counts = {c: [0] * (1 + max(len(r["leaders"]) for r in reviews)) for c in one.classes}
    for r in reviews:
        counts[r["predicted"]][len(r["leaders"])] += 1
    return {
        "n": len(reviews),
        "accuracy": sum(right) / len(right),
        **{name: _card(one)[name] for name in ("classes", "labels")},
        "histogram": [{"class": c, "leaders": rows} for c, rows in by_class.items()],
        "leader_counts": [{"class": c, "counts": found} for c, found in counts.items()],
        "reviews": reviews,
    }


def _leading(one: "SentimentModel", texts: list[str]) -> tuple[list[list[str]], "ByClass"]:
    """The leaders of each text, the strongest first, and the most frequent ones of each class."""
    import numpy as np

    from hardmax.sentiment.batches import trace
    from hardmax.sentiment.vocabulary_view import leaders

    traced = trace(one, texts)
    strength, named = np.abs(traced.clusters()).max(axis=1, initial=0.0), []
    for t in range(len(texts)):
        place = traced.place(t)
        leading = np.flatnonzero(traced.since[place] >= 0)
        leading = leading[np.argsort(-strength[place][leading], kind="stable")]
        named.append([one.vocabulary.terms[i] for i in traced.bags.ids[place][leading].tolist()])
    return named, leaders(one, texts, most=MOST_LEADERS)


def _deciding(one: "SentimentModel", texts: list[str]) -> tuple[list[list[str]], "ByClass"]:
    """Without attention: the words that speak for the label of each text, and the most frequent ones of each class."""
    from hardmax.sentiment.explain_many import portions, rows

    explained = [row for _, some in portions(texts) for row in rows(one, some)]
    named = [{word["word"]: word["contribution"] for word in row["words"] if word["effect"] > 0} for row in explained]
    by_class: ByClass = {}
    for label in one.classes:
        mine = [words for row, words in zip(explained, named, strict=True) if row["label"] == label]
        parts: dict[str, list[float]] = {}
        for words in mine:
            for word, part in words.items():
                parts.setdefault(word, []).append(part)
        most = sorted(parts.items(), key=lambda found: -len(found[1]))[:MOST_LEADERS]
        by_class[label] = [
            {"word": word, "texts": len(all_), "part": len(all_) / len(mine), "contribution": fsum(all_) / len(all_)}
            for word, all_ in most
        ]
    return [list(words) for words in named], by_class
