"""Explain models from other tools that average word vectors, by exact contributions.

The score of a text is linear in a mean of vectors, so it is a sum over its words, whoever trained the vectors:

    score_c = b_c + sum_i <w_c, x_i> / (N |h|),    h = sum_i x_i / N,

over the N features x_i of the text (words, and for fastText pieces of words, n-grams and the end of the line); |h| is
left out unless the model brings the mean to unit length. Effects of words are those of the model on the edited text.
`hardmax.sentiment.fasttext` and `load_model2vec` read the files of such models.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hardmax.errors import BadInput
from hardmax.sentiment.averaged import Embeddings, Feature, Floats
from hardmax.sentiment.explain import Explanation
from hardmax.sentiment.fasttext import load_fasttext
from hardmax.sentiment.layers_numpy import Parameters, powers
from hardmax.sentiment.layout import Deletions, Layout, Names, holding
from hardmax.sentiment.model import Label, probabilities, winners
from hardmax.sentiment.word_effects import Study
from hardmax.text.tokenizer import Tokenizer
from hardmax.text.vocabulary import Bags
from hardmax.text.words import split


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
    given = model.weights if weights is None else np.atleast_2d(np.asarray(weights, np.float64))
    if given is None:
        raise BadInput("these vectors need weights", fix="pass those of a classifier, for example clf.coef_")
    b = (
        np.zeros(len(given))
        if bias is None and model.bias is None
        else np.asarray(model.bias if bias is None else bias, np.float64).reshape(-1)
    )
    count = 2 if len(given) == 1 else len(given)
    labels = tuple(classes) if classes is not None else model.classes or tuple(range(count))
    if len(labels) != count or b.shape != (len(given),) or not (np.isfinite(given).all() and np.isfinite(b).all()):
        raise BadInput(
            f"weights of shape {given.shape} need {len(given)} finite biases and {count} classes",
            found=f"{b.size} biases, {len(labels)} classes",
        )
    return _explanation(model, given, b, labels, text)


def load_model2vec(folder: str | Path) -> Embeddings:
    """The vectors of a model2vec folder (model.safetensors, tokenizer.json, config.json); needs `tokenizers`."""
    from safetensors.numpy import load_file

    where = Path(folder)
    try:
        config = json.loads((where / "config.json").read_text(encoding="utf-8"))
        found = load_file(where / "model.safetensors")
        matrix = np.asarray(found["embeddings"], np.float64)
    except (OSError, KeyError, ValueError) as error:
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
        if path.is_dir():
            return load_model2vec(path)
        return load_fasttext(path)
    table = {word: np.asarray(vector, np.float64).reshape(-1) for word, vector in vectors.items()}
    if len({vector.size for vector in table.values()}) > 1:
        raise BadInput("the vectors do not all have the same length")

    def features(forms: list[str]) -> list[Feature]:
        return [(w, w, table[form]) for w, form in enumerate(forms) if form in table]

    return Embeddings(split if tokenizer is None else Tokenizer(tokenizer).words, features)


def _scores(model: Embeddings, weights: Floats, bias: Floats, forms: list[str]) -> tuple[Floats, list[Feature], float]:
    """(C',) the scores, the features, and what the sum of the features is divided by."""
    found = model.features(forms)
    if not found:
        return bias.copy(), found, 1.0
    total = np.sum([vector for _, _, vector in found], axis=0)
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
    starts = np.cumsum([0, *map(len, names)])
    nothing = np.zeros(len(names) + 1, np.int64), np.empty(0, np.int64)
    deletions = Deletions(*holding(layout), *nothing, Bags.of([], [0]))  # their effects are given
    vectors = np.array(sums).reshape(n, weights.shape[1])
    parameters = Parameters(vectors, powers(1.0, 0), 0, weights, bias)
    scores = np.array(parts).reshape(n, len(bias)), logits[None], np.zeros(n, bool), (given, left)
    study = Study(layout, deletions, parameters, own, np.zeros(n, np.int64), *scores)
    every = Names(["".join(names)], True, np.zeros(len(names), np.int64), np.stack([starts[:-1], starts[1:]], axis=1))
    winner = int(winners(logits[None])[0])
    two = len(bias) == 1
    row, toward = (0, classes[1]) if two else (winner, classes[winner])
    return Explanation(
        text=text,
        label=classes[winner],
        probability=float(probabilities(logits[None])[0, winner]),
        logit=float(logits[row]),
        bias=float(bias[row]),
        toward=toward,
        scores=dict(zip([toward] if two else classes, logits.tolist(), strict=True)),
        study=study,
        names=every,
    )
