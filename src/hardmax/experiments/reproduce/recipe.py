"""The paper's recipe with exact hardmax layers: random vectors, trained alpha, padding that attends, dense Adam.

Implements [AFZ24, section 6]: words begin at N(0, 1), the decoder within +-1/sqrt(d), alpha within (0, 1); K = 8;
Adam at rate 0.001, batches of 64, gradients clipped at norm 5. Departs: the gradient is the exact one through the words
that are followed, where the paper's training has softmax with temperature 0.001 (`recipe_softmax` has it too); alpha
stays above 0.001, which the paper intends.

All random choices come from (seed, dim) and (seed, epoch), none from a generator's state, and the whole state is kept
after every epoch, so that a run that was stopped goes on as if it had not been.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.experiments.reviews import Reviews
from hardmax.io.files import write_file

LAYERS = 8
RATE, BATCH, CLIP = 1e-3, 64, 5.0
LEAST_ALPHA = 1e-3
PIECE = 64  # batches between two calls of `tell`

Tell = Callable[[int, int], object]
ARRAYS = ("E", "first", "second", "few", "few_first", "few_second")


@dataclass(eq=False)
class PaperRun:
    """A model of the paper on its way.

    Attributes:
        E: (V, d) word vectors.   few: (d + 2,) v, b and alpha.   The others are the moments of Adam.
        history: by epoch: loss and accuracy on the reviews to learn from (during the epoch, as the paper measures
            them), test_loss and test_accuracy, alpha; with softmax also hardmax_loss.
    """

    E: NDArray[np.float32]
    few: NDArray[np.float64]
    first: NDArray[np.float32]
    second: NDArray[np.float32]
    few_first: NDArray[np.float64]
    few_second: NDArray[np.float64]
    step: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        """Dimensions of the words."""
        return int(self.E.shape[1])

    @property
    def alpha(self) -> float:
        """The step of the layers."""
        return float(self.few[-1])

    @property
    def epochs(self) -> int:
        """How many epochs are complete."""
        return len(self.history.get("loss", []))

    def add(self, **figures: float) -> None:
        """Write down the figures of an epoch."""
        for name, value in figures.items():
            self.history.setdefault(name, []).append(float(value))


def begin(words: int, dim: int, seed: int = 0) -> PaperRun:
    """Random vectors, decoder and alpha.

    Example:
        >>> run = begin(5, 2)
        >>> run.E.shape, 0 < run.alpha < 1
        ((5, 2), True)
    """
    rng = np.random.default_rng((seed, dim))
    E = rng.standard_normal((words, dim)).astype(np.float32)
    few = np.concatenate([rng.uniform(-1, 1, dim + 1) / np.sqrt(dim), rng.uniform(0, 1, 1)])
    return PaperRun(E, few, np.zeros_like(E), np.zeros_like(E), np.zeros_like(few), np.zeros_like(few))


def order_of(reviews: Reviews, seed: int, epoch: int) -> NDArray[np.int64]:
    """The reviews to learn from in the order of an epoch."""
    return np.random.default_rng((seed, 2, epoch)).permutation(reviews.learn)


def train_epoch(run: PaperRun, reviews: Reviews, seed: int, tell: Tell | None = None) -> None:
    """One pass with exact hardmax layers, then a look at the reviews kept aside."""
    from hardmax.experiments.reproduce.recipe_kernel import train_part

    order = order_of(reviews, seed, run.epochs)
    loss, right = 0.0, 0
    for start in range(0, order.size, PIECE * BATCH):
        piece = order[start : start + PIECE * BATCH]
        part, good, run.step = train_part(
            reviews.ids, reviews.counts, reviews.offsets, reviews.labels, piece, BATCH, LAYERS, run.E, run.first,
            run.second, run.few, run.few_first, run.few_second, run.step, RATE, CLIP, LEAST_ALPHA,
        )  # fmt: skip
        loss, right = loss + part, right + good
        if tell is not None:
            tell(start + piece.size, order.size)
    run.add(loss=loss / order.size, accuracy=right / order.size, alpha=run.alpha, **test(run, reviews))


def test(run: PaperRun, reviews: Reviews) -> dict[str, float]:
    """Loss and accuracy with hardmax layers on the reviews kept aside."""
    logits = read(run, reviews, reviews.aside).logits
    labels = reviews.labels[reviews.aside]
    return {"test_loss": cross_entropy(logits, labels), "test_accuracy": float(((logits > 0) == (labels == 1)).mean())}


@dataclass(frozen=True, eq=False)
class Readings:
    """Some reviews through a model; the arrays (T,) are in the order of `Reviews.ids`.

    Attributes:
        logits: (B,).
        leads: (T,) the layer since which a word leads; -1 for words that do not, -2 in reviews that were not read.
        ends: (T,) <v, z_i^K>; 0 in reviews that were not read.
    """

    logits: NDArray[np.float64]
    leads: NDArray[np.int64]
    ends: NDArray[np.float64]


def read(run: PaperRun, reviews: Reviews, which: NDArray[np.int64]) -> Readings:
    """Some of the reviews through the hardmax layers."""
    from hardmax.experiments.reproduce.recipe_kernel import read_reviews

    found = Readings(np.empty(len(which)), np.full(reviews.ids.size, -2, np.int64), np.zeros(reviews.ids.size))
    where = reviews.ids, reviews.counts, reviews.offsets, np.asarray(which, np.int64)
    read_reviews(*where, run.E, run.few, LAYERS, found.logits, found.leads, found.ends)
    return found


def cross_entropy(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Mean of log(1 + exp(-+ logit)).

    Example:
        >>> round(cross_entropy(np.array([0.0, 50.0]), np.array([0, 1])), 4)
        0.3466
    """
    signed = np.where(labels == 1, logits, -logits)
    return float(np.logaddexp(0.0, -signed).mean())


def mark_of(reviews: Reviews, settings: dict[str, Any]) -> str:
    """A digest of data and settings: a checkpoint is good for these only."""
    digest = sha256(json.dumps(settings, sort_keys=True).encode())
    for array in (reviews.ids, reviews.counts, reviews.offsets, reviews.labels, reviews.learn):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_run(run: PaperRun, path: Path, mark: str) -> Path:
    """Keep the whole state in one file (safetensors), replaced as a whole."""
    from safetensors.numpy import save

    note = {"mark": mark, "step": run.step, "history": run.history}
    tensors = {name: np.ascontiguousarray(getattr(run, name)) for name in ARRAYS}
    return write_file(path, lambda to: to.write_bytes(save(tensors, {"state": json.dumps(note)})))


def load_run(path: Path, mark: str) -> PaperRun | None:
    """The state in a file; None if there is none, or if it belongs to other data or other settings.

    Raises:
        BadInput: the file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            note = json.loads((file.metadata() or {})["state"])
            arrays = {name: np.array(file.get_tensor(name)) for name in ARRAYS}
        if note["mark"] != mark:
            return None
        return PaperRun(**arrays, step=int(note["step"]), history=note["history"])
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise BadInput(
            f"{path} is not a checkpoint, or it is damaged ({error})", fix="remove it, or --force"
        ) from error
