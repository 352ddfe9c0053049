"""What answers hold, for the OpenAPI description. Workers write the JSON; tests compare it with these types."""

from typing import Any

from pydantic import BaseModel, Field

Rows = list[list[float]]


class ErrorTexts(BaseModel):
    """The three texts of an error, the same as in Python and on the command line."""

    what: str
    found: str | None
    fix: str | None


class ErrorDocument(BaseModel):
    """What every status from 400 on comes with."""

    error: ErrorTexts


class Health(BaseModel):
    """The server is there."""

    version: str
    schema_: str = Field(alias="schema")


class Preset(BaseModel):
    """A cloud with a name."""

    name: str
    text: str
    tokens: Rows


class Model(BaseModel):
    """A model that texts can be explained with."""

    name: str
    classes: list[str | int | float | bool]
    labels: dict[str, str]
    dim: int
    layers: int
    ngrams: int
    alpha: float
    terms: int
    description: str


class Models(BaseModel):
    """All models; `reason` says why there is none."""

    schema_: str = Field(alias="schema")
    models: list[Model]
    reason: str | None


class Outcome(BaseModel):
    """What happened in the layers that were run."""

    kind: str
    period: int | None
    layer: int | None
    detail: str


class Trajectory(BaseModel):
    """All layers: the document of a trajectory's .json file."""

    schema_: str = Field(alias="schema")
    n: int
    dim: int
    alpha: float
    layers: int
    leaders: list[int]
    leader_since: dict[str, int]
    outcome: Outcome
    rule: dict[str, Any]
    normalization: str
    undecided: int
    exact: bool
    A: Rows | None
    tokens: Rows = Field(description="of the last layer")
    follows: list[list[int]] = Field(description="of the last layer")
    trajectory: list[Rows] = Field(description="tokens of every layer")
    follow_sets: list[list[list[int]]] = Field(description="follow sets of every layer")


class CertificateSummary(BaseModel):
    """How the limit is known."""

    method: str
    margin: float | None
    undecided: int
    layers: int
    roles: dict[str, int]


class Limit(BaseModel):
    """Where every token ends. Without a certificate (`certified` false, `certificate` null) what is known all the same:
    `limit` is then the best known place of each token, `certain` and `open` list the tokens."""

    schema_: str = Field(alias="schema")
    n: int
    dim: int
    alpha: float
    certified: bool = Field(description="proved: no comparison was closer than float64 decides")
    verified: bool = Field(description="the certificate was checked from the data alone")
    reason: str | None
    certificate: CertificateSummary | None
    layers: int | None
    leaders: list[int] | None
    limit: Rows | None
    leader_since: dict[str, int] | None = None
    kind: list[str] | None = None
    cluster: list[int] | None = None
    centers: Rows | None = None
    certain: list[int] | None = None
    open: list[int] | None = None


class Leader(BaseModel):
    """A leader and its cluster."""

    word: str
    contribution: float
    followers: list[str]
    since: int | None
    share: float


class Word(BaseModel):
    """A known term; places count code points."""

    text: str
    start: int
    end: int
    term: str
    leader: str
    contribution: float
    places: list[list[int]]


class Decoder(BaseModel):
    """The score is <v, mean z> + b."""

    v: list[float]
    b: float


class Trace(BaseModel):
    """The way of the terms through the layers: positions[layer][term]."""

    terms: list[str]
    positions: list[Rows]
    leader: list[int]
    since: list[int]
    settled: list[int]
    contributions: list[float]
    shadow: bool = Field(description="a long text in many dimensions: two coordinates, the first along the score")


class Explanation(BaseModel):
    """Why a text got its label: bias + contributions = logit."""

    schema_: str = Field(alias="schema")
    model: str
    label: str | int | float | bool
    probability: float
    logit: float
    bias: float
    toward: str | int | float | bool
    scores: dict[str, float]
    leaders: list[Leader]
    words: list[Word]
    ignored: list[str]
    text: str
    decoder: Decoder
    alpha: float
    layers: int
    classes: list[str | int | float | bool]
    labels: dict[str, str]
    trace: Trace


class Stage(BaseModel):
    """The tokens of every sequence after some blocks."""

    name: str
    explanation: str
    first: int
    last: int
    tokens: list[Rows]


class Construction(BaseModel):
    """A network, and what it does to the sequences."""

    schema_: str = Field(alias="schema")
    exact: bool
    style: str
    pool: str
    dim: int
    blocks: int
    width: int
    parameters: int
    bound: int = Field(description="blocks that the paper needs")
    min_gap: float | None
    max_error: float | None
    temperature: float | None
    labels: list[str | int]
    answers: list[str | int]
    correct: list[bool]
    projection: str | None = Field(description="how tokens of more than two dimensions are shown")
    stages: list[Stage]


class LeaderCount(BaseModel):
    """In how many texts a word leads."""

    word: str
    texts: int
    part: float
    contribution: float


class ClassLeaders(BaseModel):
    """The most frequent leaders of texts with one predicted class."""

    class_: str | int | float | bool = Field(alias="class")
    leaders: list[LeaderCount]


class ClassCounts(BaseModel):
    """counts[k]: texts of this predicted class with k leaders."""

    class_: str | int | float | bool = Field(alias="class")
    counts: list[int]


class Review(BaseModel):
    """One text of the sample."""

    id: int
    label: str | int | float | bool
    predicted: str | int | float | bool
    probability: float
    leaders: list[str]
    excerpt: str


class Corpus(BaseModel):
    """A part of the sample. `available` false: there are no texts, `reason` says why. `ready` false: ask again."""

    schema_: str = Field(alias="schema")
    available: bool
    ready: bool
    reason: str | None
    data: str
    note: str | None = None
    model: str | None = None
    n: int | None = None
    accuracy: float | None = None
    classes: list[str | int | float | bool] | None = None
    labels: dict[str, str] | None = None
    histogram: list[ClassLeaders] | None = None
    leader_counts: list[ClassCounts] | None = None
    reviews: list[Review] | None = None
    total: int | None = Field(None, description="texts that pass the filters")
    page: int | None = None
    pages: int | None = None


class FullReview(BaseModel):
    """A text of the sample as it is."""

    schema_: str = Field(alias="schema")
    id: int
    text: str
    label: str | int | float | bool
    predicted: str | int | float | bool
    probability: float
    leaders: list[str]
