"""A real server on a real socket: many at once, slow clients, hostile bodies, Ctrl-C, other hosts."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn

from hardmax.errors import BadInput
from hardmax.web import limits
from hardmax.web.guard import LOOPBACK
from hardmax.web.serve import access_for, address, is_loopback, listen, settings

JSON = {"Content-Type": "application/json"}
SQUARE = {"tokens": [[1, 1], [-1, 1], [-1, -1], [1, -1], [0.5, 0]]}


class _Server:
    def __init__(self, *options):
        words = [sys.executable, "-m", "hardmax", "playground", "--no-browser", "--json", *options]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.document = json.loads(self.process.stdout.readline())
        parts = urlsplit(self.document["url"])
        self.host, self.port, self.query = parts.hostname, parts.port, parts.query

    def ask(self, method, path, body=None, headers=None, host=None):
        connection = HTTPConnection(host or "127.0.0.1", self.port, timeout=300)
        try:
            connection.request(method, path, body, headers or ({} if body is None else JSON))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@pytest.fixture(scope="module")
def server():
    running = _Server()
    yield running
    running.stop()


def test_one_document_with_one_address_is_printed(server):
    assert server.document == {"schema": "hardmax.playground/1", "url": f"http://127.0.0.1:{server.port}/"}
    status, headers, body = server.ask("GET", "/")
    assert status == 200
    assert b"<title>" in body
    assert "server" not in {name.lower() for name in headers}


@pytest.mark.slow
def test_two_hundred_requests_at_once_are_all_answered_alike(server):
    server.ask("POST", "/api/limit", json.dumps(SQUARE))  # kernels are ready

    def one(i):
        if i % 4 == 3:
            return server.ask("GET", "/static/style.css")[0]
        status, _, body = server.ask("POST", "/api/limit", json.dumps(SQUARE))
        assert json.loads(body)["limit"][4] == [1.0, 0.0]
        return status

    with ThreadPoolExecutor(200) as clients:
        assert list(clients.map(one, range(200))) == [200] * 200


def test_only_its_own_name_and_port_are_answered(server):
    for host, status in ((f"127.0.0.1:{server.port}", 200), (f"localhost:{server.port}", 200), ("evil.example", 403),
                         (f"evil.example:{server.port}", 403), ("127.0.0.1:1", 403)):  # fmt: skip
        assert server.ask("GET", "/api/health", headers={"Host": host})[0] == status


def test_a_body_too_long_is_refused_before_it_is_sent(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        head = f"POST /api/limit HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 5000000000\r\n\r\n"
        line.sendall(head.encode())
        answer = line.recv(65536)
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"content-security-policy" in answer


def test_a_chunked_body_is_cut_off_at_the_limit(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(
            f"POST /api/limit HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        with suppress(OSError):  # the server closes its end when it has seen enough
            for _ in range(40):
                line.sendall(chunk)
        with suppress(ConnectionResetError):  # the answer may be lost behind what we sent
            assert line.recv(65536).startswith(b"HTTP/1.1 413")
    assert server.ask("GET", "/api/health")[0] == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /api/limit HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_and_the_server_goes_on(server, raw):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(raw)
        answer = b""
        with suppress(ConnectionResetError):  # what the server has not read of a long line
            while part := line.recv(65536):
                answer += part
    assert answer.split()[1] in (b"400", b"403")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    if body == b"Invalid HTTP request received.":  # uvicorn's own words: a constant, nothing of the request in it
        assert b"content-type: text/plain" in head.lower()
    else:
        assert b"content-security-policy" in head.lower()
        assert json.loads(body)["error"]["what"]
    assert server.ask("GET", "/api/health")[0] == 200


def test_slow_clients_do_not_hold_up_others(server):
    slow = []
    try:
        for k in range(60):
            line = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            slow.append(line)
            start = b"POST /api/limit HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % server.port
            line.sendall(start[: 10 + k] if k % 2 else start + b"Content-Length: 500\r\n\r\n{")
        assert server.ask("GET", "/api/health")[0] == 200
        assert server.ask("POST", "/api/limit", json.dumps(SQUARE))[0] == 200
    finally:
        for line in slow:
            line.close()


LONG = 30_000_000  # bytes: more than the buffers of both sides hold


async def _fine(scope, receive, send):
    """The smallest application; /long has a long answer."""
    if scope["type"] == "http" and scope["path"] == "/long":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % LONG)]})
        await send({"type": "http.response.body", "body": b"x" * LONG})
    elif scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"fine"})


@pytest.fixture
def small():
    """A server in this process and its port."""
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(settings(_fine, lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield server, listening.getsockname()[1]
    server.should_exit = True
    thread.join(60)
    listening.close()


HASTY = 0.5  # seconds for a request's first lines, or for its answer to be read


REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("begun", [b"", b"GET / HT"])
def test_a_client_that_never_finishes_its_first_lines_is_shown_the_door(small, monkeypatch, begun):
    monkeypatch.setattr(limits, "HEADER_SECONDS", HASTY)
    with socket.create_connection(("127.0.0.1", small[1]), timeout=60) as line:
        line.sendall(begun)
        assert line.recv(100) == b""


def test_a_request_after_another_is_answered_but_not_waited_for_without_end(small, monkeypatch):
    with socket.create_connection(("127.0.0.1", small[1]), timeout=60) as line:
        for parts in ((REQUEST,), (REQUEST[:20], REQUEST[20:])):
            for part in parts:
                line.sendall(part)
            answer = b""
            while not answer.endswith(b"fine"):
                answer += line.recv(1000) or pytest.fail(f"closed after {answer}")
        monkeypatch.setattr(limits, "HEADER_SECONDS", HASTY)
        line.sendall(REQUEST[:20])
        assert line.recv(1000) == b""


def test_a_client_that_does_not_read_its_answer_is_shown_the_door(small, monkeypatch):
    server, port = small
    monkeypatch.setattr(limits, "READ_SECONDS", HASTY)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(REQUEST.replace(b"/", b"/long", 1))
        for there in (True, False):  # the connection is made, and given up
            while bool(server.server_state.connections) != there:
                time.sleep(0.01)
        arrived = 0
        with suppress(ConnectionResetError):
            while part := line.recv(1 << 20):
                arrived += len(part)
        assert arrived < LONG


def test_a_client_that_reads_gets_the_whole_of_a_long_answer(small):
    with socket.create_connection(("127.0.0.1", small[1]), timeout=60) as line:
        line.sendall(REQUEST.replace(b"/", b"/long", 1))
        arrived = 0
        while arrived < LONG:
            arrived += len(line.recv(1 << 20) or pytest.fail(f"closed after {arrived}"))


def test_ctrl_c_ends_it_cleanly_and_its_workers_too():
    running = _Server()
    running.ask("POST", "/api/explain", json.dumps({"text": "fine"}))
    workers = _children(running.process.pid)
    assert workers
    code, err = running.stop()
    assert code == 0
    assert err == ""
    deadline = time.monotonic() + 30
    while any(_is_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_alive(pid) for pid in workers)


def _ask_and_tell(port, path, body, arrived):
    """The answer to a POST request; `arrived()` is called when the application has begun to read it."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nExpect: 100-continue\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=300) as line:
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        said = b""
        while b"\r\n\r\n" not in said:
            said += line.recv(1) or pytest.fail(f"closed after {said}")
        assert said.startswith(b"HTTP/1.1 100")
        line.sendall(body.encode())
        arrived()
        answer = HTTPResponse(line, method="POST")
        answer.begin()
        return answer.status, answer.read()


def _worked(pids):
    """Seconds of the processor that processes have had."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
    return sum(int(parts[11]) + int(parts[12]) for parts in stats) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_while_it_computes_ends_it_cleanly_too():
    running = _Server()
    running.ask("POST", "/api/limit", json.dumps(SQUARE))  # one process is ready
    tokens = [[i % 97 / 97, i % 89 / 89] for i in range(4000)]
    long = json.dumps({"tokens": tokens, "rule": "softmax", "layers": 100})  # more than a billion exponentials
    with ThreadPoolExecutor(5) as clients:
        workers, arrived = _children(running.process.pid), threading.Semaphore(0)
        before = _worked(workers)
        asked = [clients.submit(_ask_and_tell, running.port, "/api/simulate", long, arrived.release) for _ in range(5)]
        for _ in asked:
            assert arrived.acquire(timeout=300)
        while _worked(workers) < before + 0.3:  # one computes, others start their processes or wait for their turn
            time.sleep(0.01)
        assert not any(one.done() for one in asked)
        code, err = running.stop()
        assert (code, err) == (0, "")
        for one in asked:
            status, body = one.result(60)
            assert (status, json.loads(body)["error"]["what"]) in [
                (500, "the computation ended without an answer"), (429, "the server is shutting down"),
            ]  # fmt: skip


def _children(pid):
    return [int(x) for task in Path(f"/proc/{pid}/task").iterdir() for x in (task / "children").read_text().split()]


def _is_alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_on_another_host_a_token_is_asked_for():
    running = _Server("--host", "0.0.0.0")
    try:
        assert running.query.startswith("token=")
        token = running.query.removeprefix("token=")
        assert len(token) >= 32
        assert running.ask("GET", "/")[0] == 401
        assert running.ask("GET", "/api/health")[0] == 401
        assert running.ask("GET", "/static/style.css")[0] == 401
        assert running.ask("GET", "/api/health", headers={"Authorization": f"Bearer {token}"})[0] == 200
        status, headers, _ = running.ask("GET", f"/?token={token}")
        assert status == 303
        cookie = {k.lower(): v for k, v in headers.items()}["set-cookie"].split(";")[0]
        assert running.ask("GET", "/", headers={"Cookie": cookie})[0] == 200
        assert running.ask("GET", "/", headers={"Cookie": cookie[:-1] + ("y" if cookie[-1] == "x" else "x")})[0] == 401
    finally:
        code, _ = running.stop(signal.SIGTERM)
    assert code in (0, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("127.5.5.5", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.7", False), ("example.org", False)],
)  # fmt: skip
def test_a_token_is_made_up_where_others_can_reach_the_host(host, alone):
    access = access_for(host, 8000, None)
    assert is_loopback(host) == alone
    assert (access.token is None) == alone
    assert access_for(host, 8000, "mine").token == "mine"
    assert access_for(host, 8000, None).token is None or access_for(host, 8000, None).token != access.token
    if host not in ("0.0.0.0", "::"):
        assert set(access.names) == {*LOOPBACK, f"[{host}]" if ":" in host else host}
        assert ("token=" in address(host, access)) != alone


def test_an_address_that_cannot_be_used_is_named():
    taken = listen("127.0.0.1", 0)
    try:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"127.0.0.1 port {port} cannot be used.*in use"):
            listen("127.0.0.1", port)
        with pytest.raises(BadInput, match="cannot be used"):
            listen("no such host", 0)
    finally:
        taken.close()
