"""`hardmax serve`: the same numbers as Python, bounds, metrics, its page; a real server, stopped and killed."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import pytest

import hardmax as hx
from asgi_client import Client, run_apart
from hardmax.errors import BadInput
from hardmax.web import limits
from hardmax.web.guard import Access
from hardmax.web.model_app import Work, create_model_app
from hardmax.web.pool import Busy

TEXTS = ["A great film.", "So dull!", "", "Zażółć 好 \N{GRINNING FACE}", "<b>bad</b> & worse"]
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def app():
    return create_model_app("imdb-words")


@pytest.fixture(scope="module")
def client(app):
    return Client(app)


def test_predictions_are_those_of_python(client):
    answer = client.post("/predict", json={"texts": TEXTS}).json()
    clf = hx.load("imdb-words")
    assert [p["label"] for p in answer["predictions"]] == clf.predict(TEXTS).tolist()
    assert [p["probabilities"] for p in answer["predictions"]] == clf.predict_proba(TEXTS).tolist()
    assert [p["probability"] for p in answer["predictions"]] == clf.predict_proba(TEXTS).max(axis=1).tolist()
    assert answer["classes"] == ["negative", "positive"]
    assert answer["schema"] == "hardmax.predictions/1"


def test_explanations_are_those_of_python(client):
    answer = client.post("/explain", json={"texts": TEXTS}).json()
    clf = hx.load("imdb-words")
    assert answer["explanations"] == [json.loads(clf.explain(text).to_json()) for text in TEXTS]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/predict", {"texts": []}, "texts"),
        ("/predict", {"texts": "one"}, "texts must be a valid list"),
        ("/predict", {"texts": [1]}, "texts[0]"),
        ("/predict", {"text": "one"}, "texts is required; text is not a known field"),
        ("/predict", {"texts": ["a"] * (limits.SERVED_TEXTS + 1)}, "texts must have at most"),
        ("/explain", {"texts": ["a"] * (limits.SERVED_EXPLAINED + 1)}, "texts must have at most"),
        ("/predict", {"texts": ["x" * (limits.SERVED_TEXT + 1)]}, "texts[0] must have at most"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_place(client, path, body, said):
    answer = client.post(path, json=body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["what"]


def test_a_body_over_the_limit_is_refused(client):
    assert client.post("/predict", content=b"x" * (limits.SERVED_BYTES + 1), headers=JSON).status_code == 413


def test_metrics_count_requests_texts_and_labels():
    client = Client(create_model_app("imdb-words"))
    client.post("/predict", json={"texts": ["A great film.", "So dull!", "awful"]})
    client.post("/predict", json={"texts": []})
    client.get("/nowhere")
    told = client.get("/metrics").text
    numbers = dict(re.findall(r"^(\w+\{[^}]*\}) (\S+)$", told, re.M))
    assert numbers['hardmax_requests_total{path="/predict",status="200"}'] == "1.0"
    assert numbers['hardmax_requests_total{path="/predict",status="400"}'] == "1.0"
    assert numbers['hardmax_requests_total{path="other",status="404"}'] == "1.0"
    assert numbers['hardmax_texts_total{path="/predict"}'] == "3.0"
    assert numbers['hardmax_predictions_total{label="negative"}'] == "2.0"
    assert numbers['hardmax_request_seconds_count{path="/predict"}'] == "2.0"


def test_health_needs_no_token_and_everything_else_does():
    client = Client(create_model_app("imdb-words", Access(token="secret", public=("/health",))))
    assert client.get("/health").json()["model"] == "imdb-words"
    assert client.get("/metrics").status_code == 401
    assert client.post("/predict", json={"texts": ["a"]}).status_code == 401
    held = {"Authorization": "Bearer secret"}
    assert client.post("/predict", json={"texts": ["a"]}, headers=held).status_code == 200
    assert client.get("/", headers=held).text.count("Authorization: Bearer $HARDMAX_TOKEN") == 3  # all but /health


def test_the_page_shows_every_route_and_loads_nothing(client, app):
    answer = client.get("/")
    assert "script" not in answer.headers["content-security-policy"]
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in answer.text
    assert "&#34;label&#34;: &#34;positive&#34;" in answer.text
    assert not re.search(r"(src|href)=.https?:", answer.text)
    assert "Authorization" not in answer.text


def test_another_method_is_refused_with_the_one_to_use(client):
    told = client.get("/predict").json()["error"]
    assert told == {"what": "this address does not answer GET", "found": "GET /predict", "fix": "use POST"}


def test_too_many_waiting_requests_are_told_to_come_back(monkeypatch):
    monkeypatch.setattr(limits, "WAITING", 0)
    answer = Client(create_model_app("imdb-words")).post("/predict", json={"texts": ["a"]})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")


def test_a_task_that_fails_frees_its_place():
    work = Work(1)
    with pytest.raises(ZeroDivisionError):
        run_apart(work.run(lambda: 1 / 0))
    assert work.waiting == 0


def test_a_request_that_is_cancelled_gets_an_answer():
    async def cancelled():
        work = Work(1)
        held = threading.Event()
        task = asyncio.create_task(work.run(held.wait, 30))
        await asyncio.sleep(0.05)
        task.cancel()
        try:
            await task
        finally:
            held.set()

    with pytest.raises(Busy, match="shutting down"):
        run_apart(cancelled())


def test_a_folder_without_a_model_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(BadInput):
        create_model_app(tmp_path)


class _Running:
    def __init__(self, port=0):
        words = [sys.executable, "-m", "hardmax", "serve", "imdb-words", "--port", str(port), "--json"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = urlsplit(json.loads(self.process.stdout.readline())["url"]).port


def _ask(port, texts, timeout=120, path="/predict"):
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("POST", path, json.dumps({"texts": texts}), JSON)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def _metrics(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_an_answer_on_its_way_is_finished_when_the_server_is_told_to_end():
    running = _Running()
    status, document = _ask(running.port, ["x" * (limits.SERVED_BYTES + 2_000_000)])  # more than fits into buffers
    assert (status, document["error"]["fix"]) == (413, "send less")
    texts = [" ".join(f"great film {i * k} dull" for i in range(200)) for k in range(50)]
    found = []
    asking = threading.Thread(target=lambda: found.append(_ask(running.port, texts, path="/explain")))
    asking.start()
    while 'hardmax_texts_total{path="/explain"} 50.0' not in _metrics(running.port):
        assert asking.is_alive() or found, "the request was not answered"
    # The request has arrived; its answer takes longer than that.
    running.process.send_signal(signal.SIGTERM)
    asking.join(60)
    _, errors = running.process.communicate(timeout=60)
    assert errors == ""
    status, document = found[0]
    assert (status, len(document["explanations"])) == (200, 50)


@pytest.mark.slow
def test_killed_and_restarted_under_load_clients_fail_only_while_it_is_down():
    running = _Running()
    port, outcomes, stop = running.port, [], threading.Event()

    def client():
        while not stop.is_set():
            asked = time.monotonic()
            try:
                ok = _ask(port, ["A great film."], timeout=30)[0] == 200
            except (OSError, HTTPException):
                ok = False
            outcomes.append((asked, time.monotonic(), ok))

    clients = [threading.Thread(target=client) for _ in range(4)]

    def wait_for_an_answer(since):
        while not any(ok for asked, _, ok in list(outcomes) if asked > since):
            time.sleep(0.01)

    for one in clients:
        one.start()
    wait_for_an_answer(0)
    down = time.monotonic()
    running.process.kill()
    running.process.communicate(timeout=60)
    again = _Running(port)
    up = time.monotonic()
    wait_for_an_answer(up)
    stop.set()
    for one in clients:
        one.join(60)
    again.process.terminate()
    again.process.communicate(timeout=60)
    assert any(ok for _, done, ok in outcomes if done < down)
    assert any(ok for asked, _, ok in outcomes if asked > up)
    assert all(ok for asked, done, ok in outcomes if done < down or asked > up)
    assert not all(ok for _, _, ok in outcomes)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [(["nomodel"], 3, "nomodel"), (["--token", "a b"], 3, "only letters"), (["--threads", "0"], 2, "threads")],
)
def test_what_cannot_be_served_is_refused(words, code, said):
    done = subprocess.run([sys.executable, "-m", "hardmax", "serve", *words, "--port", "0"], capture_output=True,
                          text=True, timeout=300)  # fmt: skip
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
