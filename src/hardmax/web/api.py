"""The routes under /api: typed requests in, documents out. `docs/api.md` describes them; a test keeps it current."""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Response

from hardmax import __version__
from hardmax.errors import BadInput
from hardmax.web import limits, schemas
from hardmax.web.jobs import Answer
from hardmax.web.pool import Busy, Pool

SCHEMA = "hardmax.api/1"
CORPUS_SCHEMA = "hardmax.corpus/1"
PATIENCE = 20.0  # seconds that a request waits for the sample before it says "ask again"
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": schemas.ErrorDocument, "description": "The request is not valid."},
    408: {"model": schemas.ErrorDocument, "description": "The body or the computation took too long."},
    413: {"model": schemas.ErrorDocument, "description": "The body is too long."},
    429: {"model": schemas.ErrorDocument, "description": "Too many computations are already waiting."},
    500: {"model": schemas.ErrorDocument, "description": "A bug, or a computation ended without an answer."},
    503: {"model": schemas.ErrorDocument, "description": "No process for computations could be started in time."},
}
Name = Annotated[str | None, Query(max_length=200)]


@cache
def presets() -> list[dict[str, Any]]:
    """Every preset with its description and tokens."""
    from hardmax.cloud.presets import PRESETS, preset

    return [{"name": name, "text": text, "tokens": preset(name).tolist()} for name, (text, _) in PRESETS.items()]


class CorpusStore:
    """The sample of labeled texts for each model: computed once, in the background, and kept."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._asked: dict[str, Future[Answer]] = {}
        self._known: dict[str, dict[str, Any]] = {}

    async def sample(self, model: str | None, seconds: float = PATIENCE) -> dict[str, Any] | None:
        """The whole sample of a model; None while it is being computed.

        Raises:
            BadInput: there is no such model.
            TooSlow, Busy, Broken, NotReady: the computation failed; the next request starts it again.
        """
        key = model or ""
        if key in self._known:
            return self._known[key]
        if key not in self._asked:
            self._asked[key] = self._pool.submit("corpus", {"model": model}, limits.CORPUS_SECONDS)
        future = self._asked[key]
        done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=seconds)
        if not done:
            return None
        self._asked.pop(key, None)
        answer = future.result()
        document: dict[str, Any] = answer.json()
        if answer.status != 200:
            raise BadInput(**document["error"])
        if document["available"]:  # data may be installed while the server runs
            self._known[key] = document
        return document


def corpus_page(
    sample: dict[str, Any], passes: Callable[[dict[str, Any]], bool], page: int = 1, limit: int = limits.PAGE
) -> dict[str, Any]:
    """The figures of a sample and one page of the reviews that pass the filters; at most the last page."""
    if not sample["available"]:
        return {"schema": CORPUS_SCHEMA, "ready": True, **sample}
    chosen = list(filter(passes, sample["reviews"]))
    pages = max(1, math.ceil(len(chosen) / limit))
    page = min(page, pages)
    shown = chosen[(page - 1) * limit : page * limit]
    reviews = [{**{k: v for k, v in r.items() if k != "text"}, "excerpt": _excerpt(r["text"])} for r in shown]
    place = {"total": len(chosen), "page": page, "pages": pages}
    return {"schema": CORPUS_SCHEMA, "ready": True, **sample, "reviews": reviews, **place}


def _excerpt(text: str) -> str:
    """The beginning of a text on one line, cut at a space."""
    line = " ".join(text[: 2 * limits.EXCERPT].split())
    if len(line) <= limits.EXCERPT:
        return line
    return line[: limits.EXCERPT].rsplit(" ", 1)[0] + " ..."


def routes(pool: Pool) -> APIRouter:
    """The routes of one server."""
    router = APIRouter(prefix="/api", responses=ERRORS)
    store = CorpusStore(pool)

    async def computed(job: str, body: dict[str, Any]) -> Response:
        answer = await asyncio.wrap_future(pool.submit(job, body))
        return Response(answer.text, answer.status, media_type="application/json")

    @router.get("/health", response_model=schemas.Health)
    async def health() -> Any:
        """Whether the server is running, its version, and whether it is compiling in the background."""
        return {"version": __version__, "schema": SCHEMA, "compiling": pool.compiling}

    @router.get("/presets", response_model=list[schemas.Preset])
    async def get_presets() -> Any:
        """The presets: clouds with a name."""
        return presets()

    @router.get("/models", response_model=schemas.Models)
    async def get_models() -> Response:
        """The models that texts can be explained with."""
        return await computed("models", {})

    @router.post("/simulate", response_model=schemas.Trajectory)
    async def simulate(request: schemas.SimulateRequest) -> Response:
        """Run layers: the tokens and follow sets of every layer, and the leaders."""
        return await computed("simulate", request.model_dump())

    @router.post("/limit", response_model=schemas.Limit)
    async def limit(request: schemas.Cloud) -> Response:
        """The infinite-depth limit: where every token ends, and whether the certificate holds."""
        return await computed("limit", request.model_dump())

    @router.post("/explain", response_model=schemas.Explanation)
    async def explain(request: schemas.ExplainRequest) -> Response:
        """Why a text gets its label."""
        return await computed("explain", request.model_dump())

    @router.post("/construct", response_model=schemas.Construction)
    async def construct(request: schemas.ConstructRequest) -> Response:
        """A transformer that classifies a few labeled sequences exactly, stage by stage."""
        return await computed("construct", request.model_dump())

    @router.get("/corpus", response_model=schemas.Corpus, response_model_exclude_none=False)
    async def get_corpus(
        model: Name = None,
        data: Name = None,
        wrong: Annotated[
            bool | None, Query(description="only texts predicted wrong, or only those predicted right")
        ] = None,
        leader: Annotated[str | None, Query(max_length=200, description="only texts that this word leads")] = None,
        label: Annotated[str | None, Query(max_length=200, description="only texts with this label")] = None,
        page: Annotated[int, Query(ge=1, le=100_000)] = 1,
        limit: Annotated[int, Query(ge=1, le=100, description="number of texts per page")] = limits.PAGE,
    ) -> Any:
        """Leaders by class in a fixed sample of labeled texts, and the texts that pass the filters."""
        name = pool.setup.get("data_name", "imdb")
        if data is not None and data != name:
            fix = "start hardmax playground --data FILE to serve other data"
            raise BadInput(f"there is no data set {data!r}", found=name, fix=fix)
        sample = await store.sample(model)
        if sample is None:
            waiting = "the sample is being computed; ask again in a few seconds"
            return {"schema": CORPUS_SCHEMA, "available": True, "ready": False, "reason": waiting, "data": name}

        def passes(review: dict[str, Any]) -> bool:
            return (
                (wrong is None or wrong == (review["label"] != review["predicted"]))
                and (leader is None or leader in review["leaders"])
                and (label is None or label == str(review["label"]))
            )

        return corpus_page(sample, passes, page, limit)

    @router.get("/corpus/{number}", response_model=schemas.FullReview, responses={404: ERRORS[400]})
    async def get_review(
        number: Annotated[int, Path(ge=0, le=2**53, description="the id of a review")], model: Name = None
    ) -> Any:
        """One text of the sample."""
        sample = await store.sample(model)
        if sample is None:
            raise Busy("the sample is being computed", fix="ask again in a few seconds")
        for one in sample.get("reviews", ()):
            if one["id"] == number:
                return {"schema": CORPUS_SCHEMA, **one}
        raise HTTPException(404, f"there is no review {number} in the sample")

    return router
