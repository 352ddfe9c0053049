"""`HardmaxClassifier`: the sentiment model as a scikit-learn estimator."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.columns import as_pair, as_texts
from hardmax.sentiment.files import load_model
from hardmax.sentiment.fitting import Fitting
from hardmax.sentiment.model import Label, SentimentModel, winners
from hardmax.sentiment.recipe import Recipe, Tuning
from hardmax.text.tokenizer import Given
from hardmax.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from hardmax.sentiment.drift import Drift
    from hardmax.sentiment.explain import Explanation
    from hardmax.sentiment.report import Report
    from hardmax.sentiment.vocabulary_view import LeaderCount, TermScore


class HardmaxClassifier(Fitting):
    """Classify texts: word vectors, K hardmax layers, a linear score; every prediction is a sum over words.

    Two fitted classifiers are equal if their models are; two that are not fitted, if their parameters are.

    Args:
        dim: number of dimensions of the word vectors; "auto" means 2 for two classes, which can be drawn, and as many
            as there are classes for more.
        layers: number of hardmax layers K; 0 is the mean of the word vectors, without attention. "auto" means 8 for
            long texts of two classes if attention labels as many held-out texts correctly as without, otherwise 0.
        ngram_range: smallest and largest number of words in a term, at most 3.
        min_df: ignore terms that occur in fewer texts than this: a number, or as a float a part of the texts. None
            means 1 for short texts, 2 for texts of 100 words or more, and one more from two million words on.
        max_features: keep at most this many terms, those that occur in the most texts; None means a million, or
            fewer for many classes: terms times classes is at most four million, from 2,000 classes on 2,000 terms.
        tokenizer: a function from a text to its words (strings, or pairs (start, end) of places), or a Hugging Face
            `tokenizer.json` (extra `tokenizers`), instead of the rules of `hardmax.text.words`. A model with a function
            cannot be saved.
        vocabulary: a `Vocabulary` made elsewhere (for example from a stream), instead of one from the training texts.
        method: "hardmax" (exact, compiled) or "softmax" (the relaxation of [AFZ24, section 6]; needs the extra torch).
        alpha: step size of the layers, z_i <- (z_i + alpha z_leader) / (1 + alpha).
        train_alpha: learn alpha too, starting from the given one.
        warm_epochs: at most this many steps to the optimum of the words' scores; None means 100.
        epochs: further passes through the layers, in batches. None means none, since the scores are
            adapted already; with `train_alpha`, `early_stopping` or dim=1 it means 3, or more for small data.
        batch_size: number of texts per training step; None means 256, or 64 for softmax.
        learning_rate: of the word vectors, at the beginning; None means 0.001.
        dropout: part of the words of a text that is left out at each training step.
        tuning: a `hardmax.Tuning`: how many words lead and how far, and settings that rarely need a change.
        class_weight: "balanced" (classes count the same however many texts they have), or a dict class -> weight.
        early_stopping: hold out `validation_fraction` of the texts, stop after `n_iter_no_change` epochs without a
            better accuracy on them, and keep the best epoch. Without layers there are no epochs to stop.
        validation_fraction, n_iter_no_change: of early stopping.
        warm_start: let `fit` continue with the fitted model and its vocabulary instead of starting again.
        n_jobs: number of threads; None and -1 mean all cores. The result is the same for any number.
        verbose: print what is being done, and the loss (and the accuracy) after every epoch.
        random_state: seed for all random choices; the default gives the same model every time, None another one.

    Attributes:
        classes_: the labels in order.   model_: the `SentimentModel`.   history_: loss (and accuracy) by epoch.
        choices_: what was chosen by held-out texts, and why.   n_iter_: epochs made.
        coef_, intercept_: what the words and the bias add without attention; see `coef_`.

    Example:
        >>> texts = ["a good film", "good fun", "a bad film", "bad, bad"] * 10
        >>> clf = HardmaxClassifier().fit(texts, ["pos", "pos", "neg", "neg"] * 10)
        >>> clf.predict(["a good one", "so bad"]).tolist()
        ['pos', 'neg']
    """

    def __init__(
        self,
        dim: int | str = "auto",
        layers: int | str = "auto",
        ngram_range: tuple[int, int] = (1, 2),
        *,
        min_df: int | float | None = None,
        max_features: int | None = None,
        tokenizer: Given | None = None,
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
        class_weight: str | Mapping[Any, float] | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        random_state: "int | np.random.RandomState | None" = 0,
    ) -> None:
        self.dim = dim
        self.layers = layers
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_features = max_features
        self.tokenizer = tokenizer
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
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fitted(self) -> SentimentModel:
        if not hasattr(self, "model_"):
            self._not_fitted()
        return self.model_

    def decision_function(self, X: Iterable[str]) -> NDArray[np.float64]:
        """(B,) the logit of the second of two classes, or (B, C) one score for each class."""
        logits = self._logits(X)
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def _logits(self, X: Iterable[str]) -> NDArray[np.float64]:
        model, texts = self._fitted(), self._texts(X, False)
        with self._threads():
            return model.logits(texts)

    def predict_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """(B, C) probabilities, in the order of `classes_`; of each label by itself if texts have several."""
        return self._fitted().from_logits(self._logits(X))

    def predict_log_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """(B, C) logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Iterable[str], *, abstain_below: float | None = None) -> NDArray[np.generic]:
        """The most probable label of every text; (B, L) of 0 and 1 if texts have several labels.

        Args:
            abstain_below: give the label None to texts whose highest probability is below this, and to texts without
                any known word; the result is then an array of objects.

        Example:
            >>> clf = load("imdb-words")
            >>> clf.predict(["So dull!", "qwertz"], abstain_below=0.5).tolist()
            ['negative', None]
        """
        if self._fitted().multi_label:
            if abstain_below is not None:
                raise BadInput("abstain_below needs one label per text", fix="use predict_proba")
            return np.asarray((self._logits(X) > 0).astype(np.int64))
        if abstain_below is None:
            chosen = winners(self._logits(X))
            return np.asarray(self.classes_[chosen])
        from hardmax.sentiment.vocabulary_view import abstaining

        return abstaining(self._fitted(), self._texts(X, False), abstain_below)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """(C', V) word scores <v_c, E_w>, one row for two classes, in the order of `get_feature_names_out`.

        With layers = 0 a text with n known terms has logit = intercept_ + sum of the coef_ of its terms / (n + n0),
        exactly (n0 is `model_.neutral_words`). With attention a word counts with the vector it ends at, which depends
        on the text: coef_ is then what the word would add standing where it starts, and `explain` gives its part.
        """
        model = self._attribute("coef_")
        return np.asarray(model.scores @ np.asarray(model.embedding, np.float64).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """(C',) the bias, which is the logit of a text without known words."""
        return self._attribute("intercept_").bias.copy()

    def _attribute(self, name: str) -> SentimentModel:
        if not hasattr(self, "model_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit")
        return self.model_

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The terms of the vocabulary, in the order of `coef_`; `input_features` is ignored."""
        return np.array(self._fitted().vocabulary.terms, object)

    def explain(self, text: str | bytes, label: Label | None = None) -> "Explanation":
        """Why a text gets its label: logit = bias + sum of the contributions of its words, exactly.

        Args:
            label: if texts have several labels, the one that is explained; None means the most probable.

        Raises:
            BadInput: the model gives each text one label, and a label was asked for; or there is no such label.
        """
        from hardmax.sentiment.explain import explain

        model = self._fitted()
        if label is not None:
            model = model.one_label(label)
        elif model.multi_label:
            best = int(self._logits([text])[0].argmax())  # type: ignore[list-item]  # bytes are texts, too
            model = model.one_label(model.classes[best])
        return explain(model, text)

    def explain_many(
        self, texts: Iterable[str], *, label: Label | None = None, most: int = 10, as_: str | None = None
    ) -> Any:
        """The words that matter in many texts, as one table; see `hardmax.sentiment.explain_many.explain_many`.

        Args:
            label: if texts have several labels, the one that is explained.
        """
        from hardmax.sentiment.explain_many import explain_many

        model = self._fitted() if label is None else self._fitted().one_label(label)
        return explain_many(model, as_texts(texts), most=most, as_=as_)

    def leaders(
        self, texts: Iterable[str], labels: ArrayLike | None = None, *, most: int = 30, confident: float = 0.0
    ) -> "dict[Label, list[LeaderCount]]":
        """The most frequent leaders by class; see `hardmax.sentiment.vocabulary_view.leaders`."""
        from hardmax.sentiment.vocabulary_view import leaders

        return leaders(self._fitted(), as_texts(texts), labels, most=most, confident=confident)

    def report(
        self,
        texts: Iterable[str],
        labels: ArrayLike,
        *,
        train: tuple[Iterable[str], ArrayLike] | None = None,
        against: Iterable[str] | None = None,
        baseline: bool = True,
        progress: Callable[[float, float | None, str], object] | None = None,
    ) -> "Report":
        """A report on labeled texts; `save("report.html")` writes it as a page. See `Report` for what it holds.

        Args:
            train: training texts and labels. The models for comparison are trained on them; without, TF-IDF with
                logistic regression is cross-validated on the texts themselves.
            against: other texts; the report then says how they differ from `texts`.
            baseline: compare with a model without attention and with TF-IDF + logistic regression.
        """
        from hardmax.sentiment.report import make_report

        plain = type(self)(**self.get_params() | {"layers": 0, "warm_start": False, "verbose": False})
        others = None if against is None else as_texts(against)
        learn = None if train is None else as_pair("train", train)
        return make_report(
            self._fitted(), as_texts(texts), labels, train=learn, against=others, baseline=baseline, plain=plain,
            tell=progress,
        )  # fmt: skip

    def drift(self, before: Iterable[str], after: Iterable[str]) -> "Drift":
        """How two collections of texts differ: predicted labels, words, known words, lengths; see `Drift`."""
        from hardmax.sentiment.drift import Drift

        return Drift.between(self._fitted(), as_texts(before), as_texts(after))

    def words(self, most: int | None = None) -> "list[TermScore]":
        """The words of the vocabulary by their own score; see `hardmax.sentiment.vocabulary_view.words`."""
        from hardmax.sentiment.vocabulary_view import words

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
        fixed: dict[str, Any] = {"dim": model.dim, "layers": model.layers, "ngram_range": (1, model.vocabulary.ngrams)}
        if model.vocabulary.tokenizer is not None:
            fixed["tokenizer"] = model.vocabulary.tokenizer.given
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

    def _repr_html_(self) -> str | None:
        return self.model_._repr_html_() if hasattr(self, "model_") else None


def load(name: str | Path) -> HardmaxClassifier:
    """A shipped model by its name (`imdb`, `imdb-words`), or any model folder, ready to predict and to explain.

    Models that are loaded again come from memory while their files do not change.

    Example:
        >>> clf = load("imdb-words")
        >>> clf.predict(["A great film.", "So dull!"]).tolist()
        ['positive', 'negative']
    """
    return HardmaxClassifier.from_pretrained(name)
