"""One small classifier in which only the attention varies: what the ablation compares.

Words stand in the plane, E_w = r_w (cos t_w, sin t_w). The radii r_w are given (by the rank of |log-odds| sqrt(texts),
from 0.8 to 1); the angles are trained from cos t_w = clip(0.4 log-odds). The logit is b + s <e_1, mean_i z_i^K>. Only
the attention differs between variants, so all have equally many parameters, except those with trained matrices.

For given attention every layer is linear in the values, z^K = W z^0 with W a product of (I + alpha P_k)/(1 + alpha). So

    logit = b + sum_j a_j s <e_1, z_j^0>,      a_j = mean_i W_ij,

is an exact sum over words for every variant: a_j is the weight that attention gives to word j. With hardmax a_j is
large for leaders and 0 or (1+alpha)^-K / n for the rest. This is what is ranked when explanations are compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import need
from hardmax.experiments.context import Context
from hardmax.experiments.reviews import Rows, Sample, imdb, sample
from hardmax.transformer.export import one_thread

TOP = 5
BATCH = 64
RATES = {"angle": 0.004, "scale": 0.3, "bias": 0.01, "factors": 0.01}
DROPOUT = 0.3
SCALE = 60.0  # at the start
LEAST_RADIUS = 0.8
BLOCK = 250  # reviews that are measured at once


@dataclass(frozen=True)
class Variant:
    """A kind of attention.

    Attributes:
        rule: "hardmax", "softmax", "uniform", "random" (each word follows another one, drawn in every layer).
        layers, alpha: of the layers; 0 layers is the mean of the word vectors.
        temperature: of softmax; scores of hardmax are compared exactly.
        heads: the number of heads, whose values are averaged.
        learned: whether the matrices A_h = L_h L_h^T are trained (they begin near I, each head elsewhere).
        normalization: "rescale", "sphere" (unit length after every layer) or "none".
        causal: a word sees itself and those before it.
    """

    rule: str = "hardmax"
    layers: int = 8
    alpha: float = 1.0
    temperature: float = 1.0
    heads: int = 1
    learned: bool = False
    normalization: str = "rescale"
    causal: bool = False


class Classifier:
    """The model and its training, in torch, one thread, seeded."""

    def __init__(self, sample: Sample, variant: Variant, seed: int) -> None:
        self.torch = torch = need("torch", "torch", "the studies")
        self.variant, self.seed = variant, seed
        self.generator = torch.Generator().manual_seed(seed)
        strength = np.abs(sample.odds) * np.sqrt(sample.texts)
        rank = strength.argsort().argsort() / max(len(strength) - 1, 1)
        self.radius = torch.tensor(LEAST_RADIUS + (1 - LEAST_RADIUS) * rank, dtype=torch.float32)
        start = np.arccos(np.clip(0.4 * sample.odds, -0.999, 0.999))
        self.angle = torch.tensor(start, dtype=torch.float32, requires_grad=True)
        self.scale = torch.tensor(SCALE, requires_grad=True)
        self.bias = torch.tensor(0.0, requires_grad=True)
        self.factors = self._matrices()
        names = ("angle", "scale", "bias", "factors") if variant.learned else ("angle", "scale", "bias")
        self.learned = {name: getattr(self, name) for name in names}

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return int(sum(part.numel() for part in self.learned.values()))

    def _matrices(self) -> Any:
        """(heads, 2, 2) factors L_h, A_h = L_h L_h^T; heads begin apart, so that they can become different."""
        torch = self.torch
        eye = torch.eye(2).repeat(self.variant.heads, 1, 1)
        if self.variant.heads > 1 or self.variant.learned:
            eye = eye + 0.3 * torch.randn(eye.shape, generator=self.generator)
        return eye.requires_grad_(self.variant.learned)

    def fit(self, reviews: Rows, epochs: int) -> "Classifier":
        """Adam on the binary cross-entropy, the rate falling linearly to 0, words dropped at random."""
        torch = self.torch
        adam = torch.optim.Adam([{"params": [part], "lr": RATES[name]} for name, part in self.learned.items()])
        steps = epochs * -(-len(reviews) // BATCH)
        falling = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: 1 - step / steps)
        rows, labels = torch.from_numpy(reviews.rows), torch.from_numpy(reviews.labels).float()
        for _ in range(epochs):
            order = torch.randperm(len(reviews), generator=self.generator)
            for some in order.split(BATCH):
                there = rows[some] >= 0
                there &= torch.rand(there.shape, generator=self.generator) >= DROPOUT
                logits = self.forward(rows[some], there, self.generator)[0]
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels[some])
                adam.zero_grad()
                loss.backward()
                adam.step()
                falling.step()
        return self

    def forward(self, rows: Any, there: Any, generator: Any, weights: bool = False) -> tuple[Any, Any, Any]:
        """(B,) logits, (B, n) words' own scores s <e_1, z_j^0>, and with `weights` (B, n) the a_j of the top."""
        torch, v = self.torch, self.variant
        angle, radius = self.angle[rows.clamp(min=0)], self.radius[rows.clamp(min=0)]
        z = radius[..., None] * torch.stack([angle.cos(), angle.sin()], -1)
        own = self.scale * z[..., 0]
        count = there.sum(1).clamp(min=1)
        share = (there / count[:, None]).float()
        product = torch.eye(rows.shape[1]).expand(len(rows), -1, -1) if weights else None
        if v.normalization == "sphere":
            length = z.norm(dim=-1, keepdim=True)
            z, product = z / length, None if product is None else product / length
        for _ in range(v.layers):
            P = self._attention(z, there, generator)
            moved = z + v.alpha * (P @ z)
            down = 1.0 + v.alpha if v.normalization == "rescale" else 1.0
            if v.normalization == "sphere":
                down = moved.norm(dim=-1, keepdim=True).clamp(min=1e-9)
            if product is not None:
                product = (product + v.alpha * (P @ product)) / down
            z = moved / down
        if v.normalization == "none":  # the growth (1 + alpha)^K is a constant that the scale absorbs
            z = z / (1.0 + v.alpha) ** v.layers
            product = None if product is None else product / (1.0 + v.alpha) ** v.layers
        logits = self.bias + self.scale * (share * z[..., 0]).sum(1)
        a = None if product is None else (share[:, None, :] @ product)[:, 0]
        return logits, own, a

    def _attention(self, z: Any, there: Any, generator: Any) -> Any:
        """(B, n, n) attention, averaged over the heads; rows sum to 1."""
        torch, v = self.torch, self.variant
        n = z.shape[1]
        seen = there[:, None, :].expand(-1, n, -1)
        if v.causal:
            seen = seen & torch.ones(n, n, dtype=torch.bool).tril()
        seen = seen | torch.eye(n, dtype=torch.bool)  # a place without a word sees itself, and no other place sees it
        if v.rule == "uniform":
            return seen / seen.sum(-1, keepdim=True)
        heads = []
        for L in self.factors:
            q = z @ L
            scores = torch.rand(seen.shape, generator=generator) if v.rule == "random" else q @ q.transpose(1, 2)
            scores = scores.masked_fill(~seen, -1e9)
            if v.rule == "softmax":
                heads.append(torch.softmax(scores / v.temperature, -1))
            else:  # ties have probability 0 here
                heads.append(torch.nn.functional.one_hot(scores.argmax(-1), n).float())
        return sum(heads) / len(heads)

    def look(self, reviews: Rows, there: Any = None, weights: bool = False) -> tuple[Floats, Floats, Floats | None]:
        """Logits (and words' own scores and weights a_j) of many reviews; `there` leaves words out."""
        torch = self.torch
        rows = torch.from_numpy(reviews.rows)
        there = rows >= 0 if there is None else torch.from_numpy(there)
        parts = []
        with torch.no_grad():
            for k, some in enumerate(torch.arange(len(reviews)).split(BLOCK)):
                drawn = torch.Generator().manual_seed(self.seed + k)
                parts.append(self.forward(rows[some], there[some], drawn, weights))
        logits, own = (torch.cat([part[x] for part in parts]).numpy().astype(np.float64) for x in (0, 1))
        return logits, own, torch.cat([p[2] for p in parts]).numpy().astype(np.float64) if weights else None


def explained(classifier: Classifier, reviews: Rows, top: int, seed: int) -> dict[str, float]:
    """Comprehensiveness and sufficiency of the `top` words by their exact part a_j s <e_1, z_j>, by their own score,
    and of words by chance; and how many words carry the logit, 1 / sum_j a_j^2 on average.
    """
    there = reviews.rows >= 0
    logits, own, a = classifier.look(reviews, weights=True)
    sign = np.where(logits > 0, 1.0, -1.0)[:, None]
    assert a is not None
    parts = {"parts": sign * a * own, "score": sign * own, "random": np.random.default_rng(seed).random(own.shape)}
    sure = 1 / (1 + np.exp(-np.abs(logits)))
    found = {"carriers": float((1 / np.maximum(((a / a.sum(1, keepdims=True)) ** 2).sum(1), 1e-12)).mean())}
    for name, value in parts.items():
        best = np.argsort(-np.where(there, value, -np.inf), axis=1, kind="stable")[:, :top]
        named = np.zeros_like(there)
        np.put_along_axis(named, best, True, axis=1)
        for what, kept in (("comprehensiveness", there & ~named), ("sufficiency", there & named)):
            left = classifier.look(reviews, kept)[0] * sign[:, 0]
            found[f"{what} {name}"] = float((sure - 1 / (1 + np.exp(-left))).mean())
    return found


def train_all(
    context: Context, variants: Mapping[str, Variant], seeds: Sequence[int], *, epochs: int, explain: int, **sizes: int
) -> dict[str, list[dict[str, float]]]:
    """Accuracy on the held-out blocks and faithfulness of every variant and seed; finished runs are not repeated.

    Args:
        seeds: each draws the reviews, the order, the dropped words and the heads of one run.
        explain: how many reviews of each class are explained.
        sizes: learn, aside, words and min_texts of `sample`.
    """
    torch = need("torch", "torch", "the studies")
    data = cache(imdb)  # read only if some run is not finished

    @lru_cache(1)
    def drawn(seed: int) -> Sample:
        texts, labels = data()
        return sample(texts, labels, seed, **sizes)

    found: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    with one_thread(torch):
        for k, seed in enumerate(seeds):
            for number, (name, variant) in enumerate(variants.items()):
                context.tell(k * len(variants) + number, len(variants) * len(seeds), f"{name}, seed {seed}")
                key = {"variant": asdict(variant), "size": sizes, "epochs": epochs, "explained": explain}
                run = context.memo({**key, "seed": seed}, _measure, drawn, variant, epochs, explain, seed)
                found[name].append(run)
    return found


def _measure(
    drawn: Callable[[int], Sample], variant: Variant, epochs: int, explain: int, seed: int
) -> dict[str, float]:
    """Train one classifier and measure it; the first `explain` reviews of each class are explained."""
    reviews = drawn(seed)
    classifier, aside = Classifier(reviews, variant, seed).fit(reviews.learn, epochs), reviews.aside
    some = np.concatenate([np.flatnonzero(aside.labels == k)[:explain] for k in (0, 1)])
    measured = explained(classifier, Rows(aside.rows[some], aside.labels[some]), TOP, seed)
    accuracy = float(((classifier.look(aside)[0] > 0) == aside.labels).mean())
    return {"accuracy": accuracy, "parameters": classifier.parameters, **measured}
