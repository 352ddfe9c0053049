"""The playground in a notebook: an anywidget (extra `jupyter`) around the same page; its HTML where widgets are off.

The page lives in a frame of its own, so that its style and the notebook's never meet.
"""

from html import escape
from typing import TYPE_CHECKING, Any

from hardmax.errors import BadInput, need
from hardmax.web.result_page import equilibrium_state, trajectory_state
from hardmax.web.share import tokens_of
from hardmax.web.single_file import playground_document

if TYPE_CHECKING:
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.trajectory import Trajectory

HEIGHT = 760
MODULE = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "hardmax playground";
  frame.style.cssText = "width: 100%; border: 1px solid #8884; border-radius: 8px;";
  frame.style.height = `${model.get("height")}px`;
  frame.srcdoc = model.get("page");
  el.append(frame);
  const inside = () => frame.contentWindow;
  let told = "";
  const timer = setInterval(() => {
    const link = inside()?.hardmaxLink?.();
    if (!link || link === told) return;
    told = link;
    model.set("link", link);
    model.save_changes();
  }, 400);
  const follow = () => {
    const link = model.get("link");
    if (link === told) return;
    told = link;
    inside()?.hardmaxApp?.readAddress(`#${link}`);
  };
  model.on("change:link", follow);
  return () => {
    clearInterval(timer);
    model.off("change:link", follow);
  };
}
export default { render };
"""


def widget(result: "Trajectory | Equilibrium", height: int = HEIGHT) -> Any:
    """The playground with the tokens of a trajectory or a limit, for a notebook.

    Args:
        result: tokens in two or three dimensions; hardmax, or softmax with the paper's normalization.
        height: of the frame, in pixels.

    Returns:
        An anywidget. Its `link` follows what the reader does and may be set; `tokens` are the tokens on the screen at
        layer 0, rounded as a link rounds them. Where widgets are off it shows the same page as HTML.

    Raises:
        MissingExtra: anywidget is not installed.
        BadInput: the playground does not know these dynamics.

    Example:
        >>> import hardmax as hx
        >>> widget(hx.simulate(hx.preset("square"))).link  # doctest: +SKIP
        'v=1&view=dyn&...'
    """
    widgets, traits = need("anywidget", "jupyter", "the widget"), need("traitlets", "jupyter", "the widget")
    document = _page_of(result)

    class Playground(widgets.AnyWidget):  # type: ignore[name-defined]
        """The playground in a notebook."""

        _esm = MODULE
        page = traits.Unicode(document).tag(sync=True)
        link = traits.Unicode("").tag(sync=True)
        height = traits.Int(HEIGHT).tag(sync=True)

        @property
        def tokens(self) -> Any:
            """The (n, d) tokens on the screen at layer 0."""
            return tokens_of(self.link) if self.link else _tokens(result)

        def _repr_html_(self) -> str:
            return widget_html(result, self.height)

        def _repr_mimebundle_(self, **options: Any) -> Any:
            bundle = super()._repr_mimebundle_(**options)
            data, rest = bundle if isinstance(bundle, tuple) else (bundle, {})
            return {**(data or {}), "text/html": self._repr_html_()}, rest

    return Playground(height=int(height))


def widget_html(result: "Trajectory | Equilibrium", height: int = HEIGHT) -> str:
    """The same page as one frame, for notebooks in which widgets are off."""
    page = escape(_page_of(result), quote=True)
    look = f"width:100%;height:{int(height)}px;border:1px solid #8884;border-radius:8px"
    return f'<iframe title="hardmax playground" style="{look}" srcdoc="{page}"></iframe>'


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
        raise BadInput(
            f"the playground cannot show this: {result!r}",
            fix="two or three dimensions, at most 5,000 tokens and 500 layers, hardmax or softmax as in the paper",
        )
    return playground_document(state)


def _tokens(result: Any) -> Any:
    return result.tokens[0] if result.tokens.ndim == 3 else result.tokens
