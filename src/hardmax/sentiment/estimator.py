"""`HardmaxClassifier`: the sentiment model as a scikit-learn estimator."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hardmax.errors import BadInput
from hardmax.sentiment.files import load_model
from hardmax.sentiment.model import SentimentModel, probabilities, winners
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.training import Examples, Progress, Trainer, prepare
from hardmax.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

MANY = 1000  # texts from which on a term must occur in three of them


class HardmaxClassifier(ClassifierMixin, BaseEstimator):
    """Classify texts: word vectors, K hardmax layers, a linear score; every prediction is a sum over words.

    Args:
        dim: dimensions of the word vectors; 2 can be drawn. For C > 2 classes that have no order use at least C.
        layers: K; 0 is the mean of the word vectors, without attention.
        ngrams: the longest terms, 1 to 3 words.
        alpha: step of the layers, z_i <- (z_i + alpha z_leader) / (1 + alpha); with `train_alpha` only its beginning.
        min_texts: a term must occur in so many texts; None: 3 from 1000 texts on, else 1.
        method: "hardmax" (exact, compiled) or "softmax" (the relaxation of [AFZ24, section 6]; needs the extra torch).
        vocabulary: a `Vocabulary` made elsewhere (say from a stream), instead of one from the training texts.
        random_state: a whole number; None draws one.
        batch_size, learning_rate: None: those of `Recipe`, or of the paper for the method softmax (64 and 0.001).
        strong, calm, low, spread, smoothing, scale, dropout, warm_epochs, epochs, warm_rate: see `Recipe`.

    Attributes:
        classes_: the labels in order.   model_: the `SentimentModel`.   history_: loss (and accuracy) by epoch.

    Example:
        >>> texts = ["a good film", "good fun", "a bad film", "bad, bad"] * 10
        >>> clf = HardmaxClassifier().fit(texts, ["pos", "pos", "neg", "neg"] * 10)
        >>> clf.predict(["a good one", "so bad"]).tolist()
        ['pos', 'neg']
    """

    def __init__(
        self,
        dim: int = 2,
        layers: int = 8,
        ngrams: int = 2,
        *,
        alpha: float = Recipe.alpha,
        train_alpha: bool = False,
        min_texts: int | None = None,
        method: str = "hardmax",
        vocabulary: Vocabulary | None = None,
        strong: float | None = None,
        calm: float = Recipe.calm,
        low: float = Recipe.low,
        spread: float = Recipe.spread,
        smoothing: float | None = None,
        scale: float = Recipe.scale,
        dropout: float = Recipe.dropout,
        warm_epochs: int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        warm_rate: float = Recipe.warm_rate,
        learning_rate: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.dim = dim
        self.layers = layers
        self.ngrams = ngrams
        self.alpha = alpha
        self.train_alpha = train_alpha
        self.min_texts = min_texts
        self.method = method
        self.vocabulary = vocabulary
        self.strong = strong
        self.calm = calm
        self.low = low
        self.spread = spread
        self.smoothing = smoothing
        self.scale = scale
        self.dropout = dropout
        self.warm_epochs = warm_epochs
        self.epochs = epochs
        self.batch_size = batch_size
        self.warm_rate = warm_rate
        self.learning_rate = learning_rate
        self.random_state = random_state

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        X: Iterable[str],
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: tuple[Iterable[str], ArrayLike] | None = None,
        progress: Callable[[Progress], object] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> "HardmaxClassifier":
        """Learn from texts and their labels.

        Args:
            sample_weight: one number from 0 on for each text.
            validation: texts and labels to measure the accuracy on after every epoch; nothing is chosen by it.
            progress: called after every batch.
            checkpoint: a file to keep the state in; with `resume` training goes on from it, to the same bits.
        """
        texts = self._texts(X, True)
        self.classes_, labels = _labels(y, len(texts))
        weight = _weights(sample_weight, len(texts))
        if not weight.all():  # a text of weight 0 leaves no trace, not even its words
            texts = [text for text, mine in zip(texts, weight, strict=True) if mine]
            labels, weight = labels[weight > 0], weight[weight > 0] / weight[weight > 0].mean()
        recipe = self._recipe()
        vocabulary = self._vocabulary(texts)
        examples = Examples(vocabulary.bags(texts), labels, weight)
        held = None
        if validation is not None:
            held_texts = as_texts(validation[0])
            number = {c: i for i, c in enumerate(self.classes_.tolist())}
            held_labels = [number.get(c, -1) for c in np.asarray(validation[1]).tolist()]
            held = Examples(vocabulary.bags(held_texts), np.array(held_labels), np.ones(len(held_texts)))
        if self.method == "softmax":
            from hardmax.sentiment.relaxation import train_softmax

            classes = tuple(self.classes_.tolist())
            run = examples, held, vocabulary, classes, recipe, progress, checkpoint, resume
            self.model_, self.history_ = train_softmax(*run)
            return self._done()
        trainer = prepare(examples, len(self.classes_), len(vocabulary), vocabulary.ngrams, recipe)
        trainer.run(examples, held, progress, checkpoint, resume)
        self._take(trainer, vocabulary)
        return self._done()

    def partial_fit(
        self, X: Iterable[str], y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> "HardmaxClassifier":
        """One pass over one part of a stream, at a constant learning rate.

        The first call fixes the classes, the vocabulary (that of the part, unless `vocabulary` is given: see
        `Vocabulary.count`, which reads a stream) and the radii.
        """
        if self.method != "hardmax":
            raise BadInput(f"partial_fit learns with hardmax; the method is {self.method!r}", fix="fit, or hardmax")
        texts = self._texts(X, not hasattr(self, "_trainer"))
        if not hasattr(self, "_trainer"):
            self.classes_ = np.unique(np.asarray(classes if classes is not None else y))
            if len(self.classes_) < 2:
                raise BadInput(
                    "partial_fit needs two classes or more", found=repr(self.classes_.tolist()), fix="classes="
                )
            self._known = self._vocabulary(texts)
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise BadInput(
                f"classes={list(np.asarray(classes))!r} differ from the first call", found=repr(self.classes_)
            )
        given = column_or_1d(np.asarray(y), warn=False)
        if len(given) != len(texts):
            raise BadInput(f"{len(texts)} texts but {len(given)} labels")
        labels = np.searchsorted(self.classes_, given)
        labels = np.minimum(labels, len(self.classes_) - 1)
        if not (self.classes_[labels] == given).all():
            raise BadInput("a label is not among the classes of the first call", found=repr(self.classes_.tolist()))
        examples = Examples(self._known.bags(texts), labels.astype(np.int64), _weights(sample_weight, len(texts)))
        if not hasattr(self, "_trainer"):
            recipe = self._recipe()
            self._trainer = prepare(
                examples, len(self.classes_), len(self._known), self._known.ngrams, recipe, stream=True
            )
        self._trainer.pass_once(examples)
        self._take(self._trainer, self._known)
        return self._done()

    def _texts(self, X: Any, first: bool) -> list[str]:
        """The texts in X; `first` when learning begins. A subclass may make texts from something else here."""
        return as_texts(X)

    def _recipe(self) -> Recipe:
        seed = self.random_state
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        elif isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31 - 1))
        if self.method not in ("hardmax", "softmax"):
            raise BadInput(f"unknown method {self.method!r}", fix="hardmax or softmax")
        names = {field.name for field in fields(Recipe)} & set(self.get_params(deep=False))
        given = {name: getattr(self, name) for name in names}
        usual = {"batch_size": Recipe.batch_size, "learning_rate": Recipe.learning_rate}
        if self.method == "softmax":  # the paper's
            from hardmax.sentiment.relaxation import BATCH, RATE

            usual = {"batch_size": BATCH, "learning_rate": RATE}
        return Recipe(**given | {name: value for name, value in usual.items() if given[name] is None}, seed=seed)

    def _vocabulary(self, texts: list[str]) -> Vocabulary:
        if self.vocabulary is not None:
            return self.vocabulary
        least = self.min_texts if self.min_texts is not None else (3 if len(texts) >= MANY else 1)
        if least < 1:
            raise BadInput("min_texts must be at least 1", found=repr(least))
        return Vocabulary.count(texts, self.ngrams, least)

    def _take(self, trainer: Trainer, vocabulary: Vocabulary) -> None:
        self.history_ = {"loss": list(trainer.losses), "accuracy": list(trainer.accuracies)}
        self.model_ = SentimentModel(
            vocabulary,
            trainer.vectors.astype(np.float32),
            trainer.full_scores,
            trainer.bias.copy(),
            trainer.alpha,
            trainer.recipe.layers,
            tuple(self.classes_.tolist()),
            {"settings": trainer.recipe.as_dict()},
        )

    def _done(self) -> "HardmaxClassifier":
        self.n_iter_ = max(1, len(self.history_["loss"]))
        return self

    # ---------------------------------------------------------------- using

    def decision_function(self, X: Iterable[str]) -> NDArray[np.float64]:
        """(B,) the logit of the second of two classes, or (B, C) one score for each class."""
        check_is_fitted(self, "model_")
        logits = self.model_.logits(self._texts(X, False))
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """(B, C) probabilities, in the order of `classes_`."""
        check_is_fitted(self, "model_")
        return probabilities(self.model_.logits(self._texts(X, False)))

    def predict(self, X: Iterable[str]) -> NDArray[Any]:
        """The most probable label of every text."""
        check_is_fitted(self, "model_")
        return np.asarray(self.classes_[winners(self.model_.logits(self._texts(X, False)))])

    def explain(self, text: str) -> "Explanation":
        """Why a text gets its label: logit = bias + sum of the contributions of its words, exactly."""
        from hardmax.sentiment.explain import explain

        check_is_fitted(self, "model_")
        return explain(self.model_, text)

    def leaders(self, texts: Sequence[str], labels: Sequence[Any] | None = None, **options: Any) -> dict[Any, Any]:
        """The most frequent leaders by class; see `hardmax.sentiment.vocabulary_view.leaders`."""
        from hardmax.sentiment.vocabulary_view import leaders

        check_is_fitted(self, "model_")
        return leaders(self.model_, texts, labels, **options)

    def words(self, most: int | None = None) -> list[dict[str, Any]]:
        """The words of the vocabulary by their own score; see `hardmax.sentiment.vocabulary_view.words`."""
        from hardmax.sentiment.vocabulary_view import words

        check_is_fitted(self, "model_")
        return words(self.model_, most)

    def save(self, path: str | Path, *, force: bool = True) -> Path:
        """Write the model folder, as `save_pretrained`; a name with the suffix .html gets a page about the model."""
        check_is_fitted(self, "model_")
        return self.model_.save(path, force=force)

    def save_pretrained(self, folder: str | Path, *, force: bool = True) -> Path:
        """Write the model folder: safetensors, JSON, vocabulary, model card."""
        check_is_fitted(self, "model_")
        return self.model_.save(folder, force=force)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "HardmaxClassifier":
        """A classifier from a model folder, or from the name of a shipped model."""
        return cls.from_model(load_model(folder))

    @classmethod
    def from_model(cls, model: SentimentModel) -> "HardmaxClassifier":
        """A classifier around a model."""
        settings = model.card.get("settings", {})
        names = {n for n in cls._get_param_names() if n in settings}
        fixed = {"dim": model.dim, "layers": model.layers, "ngrams": model.vocabulary.ngrams}
        clf = cls(**{**{n: settings[n] for n in names}, **fixed, "random_state": settings.get("seed", 0)})
        clf.model_, clf.classes_ = model, np.array(model.classes)
        clf.history_, clf.n_iter_ = {"loss": [], "accuracy": []}, 1
        return clf

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.no_validation = True
        return tags


def load(name: str | Path) -> HardmaxClassifier:
    """A shipped model by its name (`imdb`, `imdb-words`), or any model folder, ready to predict and to explain."""
    return HardmaxClassifier.from_pretrained(name)


def as_texts(X: Any) -> list[str]:
    """A list of texts from any one-dimensional collection of strings or bytes.

    Example:
        >>> as_texts(["a", b"b"])
        ['a', 'b']
    """
    if isinstance(X, str | bytes):
        raise BadInput("one text was given where a list of texts is needed", found=repr(X[:40]), fix="[text]")
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:
        X = np.asarray(X)[:, 0]
    try:
        texts = list(X)
    except TypeError:
        raise BadInput("texts must be a list of strings", found=type(X).__name__) from None
    for i, text in enumerate(texts):
        if isinstance(text, bytes):
            texts[i] = text.decode("utf-8", "replace")
        elif not isinstance(text, str):
            raise BadInput(f"text {i} is not a string", found=f"{type(text).__name__} {text!r:.60}")
    return texts


def _labels(y: ArrayLike, count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if y is None:
        raise BadInput("requires y to be passed, but the target y is None")
    given = column_or_1d(np.asarray(y), warn=True)
    if len(given) != count:
        raise BadInput(f"{count} texts but {len(given)} labels")
    if count == 0:
        raise BadInput("there is no text to learn from")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise BadInput("a label is NaN or infinite")
    try:
        classes, numbers = np.unique(given, return_inverse=True)
    except TypeError:
        raise BadInput("labels of mixed types cannot be ordered", fix="all strings, or all numbers") from None
    if len(classes) < 2:
        raise BadInput(
            f"there is only one class in {count} texts", found=repr(classes.tolist()), fix="texts of two classes"
        )
    if given.dtype.kind == "f" and (given != np.round(given)).any():
        raise BadInput("Unknown label type: labels are numbers with fractions", fix="whole numbers or strings")
    return classes, numbers.astype(np.int64)


def _weights(sample_weight: ArrayLike | None, count: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(count)
    weight = np.asarray(sample_weight, np.float64)
    if weight.shape != (count,):
        raise BadInput(f"sample_weight has shape {weight.shape}; there are {count} texts")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise BadInput("each sample_weight must be a finite number from 0 on, and not all of them zero")
    return weight * (count / weight.sum())
