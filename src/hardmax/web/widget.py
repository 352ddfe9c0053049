"""The playground in a notebook: an anywidget (extra `jupyter`) around the page; plain HTML where widgets are off.

The page has a frame of its own, so that its style sheet and the notebook's do not affect each other.
"""

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hardmax.errors import BadInput, need
from hardmax.html.page import script
from hardmax.web.share import tokens_of
from hardmax.web.single_file import equilibrium_state, playground_document, trajectory_state

if TYPE_CHECKING:
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.trajectory import Trajectory

HEIGHT = 760
FRAME = Markup(
    '<iframe title="hardmax playground" style="width:100%;height:{}px;border:1px solid #8884;border-radius:8px" '
    'srcdoc="{}"></iframe>'
)


def widget(result: "Trajectory | Equilibrium", height: int = HEIGHT) -> Any:
    """The playground with the tokens of a trajectory or a limit, for a notebook.

    Args:
        result: has tokens in two or three dimensions, and hardmax or softmax attention as in the papers.
        height: the height of the frame in pixels.

    Returns:
        An anywidget. Its `link` describes what is on the screen and may be set; `tokens` are the tokens on the screen
        at layer 0, rounded as in a link. Where widgets are off it shows the same page as HTML.

    Raises:
        MissingExtra: anywidget is not installed.
        BadInput: the playground cannot show these dynamics.

    Example:
        >>> import hardmax as hx
        >>> widget(hx.simulate(hx.preset("square"))).link  # doctest: +SKIP
        'v=1&view=dyn&...'
    """
    widgets, traits = need("anywidget", "jupyter", "the widget"), need("traitlets", "jupyter", "the widget")
    document = _page_of(result)

    class Playground(widgets.AnyWidget):  # type: ignore[name-defined]
        """The playground in a notebook."""

        _esm = str(script("widget.js"))
        page = traits.Unicode(document).tag(sync=True)
        link = traits.Unicode("").tag(sync=True)
        height = traits.Int(HEIGHT).tag(sync=True)

        @property
        def tokens(self) -> Any:
            """The (n, d) tokens on the screen at layer 0."""
            if self.link:
                return tokens_of(self.link)
            return result.tokens[0] if result.tokens.ndim == 3 else result.tokens

        def _repr_html_(self) -> str:
            return str(FRAME.format(self.height, self.page))

        def _repr_mimebundle_(self, **options: Any) -> Any:
            bundle = super()._repr_mimebundle_(**options)
            data, rest = bundle if isinstance(bundle, tuple) else (bundle, {})
            return {**(data or {}), "text/html": self._repr_html_()}, rest

    return Playground(height=int(height))


def _page_of(result: Any) -> str:
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.trajectory import Trajectory

    if isinstance(result, Equilibrium):
        state = equilibrium_state(result)
    elif isinstance(result, Trajectory):
        state = trajectory_state(result)
    else:
        raise BadInput(f"a widget shows a Trajectory or an Equilibrium, not {type(result).__name__}")
    if state is None:
        shown = "two or three dimensions, at most 5,000 tokens and 500 layers"
        fix = f"it shows {shown}, and hardmax or softmax attention as in the papers"
        raise BadInput(f"the playground cannot show this: {result!r}", fix=fix)
    return playground_document(state)
