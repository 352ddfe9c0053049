"""Question: does clustering help a small feed-forward network of the same size?

Blocks of one attention layer and one feed-forward layer, x -> x + W relu(U x + b), then a linear score of the mean
token. The attention is hardmax with A = I and a fixed alpha, or none, or uniform: it has no trained numbers, so all
three networks have the same number. Trained by Adam through the selected values. Three tasks on sequences of tokens in
R^4 with normal noise:

* majority: tokens are noisy copies of two prototypes; which is more frequent? A sum over tokens answers it.
* loudest: which way points the longest token, the others being shorter and of random direction?
* agreement: two long tokens; do they lie on the same side? No sum over single tokens f(x_1) + ... + f(x_n) can answer
  it: with a = f(+), b = f(-) it would have to separate {2a, 2b} from {a + b}, the mean of the two.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import need
from hardmax.experiments.journal import Journal
from hardmax.experiments.provenance import provenance
from hardmax.experiments.questions.evidence import Evidence, Progress, explorer
from hardmax.experiments.tables import Table, interval
from hardmax.transformer.one_thread import one_thread

QUESTION = "Does clustering by attention help a small feed-forward network of the same size?"
TASKS = ("majority", "loudest", "agreement")
ATTENTIONS = ("none", "uniform", "hardmax")
DIM = 4


@dataclass(frozen=True)
class Setting:
    """Sizes; `trials` seeds for every network and task."""

    trials: int = 5
    seed: int = 0
    tokens: int = 12
    width: int = 16
    blocks: int = 2
    alpha: float = 1.0
    noises: tuple[float, ...] = (0.3, 0.8)
    learn: int = 2000
    aside: int = 2000
    steps: int = 300
    batch: int = 128
    rate: float = 0.01

    @staticmethod
    def quick() -> "Setting":
        return Setting(trials=2, noises=(0.3,), learn=600, aside=600, steps=80)


def draw_task(task: str, count: int, n: int, noise: float, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """(count, n, d) sequences and (count,) labels 0 and 1, both about as frequent."""
    prototype = np.array([1.0, 0.5, 0.0, 0.0])
    if task == "majority":
        labels = rng.integers(0, 2, count) == 1
        more = rng.integers(n // 2 + 1, n // 2 + 4, count)
        signs = np.where(np.arange(n) < more[:, None], 1.0, -1.0) * np.where(labels, 1.0, -1.0)[:, None]
        X = signs[:, :, None] * prototype
    else:
        side = rng.standard_normal((count, n, DIM))
        X = side / np.linalg.norm(side, axis=2, keepdims=True) * rng.uniform(0.2, 0.8, (count, n, 1))
        signs = rng.choice([-1.0, 1.0], (count, 2))
        X[:, 0] = 2 * signs[:, :1] * prototype
        if task == "agreement":
            across = np.array([0.0, 0.0, 1.0, -0.5])
            X[:, 1] = 2 * signs[:, 1:] * prototype + 0.8 * across
        labels = signs[:, 0] > 0 if task == "loudest" else signs[:, 0] == signs[:, 1]
    X = X + noise * rng.standard_normal(X.shape)
    order = np.argsort(rng.random((count, n)), axis=1)
    return np.take_along_axis(X, order[:, :, None], axis=1), np.asarray(labels, np.int64)


def train(task: str, noise: float, attention: str, setting: Setting, trial: int) -> dict[str, float]:
    """Accuracy on fresh sequences after training, and the number of trained numbers."""
    torch = need("torch", "torch", "the feed-forward experiment")
    rng = np.random.default_rng((setting.seed, TASKS.index(task), trial))
    learn, aside = (draw_task(task, count, setting.tokens, noise, rng) for count in (setting.learn, setting.aside))
    theta = {name: torch.tensor(value, requires_grad=True) for name, value in _start(setting, rng).items()}
    optimizer = torch.optim.Adam(theta.values(), lr=setting.rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, setting.steps)
    X, y = torch.tensor(learn[0]), torch.tensor(learn[1], dtype=torch.float64)
    for _ in range(setting.steps):
        batch = torch.tensor(rng.integers(0, setting.learn, setting.batch))
        logits = network(torch, theta, X[batch], attention, setting)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        right = (network(torch, theta, torch.tensor(aside[0]), attention, setting) > 0).numpy() == (aside[1] == 1)
    return {"accuracy": float(right.mean()), "parameters": float(sum(p.numel() for p in theta.values()))}


def network(torch: Any, theta: dict[str, Any], X: Any, attention: str, setting: Setting) -> Any:
    """(B,) logits of (B, n, d) sequences."""
    for block in range(setting.blocks):
        X = attend(torch, X, attention, setting.alpha)
        hidden = torch.relu(X @ theta[f"U{block}"].T + theta[f"b{block}"])
        X = X + hidden @ theta[f"W{block}"].T
    return X.mean(dim=1) @ theta["v"] + theta["c"]


def attend(torch: Any, X: Any, attention: str, alpha: float) -> Any:
    """One attention layer with A = I; hardmax takes the first of equal scores. Implements [AFZ24, eq. (1.1a)]."""
    if attention == "none":
        return X
    if attention == "uniform":
        pull = X.mean(dim=1, keepdim=True)
    else:
        best = (X @ X.transpose(1, 2)).argmax(dim=2)
        pull = torch.gather(X, 1, best[:, :, None].expand(-1, -1, X.shape[2]))
    return (X + alpha * pull) / (1 + alpha)


@explorer(Setting)
def explore(setting: Setting, tell: Progress, notes: Journal) -> Evidence:
    """Train every network on every task with several seeds.

    Raises:
        MissingExtra: torch is not installed.
    """
    torch = need("torch", "torch", "the feed-forward experiment")
    runs: dict[tuple[str, float, str], list[dict[str, float]]] = {}
    kinds = [(task, noise, attention) for task in TASKS for noise in setting.noises for attention in ATTENTIONS]
    cells = [(*kind, trial) for kind in kinds for trial in range(setting.trials)]
    with one_thread(torch):
        for number, (task, noise, attention, trial) in enumerate(cells):
            tell(number, len(cells), f"{task}, noise {noise}, attention {attention}, seed {trial}")
            key: dict[str, Any] = {"feed-forward": [task, noise, attention, trial], **asdict(setting)}
            found = notes.get(key) or notes.put(key, train(task, noise, attention, setting, trial))
            runs.setdefault((task, noise, attention), []).append(found)
    rows = []
    for (task, noise, attention), mine in runs.items():
        base = runs[task, noise, "none"]
        gain = [a["accuracy"] - b["accuracy"] for a, b in zip(mine, base, strict=True)]
        rows.append((
            task, noise, attention, int(mine[0]["parameters"]), interval(r["accuracy"] for r in mine),
            "" if attention == "none" else interval(gain),
        ))  # fmt: skip
    table = Table(
        "accuracy", f"{setting.trials} seeds, {setting.blocks} blocks, width {setting.width}, {setting.tokens} tokens "
        f"in R^{DIM}, {setting.learn} sequences to learn from: mean and 95 % interval",
        ("task", "noise", "attention", "trained numbers", "accuracy", "against none"), tuple(rows),
    )  # fmt: skip
    settings: dict[str, Any] = asdict(setting)
    return Evidence("feed-forward", QUESTION, _answer(rows), settings, provenance(setting.seed), (table,))


def _start(setting: Setting, rng: np.random.Generator) -> dict[str, Floats]:
    w = setting.width
    theta: dict[str, Floats] = {}
    for block in range(setting.blocks):
        theta[f"U{block}"] = rng.standard_normal((w, DIM)) / np.sqrt(DIM)
        theta[f"b{block}"] = np.zeros(w)
        theta[f"W{block}"] = rng.standard_normal((DIM, w)) / np.sqrt(w) / 2
    return theta | {"v": rng.standard_normal(DIM) / np.sqrt(DIM), "c": np.zeros(())}


def _answer(rows: list[tuple[Any, ...]]) -> str:
    found = {row[:3]: row for row in rows}
    parts = []
    for task, noise in dict.fromkeys(row[:2] for row in rows):
        gain = found[task, noise, "hardmax"][5]
        sure = gain.count > 1 and abs(gain.mean) > gain.half
        verdict = ("helps" if gain.mean > 0 else "hurts") if sure else "makes no difference that shows"
        without, with_it = (found[task, noise, attention][4] for attention in ("none", "hardmax"))
        parts.append(f"{task}, noise {noise:g}: it {verdict} ({without} without, {with_it} with)")
    return "It depends on the task. " + "; ".join(parts) + "."
