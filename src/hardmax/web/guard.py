"""Every request passes here first: who may ask, how much may come, and the headers of every answer.

* The Host must be this machine's own name, so that no other web page can reach the server through a name that it made
  point here (DNS rebinding); requests that another page sends are refused by their Origin.
* On any other address than the loopback a token is asked for: in the query once, then in a cookie; or as a bearer.
* A body is read up to a size and within a time, before anything looks at it.
"""

import asyncio
import hmac
import json
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hardmax.web import limits
from hardmax.web.wording import error_document

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOG = logging.getLogger("uvicorn.error")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "hardmax_token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Attributes:
        names: host names that requests may use, as in a URL; None: any (a token is asked for then).
        port: the port that must stand beside the name; None: any, for tests without a network.
        token: the secret that a request must show; None: no secret is asked for.
        frames: origins ("https://course.example") of pages that may show the playground in a frame, besides its own.
    """

    names: tuple[str, ...] | None = LOOPBACK
    port: int | None = None
    token: str | None = None
    frames: tuple[str, ...] = ()

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies are shared between ports, tokens are not."""
        return COOKIE if self.port is None else f"{COOKIE}_{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """What every answer has, with the frames that are allowed."""
        if not self.frames:
            return HEADERS
        kept = {name: value for name, value in HEADERS.items() if name != "x-frame-options"}  # knows no other origins
        return kept | {"content-security-policy": " ".join((POLICY, *self.frames))}

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this server."""
        if self.names is None:
            return True
        name, port = _name_and_port(host.lower())
        return name in self.names and (self.port is None or port == str(self.port))

    def accepts(self, given: str | None) -> bool:
        """Whether this is the token; takes as long whatever is given."""
        return self.token is None or hmac.compare_digest((given or "").encode(), self.token.encode())


def _name_and_port(host: str) -> tuple[str, str]:
    if host.startswith("["):
        name, _, rest = host.partition("]")
        return name + "]", rest.removeprefix(":") or "80"
    name, _, port = host.partition(":")
    return name, port or "80"


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: App, access: Access, body_seconds: float = limits.BODY_SECONDS) -> None:
        self.app, self.access, self.body_seconds = app, access, body_seconds

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the body read."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        reply = _Reply(scope["path"], send, self.access.headers)
        refusal = self._refused(scope, headers)
        if refusal is not None:
            await _refuse(reply, *refusal)
            return
        if self.access.token is not None and _query_token(scope) is not None and scope["path"] == "/":
            await _redirect(reply, self.access.cookie, self.access.token)
            return
        body = await self._body(headers, receive)
        if body is None:
            return  # the client has gone
        if isinstance(body, tuple):
            await _refuse(reply, *body)
            return
        try:
            await self.app(scope, _replay(body, receive), reply)
        except Exception as error:  # the last resort: the log has the details, the answer has not
            LOG.exception("a bug in hardmax")
            if not reply.started:
                document = error_document(f"{type(error).__name__}: this is a bug in hardmax", fix="please report it")
                await _refuse(reply, 500, document)

    def _refused(self, scope: MutableMapping[str, Any], headers: dict[str, str]) -> tuple[int, dict[str, Any]] | None:
        host = headers.get("host", "")
        if not self.access.knows_host(host):
            fix = "use the address that hardmax playground printed"
            return 403, error_document("this server does not answer to that name", found=host[:80], fix=fix)
        origin = headers.get("origin")
        if origin is not None and origin != "null" and _authority(origin) != host.lower():
            return 403, error_document("requests from other pages are not answered", found=origin[:80])
        if origin == "null" and scope["method"] != "GET":
            return 403, error_document("requests from other pages are not answered", found="no origin")
        if self.access.accepts(_token(scope, headers, self.access.cookie)):
            return None
        return 401, error_document("a token is needed", fix="use the address that hardmax playground printed")

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes | tuple[int, dict[str, Any]] | None:
        """The whole body; or a refusal; or None when the client has gone."""
        too_long = 413, error_document(f"the body is longer than {limits.BODY_BYTES:,} bytes", fix="send less")
        announced = headers.get("content-length", "0")
        if not announced.isdigit():
            return 400, error_document("content-length is not a number", found=announced[:40])
        if int(announced) > limits.BODY_BYTES:
            return too_long
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limits.BODY_BYTES:
                        return too_long
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            what = f"the body did not arrive within {self.body_seconds:g} seconds"
            return 408, error_document(what, fix="send it again")


def _authority(origin: str) -> str | None:
    """The host and port of an Origin; None if it is not written as one."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _token(scope: MutableMapping[str, Any], headers: dict[str, str], cookie: str) -> str | None:
    """What the request shows: a bearer, the query, or the cookie."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return bearer.strip()
    asked = _query_token(scope)
    if asked is not None:
        return asked
    # By hand: http.cookies gives up at the first odd cookie, and other servers of this machine leave theirs here.
    crumbs = (crumb.strip().partition("=") for crumb in headers.get("cookie", "").split(";"))
    return next((value for name, _, value in crumbs if name == cookie), None)


def _query_token(scope: MutableMapping[str, Any]) -> str | None:
    try:
        given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=100).get("token")
    except ValueError:  # more fields than anybody needs
        return None
    return given[0] if given else None


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class _Reply:
    """`send` with the headers that every answer has; remembers whether an answer has begun."""

    def __init__(self, path: str, send: Send, headers: dict[str, str]) -> None:
        self.started, self._send = False, send
        self._headers = headers | ({"cache-control": "no-store"} if path.startswith("/api/") else {})

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            present = {name.lower() for name, _ in message["headers"]}
            extra = [(k.encode(), v.encode()) for k, v in self._headers.items() if k.encode() not in present]
            message = {**message, "headers": [*message["headers"], *extra]}
        await self._send(message)


async def _refuse(send: Send, status: int, document: dict[str, Any]) -> None:
    """Answer without the application; the connection is closed, because a body may be on its way."""
    body = json.dumps(document).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _redirect(send: Send, name: str, token: str) -> None:
    """The token moves from the address into a cookie that scripts do not see.

    Lax, because a Strict one is not sent when the address was a link on another site, as in a mail or on a course page.
    """
    cookie = f"{name}={token}; Path=/; HttpOnly; SameSite=Lax"
    headers = [(b"location", b"/"), (b"set-cookie", cookie.encode("latin-1")), (b"content-length", b"0"),
               (b"cache-control", b"no-store")]  # fmt: skip
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
