"""From tokens in any dimension to what can be drawn: a line, a plane, space, or the first two principal axes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hardmax.cloud.parameters import fits_float64
from hardmax.dynamics.polytope import Polytope
from hardmax.errors import BadInput
from hardmax.plot.style import FAINT, HULL, HULL_EDGE

Floats = NDArray[np.float64]
MOST_MARKERS = 20_000  # more tokens than this are thinned out, and the picture says so


@dataclass(frozen=True, eq=False)
class View:
    """A fixed linear map from tokens to the page, with limits that contain every layer."""

    kind: str  # "line" (d = 1), "plane" (d = 2), "space" (d = 3) or "principal" (first two principal axes)
    center: Floats
    axes: Floats
    # The corners of the box to show.
    low: Floats
    high: Floats
    explained: float = 1.0

    def __call__(self, tokens: NDArray[Any]) -> Floats:
        """(..., d) tokens to (..., 2) or (..., 3) coordinates of the picture."""
        shown = (tokens.astype(np.float64) - self.center) @ self.axes.T
        if self.kind == "line":
            shown = np.concatenate([shown, np.zeros_like(shown)], axis=-1)
        return np.asarray(shown)

    @property
    def ratio(self) -> float:
        """Height over width of the picture."""
        if self.kind in ("line", "space"):
            return 0.24 if self.kind == "line" else 1.0
        span = self.high - self.low
        return float(np.clip(span[1] / span[0], 0.35, 1.5))

    @property
    def note(self) -> str:
        """What the title must say about the view."""
        if self.kind != "principal":
            return ""
        return f"first two principal axes of {len(self.center)} ({100 * self.explained:.0f}% of the variance)"


def view(tokens: NDArray[Any], ax: Any = None) -> View:
    """Choose the view for tokens (n, d) or layers of them (k, n, d); a plane even for d = 3 if `ax` is flat.

    Raises:
        BadInput: a coordinate lies beyond the range of float64.
    """
    if not fits_float64(tokens):
        what = "the tokens lie beyond the range of float64, so that they cannot be drawn"
        raise BadInput(what, fix="save the result as .json, .npz or .html")
    cloud = tokens.reshape(-1, tokens.shape[-1]).astype(np.float64)
    d = cloud.shape[1]
    center, axes, explained = np.zeros(d), np.eye(d), 1.0
    kind = {1: "line", 2: "plane", 3: "space"}.get(d, "principal")
    if kind == "principal" or (kind == "space" and ax is not None and not hasattr(ax, "zaxis")):
        kind = "principal"
        first = (tokens if tokens.ndim == 2 else tokens[0]).astype(np.float64)
        center = first.mean(axis=0)
        strength, directions = np.linalg.eigh((first - center).T @ (first - center))  # ascending
        axes = directions[:, :-3:-1].T.copy()
        for axis in axes:  # the sign of a principal axis is arbitrary: make its largest coordinate positive
            axis *= np.sign(axis[np.argmax(np.abs(axis))]) or 1.0
        explained = float(strength[-2:].sum() / strength.sum()) if strength.sum() > 0 else 1.0
    shown = (cloud - center) @ axes.T
    low, high = shown.min(axis=0), shown.max(axis=0)
    pad = 0.09 * max(float((high - low).max()), 1e-9 + 1e-3 * float(np.abs(shown).max()))
    if float((high - low).max()) == 0:
        pad = max(0.5 * float(np.abs(shown).max()), 0.5)
    return View(kind, center, axes, low - pad, high + pad, explained)


def new_axes(where: View, width: float = 4.2, figure: Callable[..., Figure] = Figure) -> Axes:
    """Axes on a new figure of its own."""
    if where.kind == "space":
        return figure(figsize=(width, width)).add_subplot(projection="3d")
    return figure(figsize=(width, width * where.ratio)).add_subplot()


def shown_axes(where: View) -> Axes:
    """Axes on a new figure that `plt.show()` and notebooks show."""
    from matplotlib import pyplot

    return new_axes(where, figure=pyplot.figure)


def dress(ax: Any, where: View, ticks: bool = True) -> None:
    """Limits, equal aspect, the origin, few ticks."""
    from matplotlib.ticker import MaxNLocator

    if where.kind == "space":
        ax.set(
            xlim=(where.low[0], where.high[0]), ylim=(where.low[1], where.high[1]), zlim=(where.low[2], where.high[2])
        )
        ax.set_box_aspect(where.high - where.low)
        ax.set_proj_type("ortho")
        ax.view_init(elev=20, azim=-58)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_major_locator(MaxNLocator(3))
            axis.pane.set_facecolor("white")
            axis.pane.set_edgecolor("#DDDDDD")
            axis._axinfo["grid"].update(color="#EEEEEE", linewidth=0.5)
            if not ticks:
                axis.set_ticklabels([])
        ax.tick_params(pad=-2)
        ax.title.set_y(0.98)
        return
    ax.set_xlim(where.low[0], where.high[0])
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    if where.kind == "line":
        pad = 0.12 * (where.high[0] - where.low[0])
        ax.set_ylim(-pad, pad)
        ax.axhline(0, color=FAINT, linewidth=0.6, zorder=0)
        ax.spines[["left", "right", "top"]].set_visible(False)
        ax.set_yticks([])
    else:
        ax.set_ylim(where.low[1], where.high[1])
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        origin = -where.axes @ where.center
        ax.plot(*origin[:2], marker="+", color=FAINT, markersize=6, markeredgewidth=0.8, zorder=0.6, gid="origin")
    ax.set_aspect("equal")
    if not ticks:
        ax.set_xticklabels([])
        if where.kind != "line":
            ax.set_yticklabels([])


def shade(ax: Any, points: Floats, where: View) -> None:
    """The hull of some points, shaded: a solid, a polygon or a segment."""
    if not len(points):
        return
    if where.kind == "line":
        ax.plot([points[:, 0].min(), points[:, 0].max()], [0, 0], color=HULL, linewidth=7, zorder=0.3, gid="hull")
        return
    hull = Polytope.of(points)
    if hull.dimension == 1:
        ax.plot(*hull.vertices.T, color=HULL_EDGE, linewidth=0.9, alpha=0.7, zorder=0.5, gid="hull")
    elif hull.dimension == 2 and where.kind != "space":
        ax.fill(*hull.vertices.T, facecolor=HULL, edgecolor=HULL_EDGE, linewidth=0.7, zorder=0.3, gid="hull")
    elif hull.dimension >= 2:
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        faces = [tuple(range(len(hull.vertices)))] if hull.dimension == 2 else hull.faces
        look: dict[str, Any] = {"facecolor": "#B9B29A", "edgecolor": HULL_EDGE, "linewidth": 0.6, "alpha": 0.1}
        solid = Poly3DCollection([hull.vertices[list(face)] for face in faces], **look)
        solid.set_gid("hull")
        ax.add_collection3d(solid)


def marker_area(n: int) -> float:
    """Area of a circle in points^2: large for a handful of tokens, small for a hundred thousand."""
    return float(np.clip(42 * (30 / max(n, 30)) ** 0.42, 2.0, 42.0))


def thinned(n: int, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Indices to draw: all of `keep`, and as many others, evenly spaced, as a picture can hold."""
    if n <= MOST_MARKERS:
        return np.arange(n)
    rest = np.flatnonzero(~keep)
    wanted = max(MOST_MARKERS - int(keep.sum()), 1000)
    step = max(1, -(-len(rest) // wanted))
    return np.sort(np.concatenate([np.flatnonzero(keep), rest[::step]]))
