"""How `HardmaxClassifier` learns: from texts and labels to a trainer, at once, in parts, or from a fitted model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput, whole
from hardmax.sentiment.columns import (
    as_classes,
    as_indicator,
    as_labels,
    as_pair,
    as_texts,
    as_weights,
    check_size,
    class_weights,
    indicator_of,
)
from hardmax.sentiment.contract import Classifier
from hardmax.sentiment.model import SentimentModel
from hardmax.sentiment.recipe import LEAST_TERMS, MOST_NUMBERS, Recipe, Tuning
from hardmax.text.stored import some_of
from hardmax.text.tokenizer import Given, Tokenizer
from hardmax.text.vocabulary import Vocabulary
from hardmax.text.words import split

if TYPE_CHECKING:  # compiled code: loaded by fit
    from hardmax.sentiment.training import Trainer
    from hardmax.sentiment.training_loop import Examples, Learner, Progress

SAMPLE = 500  # texts whose length decides about min_df
MOST_TERMS = 1_000_000  # the largest vocabulary with few classes
LONG = 100  # words; in longer texts most terms that occur once say nothing


class Fitting(Classifier):
    """`fit` and `partial_fit`; the parameters are those of `HardmaxClassifier`."""

    method: str
    ngram_range: tuple[int, int]
    min_df: int | float | None
    max_features: int | None
    tokenizer: Given | None
    vocabulary: Vocabulary | None
    tuning: Tuning | None
    class_weight: str | Mapping[Any, float] | None
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    warm_start: bool
    n_jobs: int | None
    verbose: bool | int
    random_state: "int | np.random.RandomState | None"

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
    ) -> Self:
        """Learn from texts and their labels.

        Args:
            sample_weight: one number of at least 0 for each text.
            validation: texts and labels to measure the accuracy on after every epoch; nothing is chosen by it.
            progress: called after every batch.
            checkpoint: a file for the state of the run; with `resume`, an interrupted run continues from it, and the
                result is bit-for-bit the same.
        """
        from hardmax.sentiment.training_loop import Examples, Watch

        if resume and checkpoint is None:
            raise BadInput("resume needs a checkpoint", fix="name the file with checkpoint=...")
        texts = self._texts(X, True)
        several = as_indicator(y, len(texts))
        every, labels = several or as_classes(as_labels(y, len(texts)))
        if several and (self.method != "hardmax" or self.class_weight is not None or self.warm_start):
            raise BadInput("several labels per text need method='hardmax', without class_weight and warm_start")
        going_on = self._going_on(every)
        self.classes_ = every
        weight = as_weights(sample_weight, len(texts)) * class_weights(self.class_weight, every, labels)
        if not weight.all():  # a text of weight 0 leaves no trace, not even its words
            texts = some_of(texts, np.flatnonzero(weight))
            labels, weight = labels[weight > 0], weight[weight > 0]
        weight = as_weights(weight, len(texts))
        patience = self._patience(checkpoint)
        held_out: tuple[Sequence[str], NDArray[np.int64]] | None = None
        if validation is not None:
            others, given = as_pair("validation", validation)
            if several:
                held_out = others, indicator_of(given, len(others), len(every))
            else:
                number = {c: i for i, c in enumerate(every.tolist())}
                wanted = [number.get(c, -1) for c in as_labels(given, len(others)).tolist()]
                held_out = others, np.array(wanted)
        elif patience is not None:
            learn, aside = self._split(labels)
            held_out = some_of(texts, aside), labels[aside]
            texts, labels, weight = some_of(texts, learn), labels[learn], weight[learn]
        with self._threads():
            check_size(0, len(every))  # before anything is counted
            vocabulary = self.model_.vocabulary if going_on else self._vocabulary(texts, len(every))
            check_size(len(vocabulary), len(every))
            examples = Examples(vocabulary.bags(texts), labels, weight)
            measured = None
            if held_out is not None:
                measured = Examples(vocabulary.bags(held_out[0]), held_out[1], np.ones(len(held_out[0])))
            tell = _printing(progress) if self.verbose else progress
            learner = self._learner(examples, vocabulary, going_on, tell)
            learner.train(examples, Watch(measured, tell, checkpoint, resume, patience))
        return self._done(learner, None)

    def _going_on(self, classes: NDArray[Any]) -> bool:
        """Whether `fit` continues with the fitted model."""
        if not (self.warm_start and hasattr(self, "model_")):
            return False
        if self.method != "hardmax" or classes.tolist() != list(self.model_.classes):
            raise BadInput(
                "warm_start needs method='hardmax' and the classes of the fitted model",
                found=f"method={self.method!r}, classes {classes.tolist()!r:.80}",
                fix="use warm_start=False to start again",
            )
        return True

    def _patience(self, checkpoint: str | Path | None) -> int | None:
        if not self.early_stopping:
            return None
        part, most = self.validation_fraction, self.n_iter_no_change
        if not (
            isinstance(part, float | np.floating) and 0 < part < 1 and isinstance(most, int | np.integer) and most > 0
        ):
            raise BadInput("validation_fraction must be between 0 and 1, and n_iter_no_change at least 1",
                           found=f"{part!r} and {most!r}")  # fmt: skip
        if checkpoint is not None:
            raise BadInput("early_stopping and checkpoint cannot be combined", fix="leave out one of them")
        return int(self.n_iter_no_change)

    def _split(self, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Texts to learn from and texts for early stopping, of every class its part; each keeps one to learn from."""
        labels = labels if labels.ndim == 1 else np.zeros(len(labels), np.int64)
        shuffled = np.random.default_rng((self._seed(), 3)).permutation(len(labels))
        aside = np.zeros(len(labels), bool)
        for k in range(int(labels.max()) + 1):
            mine = shuffled[labels[shuffled] == k]
            aside[mine[: min(round(self.validation_fraction * len(mine)), len(mine) - 1)]] = True
        if not aside.any():
            raise BadInput(
                f"early_stopping leaves no text for validation: {len(labels)} texts",
                fix="use more texts, or turn it off",
            )
        return np.flatnonzero(~aside), np.flatnonzero(aside)

    def _learner(
        self,
        examples: "Examples",
        vocabulary: Vocabulary,
        going_on: bool,
        progress: Callable[["Progress"], object] | None,
    ) -> "Learner":
        recipe, classes = self._recipe(), tuple(self.classes_.tolist())
        if going_on:
            from hardmax.sentiment.training import Continued

            return Continued(self.model_, recipe)
        if self.method == "softmax":
            from hardmax.sentiment.relaxation import Relaxed

            return Relaxed(vocabulary, classes, recipe)
        from hardmax.sentiment.choices import prepare

        return prepare(examples, vocabulary, classes, recipe, progress=progress)

    def partial_fit(
        self, X: Iterable[str], y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass over one part of a stream, at a constant learning rate.

        On a model that was fitted or loaded it continues with that model: its vocabulary, its classes and the radii of
        its words stay, its scores learn. Otherwise the first call fixes the classes, the vocabulary (that of the part,
        unless `vocabulary` is given: see `Vocabulary.count`, which reads a stream) and the radii.
        """
        from hardmax.sentiment.choices import prepare
        from hardmax.sentiment.training_loop import Examples

        if self.method != "hardmax":
            raise BadInput(
                f"partial_fit needs method='hardmax'; the method is {self.method!r}",
                fix="use fit, or the method hardmax",
            )
        model: SentimentModel | None = getattr(self, "model_", None)
        if model is not None and model.multi_label:
            raise BadInput("partial_fit cannot continue a model with several labels per text", fix="use fit")
        texts = self._texts(X, model is None)
        given = as_labels(y, len(texts))
        named = list(classes) if isinstance(classes, Iterable) else []
        every = None if classes is None else np.unique(as_labels(named, len(named)))
        if model is not None:
            known = np.array(model.classes)
            if every is not None and not np.array_equal(every, known):
                raise BadInput("classes differ from those of the model", found=f"{every.tolist()!r:.200}",
                               fix=f"the model has {known.tolist()!r:.200}")  # fmt: skip
        else:
            if not len(texts):
                raise BadInput("there is no text to learn from", fix="begin with a part that holds texts")
            known = np.unique(given) if every is None else every
            if len(known) < 2:
                raise BadInput(
                    "partial_fit needs at least two classes",
                    found=repr(known.tolist()),
                    fix="name all classes in the first call with classes=[...]",
                )
        number = {c: i for i, c in enumerate(known.tolist())}
        strange = [c for c in given.tolist() if c not in number]
        if strange:
            raise BadInput(
                f"the label {strange[0]!r} is not among the classes of the model",
                found=f"the classes are {known.tolist()!r:.200}",
                fix="name all classes in the first call with classes=[...]; new ones need a new fit",
            )
        labels = np.array([number[c] for c in given.tolist()], np.int64)
        weight = as_weights(sample_weight, len(texts)) * class_weights(self.class_weight, known, labels)
        self.classes_ = known
        trainer: Trainer | None = getattr(self, "_trainer", None)
        with self._threads():
            check_size(0, len(known))
            vocabulary = self._vocabulary(texts, len(known)) if model is None else model.vocabulary
            check_size(len(vocabulary), len(known))
            examples = Examples(vocabulary.bags(texts), labels, weight)
            if trainer is None and model is not None:
                from hardmax.sentiment.training import Continued

                trainer = Continued(model, self._recipe())
            elif trainer is None:
                trainer = prepare(examples, vocabulary, tuple(known.tolist()), self._recipe(), stream=True)
            trainer.pass_once(examples)
        return self._done(trainer, trainer)

    def _texts(self, X: Any, first: bool) -> Sequence[str]:
        """The texts in X; `first` when learning begins. A subclass may make texts from something else here."""
        return as_texts(X)

    def _threads(self) -> AbstractContextManager[None]:
        if self.n_jobs is None or self.n_jobs == -1:
            return nullcontext()
        if not isinstance(self.n_jobs, int | np.integer) or self.n_jobs < 1:
            raise BadInput("n_jobs must be a number of threads, -1 or None", found=repr(self.n_jobs))
        from hardmax.jit.threads import at_most

        return at_most(int(self.n_jobs))

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**31))
        if isinstance(self.random_state, np.random.RandomState):
            return int(self.random_state.randint(2**31 - 1))
        return whole("random_state", self.random_state, least=0)

    def _recipe(self) -> Recipe:
        seed = self._seed()
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

    def _vocabulary(self, texts: Sequence[str], classes: int) -> Vocabulary:
        """The given vocabulary or that of the texts; with so many classes that the scores of a million terms would be
        too many numbers, it has fewer terms."""
        if self.vocabulary is not None:
            if not isinstance(self.vocabulary, Vocabulary):
                raise BadInput(
                    "vocabulary must be a Vocabulary",
                    found=type(self.vocabulary).__name__,
                    fix="pass Vocabulary(terms, ngrams=2) from hardmax.text.vocabulary, or leave it out",
                )
            return self.vocabulary
        least, most = self.min_df, self.max_features
        if least is None:
            least = usual_min_df(texts)
        elif isinstance(least, float) and 0 <= least <= 1:
            least = max(1, ceil(least * len(texts)))
        if not isinstance(least, int | np.integer) or isinstance(least, bool) or least < 1:
            raise BadInput(
                "min_df must be an integer of at least 1, or a fraction from 0.0 to 1.0", found=repr(self.min_df)
            )
        if most is not None and (not isinstance(most, int | np.integer) or most < 1):
            raise BadInput("max_features must be an integer of at least 1, or None", found=repr(most))
        tokenizer = None if self.tokenizer is None else Tokenizer(self.tokenizer)
        fitting = min(MOST_TERMS, max(LEAST_TERMS, MOST_NUMBERS // classes))
        return Vocabulary.count(texts, self.ngram_range, int(least), most or fitting, tokenizer)

    def _done(self, learner: "Learner", stream: "Trainer | None") -> Self:
        self.model_, self.history_ = learner.model(), learner.history
        self.n_iter_ = max(1, len(learner.losses))
        self.choices_ = learner.choices
        self._trainer = stream  # the next part of a stream continues with its moments
        return self


def usual_min_df(texts: Sequence[str]) -> int:
    """The least document frequency of terms: 1 for short texts, 2 for long ones, and more for very many words.

    Example:
        >>> usual_min_df(["A short message."] * 5000), usual_min_df(["word " * 300] * 5000)
        (1, 2)
    """
    some = texts[:: -(-len(texts) // SAMPLE)]
    words = sum(len(split(text)) for text in some) / max(len(some), 1)
    return 1 + (words >= LONG) + (words * len(texts) > 2e6) + (words * len(texts) > 2e7)


def _printing(also: Callable[["Progress"], object] | None) -> Callable[["Progress"], None]:
    """Progress as a line for what is done before the first epoch and one after every epoch, besides `also`."""
    done, doing = 0, ""

    def tell(p: "Progress") -> None:
        nonlocal done, doing
        if p.epochs == 0 and p.what != doing:
            doing = p.what
            print(f"{doing} ...")
        if p.epoch > done:
            done = p.epoch
            accuracy = "" if p.validation is None else f", accuracy {p.validation:.4f}"
            print(f"epoch {p.epoch} of {p.epochs}: loss {p.loss:.4f}{accuracy}, {p.seconds:.1f} s")
        if also is not None:
            also(p)

    return tell
