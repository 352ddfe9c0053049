"""Models in a worker: which there are, and why a text gets its label. Requests name models, never paths."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.errors import BadInput
from hardmax.web import limits

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

_SETUP: dict[str, Any] = {"model": "imdb", "data": None}


def setup(body: dict[str, Any]) -> dict[str, Any]:
    """Remember the model and the data that the server was started with."""
    _SETUP.update(body)
    return dict(_SETUP)


def data_file() -> str | None:
    """The labeled texts that the server was started with."""
    return _SETUP["data"]


def places() -> dict[str, str]:
    """Name -> where the model is: the one that the server was started with first, then the shipped ones."""
    from hardmax.sentiment.files import shipped

    given = _SETUP["model"]
    own = {} if given is None else {Path(given).name: str(given)}
    return own | {name: name for name in shipped() if name not in own}


@lru_cache(maxsize=4)
def _load(where: str) -> "SentimentModel":
    from hardmax.sentiment.files import load_model

    return load_model(where)


def model(name: str | None) -> tuple[str, "SentimentModel"]:
    """A model by its name; None is the first.

    Raises:
        BadInput: there is no such model, or no model at all.
    """
    known = places()
    if not known:
        raise BadInput("there is no model", fix="hardmax train DATA -o DIR makes one: hardmax playground DIR")
    chosen = next(iter(known)) if name is None else name
    if chosen not in known:
        raise BadInput(f"there is no model {chosen!r}", found=", ".join(known), fix="use one of these names")
    return chosen, _load(known[chosen])


def models(body: dict[str, Any]) -> dict[str, Any]:
    """What there is: {"models": [...], "reason": why there is none}."""
    found, wrong = [], []
    for name in places():
        try:
            _, one = model(name)
        except BadInput as error:
            wrong.append(str(error))
            continue
        found.append(
            {
                "name": name,
                "classes": list(one.classes),
                "labels": {str(k): str(v) for k, v in dict(one.card.get("labels", {})).items()},
                "dim": one.dim,
                "layers": one.layers,
                "ngrams": one.vocabulary.ngrams,
                "alpha": one.alpha,
                "terms": len(one.vocabulary),
                "description": _described(one),
            }
        )
    reason = None if found else "; ".join(wrong) or "no model is installed"
    return {"schema": "hardmax.models/1", "models": found, "reason": reason}


def _described(one: "SentimentModel") -> str:
    pieces = "words" if one.vocabulary.ngrams == 1 else f"words and n-grams of up to {one.vocabulary.ngrams} words"
    figures = dict(one.card.get("figures", {}))
    measured = [f"{name} {value}" for name, value in figures.items() if "test" in name and "accuracy" in name][:1]
    size = f"{len(one.vocabulary):,} {pieces}, {one.dim} dimensions, {one.layers} layers"
    return "; ".join([size, *measured])


def explain(body: dict[str, Any]) -> dict[str, Any]:
    """Why a text gets its label, and the way of its terms through the layers."""
    from hardmax.sentiment.explain import explain as run
    from hardmax.sentiment.explain_plane import flat_states

    name, one = model(body.get("model"))
    ex = run(one, body["text"])
    reading = ex.reading
    row = 0 if len(one.bias) == 1 else list(one.classes).index(ex.label)
    v, positions = one.scores[row].tolist(), reading.states
    shadow = positions.size > limits.TRACE
    if shadow:  # a long text in many dimensions: the two that matter
        positions, v = flat_states(ex), [float((one.scores[row] ** 2).sum() ** 0.5), 0.0]
    return ex.as_dict() | {
        "model": name,
        "decoder": {"v": v, "b": float(one.bias[row])},
        "alpha": one.alpha,
        "layers": one.layers,
        "classes": list(one.classes),
        "labels": {str(k): str(v) for k, v in dict(one.card.get("labels", {})).items()},
        "trace": {
            "terms": reading.forms,
            "positions": positions,
            "leader": reading.leader,
            "since": reading.since,
            "settled": reading.settled,
            "contributions": reading.contributions[:, row],
            "shadow": shadow,
        },
    }
