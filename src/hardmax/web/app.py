"""The playground as an application: the page and its files, and the routes under /api."""

from hashlib import sha256
from pathlib import Path

from hardmax.errors import MissingExtra

try:
    from fastapi import FastAPI, Request, Response
    from starlette.exceptions import HTTPException
    from starlette.responses import HTMLResponse
except ImportError as error:
    raise MissingExtra("fastapi", "web", "the playground") from error

from hardmax.web import api, limits
from hardmax.web.bundle import file_names, file_text, index_page
from hardmax.web.guard import Access
from hardmax.web.pool import Pool
from hardmax.web.shell import application

KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
ACCEPTED = (
    f"Bodies up to {limits.BODY_BYTES:,} bytes, {limits.TOKENS:,} tokens of dimension {limits.DIM}, "
    f"{limits.LAYERS:,} layers, texts of {limits.TEXT:,} characters, {limits.WORK_SECONDS:g} seconds of work."
)


def create_app(
    model: str | None = "imdb",
    token: str | None = None,
    *,
    data: str | None = None,
    public_url: str | None = None,
    access: Access | None = None,
    pool: Pool | None = None,
) -> FastAPI:
    """The whole playground as an ASGI application.

    Args:
        model: a shipped model or a model folder; None: only the shipped ones.
        token: a secret that every request must present.
        data: a file or folder of labeled texts for the corpus screen; None: the reviews of the extra `imdb`.
        public_url: the address of a playground that others can reach, for the links of Share; None: the page's own.
        access: who may send requests; by default only this machine, on any port.
        pool: the workers; by default new ones, which end with the application.

    Example:
        >>> create_app().title
        'hardmax playground'
    """
    setup = {"model": model, "data": data, "data_name": "imdb" if data is None else Path(data).name}
    workers = pool or Pool(setup)

    def start() -> None:
        workers.prepare("limit", "explain")
        workers.compile()

    app = application(
        "hardmax playground",
        access or Access(token=token),
        description=ACCEPTED,
        openapi_url="/api/openapi.json",
        start=start,
        stop=workers.stop,
        close=workers.close,
    )
    app.state.pool = workers
    app.include_router(api.routes(workers))
    _serve_files(app, public_url)
    return app


def _serve_files(app: FastAPI, public_url: str | None) -> None:
    """The page and its files."""
    text = index_page({"public_url": public_url})

    async def page(request: Request) -> Response:
        return HTMLResponse(text)

    async def no_icon(request: Request) -> Response:
        return Response(status_code=204)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in file_names():
            raise HTTPException(404)
        body = file_text(name).encode()
        tag = f'"{sha256(body).hexdigest()[:32]}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"etag": tag})
        return Response(body, headers={"etag": tag}, media_type=KINDS[Path(name).suffix])

    app.add_route("/", page)
    app.add_route("/favicon.ico", no_icon)
    app.add_route("/static/{name:path}", file)
