"""Training with a Tikhonov penalty: when exact interpolation is possible the loss falls linearly with eps [AFZ25].

    J_eps(theta) = L(theta) + eps |theta|^2,      L(theta) = mean_j max_i |T_theta(X^j)_i - y_j|^2

If theta* interpolates, L(theta*) = 0, so a minimizer has L <= J_eps <= J_eps(theta*) = eps |theta*|^2: the threshold.
theta* is written down here for one block with softmax attention, and the block is trained from theta* and from a random
start. Training keeps its best point, so the run from theta* can only stay below the threshold; the random one must
reach it by itself.

Beside it, the authors' set-up, written anew from what their public script says: attention first, width 4, Q and K of
rank one, N = 10 sequences of 100 tokens, uniform in the unit cube of R^16; the targets are the means of the sequences
after a feed-forward layer with uniform entries (theta*: Q = K = 0, V = I and this layer); float32, the usual start of
linear layers, rho = eta = 0; Adam with rate 0.001 that falls along a cosine, and weight decay eps, which is the penalty
eps/2 |theta|^2; eps = 0.1, 0.01, 0.001 in one training after the other (5,000, 10,000, 50,000 epochs), and 50,000
epochs at eps = 0.0001 from a fresh start. They show the least loss of each training. Departs: the random numbers are
ours. The theorem is about minimizers; what is measured is what Adam finds in a fixed number of steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput, need
from hardmax.experiments.context import Context, silent
from hardmax.experiments.item import Outcome, reproduction
from hardmax.transformer.export import one_thread

EPSILONS = (1e-1, 1e-2, 1e-3)
# The authors' trainings: eps, the part of the most steps, and whether it starts where the one before ended.
AUTHORS = ((1e-1, 0.1, "warm"), (1e-2, 0.2, "warm"), (1e-3, 1.0, "warm"), (1e-4, 1.0, "fresh"))


@dataclass(frozen=True)
class Setting:
    """N sequences of n tokens in R^d, one block with `width` units and scores of some rank, `steps` steps of Adam."""

    sequences: int = 10
    dim: int = 16
    tokens: int = 100
    width: int = 32
    steps: int = 6000
    rate: float = 1e-2
    seed: int = 0
    rank: int = 16
    attention_first: bool = False

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters of the block by name."""
        d, w, r = self.dim, self.width, self.rank
        return {"eta": (), "U": (w, d), "b": (w,), "W": (d, w), "rho": (), "Q": (r, d), "K": (r, d), "V": (d, d)}


@dataclass(frozen=True)
class Row:
    """One training run."""

    eps: float
    start: str  # "random", "interpolator" (theta*), "warm" (where the eps before ended) or "fresh" (the authors' start)
    # L, the penalty and their sum at the best point found, by J_eps.
    loss: float
    penalty: float
    objective: float
    threshold: float  # the penalty of theta*
    least: float  # the least loss of all steps

    @property
    def below(self) -> bool:
        """Whether the theorem's inequality for minimizers holds at this point."""
        return self.objective <= self.threshold


def data(setting: Setting) -> tuple[Floats, Floats]:
    """(N, n, d) standard normal tokens and (N, d) targets of length about 1."""
    rng = np.random.default_rng(setting.seed)
    X = rng.standard_normal((setting.sequences, setting.tokens, setting.dim))
    return X, rng.standard_normal((setting.sequences, setting.dim)) / np.sqrt(setting.dim)


def interpolator(X: Floats, Y: Floats, width: int) -> dict[str, Floats]:
    """theta*: a block with T(X^j)_i = y_j for all i.

    Q = K = 0 averages, and V m_j = y_j / eta for the means m_j, which are independent if N <= d. The feed-forward layer
    only scales, x -> eta x: eta^2 + |V_1|^2 / eta^2 with V = V_1 / eta is least for eta^2 = |V_1|, and then 2 |V_1|.
    """
    N, _, d = X.shape
    if d < N:
        raise BadInput(f"{N} sequences in dimension {d}: the means are not independent", fix="use dim >= sequences")
    V = np.linalg.lstsq(X.mean(axis=1), Y, rcond=None)[0].T
    eta = float(np.sqrt(np.linalg.norm(V)))
    theta = {name: np.zeros(shape) for name, shape in Setting(dim=d, width=width, rank=d).shapes().items()}
    return theta | {"eta": np.array(eta), "V": V / eta}


def random_start(setting: Setting) -> dict[str, Floats]:
    """Normal entries over the square root of the number of inputs, and scores of size about 1."""
    rng, theta = np.random.default_rng(setting.seed + 1), dict[str, Floats]()
    for name, shape in setting.shapes().items():
        theta[name] = np.asarray(rng.standard_normal(shape)) / np.sqrt(shape[-1] if len(shape) == 2 else 1.0)
    theta["Q"] /= np.sqrt(setting.dim)
    return theta


def authors_data(setting: Setting) -> tuple[Floats, Floats, dict[str, Floats]]:
    """(N, n, d) tokens and (N, d) targets of the authors' set-up, and the theta* that makes them."""
    rng = np.random.default_rng(setting.seed)
    X = rng.uniform(0, 1, (setting.sequences, setting.tokens, setting.dim))
    shapes = setting.shapes()
    theta = {name: np.zeros(shape) for name, shape in shapes.items()}
    theta |= {name: rng.uniform(0, 1, shapes[name]) for name in ("W", "U", "b")}
    theta |= {"eta": np.array(1.0), "V": np.eye(setting.dim)}
    m = X.mean(axis=1)
    return X, m + np.maximum(m @ theta["U"].T + theta["b"], 0) @ theta["W"].T, theta


def authors_start(setting: Setting) -> dict[str, Floats]:
    """The usual start of linear layers, uniform up to 1 over the square root of the number of inputs; rho = eta = 0."""
    rng, shapes = np.random.default_rng(setting.seed + 1), setting.shapes()
    reach = {name: shapes[name][-1] ** -0.5 for name in ("U", "W", "Q", "K", "V")} | {"b": setting.dim**-0.5}
    return {name: rng.uniform(-1, 1, shape) * reach.get(name, 0.0) for name, shape in shapes.items()}


def train(
    X: Floats, Y: Floats, start: dict[str, Floats], weight: float, setting: Setting,
    tell: Callable[[int], object] = silent,
) -> dict[str, Any]:  # fmt: skip
    """Adam on L + weight |theta|^2, the rate falling to 0 along a cosine; the result as plain data.

    Returns:
        loss and penalty at the best point by their sum; the least loss; the parameters at the end as one vector; and
        the curve of the loss as pairs of step and loss, more of them at the beginning.
    """
    torch = need("torch", "torch", "the Tikhonov experiment")
    tokens, targets = torch.tensor(X), torch.tensor(Y)
    # One vector for all parameters: a step is a few operations of torch instead of a few for each of them.
    flat = torch.tensor(np.concatenate([part.ravel() for part in start.values()]), requires_grad=True)
    optimizer = torch.optim.Adam([flat], lr=setting.rate, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, setting.steps)
    best, least, curve = (np.inf, np.inf), np.inf, list[tuple[int, float]]()
    for step in range(setting.steps + 1):
        if step % 50 == 0:
            tell(step)
        loss = block_loss(torch, named(flat, start), tokens, targets, setting.attention_first)
        penalty = weight * flat.dot(flat)
        objective = loss + penalty
        now = (loss.item(), penalty.item())
        best, least = min(best, now, key=sum), min(least, now[0])
        if step >= 1.05 * (curve[-1][0] if curve else -1):
            curve.append((step, now[0]))
        if step < setting.steps:
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
            schedule.step()
    return {"loss": best[0], "penalty": best[1], "least": least, "end": flat.tolist(), "curve": curve}


def named(flat: Any, like: dict[str, Floats]) -> dict[str, Any]:
    """The parts of a vector of parameters, in numpy or torch, with the names and shapes of `like`."""
    ends = np.cumsum([part.size for part in like.values()])
    return {name: flat[end - x.size : end].reshape(x.shape) for (name, x), end in zip(like.items(), ends, strict=True)}


def block(torch: Any, theta: dict[str, Any], x: Any, attention_first: bool = False) -> Any:
    """FF x -> eta x + W relu(U x + b), then softmax attention x_i -> rho x_i + sum_l p_il V x_l; or the other way."""

    def feed_forward(x: Any) -> Any:
        return theta["eta"] * x + torch.relu(x @ theta["U"].T + theta["b"]) @ theta["W"].T

    def attend(x: Any) -> Any:
        scores = (x @ theta["Q"].T) @ (x @ theta["K"].T).transpose(1, 2)
        return theta["rho"] * x + torch.softmax(scores, -1) @ (x @ theta["V"].T)

    return feed_forward(attend(x)) if attention_first else attend(feed_forward(x))


def block_loss(torch: Any, theta: dict[str, Any], tokens: Any, targets: Any, attention_first: bool = False) -> Any:
    """L for one block: mean_j max_i |T(X^j)_i - y_j|^2."""
    out = block(torch, theta, tokens, attention_first)
    return ((out - targets[:, None]) ** 2).sum(-1).amax(-1).mean()


def _square(theta: dict[str, Floats]) -> float:
    return float(sum((part**2).sum() for part in theta.values()))


def _trained(
    context: Context | None, who: str, eps: float, start: str, setting: Setting, norm: float, weight: float, *given: Any
) -> tuple[Row, dict[str, Any]]:
    """One training as a row, and all that `train` found, now or in an earlier run with the same settings."""
    context, torch = context or Context(), need("torch", "torch", "the Tikhonov experiment")
    key = {"tikhonov": who, "eps": eps, "start": start, "setting": asdict(setting)}

    def tell(step: int) -> None:
        context.tell(step, setting.steps, f"{who}, eps = {eps:g}, {start} start")

    with one_thread(torch):
        found = context.memo(key, train, *given, weight, setting, tell)
    loss, penalty = found["loss"], found["penalty"]
    return Row(eps, start, loss, penalty, loss + penalty, weight * norm, found["least"]), found


def measure(
    setting: Setting, epsilons: Sequence[float] = EPSILONS, context: Context | None = None
) -> tuple[list[Row], float]:
    """Train for every eps from both starts; returns the runs and |theta*|^2."""
    X, Y = data(setting)
    starts = {"random": random_start(setting), "interpolator": interpolator(X, Y, setting.width)}
    norm, every = _square(starts["interpolator"]), product(epsilons, starts.items())
    rows = [_trained(context, "our set-up", eps, name, setting, norm, eps, X, Y, at)[0] for eps, (name, at) in every]
    return rows, norm


def measure_authors(setting: Setting, context: Context | None = None) -> tuple[list[Row], list[Any], float]:
    """The authors' trainings, the curve of the last one, and |theta*|^2; weight decay eps is the penalty eps/2."""
    X, Y, exact = authors_data(setting)
    begin = authors_start(setting)
    theta, norm, rows, found = begin, _square(exact), [], dict[str, Any]()
    for eps, part, start in AUTHORS:
        own = replace(setting, steps=max(round(part * setting.steps), 1))
        small = {name: x.astype(np.float32) for name, x in (theta if start == "warm" else begin).items()}
        given = X.astype(np.float32), Y.astype(np.float32), small
        row, found = _trained(context, "the authors' set-up", eps, start, own, norm, eps / 2, *given)
        rows.append(row)
        theta = named(np.array(found["end"]), begin)
    return rows, found["curve"], norm


def best(rows: Sequence[Row], eps: float) -> Row:
    """The run with the smallest objective for this eps."""
    return min((row for row in rows if row.eps == eps), key=lambda row: row.objective)


def slopes(rows: Sequence[Row], names: Sequence[str] = ("objective", "loss")) -> dict[str, float]:
    """The slopes of log J and log L against log eps between the two smallest eps, over the best run of each.

    1 is linear, as the threshold is; L may fall faster.
    """
    low, high = sorted({row.eps for row in rows})[:2]
    a, b = best(rows, low), best(rows, high)
    return {f"{name}_slope": float(np.log(getattr(b, name) / getattr(a, name)) / np.log(high / low)) for name in names}


@reproduction(
    "tikhonov-curves", "Loss against regularization", aliases=("tikhonov",), source="[AFZ25] last section", minutes=10,
    quick={"steps": 400, "authors_steps": 400},
)  # fmt: skip
def tikhonov_curves(context: Context, *, steps: int = 6000, authors_steps: int = 50_000) -> Outcome:
    """Train for every eps from both starts, draw the two curves of each, and train the authors' set-up beside it."""
    sizes = Setting(steps=steps, seed=context.seed)
    theirs = Setting(width=4, steps=authors_steps, rate=1e-3, seed=context.seed, rank=1, attention_first=True)
    authors, curve, authors_norm = measure_authors(theirs, context)
    found, norm = measure(sizes, EPSILONS, context)
    columns = ("eps", "start", "loss", "penalty", "objective", "threshold", "least loss", "below")
    for name, caption, some in (
        ("tikhonov-curves", "Our set-up, all runs", found), ("authors", "The authors' set-up", authors)
    ):  # fmt: skip
        context.table(name, caption, [(*asdict(row).values(), row.below) for row in some], columns)
    panels = {
        f"our set-up, {steps:,} steps": list(map(asdict, found)),
        f"the authors' set-up, up to {authors_steps:,} epochs": list(map(asdict, authors[:3])),
    }
    text = "Loss and objective against eps on logarithmic axes, with the threshold: our set-up and the authors'."
    context.figure("tikhonov-curves", "training:plot_tikhonov", panels, curve, authors[-1].threshold, text=text)
    slope, below = slopes(found), sum(row.below for row in (*found, *authors))
    fall = slopes(authors[:3], ("objective", "least"))
    losses = ", ".join(f"{best(found, eps).loss:.2g} (eps = {eps:g})" for eps in EPSILONS)
    return Outcome(
        f"Our set-up: loss at the smallest objective found {losses}; between the two smallest eps the objective falls "
        f"as eps^{slope['objective_slope']:.2f}, the loss as eps^{slope['loss_slope']:.2f}. The authors' set-up: least "
        f"loss {', '.join(f'{row.least:.2g} (eps = {row.eps:g})' for row in authors)}; from eps = 0.01 to 0.001 it "
        f"falls as eps^{fall['least_slope']:.2f}, the objective as eps^{fall['objective_slope']:.2f}. {below} of "
        f"{len(found) + len(authors)} runs lie below the threshold, the penalty of theta*.",
        "Loss and objective scale linearly with eps where exact interpolation is possible (N = 10, d = 16, n = 100, "
        "depth 1, eps = 0.1, 0.01, 0.001).",
        "The theorem is about minimizers; measured is what Adam finds in a fixed number of steps. Our set-up has a "
        f"random start and an interpolating network written down by hand ({steps:,} steps); the authors' is theirs "
        "with our own random numbers.",
        {"norm": norm, "authors_norm": authors_norm, **slope, **{f"authors_{x}": y for x, y in fall.items()},
         "below_threshold": below, "runs": len(found) + len(authors)},
    )  # fmt: skip
