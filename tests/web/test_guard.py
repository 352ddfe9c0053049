"""Who may ask, how much may come: the guard by itself, message by message."""

import asyncio
import json

import pytest

from asgi_client import run_apart
from hardmax.web import limits
from hardmax.web.app import create_app
from hardmax.web.guard import COOKIE, LOOPBACK, Access, Guard


async def _echo(scope, receive, send):
    """An application that answers with the body it was given."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


class _Client:
    """Parts of a body, one after the other; counts what was taken."""

    def __init__(self, parts=(), then=None):
        self.parts, self.then, self.taken = list(parts), then, 0

    async def receive(self):
        if not self.parts:
            await asyncio.sleep(60)
        part = self.parts.pop(0)
        if part == "gone":
            return {"type": "http.disconnect"}
        self.taken += len(part)
        return {"type": "http.request", "body": part, "more_body": bool(self.parts) or self.then == "more"}


def _ask(access=None, client=None, method="GET", path="/", query="", headers=(), body_seconds=5.0, app=_echo):
    client = client or _Client([b""])
    given = [(k.lower().encode(), v.encode()) for k, v in headers]
    if not any(name == b"host" for name, _ in given):
        given.append((b"host", b"127.0.0.1:8000"))
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": given}
    sent = []

    async def send(message):
        sent.append(message)

    run_apart(Guard(app, access or Access(port=8000), body_seconds)(scope, client.receive, send))
    if not sent:
        return None, {}, b""
    start, *rest = sent
    answer_headers = {k.decode(): v.decode() for k, v in start["headers"]}
    return start["status"], answer_headers, b"".join(m.get("body", b"") for m in rest)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200), ("localhost:8000", 200), ("LOCALHOST:8000", 200), ("[::1]:8000", 200),
        ("127.0.0.1", 403), ("127.0.0.1:8001", 403), ("evil.example:8000", 403), ("127.0.0.1.evil.example:8000", 403),
        ("localhost.evil.example:8000", 403), ("", 403), ("127.0.0.1:8000@evil.example", 403), ("[::1]", 403),
        ("[::1]x:8000", 403), ("127.0.0.1:8000:8000", 403), ("0.0.0.0:8000", 403),
    ],
)  # fmt: skip
def test_only_this_machines_names_with_the_right_port_are_answered(host, status):
    assert _ask(headers=[("Host", host)])[0] == status


def test_a_name_without_a_port_means_port_80():
    assert Access(port=80).knows_host("localhost")
    assert Access(port=80).knows_host("[::1]")
    assert not Access(port=8080).knows_host("localhost")


@pytest.mark.parametrize(
    ("method", "origin", "status"),
    [
        ("POST", "http://127.0.0.1:8000", 200), ("GET", "http://127.0.0.1:8000", 200),
        ("GET", "http://evil.example", 403), ("POST", "http://evil.example", 403),
        ("POST", "http://127.0.0.1:9000", 403), ("POST", "null", 403),
        ("GET", "null", 200), ("POST", "http://localhost:8000", 403), ("GET", "http://[", 403), ("POST", "", 403),
    ],
)  # fmt: skip
def test_requests_that_other_pages_send_are_refused(method, origin, status):
    assert _ask(method=method, headers=[("Origin", origin)])[0] == status


SECRET = "s3cret_Token-1"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 401),
        ({"query": "token=wrong"}, 401),
        ({"query": f"token={SECRET}x"}, 401),
        ({"query": f"token={SECRET[:-1]}"}, 401),
        ({"query": f"token={SECRET}", "path": "/api/health"}, 200),
        ({"headers": [("Authorization", f"Bearer {SECRET}")]}, 200),
        ({"headers": [("Authorization", f"Basic {SECRET}")]}, 401),
        ({"headers": [("Cookie", f"other=1; {COOKIE}_8000={SECRET}")]}, 200),
        ({"headers": [("Cookie", f'o d d={{"a": 1}}; x; {COOKIE}_8000={SECRET}')]}, 200),
        ({"headers": [("Cookie", f"{COOKIE}_8001={SECRET}")]}, 401),
        ({"headers": [("Cookie", f"{COOKIE}_8000=wrong")]}, 401),
        ({"headers": [("Cookie", "\x7f;;;=;")]}, 401),
        ({"headers": [("Cookie", f"{COOKIE}_8000=é")]}, 401),
        ({"query": "&".join("a=1" for _ in range(5000)) + "&token=wrong"}, 401),
        ({"query": f"token={SECRET}&token=wrong"}, 401),
    ],
)
def test_a_token_is_asked_for_and_nothing_else_will_do(given, status):
    assert _ask(Access(port=8000, token=SECRET), **given)[0] == status


def test_a_token_in_the_address_moves_into_a_cookie_that_scripts_do_not_see():
    status, headers, _ = _ask(Access(port=8000, token=SECRET), query=f"token={SECRET}")
    assert (status, headers["location"]) == (303, "/")
    held, *marks = headers["set-cookie"].split("; ")
    assert held == f"{COOKIE}_8000={SECRET}"
    assert sorted(mark.lower() for mark in marks) == ["httponly", "path=/", "samesite=lax"]
    assert headers["cache-control"] == "no-store"
    assert "content-security-policy" in headers


def test_the_cookie_holds_the_token_and_not_what_the_address_says():
    bearer = [("Authorization", f"Bearer {SECRET}")]
    _, headers, _ = _ask(Access(port=8000, token=SECRET), query="token=other", headers=bearer)
    assert headers["set-cookie"].startswith(f"{COOKIE}_8000={SECRET};")


def test_only_the_sites_that_were_named_may_frame_the_page():
    _, alone, _ = _ask()
    assert alone["content-security-policy"].endswith("; frame-ancestors 'self'")
    assert alone["x-frame-options"] == "SAMEORIGIN"
    _, named, _ = _ask(Access(port=8000, frames=("https://course.example", "http://localhost:9000")))
    sites = "'self' https://course.example http://localhost:9000"
    assert named["content-security-policy"].endswith(f"; frame-ancestors {sites}")
    assert "x-frame-options" not in named


def test_refusals_are_json_with_all_headers_and_close_the_connection():
    status, headers, body = _ask(headers=[("Host", "<b>evil</b>")])
    assert status == 403
    assert headers["content-type"] == "application/json"
    assert headers["connection"] == "close"
    assert headers["x-content-type-options"] == "nosniff"
    assert json.loads(body)["error"]["found"] == "<b>evil</b>"


@pytest.mark.parametrize("announced", [[("Content-Length", str(limits.BODY_BYTES + 1))], []], ids=["announced", "not"])
def test_a_body_that_is_too_long_is_answered_and_thrown_away_within_a_bound(monkeypatch, announced):
    monkeypatch.setattr(limits, "DISCARDED_BYTES", 1_000_000)
    client = _Client([b"x" * 100_000] * 50)
    status, _, body = _ask(client=client, method="POST", headers=announced)
    assert status == 413
    assert client.taken <= 2_200_000
    assert "1,000,000 bytes" in json.loads(body)["error"]["what"]


def test_a_client_that_announces_too_much_and_sends_nothing_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(limits, "DISCARD_SECONDS", 0.01)
    assert _ask(client=_Client(), method="POST", headers=[("Content-Length", "5000000000")])[0] == 413


def test_a_body_just_within_the_limit_arrives_whole():
    client = _Client([b"a" * 400_000, b"b" * 400_000, b"c" * 200_000])
    status, _, body = _ask(client=client, method="POST", headers=[("Content-Length", "1000000")])
    assert status == 200
    assert body == b"a" * 400_000 + b"b" * 400_000 + b"c" * 200_000


def test_a_body_that_does_not_arrive_is_given_up():
    status, _, body = _ask(client=_Client([b"{"], then="more"), method="POST", body_seconds=0.05)
    assert status == 408
    assert "did not arrive" in json.loads(body)["error"]["what"]


def test_a_client_that_goes_away_gets_no_answer():
    assert _ask(client=_Client([b"{", "gone"]), method="POST")[0] is None


@pytest.mark.parametrize("length", ["abc", "-1", "1.5", ""])
def test_a_length_that_is_no_number_is_refused(length):
    assert _ask(method="POST", headers=[("Content-Length", length)])[0] == 400


def test_an_error_after_the_answer_began_does_not_begin_another():
    async def half(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("in the middle")

    status, _, body = _ask(app=half)
    assert (status, body) == (200, b"")


def test_other_kinds_of_connections_are_passed_on():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    run_apart(Guard(app, Access())({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]


def test_the_application_is_guarded_by_default():
    guards = [m for m in create_app().user_middleware if m.cls is Guard]
    assert len(guards) == 1
    assert guards[0].kwargs["access"] == Access(names=LOOPBACK)
