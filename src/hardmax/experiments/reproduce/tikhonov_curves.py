"""Training with a Tikhonov penalty eps: loss and objective against eps, and the threshold of the theorem [AFZ25]."""

from dataclasses import asdict, replace
from typing import Any

from hardmax.experiments import tikhonov
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table


def _setting(context: Context) -> tikhonov.Setting:
    return replace(tikhonov.Setting.quick() if context.quick else tikhonov.Setting(), seed=context.seed)


def settings(context: Context) -> dict[str, Any]:
    """Sizes, steps and the values of eps."""
    return {**asdict(_setting(context)), "epsilons": list(tikhonov.EPSILONS)}


def run(context: Context) -> Outcome:
    """Train for every eps from both starts, and draw the two curves of each."""
    from hardmax.plot.tikhonov import plot_tikhonov

    result = tikhonov.measure(_setting(context), progress=context.tell)
    figures = write_figure(context, "tikhonov-curves", plot_tikhonov(result).figure)
    head = ["eps", "start", "loss", "penalty", "objective", "threshold", "below"]
    rows = [[*asdict(row).values(), row.below] for row in result.rows]
    data = {"rows": [dict(zip(head, row, strict=True)) for row in rows], "norm": result.norm}
    slopes = {"objective_slope": result.objective_slope, "loss_slope": result.loss_slope}
    files = [
        write_table(context, "tikhonov-curves", head, rows),
        write_data(context, "tikhonov-curves", settings(context), {**data, **slopes}),
    ]
    best = [result.best(eps) for eps in tikhonov.EPSILONS]
    below = sum(row.below for row in result.rows)
    s = result.setting
    return Outcome(
        paper="Loss and objective scale linearly with eps where exact interpolation is possible (N = 10, d = 16, "
        "n = 100, depth 1, eps = 0.1, 0.01, 0.001).",
        ours="Loss at the smallest objective found: "
        + ", ".join(f"{row.loss:.2g} (eps = {row.eps:g})" for row in best)
        + f"; between the two smallest eps the objective falls as eps^{result.objective_slope:.2f}, the loss as "
        f"eps^{result.loss_slope:.2f}; {below} of {len(result.rows)} runs lie below the threshold eps |theta*|^2.",
        differs=f"The theorem is about minimizers; measured is what Adam finds in {s.steps} steps, from a random start "
        "and from an interpolating network written down by hand. Random data of our own."
        + (" This is the quick run: 400 steps in place of 6,000." if context.quick else ""),
        numbers={"norm": result.norm, **slopes, "below_threshold": below, "runs": len(result.rows)},
        files=(*figures, *files),
        pictures=(Picture(figures[0], "Loss and objective against eps on logarithmic axes, with the threshold."),),
        tables=(
            Table(
                "All runs",
                ["eps", "start", "loss", "penalty", "objective", "threshold", "below"],
                [[*(_short(x) for x in row[:-1]), "yes" if row[-1] else "no"] for row in rows],
            ),
        ),
    )


def _short(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value
