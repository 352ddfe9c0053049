"""What a worker process does: a request's body becomes an answer. There is no mathematics in this module.

The routes have checked the sizes; what is only known while computing (the size of follow sets) is checked here.
"""

import json
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from hardmax.errors import BadInput, HardmaxError, NotCertified
from hardmax.web import limits
from hardmax.web.text_jobs import corpus, explain, models, setup
from hardmax.web.wording import bug_document, error_document

Body = dict[str, Any]
Document = dict[str, Any]

# What each stage of an exact construction does, in words.
STAGES = {
    "input": "the sequences as they were given",
    "separate": "attention gives every sequence numbers that no other sequence has",
    "number": "a staircase turns them into the number of the class",
    "snap": "adding and subtracting a large number rounds it exactly to an integer",
    "unsnap": "the large number is subtracted again",
    "square": "the square of the number is written beside it",
    "leaders": "every token gets the number of its leader",
    "collapse": "the tokens of a sequence meet in one point",
    "place": "the points move onto their targets",
}
CLOUDS = ("small clouds", "large clouds in dimension 2", "large clouds in dimension 3")  # of the page, to compile
PROJECTION = "coordinates 0 and 1, where everything between the first and the last layer happens"


class Answer(NamedTuple):
    """An HTTP status and the text of a JSON document."""

    status: int
    text: bytes

    def json(self) -> Any:
        """The document."""
        return json.loads(self.text)


def start(given: dict[str, Any]) -> None:
    """Prepare a new process: it leaves Ctrl-C to the server, prints to stderr only, and ends with the server."""

    def end_with_the_server() -> None:
        server = multiprocessing.parent_process()
        if server is not None:
            server.join()
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    threading.Thread(target=end_with_the_server, daemon=True).start()
    setup(given)


def answer(job: str, body: Body) -> Answer:
    """Run a job: 200 and its document, or the status and the text of what went wrong."""
    from hardmax.io.documents import json_text

    try:
        status, document = 200, JOBS[job](body)
    except HardmaxError as error:
        status, document = 400, error_document(error.what, error.found, error.fix)
    except MemoryError:
        status, document = 400, error_document("there is not enough memory", fix="use fewer tokens or layers")
    except Exception as error:
        traceback.print_exc()
        status, document = 500, bug_document(error)
    return Answer(status, json_text(document).encode())


def warm(body: Body) -> Document:
    """Run a job on small examples, so that no request spends its time on imports or on reading a model."""
    for example in EXAMPLES.get(body["job"], list)():
        with suppress(BadInput):  # if there is no model, the request itself will say so
            JOBS[body["job"]](example)
    return {"ready": body["job"]}


def compile_clouds(body: Body) -> Document:
    """Compile what the page asks for, with low priority: the other processes answer meanwhile. Takes about 20 s."""
    from hardmax.demo.warm_up import warm_up

    if hasattr(os, "nice"):
        os.nice(10)
    warm_up(say=lambda what: None, only=CLOUDS)
    return {"ready": "compiled"}


def _clouds() -> list[Body]:
    from hardmax.cloud.presets import preset

    return [{"tokens": preset("square-ties").tolist(), "alpha": 0.5, "layers": 2}]


def _sequences() -> list[Body]:
    sequences = [{"tokens": [[0.0, 0.0], [1.0, 1.0]], "label": 0}, {"tokens": [[0.0, 1.0]], "label": 1}]
    return [{"sequences": sequences, "style": style, "pool": "max"} for style in ("bitwise", "narrow")]


def simulate(body: Body) -> Document:
    """All layers of a trajectory: the document of its .json file."""
    from hardmax.attention.rules import as_rule
    from hardmax.dynamics.records import trajectory_document
    from hardmax.dynamics.simulate import simulate as run

    rule = as_rule(body.get("rule"), **{name: body[name] for name in ("beta", "eps") if name in body})
    tokens = body["tokens"]
    numbers = (body["layers"] + 1) * len(tokens) * len(tokens[0])
    if numbers > limits.COORDINATES:
        what = f"{body['layers']} layers of {len(tokens)} tokens have {numbers:,} coordinates"
        raise _too_long(what, limits.COORDINATES)
    traj: Any = run(tokens, body["alpha"], body.get("matrix"), body["layers"], rule=rule)
    total = 0
    for layer in range(traj.layers + 1):
        total += sum(map(len, traj.follows(layer)))
        if total > limits.FOLLOWED:  # tokens at zero follow everyone, which takes n^2 indices per layer
            what = f"the follow sets of the first {layer + 1} layers have {total:,} indices"
            raise _too_long(what, limits.FOLLOWED)
    return trajectory_document(traj)


def _too_long(what: str, most: int) -> BadInput:
    return BadInput(f"{what}, more than the {most:,} allowed in one answer", fix="use fewer tokens or layers")


def limit(body: Body) -> Document:
    """The certified limit; without a certificate, what is known nevertheless."""
    from hardmax.dynamics.certificate import ROLE_NAMES
    from hardmax.dynamics.limit import limit as run
    from hardmax.dynamics.records import EQUILIBRIUM, equilibrium_document

    try:
        eq: Any = run(body["tokens"], body["alpha"], body.get("matrix"))
    except NotCertified as error:
        return {
            "schema": EQUILIBRIUM, "certified": False, "verified": False, "reason": str(error), "certificate": None,
            "n": len(body["tokens"]), "dim": len(body["tokens"][0]), "alpha": body["alpha"],
            "limit": error.known.get("points"),
            **{k: error.known.get(k) for k in ("layers", "leaders", "certain", "open")},
        }  # fmt: skip
    c = eq.certificate
    wrong = c.check(eq.tokens)
    roles = {name: int((c.role == r).sum()) for r, name in enumerate(ROLE_NAMES)}
    summary = {"method": c.method, "margin": c.margin, "undecided": c.undecided, "layers": c.layers, "roles": roles}
    verdict = {"verified": not wrong, "reason": wrong[0] if wrong else None, "certificate": summary}
    return equilibrium_document(eq) | verdict


def construct(body: Body) -> Document:
    """A network for a few labeled sequences, and what each of its stages does to them."""
    import numpy as np

    from hardmax.construction.build import construct as build

    sequences = [np.array(one["tokens"], dtype=np.float64) for one in body["sequences"]]
    labels = [one["label"] for one in body["sequences"]]
    net = build(sequences, labels, style=body["style"], pool=body["pool"])
    report = net.verify(sequences, labels, levels=("certificate", "float64"))
    found = report.to_json()
    answers = net(sequences)
    return {
        "schema": "hardmax.construct/1",
        "exact": report.exact,
        **{name: getattr(net, name) for name in ("style", "pool", "dim", "blocks", "width", "parameters", "bound")},
        **{name: found[name] for name in ("min_gap", "max_error")},
        "temperature": net.temperature if np.isfinite(net.temperature) else None,
        "labels": labels,
        "answers": answers,
        "correct": [ours == theirs for ours, theirs in zip(answers, labels, strict=True)],
        "projection": PROJECTION if net.dim > 2 else None,
        "stages": [_stage(stage) for stage in net.stages(sequences)],
    }


def _stage(stage: Any) -> Document:
    """What a stage does, with coordinates 0 and 1 of all tokens; the second is zero if there is only one."""
    import numpy as np

    clouds = [np.pad(cloud, ((0, 0), (0, 1)))[:, :2].tolist() for cloud in stage.clouds]
    known = {"name": stage.name, "explanation": STAGES.get(stage.name, stage.name)}
    return known | {"first": stage.first, "last": stage.last, "tokens": clouds}


EXAMPLES: dict[str, Callable[[], list[Body]]] = {
    "simulate": _clouds,
    "limit": _clouds,
    "construct": _sequences,
    "explain": lambda: [{"text": "fine"}],
    "corpus": lambda: [{"sample": (["fine"], [None], [0])}],
}
JOBS: dict[str, Callable[[Body], Document]] = {
    "warm": warm,
    "compile": compile_clouds,
    "simulate": simulate,
    "limit": limit,
    "construct": construct,
    "explain": explain,
    "models": models,
    "corpus": corpus,
}
