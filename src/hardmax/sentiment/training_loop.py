"""The loop around the two ways to train: epochs, progress, and a run that can be stopped at any moment and resumed.

All random choices come from (seed, epoch) and the like, none from the state of a generator, so a run that was stopped
and resumed has the same bits as one that was not. Its state is in one file, which is replaced as a whole.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.io.files import remove_partial_files, write_file
from hardmax.sentiment.model import Label, SentimentModel
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.word_scores import Examples
from hardmax.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Progress:
    """Where training is: after `step` of `steps` batches, with `epoch` of `epochs` complete.

    `loss` is that of the current epoch so far, `validation` the accuracy after the last complete epoch. Before the
    first epoch `what` says what is being done, and steps are those of an optimum that may be found sooner.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    seconds: float
    validation: float | None = None
    what: str = "training"

    @property
    def text(self) -> str:
        """What is being done, for people."""
        if self.epochs == 0:
            return self.what
        return f"{self.what}, epoch {min(self.epoch + 1, self.epochs)} of {self.epochs}"


@dataclass(frozen=True)
class Watch:
    """What `HardmaxClassifier.fit` was asked to do beside learning; see there."""

    validation: Examples | None = None
    progress: Callable[[Progress], object] | None = None
    checkpoint: str | Path | None = None
    resume: bool = False
    patience: int | None = None  # epochs of the last phase without a better accuracy, after which training stops
    checkpoint_seconds: float = 5.0  # time between two checkpoints within an epoch


class Learner(ABC):
    """The numbers of a model, which learn batch by batch."""

    def __init__(self, vocabulary: Vocabulary, classes: tuple[Label, ...], recipe: Recipe) -> None:
        if not len(vocabulary):
            raise BadInput("no word occurs often enough to be learned", fix="use a smaller min_df, or more texts")
        self.vocabulary, self.classes, self.recipe = vocabulary, classes, recipe
        self.step = 0
        self.epoch_loss = 0.0
        self.losses: list[float] = []
        self.accuracies: list[float] = []
        self.choices: dict[str, str] = {}  # what was chosen by held-out texts, and why

    @abstractmethod
    def train(self, examples: Examples, watch: Watch) -> None:
        """Make all passes."""

    @abstractmethod
    def model(self) -> SentimentModel:
        """The model as it is now."""

    @abstractmethod
    def learn(self, examples: Examples, texts: NDArray[np.int64]) -> float:
        """Take one step on some of the texts; returns their summed loss."""

    @abstractmethod
    def accuracy(self, examples: Examples) -> float:
        """The part of the texts that are labeled correctly."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Everything that changes during training, except what every learner has."""

    @abstractmethod
    def set_arrays(self, stored: dict[str, Any]) -> None:
        """Go back to what `arrays` returned."""

    @property
    def settings(self) -> dict[str, Any]:
        """What a model's card says about its training; a checkpoint is valid for these settings only."""
        return self.recipe.as_dict()

    @property
    def history(self) -> dict[str, list[float]]:
        """Loss and accuracy by epoch."""
        return {"loss": list(self.losses), "accuracy": list(self.accuracies)}

    def run(self, examples: Examples, epochs: int, watch: Watch) -> None:
        """Make all passes that are not made yet."""
        n, size, checkpoint = len(examples.bags), self.recipe.batch_size, watch.checkpoint
        per_epoch = -(-n // size)
        steps = per_epoch * epochs
        mark = fingerprint(examples, self.settings) if checkpoint else ""
        if checkpoint and watch.resume and Path(checkpoint).exists():
            self._restore(read_checkpoint(checkpoint, mark))
        begun = saved = time.monotonic()
        best: tuple[float, int, dict[str, Any]] | None = None  # accuracy, epoch, state
        while self.step < steps:
            epoch, place = divmod(self.step, per_epoch)
            order = np.random.default_rng((self.recipe.seed, 2, epoch)).permutation(n)
            for k in range(place, per_epoch):
                self.epoch_loss += self.learn(examples, order[k * size : (k + 1) * size])
                last = k == per_epoch - 1
                loss = self.epoch_loss / min((k + 1) * size, n)
                if last:
                    self.losses.append(loss)
                    self.epoch_loss = 0.0
                    if watch.validation is not None:
                        self.accuracies.append(self.accuracy(watch.validation))
                if watch.progress is not None:
                    accuracy = self.accuracies[-1] if self.accuracies else None
                    now = time.monotonic() - begun
                    watch.progress(Progress(epoch + last, epochs, self.step, steps, loss, now, accuracy))
                if checkpoint and (last or time.monotonic() - saved > watch.checkpoint_seconds):
                    write_checkpoint(checkpoint, self._state(), mark)
                    saved = time.monotonic()
            if watch.patience is not None and self.accuracies:
                if best is None or self.accuracies[-1] > best[0]:
                    best = self.accuracies[-1], epoch, {k: np.array(v) for k, v in self._state().items()}
                elif epoch - best[1] >= watch.patience:
                    break
        if best is not None:
            self._restore(best[2])

    def _state(self) -> dict[str, Any]:
        done = {"step": self.step, "epoch_loss": self.epoch_loss}
        return self.arrays() | done | {"losses": self.losses, "accuracies": self.accuracies}

    def _restore(self, stored: dict[str, Any]) -> None:
        self.step, self.epoch_loss = int(stored["step"]), float(stored["epoch_loss"])
        self.losses, self.accuracies = stored["losses"].tolist(), stored["accuracies"].tolist()
        self.set_arrays(stored)


def fingerprint(examples: Examples, settings: dict[str, Any]) -> str:
    """A digest of the data and the settings: a checkpoint is valid for these only."""
    digest = sha256(json.dumps(settings, sort_keys=True).encode())
    for array in (examples.bags.ids, examples.bags.offsets, examples.labels, examples.weight):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def write_checkpoint(path: str | Path, state: dict[str, Any], mark: str) -> None:
    """Write the state of a run; a kill leaves the old file or the new one."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}

    def write(to: Path) -> None:
        with to.open("wb") as file:  # np.savez would add an extension to a name
            np.savez(file, mark=np.array(mark), **arrays)

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_file(path, write)


def remove_checkpoint(path: str | Path) -> None:
    """Remove a checkpoint that is no longer needed, and what a kill in the middle of writing left beside it."""
    Path(path).unlink(missing_ok=True)
    remove_partial_files(Path(path))


def read_checkpoint(path: str | Path, mark: str) -> dict[str, Any]:
    """The state in a checkpoint, if it belongs to this data and these settings."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            state = {name: stored[name] for name in stored.files}
    except Exception as error:
        raise BadInput(
            f"{path} is not a checkpoint, or it is damaged ({error})", fix="train again without resuming"
        ) from error
    if str(state.pop("mark", "")) != mark:
        raise BadInput(
            f"{path} was written with different data or settings",
            fix="use the same data and settings, or train again without resuming",
        )
    return state
