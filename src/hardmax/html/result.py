"""Results as one self-contained HTML page: no outside request, light and dark, readable without colors."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from hardmax.dynamics.certificate import ROLE_NAMES
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.trajectory import Trajectory
from hardmax.html.page import facts as facts
from hardmax.html.page import page as page
from hardmax.html.page import point as point
from hardmax.html.page import table as table
from hardmax.plot.layer import plot_panels
from hardmax.plot.limit import plot_limit
from hardmax.plot.style import svg_text

MOST_ROWS = 1000


def picture(path: Path, alt: str, width: int | None = None) -> str:
    """An image inside the page, scaled to `width`, with the words for those who do not see it."""
    from PIL import Image

    data = path.read_bytes()
    with Image.open(BytesIO(data)) as image:
        w, h = image.size
    shown = width or min(w, 1000)
    kind = "image/gif" if path.suffix == ".gif" else "image/png"
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    size = f'width="{shown}" height="{round(h * shown / w)}"'
    frame = "" if width else ' class="wide"'
    return f'<figure{frame}><img {size} alt="{escape(alt, quote=True)}" src="{source}"></figure>'


def _some(indices: Sequence[int], most: int = 12) -> str:
    """The first of many indices; "none" for none of them."""
    shown = ", ".join(str(int(i)) for i in indices[:most])
    return (shown + (f", ... ({len(indices)} in all)" if len(indices) > most else "")) or "none"


def _caption(n: int) -> str:
    return (
        "Tokens" if n <= MOST_ROWS else f"The first {MOST_ROWS} of {n:,} tokens; .npz and .json files hold all of them"
    )


def trajectory_page(traj: Trajectory, title: str = "Hardmax attention, layer by layer", **options: Any) -> str:
    """The panel row, the main facts and a table of tokens; `options` go to `hardmax.plot.plot_panels`."""
    return page(title, [f"<h1>{escape(title)}</h1>", *trajectory_parts(traj, **options)])


def trajectory_parts(traj: Trajectory, **options: Any) -> list[str]:
    """Facts, figure and table of a trajectory."""
    figure = svg_text(
        plot_panels(traj, **options),
        f"{traj.n} tokens in dimension {traj.dim} at several of {traj.layers} layers; {len(traj.leaders)} leaders.",
    )
    last = traj.follows(traj.layers)
    rows = (
        (i, point(traj.tokens[0, i]), point(traj.tokens[-1, i]), _some(last[i]), traj.leader_since.get(i, ""))
        for i in range(min(traj.n, MOST_ROWS))
    )
    outcome = traj.outcome.kind + (f", period {traj.outcome.period}" if traj.outcome.period else "")
    return [
        facts(
            [
                ("tokens", f"{traj.n:,} in dimension {traj.dim}"),
                ("alpha", traj.alpha),
                ("rule", repr(traj.rule)),
                ("layers", traj.layers),
                ("leaders", _some(traj.leaders.tolist())),
                ("outcome", f"{outcome}. {traj.outcome.detail}".rstrip(". ")),
                ("arithmetic", "rational" if traj.exact else f"float64, {traj.undecided} comparisons undecided"),
            ]
        ),
        f'<figure class="wide">{figure}<figcaption>A star follows itself; a circle has the color of the token it '
        "follows; the hull of the leaders is shaded.</figcaption></figure>",
        table(_caption(traj.n), ["token", "layer 0", f"layer {traj.layers}", "follows", "leader since"], rows),
    ]


def equilibrium_page(eq: Equilibrium, title: str = "Hardmax attention at infinite depth", **options: Any) -> str:
    """The limit, the main facts and a table of tokens; `options` go to `hardmax.plot.plot_limit`."""
    return page(title, [f"<h1>{escape(title)}</h1>", *equilibrium_parts(eq, **options)])


def equilibrium_parts(eq: Equilibrium, **options: Any) -> list[str]:
    """Facts, figure and table of a limit."""
    n = len(eq.tokens)
    faces = sum(k == "face" for k in eq.kind)
    figure = svg_text(
        plot_limit(eq, **options).figure,
        f"{n} tokens and the {len(eq.kind)} points where they end: {len(eq.kind) - faces} vertices, {faces} on faces.",
    )
    c = eq.certificate
    rows = (
        (
            i,
            point(eq.tokens[i]),
            point(eq.points[i]),
            eq.kind[int(eq.cluster[i])],
            ROLE_NAMES[c.role[i]],
            int(c.decided_at[i]),
        )
        for i in range(min(n, MOST_ROWS))
    )
    return [
        facts(
            [
                ("tokens", f"{n:,} in dimension {eq.tokens.shape[1]}"),
                ("alpha", eq.alpha),
                ("leaders", _some(eq.leaders.tolist())),
                ("limit points", f"{len(eq.kind) - faces} vertices of K, {faces} on faces of K"),
                ("decided", f"at layer {eq.layers}, narrowest margin {eq.margin:.3g}"),
                ("arithmetic", f"{c.method}, {eq.undecided} comparisons undecided"),
            ]
        ),
        f"<figure>{figure}<figcaption>Start and limit of every token; the limit polytope K is shaded.</figcaption>"
        "</figure>",
        table(_caption(n), ["token", "start", "limit", "kind", "role", "decided at layer"], rows),
    ]
