"""`HardmaxClassifier`: the sentiment model as a scikit-learn estimator."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.columns import as_classes, as_labels, as_texts, as_weights, check_size
from hardmax.sentiment.contract import Classifier
from hardmax.sentiment.explain import Explanation, explain
from hardmax.sentiment.files import load_model
from hardmax.sentiment.model import Label, SentimentModel, probabilities, winners
from hardmax.sentiment.recipe import Recipe, Tuning
from hardmax.sentiment.vocabulary_view import LeaderCount, TermScore, leaders, words
from hardmax.text.vocabulary import Vocabulary

if TYPE_CHECKING:  # compiled code: loaded by fit
    from hardmax.sentiment.training import Trainer
    from hardmax.sentiment.training_loop import Learner, Progress

MANY = 1000  # with this many texts or more, a term must by default occur in three of them


class HardmaxClassifier(Classifier):
    """Classify texts: word vectors, K hardmax layers, a linear score; every prediction is a sum over words.

    Two fitted classifiers are equal if their models are; two that are not fitted, if their parameters are.

    Args:
        dim: number of dimensions of the word vectors; 2 can be drawn. Use at least C for C > 2 unordered classes.
        layers: number of hardmax layers K; 0 is the mean of the word vectors, without attention.
        ngram_range: smallest and largest number of words in a term, at most 3.
        min_df: ignore terms that occur in fewer texts than this: a number, or as a float a part of the texts. None
            means 3 from 1000 texts on, otherwise 1.
        max_features: keep at most this many terms, those that occur in the most texts.
        vocabulary: a `Vocabulary` made elsewhere (for example from a stream), instead of one from the training texts.
        method: "hardmax" (exact, compiled) or "softmax" (the relaxation of [AFZ24, section 6]; needs the extra torch).
        alpha: step size of the layers, z_i <- (z_i + alpha z_leader) / (1 + alpha).
        train_alpha: learn alpha too, starting from the given one.
        warm_epochs, epochs: passes over the texts without attention, and then with it. None means 4 and 3, or more for
            small data.
        batch_size: number of texts per training step; None means 256, or 64 for softmax.
        learning_rate: of the word vectors, at the beginning; None means 0.003, or 0.001 for softmax.
        dropout: part of the words of a text that is left out at each training step.
        tuning: a `hardmax.sentiment.recipe.Tuning` with the settings that rarely need a change.
        random_state: seed for all random choices; the default gives the same model every time, None another one.

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
        ngram_range: tuple[int, int] = (1, 2),
        *,
        min_df: int | float | None = None,
        max_features: int | None = None,
        vocabulary: Vocabulary | None = None,
        method: str = "hardmax",
        alpha: float = Recipe.alpha,
        train_alpha: bool = False,
        warm_epochs: int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        dropout: float = Recipe.dropout,
        tuning: Tuning | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.dim = dim
        self.layers = layers
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.method = method
        self.alpha = alpha
        self.train_alpha = train_alpha
        self.warm_epochs = warm_epochs
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.tuning = tuning
        self.random_state = random_state

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        X: Iterable[str],
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: tuple[Iterable[str], ArrayLike] | None = None,
        progress: Callable[["Progress"], object] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> "HardmaxClassifier":
        """Learn from texts and their labels.

        Args:
            sample_weight: one number of at least 0 for each text.
            validation: texts and labels to measure the accuracy on after every epoch; nothing is chosen by it.
            progress: called after every batch.
            checkpoint: a file for the state of the run; with `resume`, an interrupted run continues from it, and the
                result is bit-for-bit the same.
        """
        from hardmax.sentiment.training import prepare
        from hardmax.sentiment.training_loop import Examples, Watch

        texts = self._texts(X, True)
        self.classes_, labels = as_classes(as_labels(y, len(texts)))
        weight = as_weights(sample_weight, len(texts))
        if not weight.all():  # a text of weight 0 leaves no trace, not even its words
            texts = [text for text, mine in zip(texts, weight, strict=True) if mine]
            labels, weight = labels[weight > 0], weight[weight > 0] / weight[weight > 0].mean()
        recipe, vocabulary = self._recipe(), self._vocabulary(texts)
        classes = tuple(self.classes_.tolist())
        check_size(len(vocabulary), len(classes))
        examples = Examples(vocabulary.bags(texts), labels, weight)
        held_out = None
        if validation is not None:
            held_texts = as_texts(validation[0])
            number = {c: i for i, c in enumerate(classes)}
            held_labels = np.array([number.get(c, -1) for c in np.asarray(validation[1]).tolist()])
            held_out = Examples(vocabulary.bags(held_texts), held_labels, np.ones(len(held_texts)))
        learner: Learner
        if self.method == "softmax":
            from hardmax.sentiment.relaxation import Relaxed

            learner = Relaxed(vocabulary, classes, recipe)
        else:
            learner = prepare(examples, vocabulary, classes, recipe)
        learner.train(examples, Watch(held_out, progress, checkpoint, resume))
        return self._done(learner)

    def partial_fit(
        self, X: Iterable[str], y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> "HardmaxClassifier":
        """One pass over one part of a stream, at a constant learning rate.

        The first call fixes the classes, the vocabulary (that of the part, unless `vocabulary` is given: see
        `Vocabulary.count`, which reads a stream) and the radii. After `fit` it continues with the fitted model.
        """
        from hardmax.sentiment.training import prepare
        from hardmax.sentiment.training_loop import Examples

        if self.method != "hardmax":
            raise BadInput(
                f"partial_fit needs method='hardmax'; the method is {self.method!r}",
                fix="use fit, or the method hardmax",
            )
        trainer: Trainer | None = getattr(self, "_trainer", None)
        if trainer is None and hasattr(self, "model_"):
            raise BadInput(
                "partial_fit cannot continue with a model that was loaded", fix="start with a new HardmaxClassifier"
            )
        texts = self._texts(X, trainer is None)
        if trainer is None:
            self.classes_ = np.unique(np.asarray(classes if classes is not None else y))
            if len(self.classes_) < 2:
                raise BadInput(
                    "partial_fit needs at least two classes",
                    found=repr(self.classes_.tolist()),
                    fix="name all classes in the first call with classes=[...]",
                )
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise BadInput(
                f"classes={list(np.asarray(classes))!r} differ from those of the first call", found=repr(self.classes_)
            )
        given = as_labels(y, len(texts))
        labels = np.minimum(np.searchsorted(self.classes_, given), len(self.classes_) - 1)
        if not (self.classes_[labels] == given).all():
            raise BadInput("a label is not among the classes of the first call", found=repr(self.classes_.tolist()))
        vocabulary = self._vocabulary(texts) if trainer is None else trainer.vocabulary
        examples = Examples(vocabulary.bags(texts), labels.astype(np.int64), as_weights(sample_weight, len(texts)))
        if trainer is None:
            trainer = prepare(examples, vocabulary, tuple(self.classes_.tolist()), self._recipe(), stream=True)
        trainer.pass_once(examples)
        return self._done(trainer)

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
            raise BadInput(f"unknown method {self.method!r}", fix="use hardmax or softmax")
        if self.tuning is not None and not isinstance(self.tuning, Tuning):
            raise BadInput("tuning must be a Tuning", found=repr(self.tuning))
        settings = {f.name: getattr(self.tuning or Tuning(), f.name) for f in fields(Tuning)}
        names = {f.name for f in fields(Recipe)} & set(self.get_params(deep=False))
        settings |= {name: getattr(self, name) for name in names}
        usual = {"batch_size": Recipe.batch_size, "learning_rate": Recipe.learning_rate}
        if self.method == "softmax":  # the paper's
            from hardmax.sentiment.relaxation import BATCH, RATE

            usual = {"batch_size": BATCH, "learning_rate": RATE}
        return Recipe(**settings | {name: value for name, value in usual.items() if settings[name] is None}, seed=seed)

    def _vocabulary(self, texts: list[str]) -> Vocabulary:
        if self.vocabulary is not None:
            return self.vocabulary
        least, most = self.min_df, self.max_features
        if least is None:
            least = 3 if len(texts) >= MANY else 1
        elif isinstance(least, float) and 0 <= least <= 1:
            least = max(1, ceil(least * len(texts)))
        if not isinstance(least, int | np.integer) or isinstance(least, bool) or least < 1:
            raise BadInput(
                "min_df must be an integer of at least 1, or a part from 0.0 to 1.0", found=repr(self.min_df)
            )
        if most is not None and (not isinstance(most, int | np.integer) or most < 1):
            raise BadInput("max_features must be an integer of at least 1, or None", found=repr(most))
        return Vocabulary.count(texts, self.ngram_range, int(least), most)

    def _done(self, learner: "Learner") -> "HardmaxClassifier":
        self.model_, self.history_ = learner.model(), learner.history
        self.n_iter_ = max(1, len(learner.losses))
        self._trainer = learner if self.method == "hardmax" else None  # partial_fit continues with it
        return self

    # ---------------------------------------------------------------- using

    def _fitted(self) -> SentimentModel:
        if not hasattr(self, "model_"):
            self._not_fitted()
        return self.model_

    def decision_function(self, X: Iterable[str]) -> NDArray[np.float64]:
        """(B,) the logit of the second of two classes, or (B, C) one score for each class."""
        logits = self._fitted().logits(self._texts(X, False))
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """(B, C) probabilities, in the order of `classes_`."""
        return probabilities(self._fitted().logits(self._texts(X, False)))

    def predict(self, X: Iterable[str]) -> NDArray[np.generic]:
        """The most probable label of every text."""
        chosen = winners(self._fitted().logits(self._texts(X, False)))
        return np.asarray(self.classes_[chosen])

    def explain(self, text: str | bytes) -> Explanation:
        """Why a text gets its label: logit = bias + sum of the contributions of its words, exactly."""
        return explain(self._fitted(), text)

    def leaders(
        self, texts: Iterable[str], labels: ArrayLike | None = None, *, most: int = 30, confident: float = 0.0
    ) -> dict[Label, list[LeaderCount]]:
        """The most frequent leaders by class; see `hardmax.sentiment.vocabulary_view.leaders`."""
        return leaders(self._fitted(), as_texts(texts), labels, most=most, confident=confident)

    def words(self, most: int | None = None) -> list[TermScore]:
        """The words of the vocabulary by their own score; see `hardmax.sentiment.vocabulary_view.words`."""
        return words(self._fitted(), most)

    def save(self, path: str | Path, *, force: bool = True) -> Path:
        """Write the model folder, as `save_pretrained`; a name that ends in .html gets a page about the model."""
        return self._fitted().save(path, force=force)

    def save_pretrained(self, folder: str | Path, *, force: bool = True) -> Path:
        """Write the model folder: safetensors, JSON, vocabulary, model card."""
        return self._fitted().save(folder, force=force)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "HardmaxClassifier":
        """A classifier from a model folder, or from the name of a shipped model."""
        return cls.from_model(load_model(folder))

    @classmethod
    def from_model(cls, model: SentimentModel) -> "HardmaxClassifier":
        """A classifier around a model."""
        settings = model.card.get("settings", {})
        known = {name: settings[name] for name in cls._get_param_names() if name in settings}
        tuning = Tuning(**{f.name: settings[f.name] for f in fields(Tuning) if f.name in settings})
        fixed = {"dim": model.dim, "layers": model.layers, "ngram_range": (1, model.vocabulary.ngrams)}
        clf = cls(**known | fixed, tuning=tuning, random_state=settings.get("seed", 0))
        clf.model_, clf.classes_ = model, np.array(model.classes)
        clf.history_, clf.n_iter_ = {"loss": [], "accuracy": []}, 1
        return clf

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = (getattr(clf, "model_", clf.get_params()) for clf in (self, other))
        return bool(mine == theirs)

    def __hash__(self) -> int:
        return hash(type(self))


def load(name: str | Path) -> HardmaxClassifier:
    """A shipped model by its name (`imdb`, `imdb-words`), or any model folder, ready to predict and to explain.

    Models that are loaded again come from memory while their files do not change.

    Example:
        >>> clf = load("imdb-words")
        >>> clf.predict(["A great film.", "So dull!"]).tolist()
        ['positive', 'negative']
    """
    return HardmaxClassifier.from_pretrained(name)
