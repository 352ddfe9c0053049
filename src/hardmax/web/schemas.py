"""The types of requests and answers.

Requests are validated: literal types, sizes bounded by `hardmax.web.limits`, no extra keys. Workers write the JSON of
answers themselves; the types of answers are for the OpenAPI description, and tests compare the two.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from hardmax.sentiment.explain_parts import Leader, Term
from hardmax.web import limits

Coordinate = Annotated[float, Field(ge=-limits.SIZE, le=limits.SIZE, allow_inf_nan=False)]
Token = Annotated[list[Coordinate], Field(min_length=1, max_length=limits.DIM)]


def _rectangular(rows: list[list[float]]) -> list[list[float]]:
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"row {i} has {len(row)} coordinates, but row 0 has {len(rows[0])}")
    return rows


Rectangle = Annotated[list[Token], AfterValidator(_rectangular)]


class Request(BaseModel):
    """The base of requests. Types are taken literally: the string "1" is not a number. Unknown keys are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Cloud(Request):
    """Tokens and what moves them."""

    tokens: Rectangle = Field(min_length=1, max_length=limits.TOKENS, description="(n, d) tokens, all of one length")
    alpha: float = Field(0.5, gt=0, le=1e6, allow_inf_nan=False, description="step size")
    matrix: Annotated[Rectangle, Field(min_length=1, max_length=limits.DIM)] | None = Field(
        None, description="(d, d), symmetric positive definite; null: the identity"
    )


class SimulateRequest(Cloud):
    """Run layers."""

    layers: int = Field(30, ge=0, le=limits.LAYERS)
    rule: Literal["hardmax", "softmax", "localmax", "uniform"] = "hardmax"
    beta: float = Field(1.0, gt=0, le=1e9, allow_inf_nan=False, description="inverse temperature of softmax")
    eps: float = Field(0.1, ge=0, le=1e9, allow_inf_nan=False, description="width of localmax")


def whole_characters(text: Any) -> Any:
    """Lone surrogates, which UTF-8 cannot hold, become the replacement character: offsets stay the same."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if isinstance(text, str) else text


class ExplainRequest(Request):
    """One text."""

    text: Annotated[str, BeforeValidator(whole_characters)] = Field(max_length=limits.TEXT)
    model: str | None = Field(None, max_length=200, description="a name from /api/models; null: the first")


class LabeledSequence(Request):
    """A sequence and its class."""

    tokens: Rectangle = Field(min_length=1, max_length=limits.SEQUENCE_TOKENS)
    label: Annotated[str, Field(max_length=60)] | Annotated[int, Field(ge=-(2**53), le=2**53)]


class ConstructRequest(Request):
    """Labeled sequences that become a network."""

    sequences: list[LabeledSequence] = Field(min_length=1, max_length=limits.SEQUENCES)
    style: Literal["bitwise", "two", "narrow"] = "bitwise"
    pool: Literal["mean", "max"] = "mean"


Rows = list[list[float]]
Label = str | int | float | bool


class ErrorTexts(BaseModel):
    """The three texts of an error, the same as in Python and on the command line."""

    what: str
    found: str | None
    fix: str | None


class ErrorDocument(BaseModel):
    """The body of every answer with a status of 400 or above."""

    error: ErrorTexts


class Document(BaseModel):
    """An answer that names its own schema."""

    schema_: str = Field(alias="schema")


class Health(Document):
    """The server is running."""

    version: str
    compiling: bool = Field(description="code is being compiled in the background, once per installation")


class Preset(BaseModel):
    """A cloud with a name."""

    name: str
    text: str
    tokens: Rows


class Model(BaseModel):
    """A model that texts can be explained with."""

    name: str
    classes: list[Label]
    labels: dict[str, str]
    dim: int
    layers: int
    ngrams: int
    alpha: float
    terms: int
    description: str
    calibration: list[dict[str, float]]


class Models(Document):
    """All models; `reason` says why there is none."""

    models: list[Model]
    reason: str | None


class Outcome(BaseModel):
    """What happened in the layers that were run."""

    kind: str
    period: int | None
    layer: int | None
    detail: str


class Trajectory(Document):
    """All layers: the document of a trajectory's .json file."""

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
    """How the limit was certified."""

    method: str
    margin: float | None
    undecided: int
    layers: int
    roles: dict[str, int]


class Limit(Document):
    """Where every token ends. Without a certificate (`certified` false, `certificate` null) it holds what is known:
    `limit` is then the best known place of each token; `certain` and `open` list the tokens."""

    n: int
    dim: int
    alpha: float
    certified: bool = Field(description="proved: float64 decided every comparison")
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


class Decoder(BaseModel):
    """The score is <v, sum z / (n + neutral_words)> + b."""

    v: list[float]
    b: float
    neutral_words: float


class Trace(BaseModel):
    """The path of the terms through the layers: positions[layer][term]."""

    terms: list[str]
    positions: list[Rows]
    leader: list[int]
    since: list[int]
    settled: list[int]
    contributions: list[float]
    shadow: bool = Field(description="a long text in many dimensions: two coordinates, the first along the score")


class Word(BaseModel):
    """A known word of the text, as `hardmax.sentiment.explain_parts.Word.as_dict` gives it."""

    word: str
    effect: float
    contribution: float
    neutral: bool
    terms: list[str]
    leader: str
    places: list[tuple[int, int]]


class ExplanationParts(Document):
    """Why a text got its label: bias + contributions = logit."""

    label: Label
    probability: float
    logit: float
    bias: float
    toward: Label
    scores: dict[str, float]
    coverage: float
    caution: str
    words: list[Word]
    terms: list[Term]
    leaders: list[Leader]
    ignored: list[str]
    text: str


class Explanation(ExplanationParts):
    """An explanation, with what the page needs to draw it."""

    model: str
    decoder: Decoder
    alpha: float
    layers: int
    classes: list[Label]
    labels: dict[str, str]
    trace: Trace


class Stage(BaseModel):
    """The tokens of every sequence after some blocks."""

    name: str
    explanation: str
    first: int
    last: int
    tokens: list[Rows]


class Construction(Document):
    """A network, and what it does to the sequences."""

    exact: bool
    style: str
    pool: str
    dim: int
    blocks: int
    width: int
    parameters: int
    bound: int = Field(description="number of blocks that the paper needs")
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
    """The most frequent leaders of texts with one predicted class; without attention, words that speak for it."""

    class_: Label = Field(alias="class")
    leaders: list[LeaderCount]


class ClassCounts(BaseModel):
    """counts[k]: texts of this predicted class with k leaders."""

    class_: Label = Field(alias="class")
    counts: list[int]


class Review(BaseModel):
    """One text of the sample."""

    id: int
    label: Label
    predicted: Label
    probability: float
    leaders: list[str]


class ReviewExcerpt(Review):
    """The beginning of a text of the sample."""

    excerpt: str


class FullReview(Document, Review):
    """A whole text of the sample."""

    text: str


class Corpus(Document):
    """A part of the sample. `available` false: there are no texts, `reason` says why. `ready` false: ask again."""

    available: bool
    ready: bool
    reason: str | None
    data: str
    note: str | None = None
    model: str | None = None
    n: int | None = None
    accuracy: float | None = None
    classes: list[Label] | None = None
    labels: dict[str, str] | None = None
    histogram: list[ClassLeaders] | None = None
    leader_counts: list[ClassCounts] | None = None
    reviews: list[ReviewExcerpt] | None = None
    total: int | None = Field(None, description="texts that pass the filters")
    page: int | None = None
    pages: int | None = None
