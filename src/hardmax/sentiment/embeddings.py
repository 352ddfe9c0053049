"""Explain models from other tools that average word vectors, by exact contributions.

The score of a text is linear in a mean of vectors, so it is a sum over its words, whoever trained the vectors:

    score_c = b_c + sum_i <w_c, x_i> / (N |h|),    h = sum_i x_i / N,

over the N features x_i of the text (words, and for fastText pieces of words, n-grams and the end of the line); |h| is
left out unless the model brings the mean to unit length. Effects of words are those of the model on the edited text.

The features of a fastText model are as in fastText: the words of the text, the pieces of its words (character
n-grams), its word n-grams and the end of the line; pieces and n-grams share hashed buckets. Words are separated by
white space, as fastText does.
"""

import json
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput, counted
from hardmax.sentiment.explain import Explanation, explained
from hardmax.sentiment.layers_numpy import Parameters, powers
from hardmax.sentiment.layout import Deletions, Layout, Names, holding
from hardmax.sentiment.model import Label
from hardmax.sentiment.word_effects import Study
from hardmax.text.tokenizer import Tokenizer
from hardmax.text.vocabulary import Bags
from hardmax.text.words import Word, split

Floats = NDArray[np.float64]
Feature = tuple[int, int, Floats]  # first and last word that it belongs to, its vector
MAGIC, VERSIONS, SUPERVISED, SOFTMAX = 793712314, (11, 12), 3, 3  # in a file of fastText
KINDS = "give a fastText file (.bin or .vec), a model2vec folder, or a dict"
END = "</s>"  # its word for the end of a line
_WORD = re.compile(r"[^ \n\r\t\v\f\0]+")
_ALL = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Word vectors and how a text becomes their mean.

    Attributes:
        words: the words of a text with their places.
        features: from the forms of the words of a text to its features.
        weights: (C', d), or None: then they are given to `explain_embeddings`.
        bias: (C',).   classes: the labels.   unit: whether the mean is brought to unit length.
    """

    words: Callable[[str], list[Word]]
    features: Callable[[list[str]], list[Feature]]
    weights: Floats | None = None
    bias: Floats | None = None
    classes: tuple[Label, ...] = ()
    unit: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Floats], words: Callable[[str], list[Word]]) -> "Embeddings":
        """Those of a table word -> vector."""
        return cls(words, lambda forms: [(w, w, table[form]) for w, form in enumerate(forms) if form in table])


def explain_embeddings(
    vectors: Embeddings | Mapping[str, ArrayLike] | str | Path,
    weights: ArrayLike | None,
    text: str,
    *,
    bias: ArrayLike | None = None,
    classes: Sequence[Label] | None = None,
    tokenizer: Callable[[str], Any] | None = None,
) -> Explanation:
    """Explain the prediction of a linear classifier on the mean of word vectors.

    Args:
        vectors: a dict word -> vector; a fastText file (.bin or .vec) or a model2vec folder; or what was read from one.
        weights: (C', d) of the classifier, one row for two classes (in favor of the second), otherwise one row for each
            class, as `coef_` of scikit-learn; None for a fastText .bin file, which holds its own.
        bias: (C',), by default 0.
        classes: the labels, by default 0, 1, ...
        tokenizer: a function from a text to its words, for a dict; by default the words of `hardmax.text.words`.

    Raises:
        BadInput: the shapes do not fit, or the file cannot be read.

    Example:
        >>> vectors = {"good": [1.0, 0.0], "dull": [-1.0, 0.5], "film": [0.0, 0.5]}
        >>> ex = explain_embeddings(vectors, [[3.0, 0.0]], "A good film", classes=["negative", "positive"])
        >>> ex.label, ex.logit, [(word.word, word.contribution) for word in ex.words]
        ('positive', 1.5, [('good', 1.5), ('film', 0.0)])
    """
    if not isinstance(text, str):
        raise BadInput("a text must be a string", found=type(text).__name__)
    model = vectors if isinstance(vectors, Embeddings) else _model(vectors, tokenizer)
    given = model.weights if weights is None else np.atleast_2d(_numbers("the weights", weights))
    if given is None:
        raise BadInput("these vectors need weights", fix="pass those of a classifier, for example clf.coef_")
    b = (
        np.zeros(len(given))
        if bias is None and model.bias is None
        else _numbers("the bias", model.bias if bias is None else bias).reshape(-1)
    )
    count = 2 if len(given) == 1 else len(given)
    labels = tuple(classes) if classes is not None else model.classes or tuple(range(count))
    if given.ndim != 2 or len(labels) != count or b.shape != (len(given),):
        raise BadInput(
            f"weights of shape {given.shape} need {len(given)} biases and {count} classes",
            found=f"{b.size} biases, {len(labels)} classes",
        )
    return _explanation(model, given, b, labels, text)


def load_fasttext(path: str | Path) -> Embeddings:
    """Read a fastText file: a classifier (.bin, softmax, not quantized) or vectors (.vec).

    Raises:
        BadInput: the file is none of these, or damaged.
    """
    where = Path(path)
    try:
        if where.suffix.lower() == ".vec":
            return _vectors(where.read_bytes().decode("utf-8"), where)
        return _classifier(where.read_bytes())
    except FileNotFoundError as error:
        raise BadInput(f"{where} cannot be read: there is no such file", fix=KINDS) from error
    except BadInput:
        raise
    except (OSError, struct.error, ValueError, IndexError, OverflowError) as error:
        raise BadInput(f"{where} cannot be read as a fastText model: {error}", fix=KINDS) from error


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


def _vectors(text: str, where: Path) -> Embeddings:
    def wrong(what: str, fix: str = "download or write the file again") -> BadInput:
        return BadInput(f"{where} cannot be read as a fastText model: {what}", fix=fix)

    lines = text.rstrip("\n").split("\n")  # words may hold what Unicode calls the end of a line
    try:
        count, dim = map(int, lines[0].split())
    except ValueError as error:
        raise wrong(
            f"line 1 is {lines[0][:80]!r}; expected the number of vectors and their length",
            f"if the file is only missing this line, as those of GloVe are, add one such as {len(lines)} "
            f"{max(len(lines[0].split()) - 1, 1)}",
        ) from error
    table = {}
    for number, line in enumerate(lines[1:], 2):
        word, *numbers = line.rstrip(" \r").split(" ")
        try:
            vector = table[word] = np.array(numbers, np.float64)
        except ValueError as error:
            raise wrong(f"line {number}: {error}") from error
        if len(vector) != dim:
            raise wrong(f"line {number} holds {counted(len(vector), 'number')}; expected {dim}")
        if not np.isfinite(vector).all():
            raise wrong(f"line {number}: a number is not finite")
    if len(table) != count:
        raise wrong(f"it holds {counted(len(table), 'vector')}; expected {count}")
    return Embeddings.of(table, words)


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
        raise ValueError(
            "only classifiers trained with the loss softmax are supported; of word vectors, give the .vec file"
        )
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


def load_model2vec(folder: str | Path) -> Embeddings:
    """The vectors of a model2vec folder (model.safetensors, tokenizer.json, config.json); needs `tokenizers`."""
    from safetensors.numpy import load_file

    where = Path(folder)
    try:
        config = dict(json.loads((where / "config.json").read_text(encoding="utf-8")))
        found = load_file(where / "model.safetensors")
        matrix = np.asarray(found["embeddings"], np.float64)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{where} is not a model2vec folder: {error}") from error
    if "weights" in found:
        matrix = matrix * np.asarray(found["weights"], np.float64).reshape(-1, 1)
    tokenizer = Tokenizer(where / "tokenizer.json")
    encoder = json.loads(tokenizer.stores())["model"]
    vocab = encoder["vocab"]
    number = vocab if isinstance(vocab, dict) else {row[0]: i for i, row in enumerate(vocab)}
    rows = found.get("mapping")
    unknown = encoder.get("unk_token")

    def features(forms: list[str]) -> list[Feature]:
        known = ((w, number[form]) for w, form in enumerate(forms) if form in number and form != unknown)
        return [(w, w, matrix[i if rows is None else int(rows[i])]) for w, i in known]

    return Embeddings(tokenizer.words, features, unit=bool(config.get("normalize", False)))


def _model(vectors: Mapping[str, ArrayLike] | str | Path, tokenizer: Callable[[str], Any] | None) -> Embeddings:
    if isinstance(vectors, str | Path):
        path = Path(vectors)
        return load_model2vec(path) if path.is_dir() else load_fasttext(path)
    if not isinstance(vectors, Mapping):
        raise BadInput(f"word vectors cannot be read from a {type(vectors).__name__}", fix=KINDS)
    table = {word: _numbers(f"the vector of {word!r}", vector).reshape(-1) for word, vector in vectors.items()}
    if len({vector.size for vector in table.values()}) > 1:
        raise BadInput("the vectors do not all have the same length")
    return Embeddings.of(table, split if tokenizer is None else Tokenizer(tokenizer).words)


def _numbers(what: str, given: Any) -> Floats:
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        raise BadInput(f"{what} must be finite numbers", found=f"{given!r:.80}")
    return found


def _scores(model: Embeddings, weights: Floats, bias: Floats, forms: list[str]) -> tuple[Floats, list[Feature], float]:
    """(C',) the scores, the features, and what the sum of the features is divided by."""
    found = model.features(forms)
    if not found:
        return bias.copy(), found, 1.0
    total = np.sum([vector for _, _, vector in found], axis=0)
    if len(total) != weights.shape[1]:
        raise BadInput(
            f"the weights have {counted(weights.shape[1], 'column')}, but the word vectors have {len(total)} numbers",
            fix="use the vectors that the classifier was trained with",
        )
    down = float(np.sqrt((total**2).sum())) if model.unit else float(len(found))
    down = down or 1.0
    return bias + weights @ (total / down), found, down


def _explanation(
    model: Embeddings, weights: Floats, bias: Floats, classes: tuple[Label, ...], text: str
) -> Explanation:
    words = model.words(text)
    forms = [word.form for word in words]
    logits, found, down = _scores(model, weights, bias, forms)
    names = list(dict.fromkeys(forms))
    number = {name: f for f, name in enumerate(names)}
    without = [_scores(model, weights, bias, [form for form in forms if form != name]) for name in names]
    given = np.array([scores for scores, _, _ in without]).reshape(len(names), len(bias))
    left = np.array([len(some) for _, some, _ in without], np.int64)
    # A term is a run of forms that has features; its part is that of all of them.
    terms: dict[tuple[str, ...], int] = {}
    longest = max((last - first + 1 for first, last, _ in found), default=1)
    spans = np.full((len(words), longest), -1)
    parts: list[Floats] = []
    sums: list[Floats] = []
    for first, last, vector in sorted(found, key=lambda one: (one[1], one[1] - one[0])):
        i = spans[last, last - first] = terms.setdefault(tuple(forms[first : last + 1]), len(terms))
        if i == len(parts):
            parts.append(np.zeros(len(bias)))
            sums.append(np.zeros(weights.shape[1]))
        parts[i] += weights @ vector / down
        sums[i] += vector
    n = len(terms)
    _, first_at = np.unique(spans.ravel(), return_index=True)
    form = np.array([number[name] for name in forms], np.int64)
    own = np.arange(n)
    begins, ends = (np.array([getattr(word, side) for word in words], np.int64) for side in ("start", "end"))
    at_words, at_forms, at_terms = (np.array([0, size], np.int64) for size in (len(words), len(names), n))
    layout = Layout(at_words, at_forms, at_terms, begins, ends, form, spans, own, first_at[len(first_at) - n :])
    nothing = np.zeros(len(names) + 1, np.int64), np.empty(0, np.int64)
    deletions = Deletions(*holding(layout), *nothing, Bags.of([], [0]))  # their effects are given
    vectors = np.array(sums).reshape(n, weights.shape[1])
    parameters = Parameters(vectors, powers(1.0, 0), 0, weights, bias)
    scores = np.array(parts).reshape(n, len(bias)), logits[None], np.zeros(n, bool), (given, left)
    study = Study(layout, deletions, parameters, own, np.zeros(n, np.int64), *scores)
    return explained(text, classes, study, Names.of(names))
