"""A model as a folder for JavaScript: one ES module without dependencies, its numbers and its terms.

The module `hardmax.js` is the same for every model. What Python knows about characters (their kinds, entities, the
patterns of words, tags and links) is written into config.json, so that both read a text alike whatever version of
Unicode the JavaScript engine has.
"""

import json
from functools import cache
from html import entities, unescape
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.io.files import new_folder
from hardmax.sentiment.model import SentimentModel
from hardmax.text import clean, words

MODULE = Path(__file__).parent / "hardmax.js"
SCHEMA = "hardmax.js/2"
# Python's \s, and \w within a class: JavaScript's are others.
SPACE = r"\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
README = """# A text classifier for JavaScript

    import { load } from "./hardmax.js";
    const model = await load();
    model.predict("A great film.");    // { label, probability, probabilities, logits, coverage }
    model.explain("A great film.");    // the same with words, terms, leaders and their parts of the logit

`hardmax.js` is one ES module without dependencies, for browsers and Node 20 or later. It reads `config.json`,
`weights.bin` and `terms.txt` beside it. The numbers are those of the Python package hardmax to 1e-9.
"""


def export_javascript(model: SentimentModel, folder: str | Path, *, force: bool = True) -> Path:
    """Write a folder with hardmax.js, config.json, weights.bin, terms.txt and README.md.

    Raises:
        BadInput: the folder exists and `force` is False, or it holds something else.
    """
    folder = Path(folder)
    with new_folder(folder, force=force) as beside:
        (beside / "hardmax.js").write_bytes(MODULE.read_bytes())
        (beside / "config.json").write_text(json.dumps(model_document(model), separators=(",", ":")), encoding="utf-8")
        (beside / "weights.bin").write_bytes(weights(model))
        (beside / "terms.txt").write_bytes(bytes(model.vocabulary.joined))
        (beside / "README.md").write_text(README, encoding="utf-8")
    return folder


def weights(model: SentimentModel) -> bytes:
    """What weights.bin holds: the vectors of the terms, float32 or float64, little-endian."""
    return np.asarray(model.embedding).astype("<f8" if model.embedding.dtype == np.float64 else "<f4").tobytes()


def model_document(model: SentimentModel) -> dict[str, Any]:
    """What config.json holds."""
    return {
        "schema": SCHEMA,
        "name": str(model.card.get("name", "model")),
        "description": model.description,
        "calibration": model.calibration,
        "labels": model.label_names,
        "classes": [c.item() if isinstance(c, np.generic) else c for c in model.classes],
        "dim": model.dim,
        "layers": model.layers,
        "alpha": model.alpha,
        "neutral_words": float(model.neutral_words),
        "damping": float(model.damping),
        "ngrams": model.vocabulary.ngrams,
        "terms": len(model.vocabulary),
        "scores": model.scores.tolist(),
        "bias": model.bias.tolist(),
        "type": "float64" if model.embedding.dtype == np.float64 else "float32",
        "characters": characters(),
    }


@cache
def characters() -> dict[str, Any]:
    """What Python knows about characters, as data.

    Example:
        >>> known = characters()
        >>> known["entities"]["amp"], known["folded"]["’"]
        ('&', "'")
    """
    kinds: list[tuple[int, str]] = []
    for code in range(0x110000):
        kind = words.kind_of(code)
        if not kinds or kinds[-1][1] != kind:
            kinds.append((code, kind))
    return {
        "kinds": kinds,
        "entities": _entities(),
        "word": words.WORD,
        "tag": _pattern(clean.TAG),
        "unread": _pattern(clean.UNREAD),
        "link": _pattern(clean.LINK),
        "lines": list(clean.LINES),
        "folded": {chr(code): chr(char) if isinstance(char, int) else char for code, char in words.FOLDED.items()},
    }


def _entities() -> dict[str, str]:
    """Entities that stand for one character; numbers that HTML reads as another character, or as none ("")."""
    named = {name[:-1]: char for name, char in entities.html5.items() if name.endswith(";") and len(char) == 1}
    odd = [*range(160), *range(0xFDD0, 0xFDF0), *(plane + last for plane in range(0, 0x110000, 0x10000)
           for last in (0xFFFE, 0xFFFF))]  # fmt: skip
    numbers = {f"#{code}": unescape(f"&#{code};") for code in odd}
    return named | {name: char for name, char in numbers.items() if char != chr(int(name[1:]))}


def _pattern(pattern: str) -> str:
    """A pattern of ours in JavaScript's language, with the flags that hardmax.js gives it: u, and i for tags."""
    text = pattern.replace('\\"', '"').replace(r"[\w:-]", r"[\p{L}\p{N}_:\-]")
    text = text.replace(r"[^\s", "[^" + SPACE).replace(r"[\s", "[" + SPACE)
    return text.replace(r"\s", f"[{SPACE}]")
