"""The trained models that several items show: the paper's recipe (hardmax, softmax) and ours, each trained once.

They are kept in the folder `models` of the report. Training is saved after every epoch and continues from there. The
numbers that [AFZ24, section 6] and the files published with it give stand here as well.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from hardmax import __version__
from hardmax.errors import need
from hardmax.experiments.context import Context
from hardmax.experiments.reproduce import recipe
from hardmax.experiments.reproduce.recipe import PaperRun, load_run, mark_of, save_run
from hardmax.experiments.reviews import Reviews, imdb, prepare
from hardmax.io.documents import write_json
from hardmax.io.files import write_file

Dims = tuple[int, ...]
DIMS = (2, 4, 8, 16)
CLASSES = ("negative", "positive")
QUICK = {"reviews": 4000, "epochs": 60}
# What all items that show models trained with hardmax have in common.
TRAINED: dict[str, Any] = {"source": "[AFZ24] section 6", "shares": True, "quick": QUICK}

PAPER_REVIEWS = 50_000
PAPER_ACCURACY = {2: 0.791, 4: 0.823, 8: 0.851, 16: 0.882}  # the best epoch on the test set
PAPER_LOSS = {2: 0.160, 4: 0.015}  # training loss at epoch 100, softmax
PAPER_LOSS_GAP = 0.001  # hardmax within this of softmax
PAPER_ALPHA = 2.35  # of the saved model with d = 2
PAPER_WORDS = 121_296
PAPER_LEADERS = ("great", "worst", "waste", "love", "awful", "money", "year", "amazing", "boring", "perfect")
CONFIDENT = 0.95  # reviews whose leaders are counted: labeled right with at least this probability
OPINION = 2.0  # leaders that are counted: |<v, z> + b| above this


@lru_cache(maxsize=2)
def _reviews(most: int | None, seed: int) -> Reviews:
    return prepare(*imdb(), most, seed)


@dataclass(frozen=True)
class Models:
    """The models of one run."""

    context: Context
    most: int | None  # the largest number of reviews; None: all there are
    epochs: int  # of the paper's training with hardmax
    softmax_epochs: int | None = None  # of the paper's training with softmax

    @property
    def reviews(self) -> Reviews:
        """The reviews, read once."""
        self.context.tell(0, None, "reading the reviews")
        return _reviews(self.most, self.context.seed)

    def paper(self, dim: int, layers: int = recipe.LAYERS) -> PaperRun:
        """The paper's recipe, trained with exact hardmax layers; with 0 layers, without attention."""
        reviews, seed = self.reviews, self.context.seed
        method = "paper" if layers else "no-attention"
        return self._trained(method, dim, self.epochs, lambda run: partial(recipe.train_epoch, run, reviews, seed))

    def softmax(self, dim: int) -> PaperRun:
        """The paper's recipe as the paper trains it, with softmax in torch."""
        need("torch", "torch", "training with softmax")
        reviews, seed, epochs = self.reviews, self.context.seed, min(self.epochs, self.softmax_epochs or self.epochs)
        return self._trained("softmax", dim, epochs, lambda run: recipe.SoftmaxTrainer(run, reviews, seed).epoch)

    def _trained(
        self, method: str, dim: int, epochs: int, trainer: Callable[[PaperRun], Callable[[Any], None]]
    ) -> PaperRun:
        context, reviews = self.context, self.reviews
        path = context.shared / f"{method}-d{dim}-e{epochs}-seed{context.seed}.safetensors"
        mark = mark_of(reviews, {"method": method, "dim": dim, "seed": context.seed, "epochs": epochs})
        layers = 0 if method == "no-attention" else recipe.LAYERS
        run = load_run(path, mark) or recipe.begin(len(reviews.words), dim, context.seed, layers)
        if run.epochs >= epochs:
            return run
        one_epoch = trainer(run)

        def tell(done: int, of: int) -> None:
            what = f"{method}, d = {dim}, epoch {run.epochs + 1} of {epochs}"
            context.tell(run.epochs * of + done, epochs * of, what)

        while run.epochs < epochs:
            one_epoch(tell)
            save_run(run, path, mark)
        return run

    def ours(self, dim: int) -> tuple[Any, dict[str, list[float]]]:
        """Our classifier trained on the same reviews, with its losses and accuracies (on the held-out ones) by epoch.

        Nothing is chosen by the accuracies; the model is that of the last epoch.
        """
        from hardmax.sentiment.estimator import HardmaxClassifier
        from hardmax.sentiment.files import load_model

        context, reviews = self.context, self.reviews
        folder = context.shared / f"ours-d{dim}"
        notes = context.shared / f"ours-d{dim}.json"
        mark = mark_of(reviews, {"hardmax": __version__, "method": "ours", "dim": dim, "seed": context.seed})
        if notes.exists() and folder.is_dir():
            known = json.loads(notes.read_text(encoding="utf-8"))
            if known.get("mark") == mark:
                return load_model(folder), known["history"]
        names = np.array(CLASSES)[reviews.labels]
        parts = [([reviews.texts[i] for i in part], names[part]) for part in (reviews.learn, reviews.aside)]

        def tell(p: Any) -> None:
            context.tell(p.step, p.steps, f"ours, d = {dim}, {p.text}")

        context.tell(0, None, f"ours, d = {dim}: counting words")
        clf = HardmaxClassifier(dim=dim, random_state=context.seed)
        checkpoint = context.shared / f"ours-d{dim}-{mark[:12]}.checkpoint.npz"
        clf.fit(*parts[0], validation=parts[1], progress=tell, checkpoint=checkpoint, resume=True)
        clf.save_pretrained(folder)
        write_file(notes, lambda to: write_json({"mark": mark, "history": clf.history_}, to))
        checkpoint.unlink(missing_ok=True)
        return load_model(folder), clf.history_
