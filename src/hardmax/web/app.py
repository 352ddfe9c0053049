"""The application: the page and its files, the routes under /api, and errors as JSON."""

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from http import HTTPStatus
from inspect import signature
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from hardmax import __version__
from hardmax.errors import HardmaxError
from hardmax.palette import FILE as PALETTE
from hardmax.web import api, limits
from hardmax.web.guard import Access, Guard
from hardmax.web.pool import Broken, Busy, Pool, TooSlow
from hardmax.web.wording import error_document, validation_document

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}
STATUS = {TooSlow: 408, Busy: 429, Broken: 500}


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
        token: a secret that every request must show.
        data: a file or folder of labeled texts for the corpus screen; None: the reviews of the extra `imdb`.
        access: who may ask; by default this machine, on any port.
        pool: the workers; by default new ones, ended with the application.

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
    app.router.routes.extend(_files())
    app.add_middleware(Guard, access=access or Access(token=token))
    _answer_errors(app)
    app.openapi = lambda: _description(app)  # type: ignore[method-assign]
    return app


def _silent() -> dict[str, Any]:
    """Options that switch off the traces and metrics of newer versions of FastAPI, whatever the environment says."""
    if "telemetry" not in signature(FastAPI.__init__).parameters:
        return {}
    switches = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
    return {"telemetry": dict.fromkeys(switches, False)}


def _files() -> list[Route]:
    """The page and its files. A name is looked up among the files that are there, so no path leads elsewhere."""
    known = {p.relative_to(STATIC).as_posix(): p for p in STATIC.rglob("*") if p.is_file()}
    known[PALETTE.name] = PALETTE

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        path = known.get(name)
        if path is None:
            raise HTTPException(404, f"there is no file {name[:80]!r}")
        content = path.read_bytes()
        mark = f'"{sha256(content).hexdigest()[:32]}"'
        headers = {"etag": mark, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return Response(content, media_type=kind, headers=headers)

    async def no_icon(request: Request) -> Response:
        return Response(status_code=204)

    return [Route("/", file), Route("/static/{name:path}", file), Route("/favicon.ico", no_icon)]


def _answer_errors(app: FastAPI) -> None:
    """Every error is JSON with the texts of `hardmax.errors`."""

    @app.exception_handler(RequestValidationError)
    async def unusable(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(validation_document(error.errors()), 400)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        what, found = str(error.detail), None
        if error.status_code in (404, 405) and what == HTTPStatus(error.status_code).phrase:  # starlette's own words
            verb = f"{request.method} " if error.status_code == 405 else ""
            what, found = "there is nothing at this address", f"{verb}{request.url.path[:80]}"
        if what == "There was an error parsing the body":  # FastAPI's: no text, endless brackets or digits
            what = "the body is not JSON that can be read"
        return JSONResponse(error_document(what, found), error.status_code, headers=error.headers)

    @app.exception_handler(HardmaxError)
    async def failed(request: Request, error: HardmaxError) -> JSONResponse:
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
        headers = {"retry-after": "5"} if status == 429 else None
        return JSONResponse(error_document(error.what, error.found, error.fix), status, headers=headers)


def _description(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description: what cannot be validated is answered with 400, so 422 does not occur."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=_limits_text())
        for path in made["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            made["components"]["schemas"].pop(name, None)
        app.openapi_schema = made
    return app.openapi_schema


def _limits_text() -> str:
    return (
        f"Bodies up to {limits.BODY_BYTES:,} bytes, {limits.TOKENS:,} tokens of dimension {limits.DIM}, "
        f"{limits.LAYERS:,} layers, texts of {limits.TEXT:,} characters, {limits.WORK_SECONDS:g} seconds of work."
    )
