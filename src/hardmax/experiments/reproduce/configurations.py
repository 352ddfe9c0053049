"""Four clouds at layers 0, 1, 2, 5 and 30 in one figure [AFZ24, Fig. 2]."""

from typing import Any

from hardmax.cloud.presets import preset
from hardmax.dynamics.limit import limit
from hardmax.dynamics.simulate import simulate
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table

ALPHA = 0.5
LAYERS = (0, 1, 2, 5, 30)
CLOUDS = {
    "triangle": "a triangle",
    "emerging": "an emerging leader",
    "square": "a square",
    "square-ties": "clusters without leader",
}


def settings(context: Context) -> dict[str, Any]:
    """Clouds, step and layers."""
    return {"clouds": list(CLOUDS), "alpha": ALPHA, "layers": LAYERS}


def run(context: Context) -> Outcome:
    """Simulate, certify the limits, draw four rows of five panels."""
    from hardmax.plot.figures_dynamics import plot_configurations

    runs: dict[str, Any] = {name: simulate(preset(name), alpha=ALPHA, layers=max(LAYERS)) for name in CLOUDS}
    ends: dict[str, Any] = {name: limit(preset(name), alpha=ALPHA) for name in CLOUDS}
    figures = write_figure(context, "configurations", plot_configurations(list(runs.values()), LAYERS, CLOUDS.values()))
    head = ["configuration", "layer", "token", "x", "y", "follows", "leader_since"]
    rows = [
        [name, k, i, *traj.tokens[k, i].tolist(), " ".join(map(str, traj.follows(k)[i])), traj.leader_since.get(i, "")]
        for name, traj in runs.items()
        for k in LAYERS
        for i in range(traj.n)
    ]
    summary = [_summary(name, runs[name], ends[name]) for name in CLOUDS]
    files = [
        write_table(context, "configurations", head, rows),
        write_data(context, "configurations", settings(context), {"configurations": summary}),
    ]
    proved = all(each["certificate_verified"] for each in summary)
    emerged = summary[1]["leader_since"]
    return Outcome(
        paper="Four rows: all tokens gather at the vertices of a polytope spanned by leaders, one leader emerges late, "
        "and exact ties give clusters that are no leaders, at (±1, 0).",
        ours=f"{', '.join(str(each['leaders']) for each in summary)} leaders; in the second row they lead since layers "
        f"{', '.join(map(str, sorted(emerged.values())))}; the fourth row has limits "
        f"{' and '.join(f'({x:g}, {y:g})' for x, y in summary[3]['face_limits'])} on faces. All limits "
        + ("are certified." if proved else "are NOT all certified."),
        differs="The second row and the outer tokens of the last two are the paper's; the paper draws the other tokens "
        "at random, ours are fixed numbers of our own. Ties are exact here: nothing is decided by rounding.",
        numbers={"configurations": summary},
        files=(*figures, *files),
        pictures=(Picture(figures[0], "Four rows of five panels: tokens at layers 0, 1, 2, 5 and 30."),),
        tables=(
            Table(
                "Layer 30 against infinite depth",
                ["configuration", "tokens", "leaders", "limit points on faces", "farthest from its limit at layer 30"],
                [
                    [each["name"], each["tokens"], each["leaders"], len(each["face_limits"]), f"{each['gap']:.2g}"]
                    for each in summary
                ],
            ),
        ),
    )


def _summary(name: str, traj: Any, eq: Any) -> dict[str, Any]:
    faces = [
        tuple(float(x) for x in center) for center, kind in zip(eq.centers, eq.kind, strict=True) if kind == "face"
    ]
    gap = ((traj.tokens[-1] - eq.points) ** 2).sum(axis=1).max() ** 0.5
    return {
        "name": name,
        "tokens": traj.n,
        "leaders": len(eq.leaders),
        "leader_since": {str(i): int(k) for i, k in eq.leader_since.items()},
        "face_limits": faces,
        "gap": float(gap),
        "certificate_verified": bool(eq.certificate.verify(preset(name))),
    }
