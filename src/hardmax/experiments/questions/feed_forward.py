"""Question: does clustering help a small feed-forward network of the same size (docs/open-questions.md)?

The attention has no parameters, so that networks with hardmax, uniform or no attention have equally many. They are
trained by Adam, with the gradient through the selected values. Of the three tasks, sums over single tokens answer
"majority" and "loudest", but not "agreement" (do two long tokens lie on the same side?): with a = f(+), b = f(-) the
sum f(x_1) + ... + f(x_n) would have to separate {2a, 2b} from {a + b}, the mean of the two.
"""

from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import need
from hardmax.experiments import Context, Outcome, gains, interval, question
from hardmax.transformer.export import one_thread

TASKS = ("majority", "loudest", "agreement")
ATTENTIONS = ("none", "uniform", "hardmax")
TOKENS, DIM = 12, 4
BLOCKS, WIDTH = 2, 16
ALPHA = 1.0
BATCH, RATE = 128, 0.01


def draw_task(task: str, count: int, noise: float, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """(count, n, d) sequences and (count,) labels 0 and 1, both about as frequent."""
    n = TOKENS
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


def train(task: str, noise: float, attention: str, seeds: tuple[int, int], sizes: dict[str, Any]) -> dict[str, float]:
    """Accuracy on fresh sequences after training, and the number of parameters.

    `seeds` are the seed of the run and the number of the trial; `sizes` holds the numbers of sequences to learn from
    ("learn") and held out ("aside"), and of training steps ("steps").
    """
    torch = need("torch", "torch", "the feed-forward experiment")
    rng = np.random.default_rng((seeds[0], TASKS.index(task), seeds[1]))
    learn, aside = (draw_task(task, sizes[part], noise, rng) for part in ("learn", "aside"))
    theta = {name: torch.tensor(value, requires_grad=True) for name, value in _start(rng).items()}
    optimizer = torch.optim.Adam(theta.values(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, sizes["steps"])
    X, y = torch.tensor(learn[0]), torch.tensor(learn[1], dtype=torch.float64)
    for _ in range(sizes["steps"]):
        batch = torch.tensor(rng.integers(0, sizes["learn"], BATCH))
        logits = network(torch, theta, X[batch], attention)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        logits = network(torch, theta, torch.tensor(aside[0]), attention)
        right = (logits > 0).numpy() == (aside[1] == 1)
    return {"accuracy": float(right.mean()), "parameters": float(sum(p.numel() for p in theta.values()))}


def network(torch: Any, theta: dict[str, Any], X: Any, attention: str) -> Any:
    """(B,) logits of (B, n, d) sequences."""
    for block in range(BLOCKS):
        X = attend(torch, X, attention, ALPHA)
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


@question(
    "feed-forward",
    "Does clustering by attention help a small feed-forward network of the same size?",
    quick={"trials": 2, "noises": (0.3,), "learn": 600, "aside": 600, "steps": 80},
)
def feed_forward(
    context: Context, *, trials: int = 5, noises: tuple[float, ...] = (0.3, 0.8), learn: int = 2000, aside: int = 2000,
    steps: int = 300,
) -> Outcome:  # fmt: skip
    """Train every network on every task with `trials` seeds."""
    torch = need("torch", "torch", "the feed-forward experiment")
    sizes = {"learn": learn, "aside": aside, "steps": steps}

    def one_run(task: str, noise: float, attention: str, trial: int) -> dict[str, float]:
        return train(task, noise, attention, (context.seed, trial), sizes)

    cells = product(TASKS, noises, ATTENTIONS, range(trials))
    with one_thread(torch):
        runs = context.sweep(cells, "{}, noise {}, attention {}, seed {}", one_run, **sizes)
    rows: list[tuple[Any, ...]] = []
    for task, noise, attention in product(TASKS, noises, ATTENTIONS):
        mine, plain = ([runs[task, noise, of, trial] for trial in range(trials)] for of in (attention, "none"))
        gain = "" if attention == "none" else gains(mine, plain)
        accuracy = interval(run["accuracy"] for run in mine)
        rows.append((task, noise, attention, int(mine[0]["parameters"]), accuracy, gain))
    caption = (
        f"{trials} seeds, {BLOCKS} blocks, width {WIDTH}, {TOKENS} tokens in R^{DIM}, {learn} sequences to learn from: "
        "mean and 95 % interval"
    )
    columns = ("task", "noise", "attention", "trained numbers", "accuracy", "against none")
    table = context.table("accuracy", caption, rows, columns)
    tasks = [{**row, "task": f"{row['task']}, noise {row['noise']:g}"} for row in table.records()]
    labels = ("task", "attention", "accuracy on fresh sequences", "attention: ")
    context.figure("accuracy", "measurements:plot_dots", tasks, *labels, text="Accuracy by task and attention.")
    parts = []
    without, _, with_it = (rows[k :: len(ATTENTIONS)] for k in range(len(ATTENTIONS)))
    for (task, noise, _, _, before, _), (*_, after, gain) in zip(without, with_it, strict=True):
        sure = gain.count > 1 and abs(gain.mean) > gain.half
        verdict = ("helps" if gain.mean > 0 else "hurts") if sure else "makes no measurable difference"
        parts.append(f"{task}, noise {noise:g}: it {verdict} ({before} without, {after} with)")
    return Outcome(f"It depends on the task. {'; '.join(parts)}.")


def _start(rng: np.random.Generator) -> dict[str, Floats]:
    theta: dict[str, Floats] = {}
    for block in range(BLOCKS):
        theta[f"U{block}"] = rng.standard_normal((WIDTH, DIM)) / np.sqrt(DIM)
        theta[f"b{block}"] = np.zeros(WIDTH)
        theta[f"W{block}"] = rng.standard_normal((DIM, WIDTH)) / np.sqrt(WIDTH) / 2
    return theta | {"v": rng.standard_normal(DIM) / np.sqrt(DIM), "c": np.zeros(())}
