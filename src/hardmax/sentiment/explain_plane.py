"""Word vectors of an explanation in the plane: the axis of the score, and the direction across it that shows most."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.sentiment.highlight import visible

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

WIDTH, HEIGHT, EDGE = 760, 420, 24
LABELS = 14
MOST_POINTS = 1500


def flat_states(ex: "Explanation") -> NDArray[np.float64]:
    """(layers + 1, n, 2): first coordinate along the score that was explained, second across it.

    In two dimensions this is a rotation. In more, the second axis is the principal direction of the rest; the picture
    is then a projection, and distances in it are only lower bounds.
    """
    states = ex.reading.states
    v = ex.model.scores[ex.row]
    size = float(np.sqrt((v**2).sum()))
    first = v / size if size > 0 else np.eye(len(v))[0]
    across = states - (states @ first)[..., None] * first
    flat = np.zeros((*states.shape[:2], 2))
    flat[..., 0] = states @ first
    if len(v) == 2:
        flat[..., 1] = states @ np.array([-first[1], first[0]])
    elif len(v) > 2 and states.shape[1]:
        start = across[0]
        _, directions = np.linalg.eigh(start.T @ start)
        second = directions[:, -1]
        second = second * (1.0 if second[np.abs(second).argmax()] > 0 else -1.0)  # the sign is free: fix it
        flat[..., 1] = across @ second
    if flat[0, :, 1].sum() < 0:
        flat[..., 1] *= -1.0
    return flat


def label_order(ex: "Explanation") -> list[int]:
    """Indices of the leaders among the terms, the largest contribution of a cluster first."""
    number = {form: i for i, form in enumerate(ex.reading.forms)}
    return [number[leader.word] for leader in sorted(ex.leaders, key=lambda one: -abs(one.contribution))]


def plane_svg(ex: "Explanation") -> str:
    """The picture as one <svg> element without a script."""
    flat = flat_states(ex)
    start, end = flat[0], flat[-1]
    both = np.concatenate([start, end])
    low, high = both.min(axis=0), both.max(axis=0)
    span = np.where(high - low > 0, high - low, 1.0)

    def place(z: NDArray[np.float64]) -> tuple[float, float]:
        x = EDGE + (z[0] - low[0]) / span[0] * (WIDTH - 2 * EDGE)
        y = HEIGHT - EDGE - (z[1] - low[1]) / span[1] * (HEIGHT - 2 * EDGE)
        return float(x), float(y)

    own = ex.reading.contributions[:, ex.row]
    leaders = label_order(ex)
    # Many points would only cover each other: leaders always, the others by the size of their contribution.
    shown = list(dict.fromkeys([*leaders, *np.argsort(-np.abs(own), kind="stable").tolist()]))[:MOST_POINTS]
    ways, dots, heads = [], [], []
    for i in shown:
        (x0, y0), (x1, y1) = place(start[i]), place(end[i])
        side = "for" if own[i] > 0 else "against"
        title = f"<title>{escape(visible(ex.reading.forms[i], ''))} {own[i]:+.4f}</title>"
        if i in set(leaders):
            heads.append(f'<circle class="{side} lead" cx="{x1:.1f}" cy="{y1:.1f}" r="6">{title}</circle>')
        else:
            ways.append(f'<line class="way" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>')
            dots.append(f'<circle class="start" cx="{x0:.1f}" cy="{y0:.1f}" r="2.5">{title}</circle>')
            dots.append(f'<circle class="{side}" cx="{x1:.1f}" cy="{y1:.1f}" r="3" opacity=".8">{title}</circle>')
    names = _labels([(place(end[i]), visible(ex.reading.forms[i], "")) for i in leaders])
    zero = EDGE + (0.0 - low[0]) / span[0] * (WIDTH - 2 * EDGE)
    middle = ""
    if EDGE <= zero <= WIDTH - EDGE:
        middle = f'<line class="way" stroke-dasharray="4 4" x1="{zero:.1f}" y1="8" x2="{zero:.1f}" y2="{HEIGHT - 8}"/>'
    about = f"{len(own)} terms in the plane, {len(leaders)} leaders"
    return (
        f'<svg role="img" aria-label="{about}" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f'<rect class="frame" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="6"/>{middle}'
        f"{''.join(ways)}{''.join(dots)}{''.join(heads)}{names}</svg>"
    )


def _labels(wanted: list[tuple[tuple[float, float], str]]) -> str:
    """Names beside their points; one that would cover an earlier (larger) one is left out."""
    taken: list[tuple[float, float, float, float]] = []
    texts = []
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
                texts.append(f'<text x="{left:.1f}" y="{top + 11:.1f}">{escape(name)}</text>')
                break
    return "".join(texts)
