"""Training with a Tikhonov penalty: when exact interpolation is possible the loss falls linearly with eps [AFZ25].

    J_eps(theta) = L(theta) + eps |theta|^2,      L(theta) = mean_j max_i |T_theta(X^j)_i - y_j|^2

If theta* interpolates, L(theta*) = 0, so a minimizer has L <= J_eps <= J_eps(theta*) = eps |theta*|^2: the threshold.
theta* is written down here for one block with softmax attention, and the block is trained from theta* and from a random
start. Training keeps its best point, so the run from theta* can only stay below the threshold; the random one must
reach it by itself.

Beside it, the authors' set-up as far as it is known: width 4, Q and K of rank one, uniform data, targets that a block
of the same kind makes (theta* is that block), rate 0.001, every eps started where the one before ended, up to 50,000
steps at the smallest and a fifth of them before; sequences of 20 tokens. Training stops when 2,000 steps have
improved the objective by less than a thousandth. Departs: the theorem is about minimizers; what is measured is what
Adam finds in a fixed number of steps. The range of the uniform data (-1 to 1), the start and the scale of the block
that makes the targets are our choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput, need
from hardmax.experiments.context import Context, Progress, silent
from hardmax.experiments.item import Outcome, reproduction
from hardmax.experiments.table import Table
from hardmax.transformer.export import one_thread

EPSILONS = (1e-1, 1e-2, 1e-3)
AUTHORS = (1e-1, 1e-2, 1e-3, 1e-4)
PATIENCE, PROGRESS = 2000, 1e-3


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
    falling: bool = True


@dataclass(frozen=True)
class Row:
    """One training run.

    Attributes:
        start: "random", "interpolator" (theta*) or "warm" (where the eps before ended).
        loss, penalty, objective: L, eps |theta|^2 and their sum at the best point found, by J_eps.
        threshold: eps |theta*|^2.
    """

    eps: float
    start: str
    loss: float
    penalty: float
    objective: float
    threshold: float

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
    zero = np.zeros
    return {
        "eta": np.array(eta), "U": zero((width, d)), "b": zero(width), "W": zero((d, width)),
        "rho": np.array(0.0), "Q": zero((d, d)), "K": zero((d, d)), "V": V / eta,
    }  # fmt: skip


def random_start(setting: Setting, draw: int = 1) -> dict[str, Floats]:
    """Normal entries over the square root of the number of inputs, and scores of size about 1."""
    rng = np.random.default_rng(setting.seed + draw)
    d, w, r = setting.dim, setting.width, setting.rank
    shapes = {"eta": (), "U": (w, d), "b": (w,), "W": (d, w), "rho": (), "Q": (r, d), "K": (r, d), "V": (d, d)}
    theta = {
        name: np.asarray(rng.standard_normal(shape)) / np.sqrt(shape[-1] if len(shape) == 2 else 1.0)
        for name, shape in shapes.items()
    }
    theta["Q"] /= np.sqrt(d)
    return theta


def train(
    X: Floats, Y: Floats, start: dict[str, Floats], eps: float, setting: Setting, tell: Callable[[int], object] = silent
) -> tuple[float, float, dict[str, Floats], int]:
    """(loss, penalty) at the best point of J_eps that Adam finds, that point, and the steps taken.

    The rate falls to 0 along a cosine, or stays, and then training ends when PATIENCE steps bring no PROGRESS.
    """
    torch = need("torch", "torch", "the Tikhonov experiment")
    tokens, targets = torch.tensor(X), torch.tensor(Y)
    # One vector for all parameters: a step is a few operations of torch instead of a few for each of them.
    flat = torch.tensor(np.concatenate([part.ravel() for part in start.values()]), requires_grad=True)
    optimizer = torch.optim.Adam([flat], lr=setting.rate, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, setting.steps) if setting.falling else None
    best, point, mark, steps = (np.inf, np.inf), flat, np.inf, setting.steps
    for step in range(setting.steps + 1):
        if step % 50 == 0:
            tell(step)
        loss = block_loss(torch, _named(flat, start), tokens, targets)
        penalty = eps * flat.dot(flat)
        objective = loss + penalty
        if objective.item() < sum(best):
            best, point = (loss.item(), penalty.item()), flat.detach().clone()
        if not setting.falling and step % PATIENCE == 0:
            if sum(best) > (1 - PROGRESS) * mark:
                steps = step
                break
            mark = sum(best)
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()
    return *best, {name: part.detach().numpy() for name, part in _named(point, start).items()}, steps


def _named(flat: Any, like: dict[str, Floats]) -> dict[str, Any]:
    """The parts of a vector of parameters by name."""
    parts = flat.split([part.size for part in like.values()])
    return {name: part.view(like[name].shape) for name, part in zip(like, parts, strict=True)}


def block(torch: Any, theta: dict[str, Any], tokens: Any) -> Any:
    """FF x -> eta x + W relu(U x + b), then softmax attention x_i -> rho x_i + sum_l p_il V x_l."""
    hidden = torch.relu(tokens @ theta["U"].T + theta["b"])
    x = theta["eta"] * tokens + hidden @ theta["W"].T
    scores = (x @ theta["Q"].T) @ (x @ theta["K"].T).transpose(1, 2)
    return theta["rho"] * x + torch.softmax(scores, -1) @ (x @ theta["V"].T)


def block_loss(torch: Any, theta: dict[str, Any], tokens: Any, targets: Any) -> Any:
    """L for one block: mean_j max_i |T(X^j)_i - y_ij|^2; targets (N, n, d), or (N, d), one for all tokens."""
    out = block(torch, theta, tokens)
    return ((out - (targets if targets.ndim == 3 else targets[:, None])) ** 2).sum(-1).amax(-1).mean()


def measure(setting: Setting, epsilons: Sequence[float] = EPSILONS, tell: Progress = silent) -> tuple[list[Row], float]:
    """Train for every eps from both starts; returns the runs and |theta*|^2."""
    torch = need("torch", "torch", "the Tikhonov experiment")
    X, Y = data(setting)
    exact = interpolator(X, Y, setting.width)
    norm = float(sum((part**2).sum() for part in exact.values()))
    starts = {"random": random_start(setting), "interpolator": exact}
    rows: list[Row] = []
    total = len(starts) * len(epsilons) * setting.steps
    with one_thread(torch):
        for eps, name in product(epsilons, starts):
            what, done = f"eps = {eps:g}, {name} start", len(rows) * setting.steps
            at_step = partial(lambda step, done, what: tell(done + step, total, what), done=done, what=what)
            loss, penalty, _, _ = train(X, Y, starts[name], eps, setting, at_step)
            rows.append(Row(eps, name, loss, penalty, loss + penalty, eps * norm))
    return rows, norm


def measure_authors(setting: Setting, epsilons: Sequence[float] = AUTHORS, tell: Progress = silent) -> list[list[Any]]:
    """The authors' set-up: each row has eps, loss, penalty, objective, eps |theta*|^2 and the steps taken."""
    torch = need("torch", "torch", "the Tikhonov experiment")
    X = np.random.default_rng(setting.seed).uniform(-1, 1, (setting.sequences, setting.tokens, setting.dim))
    teacher = random_start(setting, draw=2)
    with one_thread(torch):
        made = {name: torch.tensor(part) for name, part in teacher.items()}
        Y = block(torch, made, torch.tensor(X)).numpy()
        norm = float(sum((part**2).sum() for part in teacher.values()))
        theta, rows = random_start(setting), []
        for eps in epsilons:
            at_step = partial(lambda step, eps: tell(step, setting.steps, f"authors' set-up, eps = {eps:g}"), eps=eps)
            most = setting.steps if eps == min(epsilons) else setting.steps // 5
            loss, penalty, theta, steps = train(X, Y, theta, eps, replace(setting, steps=most), at_step)
            rows.append([eps, loss, penalty, loss + penalty, eps * norm, steps])
    return rows


def best(rows: Sequence[Row], eps: float) -> Row:
    """The run with the smallest objective for this eps."""
    return min((row for row in rows if row.eps == eps), key=lambda row: row.objective)


def slopes(rows: Sequence[Row]) -> dict[str, float]:
    """The slopes of log J and log L against log eps between the two smallest eps, over the best run of each.

    1 is linear, as the threshold is; L may fall faster.
    """
    low, high = sorted({row.eps for row in rows})[:2]
    a, b = best(rows, low), best(rows, high)
    return {
        f"{name}_slope": float(np.log(getattr(b, name) / getattr(a, name)) / np.log(high / low))
        for name in ("objective", "loss")
    }


@reproduction(
    "tikhonov-curves",
    "Loss against regularization",
    aliases=("tikhonov",),
    source="[AFZ25] last section",
    minutes=5,
    quick={"steps": 400, "authors_steps": 400},
)
def tikhonov_curves(context: Context, *, steps: int = 6000, authors_steps: int = 50_000) -> Outcome:
    """Train for every eps from both starts, draw the two curves of each, and train the authors' set-up beside it."""
    sizes = Setting(steps=steps, seed=context.seed)
    theirs = Setting(tokens=20, width=4, steps=authors_steps, rate=1e-3, seed=context.seed, rank=1, falling=False)
    key = {"tikhonov": "authors", "steps": authors_steps, "seed": context.seed}
    authors = context.memo(key, measure_authors, theirs, AUTHORS, context.tell)
    found, norm = measure(sizes, EPSILONS, context.tell)
    ours = f"our set-up: N = {sizes.sequences}, d = {sizes.dim}, n = {sizes.tokens}, {steps} steps"
    columns = ["eps", "start", "loss", "penalty", "objective", "threshold", "below"]
    rows = [[*asdict(row).values(), row.below] for row in found]
    context.table(Table("tikhonov-curves", "Our set-up, all runs", columns, rows))
    caption = "The authors' set-up: width 4, rank one, uniform data, targets made by a block, warm starts; n = 20"
    columns = ["eps", "loss", "penalty", "objective", "threshold", "steps"]
    table = context.table(Table("authors", caption, columns, authors))
    panels = {ours: [asdict(row) for row in found], f"the authors' set-up: n = {theirs.tokens}, width {theirs.width}": [
        {**row, "start": "warm"} for row in table.records()
    ]}  # fmt: skip
    text = "Loss and objective against eps on logarithmic axes, with the threshold: our set-up and the authors'."
    context.figure("tikhonov-curves", "training:plot_tikhonov", panels, text=text)
    last, before = authors[-1], authors[-2]
    falls = [float(np.log(before[x] / last[x]) / np.log(before[0] / last[0])) for x in (3, 1)]
    slope, below = slopes(found), sum(row.below for row in found)
    losses = ", ".join(f"{best(found, eps).loss:.2g} (eps = {eps:g})" for eps in EPSILONS)
    return Outcome(
        f"Loss at the smallest objective found: {losses}; between the two smallest eps the objective falls as "
        f"eps^{slope['objective_slope']:.2f}, the loss as eps^{slope['loss_slope']:.2f}; {below} of {len(rows)} runs "
        "lie below the threshold eps |theta*|^2. In the authors' set-up the loss is "
        + ", ".join(f"{row[1]:.2g} (eps = {row[0]:g})" for row in authors)
        + f"; between the two smallest eps the objective falls as eps^{falls[0]:.2f}, the loss as eps^{falls[1]:.2f}.",
        "Loss and objective scale linearly with eps where exact interpolation is possible (N = 10, d = 16, n = 100, "
        "depth 1, eps = 0.1, 0.01, 0.001).",
        f"The theorem is about minimizers; measured is what Adam finds in {steps} steps, from a random start and from "
        "an interpolating network written down by hand. Random data of our own."
        + (f" This is the quick run: {steps} steps instead of 6,000." if context.quick else ""),
        {"norm": norm, **slope, "below_threshold": below, "runs": len(rows), "authors": authors},
    )
