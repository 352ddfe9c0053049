"""Results in a notebook, and pages of results that have no dynamics to play with: facts, a sketch, a table.

Nothing here needs matplotlib or a script, so that `_repr_html_` works wherever HTML is shown.
"""

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.html.page import NO_SCRIPT, facts, page, point, table
from hardmax.html.sketch import cloud_sketch, polytope_sketch
from hardmax.io.documents import readable

if TYPE_CHECKING:
    from hardmax.construction.network import Network
    from hardmax.dynamics.batch import Batch
    from hardmax.dynamics.certificate import Certificate
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.polytope import Polytope
    from hardmax.dynamics.trajectory import Trajectory
    from hardmax.sentiment.model import SentimentModel

MOST_ROWS = 1000
FEW_ROWS = 12
PICTURED = 12  # clouds of a batch
STYLE = (
    "<style>.hardmax-result{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:flex-start}"
    ".hardmax-result dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}"
    ".hardmax-result dt{opacity:.7}.hardmax-result dd{margin:0}.hardmax-result svg{border:1px solid #8884;"
    "border-radius:6px}.hardmax-result table{margin:0}.hardmax-result figure{margin:0}"
    ".hardmax-result .pair{display:flex;flex-wrap:wrap;gap:.8rem}</style>"
)


def _part(title: str, *pieces: str) -> str:
    """What a notebook shows."""
    return f'{STYLE}<p><b>{escape(title)}</b></p><div class="hardmax-result">{"".join(pieces)}</div>'


def _save(path: Path, title: str, pieces: list[str]) -> None:
    """Write a page without scripts."""
    path.write_text(page(title, [f"<h1>{escape(title)}</h1>", *pieces], NO_SCRIPT), encoding="utf-8")


def _some(values: Any, most: int = FEW_ROWS) -> str:
    listed = [str(v) for v in list(values)[:most]]
    return ", ".join(listed) + (f", ... ({len(values)} in all)" if len(values) > most else "") or "none"


def trajectory_part(traj: "Trajectory") -> str:
    """A trajectory in a notebook: `save("x.html")` writes the page to play with."""
    label = f"{traj.n} tokens from layer 0 to layer {traj.layers}; {len(traj.leaders)} leaders"
    known = [
        ("tokens", f"{traj.n:,} in dimension {traj.dim}"),
        ("alpha", traj.alpha),
        ("rule", repr(traj.rule)),
        ("layers", traj.layers),
        ("leaders", _some(traj.leaders)),
        ("outcome", traj.outcome.kind),
        ("arithmetic", "rational" if traj.exact else f"float64, {traj.undecided} comparisons undecided"),
    ]
    picture = _pictured(traj.dim, lambda: cloud_sketch(traj.tokens[0], traj.tokens[-1], traj.leaders, label))
    return _part("Trajectory", picture, facts(known))


def equilibrium_part(eq: "Equilibrium") -> str:
    """A limit in a notebook: `save("x.html")` writes the page to play with."""
    n, dim = eq.tokens.shape
    label = f"{n} tokens and the {len(eq.centers)} points where they end; {len(eq.leaders)} leaders"
    known = [
        ("tokens", f"{n:,} in dimension {dim}"),
        ("alpha", eq.alpha),
        ("leaders", _some(eq.leaders)),
        ("limit points", f"{eq.kind.count('vertex')} vertices, {eq.kind.count('face')} on faces"),
        ("decided", f"at layer {eq.layers}, narrowest margin {eq.margin:.3g}"),
        ("known", "proved" if eq.undecided == 0 else f"conditional on {eq.undecided} ties"),
    ]
    picture = _pictured(dim, lambda: cloud_sketch(eq.tokens, eq.points, eq.leaders, label))
    return _part("Equilibrium", picture, facts(known))


def _pictured(dim: int, draw: Callable[[], str]) -> str:
    """A sketch where one says something: up to three dimensions, numbers that float64 holds."""
    try:
        return draw() if dim <= 3 else ""
    except (OverflowError, ValueError):  # Fractions beyond float64 have no place in a picture
        return ""


def certificate_part(certificate: "Certificate") -> str:
    """A certificate in a notebook."""
    from hardmax.dynamics.certificate import ROLE_NAMES

    roles = [(name, int((certificate.role == r).sum())) for r, name in enumerate(ROLE_NAMES)]
    known = [
        ("arithmetic", certificate.method),
        ("decided", f"at layer {certificate.layers}"),
        ("narrowest margin", f"{certificate.margin:.3g}"),
        ("undecided", certificate.undecided),
    ]
    return _part("Certificate", facts(known), table("Why each token ends where it ends", ["role", "tokens"], roles))


def batch_parts(batch: "Batch[Any]", most: int = MOST_ROWS) -> list[str]:
    """A batch: a row for each cloud, pictures of the first ones."""
    rows = [
        (b, len(batch.last[b]), len(batch.leaders[b]), _some(batch.leaders[b], 8)) for b in range(min(len(batch), most))
    ]
    pictures = []
    for b in range(min(len(batch), PICTURED)):
        if batch.last[b].shape[1] <= 3:
            start, last = batch[b].tokens, batch.last[b]
            start = start[0] if start.ndim == 3 else start
            label = f"cloud {b}: {len(last)} tokens, {batch_kind(batch)}"
            drawn = cloud_sketch(start, last, batch.leaders[b], label, 180)
            pictures.append(f"<figure>{drawn}<figcaption>cloud {b}</figcaption></figure>")
    known = facts([("clouds", f"{len(batch):,}"), ("tokens", f"{sum(map(len, batch.last)):,}")])
    head = ["cloud", "tokens", "leaders", "their indices"]
    caption = "Clouds" if len(batch) <= most else f"The first {most} of {len(batch):,} clouds"
    return [known, f'<div class="pair">{"".join(pictures)}</div>', table(caption, head, rows)]


def batch_kind(batch: "Batch[Any]") -> str:
    """Words for what a batch holds."""
    return "layer by layer" if batch.kind.__name__ == "Trajectory" else "at infinite depth"


def batch_part(batch: "Batch[Any]") -> str:
    """A batch in a notebook."""
    return _part(repr(batch), *batch_parts(batch, FEW_ROWS))


def save_batch(batch: "Batch[Any]", path: Path) -> None:
    """Write the page of a Batch."""
    _save(path, f"{len(batch)} clouds, {batch_kind(batch)}", batch_parts(batch))


def polytope_parts(polytope: "Polytope", most: int = MOST_ROWS) -> list[str]:
    """A polytope: the picture in up to three dimensions, and its vertices."""
    faces = "too many to list" if polytope.facets is None else f"{len(polytope.facets):,}"
    known = facts(
        [
            ("vertices", f"{len(polytope.vertices):,}"),
            ("dimension", f"{polytope.dimension} in {polytope.vertices.shape[1]}"),
            ("faces", faces),
            ("size", readable(polytope.volume)),
        ]
    )
    rows = [(int(i), point(z)) for i, z in list(zip(polytope.vertex_index, polytope.vertices, strict=True))[:most]]
    caption = "Vertices" if len(polytope.vertices) <= most else f"The first {most} vertices"
    picture = _pictured(polytope.vertices.shape[1], lambda: polytope_sketch(polytope))
    return [picture, known, table(caption, ["token", "vertex"], rows)]


def polytope_part(polytope: "Polytope") -> str:
    """A polytope in a notebook."""
    return _part("Polytope", *polytope_parts(polytope, FEW_ROWS))


def save_polytope(polytope: "Polytope", path: Path) -> None:
    """Write the page of a Polytope."""
    _save(path, "Polytope", polytope_parts(polytope))


def network_parts(net: "Network", most: int = MOST_ROWS) -> list[str]:
    """A network: what it is for, and its blocks."""
    from math import isfinite

    known = facts(
        [
            ("task", net.task),
            ("style", f"{net.style}, pool {net.pool}"),
            ("built for", f"{net.sequences} sequences in dimension {net.dim}"),
            ("blocks", f"{net.blocks} (the paper's bound: {net.bound})"),
            ("width", net.width),
            ("parameters", f"{net.parameters:,}"),
            ("smallest gap", f"{net.gap:.3g}"),
            ("softmax", f"the same up to temperature {net.temperature:.3g}" if isfinite(net.temperature)
             else "the same at any temperature"),
        ]
    )  # fmt: skip
    rows = [
        (i, block.stage, block.ff.width, block.parameters) for i, block in enumerate(net.stack[:most])
    ]  # fmt: skip
    caption = "Blocks" if net.blocks <= most else f"The first {most} of {net.blocks} blocks"
    return [known, table(caption, ["block", "stage", "width", "parameters"], rows)]


def network_part(net: "Network") -> str:
    """A network in a notebook."""
    return _part("Network", *network_parts(net, FEW_ROWS))


def save_network(net: "Network", path: Path) -> None:
    """Write the page of a Network."""
    _save(path, "Network", network_parts(net))


def model_parts(model: "SentimentModel", most: int = 40) -> list[str]:
    """A model: its figures and its strongest words."""
    from hardmax.sentiment.highlight import visible
    from hardmax.sentiment.vocabulary_view import words

    known = facts(
        [
            ("classes", _some([visible(str(c)) for c in model.classes])),
            ("dimensions", model.dim),
            ("layers", f"{model.layers}, alpha = {model.alpha:.6g}"),
            ("terms", f"{len(model.vocabulary):,}, n-grams of up to {model.vocabulary.ngrams} words"),
            ("parameters", f"{model.parameters:,}"),
        ]
    )
    rows = [(visible(w["term"]), _score(w["score"]), f"{w['radius']:.4g}") for w in words(model, most)]
    head = ["term", "score", "radius"]
    return [known, table("The strongest terms: a radius decides who can lead", head, rows)]


def _score(score: Any) -> str:
    return f"{score:+.4g}" if isinstance(score, float) else ", ".join(f"{c}: {s:+.3g}" for c, s in score.items())


def model_part(model: "SentimentModel") -> str:
    """A model in a notebook."""
    return _part("Sentiment model", *model_parts(model, FEW_ROWS))


def save_model(model: "SentimentModel", path: Path) -> None:
    """Write the page of a SentimentModel."""
    _save(path, "Sentiment model", model_parts(model))
