"""The paper's way to train: softmax with a small temperature in place of hardmax, in torch. The same model comes out.

Implements [AFZ24, section 6]: temperature 0.001, the first 128 words, Adam with rate 0.001, batches of 64, gradients
clipped at 5, alpha trained. Departs: places without a word are masked, so no padding takes part; alpha stays positive;
nothing is chosen on the test set.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hardmax.errors import need
from hardmax.sentiment.model import SentimentModel, winners
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.training import LEAST_ALPHA, Examples, Progress
from hardmax.text.vocabulary import Bags, Vocabulary

TEMPERATURE = 0.001
WORDS = 128
RATE = 1e-3
BATCH = 64
CLIP = 5.0


def train_softmax(
    examples: Examples,
    held: Examples | None,
    vocabulary: Vocabulary,
    classes: tuple[Any, ...],
    recipe: Recipe,
    progress: Callable[[Progress], object] | None = None,
) -> tuple[SentimentModel, dict[str, list[float]]]:
    """Train the relaxation and return it as a hardmax model, with its losses and accuracies by epoch."""
    torch = need("torch", "torch", "the method softmax")
    torch.manual_seed(recipe.seed)
    outputs = 1 if len(classes) == 2 else len(classes)
    E = torch.nn.Embedding(len(vocabulary), recipe.dim)
    decoder = torch.nn.Linear(recipe.dim, outputs)
    alpha = torch.nn.Parameter(torch.tensor(float(recipe.alpha)))
    numbers = [*E.parameters(), *decoder.parameters(), alpha]
    adam = torch.optim.Adam(numbers, lr=RATE)
    loss_of = (
        torch.nn.BCEWithLogitsLoss(reduction="none") if outputs == 1 else torch.nn.CrossEntropyLoss(reduction="none")
    )
    n = len(examples.bags)
    per_epoch = -(-n // BATCH)
    epochs = recipe.passes(n)[1] or recipe.passes(n)[0]
    history: dict[str, list[float]] = {"loss": [], "accuracy": []}
    begun = time.monotonic()

    def current() -> SentimentModel:
        return SentimentModel(
            vocabulary,
            E.weight.detach().numpy().astype(np.float32).copy(),
            decoder.weight.detach().numpy().astype(np.float64),
            decoder.bias.detach().numpy().astype(np.float64),
            float(alpha.detach()),
            recipe.layers,
            classes,
            {"settings": recipe.as_dict() | {"method": "softmax", "temperature": TEMPERATURE}},
        )

    for epoch in range(epochs):
        order = np.random.default_rng((recipe.seed, 2, epoch)).permutation(n)
        total = 0.0
        for k in range(per_epoch):
            texts = order[k * BATCH : (k + 1) * BATCH]
            ids, mask = _padded(examples.bags.take(texts))
            logits = decoder(_mean(torch, E(torch.from_numpy(ids)), torch.from_numpy(mask), alpha, recipe.layers))
            labels = torch.from_numpy(examples.labels[texts])
            losses = loss_of(logits[:, 0], labels.float()) if outputs == 1 else loss_of(logits, labels)
            loss = (losses * torch.from_numpy(examples.weight[texts]).float()).mean()
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(numbers, CLIP)
            adam.step()
            with torch.no_grad():
                alpha.clamp_(min=LEAST_ALPHA)
            total += float(loss.detach()) * len(texts)
            last = k == per_epoch - 1
            if last:
                history["loss"].append(total / n)
                if held is not None:
                    history["accuracy"].append(float((winners(current().run(held.bags)[0]) == held.labels).mean()))
            if progress is not None:
                accuracy = history["accuracy"][-1] if history["accuracy"] else None
                seen, step = min((k + 1) * BATCH, n), epoch * per_epoch + k + 1
                seconds = time.monotonic() - begun
                steps = per_epoch * epochs
                progress(Progress(epoch + last, epochs, step, steps, total / seen, seconds, accuracy))
    return current(), history


def _padded(bags: Bags) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(B, WORDS) term numbers and whether there is a term."""
    sizes = np.minimum(np.diff(bags.offsets), WORDS)
    ids, mask = np.zeros((len(bags), WORDS), np.int64), np.arange(WORDS) < sizes[:, None]
    for t, size in enumerate(sizes):
        ids[t, :size] = bags.ids[bags.offsets[t] : bags.offsets[t] + size]
    return ids, mask


def _mean(torch: Any, z: Any, mask: Any, alpha: Any, layers: int) -> Any:
    """(B, d): z_i <- (z_i + alpha sum_j softmax_j(<z_i, z_j> / T) z_j) / (1 + alpha), then the mean over the words."""
    for _ in range(layers):
        scores = (z @ z.transpose(1, 2)) / TEMPERATURE
        attention = torch.softmax(scores.masked_fill(~mask[:, None, :], -torch.inf).nan_to_num(neginf=-1e30), dim=-1)
        z = (z + alpha * (attention @ z)) / (1 + alpha)
    weights = mask.float()[:, :, None]
    return (z * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
