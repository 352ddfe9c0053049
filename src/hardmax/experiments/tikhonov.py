"""Training with a Tikhonov penalty: when exact interpolation is possible the loss falls linearly with eps [AFZ25].

    J_eps(theta) = L(theta) + eps |theta|^2,      L(theta) = mean_j max_i |T_theta(X^j)_i - y_j|^2

If theta* interpolates, L(theta*) = 0, so a minimizer has L <= J_eps <= J_eps(theta*) = eps |theta*|^2: the threshold.
theta* is written down here for one block with softmax attention, and the block is trained from theta* and from a random
start. Training keeps its best point, so the run from theta* can only stay below the threshold; the random one must
reach it by itself.
Departs: the theorem is about minimizers; what is measured is what Adam finds in a fixed number of steps.
"""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput, need
from hardmax.transformer.one_thread import one_thread

Progress = Callable[[float, float | None, str], object]
EPSILONS = (1e-1, 1e-2, 1e-3)


@dataclass(frozen=True)
class Setting:
    """N sequences of n tokens in R^d, one block with `width` units, `steps` steps of Adam."""

    sequences: int = 10
    dim: int = 16
    tokens: int = 100
    width: int = 32
    steps: int = 6000
    rate: float = 1e-2
    seed: int = 0

    @staticmethod
    def quick() -> "Setting":
        return Setting(steps=400)


@dataclass(frozen=True)
class Row:
    """One training run.

    Attributes:
        start: "random" or "interpolator" (theta*).
        loss: L at the best point found, by J_eps.
        penalty: eps |theta|^2 there.
        objective: their sum.
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


@dataclass(frozen=True)
class Tikhonov:
    """All runs, and how the loss scales.

    Attributes:
        norm: |theta*|^2.
        objective_slope, loss_slope: of log J and log L against log eps between the two smallest eps, over the best run
            of each. 1 is linear, as the threshold is; L may fall faster.
    """

    setting: Setting
    rows: tuple[Row, ...]
    norm: float
    objective_slope: float
    loss_slope: float

    def best(self, eps: float) -> Row:
        """The run with the smallest objective for this eps."""
        return min((row for row in self.rows if row.eps == eps), key=lambda row: row.objective)


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


def random_start(setting: Setting) -> dict[str, Floats]:
    """Normal entries over the square root of the number of inputs, and scores of size about 1."""
    rng = np.random.default_rng(setting.seed + 1)
    d, w = setting.dim, setting.width
    shapes = {"eta": (), "U": (w, d), "b": (w,), "W": (d, w), "rho": (), "Q": (d, d), "K": (d, d), "V": (d, d)}
    theta = {
        name: np.asarray(rng.standard_normal(shape)) / np.sqrt(shape[-1] if len(shape) == 2 else 1.0)
        for name, shape in shapes.items()
    }
    theta["Q"] /= np.sqrt(d)
    return theta


def train(
    X: Floats,
    Y: Floats,
    start: dict[str, Floats],
    eps: float,
    setting: Setting,
    tell: Callable[[int], object] | None = None,
) -> tuple[float, float]:
    """(loss, penalty) at the best point of J_eps that Adam finds, the rate falling to 0 along a cosine."""
    torch = need("torch", "torch", "the Tikhonov experiment")
    tokens, targets = torch.tensor(X), torch.tensor(Y)
    theta = {name: torch.tensor(value, requires_grad=True) for name, value in start.items()}
    optimizer = torch.optim.Adam(theta.values(), lr=setting.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, setting.steps)
    best = (np.inf, np.inf)
    for step in range(setting.steps + 1):
        if tell is not None and step % 50 == 0:
            tell(step)
        loss = block_loss(torch, theta, tokens, targets)
        penalty = eps * sum((part * part).sum() for part in theta.values())
        objective = loss + penalty
        if objective.item() < sum(best):
            best = (loss.item(), penalty.item())
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        schedule.step()
    return best


def block_loss(torch: Any, theta: dict[str, Any], tokens: Any, targets: Any) -> Any:
    """L for one block: FF x -> eta x + W relu(U x + b), then softmax attention x_i -> rho x_i + sum_l p_il V x_l."""
    hidden = torch.relu(tokens @ theta["U"].T + theta["b"])
    x = theta["eta"] * tokens + hidden @ theta["W"].T
    scores = (x @ theta["Q"].T) @ (x @ theta["K"].T).transpose(1, 2)
    out = theta["rho"] * x + torch.softmax(scores, -1) @ (x @ theta["V"].T)
    return ((out - targets[:, None]) ** 2).sum(-1).amax(-1).mean()


def measure(
    setting: Setting | None = None, epsilons: Sequence[float] = EPSILONS, progress: Progress | None = None
) -> Tikhonov:
    """Train for every eps from both starts; `progress` is called with (steps done, steps in all, what is trained)."""
    setting = setting or Setting()
    torch = need("torch", "torch", "the Tikhonov experiment")
    with one_thread(torch):
        return _measure(setting, epsilons, progress or (lambda done, total, what: None))


def _measure(setting: Setting, epsilons: Sequence[float], progress: Progress) -> Tikhonov:
    X, Y = data(setting)
    exact = interpolator(X, Y, setting.width)
    norm = float(sum((part**2).sum() for part in exact.values()))
    rows: list[Row] = []
    for eps in epsilons:
        for name, start in (("random", random_start(setting)), ("interpolator", exact)):
            done, total = len(rows) * setting.steps, 2 * len(epsilons) * setting.steps

            def tell(
                step: int, done: int = done, total: int = total, what: str = f"eps = {eps:g}, {name} start"
            ) -> None:
                progress(done + step, total, what)

            loss, penalty = train(X, Y, start, eps, setting, tell)
            rows.append(Row(eps, name, loss, penalty, loss + penalty, eps * norm))
    result = Tikhonov(setting, tuple(rows), norm, np.nan, np.nan)
    if len(epsilons) < 2:
        return result
    low, high = sorted(epsilons)[:2]
    a, b = result.best(low), result.best(high)
    slopes = [np.log(y / x) / np.log(high / low) for x, y in ((a.objective, b.objective), (a.loss, b.loss))]
    return replace(result, objective_slope=float(slopes[0]), loss_slope=float(slopes[1]))


def run(folder: str | Path, quick: bool = False, seed: int = 0) -> list[Path]:
    """Write tikhonov.csv, tikhonov.json and tikhonov.png into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    setting = Setting(**{**asdict(Setting.quick() if quick else Setting()), "seed": seed})
    result = measure(setting)
    files = [folder / f"tikhonov.{suffix}" for suffix in ("csv", "json", "png")]
    with files[0].open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, [*asdict(result.rows[0]), "below"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(row), "below": row.below} for row in result.rows)
    document = {"schema": "hardmax.tikhonov/1", **asdict(result)}
    files[1].write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    from hardmax.plot.style import save_figure
    from hardmax.plot.tikhonov import plot_tikhonov

    save_figure(plot_tikhonov(result).figure, files[2])
    return files


def table(result: Tikhonov) -> str:
    """The runs as lines of text."""
    lines = [f"{'eps':>8} {'start':>13} {'loss':>10} {'penalty':>10} {'objective':>10} {'threshold':>10}  below"]
    for row in result.rows:
        numbers = " ".join(f"{x:10.4g}" for x in (row.loss, row.penalty, row.objective, row.threshold))
        lines.append(f"{row.eps:8.0e} {row.start:>13} {numbers}  {'yes' if row.below else 'no'}")
    lines.append(f"|theta*|^2 = {result.norm:.4g}")
    lines.append(
        f"between the two smallest eps the objective falls as eps^{result.objective_slope:.2f}, "
        f"the loss as eps^{result.loss_slope:.2f}"
    )
    return "\n".join(lines)
