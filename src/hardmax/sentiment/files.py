"""Model folders: numbers in safetensors, settings in JSON, terms in a text file; never a pickle.

A folder is written beside its place and renamed when complete. Reading trusts nothing: names must stay within the
folder, digests must match, a newer schema is refused with a sentence.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.io.documents import read_document
from hardmax.io.files import new_folder, recover_folder
from hardmax.sentiment.card import card_text
from hardmax.sentiment.model import SentimentModel
from hardmax.text.vocabulary import Vocabulary

SCHEMA = "hardmax.model/1"
SHIPPED = Path(__file__).parent / "pretrained"
FILES = {"numbers": "model.safetensors", "terms": "vocabulary.txt"}
UNSAFE = {".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin", ".npy", ".npz"}


def save_model(model: SentimentModel, folder: str | Path, *, force: bool = True) -> Path:
    """Write a model folder: config.json, model.safetensors, vocabulary.txt, README.md (the model card).

    Raises:
        BadInput: the folder exists and `force` is False, or it is something else than a model folder.
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
        "classes": [_plain(c) for c in model.classes],
        "ngrams": model.vocabulary.ngrams,
        "terms": len(model.vocabulary),
        "normalization": "lower case; words of letters, digits and inner apostrophes; ! and ?; no HTML, no links",
        "pool": "mean over distinct terms",
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
    """Read a model folder, or a shipped model by its name. A folder of that name in reach comes first.

    Raises:
        BadInput: no such model; or a folder that is damaged, newer than this hardmax, or not safe to read.
    """
    folder = Path(where)
    recover_folder(folder)
    if not folder.exists() and str(where) in shipped():
        folder = SHIPPED / str(where)
    if not folder.is_dir():
        raise BadInput(
            f"no model {str(where)!r}", found=f"shipped: {', '.join(shipped())}", fix="a model folder or a name"
        )
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in UNSAFE:
            raise BadInput(f"{path} may hold code; a model folder with such a file is not read", fix="remove it")
    config = read_document(folder / "config.json", SCHEMA)
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        numbers = load(_checked(folder, config, "numbers"))
        known = _checked(folder, config, "terms").decode().split("\n")
        vocabulary = Vocabulary(known if known != [""] else [], int(config["ngrams"]))
        return SentimentModel(
            vocabulary,
            numbers["embedding"],
            numbers["scores"].astype(np.float64),
            numbers["bias"].astype(np.float64),
            float(config["alpha"]),
            int(config["layers"]),
            tuple(config["classes"]),
            dict(config.get("card", {})),
        )
    except BadInput as error:
        raise BadInput(f"{folder} is damaged: {error.what}", found=error.found, fix="write it again") from error
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise BadInput(f"{folder} is damaged: {type(error).__name__} {error}", fix="write it again") from error


def _checked(folder: Path, config: dict[str, Any], what: str) -> bytes:
    """Contents of a file of the folder, after looking at its name and its digest."""
    name = str(config.get("files", FILES)[what])
    path = folder / name
    if Path(name).name != name or name in ("", ".", "..") or path.resolve().parent != folder.resolve():
        raise BadInput(f"config.json names the file {name!r}, which leaves the folder")
    if not path.is_file():
        raise BadInput(f"{name} is missing")
    data = path.read_bytes()
    if sha256(data).hexdigest() != config["sha256"][name]:
        raise BadInput(f"{name} is not what was written: its digest differs")
    return data


def _plain(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise BadInput(f"a label of type {type(value).__name__} cannot be stored", found=repr(label), fix="str or int")
    return value
