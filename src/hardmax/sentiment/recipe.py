"""The settings of a training run."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.sentiment.columns import MOST_SCORES
from hardmax.text.vocabulary import Bags

LEAST_STEPS = 200
MOST_NUMBERS = 4_000_000  # in all word vectors; with more classes than fit, classes share dimensions
LEAST_TERMS = 2_000  # the largest vocabulary with very many classes, which share none then
LAYERS = 8  # with attention, if nothing else is asked for
MOST_LEADERS = 12.0
TERMS_PER_LEADER = 8.0  # in short texts


@dataclass(frozen=True)
class Tuning:
    """Settings of training that rarely need a change: `HardmaxClassifier(tuning=Tuning(leaders=16))`.

    Attributes:
        leaders: about how many words of a text lead, not counting the pole; None means one for every 8 terms, at most
            12.
        pole_reach: how far a pole reaches, as a part of the weakest leader's score; 0 to 1.
        follower_radius: the radius of words that can only follow; 0 to 1, where 1 lets more words lead.
        sideways_noise: size of the random directions orthogonal to the scores (for dim > 2); more noise, more leaders.
        penalty: on the squares of the words' scores; None chooses it by held-out texts.
        smoothing: texts that are added to the counts of the words' log-odds, so that words of few texts count less;
            None chooses it by held-out texts.
        score_rate, bias_rate, alpha_rate: learning rates of the score vectors (relative), bias (in streams), alpha.

    Example:
        >>> Tuning(pole_reach=2.0)
        Traceback (most recent call last):
        hardmax.errors.BadInput: pole_reach must be between 0.0 and 1.0
          found: 2.0
    """

    leaders: float | None = None
    pole_reach: float = 0.93
    follower_radius: float = 0.98
    sideways_noise: float = 0.0
    penalty: float | None = None
    smoothing: float | None = None
    score_rate: float = 0.003
    bias_rate: float = 0.01
    alpha_rate: float = 0.01

    def __post_init__(self) -> None:
        self._between(pole_reach=(0.0, 1.0), follower_radius=(0.0, 1.0))
        self._positive("leaders", "penalty", "smoothing")

    def _between(self, **limits: tuple[float, float]) -> None:
        for name, (lowest, most) in limits.items():
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and lowest <= value <= most):
                raise BadInput(f"{name} must be between {lowest} and {most}", found=repr(value))

    def _positive(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if (value is not None or name == "alpha") and not (
                isinstance(value, int | float | np.number) and 0 < value < np.inf
            ):
                raise BadInput(f"{name} must be positive", found=repr(value))


@dataclass(frozen=True)
class Recipe(Tuning):
    """All settings of a training run: those of `Tuning`, and these.

    Attributes:
        dim, layers, alpha, train_alpha: of the model; "auto" is explained in `settled` and in `choices`.
        dropout: part of a text's words left out at each step.
        batch_size: texts per step.   seed: for all random choices.
        learning_rate: of x_w in these passes. All learning rates fall linearly to 0.
        warm_epochs: at most this many steps to an optimum; None means 100.
        epochs: passes through the layers, in batches; None means none where none is needed (see `Trainer.train`),
            otherwise 3, or as many as make 200 steps.
    """

    dim: int | str = "auto"
    layers: int | str = "auto"
    alpha: float = 0.08
    train_alpha: bool = False
    dropout: float = 0.4
    batch_size: int = 256
    learning_rate: float = 0.001
    warm_epochs: int | None = None
    epochs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        least = {"dim": 1, "layers": 0, "batch_size": 1, "warm_epochs": 1, "epochs": 1, "seed": 0}
        for name, lowest in least.items():
            value = getattr(self, name)
            if (value is None and name.endswith("epochs")) or (value == "auto" and name in ("dim", "layers")):
                continue
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < lowest:
                raise BadInput(f"{name} must be an integer of at least {lowest}", found=repr(value))
        self._between(dropout=(0.0, 0.99))
        self._positive("alpha", "learning_rate")

    def passes(self, count: int) -> int:
        """How many passes there are over this many texts, if any are made.

        Example:
            >>> Recipe().passes(25_000), Recipe().passes(256), Recipe(epochs=2).passes(256)
            (3, 200, 2)
        """
        least = -(-LEAST_STEPS // -(-count // self.batch_size))
        return self.epochs if self.epochs is not None else max(3, least)

    def settled(self, bags: Bags, scores: int, size: int) -> "Recipe":
        """The recipe with a dimension and a number of leaders that suit the texts, if they were left open.

        A dimension for every score, and one without any where words stand that say nothing: 2 for two classes, C for
        more (their scores add up to 0). Where `size` terms in so many dimensions would be too many numbers, it is less.

        Example:
            >>> long, short = (Bags(np.zeros(n, np.int32), np.array([0, n])) for n in (300, 40))
            >>> [Recipe().settled(bags, 9, 50_000).leaders for bags in (long, short)]
            [12.0, 5.0]
            >>> [Recipe().settled(long, scores, 50_000).dim for scores in (1, 9, 1000)]
            [2, 9, 81]
        """
        dim = self.dim
        if dim == "auto":
            dim = 2 if scores == 1 else min(scores, 1 + max(2, max(MOST_NUMBERS, LEAST_TERMS * scores) // max(size, 1)))
        if int(dim) * size > MOST_SCORES:
            raise BadInput(f"dim={dim:,} is too large for {size:,} terms", fix='use dim="auto"')
        terms = bags.ids.size / max(len(bags), 1)
        usual = float(min(MOST_LEADERS, max(1.0, terms / TERMS_PER_LEADER)))
        return replace(self, dim=dim, leaders=usual if self.leaders is None else self.leaders)

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data."""
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in asdict(self).items()}
