"""Model folders: numbers in safetensors, settings in JSON, terms in a text file, a model card; never a pickle.

A folder appears complete or not at all. Reading trusts nothing: names must stay within the folder, digests must match,
and a newer schema is refused with an explanation.
"""

import json
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.io.documents import read_document
from hardmax.io.files import new_folder, recover_folder
from hardmax.sentiment.model import Label, SentimentModel
from hardmax.text.vocabulary import Vocabulary

SCHEMA = "hardmax.model/1"
SHIPPED = Path(__file__).parent / "pretrained"
FILES = {"numbers": "model.safetensors", "terms": "vocabulary.txt"}
UNSAFE = {".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin", ".npy", ".npz"}
MOST_LOADED = 4  # models that stay in memory after loading
LIMITS = """- A text is the set of its known n-grams. Word order beyond an n-gram, irony, and what is not said are lost.
- Names of people and films carry weight if they did in the training data.
- The score is a mean over the terms of a text. Over few terms it is extreme: the probabilities of texts much shorter
  than those of the training data are overconfident, and should be read as a ranking only.
- Expect less, or nothing, in other fields or languages than those of the training data.
- Who can lead is decided by radii that are set between two phases of training: the words with the strongest scores so
  far, and a few frequent words without opinion (poles), where the words that say little gather. That strong words lead
  is built in, not discovered. What is exact is the sum: bias + contributions = logit.
- A leader's contribution is that of its whole cluster. What the prediction loses without the leader is its effect;
  explanations give both and rank the leaders by effect."""


def save_model(model: SentimentModel, folder: str | Path, *, force: bool = True) -> Path:
    """Write a model folder: config.json, model.safetensors, vocabulary.txt, README.md (the model card).

    Raises:
        BadInput: the folder exists and `force` is False, or it is not a model folder.
    """
    from safetensors.numpy import save

    folder = Path(folder)
    numbers = save({"embedding": model.embedding, "scores": model.scores, "bias": model.bias})
    contents = {FILES["numbers"]: numbers, FILES["terms"]: "\n".join(model.vocabulary.terms).encode()}
    config = {
        "schema": SCHEMA,
        "dim": model.dim,
        "layers": model.layers,
        "alpha": model.alpha,
        "neutral_words": float(model.neutral_words),
        "classes": [_plain(c) for c in model.classes],
        "ngrams": model.vocabulary.ngrams,
        "terms": len(model.vocabulary),
        "normalization": "lower case; words of letters, digits and inner apostrophes; ! and ?; no HTML, no links",
        "pool": "sum over the n distinct terms / (n + neutral_words)",
        "files": FILES,
        "sha256": {name: sha256(data).hexdigest() for name, data in contents.items()},
        "card": model.card,
    }
    contents["config.json"] = (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode()
    contents["README.md"] = card_text(model).encode()
    with new_folder(folder, force=force) as beside:
        for name, data in contents.items():
            (beside / name).write_bytes(data)
    return folder


def shipped() -> list[str]:
    """Names of the models that come with hardmax."""
    return sorted(p.name for p in SHIPPED.iterdir() if (p / "config.json").is_file()) if SHIPPED.is_dir() else []


def load_model(where: str | Path) -> SentimentModel:
    """Read a model folder, or a shipped model by its name; an existing folder of that name comes first.

    The last models stay in memory: loading a folder again returns the same object, which must not be changed, until one
    of its files changes.

    Raises:
        BadInput: there is no such model, or the folder is damaged, newer than this version, or not safe to read.

    Example:
        >>> model = load_model("imdb-words")
        >>> model.classes, model.dim, load_model("imdb-words") is model
        (('negative', 'positive'), 2, True)
    """
    folder = Path(where)
    recover_folder(folder)
    if not folder.exists() and str(where) in shipped():
        folder = SHIPPED / str(where)
    if not folder.is_dir():
        raise BadInput(
            f"there is no model {str(where)!r}",
            found=f"shipped models: {', '.join(shipped())}",
            fix="use the name of a shipped model or of a model folder",
        )
    files = sorted(folder.resolve().rglob("*"))
    for path in files:
        if path.suffix.lower() in UNSAFE:
            raise BadInput(f"{path} may hold code; a model folder with such a file is not read", fix="remove it")
    states = [path.lstat() for path in files]
    return _load(folder.resolve(), tuple((s.st_mtime_ns, s.st_size, s.st_ino) for s in states))


@lru_cache(maxsize=MOST_LOADED)
def _load(folder: Path, state: tuple[tuple[int, int, int], ...]) -> SentimentModel:
    config = read_document(folder / "config.json", SCHEMA)
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        numbers = load(_checked(folder, config, "numbers"))
        embedding, scores, bias = numbers["embedding"], *(numbers[k].astype(np.float64) for k in ("scores", "bias"))
        for array in (embedding, scores, bias):
            array.setflags(write=False)  # the model is shared
        known = _checked(folder, config, "terms").decode().split("\n")
        vocabulary = Vocabulary(known if known != [""] else [], int(config["ngrams"]))
        layers = float(config["alpha"]), int(config["layers"])
        rest = dict(config.get("card", {})), float(config["neutral_words"])
        return SentimentModel(vocabulary, embedding, scores, bias, *layers, tuple(config["classes"]), *rest)
    except BadInput as error:
        raise BadInput(f"{folder} is damaged: {error.what}", found=error.found, fix="save it again") from error
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise BadInput(f"{folder} is damaged: {type(error).__name__} {error}", fix="save it again") from error


def _checked(folder: Path, config: dict[str, Any], what: str) -> bytes:
    """The contents of a file of the folder, after checking its name and its digest."""
    name = str(config.get("files", FILES)[what])
    path = folder / name
    if Path(name).name != name or name in ("", ".", "..") or path.resolve().parent != folder.resolve():
        raise BadInput(f"config.json names the file {name!r}, which leaves the folder")
    if not path.is_file():
        raise BadInput(f"{name} is missing")
    data = path.read_bytes()
    if sha256(data).hexdigest() != config["sha256"][name]:
        raise BadInput(f"{name} does not match its digest")
    return data


def _plain(label: object) -> Label:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise BadInput(
            f"a label of type {type(value).__name__} cannot be stored", found=repr(label), fix="use str or int labels"
        )
    return value


def card_text(model: SentimentModel) -> str:
    """The model card in Markdown."""
    card, figures = model.card, model.card.get("figures")
    lines = [
        f"# {card.get('name', 'A hardmax sentiment model')}",
        "",
        f"{len(model.vocabulary):,} n-grams of up to {model.vocabulary.ngrams} word(s) -> {model.dim} dimensions -> "
        f"{model.layers} hardmax layers (alpha = {model.alpha:.4g}) -> mean -> linear score.",
        f"{model.parameters:,} numbers; classes: {', '.join(map(str, model.classes))}.",
        "",
        "## Data",
        str(card.get("data", "not recorded")),
        "",
        "## Figures",
        *(_table([{"figure": k, "value": v} for k, v in figures.items()]) if figures else ["not measured"]),
        "",
        *(line for title, rows in card.get("tables", {}).items() for line in (f"## {title}", *_table(rows), "")),
        "## Settings",
        *(f"- {name}: {value}" for name, value in sorted(card.get("settings", {}).items())),
        "",
        "## Limits",
        LIMITS,
        "",
    ]
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """A table whose columns are the keys of its first row."""
    columns = list(rows[0]) if rows else []
    cells = [columns, *([str(row.get(c, "")).replace("|", "\\|") for c in columns] for row in rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [lines[0], "|" + "---|" * len(columns), *lines[1:]]
