"""What requests may hold: typed, bounded, nothing extra. The limits are those of `hardmax.web.limits`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hardmax.web import limits
from hardmax.web.share_rows import well_formed

Coordinate = Annotated[float, Field(ge=-limits.SIZE, le=limits.SIZE, allow_inf_nan=False)]
Token = Annotated[list[Coordinate], Field(min_length=1, max_length=limits.DIM)]
Tokens = Annotated[list[Token], Field(min_length=1, max_length=limits.TOKENS)]
Alpha = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False, description="step size")]
Matrix = Annotated[
    list[Token] | None,
    Field(min_length=1, max_length=limits.DIM, description="(d, d), symmetric positive definite; null: the identity"),
]


class Request(BaseModel):
    """Types are taken literally: "1" is no number, and unknown keys are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


def _same_length(rows: list[list[float]], name: str) -> None:
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"{name}[{i}] has {len(row)} coordinates, but {name}[0] has {len(rows[0])}")


class Cloud(Request):
    """Tokens and what moves them."""

    tokens: Tokens = Field(description="(n, d) tokens, all of one length")
    alpha: Alpha = 0.5
    matrix: Matrix = None

    @model_validator(mode="after")
    def _rectangular(self) -> "Cloud":
        _same_length(self.tokens, "tokens")
        if self.matrix is not None:
            _same_length(self.matrix, "matrix")
        return self


class SimulateRequest(Cloud):
    """Run layers."""

    layers: int = Field(30, ge=0, le=limits.LAYERS)
    rule: Literal["hardmax", "softmax", "localmax", "uniform"] = "hardmax"
    beta: float = Field(1.0, gt=0, le=1e9, allow_inf_nan=False, description="inverse temperature of softmax")
    eps: float = Field(0.1, ge=0, le=1e9, allow_inf_nan=False, description="width of localmax")


class LimitRequest(Cloud):
    """Infinite depth."""


def _whole_characters(text: Any) -> Any:
    return well_formed(text) if isinstance(text, str) else text


class ExplainRequest(Request):
    """One text."""

    # Half a character, which no UTF-8 text can hold, becomes the replacement character: places stay the same.
    text: Annotated[str, BeforeValidator(_whole_characters)] = Field(max_length=limits.TEXT)
    model: str | None = Field(None, max_length=200, description="a name from /api/models; null: the first")


class LabeledSequence(Request):
    """A sequence and its class."""

    tokens: list[Token] = Field(min_length=1, max_length=limits.SEQUENCE_TOKENS)
    label: Annotated[str, Field(max_length=60)] | Annotated[int, Field(ge=-(2**53), le=2**53)]

    @model_validator(mode="after")
    def _rectangular(self) -> "LabeledSequence":
        _same_length(self.tokens, "tokens")
        return self


class ConstructRequest(Request):
    """Labeled sequences that become a network."""

    sequences: list[LabeledSequence] = Field(min_length=1, max_length=limits.SEQUENCES)
    style: Literal["bitwise", "two", "narrow"] = "bitwise"
    pool: Literal["mean", "max"] = "mean"
