"""Model folders: numbers in safetensors, settings in JSON, terms in a text file, a model card; never a pickle.

A folder appears complete or not at all. Reading trusts nothing: names must stay within the folder, digests must match,
and a newer schema is refused with an explanation. The numbers, the terms and the table in which terms are found are
mapped into memory as they are: nothing is built when a model is loaded, and processes share it.
"""

import json
import mmap
from functools import lru_cache
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.io.documents import read_document
from hardmax.io.files import new_folder, recover_folder
from hardmax.sentiment.model import Label, SentimentModel
from hardmax.text.tokenizer import Tokenizer
from hardmax.text.vocabulary import Vocabulary
from hardmax.text.words import RULES

SCHEMA = "hardmax.model/3"  # 2 had no damping
SHIPPED = Path(__file__).parent / "pretrained"
TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "U64": np.uint64}  # of safetensors
FILES = {"numbers": "model.safetensors", "terms": "vocabulary.txt"}
TOKENIZER = "tokenizer.json"
OTHER = "give a text classifier, as hardmax train writes it"
UNSAFE = {".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin", ".npy", ".npz"}
AGAIN = "save it again"
MOST_LOADED = 4  # models that stay in memory after loading
LIMITS = """- A text is the set of its known n-grams. Word order beyond an n-gram, irony, and what is not said are lost.
- Names of people and films carry weight if they did in the training data.
- Probabilities are calibrated on held-out texts of the same kind and on their beginnings, for other texts they are not.
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
    arrays = {"embedding": model.embedding, "scores": model.scores, "bias": model.bias, "table": model.vocabulary.table}
    contents = {FILES["numbers"]: save(arrays), FILES["terms"]: bytes(model.vocabulary.joined)}
    tokenizer = model.vocabulary.tokenizer
    if tokenizer is not None:
        contents[TOKENIZER] = tokenizer.stores().encode()
    config = {
        "schema": SCHEMA,
        "dim": model.dim,
        "layers": model.layers,
        "alpha": model.alpha,
        "neutral_words": float(model.neutral_words),
        "multi_label": model.multi_label,
        "damping": float(model.damping),
        "classes": [_plain(c) for c in model.classes],
        "ngrams": model.vocabulary.ngrams,
        "terms": len(model.vocabulary),
        "words": RULES if tokenizer is None else TOKENIZER,
        "pool": "sum over the n distinct terms / (n + neutral_words)",
        "files": FILES if tokenizer is None else FILES | {"tokenizer": TOKENIZER},
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


def model_folder(where: str | Path) -> Path:
    """The folder of a model; an existing folder comes before a shipped model of the same name.

    Raises:
        BadInput: there is no such model.
    """
    if not isinstance(where, str | PathLike):
        raise BadInput(
            "a model is loaded by its name or from its folder",
            found=f"{type(where).__name__} {where!r:.60}",
            fix=f"shipped models: {', '.join(shipped())}",
        )
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
    return folder


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
    folder = model_folder(where)
    if not (folder / "config.json").is_file():
        raise BadInput(f"{folder} holds no model: it has no config.json", fix=OTHER)
    files = sorted(folder.resolve().rglob("*"))
    for path in files:
        if path.suffix.lower() in UNSAFE:
            raise BadInput(f"{path} may contain code; a model folder with such a file is refused", fix="remove it")
    states = [path.lstat() for path in files]
    return _load(folder.resolve(), tuple((s.st_mtime_ns, s.st_size, s.st_ino) for s in states))


def load_classifier(where: str | Path) -> SentimentModel:
    """`load_model` for what gives every text one label.

    Raises:
        BadInput: the model can give a text several labels.
    """
    model = load_model(where)
    model.refuse_several_labels(f"this use of {where}")
    return model


@lru_cache(maxsize=MOST_LOADED)
def _load(folder: Path, state: tuple[tuple[int, int, int], ...]) -> SentimentModel:
    config = read_document(folder / "config.json", SCHEMA, OTHER)
    try:
        tokenizer = None
        if config.get("words") == TOKENIZER:
            tokenizer = Tokenizer.stored(str(_checked(folder, config, "tokenizer"), "utf-8"))
        elif config.get("words") != RULES:
            raise BadInput(
                f"its word rules are {config.get('words')!r}; this version reads {RULES!r}", fix="train it again"
            )
        numbers = _arrays(_checked(folder, config, "numbers"))
        scores, bias = (numbers[name].astype(np.float64) for name in ("scores", "bias"))
        for array in (scores, bias):
            array.setflags(write=False)  # the model is shared
        sizes = int(config["terms"]), int(config["ngrams"])
        vocabulary = Vocabulary.stored(_checked(folder, config, "terms"), numbers["table"], *sizes, tokenizer)
        layers = float(config["alpha"]), int(config["layers"])
        card, several = dict(config.get("card", {})), bool(config.get("multi_label", False))
        neutral, damping = float(config["neutral_words"]), float(config.get("damping", 0.0))
        parts = vocabulary, numbers["embedding"], scores, bias, *layers, tuple(config["classes"]), card
        return SentimentModel(*parts, neutral, several, damping)
    except BadInput as error:
        raise BadInput(f"{folder} cannot be used: {error.what}", found=error.found, fix=error.fix or AGAIN) from error
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{folder} is damaged: {type(error).__name__} {error}", fix=AGAIN) from error


def _arrays(data: memoryview) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, as views of it: the size of a header in JSON, the header, the numbers."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8 : 8 + size]))
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            values = np.frombuffer(data[8 + size + begin : 8 + size + end], TYPES[about["dtype"]])
            found[name] = values.reshape(about["shape"])
    return found


def _checked(folder: Path, config: dict[str, Any], what: str) -> memoryview:
    """A file of the folder, mapped into memory after checking its name and its digest."""
    name = str(config.get("files", FILES)[what])
    path = folder / name
    if Path(name).name != name or name in ("", ".", "..") or path.resolve().parent != folder.resolve():
        raise BadInput(f"config.json names the file {name!r}, which is outside the folder")
    if not path.is_file():
        raise BadInput(f"{name} is missing")
    with open(path, "rb") as file:
        empty = path.stat().st_size == 0
        data = memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if sha256(data).hexdigest() != config["sha256"][name]:
        raise BadInput(f"{name} does not match its checksum")
    return data


def _plain(label: object) -> Label:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise BadInput(
            f"a label of type {type(value).__name__} cannot be stored", found=repr(label), fix="use str or int labels"
        )
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadInput("a label holds half of a character, which no file can store", found=ascii(value))
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
