"""The application: the page and its files, the routes under /api, and errors as JSON."""

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from inspect import signature
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from hardmax import __version__
from hardmax.errors import HardmaxError
from hardmax.palette import FILE as PALETTE
from hardmax.web import api, limits
from hardmax.web.guard import Access, Guard
from hardmax.web.pool import Broken, Busy, Pool, TooSlow
from hardmax.web.wording import error_document, validation_document

STATIC = Path(__file__).parent / "static"
STATUS = {TooSlow: 408, Busy: 429, Broken: 500}
for kind, suffix in (("text/javascript", ".js"), ("text/css", ".css")):
    mimetypes.add_type(kind, suffix)  # Windows may have other ideas, and browsers refuse modules of another type


def create_app(
    model: str | None = "imdb",
    token: str | None = None,
    *,
    data: str | None = None,
    access: Access | None = None,
    pool: Pool | None = None,
) -> FastAPI:
    """The whole playground as an ASGI application.

    Args:
        model: a shipped model or a model folder; None: only the shipped ones.
        token: a secret that every request must present.
        data: a file or folder of labeled texts for the corpus screen; None: the reviews of the extra `imdb`.
        access: who may send requests; by default only this machine, on any port.
        pool: the workers; by default new ones, which end with the application.

    Example:
        >>> create_app().title
        'hardmax playground'
    """
    setup = {"model": model, "data": data, "data_name": "imdb" if data is None else Path(data).name}
    workers = pool or Pool(setup)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        workers.prepare("explain", "limit")
        yield
        workers.close()

    app = FastAPI(
        title="hardmax playground",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
        lifespan=life,
        **_silent(),
    )
    app.state.pool = workers
    app.include_router(api.routes(workers))
    _serve_files(app)
    app.add_middleware(Guard, access=access or Access(token=token))
    _answer_errors(app)
    app.openapi = lambda: _description(app)  # type: ignore[method-assign]
    return app


def _silent() -> dict[str, Any]:
    """Options that switch off the tracing and metrics of newer versions of FastAPI, whatever the environment says."""
    if "telemetry" not in signature(FastAPI.__init__).parameters:
        return {}
    switches = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
    return {"telemetry": dict.fromkeys(switches, False)}


def _serve_files(app: FastAPI) -> None:
    """The page and its files; the palette belongs to the package."""
    files, package = StaticFiles(directory=STATIC), StaticFiles(directory=PALETTE.parent)

    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    async def palette(request: Request) -> Response:
        return await package.get_response(PALETTE.name, request.scope)

    async def no_icon(request: Request) -> Response:
        return Response(status_code=204)

    app.add_route("/", page)
    app.add_route(f"/static/{PALETTE.name}", palette)
    app.add_route("/favicon.ico", no_icon)
    app.mount("/static", files)


def _answer_errors(app: FastAPI) -> None:
    """Every error becomes JSON with the texts of `hardmax.errors`."""

    @app.exception_handler(RequestValidationError)
    async def unusable(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(validation_document(error.errors()), 400)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        what, found = str(error.detail), None
        if error.status_code in (404, 405) and what == HTTPStatus(error.status_code).phrase:  # Starlette's own words
            verb = f"{request.method} " if error.status_code == 405 else ""
            what, found = "there is nothing at this address", f"{verb}{request.url.path[:80]}"
        if what == "There was an error parsing the body":  # FastAPI's words for bad UTF-8, endless brackets or digits
            what = "the body is not JSON"
        return JSONResponse(error_document(what, found), error.status_code, headers=error.headers)

    @app.exception_handler(HardmaxError)
    async def failed(request: Request, error: HardmaxError) -> JSONResponse:
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
        headers = {"retry-after": "5"} if status == 429 else None
        return JSONResponse(error_document(error.what, error.found, error.fix), status, headers=headers)


def _description(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description without 422: a request that fails validation is answered with 400."""
    if app.openapi_schema is None:
        text = (
            f"Bodies up to {limits.BODY_BYTES:,} bytes, {limits.TOKENS:,} tokens of dimension {limits.DIM}, "
            f"{limits.LAYERS:,} layers, texts of {limits.TEXT:,} characters, {limits.WORK_SECONDS:g} seconds of work."
        )
        made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=text)
        for path in made["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            made["components"]["schemas"].pop(name, None)
        app.openapi_schema = made
    return app.openapi_schema
