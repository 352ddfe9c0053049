"""Run the server: a free port, one address, a clean end."""

import asyncio
import json
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hardmax.errors import BadInput
from hardmax.web import limits
from hardmax.web.app import create_app
from hardmax.web.guard import HEADERS, LOOPBACK, Access
from hardmax.web.wording import error_document


class PatientProtocol(H11Protocol):
    """HTTP with a limit on the time in which a request's first lines must arrive and a long answer must be read.

    Uvicorn itself waits forever, and keeps what a client does not read.
    """

    waiting: asyncio.TimerHandle | None = None
    unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Bytes that complete a request end the waiting; bytes that begin one start it."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self.waiting is None and (self.cycle is None or self.cycle.response_complete):
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        self._stop_waiting()
        self._is_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read as fast as the answer is written: begin to wait for it."""
        super().pause_writing()
        self._is_read()
        self.unread = self.loop.call_later(limits.READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        self._is_read()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Bytes that are no HTTP request: the same JSON and headers as for everything else that cannot be used."""
        body = json.dumps(error_document("this is no HTTP request that can be read")).encode()
        headers = HEADERS | {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
        }
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        events = h11.Response(status_code=400, headers=named), h11.Data(data=body), h11.EndOfMessage()
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()

    def _is_read(self) -> None:
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None

    def _expect(self) -> None:
        self.waiting = self.loop.call_later(limits.HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None


class Server(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    Example:
        >>> [is_loopback(h) for h in ("127.0.0.1", "localhost", "::1", "0.0.0.0")]
        [True, True, True, False]
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises:
        BadInput: the address cannot be used.
    """
    listening = None
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(limits.CONNECTIONS)
    except (OSError, OverflowError) as error:
        if listening is not None:
            listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        fix = "--port 0 takes a free port" if port else "--host 127.0.0.1 is always there"
        raise BadInput(f"{host} port {port} cannot be used: {reason}", fix=fix) from error
    return listening


def access_for(host: str, port: int, token: str | None) -> Access:
    """Loopback: this machine's names, a token only if one is given. Elsewhere: a token, made up if none is given."""
    if is_loopback(host):
        return Access((*LOOPBACK, _in_url(host)), port, token)
    wide = host in ("0.0.0.0", "::", "")
    return Access(None if wide else (*LOOPBACK, _in_url(host)), port, token or secrets.token_urlsafe(24))


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


def address(host: str, access: Access) -> str:
    """The URL that a person opens."""
    shown = socket.gethostname() if host in ("0.0.0.0", "::", "") else host
    secret = "" if access.token is None else f"?token={access.token}"
    return f"http://{_in_url(shown)}:{access.port}/{secret}"


def serve(
    model: str | None = "imdb",
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    data: str | Path | None = None,
    token: str | None = None,
    frames: Sequence[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the playground until Ctrl-C.

    Args:
        model: a shipped model or a model folder.
        host, port: where; port 0 takes a free one.
        data: labeled texts for the corpus screen.
        token: a secret that requests must show; made up when the host is not this machine alone.
        frames: origins of pages that may show the playground in a frame.
        ready: is given the URL once the server answers.

    Raises:
        BadInput: the address cannot be used.
    """
    listening = listen(host, port)
    access = replace(access_for(host, listening.getsockname()[1], token), frames=tuple(frames))
    app = create_app(model, data=None if data is None else str(data), access=access)
    try:
        Server(settings(app), lambda: ready(address(host, access))).run([listening])
    except KeyboardInterrupt:  # uvicorn has shut down already, and passes the signal on
        pass
    finally:
        app.state.pool.close()
        listening.close()


def settings(app: Any) -> uvicorn.Config:
    """How uvicorn runs an application: patient but not forever, silent about itself, no WebSockets, no proxies."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=limits.CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
    )
