"""What both servers share: an application behind the guard, errors as JSON, and an OpenAPI description."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from inspect import signature
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from hardmax import __version__
from hardmax.errors import HardmaxError
from hardmax.web import limits
from hardmax.web.guard import Access, Guard
from hardmax.web.pool import Broken, Busy, NotReady, TooSlow
from hardmax.web.wording import error_document, validation_document

STATUS = {TooSlow: 408, Busy: 429, Broken: 500, NotReady: 503}


def application(
    title: str,
    access: Access,
    *,
    description: str,
    openapi_url: str,
    start: Callable[[], None],
    stop: Callable[[], None],
    close: Callable[[], None],
    body_bytes: int = limits.BODY_BYTES,
) -> FastAPI:
    """An application without routes.

    Args:
        access: who may send requests.
        description, openapi_url: what the OpenAPI description says, and where it is.
        start, close: called when the server begins to answer, and when it has ended.
        stop: called at once when the server is told to end, while answers are still on their way.
        body_bytes: the longest body of a request.
    """

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        start()
        yield
        close()

    app = FastAPI(
        title=title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=openapi_url,
        redirect_slashes=False,
        lifespan=life,
        **_silent(),
    )
    app.state.stop, app.state.close = stop, close
    app.add_middleware(Guard, access=access, body_bytes=body_bytes)
    _answer_errors(app)
    app.openapi = lambda: _description(app, description)  # type: ignore[method-assign]
    return app


def _silent() -> dict[str, Any]:
    """Options that switch off the tracing and metrics of newer versions of FastAPI, whatever the environment says."""
    if "telemetry" not in signature(FastAPI.__init__).parameters:
        return {}
    switches = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
    return {"telemetry": dict.fromkeys(switches, False)}


def _answer_errors(app: FastAPI) -> None:
    """Every error becomes JSON with the texts of `hardmax.errors`."""

    @app.exception_handler(RequestValidationError)
    async def unusable(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(validation_document(error.errors()), 400)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        what, found, fix = str(error.detail), None, None
        if error.status_code in (404, 405) and what == HTTPStatus(error.status_code).phrase:  # Starlette's own words
            what, found = "there is nothing at this address", request.url.path[:80]
            if error.status_code == 405:
                what, found = f"this address does not answer {request.method}", f"{request.method} {found}"
                fix = f"use {(error.headers or {}).get('Allow', 'another method')}"
        if what == "There was an error parsing the body":  # FastAPI's words for bad UTF-8, endless brackets or digits
            what = "the body is not JSON"
        return JSONResponse(error_document(what, found, fix), error.status_code, headers=error.headers)

    @app.exception_handler(HardmaxError)
    async def failed(request: Request, error: HardmaxError) -> JSONResponse:
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
        headers = {"retry-after": "5"} if status in (429, 503) else None
        return JSONResponse(error_document(error.what, error.found, error.fix), status, headers=headers)


def _description(app: FastAPI, text: str) -> dict[str, Any]:
    """The OpenAPI description without 422: a request that fails validation is answered with 400."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=text)
        for path in made["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            made["components"]["schemas"].pop(name, None)
        app.openapi_schema = made
    return app.openapi_schema
