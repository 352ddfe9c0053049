"""The paper's way to train: softmax with a small temperature in place of hardmax, in torch. The same model comes out.

Implements [AFZ24, section 6]: temperature 0.001, the first 128 words, Adam with rate 0.001, batches of 64, gradients
clipped at 5, alpha trained. Departs: places without a word are masked, so no padding takes part; alpha stays positive;
nothing is chosen on the test set. Random choices come from (seed, epoch) alone, so a run that was stopped goes on as if
it had not been; the same bits need the same number of threads of torch.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput, need
from hardmax.sentiment.checkpoint import fingerprint, read_checkpoint, write_checkpoint
from hardmax.sentiment.model import SentimentModel, winners
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.training import LEAST_ALPHA, Examples, Progress
from hardmax.text.vocabulary import Bags, Vocabulary

TEMPERATURE = 0.001
WORDS = 128
RATE = 1e-3
BATCH = 64
CLIP = 5.0


class Relaxed:
    """The relaxed model and its optimizer: what learns, and what a checkpoint holds."""

    def __init__(self, torch: Any, terms: int, outputs: int, recipe: Recipe) -> None:
        self.torch, self.recipe, self.outputs = torch, recipe, outputs
        with torch.random.fork_rng(devices=[]):  # the caller's generator stays as it is
            torch.manual_seed(recipe.seed)
            self.vectors = torch.nn.Embedding(terms, recipe.dim)
            self.decoder = torch.nn.Linear(recipe.dim, outputs)
        self.alpha = torch.nn.Parameter(torch.tensor(float(recipe.alpha)))
        self.numbers = [self.vectors.weight, self.decoder.weight, self.decoder.bias, self.alpha]
        self.adam = torch.optim.Adam(self.numbers, lr=recipe.learning_rate)
        loss = torch.nn.BCEWithLogitsLoss if outputs == 1 else torch.nn.CrossEntropyLoss
        self.loss_of = loss(reduction="none")

    def step(self, examples: Examples, texts: Any) -> float:
        """One step on some of the texts; returns the mean loss."""
        torch = self.torch
        ids, mask = _padded(examples.bags.take(texts))
        mean = relaxed_mean(
            torch, self.vectors(torch.from_numpy(ids)), torch.from_numpy(mask), self.alpha, self.recipe.layers
        )
        logits, labels = self.decoder(mean), torch.from_numpy(examples.labels[texts])
        losses = self.loss_of(logits[:, 0], labels.float()) if self.outputs == 1 else self.loss_of(logits, labels)
        loss = (losses * torch.from_numpy(examples.weight[texts]).float()).mean()
        self.adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.numbers, CLIP)
        self.adam.step()
        with torch.no_grad():
            self.alpha.clamp_(min=LEAST_ALPHA)
        return float(loss.detach())

    def state(self) -> dict[str, Any]:
        """Everything that changes during training, as arrays."""
        found: dict[str, Any] = {}
        for k, number in enumerate(self.numbers):
            found[f"value{k}"] = number.detach().numpy()
            found |= {f"{name}{k}": value.numpy() for name, value in self.adam.state[number].items()}
        return found

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a stored state."""
        torch = self.torch
        with torch.no_grad():
            for k, number in enumerate(self.numbers):
                number.copy_(torch.from_numpy(np.array(state[f"value{k}"])))
                moments = ("step", "exp_avg", "exp_avg_sq")
                self.adam.state[number] = {m: torch.from_numpy(np.array(state[f"{m}{k}"])) for m in moments}

    def model(self, vocabulary: Vocabulary, classes: tuple[Any, ...]) -> SentimentModel:
        """The hardmax model with these numbers."""
        return SentimentModel(
            vocabulary,
            self.vectors.weight.detach().numpy().astype(np.float32).copy(),
            self.decoder.weight.detach().numpy().astype(np.float64),
            self.decoder.bias.detach().numpy().astype(np.float64),
            float(self.alpha.detach()),
            self.recipe.layers,
            classes,
            {"settings": self.recipe.as_dict() | {"method": "softmax", "temperature": TEMPERATURE}},
        )


def train_softmax(
    examples: Examples,
    held: Examples | None,
    vocabulary: Vocabulary,
    classes: tuple[Any, ...],
    recipe: Recipe,
    progress: Callable[[Progress], object] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 10.0,
) -> tuple[SentimentModel, dict[str, list[float]]]:
    """Train the relaxation and return it as a hardmax model, with its losses and accuracies by epoch."""
    torch = need("torch", "torch", "the method softmax")
    if not len(vocabulary):
        raise BadInput("no word occurs often enough to be learned", fix="smaller min_texts, or more texts")
    relaxed = Relaxed(torch, len(vocabulary), 1 if len(classes) == 2 else len(classes), recipe)
    n, batch = len(examples.bags), recipe.batch_size
    per_epoch = -(-n // batch)
    epochs = recipe.passes(n)[1] or recipe.passes(n)[0]
    history: dict[str, list[float]] = {"loss": [], "accuracy": []}
    step, total = 0, 0.0
    mark = fingerprint(examples, recipe.as_dict() | {"method": "softmax"}) if checkpoint else ""
    if checkpoint and resume and Path(checkpoint).exists():
        stored = read_checkpoint(checkpoint, mark)
        relaxed.restore(stored)
        step, total = int(stored["done"]), float(stored["total"])
        history = {name: list(map(float, stored[name])) for name in history}
    begun = saved = time.monotonic()
    while step < per_epoch * epochs:
        epoch, k = divmod(step, per_epoch)
        texts = np.random.default_rng((recipe.seed, 2, epoch)).permutation(n)[k * batch : (k + 1) * batch]
        total += relaxed.step(examples, texts) * len(texts)
        step += 1
        last, seen = k == per_epoch - 1, k * batch + len(texts)
        loss = total / seen
        if last:
            history["loss"].append(loss)
            total = 0.0
            if held is not None:
                found = winners(relaxed.model(vocabulary, classes).run(held.bags)[0])
                history["accuracy"].append(float((found == held.labels).mean()))
        if progress is not None:
            accuracy = history["accuracy"][-1] if history["accuracy"] else None
            now = time.monotonic() - begun
            progress(Progress(epoch + last, epochs, step, per_epoch * epochs, loss, now, accuracy))
        if checkpoint and (last or time.monotonic() - saved > checkpoint_seconds):
            write_checkpoint(checkpoint, relaxed.state() | {"done": step, "total": total, **history}, mark)
            saved = time.monotonic()
    return relaxed.model(vocabulary, classes), history


def _padded(bags: Bags) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(B, WORDS) term numbers and whether there is a term."""
    sizes = np.minimum(np.diff(bags.offsets), WORDS)
    ids, mask = np.zeros((len(bags), WORDS), np.int64), np.arange(WORDS) < sizes[:, None]
    for t, size in enumerate(sizes):
        ids[t, :size] = bags.ids[bags.offsets[t] : bags.offsets[t] + size]
    return ids, mask


def relaxed_mean(torch: Any, z: Any, mask: Any, alpha: Any, layers: int) -> Any:
    """(B, d): z_i <- (z_i + alpha sum_j softmax_j(<z_i, z_j> / T) z_j) / (1 + alpha), then the mean over the words."""
    for _ in range(layers):
        scores = (z @ z.transpose(1, 2)) / TEMPERATURE
        attention = torch.softmax(scores.masked_fill(~mask[:, None, :], -torch.inf).nan_to_num(neginf=-1e30), dim=-1)
        z = (z + alpha * (attention @ z)) / (1 + alpha)
    weights = mask.float()[:, :, None]
    return (z * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
