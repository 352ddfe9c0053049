"""Run a server: bind a port, print its address, shut down cleanly."""

import asyncio
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hardmax.errors import BadInput
from hardmax.web import limits
from hardmax.web.guard import LOOPBACK, Access

ANYWHERE = ("0.0.0.0", "::", "")
USUAL_PORT = 8377  # of the playground: links to it are good after a restart


class PatientProtocol(H11Protocol):
    """HTTP with a time limit for the head of a request to arrive, and for a long answer to be read.

    Uvicorn has no such limits: it waits forever, and keeps in memory what a client does not read.
    """

    arriving: asyncio.TimerHandle | None = None
    unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self.arriving = self.loop.call_later(limits.HEADER_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request that has begun, and no longer for one whose head is complete."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self.arriving is None:
            self.arriving = self.loop.call_later(limits.HEADER_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        """The client does not read as fast as the answer is written: wait for it."""
        super().pause_writing()
        self.unread = self.loop.call_later(limits.READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        if self.unread is not None:
            self.unread.cancel()
        super().connection_lost(exc)

    def _stop(self) -> None:
        if self.arriving is not None:
            self.arriving.cancel()
            self.arriving = None


class Server(uvicorn.Server):
    """A server that tells its application at Ctrl-C, before it waits for the answers that are on their way."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Ctrl-C, or a request to terminate."""
        self.config.app.state.stop()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    Example:
        >>> [is_loopback(h) for h in ("127.0.0.1", "localhost", "::1", "0.0.0.0")]
        [True, True, True, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int | None) -> socket.socket:
    """A listening socket; port 0 takes a free port, None the usual one, or a free one where that is taken.

    Raises:
        BadInput: the address cannot be used.
    """
    if port is None:
        try:
            return listen(host, USUAL_PORT)
        except BadInput:
            return listen(host, 0)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=limits.CONNECTIONS)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fix = "use --port 0 for a free port" if port else "use --host 127.0.0.1, which always works"
        raise BadInput(f"{host} port {port} cannot be used: {reason}", fix=fix) from error


def access_for(host: str, port: int, token: str | None) -> Access:
    """Who may send requests: on the loopback, this machine; elsewhere, those with the token, generated if not given."""
    names = None if host in ANYWHERE else (*LOOPBACK, _in_url(host))
    return Access(names, port, token if is_loopback(host) else token or secrets.token_urlsafe(24))


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


def address(host: str, access: Access) -> str:
    """The URL to open in a browser."""
    shown = socket.gethostname() if host in ANYWHERE else host
    secret = "" if access.token is None else f"?token={access.token}"
    return f"http://{_in_url(shown)}:{access.port}/{secret}"


def serve(
    create: Callable[[Access], Any],
    *,
    host: str = "127.0.0.1",
    port: int | None = 0,
    token: str | None = None,
    frames: Sequence[str] = (),
    public: Sequence[str] = (),
    ready: Callable[[str], None] = print,
    stop_seconds: int = 2,
) -> None:
    """Serve an application until Ctrl-C.

    Args:
        create: makes the application for those who may send requests.
        host, port: where to listen, see `listen`.
        token: a secret that requests must present; generated if other machines can reach the host.
        frames: origins of pages that may show the page in a frame.
        public: paths that need no token.
        ready: called with the URL once the server accepts connections.
        stop_seconds: how long answers on their way may take when the server is told to end.
    """
    with listen(host, port) as listening:
        known = access_for(host, listening.getsockname()[1], token)
        access = replace(known, frames=tuple(frames), public=tuple(public))
        app = create(access)
        try:
            ready(address(host, access))  # connections wait in the socket's queue until uvicorn runs
            Server(settings(app, stop_seconds=stop_seconds)).run([listening])
        except KeyboardInterrupt:  # uvicorn has already shut down, and passes the signal on
            pass
        finally:
            app.state.close()


def settings(app: Any, lifespan: Any = "on", stop_seconds: int = 2) -> uvicorn.Config:
    """The settings of uvicorn: limits on connections and time, no logs, no WebSockets, no proxies."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan=lifespan,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=limits.CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=stop_seconds,
    )
