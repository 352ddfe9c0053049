"""The application without a network: files, headers, errors, methods."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asgi_client import Client
from hardmax import __version__
from hardmax.cloud.presets import PRESETS, preset
from hardmax.web import limits
from hardmax.web.app import create_app
from hardmax.web.bundle import STATIC, file_names, file_text, index_page
from hardmax.web.guard import HEADERS
from hardmax.web.pool import Pool

SQUARE = [[1, 1], [-1, 1], [-1, -1], [1, -1]]


def _error(response):
    document = response.json()
    assert set(document) == {"error"}
    assert set(document["error"]) == {"what", "found", "fix"}
    return document["error"]


def test_the_page_and_every_file_of_it_are_served_with_their_type(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.text == index_page({"public_url": None})
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for name in file_names():
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.content == file_text(name).encode()
        assert answer.headers["content-type"].startswith(kinds[Path(name).suffix])
    assert client.get("/static/style.css").content == (STATIC / "style.css").read_bytes()


def test_every_file_that_the_page_names_is_served(client):
    named = re.findall(r'(?:src|href)="([^"]+)"', client.get("/").text)
    assert len(named) > 3
    assert [client.get(f"/{name}").status_code for name in named] == [200] * len(named)


def test_a_file_that_has_not_changed_is_not_sent_again(client):
    first = client.get("/static/style.css")
    again = client.get("/static/style.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/js/../../app.py",
        "/static//etc/passwd", "/static/%2fetc%2fpasswd",
        "/static/js/", "/static/", "/static/js/app.js%00", "/static/..\\app.py", "/app.py",
        "/static/%c0%ae%c0%ae/app.py",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_static_files(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "create_app" not in answer.text
    _error(answer)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200), ("GET", "/static/style.css", 200), ("GET", "/favicon.ico", 204), ("GET", "/nowhere", 404),
        ("GET", "/api/health", 200), ("GET", "/api/nowhere", 404), ("POST", "/api/health", 405),
        ("DELETE", "/api/limit", 405), ("POST", "/api/limit", 400), ("OPTIONS", "/api/limit", 405),
        ("OPTIONS", "/", 405),
        ("HEAD", "/", 200), ("HEAD", "/static/style.css", 200), ("PUT", "/static/style.css", 405),
        ("GET", "/docs", 404), ("GET", "/redoc", 404), ("GET", "/openapi.json", 404), ("GET", "/api/openapi.json", 200),
    ],
)  # fmt: skip
def test_every_answer_has_the_headers_whatever_its_status(client, method, path, status):
    answer = client.request(method, path)
    assert answer.status_code == status
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "access-control-allow-origin" not in answer.headers
    if method == "HEAD":
        assert answer.content == b""
        assert int(answer.headers["content-length"]) > 0
    if path.startswith("/api/"):
        assert answer.headers["cache-control"] == "no-store"
    if status >= 400:
        _error(answer)
    if status == 405:
        assert answer.headers["allow"]


def test_the_policy_allows_nothing_from_elsewhere_and_no_inline_script():
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in HEADERS["content-security-policy"]
    page = index_page({"public_url": None})
    assert not re.search(r"<script(?![^>]*\b(src=|type=\"application/json\"))", page)  # data are no script
    assert not re.search(r"\son\w+=|\sstyle=", page)
    assert not re.search(r"https?://", page)


def test_nothing_is_measured_or_reported_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    settings = getattr(create_app(), "_telemetry", {})
    switches = [value for value in settings.values() if isinstance(value, bool)]
    assert not any(switches)
    assert len(switches) in (0, 5)  # older versions have none


def test_health_and_presets_are_what_python_has(client):
    assert client.get("/api/health").json() == {
        "version": __version__, "schema": "hardmax.api/1", "compiling": False
    }  # fmt: skip
    found = client.get("/api/presets").json()
    assert [one["name"] for one in found] == list(PRESETS)
    for one in found:
        assert one["tokens"] == preset(one["name"]).tolist()
        assert one["text"] == PRESETS[one["name"]][0]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "the body is required"),
        ("{", "the body is not JSON"),
        ("[]", "the body is not a JSON object"),
        ("nonsense", "the body is not JSON"),
        ('{"tokens": [[1, 2]], "alpha": -1}', "alpha must be greater than 0"),
        ('{"tokens": [[1, 2]], "alpha": NaN}', "alpha must be a finite number"),
        ('{"tokens": [[1, 1e999]]}', "tokens[0][1] must be a finite number"),
        ('{"tokens": [[1, "2"]]}', "tokens[0][1] must be a valid number"),
        ('{"tokens": [[1, true]]}', "tokens[0][1] must be a valid number"),
        ('{"tokens": []}', "tokens must have at least 1 item"),
        ('{"tokens": [[]]}', "tokens[0] must have at least 1 item"),
        ('{"tokens": [[1, 2], [3]]}', "tokens: row 1 has 1 coordinates, but row 0 has 2"),
        ('{"tokens": [[1, 2]], "matrix": [[1, 2], [3]]}', "matrix: row 1 has 1 coordinates, but row 0 has 2"),
        ('{"tokens": [[1, 2]], "matrix": [[1, 2], [3, 4]]}', "A must be symmetric"),
        ('{"tokens": [[1, 2]], "matrix": [[1]]}', "A "),
        ('{"tokens": [[1, 2]], "mode": "fast"}', "mode is not a known field"),
        ('{"alpha": 1}', "tokens is required"),
        ("[" * 100_000, "the body is not JSON"),
        ('{"tokens": [[1, ' + "9" * 5000 + "]]}", "the body is not JSON"),
        (b'{"tokens": "\xff"}', "the body is not JSON"),
    ],
)
def test_what_cannot_be_used_is_answered_with_400_and_a_sentence(client, body, said):
    answer = client.post("/api/limit", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert said.lower() in _error(answer)["what"].lower()
    assert len(answer.content) < 2000


def test_a_body_that_is_not_sent_as_json_is_told_how(client):
    answer = client.post("/api/limit", content='{"tokens": [[1, 2]]}', headers={"content-type": "text/plain"})
    assert answer.status_code == 400
    assert _error(answer) == {
        "what": "the body is not sent as JSON", "found": None, "fix": "Content-Type: application/json",
    }  # fmt: skip


def test_a_label_of_the_wrong_kind_is_named_by_its_place(client):
    answer = client.post("/api/construct", json={"sequences": [{"tokens": [[1]], "label": None}]})
    assert _error(answer)["what"].startswith("sequences[0].label must be a valid string")


def test_errors_have_the_texts_of_python(client):
    from hardmax.dynamics.limit import limit
    from hardmax.errors import BadInput

    tokens, matrix = [[1.0, 2.0], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(BadInput) as caught:
        limit(tokens, 0.5, matrix)
    answer = client.post("/api/limit", json={"tokens": tokens, "matrix": matrix})
    assert _error(answer) == {"what": caught.value.what, "found": caught.value.found, "fix": caught.value.fix}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("simulate", {"tokens": [[0.0, 1.0]] * (limits.TOKENS + 1)}),
        ("simulate", {"tokens": [[0.0] * (limits.DIM + 1)]}),
        ("simulate", {"tokens": SQUARE, "layers": limits.LAYERS + 1}),
        ("simulate", {"tokens": [[float(i), 1.0] for i in range(1000)], "layers": 999}),
        ("simulate", {"tokens": [[0.0, 0.0]] * 2000, "layers": 10}),
        ("explain", {"text": "a" * (limits.TEXT + 1)}),
        ("construct", {"sequences": [{"tokens": [[i, 0]], "label": i} for i in range(limits.SEQUENCES + 1)]}),
        ("construct", {"sequences": [{"tokens": [[i, 0] for i in range(limits.SEQUENCE_TOKENS + 1)], "label": 0}]}),
    ],
)
def test_every_size_has_a_bound(client, path, body):
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == 400
    assert _error(answer)["what"]


def test_a_bug_is_answered_without_its_details(app, client, monkeypatch):
    def broken(job, body, seconds=0):
        raise RuntimeError("the secret path /root/x")

    monkeypatch.setattr(app.state.pool, "submit", broken)
    answer = client.post("/api/limit", json={"tokens": SQUARE})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "this is a bug in hardmax" in _error(answer)["what"]
    for name, value in HEADERS.items():
        assert answer.headers[name] == value


def test_a_server_without_a_process_for_computations_says_when_to_ask_again(pool, monkeypatch):
    own = Pool(pool.setup, workers=1)  # a process that runs already may answer in no time
    client = Client(create_app(pool=own))
    monkeypatch.setattr(limits, "START_SECONDS", 0.0)
    answer = client.post("/api/limit", json={"tokens": SQUARE})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert _error(answer) == {"what": "no process for computations could be started in time", "found": None,
                              "fix": "try again in a moment"}  # fmt: skip
    monkeypatch.undo()
    assert client.post("/api/limit", json={"tokens": SQUARE}).status_code == 200
    own.close()


def test_text_of_a_request_comes_back_as_json_and_never_as_markup(client):
    hostile = "<script>alert(1)</script> good \u202e \U0001f600 &amp; \u0000"
    answer = client.post("/api/explain", json={"text": hostile})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["text"] == hostile


def test_half_a_character_becomes_the_replacement_character(client):
    answer = client.post(
        "/api/explain", content=json.dumps({"text": "good \ud800 film"}), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 200
    assert answer.json()["text"] == "good \ufffd film"
    assert [w["places"] for w in answer.json()["words"] if w["word"] == "film"] == [[[7, 11]]]


def test_without_fastapi_the_message_names_the_extra():
    program = "import sys; sys.modules['fastapi'] = None; import hardmax.web.app"
    failed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert 'fix:   pip install "hardmax[web]"' in failed.stderr
