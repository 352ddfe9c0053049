"""The routes under /api: typed requests in, documents out. `docs/api.md` describes them; a test keeps it current."""

import asyncio
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Response

from hardmax import __version__
from hardmax.errors import BadInput
from hardmax.web import corpus, limits, requests, responses
from hardmax.web.pool import Busy, Pool

SCHEMA = "hardmax.api/1"
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": responses.ErrorDocument, "description": "The request cannot be used as it is."},
    408: {"model": responses.ErrorDocument, "description": "The body, or the computation, took too long."},
    413: {"model": responses.ErrorDocument, "description": "The body is too long."},
    429: {"model": responses.ErrorDocument, "description": "Too many computations are waiting."},
    500: {"model": responses.ErrorDocument, "description": "A bug, or a computation that ended without an answer."},
}
Name = Annotated[str | None, Query(max_length=200)]


@cache
def presets() -> list[dict[str, Any]]:
    """Every preset with its text and tokens."""
    from hardmax.cloud.presets import PRESETS, preset

    return [{"name": name, "text": text, "tokens": preset(name).tolist()} for name, (text, _) in PRESETS.items()]


def routes(pool: Pool) -> APIRouter:
    """The routes of one server."""
    router = APIRouter(prefix="/api", responses=ERRORS)
    store = corpus.CorpusStore(pool)

    async def computed(job: str, body: dict[str, Any]) -> Response:
        answer = await asyncio.wrap_future(pool.submit(job, body))
        return Response(answer.text, answer.status, media_type="application/json")

    @router.get("/health", response_model=responses.Health)
    async def health() -> Any:
        """Whether the server is there, and its version."""
        return {"version": __version__, "schema": SCHEMA}

    @router.get("/presets", response_model=list[responses.Preset])
    async def get_presets() -> Any:
        """The clouds with a name."""
        return presets()

    @router.get("/models", response_model=responses.Models)
    async def get_models() -> Response:
        """The models that texts can be explained with."""
        return await computed("models", {})

    @router.post("/simulate", response_model=responses.Trajectory)
    async def simulate(request: requests.SimulateRequest) -> Response:
        """Run layers: tokens and follow sets of every layer, and the leaders."""
        return await computed("simulate", request.model_dump())

    @router.post("/limit", response_model=responses.Limit)
    async def limit(request: requests.LimitRequest) -> Response:
        """Infinite depth: where every token ends, and whether the certificate holds."""
        return await computed("limit", request.model_dump())

    @router.post("/explain", response_model=responses.Explanation)
    async def explain(request: requests.ExplainRequest) -> Response:
        """Why a text gets its label."""
        return await computed("explain", request.model_dump())

    @router.post("/construct", response_model=responses.Construction)
    async def construct(request: requests.ConstructRequest) -> Response:
        """A transformer that is right on every one of a few labeled sequences, stage by stage."""
        return await computed("construct", request.model_dump())

    @router.get("/corpus", response_model=responses.Corpus, response_model_exclude_none=False)
    async def get_corpus(
        model: Name = None,
        data: Name = None,
        wrong: Annotated[bool | None, Query(description="only texts predicted wrong, or only those right")] = None,
        leader: Annotated[str | None, Query(max_length=200, description="only texts that this word leads")] = None,
        label: Annotated[str | None, Query(max_length=200, description="only texts with this label")] = None,
        page: Annotated[int, Query(ge=1, le=100_000)] = 1,
        limit: Annotated[int, Query(ge=1, le=100, description="texts of a page")] = limits.PAGE,
    ) -> Any:
        """Leaders by class over a fixed sample of labeled texts, and the texts that pass the filters."""
        name = pool.setup.get("data_name", "imdb")
        if data is not None and data != name:
            raise BadInput(f"there is no data {data!r}", found=name, fix="hardmax playground --data FILE serves others")
        sample = await store.sample(model)
        if sample is None:
            waiting = "the sample is being computed; ask again in a few seconds"
            return {"schema": corpus.SCHEMA, "available": True, "ready": False, "reason": waiting, "data": name}
        return corpus.part(sample, wrong, leader, label, page, limit)

    @router.get("/corpus/{number}", response_model=responses.FullReview, responses={404: ERRORS[400]})
    async def get_review(
        number: Annotated[int, Path(ge=0, le=2**53, description="the id of a review")], model: Name = None
    ) -> Any:
        """One text of the sample."""
        sample = await store.sample(model)
        if sample is None:
            raise Busy("the sample is being computed", fix="ask again in a few seconds")
        found = corpus.review(sample, number)
        if found is None:
            raise HTTPException(404, f"there is no review {number} in the sample")
        return found

    return router
