"""Pictures of results (matplotlib; extra `plot`): functions of a result object that draw on `ax`, or on a new figure.

No global state of matplotlib is touched and no window is opened: figures are objects, to be shown or saved.
"""

from hardmax.errors import need

need("matplotlib", "plot", "a picture")
need("PIL", "plot", "a picture")

from hardmax.plot.layer import plot_layer, plot_panels  # noqa: E402 - after the check that matplotlib is there
from hardmax.plot.limit import plot_limit, plot_trails  # noqa: E402
from hardmax.plot.movie import movie  # noqa: E402
from hardmax.plot.style import save_figure, svg_text  # noqa: E402

__all__ = ["movie", "plot_layer", "plot_limit", "plot_panels", "plot_trails", "save_figure", "svg_text"]
