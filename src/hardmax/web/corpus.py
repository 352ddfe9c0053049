"""The corpus in the server: the sample of each model is computed once, in the background, and kept."""

import asyncio
import math
import threading
from concurrent.futures import Future
from typing import Any

from hardmax.errors import BadInput
from hardmax.web import limits
from hardmax.web.pool import Answer, Pool

PATIENCE = 20.0  # seconds that a request waits for the sample before it says "ask again"
SCHEMA = "hardmax.corpus/1"


class CorpusStore:
    """Samples by model name."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Answer]] = {}
        self._known: dict[str, dict[str, Any]] = {}

    async def sample(self, model: str | None, seconds: float = PATIENCE) -> dict[str, Any] | None:
        """The whole sample of a model; None while it is being computed.

        Raises:
            BadInput: there is no such model.
            TooSlow, Busy, Broken: the computation failed; the next request begins it anew.
        """
        key = model or ""
        if key in self._known:
            return self._known[key]
        with self._lock:
            future = self._asked.get(key)
            if future is None:
                future = self._pool.submit("corpus", {"model": model}, limits.CORPUS_SECONDS)
                self._asked[key] = future
        try:
            answer = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), seconds)
        except TimeoutError:
            return None
        except Exception:
            self._asked.pop(key, None)
            raise
        document: dict[str, Any] = answer.json()
        if answer.status != 200:
            self._asked.pop(key, None)
            raise BadInput(**document["error"])
        if document["available"]:  # data may be installed while the server runs
            self._known[key] = document
        self._asked.pop(key, None)
        return document


def part(
    sample: dict[str, Any],
    wrong: bool | None = None,
    leader: str | None = None,
    label: str | None = None,
    page: int = 1,
    limit: int = limits.PAGE,
) -> dict[str, Any]:
    """The figures of a sample and one page of the reviews that pass the filters; beyond the last page, the last."""
    if not sample["available"]:
        return {"schema": SCHEMA, "available": False, "ready": True, "reason": sample["reason"], "data": sample["data"]}
    chosen = [r for r in sample["reviews"] if _passes(r, wrong, leader, label)]
    pages = max(1, math.ceil(len(chosen) / limit))
    page = min(page, pages)
    shown = chosen[(page - 1) * limit : page * limit]
    figures = {k: v for k, v in sample.items() if k != "reviews"}
    return {
        "schema": SCHEMA,
        "ready": True,
        **figures,
        "reviews": [
            {**{k: v for k, v in r.items() if k != "text"}, "excerpt": _excerpt(r["text"])} for r in shown
        ],
        "total": len(chosen),
        "page": page,
        "pages": pages,
    }  # fmt: skip


def _passes(review: dict[str, Any], wrong: bool | None, leader: str | None, label: str | None) -> bool:
    return (
        (wrong is None or wrong == (review["label"] != review["predicted"]))
        and (leader is None or leader in review["leaders"])
        and (label is None or label == str(review["label"]))
    )


def _excerpt(text: str) -> str:
    """The beginning of a text on one line, cut at a space."""
    line = " ".join(text[: 2 * limits.EXCERPT].split())
    if len(line) <= limits.EXCERPT:
        return line
    return line[: limits.EXCERPT].rsplit(" ", 1)[0] + " ..."


def review(sample: dict[str, Any], number: int) -> dict[str, Any] | None:
    """One review of a sample, or None."""
    for one in sample.get("reviews", ()):
        if one["id"] == number:
            return {"schema": SCHEMA, **one}
    return None
