"""`hardmax playground`: serve the web page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.output import announce
from hardmax.errors import BadInput, need

SHIPPED = Path(__file__).parent.parent / "sentiment" / "pretrained"  # checked without loading NumPy


def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Model for the sentiment screen: the name of a shipped model, or a folder."
        ),
    ] = "imdb",
    host: Annotated[
        str, typer.Option(help="Address to listen on. If other machines can reach it, a token is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free port.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Labeled texts for the corpus screen (default: the IMDb reviews).")
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="Secret token that every request must carry (letters, digits, - and _).")
    ] = None,
    frame_in: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN", help="Site that may embed the page, such as https://course.example. May be repeated."
        ),
    ] = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Serve the playground until Ctrl-C, print its address and open it in a browser.

    Example: hardmax playground
    """
    _check(model, data, token, frame_in or [])

    need("fastapi", "web", "the playground")
    need("uvicorn", "web", "the playground")
    from hardmax.web.app import create_app
    from hardmax.web.serve import serve

    def ready(url: str) -> None:
        announce(url, "playground", json, quiet)
        if not (no_browser or json) and sys.stdout.isatty():
            _open(url)

    given = None if data is None else str(data)
    serve(
        lambda access: create_app(model, data=given, access=access),
        host=host,
        port=port,
        token=token,
        frames=frame_in or (),
        ready=ready,
    )


def _check(model: str, data: Path | None, token: str | None, origins: list[str]) -> None:
    """Report before the server starts what would otherwise fail on a screen later."""
    if not Path(model).exists() and not (SHIPPED / Path(model).name / "config.json").is_file():
        from hardmax.sentiment.files import shipped

        fix = "give the name of a shipped model or a model folder"
        raise BadInput(f"there is no model {model!r}", found=f"shipped: {', '.join(shipped())}", fix=fix)
    if data is not None and str(data) != "imdb" and not data.exists():
        raise BadInput(f"--data {data} does not exist", fix="give a table, folder or archive of labeled texts")
    check_token(token)
    from hardmax.web.guard import ORIGIN

    for origin in origins:  # they become part of a header of every answer
        if not ORIGIN.fullmatch(origin):
            raise BadInput(
                f"--frame-in {origin!r} is not an origin",
                fix="give a scheme and a host without a path, such as https://course.example",
            )


def check_token(token: str | None) -> None:
    """A token becomes part of an address and of a header."""
    if token is not None and not (token.isascii() and token.replace("-", "").replace("_", "").isalnum()):
        raise BadInput("--token may contain only letters, digits, - and _", found=repr(token))


def _open(url: str) -> None:
    """Open a browser without waiting for it; having none is not an error."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
