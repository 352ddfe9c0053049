"""Models of fastText as word vectors: the binary file of a trained classifier, and text files of vectors.

The features of a text are as in fastText: its words, the pieces of its words (character n-grams), its word n-grams and
the end of the line; pieces and n-grams share hashed buckets. Words are separated by white space, as fastText does.
"""

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.sentiment.averaged import Embeddings, Feature
from hardmax.text.words import Word

MAGIC, VERSIONS, SUPERVISED, SOFTMAX = 793712314, (11, 12), 3, 3
END = "</s>"
_WORD = re.compile(r"[^ \n\r\t\v\f\0]+")
_ALL = 0xFFFFFFFFFFFFFFFF


def load_fasttext(path: str | Path) -> Embeddings:
    """Read a fastText file: a classifier (.bin, softmax, not quantized) or vectors (.vec).

    Raises:
        BadInput: the file is none of these, or damaged.
    """
    where = Path(path)
    try:
        if where.suffix.lower() == ".vec":
            return _vectors(where.read_text(encoding="utf-8"))
        return _classifier(where.read_bytes())
    except (OSError, struct.error, ValueError, IndexError, OverflowError) as error:
        raise BadInput(f"{where} cannot be read as a fastText model: {error}") from error


def words(text: str) -> list[Word]:
    """The words of a line, and its end.

    Example:
        >>> [word.form for word in words("so good!")]
        ['so', 'good!', '</s>']
    """
    found = [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]
    return [*found, Word(END, len(text), len(text))]


def hashed(piece: bytes) -> int:
    """fastText's hash of a string: 32-bit FNV-1a over signed characters.

    Example:
        >>> hashed(b"good")
        4200608216
    """
    h = 2166136261
    for byte in piece:
        h = ((h ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return h


def _vectors(text: str) -> Embeddings:
    lines = text.splitlines()
    count, dim = map(int, lines[0].split())
    table = {}
    for line in lines[1:]:
        word, *numbers = line.rstrip().split(" ")
        table[word] = np.array(numbers, np.float64)
    if len(table) != count or any(vector.shape != (dim,) for vector in table.values()):
        raise ValueError(f"expected {count} vectors of {dim} numbers")
    if not all(np.isfinite(vector).all() for vector in table.values()):
        raise ValueError("a number is not finite")

    def features(forms: list[str]) -> list[Feature]:
        return [(w, w, table[form]) for w, form in enumerate(forms) if form in table]

    return Embeddings(words, features)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return found

    def string(self) -> str:
        end = self.data.index(b"\0", self.at)
        found, self.at = self.data[self.at : end], end + 1
        return found.decode("utf-8", "surrogateescape")

    def matrix(self) -> np.ndarray:
        if self.take("?")[0]:
            raise ValueError("quantized models are not supported; use the .bin file")
        rows, columns = self.take("qq")
        found = np.frombuffer(self.data, "<f4", rows * columns, self.at).reshape(rows, columns)
        self.at += found.nbytes
        if not np.isfinite(found).all():
            raise ValueError("a number is not finite")
        return found.astype(np.float64)


def _classifier(data: bytes) -> Embeddings:
    file = _Reader(data)
    magic, version = file.take("ii")
    if magic != MAGIC or version not in VERSIONS:
        raise ValueError("the header is not that of a fastText model")
    _, _, _, _, _, longest, loss, kind, bucket, minn, maxn, _, _ = file.take("12id")
    if kind != SUPERVISED or loss != SOFTMAX:
        raise ValueError("only classifiers trained with the loss softmax are supported")
    if version == VERSIONS[0]:
        maxn = 0
    size, n_words, n_labels, _, pruned = file.take("iiiqq")
    entries = []
    for _ in range(size):
        entries.append(file.string())
        file.take("qb")
    if pruned > 0:
        raise ValueError("pruned models are not supported")
    vectors = file.matrix()
    weights = file.matrix()
    hashing = maxn > 0 or longest > 1
    fits = len(vectors) >= n_words + hashing * bucket and vectors.shape[1] == weights.shape[1]
    if n_words < 0 or bucket < hashing or n_labels < 2 or not (fits and len(weights) == n_labels == size - n_words):
        raise ValueError("its sizes are inconsistent")
    number = {word: i for i, word in enumerate(entries[:n_words])}
    labels = tuple(label.removeprefix("__label__") for label in entries[n_words : n_words + n_labels])

    def pieces(word: str) -> list[int]:
        """Buckets of the character n-grams of <word>."""
        raw, found = f"<{word}>".encode("utf-8", "surrogateescape"), []
        starts = [i for i, byte in enumerate(raw) if byte & 0xC0 != 0x80]
        edges = [*starts, len(raw)]
        for a in range(len(starts)):
            for n in range(max(minn, 1), min(maxn, len(starts) - a) + 1):
                if not (n == 1 and (a == 0 or edges[a + n] == len(raw))):
                    found.append(n_words + hashed(raw[edges[a] : edges[a + n]]) % bucket)
        return found

    def features(forms: list[str]) -> list[Feature]:
        found: list[Feature] = []
        hashes = []
        for w, form in enumerate(forms):
            i = number.get(form, -1)
            rows = [i] if i >= 0 else []
            if maxn > 0 and form != END:
                rows += pieces(form)
            found += [(w, w, vectors[row]) for row in rows]
            h = hashed(form.encode("utf-8", "surrogateescape"))
            hashes.append(h if h < 1 << 31 else h - (1 << 32))  # fastText keeps it in a signed integer
        for a in range(len(forms)):
            h = hashes[a] & _ALL
            for b in range(a + 1, min(a + longest, len(forms))):
                h = (h * 116049371 + hashes[b]) & _ALL
                found.append((a, b, vectors[n_words + h % bucket]))
        return found

    if n_labels == 2:  # the softmax of two scores is the sigmoid of their difference
        return Embeddings(words, features, weights[1:] - weights[:1], np.zeros(1), labels)
    return Embeddings(words, features, weights, np.zeros(n_labels), labels)
