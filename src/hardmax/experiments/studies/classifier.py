"""One small classifier in which only the attention varies: what the studies of robustness and ablation compare.

Words stand in the plane, E_w = r_w (cos t_w, sin t_w). The radii r_w are given (by the rank of |log-odds| sqrt(texts),
from 0.8 to 1); the angles are trained from cos t_w = clip(0.4 log-odds). The logit is b + s <v, mean_i z_i^K>. Only
the attention differs between variants, so all have equally many parameters, except those with trained matrices.

For given attention every layer is linear in the values, z^K = W z^0 with W a product of (I + alpha P_k)/(1 + alpha). So

    logit = b + sum_j a_j s <v, z_j^0>,      a_j = mean_i W_ij,

is an exact sum over words for every variant: a_j is the weight that attention gives to word j. With hardmax a_j is
large for leaders and 0 or (1+alpha)^-K / n for the rest. This is what is ranked when explanations are compared.
Hardmax has no gradient with respect to its matrices (a small change changes no follow set); they are trained straight
through: forward hardmax, backward the gradient of softmax with temperature 0.1.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from hardmax.errors import need
from hardmax.experiments.context import Context
from hardmax.experiments.reviews import Rows, Sample, imdb, sample
from hardmax.experiments.studies.mechanism import without_words
from hardmax.transformer.export import one_thread

BATCH = 64
RATES = {"angle": 0.004, "scale": 0.3, "bias": 0.01, "factors": 0.01, "gain": 0.01}
PACES = (1 / 3, 1.0, 3.0)  # the multiples of RATES among which every variant chooses
TUNING = 1000  # the seeds that choose the rates begin here: none of them is measured
DROPOUT = 0.3
SCALE = 60.0  # at the start
LEAST_RADIUS = 0.8
SPACE = 4  # dimension of the words under LayerNorm: in the plane, centering leaves nothing but a sign
BLOCK = 250  # reviews that are measured at once


@dataclass(frozen=True)
class Variant:
    """A kind of attention."""

    rule: str = "hardmax"  # or "softmax", "uniform", "random" (each word follows another one, drawn in every layer)
    layers: int = 8  # 0 layers is the mean of the word vectors
    alpha: float = 1.0
    temperature: float = 1.0  # of softmax; scores of hardmax are compared exactly
    heads: int = 1  # their number; their values are averaged
    learned: bool = False  # whether the matrices A_h = L_h L_h^T are trained (they begin near I, each head elsewhere)
    # "rescale", "sphere" (unit length after every layer), "layer" (LayerNorm: centered, divided by the standard
    # deviation, times a trained gain) or "none".
    normalization: str = "rescale"
    causal: bool = False  # a word sees itself and those before it
    pace: float = 1.0  # multiplies the learning rates


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
        self.space = SPACE if variant.normalization == "layer" else 2
        self.frame = torch.eye(2)  # the plane of the words in the space of the layers
        if self.space > 2:
            self.frame = torch.linalg.qr(torch.randn(self.space, 2, generator=self.generator))[0].T.contiguous()
        self.gain = torch.ones(self.space, requires_grad=variant.normalization == "layer")
        # (heads, d, d) factors L_h, A_h = L_h L_h^T; heads begin apart, so that they can become different.
        factors = torch.eye(self.space).repeat(variant.heads, 1, 1)
        if variant.heads > 1 or variant.learned:
            factors = factors + 0.3 * torch.randn(factors.shape, generator=self.generator)
        self.factors = factors.requires_grad_(variant.learned)
        names = ["angle", "scale", "bias"] + ["factors"] * variant.learned + ["gain"] * self.gain.requires_grad
        self.learned = {name: getattr(self, name) for name in names}

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return int(sum(part.numel() for part in self.learned.values()))

    def fit(self, reviews: Rows, epochs: int) -> "Classifier":
        """Adam on the binary cross-entropy, the rate falling linearly to 0, words dropped at random."""
        torch, pace = self.torch, self.variant.pace
        adam = torch.optim.Adam([{"params": [part], "lr": pace * RATES[name]} for name, part in self.learned.items()])
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

    def _normalized(self, z: Any, product: Any) -> tuple[Any, Any]:
        """The tokens (and with them the products of attention) after the normalization of a layer."""
        if self.variant.normalization == "layer":
            z = z - z.mean(-1, keepdim=True)
            length = z.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-9)
            z = self.gain * z
        elif self.variant.normalization == "sphere":
            length = z.norm(dim=-1, keepdim=True).clamp(min=1e-9)
        else:
            length = 1.0 + self.variant.alpha  # without normalization the growth is a constant that the scale absorbs
        return z / length, None if product is None else product / length

    def forward(self, rows: Any, there: Any, generator: Any, weights: bool = False) -> tuple[Any, ...]:
        """(B,) logits, (B, n) words' own scores, and with `weights` (B, n) the a_j and which words ever lead."""
        torch, v = self.torch, self.variant
        angle, radius = self.angle[rows.clamp(min=0)], self.radius[rows.clamp(min=0)]
        z = (radius[..., None] * torch.stack([angle.cos(), angle.sin()], -1)) @ self.frame
        decoder = direction = self.scale * self.frame[0]
        share = (there / there.sum(1).clamp(min=1)[:, None]).float()
        product = torch.eye(rows.shape[1]).expand(len(rows), -1, -1) if weights else None
        leads = torch.zeros_like(there)
        if v.normalization == "layer":  # centering and gain are linear: they act on the decoder instead of the words
            for _ in range(v.layers + 1):
                direction = self.gain * direction
                direction = direction - direction.mean()
        own = z @ direction
        if v.normalization in ("sphere", "layer"):
            z, product = self._normalized(z, product)
        for _ in range(v.layers):
            P = self._attention(z, there, generator)
            if product is not None:
                leads = leads | (P.diagonal(dim1=1, dim2=2) > 1 - 1e-6)
                product = product + v.alpha * (P @ product)
            z, product = self._normalized(z + v.alpha * (P @ z), product)
        logits = self.bias + (share * (z @ decoder)).sum(1)
        a = None if product is None else (share[:, None, :] @ product)[:, 0]
        return logits, own, a, leads & there

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
                continue
            P = torch.nn.functional.one_hot(scores.argmax(-1), n).float()  # ties have probability 0 here
            if v.learned:
                soft = torch.softmax(scores / 0.1, -1)
                P = P + soft - soft.detach()
            heads.append(P)
        return sum(heads) / len(heads)

    def look(self, reviews: Rows, there: Any = None, weights: bool = False) -> tuple[Any, ...]:
        """Logits (and words' own scores, weights a_j, leaders) of many reviews; `there` leaves words out."""
        torch = self.torch
        rows = torch.from_numpy(reviews.rows)
        there = rows >= 0 if there is None else torch.from_numpy(there)
        parts = []
        with torch.no_grad():
            for k, some in enumerate(torch.arange(len(reviews)).split(BLOCK)):
                drawn = torch.Generator().manual_seed(self.seed + k)
                parts.append(self.forward(rows[some], there[some], drawn, weights))
        kept = 4 if weights else 2
        return tuple(torch.cat([part[x] for part in parts]).numpy().astype(np.float64) for x in range(kept))


def explained(classifier: Classifier, reviews: Rows, seed: int) -> dict[str, float]:
    """Comprehensiveness and sufficiency of the first words by their exact part, by their own score, and by chance.

    Also how many words carry the logit, 1 / sum_j a_j^2 on average, and the mean |<v, z>| of the words that lead and of
    the others (without leaders, 0).
    """
    there = reviews.rows >= 0
    logits, own, a, leads = classifier.look(reviews, weights=True)
    sign = np.where(logits > 0, 1.0, -1.0)[:, None]
    rankings = {"parts": sign * a * own, "score": sign * own, "random": np.random.default_rng(seed).random(own.shape)}
    found = {"carriers": float((1 / np.maximum(((a / a.sum(1, keepdims=True)) ** 2).sum(1), 1e-12)).mean())}
    for name, some in (("leaders", leads > 0), ("others", there & (leads == 0))):
        found[f"strength of {name}"] = float(np.abs(own[some]).mean()) if some.any() else 0.0
    order = {name: np.where(there, x, -np.inf).argsort(axis=1, kind="stable")[:, ::-1] for name, x in rankings.items()}
    places = {name: first.argsort(axis=1) for name, first in order.items()}
    return found | without_words(places, logits, lambda kept: classifier.look(reviews, there & kept)[0])


Runs = dict[str, list[dict[str, float]]]


def train_all(
    context: Context, variants: Mapping[str, Variant], *, runs: int, tuning: int, epochs: int, explain: int,
    **sizes: int,
) -> Runs:  # fmt: skip
    """Accuracy on the held-out blocks and faithfulness of every variant and seed; finished runs are not repeated.

    Every variant first chooses its pace, by the mean accuracy over `tuning` separate seeds on reviews that are held out
    of the part to learn from.

    Args:
        runs: how many seeds from context.seed on; each draws reviews, order, dropped words and heads.
        explain: how many reviews of each class are explained.
        sizes: learn, aside, words and min_texts of `sample`.
    """
    data = cache(imdb)  # read only if some run is not finished

    @cache  # every variant trains on the same draws
    def drawn(seed: int, tuned: bool) -> Sample:
        texts, labels = data()
        return sample(texts, labels, seed, inside=tuned, **sizes)

    def measured(variant: Variant, seed: int, explain: int) -> dict[str, float]:
        key = {"variant": asdict(variant), "size": sizes, "epochs": epochs, "explained": explain, "seed": seed}
        found: dict[str, float] = context.memo(key, _measure, drawn, variant, epochs, explain, seed)
        return found

    found: Runs = {name: [] for name in variants}
    seeds = range(context.seed, context.seed + runs)
    with one_thread(need("torch", "torch", "the studies")):
        for number, (name, variant) in enumerate(variants.items()):
            by_pace = dict.fromkeys(PACES if tuning else (1.0,), 0.0)
            for pace, seed in product(by_pace, seeds[:tuning]):
                context.tell(number, len(variants), f"{name}, tuning")
                by_pace[pace] += measured(replace(variant, pace=pace), TUNING + seed, 0)["accuracy"]
            best = max(by_pace, key=by_pace.__getitem__)
            for seed in seeds:
                context.tell(number, len(variants), f"{name}, seed {seed}")
                found[name].append(measured(replace(variant, pace=best), seed, explain) | {"pace": best})
    return found


def _measure(
    drawn: Callable[[int, bool], Sample], variant: Variant, epochs: int, explain: int, seed: int
) -> dict[str, float]:
    """Train one classifier and measure it; the first `explain` reviews of each class are explained."""
    reviews = drawn(seed, not explain)
    classifier, aside = Classifier(reviews, variant, seed).fit(reviews.learn, epochs), reviews.aside
    measured = {"accuracy": float(((classifier.look(aside)[0] > 0) == aside.labels).mean())}
    if not explain:
        return measured
    some = np.concatenate([np.flatnonzero(aside.labels == k)[:explain] for k in (0, 1)])
    measured |= explained(classifier, Rows(aside.rows[some], aside.labels[some]), seed)
    return {**measured, "parameters": classifier.parameters}
