"""The shell of every page and the parts pages are made of: Jinja2 templates, style sheets and scripts kept as files.

Every value in a template is escaped, and control characters and lone surrogates become visible symbols. Only `Markup`,
which this package makes itself, passes as it is. Colors come from the palette of the package.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hardmax.palette import palette
from hardmax.sentiment.highlight import visible

HERE = Path(__file__).parent
NO_SCRIPT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def _printable(value: Any) -> Any:
    return value if hasattr(value, "__html__") else visible(str(value))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader([HERE / "templates", HERE / "styles"]),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(palette=palette, table=table, facts=facts, picture=picture)
    made.filters["fmt"] = format  # {{ x|fmt("+.4f") }}
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


def render(template: str, **values: Any) -> Markup:
    """The text of a template with its values, which are escaped unless they are `Markup`.

    Example:
        >>> render("facts.html", pairs=[("a", "<b>")])
        Markup('<dl><dt>a</dt><dd>&lt;b&gt;</dd></dl>')
    """
    return Markup(_environment().get_template(template).render(values))


@cache
def script(name: str) -> Markup:
    """The text of one of the scripts that are written into pages."""
    return Markup((HERE / "scripts" / name).read_text(encoding="utf-8"))


def page(title: str, parts: Iterable[str], policy: str = NO_SCRIPT) -> str:
    """A whole HTML document that needs no other file.

    Args:
        parts: the contents of the page, as HTML.
        policy: the Content-Security-Policy; the default allows neither scripts nor requests.
    """
    document = render("shell.html", title=title, parts=map(Markup, parts), policy=policy)
    return document.encode("utf-8", "replace").decode()


def notebook(*parts: str) -> str:
    """Parts of a page as a notebook shows them: one <div> with its own style sheet."""
    return str(render("notebook.html", parts=map(Markup, parts)))


def heading(title: str) -> Markup:
    """The title of a page."""
    return Markup("<h1>{}</h1>").format(_printable(title))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    """A table; every cell is escaped."""
    return render("table.html", caption=caption, head=head, rows=rows)


def facts(pairs: Iterable[tuple[str, Any]]) -> Markup:
    """A list of names and values."""
    return render("facts.html", pairs=pairs)


def picture(path: Path, alt: str, width: int | None = None) -> Markup:
    """An image file inside the page.

    Args:
        alt: a description for readers who do not see the image.
        width: the width in pixels; by default the image is as wide as the page and scrolls on narrow screens.
    """
    from PIL import Image

    data = path.read_bytes()
    with Image.open(BytesIO(data)) as image:
        w, h = image.size
    shown = width or min(w, 1000)
    source = f"data:image/{'gif' if path.suffix == '.gif' else 'png'};base64,{b64encode(data).decode()}"
    return render("picture.html", source=source, alt=alt, wide=not width, width=shown, height=round(h * shown / w))
