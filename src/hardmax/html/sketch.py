"""Small pictures of clouds as SVG text, without any library: for notebooks, tables of clouds and polytopes.

Colors are those of the page (static/palette.json); stars, circles and dashes say the same without them.
"""

from html import escape
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.palette import palette

if TYPE_CHECKING:
    from hardmax.dynamics.polytope import Polytope

Floats = NDArray[np.float64]
MOST_TOKENS = 2000
YAW, PITCH = -32.0, 18.0  # how the page turns a cloud in space at first


def plane(points: Any) -> Floats:
    """(n, 2) where points of any dimension are drawn: a line, the plane, or space seen from the page's first angle."""
    rows = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
    if rows.shape[1] == 1:
        return np.concatenate([rows, np.zeros_like(rows)], axis=1)
    if rows.shape[1] == 2:
        return rows
    return rows[:, :3] @ _view()[:2].T


def _view() -> Floats:
    """Rows: to the right, up, toward the eye."""
    yaw, pitch = YAW * pi / 180, PITCH * pi / 180
    right = [cos(yaw), sin(yaw), 0.0]
    up = [-sin(yaw) * sin(pitch), cos(yaw) * sin(pitch), cos(pitch)]
    return np.array([right, up, np.cross(right, up)])


class Sketch:
    """A white square in which points of the plane have their place."""

    def __init__(self, inside: Floats, size: int = 320) -> None:
        low, high = inside.min(axis=0), inside.max(axis=0)
        self.center, self.size = (low + high) / 2, size
        self.unit = 0.86 * size / (float((high - low).max()) or 1.0)
        self.parts: list[str] = []

    def at(self, z: Any) -> tuple[float, float]:
        """Pixels; up is up."""
        x, y = (np.asarray(z) - self.center) * self.unit
        return round(self.size / 2 + float(x), 1), round(self.size / 2 - float(y), 1)

    def polygon(self, corners: Floats, color: str) -> None:
        """A shaded area."""
        places = " ".join(f"{x},{y}" for x, y in map(self.at, corners))
        self.parts.append(f'<polygon points="{places}" fill="{color}"/>')

    def line(self, a: Any, b: Any, color: str, dashed: bool = False, faint: bool = False) -> None:
        """A thin line."""
        (x1, y1), (x2, y2) = self.at(a), self.at(b)
        look = (' stroke-dasharray="4 4"' if dashed else "") + (' stroke-opacity="0.45"' if faint else "")
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}"{look}/>')

    def dot(self, z: Any, color: str, radius: float = 3.5) -> None:
        """A token."""
        x, y = self.at(z)
        self.parts.append(f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{color}"/>')

    def star(self, z: Any, color: str) -> None:
        """A leader."""
        x, y = self.at(z)
        tips = [(8.0 if k % 2 == 0 else 3.4, pi * (k / 5 - 0.5)) for k in range(10)]
        places = " ".join(f"{x + r * cos(t):.1f},{y + r * sin(t):.1f}" for r, t in tips)
        self.parts.append(f'<polygon points="{places}" fill="{color}" stroke="#fff" stroke-width="0.8"/>')

    def svg(self, label: str) -> str:
        """The picture, with the words for those who do not see it."""
        s = self.size
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label, quote=True)}" width="{s}" '
            f'height="{s}" viewBox="0 0 {s} {s}"><rect width="{s}" height="{s}" rx="6" fill="#fff"/>'
            + "".join(self.parts)
            + "</svg>"
        )


def cloud_sketch(start: Any, end: Any, leaders: Any, label: str, size: int = 320) -> str:
    """Where tokens begin and end: thin ways, dots at the end, stars for leaders, the hull of the leaders shaded."""
    begin, finish, colors = plane(start), plane(end), palette()
    leading = [int(i) for i in leaders]
    shown = range(min(len(begin), MOST_TOKENS))
    sketch = Sketch(np.concatenate([begin, finish]), size)
    if len(leading) > 2:
        sketch.polygon(_outline(finish[leading]), colors["hull"])
    for i in shown:
        sketch.line(begin[i], finish[i], colors["hull-edge"], faint=True)
        sketch.dot(begin[i], colors["hull-edge"], 1.6)
    for i in shown:
        if i not in leading[:MOST_TOKENS]:
            sketch.dot(finish[i], colors["neutral"])
    for rank, i in enumerate(leading[:200]):
        sketch.star(finish[i], colors["clusters"][rank % len(colors["clusters"])])
    return sketch.svg(label)


def _outline(points: Floats) -> Floats:
    """The corners of the convex hull of points of the plane, in order."""
    from hardmax.dynamics.polytope import Polytope

    return Polytope.of(points).vertices


def polytope_sketch(polytope: "Polytope", size: int = 320) -> str:
    """The polytope: shaded; edges at the back of a solid are dashed. Empty in more than three dimensions."""
    V = polytope.vertices.astype(np.float64)
    if V.shape[1] > 3 or not len(V):
        return ""
    flat, colors = plane(V), palette()
    sketch = Sketch(flat, size)
    label = f"A polytope with {len(V)} vertices"
    if len(V) > 2:
        sketch.polygon(_outline(flat), colors["hull"])
    for a, b, hidden in _edges(polytope, V):
        sketch.line(flat[a], flat[b], colors["hull-edge"], dashed=hidden)
    for z in flat:
        sketch.dot(z, colors["negative"])
    return sketch.svg(label)


def _edges(polytope: "Polytope", V: Floats) -> list[tuple[int, int, bool]]:
    """(a, b, at the back?) for every edge of the picture."""
    n = len(V)
    if polytope.dimension <= 1:
        return [(0, n - 1, False)] if n > 1 else []
    if polytope.dimension == 2:
        return [(i, (i + 1) % n, False) for i in range(n)]
    toward, middle = _view()[2], V.mean(axis=0)
    seen: dict[tuple[int, int], bool] = {}
    for face in polytope.facets or ():
        corners = V[list(face)]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        outward = normal * (1 if normal @ (corners[0] - middle) > 0 else -1)
        front = bool(outward @ toward > 0)
        for a, b in zip(face, (*face[1:], face[0]), strict=True):
            edge = (min(a, b), max(a, b))
            seen[edge] = seen.get(edge, False) or front
    return [(a, b, not front) for (a, b), front in seen.items()]
