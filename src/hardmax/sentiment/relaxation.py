"""Train as in the paper: softmax with a small temperature in place of hardmax, in torch. The model is of the same kind.

Implements [AFZ24, section 6]: temperature 0.001, the first 128 words, Adam with learning rate 0.001, batches of 64,
gradients clipped at 5, alpha trained. Departs: places without a word are masked, so no padding takes part; alpha stays
positive; nothing is chosen on the test set. Results are bit-for-bit the same for the same number of torch threads.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import need
from hardmax.sentiment.model import Label, SentimentModel, winners
from hardmax.sentiment.recipe import LAYERS, Recipe
from hardmax.sentiment.training import LEAST_ALPHA
from hardmax.sentiment.training_loop import Examples, Learner, Watch
from hardmax.text.vocabulary import Bags, Vocabulary

TEMPERATURE = 0.001
WORDS = 128
RATE = 1e-3
BATCH = 64
CLIP = 5.0


class Relaxed(Learner):
    """The relaxed model and its optimizer."""

    def __init__(self, vocabulary: Vocabulary, classes: tuple[Label, ...], recipe: Recipe) -> None:
        dim = max(2, len(classes)) if recipe.dim == "auto" else recipe.dim
        recipe = replace(recipe, dim=dim, layers=LAYERS if recipe.layers == "auto" else recipe.layers)
        super().__init__(vocabulary, classes, recipe)
        self.torch = torch = need("torch", "torch", 'method="softmax"')
        self.outputs = 1 if len(classes) == 2 else len(classes)
        with torch.random.fork_rng(devices=[]):  # the caller's generator stays as it is
            torch.manual_seed(recipe.seed)
            self.vectors = torch.nn.Embedding(len(vocabulary), recipe.dim)
            self.decoder = torch.nn.Linear(recipe.dim, self.outputs)
        self.alpha = torch.nn.Parameter(torch.tensor(float(recipe.alpha)))
        self.numbers = [self.vectors.weight, self.decoder.weight, self.decoder.bias, self.alpha]
        self.adam = torch.optim.Adam(self.numbers, lr=recipe.learning_rate)
        loss = torch.nn.BCEWithLogitsLoss if self.outputs == 1 else torch.nn.CrossEntropyLoss
        self.loss_of = loss(reduction="none")

    @property
    def settings(self) -> dict[str, Any]:
        """The recipe, and what makes it this method."""
        return self.recipe.as_dict() | {"method": "softmax", "temperature": TEMPERATURE}

    def train(self, examples: Examples, watch: Watch) -> None:
        """All epochs; there is one phase only."""
        self.run(examples, self.recipe.passes(len(examples.bags)), watch)

    def learn(self, examples: Examples, texts: NDArray[np.int64]) -> float:
        """One step on some of the texts; returns the summed loss."""
        torch = self.torch
        self.step += 1
        ids, mask = _padded(examples.bags.take(texts))
        mean = relaxed_mean(
            torch, self.vectors(torch.from_numpy(ids)), torch.from_numpy(mask), self.alpha, int(self.recipe.layers)
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
        return float(loss.detach()) * len(texts)

    def accuracy(self, examples: Examples) -> float:
        """The part of the texts that the hardmax model labels correctly."""
        return float((winners(self.model().run(examples.bags)[0]) == examples.labels).mean())

    def arrays(self) -> dict[str, Any]:
        """Everything that changes during training."""
        found: dict[str, Any] = {}
        for k, number in enumerate(self.numbers):
            found[f"value{k}"] = number.detach().numpy()
            found |= {f"{name}{k}": value.numpy() for name, value in self.adam.state[number].items()}
        return found

    def set_arrays(self, stored: dict[str, Any]) -> None:
        """Go back to a stored state."""
        torch = self.torch
        with torch.no_grad():
            for k, number in enumerate(self.numbers):
                number.copy_(torch.from_numpy(np.array(stored[f"value{k}"])))
                moments = ("step", "exp_avg", "exp_avg_sq")
                self.adam.state[number] = {m: torch.from_numpy(np.array(stored[f"{m}{k}"])) for m in moments}

    def model(self) -> SentimentModel:
        """The hardmax model with these numbers."""
        vectors, scores, bias = (number.detach().numpy() for number in self.numbers[:3])
        numbers = vectors.astype(np.float32), scores.astype(np.float64), bias.astype(np.float64)
        layers = float(self.alpha.detach()), int(self.recipe.layers)
        return SentimentModel(self.vocabulary, *numbers, *layers, self.classes, {"settings": self.settings})


def _padded(bags: Bags) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
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
