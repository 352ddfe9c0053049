"""An explanation as HTML: the text marked up, bars of the leaders, the words in the plane. Nothing from outside.

All text is escaped; there is no script. The colors are those of the palette, which people with the common color
deficiencies tell apart, and signs stand beside them.
"""

from html import escape
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.palette import rgb
from hardmax.sentiment.explain_plane import plane_svg
from hardmax.sentiment.highlight import marks, visible

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

MOST_CHARACTERS = 60_000
MOST_LEADERS = 40
MOST_WORDS = 300

# Everything lives under one class, so that the part can stand in a notebook or a report.
STYLE = (
    f".hx {{ --for: {rgb('positive')}; --against: {rgb('negative')}; }}\n"
    f"@media (prefers-color-scheme: dark) {{ .hx {{ --for: {rgb('positive', 'dark')};"
    f" --against: {rgb('negative', 'dark')}; }} }}"
    """
.hx { --ink: #222; --soft: #666; --paper: #fdfdfb; --line: #dcd9d0;
  color: var(--ink); font: 1rem/1.6 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, serif; max-width: 62rem; }
@media (prefers-color-scheme: dark) { .hx { --ink: #e6e4de; --soft: #a5a29a; --paper: #1b1b1a; --line: #3c3b38; } }
.hx h2 { font-size: 1.5rem; margin: 0; font-weight: 600; line-height: 1.25; }
.hx h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; font-weight: 600; }
.hx p { margin: .3rem 0; max-width: none; }
.hx .soft { color: var(--soft); font-size: .92rem; }
.hx .text { white-space: pre-wrap; overflow-wrap: anywhere; padding: .9rem 1.1rem; border: 1px solid var(--line);
  border-radius: 6px; line-height: 1.9; unicode-bidi: plaintext; }
.hx .text span { border-radius: 3px; padding: .1em .08em; }
.hx .f { background: rgba(var(--for), var(--a)); border-bottom: 2px solid rgba(var(--for), 1); }
.hx .g { background: rgba(var(--against), var(--a)); border-bottom: 2px dashed rgba(var(--against), 1); }
.hx .w { background: rgba(var(--c), var(--a)); }
.hx .u { color: var(--soft); text-decoration: underline dotted; }
.hx table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; width: 100%;
  color: inherit; background: none; }
.hx th, .hx td { text-align: left; padding: .22rem .7rem .22rem 0; border: 0; border-bottom: 1px solid var(--line);
  vertical-align: top; background: none; white-space: normal; }
.hx th { font-weight: 600; } .hx .n { text-align: right; white-space: nowrap; }
.hx td b { white-space: nowrap; }
.hx .bars { width: 14rem; min-width: 8rem; }
.hx .bar { display: flex; height: 1rem; margin-top: .3rem; }
.hx .bar i { display: block; height: 100%; } .hx .bar .half { width: 50%; display: flex; }
.hx .bar .left { justify-content: flex-end; border-right: 1px solid var(--soft); }
.hx .bar .f, .hx .bar .g { --a: .75; border: 0; }
.hx details { margin: .8rem 0; } .hx summary { cursor: pointer; }
.hx .scroll { overflow-x: auto; }
.hx svg { display: block; max-width: 100%; height: auto; }
.hx svg text { fill: var(--ink); font-size: 12px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.hx svg .axis { fill: var(--soft); } .hx svg .frame { fill: none; stroke: var(--line); }
.hx svg .start { fill: none; stroke: var(--soft); } .hx svg .way { stroke: var(--soft); stroke-opacity: .35; }
.hx svg .for { fill: rgb(var(--for)); } .hx svg .against { fill: rgb(var(--against)); }
.hx svg .lead { stroke: var(--ink); }
"""
)
PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; padding: 2rem 1.25rem 4rem; background: #fdfdfb; }
@media (prefers-color-scheme: dark) { body { background: #1b1b1a; } }
.hx { margin: 0 auto; }
"""


def explanation_page(ex: "Explanation", title: str = "Why this label") -> str:
    """A whole document."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}: {_safe(ex.label)}</title>\n<style>{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{explanation_part(ex)}\n</main>\n</body>\n</html>\n"
    )


def save_page(ex: "Explanation", path: Path) -> None:
    """Write the whole document."""
    path.write_bytes(explanation_page(ex).encode("utf-8", "replace"))


def explanation_part(ex: "Explanation") -> str:
    """The same for a notebook or a report: one <div> with its style."""
    bars = f"{len(ex.leaders)} leader{'s' * (len(ex.leaders) != 1)}, {len(ex.words)} known terms"
    head = [
        f"<style>{STYLE}</style>",
        f"<h2>{_safe(ex.label)}, probability {ex.probability:.4f}</h2>",
        f"<p>logit {ex.logit:+.4f} = bias {ex.bias:+.4f} + contributions; {bars}.</p>",
        f'<p class="soft">Orange, underlined: speaks for {_safe(ex.toward)}. Blue, dashed: against it. '
        "Dotted: not known, ignored.</p>",
    ]
    if not ex.words:
        head.append("<p>No word of the text is known: this is the probability of the bias alone.</p>")
    body = [_marked(ex)]
    if ex.words:
        body += ["<h3>Leaders</h3>", _leaders(ex), _plane(ex), _words(ex)]
    if len(ex.scores) > 1:
        rows = "".join(f'<tr><td>{_safe(c)}</td><td class="n">{s:+.4f}</td></tr>' for c, s in ex.scores.items())
        body.append(f'<h3>Scores of the classes</h3><table style="width:auto">{rows}</table>')
    if ex.ignored:
        shown = ", ".join(_safe(w[:60]) for w in ex.ignored[:MOST_WORDS])
        more = f" and {len(ex.ignored) - MOST_WORDS:,} more" if len(ex.ignored) > MOST_WORDS else ""
        body.append(f'<p class="soft">Not known, ignored: {shown}{more}.</p>')
    return '<div class="hx">\n' + "\n".join([*head, *body]) + "\n</div>"


def _safe(value: Any) -> str:
    """Escaped, printable, and free of lone surrogates."""
    return escape(visible(str(value)), quote=True)


def _marked(ex: "Explanation") -> str:
    every = marks(ex, MOST_CHARACTERS)
    most = max((abs(m.weight) for m in every), default=0.0) or 1.0
    parts, done = [], 0
    for m in every:
        parts.append(_safe(ex.text[done : m.start]))
        done = m.end
        word = _safe(ex.text[m.start : m.end])
        if not m.known:
            parts.append(f'<span class="u" title="not known">{word}</span>')
            continue
        strength = abs(m.weight) / most
        kind = ("f" if m.weight > 0 else "g") if strength >= 0.1 else "w"
        tint = f"--a:{0.08 + 0.42 * strength:.2f}" if kind != "w" else (
            f"--a:{0.4 * strength:.2f};--c:var({'--for' if m.weight > 0 else '--against'})"
        )  # fmt: skip
        leaders = ", ".join(m.leaders[:6])
        parts.append(
            f'<span class="{kind}" style="{tint}" title="{m.weight:+.4f}; led by {_safe(leaders)}">{word}</span>'
        )
    parts.append(_safe(ex.text[done:MOST_CHARACTERS]))
    more = ""
    if len(ex.text) > MOST_CHARACTERS:
        more = f'<p class="soft">The first {MOST_CHARACTERS:,} of {len(ex.text):,} characters.</p>'
    return (
        f'<p class="text" dir="auto">{"".join(parts)}</p>{more}' if ex.text.strip() else '<p class="soft">(empty)</p>'
    )


def _leaders(ex: "Explanation") -> str:
    most = max(abs(leader.contribution) for leader in ex.leaders) or 1.0
    rows = []
    shown = ex.largest(MOST_LEADERS)
    for leader in shown:
        part = leader.contribution
        block = f'<i class="{"f" if part > 0 else "g"}" style="width:{100 * abs(part) / most:.1f}%"></i>'
        left, right = (block, "") if part < 0 else ("", block)
        followers = ", ".join(leader.followers[:40])
        if len(leader.followers) > 40:
            followers += f" and {len(leader.followers) - 40} more"
        since = "tie" if leader.since is None else leader.since
        rows.append(
            f'<tr><td><b>{_safe(leader.word)}</b></td><td class="n">{part:+.4f}</td><td class="bars">'
            f'<div class="bar"><span class="half left">{left}</span><span class="half">{right}</span></div></td>'
            f'<td class="n">{leader.share:.1%}</td><td class="n">{since}</td>'
            f'<td class="soft">{_safe(followers) or "none"}</td></tr>'
        )
    if rest := len(ex.leaders) - len(shown):
        total = fsum(leader.contribution for leader in ex.leaders) - fsum(s.contribution for s in shown)
        rows.append(f'<tr><td>{rest} more</td><td class="n">{total:+.4f}</td><td></td><td></td><td></td><td></td></tr>')
    return (
        '<div class="scroll"><table><thead><tr><th>leader</th><th class="n">contribution</th><th>against | for</th>'
        '<th class="n">share</th><th class="n">since layer</th><th>followers</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _plane(ex: "Explanation") -> str:
    layers = ex.model.layers
    return (
        f"<h3>The words in the plane</h3>{plane_svg(ex)}"
        f'<p class="soft">Circles: where the terms begin. Discs: where they are after {layers} layers. '
        "Discs with a rim are leaders; they stand still. To the right: for, to the left: against.</p>"
    )


def _words(ex: "Explanation") -> str:
    ranked = sorted(ex.words, key=lambda w: -abs(w.contribution))
    rows = "".join(
        f'<tr><td>{_safe(w.term)}</td><td class="n">{w.contribution:+.4f}</td><td>{_safe(w.leader)}</td>'
        f'<td class="n">{len(w.places)}</td></tr>'
        for w in ranked[:MOST_WORDS]
    )
    note = f" (the {MOST_WORDS} largest of {len(ranked):,})" if len(ranked) > MOST_WORDS else ""
    return (
        f"<details><summary>Every term and its contribution{note}</summary>"
        '<table style="width:auto"><thead><tr><th>term</th><th class="n">contribution</th><th>leader</th>'
        f'<th class="n">occurrences</th></tr></thead><tbody>{rows}</tbody></table></details>'
    )
