"""`hardmax serve`: a model as a web service."""

from typing import Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.output import announce
from hardmax.cli.playground import check_token
from hardmax.errors import need


def command(
    model: inputs.Model = "imdb",
    host: Annotated[
        str, typer.Option(help="Address to listen on. If other machines can reach it, a token is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HARDMAX_TOKEN", help="Secret token that every request must carry (letters, digits, - and _)."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Number of requests processed at the same time (default: one per processor)."),
    ] = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Serve a model until Ctrl-C: POST /predict and /explain, GET /health, /metrics and a page about them at /.

    When the server is told to stop, it first finishes the requests it has accepted. /health needs no token.

    Example: hardmax serve imdb --port 8000
    """
    check_token(token)
    need("fastapi", "web", "hardmax serve")
    need("uvicorn", "web", "hardmax serve")
    need("prometheus_client", "web", "hardmax serve")
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
