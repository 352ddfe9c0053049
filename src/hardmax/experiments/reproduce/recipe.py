"""The paper's recipe with exact hardmax layers: random vectors, trained alpha, padding that attends, dense Adam.

Implements [AFZ24, section 6]: words begin at N(0, 1), the decoder within +-1/sqrt(d), alpha within (0, 1); K = 8;
Adam at rate 0.001, batches of 64, gradients clipped at norm 5. Departs: the gradient is the exact one through the words
that are followed, where the paper's training has softmax with temperature 0.001 (`SoftmaxTrainer`, in torch, does what
the paper does); alpha stays above 0.001, which the paper intends.

All random choices come from (seed, dim) and (seed, epoch), none from a generator's state, and the whole state is kept
after every epoch, so that an interrupted run resumes with the same result, bit for bit.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, need
from hardmax.experiments.context import silent
from hardmax.experiments.reviews import Reviews
from hardmax.io.files import write_file
from hardmax.transformer.export import one_thread

LAYERS = 8
RATE, BATCH, CLIP = 1e-3, 64, 5.0
LEAST_ALPHA = 1e-3
TEMPERATURE = 0.001
PIECE = 64  # batches between two calls of `tell`

Tell = Callable[[int, int], object]
ARRAYS = ("E", "first", "second", "few", "few_first", "few_second")


@dataclass(eq=False)
class PaperRun:
    """A model of the paper during training."""

    E: NDArray[np.float32]  # (V, d) word vectors
    few: NDArray[np.float64]  # (d + 2,) v, b and alpha
    # The moments of Adam.
    first: NDArray[np.float32]
    second: NDArray[np.float32]
    few_first: NDArray[np.float64]
    few_second: NDArray[np.float64]
    step: int = 0
    # By epoch: loss and accuracy on the reviews to learn from (during the epoch, as the paper measures them), test_loss
    # and test_accuracy, alpha; with softmax also hardmax_loss.
    history: dict[str, list[float]] = field(default_factory=dict)
    layers: int = LAYERS  # 8 in the paper; 0 is the mean of the word vectors, without attention

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
        """Record the measurements of an epoch."""
        for name, value in figures.items():
            self.history.setdefault(name, []).append(float(value))


def begin(words: int, dim: int, seed: int = 0, layers: int = LAYERS) -> PaperRun:
    """Random vectors, decoder and alpha.

    Example:
        >>> run = begin(5, 2)
        >>> run.E.shape, 0 < run.alpha < 1
        ((5, 2), True)
    """
    rng = np.random.default_rng((seed, dim))
    E = rng.standard_normal((words, dim)).astype(np.float32)
    few = np.concatenate([rng.uniform(-1, 1, dim + 1) / np.sqrt(dim), rng.uniform(0, 1, 1)])
    zero = np.zeros_like
    return PaperRun(E, few, zero(E), zero(E), zero(few), zero(few), layers=layers)


def order_of(reviews: Reviews, seed: int, epoch: int) -> NDArray[np.int64]:
    """The reviews to learn from, in the order of an epoch."""
    return np.random.default_rng((seed, 2, epoch)).permutation(reviews.learn)


def train_epoch(run: PaperRun, reviews: Reviews, seed: int, tell: Tell = silent) -> None:
    """One pass with exact hardmax layers, then a test on the held-out reviews."""
    from hardmax.experiments.reproduce.recipe_kernel import train_part

    order = order_of(reviews, seed, run.epochs)
    loss, right = 0.0, 0
    for start in range(0, order.size, PIECE * BATCH):
        piece = order[start : start + PIECE * BATCH]
        part, good, run.step = train_part(
            reviews.ids, reviews.counts, reviews.offsets, reviews.labels, piece, BATCH, run.layers, run.E, run.first,
            run.second, run.few, run.few_first, run.few_second, run.step, RATE, CLIP, LEAST_ALPHA,
        )  # fmt: skip
        loss, right = loss + part, right + good
        tell(start + piece.size, order.size)
    run.add(loss=loss / order.size, accuracy=right / order.size, alpha=run.alpha, **test(run, reviews))


def test(run: PaperRun, reviews: Reviews) -> dict[str, float]:
    """Loss and accuracy with hardmax layers on the held-out reviews."""
    logits = read(run, reviews, reviews.aside).logits
    labels = reviews.labels[reviews.aside]
    return {"test_loss": cross_entropy(logits, labels), "test_accuracy": float(((logits > 0) == (labels == 1)).mean())}


@dataclass(frozen=True, eq=False)
class Readings:
    """Some reviews, read by a model; the arrays (T,) are in the order of `Reviews.ids`."""

    logits: NDArray[np.float64]  # (B,)
    leads: NDArray[np.int64]  # (T,) the layer since which a word leads; -1 if it does not, -2 in reviews not read
    ends: NDArray[np.float64]  # (T,) <v, z_i^K>; 0 in reviews not read
    weights: NDArray[np.float64]  # (T,) the c_i with logit = b + sum_i c_i <v, z_i^0>


def read(run: PaperRun, reviews: Reviews, which: NDArray[np.int64]) -> Readings:
    """Some of the reviews through the hardmax layers."""
    from hardmax.experiments.reproduce.recipe_kernel import read_reviews

    size = reviews.ids.size
    found = Readings(np.empty(len(which)), np.full(size, -2, np.int64), np.zeros(size), np.zeros(size))
    where = reviews.ids, reviews.counts, reviews.offsets, np.asarray(which, np.int64)
    read_reviews(*where, run.E, run.few, run.layers, found.logits, found.leads, found.ends, found.weights)
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
    """A digest of data and settings: a checkpoint is valid only for these."""
    digest = sha256(json.dumps(settings, sort_keys=True).encode())
    for array in (reviews.ids, reviews.counts, reviews.offsets, reviews.labels, reviews.learn):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_run(run: PaperRun, path: Path, mark: str) -> Path:
    """Keep the whole state in one file (safetensors), replaced as a whole."""
    from safetensors.numpy import save

    note = {"mark": mark, "step": run.step, "history": run.history, "layers": run.layers}
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
        return PaperRun(**arrays, step=int(note["step"]), history=note["history"], layers=int(note["layers"]))
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise BadInput(
            f"{path} is not a checkpoint, or it is damaged ({error})", fix="remove the file, or run with --force"
        ) from error


class SoftmaxTrainer:
    """The paper's own training, softmax with temperature 0.001, in torch, on one thread.

    It continues a `PaperRun`, begins at the same numbers and sees the same batches as `train_epoch`; before every step
    the loss of the same weights under hardmax is measured too. Departs: copies of a word are one token with a count
    (log of the count is added to its score), which is the same function on fewer tokens; accuracies on the held-out
    reviews are those of the hardmax layers; sums over threads depend on their number, so there is one.
    """

    def __init__(self, run: PaperRun, reviews: Reviews, seed: int) -> None:
        self.torch = torch = need("torch", "torch", "training with softmax")
        self.run, self.reviews, self.seed = run, reviews, seed
        # The tensors share their memory with the arrays of the run.
        self.E = torch.from_numpy(run.E).requires_grad_()
        self.few = torch.tensor(run.few, dtype=torch.float32, requires_grad=True)
        self.adam = torch.optim.Adam([self.E, self.few], lr=RATE)
        self.moments = ((self.E, run.first, run.second), (self.few, run.few_first, run.few_second))
        if run.step:
            for part, *given in self.moments:
                first, second = (torch.tensor(x, dtype=torch.float32) for x in given)
                step = torch.tensor(float(run.step))
                self.adam.state[part] = {"step": step, "exp_avg": first, "exp_avg_sq": second}

    def epoch(self, tell: Tell = silent) -> None:
        """One pass; the state of torch is back in the run afterwards."""
        run, reviews = self.run, self.reviews
        order = order_of(reviews, self.seed, run.epochs)
        loss, hard, right = 0.0, 0.0, 0.0
        with one_thread(self.torch):
            for start in range(0, order.size, BATCH):
                texts = order[start : start + BATCH]
                run.few[:] = self.few.detach().numpy()
                hard += cross_entropy(read(run, reviews, texts).logits, reviews.labels[texts]) * texts.size
                value, good = self.step(texts)
                loss, right = loss + value * texts.size, right + good
                tell(start + texts.size, order.size)
        for part, first, second in self.moments:
            state = self.adam.state[part]
            first[:], second[:] = state["exp_avg"].numpy(), state["exp_avg_sq"].numpy()
        run.few[:] = self.few.detach().numpy()
        figures = {"loss": loss / order.size, "hardmax_loss": hard / order.size, "accuracy": right / order.size}
        run.add(**figures, alpha=run.alpha, **test(run, reviews))

    def step(self, texts: Any) -> tuple[float, int]:
        """One step of Adam on some reviews; returns their mean loss before it, and how many were labeled right."""
        torch = self.torch
        labels = torch.from_numpy(self.reviews.labels[texts]).float()
        logits = self.logits(texts)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        self.adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([self.E, self.few], CLIP)
        self.adam.step()
        self.run.step += 1
        with torch.no_grad():
            self.few[-1].clamp_(min=LEAST_ALPHA)
        return float(loss.detach()), int(((logits > 0) == (labels > 0)).sum())

    def logits(self, texts: Any) -> Any:
        """(B,) z_i <- (z_i + alpha sum_j p_ij z_j) / (1 + alpha), p_ij ~ w_j exp(<z_i, z_j> / T); then the mean."""
        torch = self.torch
        ids, counts = (torch.from_numpy(part) for part in _rectangle(self.reviews, texts))
        z, alpha = self.E[ids], self.few[-1]
        often = torch.log(counts)[:, None, :]  # -inf where there is no word
        for _ in range(LAYERS):
            attention = torch.softmax(z @ z.transpose(1, 2) / TEMPERATURE + often, dim=-1)
            z = (z + alpha * (attention @ z)) / (1 + alpha)
        mean = (z * counts[:, :, None]).sum(dim=1) / counts.sum(dim=1)[:, None]
        return mean @ self.few[: self.run.dim] + self.few[self.run.dim]


def _rectangle(reviews: Reviews, texts: Any) -> tuple[Any, Any]:
    """(B, n) word numbers and counts; 0 and 0 where a review has fewer distinct words than the longest."""
    sizes = np.diff(reviews.offsets)[texts]
    ids, counts = np.zeros((len(texts), sizes.max()), np.int64), np.zeros((len(texts), sizes.max()), np.float32)
    inside = np.arange(sizes.max()) < sizes[:, None]
    places = np.concatenate([np.arange(a, a + n) for a, n in zip(reviews.offsets[texts], sizes, strict=True)])
    ids[inside], counts[inside] = reviews.ids[places], reviews.counts[places]
    return ids, counts
