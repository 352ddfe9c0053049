"""`hardmax playground`: the web page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.output import note, print_json
from hardmax.errors import BadInput

SHIPPED = Path(__file__).parent.parent / "sentiment" / "pretrained"  # looked at without loading NumPy


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A shipped model or a model folder, for the sentiment screen.")
    ] = "imdb",
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; other than this machine's own asks for a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Labeled texts for the corpus screen (default: the imdb reviews).")
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", help="A secret that the page asks for (letters, digits, - and _).")
    ] = None,
    frame_in: Annotated[
        list[str] | None,
        typer.Option("--frame-in", metavar="ORIGIN", help="A site that may frame the page, as https://course.example."),
    ] = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Serve the playground on this machine until Ctrl-C, and print its address.

    Example: hardmax playground
    """
    _check(model, data, token)
    _check_origins(frame_in or [])

    from hardmax.errors import need

    need("fastapi", "web", "the playground")
    need("uvicorn", "web", "the playground")
    from hardmax.web.serve import serve

    def ready(url: str) -> None:
        if json:
            print_json({"schema": "hardmax.playground/1", "url": url})
        else:
            print(url)
        sys.stdout.flush()
        note("Ctrl-C stops it", quiet or json)
        if not (no_browser or json) and sys.stdout.isatty():
            _open(url)

    serve(model, host=host, port=port, data=data, token=token, frames=frame_in or (), ready=ready)


def _check(model: str, data: Path | None, token: str | None) -> None:
    """Refuse before the server starts what would only show on a screen later."""
    if not Path(model).exists() and not (SHIPPED / Path(model).name / "config.json").is_file():
        from hardmax.sentiment.files import shipped

        raise BadInput(f"no model {model!r}", found=f"shipped: {', '.join(shipped())}", fix="a model folder or a name")
    if data is not None and str(data) != "imdb" and not data.exists():
        raise BadInput(f"--data {data} does not exist", fix="a table, folder or archive of labeled texts")
    if token is not None and not (token.isascii() and token.replace("-", "").replace("_", "").isalnum()):
        raise BadInput("--token may hold letters, digits, - and _ only", found=repr(token))


def _check_origins(given: list[str]) -> None:
    """Refuse what is no origin: it would end in a header of every answer."""
    from hardmax.web.guard import ORIGIN

    for origin in given:
        if not ORIGIN.fullmatch(origin):
            raise BadInput(
                f"--frame-in {origin!r} is no origin", fix="a scheme and a host, no path: https://course.example"
            )


def _open(url: str) -> None:
    """Open a browser beside the server; that there is none is no error."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
