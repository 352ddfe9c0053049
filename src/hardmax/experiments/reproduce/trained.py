"""The trained models that several items show: the paper's recipe (hardmax, softmax) and ours, each trained once.

They are kept in the folder `models` of the report. Training is kept after every epoch and goes on from there.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from hardmax import __version__
from hardmax.errors import BadInput
from hardmax.experiments.reproduce import paper_training
from hardmax.experiments.reproduce.items import Context
from hardmax.experiments.reproduce.paper_training import PaperRun, load_run, mark_of, save_run
from hardmax.experiments.reproduce.reviews import Reviews, prepare
from hardmax.io.documents import write_json
from hardmax.io.files import write_file

DIMS = (2, 4, 8, 16)
CLASSES = ("negative", "positive")
EARLY = 20  # batches after which the time of a run can be told


@dataclass(frozen=True)
class Plan:
    """How much is trained: reviews in all (None: all there are), and epochs with hardmax and with softmax."""

    reviews: int | None
    epochs: int
    softmax_epochs: int

    def as_dict(self) -> dict[str, Any]:
        """As settings."""
        return asdict(self)


def plan(context: Context) -> Plan:
    """The paper's 100 epochs on all reviews; with `quick` 4,000 reviews, 60 epochs of hardmax and 5 of softmax.

    Example:
        >>> from pathlib import Path
        >>> plan(Context(Path("."), Path("."), quick=True)).softmax_epochs
        5
    """
    if context.epochs is not None and context.epochs < 1:
        raise BadInput(f"epochs is {context.epochs}", fix="1 or more")
    if context.quick:
        epochs = context.epochs or 60
        return Plan(4000, epochs, min(epochs, 5))
    epochs = context.epochs or 100
    return Plan(None, epochs, epochs)


def settings(context: Context) -> dict[str, Any]:
    """What decides about the trained models."""
    return {"data": "imdb", "dims": list(DIMS), "layers": paper_training.LAYERS, **plan(context).as_dict()}


@lru_cache(maxsize=2)
def _reviews(most: int | None, seed: int) -> Reviews:
    from hardmax.text.datasets import match_labels, read

    found = read("imdb", "train")
    return prepare(found.texts, match_labels(found.labels, (0, 1)), most, seed)


def the_reviews(context: Context) -> Reviews:
    """The reviews of this run, read once."""
    context.tell(0, None, "reading the reviews")
    return _reviews(plan(context).reviews, context.seed)


def paper_model(context: Context, dim: int) -> PaperRun:
    """The paper's recipe, trained with exact hardmax layers."""
    reviews = the_reviews(context)

    def trainer(run: PaperRun) -> Callable[[Any], None]:
        return lambda tell: paper_training.train_epoch(run, reviews, context.seed, tell)

    return _trained(context, reviews, "paper", dim, plan(context).epochs, trainer)


def softmax_model(context: Context, dim: int) -> PaperRun:
    """The paper's recipe as the paper trains it, with softmax in torch."""
    from hardmax.errors import need

    need("torch", "torch", "training with softmax")
    from hardmax.experiments.reproduce.paper_softmax import SoftmaxTrainer

    reviews = the_reviews(context)
    return _trained(
        context, reviews, "softmax", dim, plan(context).softmax_epochs,
        lambda run: SoftmaxTrainer(run, reviews, context.seed).epoch,
    )  # fmt: skip


def _trained(
    context: Context, reviews: Reviews, method: str, dim: int, epochs: int,
    trainer: Callable[[PaperRun], Callable[[Any], None]],
) -> PaperRun:  # fmt: skip
    path = context.shared / f"{method}-d{dim}-e{epochs}.safetensors"
    mark = mark_of(reviews, {"method": method, "dim": dim, "seed": context.seed, "epochs": epochs})
    run = load_run(path, mark) or paper_training.begin(len(reviews.words), dim, context.seed)
    if run.epochs >= epochs:
        return run
    one_epoch = trainer(run)
    what, begun, first, told = f"{method}, d = {dim}", time.monotonic(), run.epochs, False
    size = len(reviews.learn)
    while run.epochs < epochs:
        done_before = run.epochs

        def tell(done: int, of: int, done_before: int = done_before) -> None:
            nonlocal told
            seen, total = done_before * size + done, epochs * size
            left = (time.monotonic() - begun) * (total - seen) / max(seen - first * size, 1)
            if not told and seen - first * size >= EARLY * paper_training.BATCH:
                told = True
                if left > 60:
                    context.note(
                        f"{what}: {epochs - done_before} epochs, {duration(left)} on this machine; if it is "
                        "interrupted, the same command goes on from the last complete epoch"
                    )
            context.tell(seen, total, f"{what}, epoch {done_before + 1} of {epochs}, {duration(left)} left")

        one_epoch(tell)
        save_run(run, path, mark)
    return run


def duration(seconds: float) -> str:
    """A time for reading.

    Example:
        >>> duration(45), duration(150), duration(9000)
        ('about 45 s', 'about 2 min', 'about 2.5 h')
    """
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def our_model(context: Context, dim: int) -> tuple[Any, dict[str, list[float]]]:
    """Our classifier trained on the same reviews, with its losses and accuracies (on those kept aside) by epoch.

    Nothing is chosen by the accuracies; the model is that of the last epoch.
    """
    import numpy as np

    from hardmax.sentiment.estimator import HardmaxClassifier
    from hardmax.sentiment.files import load_model

    reviews = the_reviews(context)
    folder = context.shared / f"ours-d{dim}"
    notes = context.shared / f"ours-d{dim}.json"
    mark = mark_of(reviews, {"hardmax": __version__, "method": "ours", "dim": dim, "seed": context.seed})
    if notes.exists() and folder.is_dir():
        known = json.loads(notes.read_text(encoding="utf-8"))
        if known.get("mark") == mark:
            return load_model(folder), known["history"]
    names = np.array(CLASSES)[reviews.labels]
    parts = [([reviews.texts[i] for i in part], names[part]) for part in (reviews.learn, reviews.aside)]
    begun = time.monotonic()

    def tell(p: Any) -> None:
        left = (time.monotonic() - begun) * (p.steps - p.step) / max(p.step, 1)
        context.tell(p.step, p.steps, f"ours, d = {dim}, epoch {min(p.epoch + 1, p.epochs)}, {duration(left)} left")

    context.tell(0, None, f"ours, d = {dim}: counting words")
    clf = HardmaxClassifier(dim=dim, random_state=context.seed)
    checkpoint = context.shared / f"ours-d{dim}-{mark[:12]}.checkpoint.npz"
    clf.fit(*parts[0], validation=parts[1], progress=tell, checkpoint=checkpoint, resume=True)
    clf.save_pretrained(folder)
    write_file(notes, lambda to: write_json({"mark": mark, "history": clf.history_}, to))
    checkpoint.unlink(missing_ok=True)
    return load_model(folder), clf.history_
