"""Results as parts of notebooks and as pages: facts, a picture, a table.

Parts for notebooks need neither matplotlib nor a script, so that `_repr_html_` works wherever HTML is shown. The pages
of trajectories and limits have figures by matplotlib where it is installed; `hardmax.web.single_file` adds the
playground to them.
"""

from collections.abc import Callable
from dataclasses import fields
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hardmax.cloud.parameters import fits_float64
from hardmax.errors import counted
from hardmax.html.page import facts, heading, notebook, page, render, table
from hardmax.html.sketch import cloud_sketch, polytope_sketch
from hardmax.io.documents import point, readable

if TYPE_CHECKING:
    from hardmax.construction.network import Network
    from hardmax.construction.stages import Stages
    from hardmax.construction.verification import Verification
    from hardmax.dynamics.batch import Batch
    from hardmax.dynamics.certificate import Certificate
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.polytope import Polytope
    from hardmax.dynamics.stream import FileLimit
    from hardmax.dynamics.trajectory import Trajectory
    from hardmax.sentiment.drift import Drift
    from hardmax.sentiment.model import SentimentModel

MOST_ROWS = 1000  # of a table on a page
FEW_ROWS = 12  # of a table in a notebook
PICTURED = 12  # clouds of a batch
FILES = "; .npz and .json files hold all of them"
Parts = list[Markup]


def _some(values: Any, most: int = FEW_ROWS) -> str:
    """The first of many values, and how many there are."""
    listed = ", ".join(str(v) for v in list(values)[:most])
    return (listed + (f", ... ({len(values)} in all)" if len(values) > most else "")) or "none"


def _caption(what: str, n: int, most: int = MOST_ROWS, note: str = "") -> str:
    return what.capitalize() if n <= most else f"The first {most:,} of {n:,} {what}{note}"


def _part(title: str, parts: Parts) -> str:
    """What a notebook shows."""
    return notebook(render("result.html", title=title, parts=parts))


def _views(title: str, parts: Callable[..., Parts]) -> tuple[Callable[[Any], str], Callable[[Any, Path], None]]:
    """The two views of a result that is shown as `parts(result, most rows)`: in a notebook, and as a page.

    Without a title, the result's `repr` is the title.
    """

    def part(result: Any) -> str:
        return _part(title or repr(result), parts(result, FEW_ROWS))

    def save(result: Any, path: Path) -> None:
        shown = title or repr(result)
        path.write_text(page(shown, [heading(shown), *parts(result, MOST_ROWS)]), encoding="utf-8")

    return part, save


def _pictured(dim: int, draw: Callable[[], Markup]) -> Markup:
    """A sketch where one is possible: up to three dimensions, and numbers that float64 holds."""
    try:
        return _figure(draw(), "") if dim <= 3 else Markup("")
    except (OverflowError, ValueError):  # Fractions beyond float64 have no place in a picture
        return Markup("")


def _figure(figure: str, caption: str, wide: bool = False) -> Markup:
    return render("figure.html", figure=Markup(figure), caption=caption, wide=wide)


def _sketch(start: Any, end: Any, leaders: Any, label: str) -> Markup:
    return _pictured(start.shape[1], lambda: cloud_sketch(start, end, leaders, label))


def _trajectory_facts(traj: "Trajectory") -> Markup:
    period = f", period {traj.outcome.period}" if traj.outcome.period else ""
    known = [
        ("tokens", f"{traj.n:,} in dimension {traj.dim}"),
        ("alpha", traj.alpha),
        ("rule", repr(traj.rule)),
        ("layers", traj.layers),
        ("leaders", _some(traj.leaders)),
        ("outcome", f"{traj.outcome.kind}{period}: {traj.outcome.detail}".rstrip(": ")),
        ("arithmetic", "rational" if traj.exact else f"float64, {traj.undecided} comparisons undecided"),
    ]
    return facts(known)


def trajectory_part(traj: "Trajectory") -> str:
    """A trajectory in a notebook: `save("x.html")` writes the page with the playground."""
    label = f"{counted(traj.n, 'token')} from layer 0 to layer {traj.layers}; {counted(len(traj.leaders), 'leader')}"
    sketch = _sketch(traj.tokens[0], traj.tokens[-1], traj.leaders, label)
    return _part("Trajectory", [sketch, _trajectory_facts(traj)])


def trajectory_parts(traj: "Trajectory", **options: Any) -> Parts:
    """Facts, figure and table of a trajectory; `options` go to `hardmax.plot.plot_panels`."""
    label = f"{traj.n} tokens in dimension {traj.dim} at several of {traj.layers} layers; {len(traj.leaders)} leaders."
    caption = "A star follows itself; a circle has the color of the token it follows; the leaders' hull is shaded."
    last = traj.follows(traj.layers)
    rows = (
        (i, point(traj.tokens[0, i]), point(traj.tokens[-1, i]), _some(last[i]), traj.leader_since.get(i, ""))
        for i in range(min(traj.n, MOST_ROWS))
    )
    if find_spec("matplotlib") is not None and fits_float64(traj.tokens):
        from hardmax.plot import plot_panels, svg_text

        picture = _figure(svg_text(plot_panels(traj, **options), label), caption, wide=True)
    else:
        picture = _sketch(traj.tokens[0], traj.tokens[-1], traj.leaders, label)
    head = ["token", f"layer {traj.first_layer}", f"layer {traj.layers}", "follows", "leader since"]
    return [_trajectory_facts(traj), picture, table(_caption("tokens", traj.n, note=FILES), head, rows)]


def _equilibrium_facts(eq: "Equilibrium") -> Markup:
    n, dim = eq.tokens.shape
    known = [
        ("tokens", f"{n:,} in dimension {dim}"),
        ("alpha", eq.alpha),
        ("leaders", _some(eq.leaders)),
        ("limit points", f"{eq.kind.count('vertex')} vertices of K, {eq.kind.count('face')} on faces of K"),
        ("decided", f"at layer {eq.layers}, narrowest margin {eq.margin:.3g}"),
        ("arithmetic", f"{eq.certificate.method}, {eq.undecided} comparisons undecided"),
        ("status", "proved" if eq.undecided == 0 else f"conditional on {eq.undecided} ties"),
    ]
    return facts(known)


def equilibrium_part(eq: "Equilibrium") -> str:
    """A limit in a notebook: `save("x.html")` writes the page with the playground."""
    label = f"{len(eq.tokens)} tokens and the {len(eq.centers)} points where they end; {len(eq.leaders)} leaders"
    return _part("Equilibrium", [_sketch(eq.tokens, eq.points, eq.leaders, label), _equilibrium_facts(eq)])


def equilibrium_parts(eq: "Equilibrium", **options: Any) -> Parts:
    """Facts, figure and table of a limit; `options` go to `hardmax.plot.limit.plot_limit`."""
    from hardmax.dynamics.certificate import ROLE_NAMES

    n, faces, c = len(eq.tokens), eq.kind.count("face"), eq.certificate
    ends = f"{len(eq.kind)} points where they end: {len(eq.kind) - faces} vertices, {faces} on faces."
    rows = (
        (i, point(eq.tokens[i]), point(eq.points[i]), eq.kind[int(eq.cluster[i])], ROLE_NAMES[c.role[i]],
         int(c.decided_at[i]))
        for i in range(min(n, MOST_ROWS))
    )  # fmt: skip
    label, caption = f"{n} tokens and the {ends}", "Start and limit of every token; the limit polytope K is shaded."
    if find_spec("matplotlib") is not None and fits_float64(eq.tokens):
        from hardmax.plot.limit import limit_figure
        from hardmax.plot.style import svg_text

        picture = _figure(svg_text(limit_figure(eq, **options), label), caption)
    else:
        picture = _sketch(eq.tokens, eq.points, eq.leaders, label)
    head = ["token", "start", "limit", "kind", "role", "decided at layer"]
    return [_equilibrium_facts(eq), picture, table(_caption("tokens", n, note=FILES), head, rows)]


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
    return _part("Certificate", [facts(known), table("Why each token ends where it ends", ["role", "tokens"], roles)])


def fields_part(result: Any) -> str:
    """A small record in a notebook: its fields."""
    known = [(f.name.replace("_", " "), _some([getattr(result, f.name)])) for f in fields(result)]
    return _part(type(result).__name__, [facts(known)])


def file_limit_part(found: "FileLimit") -> str:
    """The limit of a cloud on disk in a notebook."""
    known = [
        ("tokens", f"{found.n:,} in dimension {found.dim}"),
        ("leaders", f"{len(found.leader_since):,}"),
        ("decided", f"at layer {found.layers}, narrowest margin {found.margin:.3g}"),
        ("undecided", found.undecided),
        ("folder", found.folder),
    ]
    order = found.sizes.argsort()[::-1][:FEW_ROWS]
    rows = [(point(found.centers[c]), found.kind[c], f"{found.sizes[c]:,}") for c in order]
    title = _caption("limit points", len(found.centers), FEW_ROWS)
    return _part("FileLimit", [facts(known), table(title, ["limit point", "kind", "tokens"], rows)])


def drift_part(drift: "Drift") -> str:
    """A comparison of two collections of texts in a notebook."""
    both = (("texts", "n", ","), ("known words", "coverage", ".0%"), ("confidence", "confidence", ".3f"),
            ("median length", "length", "g"))  # fmt: skip
    known = [("differs by more than chance", ", ".join(drift.beyond_chance) or "nothing")]
    for name, key, form in both:
        chance = f" (p = {drift.chance[key]:.3f})" if key in drift.chance else ""
        known.append((name, " before, ".join(format(x, form) for x in getattr(drift, key)) + " after" + chance))
    by_chance = f"by chance {drift.noise:.3f}, p = {drift.chance['labels']:.3f}"
    known.append(("distance of the labels", f"{drift.distance:.3f} ({by_chance})"))
    shares = [(label, f"{before:.1%}", f"{after:.1%}") for label, (before, after) in drift.shares.items()]
    words = [(w["word"], f"{w['before']:.1%}", f"{w['after']:.1%}") for w in (*drift.more[:6], *drift.fewer[:6])]
    labels = table("Predicted labels", ["label", "before", "after"], shares)
    parts = [facts(known), labels]
    if words:
        parts.append(table("Words whose share of the texts changed most", ["word", "before", "after"], words))
    return _part("Drift", parts)


def verification_part(report: "Verification") -> str:
    """What `Network.verify` found, in a notebook."""
    known = [
        ("verdict", "exact" if report.exact else "NOT exact"),
        ("sequences", f"{report.sequences:,}"),
        ("largest error", f"{report.max_error:.3g}"),
        ("smallest gap", f"{report.min_gap:.3g}"),
    ]
    rows = [
        (level.name, "passed" if level.passed else f"FAILED: {level.note}", f"{level.exact:,} of {level.sequences:,}",
         f"{level.max_error:.3g}")
        for level in report.levels
    ]  # fmt: skip
    return _part("Verification", [facts(known), table("Levels", ["level", "result", "exact", "largest error"], rows)])


def stages_part(stages: "Stages") -> str:
    """The stages of a constructed network in a notebook; `hardmax.plot.stages` draws them."""
    rows = [
        (s.name, s.blocks, sum(map(len, s.clouds)), len({z.tobytes() for c in s.clouds for z in c})) for s in stages
    ]
    return _part("Stages", [table("Tokens at the end of every stage", ["stage", "blocks", "tokens", "places"], rows)])


def _batch_parts(batch: "Batch[Any]", most: int) -> Parts:
    rows = [
        (b, len(batch.last[b]), len(batch.leaders[b]), _some(batch.leaders[b], 8)) for b in range(min(len(batch), most))
    ]
    pictures = []
    for b in range(min(len(batch), PICTURED)):
        if batch.last[b].shape[1] <= 3:
            start, last = batch[b].tokens, batch.last[b]
            start = start[0] if start.ndim == 3 else start
            drawn = cloud_sketch(start, last, batch.leaders[b], f"cloud {b}: {len(last)} tokens, start and end", 180)
            pictures.append(_figure(drawn, f"cloud {b}"))
    known = facts([("clouds", f"{len(batch):,}"), ("tokens", f"{sum(map(len, batch.last)):,}")])
    head = ["cloud", "tokens", "leaders", "their indices"]
    gallery = Markup('<div class="gallery">{}</div>').format(Markup("").join(pictures))
    return [known, gallery, table(_caption("clouds", len(batch), most), head, rows)]


def _polytope_parts(polytope: "Polytope", most: int) -> Parts:
    V = polytope.vertices
    known = [
        ("vertices", f"{len(V):,}"),
        ("dimension", f"{polytope.dimension} in {V.shape[1]}"),
        ("faces", "too many to list" if polytope.facets is None else f"{len(polytope.facets):,}"),
        ({1: "length", 2: "area"}.get(polytope.dimension, "volume"), readable(polytope.volume)),
    ]
    rows = [(int(i), point(z)) for i, z in zip(polytope.vertex_index[:most], V[:most], strict=True)]
    picture = _pictured(V.shape[1], lambda: polytope_sketch(polytope))
    return [picture, facts(known), table(_caption("vertices", len(V), most), ["token", "vertex"], rows)]


def _network_parts(net: "Network", most: int) -> Parts:
    warmest = f"up to temperature {net.temperature:.3g}" if isfinite(net.temperature) else "at any temperature"
    known = [
        ("task", net.task),
        ("style", f"{net.style}, pool {net.pool}"),
        ("built for", f"{counted(net.sequences, 'sequence')} in dimension {net.dim}"),
        ("blocks", f"{net.blocks} (the paper's bound: {net.bound})"),
        ("width", net.width),
        ("parameters", f"{net.parameters:,}"),
        ("smallest gap", f"{net.gap:.3g}"),
        ("softmax", f"the same {warmest}"),
    ]
    rows = [(i, block.stage, block.ff.width, block.parameters) for i, block in enumerate(net.stack[:most])]
    return [facts(known), table(_caption("blocks", net.blocks, most), ["block", "stage", "width", "parameters"], rows)]


def _model_parts(model: "SentimentModel", most: int) -> Parts:
    from hardmax.sentiment.vocabulary_view import words

    known = [
        ("classes", _some(model.classes)),
        ("dimensions", model.dim),
        ("layers", f"{model.layers}, alpha = {model.alpha:.6g}"),
        ("terms", f"{len(model.vocabulary):,}, n-grams of up to {model.vocabulary.ngrams} words"),
        ("parameters", f"{model.parameters:,}"),
    ]
    rows = [(w["term"], _score(w["score"]), f"{w['radius']:.4g}") for w in words(model, min(most, 40))]
    title = "The strongest terms: the radius decides who can lead"
    return [facts(known), table(title, ["term", "score", "radius"], rows)]


def _score(score: Any) -> str:
    return f"{score:+.4g}" if isinstance(score, float) else ", ".join(f"{c}: {s:+.3g}" for c, s in score.items())


batch_part, save_batch = _views("", _batch_parts)
polytope_part, save_polytope = _views("Polytope", _polytope_parts)
network_part, save_network = _views("Network", _network_parts)
model_part, save_model = _views("Sentiment model", _model_parts)
