"""The demonstration: the four configurations of Fig. 2 of [AFZ24], simulated, certified, drawn, on one page."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from hardmax.cloud.presets import PRESETS, preset
from hardmax.demo.construction import construct_section
from hardmax.demo.sentiment import sentiment_section
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.limit import limit
from hardmax.dynamics.simulate import simulate
from hardmax.dynamics.trajectory import Trajectory
from hardmax.errors import BadInput
from hardmax.html.result import page, picture, point, table
from hardmax.io.files import write_file
from hardmax.plot.layer import PAPER_LAYERS, plot_panels
from hardmax.plot.limit import plot_limit
from hardmax.plot.movie import movie
from hardmax.plot.style import save_figure

Progress = Callable[[int, int, str], object]
ALPHA = 0.5

# The four panels of Fig. 2: preset, heading, what to look at.
FIGURE_2 = (
    (
        "triangle",
        "A triangle",
        "The three corners lead from the start; every other token follows one of them forever.",
    ),
    (
        "emerging",
        "An emerging leader",
        "Two leaders at first. One token follows a neighbor that itself moves away, and becomes the third leader.",
    ),
    (
        "square",
        "A square",
        "Four leaders; six random tokens cluster at the corner whose direction is nearest to theirs.",
    ),
    (
        "square-ties",
        "Clusters without a leader",
        "The tokens (±0.5, 0) tie between two corners in every layer. They end at (±1, 0), the points of two sides of "
        "the square nearest to the origin.",
    ),
)


@dataclass(frozen=True, eq=False)
class Case:
    """One configuration: what was run, what came out, and how long the limit took."""

    name: str
    heading: str
    text: str
    traj: Trajectory
    eq: Equilibrium
    verified: bool
    seconds: float

    @property
    def row(self) -> list[object]:
        since = sorted(set(self.eq.leader_since.values()))
        return [
            self.name,
            len(self.eq.tokens),
            len(self.eq.leaders),
            " and ".join(str(k) for k in since),
            self.eq.layers,
            f"{self.eq.margin:.2g}",
            self.eq.undecided,
            "yes" if self.verified else "NO",
            f"{self.seconds:.4f}",
        ]


COLUMNS = (
    "configuration", "tokens", "leaders", "leaders since layer", "layers to decide", "margin", "undecided",
    "certificate verified", "seconds",
)  # fmt: skip


def write_demo(folder: str | Path, progress: Progress | None = None, quick: bool = False) -> Path:
    """Simulate the four configurations of [AFZ24, Fig. 2], certify their limits, compile an exact classifier, and write
    pictures and a report.

    Args:
        folder: where to write; made if it does not exist. Files of an earlier report are replaced.
        progress: called with (steps done, steps in all, what is next).
        quick: leave out the classifier, whose training takes most of the time.

    Returns:
        The path of report.html, which needs no other file.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder} cannot be made: {error.strerror or error}") from error
    tell = progress or (lambda done, total, what: None)
    total = len(FIGURE_2) + (4 if quick else 5)
    tell(0, total, "getting ready")
    limit(preset("square"), alpha=ALPHA)  # so that the seconds below measure the work, not the first use
    cases = []
    parts = []
    for k, (name, heading, text) in enumerate(FIGURE_2):
        tell(k + 1, total, heading)
        case = _run(name, heading, text)
        cases.append(case)
        parts.append(_section(case, folder))
    tell(len(FIGURE_2) + 1, total, "a movie")
    film = write_file(
        folder / "emerging.gif", lambda to: movie(_short(cases[1].traj), to, between=3, seconds_per_layer=0.8)
    )
    tell(len(FIGURE_2) + 2, total, "an exact classifier")
    more = [construct_section(folder)]
    if not quick:
        step = len(FIGURE_2) + 3
        tell(step, total, "a classifier of film reviews")
        more += sentiment_section(folder, lambda done, of, what: tell(step, total, f"{what} ({done}/{of})"))
    tell(total - 1, total, "the report")
    text = _report(cases, parts, film, more)
    report = write_file(folder / "report.html", text)
    tell(total, total, "done")
    return report


def _run(name: str, heading: str, text: str) -> Case:
    Z = preset(name)
    traj = simulate(Z, alpha=ALPHA, layers=max(PAPER_LAYERS))
    start = perf_counter()
    eq = limit(Z, alpha=ALPHA)
    seconds = perf_counter() - start
    return Case(name, heading, text, traj, eq, eq.certificate.verify(Z), seconds)


def _short(traj: Trajectory) -> Trajectory:
    """The first layers only: later ones look alike."""
    return cast(Trajectory, simulate(traj.tokens[0], alpha=ALPHA, layers=8))


def _section(case: Case, folder: Path) -> str:
    panels = write_file(
        folder / f"{case.name}.png", lambda to: save_figure(plot_panels(case.traj, PAPER_LAYERS), to, dpi=160)
    )
    end = write_file(folder / f"{case.name}-limit.png", lambda to: save_figure(plot_limit(case.eq).figure, to, dpi=130))
    leaders = ", ".join(str(i) for i in case.eq.leaders)
    shown = ", ".join(str(k) for k in PAPER_LAYERS)
    vertices, faces = case.eq.kind.count("vertex"), case.eq.kind.count("face")
    where = [(point(c), kind, int((case.eq.cluster == k).sum())) for k, (c, kind) in enumerate(_centers(case.eq))]
    return "\n".join(
        [
            f"<h2>{escape(case.heading)}</h2>",
            f"<p>{escape(case.text)}</p>",
            picture(panels, f"{len(case.eq.tokens)} tokens at layers {shown}. Leaders: tokens {leaders}."),
            '<div class="pair">',
            picture(end, f"The limit polytope K with {vertices} vertices and {faces} limits on faces.", width=400),
            table("Infinite depth: where tokens end", ["point", "of K", "tokens"], where),
            "</div>",
        ]
    )


def _centers(eq: Equilibrium) -> Iterator[tuple[Any, str]]:
    return zip(eq.centers, eq.kind, strict=True)


def _report(cases: list[Case], parts: list[str], film: Path, more: list[str]) -> str:
    title = "Clustering in hardmax attention"
    described = "; ".join(f"{case.name}: {PRESETS[case.name][0]}" for case in cases)
    summary = table(f"Limits at infinite depth (alpha = {ALPHA}, A = identity)", COLUMNS, [case.row for case in cases])
    return page(
        title,
        [
            f"<h1>{title}</h1>",
            "<p>In each layer a token moves toward the tokens it follows: those with the largest inner product with "
            "it. Tokens that follow only themselves are <em>leaders</em>; they stand still, and the others gather "
            "around them or, in exact ties, at special points between them. These are the four configurations of "
            "Fig. 2 in Alcalde, Fantuzzi and Zuazua, <cite>Clustering in pure-attention hardmax transformers and its "
            "role in sentiment analysis</cite>, SIAM J. Math. Data Sci. 7(3), 2025. Random tokens are our own.</p>",
            summary,
            '<p class="soft">Each limit is computed in closed form, not by running many layers. <em>Layers to '
            "decide</em>: the layer at which the whole future is known. <em>Margin</em>: the narrowest comparison, "
            "relative to the norms of the tokens. <em>Undecided</em>: comparisons too close for float64. "
            "<em>Certificate verified</em>: checked again from the tokens alone by independent code.</p>",
            *parts,
            "<h2>The emerging leader, layer by layer</h2>",
            picture(film, "Animation of the emerging leader over layers 0 to 8.", width=440),
            f'<p class="soft">Configurations: {escape(described)}.</p>',
            *more,
        ],
    )
