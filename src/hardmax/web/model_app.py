"""A model as a service: /predict, /explain, /health, /metrics, and a page that describes them.

Texts are answered in this process. The compiled layers run outside the interpreter lock, texts are bounded, and their
cost grows with their length alone, so no computation needs a process that could be ended.
"""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from json import dumps, loads
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Response
from fastapi import Request as HttpRequest
from fastapi.responses import HTMLResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, BeforeValidator, Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hardmax import __version__
from hardmax.io.documents import json_text
from hardmax.web import limits
from hardmax.web.api import ERRORS
from hardmax.web.guard import Access
from hardmax.web.pool import Busy
from hardmax.web.schemas import Document, ExplanationParts, Label, Request, whole_characters
from hardmax.web.shell import application

if TYPE_CHECKING:
    from hardmax.sentiment.estimator import HardmaxClassifier

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # buckets of the histogram
EXAMPLE = "A great film."
MOST_LINES = 40  # of an answer on the page
Text = Annotated[str, Field(max_length=limits.SERVED_TEXT), BeforeValidator(whole_characters)]


class Texts(Request):
    """Texts to label."""

    texts: list[Text] = Field(min_length=1, max_length=limits.SERVED_TEXTS)


class ExplainedTexts(Request):
    """Texts to explain."""

    texts: list[Text] = Field(min_length=1, max_length=limits.SERVED_EXPLAINED)


class Prediction(BaseModel):
    """The label of one text; `probabilities` are in the order of `classes` of the answer."""

    label: Label
    probability: float
    probabilities: list[float]


class Predictions(Document):
    """One prediction for each text, in order."""

    model: str
    classes: list[Label]
    predictions: list[Prediction]


class Explanations(Document):
    """One explanation for each text, in order."""

    model: str
    explanations: list[ExplanationParts]


class ServedHealth(Document):
    """The server is running."""

    version: str
    model: str
    classes: list[Label]
    warm: bool = Field(description="the compiled code is loaded; before that, answers are right but slower")


class Meters:
    """The metrics of one application, in a registry of their own: others in the same process have theirs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("hardmax_requests", "Requests answered.", ["path", "status"], registry=self.registry)
        self.seconds = Histogram("hardmax_request_seconds", "Time from the end of the guard to the end of the answer.",
                                 ["path"], buckets=SECONDS, registry=self.registry)  # fmt: skip
        self.texts = Counter("hardmax_texts", "Texts labeled or explained.", ["path"], registry=self.registry)
        self.working = Gauge("hardmax_requests_in_progress", "Requests being answered.", registry=self.registry)
        self.labels = Counter("hardmax_predictions", "Predictions by label.", ["label"], registry=self.registry)


class Measured:
    """ASGI middleware that counts requests and their time; paths that do not exist share one name."""

    def __init__(self, app: ASGIApp, meters: Meters, paths: frozenset[str]) -> None:
        self.app, self.meters, self.paths = app, meters, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and measure it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, status, began = scope["path"] if scope["path"] in self.paths else "other", 0, perf_counter()

        async def reply(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with self.meters.working.track_inprogress():
            try:
                await self.app(scope, receive, reply)
            finally:
                self.meters.requests.labels(path, status).inc()
                self.meters.seconds.labels(path).observe(perf_counter() - began)


class Work:
    """A few threads, and a bound on the requests that wait for them."""

    def __init__(self, threads: int) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix="hardmax-serve")
        self.waiting = 0

    async def run(self, task: Any, *arguments: Any) -> Any:
        """What the task returns, computed in a thread.

        Raises:
            Busy: too many are already waiting.
        """
        if self.waiting >= limits.WAITING:
            raise Busy(f"{limits.WAITING} requests are already waiting", fix="try again in a moment")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.threads, task, *arguments)
        except asyncio.CancelledError:  # the server has waited long enough for this answer
            raise Busy("the server is shutting down", fix="try again in a moment") from None
        finally:
            self.waiting -= 1


def create_model_app(model: str | Path, access: Access | None = None, *, threads: int | None = None) -> FastAPI:
    """A model as an ASGI application.

    Args:
        model: a shipped model or a model folder. It is read before the application exists: a bad folder raises here.
        access: who may send requests; by default only this machine, on any port.
        threads: how many requests are computed at a time; None means one for each processor.

    Example:
        >>> create_model_app("imdb-words").title
        'hardmax serve'
    """
    from hardmax.sentiment.estimator import load
    from hardmax.sentiment.layers_numpy import Compiled

    clf, name = load(model), Path(model).name
    clf.model_.refuse_several_labels("serving")
    classes = list(clf.model_.classes)
    work, meters = Work(threads or os.cpu_count() or 1), Meters()
    app = application(
        "hardmax serve",
        access or Access(),
        description=f"Bodies up to {limits.SERVED_BYTES:,} bytes with at most {limits.SERVED_TEXTS:,} texts of "
        f"{limits.SERVED_TEXT:,} characters each.",
        openapi_url="/openapi.json",
        start=lambda: threading.Thread(target=_warm_up, args=(clf,), daemon=True).start(),
        stop=lambda: None,  # answers on their way are finished
        close=lambda: work.threads.shutdown(wait=False, cancel_futures=True),
        body_bytes=limits.SERVED_BYTES,
    )
    app.add_middleware(
        Measured, meters=meters, paths=frozenset({"/", "/predict", "/explain", "/health", "/metrics", "/openapi.json"})
    )

    def predictions(texts: list[str]) -> str:
        rows = clf.predict_proba(texts)
        chosen = rows.argmax(axis=1).tolist()
        for k, label in enumerate(classes):
            meters.labels.labels(str(label)).inc(chosen.count(k))
        found = [
            {"label": classes[k], "probability": row[k], "probabilities": row}
            for k, row in zip(chosen, rows.tolist(), strict=True)
        ]
        return json_text({"schema": "hardmax.predictions/1", "model": name, "classes": classes, "predictions": found})

    def explanations(texts: list[str]) -> str:
        found = [clf.explain(text).as_dict() for text in texts]
        return json_text({"schema": "hardmax.explanations/1", "model": name, "explanations": found})

    @app.post("/predict", response_model=Predictions, responses=ERRORS)
    async def predict(request: Texts) -> Response:
        """Label texts: the most probable class of each, and the probabilities of all classes."""
        meters.texts.labels("/predict").inc(len(request.texts))
        return Response(await work.run(predictions, request.texts), media_type="application/json")

    @app.post("/explain", response_model=Explanations, responses=ERRORS)
    async def explain(request: ExplainedTexts) -> Response:
        """Why texts get their labels: leaders and words with contributions that sum to the logit."""
        meters.texts.labels("/explain").inc(len(request.texts))
        return Response(await work.run(explanations, request.texts), media_type="application/json")

    @app.get("/health", response_model=ServedHealth)
    async def health() -> Any:
        """Whether the server is running, and with which model."""
        known = {"version": __version__, "model": name, "classes": classes, "warm": Compiled.ready}
        return {"schema": "hardmax.health/1", **known}

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Numbers for Prometheus, in its text format."""
        return Response(generate_latest(meters.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", include_in_schema=False)
    async def described(request: HttpRequest) -> HTMLResponse:
        """The page that describes the service: every route with a command that asks it, and what it really answers."""
        from hardmax.html.page import NO_SCRIPT, heading, page, render

        answers = {
            "/predict": predictions([EXAMPLE]),
            "/explain": explanations([EXAMPLE]),
            "/health": json_text(await health()),
            "/metrics": generate_latest(meters.registry).decode(),
        }
        secret = access is not None and access.token is not None
        title, about = f"hardmax serve: {name}", app.openapi()
        routes = []
        for path, methods in about["paths"].items():
            example = _command(path, request.base_url, secret), _shown(answers[path])
            for method, known in methods.items():
                routes.append((f"{method.upper()} {path}", known["description"], *example))
        shown = page(title, [heading(title), render("service.html", about=about["info"], routes=routes)])
        return HTMLResponse(shown, headers={"content-security-policy": NO_SCRIPT})

    return app


def _command(path: str, base: Any, secret: bool) -> str:
    """A curl command for a route; all but /health need the token, if there is one."""
    parts = [f"curl {base}{path[1:]}"]
    if secret and path != "/health":
        parts.append('-H "Authorization: Bearer $HARDMAX_TOKEN"')
    if path not in ("/health", "/metrics"):
        parts.append(f"-H 'Content-Type: application/json' -d '{{\"texts\": [\"{EXAMPLE}\"]}}'")
    return " \\\n  ".join(parts)


def _shown(answer: str) -> str:
    """The beginning of an answer, JSON with one value per line."""
    if answer.startswith("{"):
        answer = dumps(loads(answer), indent=2)
    lines = answer.splitlines()
    return "\n".join([*lines[:MOST_LINES], *(["..."] if len(lines) > MOST_LINES else [])])


def _warm_up(clf: "HardmaxClassifier") -> None:
    """Compile, or load, the code for batches while the plain way answers the first requests."""
    model = clf.model_
    model.run(model.vocabulary.bags(["a good film"], few=0), few=0)
