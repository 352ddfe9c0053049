"""The paper's own training: softmax attention with temperature 0.001, in torch. The losses of both attentions are kept.

Implements [AFZ24, section 6]. The run begins at the same numbers and sees the same batches as the exact one of
`recipe`, and before every step the loss of the same weights under hardmax is measured too. Departs: copies of a
word are one token with a count (log of the count is added to its score), which is the same function on fewer tokens;
accuracies on the reviews kept aside are those of the hardmax layers; alpha stays above 0.001.
"""

from typing import Any

import numpy as np

from hardmax.errors import need
from hardmax.experiments.reproduce.recipe import (
    BATCH,
    CLIP,
    LAYERS,
    LEAST_ALPHA,
    RATE,
    PaperRun,
    Tell,
    cross_entropy,
    order_of,
    read,
    test,
)  # fmt: skip
from hardmax.experiments.reviews import Reviews
from hardmax.transformer.one_thread import one_thread

TEMPERATURE = 0.001


class SoftmaxTrainer:
    """Continues a `PaperRun` in torch, on one thread: sums over threads depend on their number."""

    def __init__(self, run: PaperRun, reviews: Reviews, seed: int) -> None:
        self.torch = torch = need("torch", "torch", "training with softmax")
        self.run, self.reviews, self.seed = run, reviews, seed
        # The tensors share their memory with the arrays of the run.
        self.E = torch.from_numpy(run.E).requires_grad_()
        self.few = torch.tensor(run.few, dtype=torch.float32, requires_grad=True)
        self.adam = torch.optim.Adam([self.E, self.few], lr=RATE)
        if run.step:
            moments = enumerate(((run.first, run.second), (run.few_first, run.few_second)))
            state = {
                k: {"step": torch.tensor(float(run.step)), "exp_avg": torch.tensor(first, dtype=torch.float32),
                    "exp_avg_sq": torch.tensor(second, dtype=torch.float32)}
                for k, (first, second) in moments
            }  # fmt: skip
            self.adam.load_state_dict({**self.adam.state_dict(), "state": state})

    def epoch(self, tell: Tell | None = None) -> None:
        """One pass; the state of torch is back in the run afterwards."""
        with one_thread(self.torch):
            self._epoch(tell)

    def _epoch(self, tell: Tell | None) -> None:
        run, reviews = self.run, self.reviews
        order = order_of(reviews, self.seed, run.epochs)
        loss, hard, right = 0.0, 0.0, 0.0
        for start in range(0, order.size, BATCH):
            texts = order[start : start + BATCH]
            hard += self._hardmax_loss(texts) * texts.size
            value, good = self.step(texts)
            loss, right = loss + value * texts.size, right + good
            if tell is not None:
                tell(start + texts.size, order.size)
        self._keep()
        figures = {"loss": loss / order.size, "hardmax_loss": hard / order.size, "accuracy": right / order.size}
        run.add(**figures, alpha=run.alpha, **test(run, reviews))

    def _hardmax_loss(self, texts: Any) -> float:
        self.run.few[:] = self.few.detach().numpy()
        return cross_entropy(read(self.run, self.reviews, texts).logits, self.reviews.labels[texts])

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

    def _keep(self) -> None:
        state = [self.adam.state[part] for part in (self.E, self.few)]
        self.run.first[:], self.run.second[:] = state[0]["exp_avg"].numpy(), state[0]["exp_avg_sq"].numpy()
        self.run.few_first[:], self.run.few_second[:] = state[1]["exp_avg"].numpy(), state[1]["exp_avg_sq"].numpy()
        self.run.few[:] = self.few.detach().numpy()


def _rectangle(reviews: Reviews, texts: Any) -> tuple[Any, Any]:
    """(B, n) word numbers and counts; 0 and 0 where a review has fewer distinct words than the longest."""
    sizes = np.diff(reviews.offsets)[texts]
    ids, counts = np.zeros((len(texts), sizes.max()), np.int64), np.zeros((len(texts), sizes.max()), np.float32)
    inside = np.arange(sizes.max()) < sizes[:, None]
    places = np.concatenate([np.arange(a, a + n) for a, n in zip(reviews.offsets[texts], sizes, strict=True)])
    ids[inside], counts[inside] = reviews.ids[places], reviews.counts[places]
    return ids, counts
