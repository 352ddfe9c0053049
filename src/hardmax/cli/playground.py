"""The two servers: `hardmax playground` serves the web page, or writes it as a static site; `hardmax serve` a model."""

import re
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from hardmax.cli import inputs
from hardmax.cli.output import announce, note, show
from hardmax.errors import BadInput, need

SHIPPED = Path(__file__).parent.parent / "sentiment" / "pretrained"  # checked without loading NumPy
ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


def command(
    model: Annotated[
        str | None,
        Argument(
            metavar="MODEL",
            help="Model for the Sentiment screen: a name or a folder (default: imdb; with --static, imdb-words).",
        ),
    ] = None,
    host: inputs.Host = "127.0.0.1",
    port: Annotated[
        int | None,
        Option(min=0, max=65535, help="Port to listen on; 0 picks a free port (default: 8377, or a free port)."),
    ] = None,
    open_: Annotated[
        str | None,
        Option("--open", metavar="LINK", help="Open this view: a shared link, or the part of it that starts with #."),
    ] = None,
    no_browser: Annotated[bool, Option("--no-browser", help="Do not open a browser.")] = False,
    data: Annotated[
        Path | None, Option(help="Labeled texts for the Corpus screen (default: the IMDb reviews).")
    ] = None,
    token: Annotated[
        str | None, Option(help="Secret token that every request must carry (letters, digits, - and _).")
    ] = None,
    frame_in: Annotated[
        list[str] | None,
        Option(metavar="ORIGIN", help="Site that may embed the page, such as https://course.example. May be repeated."),
    ] = None,
    public_url: Annotated[
        str | None, Option(metavar="URL", help="Public address of this playground, used in shared links.")
    ] = None,
    static: Annotated[
        Path | None, Option(metavar="DIR", help="Write the playground as a static site that needs no server, and stop.")
    ] = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Serve the playground until Ctrl-C, print its address and open it in a browser.

    With --static, write a folder instead, to open from disk or to put on any web host.

    Example: hardmax playground
    """
    _check(model or "imdb", data, token, frame_in or [])
    from hardmax.web.static_site import MODEL, check_public_url, write_site

    check_public_url(public_url)
    if static is not None:
        page = write_site(static, model or MODEL, public_url=public_url, force=force) / "index.html"
        return show(json, {"schema": "hardmax.site/1", "page": str(page)}, str(page))
    fragment = _fragment(open_)

    for package in ("fastapi", "uvicorn"):
        need(package, "web", "the playground")
    from hardmax.web.app import create_app
    from hardmax.web.serve import USUAL_PORT, serve

    def ready(url: str) -> None:
        if port is None and f":{USUAL_PORT}/" not in url:
            note(f"Port {USUAL_PORT} is taken; links to this address work only while this server runs.", quiet or json)
        announce(url + fragment, "playground", json, quiet)
        if not (no_browser or json) and (sys.stdout.isatty() or fragment):
            _open(url + fragment)

    given = None if data is None else str(data)
    serve(
        lambda access: create_app(model or "imdb", data=given, access=access, public_url=public_url),
        host=host,
        port=port,
        token=token,
        frames=frame_in or (),
        ready=ready,
    )


def serve_command(
    model: inputs.Model = "imdb",
    host: inputs.Host = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 picks a free port.")] = 8000,
    token: Annotated[
        str | None,
        Option(envvar="HARDMAX_TOKEN", help="Secret token that every request must carry (letters, digits, - and _)."),
    ] = None,
    threads: Annotated[
        int | None, Option(min=1, help="Number of requests processed at the same time (default: one per processor).")
    ] = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Serve a model until Ctrl-C: POST /predict and /explain, GET /health, /metrics and a page about them at /.

    When the server is told to stop, it first finishes the requests it has accepted. /health needs no token.

    Example: hardmax serve imdb --port 8000
    """
    _check_token(token)
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        need(package, "web", "hardmax serve")
    from hardmax.web.limits import STOP_SECONDS
    from hardmax.web.model_app import create_model_app
    from hardmax.web.serve import serve

    serve(
        lambda access: create_model_app(model, access, threads=threads),
        host=host,
        port=port,
        token=token,
        public=("/health",),
        ready=lambda url: announce(url, "serve", json, quiet),
        stop_seconds=STOP_SECONDS,
    )


def _check(model: str, data: Path | None, token: str | None, origins: list[str]) -> None:
    """Report before the server starts what would otherwise fail on a screen later."""
    if not Path(model).exists() and not (SHIPPED / Path(model).name / "config.json").is_file():
        from hardmax.sentiment.files import shipped

        fix = "give the name of a shipped model or a model folder"
        raise BadInput(f"there is no model {model!r}", found=f"shipped: {', '.join(shipped())}", fix=fix)
    if Path(model).exists():
        from hardmax.sentiment.files import load_classifier

        load_classifier(model)
    if data is not None and str(data) != "imdb" and not data.exists():
        raise BadInput(f"--data {data} does not exist", fix="give a table, folder or archive of labeled texts")
    _check_token(token)
    for origin in origins:  # they become part of a header of every answer
        if not ORIGIN.fullmatch(origin):
            raise BadInput(
                f"--frame-in {origin!r} is not an origin",
                fix="give a scheme and a host without a path, such as https://course.example",
            )


def _fragment(link: str | None) -> str:
    """The part of a link from # on: what is on the screen."""
    if link is None:
        return ""
    if "#" not in link or not link.isprintable():
        raise BadInput(f"--open {link[:80]!r} has no #", fix="give a link from Share, such as '#v=1&view=beta'")
    return "#" + link.split("#", 1)[1]


def _check_token(token: str | None) -> None:
    """A token becomes part of an address and of a header."""
    if token is not None and not (token.isascii() and token.replace("-", "").replace("_", "").isalnum()):
        raise BadInput("--token may contain only letters, digits, - and _", found=repr(token))


def _open(url: str) -> None:
    """Open a browser without waiting for it; having none is not an error."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
