"""Every request passes here first: who may send one, how long it may be, and the headers of every answer.

* The Host must be one of this machine's own names, so that no other web page can reach the server through a name that
  it made point here (DNS rebinding). Requests that another page sends are refused because of their Origin.
* On any address other than the loopback a token is required: in the query once, then in a cookie; or as a bearer token.
* A body is read up to a size and within a time limit, before anything looks at it.
"""

import asyncio
import hmac
import logging
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hardmax.web import limits
from hardmax.web.wording import bug_document, error_document

LOG = logging.getLogger("uvicorn.error")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "hardmax_token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src blob:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HOST = re.compile(r"(.*?)(?::([0-9]{1,5}))?")
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
PRINTED = "use the address and the token that the server printed when it started"


@dataclass(frozen=True)
class Access:
    """Who may send requests."""

    names: tuple[str, ...] | None = LOOPBACK  # host names that requests may use, as in a URL; None: any, with a token
    port: int | None = None  # that must follow the name; None: any, for tests without a network
    token: str | None = None  # the secret that a request must present; None: no secret is required
    frames: tuple[str, ...] = ()  # origins ("https://course.example") of pages that may show the playground in a frame
    public: tuple[str, ...] = ()  # paths that anybody may ask for without the token, such as a health check

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers share cookies between ports, but every server has its own token."""
        return COOKIE if self.port is None else f"{COOKIE}_{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every answer, with the frames that are allowed."""
        if not self.frames:
            return HEADERS
        kept = {name: value for name, value in HEADERS.items() if name != "x-frame-options"}  # cannot name origins
        return kept | {"content-security-policy": " ".join((POLICY, *self.frames))}

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this server. A name without a port means port 80."""
        found = HOST.fullmatch(host.lower())
        if self.names is None or found is None:
            return self.names is None
        return found[1] in self.names and (self.port is None or int(found[2] or 80) == self.port)

    def accepts(self, given: str | None) -> bool:
        """Whether this is the token. The comparison takes the same time whatever is given."""
        return self.token is None or hmac.compare_digest((given or "").encode(), self.token.encode())


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        body_seconds: float = limits.BODY_SECONDS,
        body_bytes: int = limits.BODY_BYTES,
    ) -> None:
        self.app, self.access, self.body_seconds, self.body_bytes = app, access, body_seconds, body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or read its body and pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        kept = "no-store" if scope["path"].startswith("/api/") else "no-cache"
        headers = self.access.headers | {"cache-control": kept}
        started = False

        async def reply(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                present = MutableHeaders(scope=message)
                for name, value in headers.items():
                    present.setdefault(name, value)
            await send(message)

        request = Request(scope, receive)
        try:
            found = self._refusal(request) or self._welcome(request) or await self._body(request)
        except ClientDisconnect:
            return
        if isinstance(found, Response):
            await found(scope, receive, reply)
            return
        body: list[Message] = [{"type": "http.request", "body": found, "more_body": False}]

        async def replay() -> Message:
            return body.pop() if body else await receive()

        try:
            await self.app(scope, replay, reply)
        except Exception as error:  # the last resort: the log has the details, the answer does not
            LOG.exception("a bug in hardmax")
            if not started:
                await _refuse(500, bug_document(error))(scope, receive, reply)

    def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that may not be made."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not self.access.knows_host(host):
            return _refuse(403, error_document("this server has a different name", found=host[:80], fix=PRINTED))
        own = origin is None or origin.lower().partition("://")[2] == host.lower()
        if not own and not (origin == "null" and request.method == "GET"):
            return _refuse(403, error_document("requests from other pages are not answered", found=str(origin)[:80]))
        public = request.scope["path"] in self.access.public
        if not public and not self.access.accepts(_shown_token(request, self.access.cookie)):
            return _refuse(401, error_document("a token is required", fix=PRINTED))
        return None

    def _welcome(self, request: Request) -> Response | None:
        """Move the token from the address into a cookie that scripts cannot read.

        The cookie is Lax: a Strict one is not sent when the address was a link on another site, such as a course page.
        """
        if self.access.token is None or request.scope["path"] != "/" or "token" not in request.query_params:
            return None
        response = RedirectResponse("/", 303, {"cache-control": "no-store"})
        response.set_cookie(self.access.cookie, self.access.token, httponly=True, samesite="lax")
        return response

    async def _body(self, request: Request) -> bytes | Response:
        """The whole body, or the answer to one that is too long or too slow."""
        announced = request.headers.get("content-length", "0")
        if not announced.isdigit():
            return _refuse(400, error_document("Content-Length is not a number", found=announced[:40]))
        too_long = TooLong(error_document(f"the body is longer than {self.body_bytes:,} bytes", fix="send less"))
        if int(announced) > self.body_bytes:
            return too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self.body_seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > self.body_bytes:
                        return too_long
        except TimeoutError:
            what = f"the body did not arrive within {self.body_seconds:g} seconds"
            return _refuse(408, error_document(what, fix="send it again"))
        return bytes(body)


def _shown_token(request: Request, cookie: str) -> str | None:
    """The token that the request shows: as a bearer token, in the query, or in the cookie."""
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return bearer.strip()
    return request.query_params.get("token", request.cookies.get(cookie))


CLOSED = {"connection": "close", "cache-control": "no-store"}  # a body may be on its way


def _refuse(status: int, document: dict[str, Any]) -> Response:
    """An error as JSON, after which the connection is closed."""
    return JSONResponse(document, status, CLOSED)


class TooLong(JSONResponse):
    """The answer to a body that is too long: it is sent at once, then more of the body is thrown away, within a bound.

    If the connection were closed while a client is still sending, it would see a broken pipe instead of the answer.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document, 413, CLOSED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, let the client finish, and end."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        left = limits.DISCARDED_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(limits.DISCARD_SECONDS):
                while left > 0 and (message := await receive()).get("more_body"):
                    left -= len(message["body"])
        await send({"type": "http.response.body", "body": b""})
