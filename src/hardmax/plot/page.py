"""Results as one self-contained HTML page: no outside request, light and dark, readable without colours."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from hardmax.dynamics.certificate import ROLE_NAMES
from hardmax.dynamics.document import readable
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.trajectory import Trajectory
from hardmax.plot.layer import plot_panels
from hardmax.plot.limit import plot_limit
from hardmax.plot.style import svg_text

MOST_ROWS = 1000

STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #666; --paper: #fdfdfb; --line: #dcd9d0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e4de; --soft: #a5a29a; --paper: #1b1b1a; --line: #3c3b38; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 64rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; font-weight: 600; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .3rem; font-weight: 600; }
p { margin: .5rem 0; max-width: 46rem; }
.soft { color: var(--soft); }
figure { margin: 1rem 0; }
figcaption { color: var(--soft); font-size: .92rem; margin-top: .4rem; max-width: 46rem; }
figure img, figure svg { display: block; max-width: 100%; height: auto; background: #fff; padding: 8px;
  border: 1px solid var(--line); border-radius: 6px; }
figure.wide { overflow-x: auto; }
figure.wide img, figure.wide svg { min-width: 42rem; }
.pair { display: flex; flex-wrap: wrap; gap: 0 2.5rem; align-items: flex-start; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; margin: 1rem 0; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole HTML document around parts that are HTML already."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of text; every cell is escaped."""
    top = "".join(f'<th scope="col">{escape(str(h))}</th>' for h in head)
    lines = "\n".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll"><table>\n<caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """A list of names and values."""
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in pairs) + "</dl>"


def point(row: Iterable[Any]) -> str:
    return "(" + ", ".join(readable(x) for x in row) + ")"


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
    return page(
        title,
        [
            f"<h1>{escape(title)}</h1>",
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
            f'<figure class="wide">{figure}<figcaption>A star follows itself; a circle has the colour of the token it '
            "follows; the hull of the leaders is shaded.</figcaption></figure>",
            table(_caption(traj.n), ["token", "layer 0", f"layer {traj.layers}", "follows", "leader since"], rows),
        ],
    )


def equilibrium_page(eq: Equilibrium, title: str = "Hardmax attention at infinite depth", **options: Any) -> str:
    """The limit, the main facts and a table of tokens; `options` go to `hardmax.plot.plot_limit`."""
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
    return page(
        title,
        [
            f"<h1>{escape(title)}</h1>",
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
        ],
    )
