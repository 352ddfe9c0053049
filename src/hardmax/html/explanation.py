"""An explanation as HTML: the marked text, bars of the words, the words in the plane. There is no script.

The colors are those of the palette, which readers with the common color deficiencies can tell apart; solid and dashed
lines say the same without them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hardmax.html.page import notebook, page, render
from hardmax.html.sketch import Shape, svg
from hardmax.sentiment.highlight import marks, visible
from hardmax.sentiment.plane import flat_states, label_order

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

MOST_CHARACTERS = 60_000
MOST_WORDS = 25
MOST_LEADERS = 40
MOST_TERMS = 300
WIDTH, HEIGHT, EDGE = 760, 420, 24  # of the plane, in pixels
LABELS = 14
MOST_POINTS = 1500


def explanation_page(ex: "Explanation", title: str = "Why this label") -> str:
    """An explanation as a whole document."""
    return page(f"{title}: {ex.label}", [explanation_section(ex, 1)])


def save_page(ex: "Explanation", path: Path) -> None:
    """Write the document."""
    path.write_text(explanation_page(ex), encoding="utf-8")


def explanation_part(ex: "Explanation") -> str:
    """An explanation in a notebook."""
    return notebook(explanation_section(ex))


def explanation_section(ex: "Explanation", level: int = 2) -> Markup:
    """An explanation as a part of a page; `level` is that of its heading."""
    terms = sorted(ex.terms, key=lambda term: -abs(term.contribution))
    return render(
        "explanation.html",
        ex=ex,
        level=level,
        pieces=_pieces(ex),
        words=ex.largest(MOST_WORDS),
        rest=ex.rest(MOST_WORDS),
        leaders=ex.leaders[:MOST_LEADERS],
        terms=terms[:MOST_TERMS],
        ignored=ex.ignored[:MOST_TERMS],
        plane=plane_svg(ex) if ex.words and ex.layers else "",
        most_characters=MOST_CHARACTERS,
    )


def _pieces(ex: "Explanation") -> Iterator[tuple[str, str, float, str]]:
    """(text, kind, tint in percent, title) for the words of the text and, with an empty kind, for what is between."""
    every = marks(ex, MOST_CHARACTERS)
    most = max((abs(m.weight) for m in every), default=0.0) or 1.0
    effects = {word.word: word.effect for word in ex.words}
    done = 0
    for m in every:
        yield ex.text[done : m.start], "", 0.0, ""
        done = m.end
        word = ex.text[m.start : m.end]
        if not m.known:
            yield word, "unknown", 0.0, "not in the vocabulary"
            continue
        strength = abs(m.weight) / most
        side = "for" if m.weight > 0 else "against"
        title = f"effect {effects[m.word]:+.4f}; part {m.weight:+.4f}"
        if strength >= 0.1:
            yield word, side, 8 + 42 * strength, title
        else:
            yield word, f"{side} weak", 40 * strength, title
    yield ex.text[done:MOST_CHARACTERS], "", 0.0, ""


def plane_svg(ex: "Explanation") -> Markup:
    """The words in the plane, before the first layer and after the last: one <svg> element without a script."""
    flat = flat_states(ex)
    start, end = flat[0], flat[-1]
    both = np.concatenate([start, end])
    low, high = both.min(axis=0), both.max(axis=0)
    span = np.where(high - low > 0, high - low, 1.0)

    def place(z: NDArray[np.float64]) -> tuple[float, float]:
        x, y = (z - low) / span * (WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE)
        return round(EDGE + float(x), 1), round(HEIGHT - EDGE - float(y), 1)

    def line(a: tuple[float, float], b: tuple[float, float], dashes: str | None = None) -> Shape:
        return "line", {"class": "way", "x1": a[0], "y1": a[1], "x2": b[0], "y2": b[1], "stroke-dasharray": dashes}, ""

    def disc(i: int, z: NDArray[np.float64], kind: str, radius: float) -> Shape:
        x, y = place(z[i])
        title = Markup("<title>{} {:+.4f}</title>").format(visible(names[i], ""), own[i])
        return "circle", {"class": kind, "cx": x, "cy": y, "r": radius}, title

    own, names = ex.contributions, ex.term_names
    side = ["for" if part > 0 else "against" for part in own]
    leaders = label_order(ex)
    # Many points would only cover each other: leaders always, the others by the size of their contribution.
    order = dict.fromkeys([*leaders, *np.argsort(-np.abs(own), kind="stable").tolist()])
    followers = list(order)[len(leaders) : MOST_POINTS]
    zero, _ = place(np.zeros(2))
    shapes: list[Shape] = [
        ("rect", {"class": "frame", "x": 1, "y": 1, "width": WIDTH - 2, "height": HEIGHT - 2, "rx": 6}, ""),
        *([line((zero, 8), (zero, HEIGHT - 8), "4 4")] if EDGE <= zero <= WIDTH - EDGE else []),
        *(line(place(start[i]), place(end[i])) for i in followers),
        *(disc(i, start, "start", 2.5) for i in followers),
        *(disc(i, end, side[i], 3) for i in followers),
        *(disc(i, end, f"{side[i]} lead", 6) for i in leaders[:MOST_POINTS]),
        *_labels([(place(end[i]), names[i]) for i in leaders]),
    ]
    return svg(WIDTH, HEIGHT, f"{len(own)} terms in the plane, {len(leaders)} leaders", shapes)


def _labels(wanted: list[tuple[tuple[float, float], str]]) -> list[Shape]:
    """Names beside their points; one that would cover an earlier (larger) one is left out."""
    taken: list[tuple[float, float, float, float]] = []
    texts: list[Shape] = []
    for (x, y), form in wanted:
        if len(taken) >= LABELS:
            break
        name = form if len(form) <= 24 else form[:23] + "…"
        wide = 7.0 * len(name) + 4
        left = x + 9 if x + 9 + wide < WIDTH - 4 else x - 9 - wide
        for top in (y - 7, y - 21, y + 8):
            box = (left, top, left + wide, top + 14)
            inside = top > 2 and top + 14 < HEIGHT - 2
            if inside and all(box[2] < o[0] or o[2] < box[0] or box[3] < o[1] or o[3] < box[1] for o in taken):
                taken.append(box)
                texts.append(("text", {"x": round(left, 1), "y": round(top + 11, 1)}, name))
                break
    return texts
