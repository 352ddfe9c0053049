"""The questions by name."""

from importlib import import_module
from types import ModuleType

from hardmax.errors import BadInput

QUESTIONS = {
    "matrices": "A not symmetric or not positive definite: fates of random clouds, by family and dimension",
    "one-head": "cycles of one head: complete searches, the smallest ones, exact cases",
    "definite-heads": "several symmetric positive definite heads: random clouds, and a search for cycles",
    "feed-forward": "clustering in front of small feed-forward networks of equal size (extra torch)",
    "merging": "how long clusters live under softmax and localmax, against beta and eps",
    "equal-size": "sentiment with and without attention at equal size (extra imdb)",
}


def select(names: list[str]) -> list[str]:
    """The questions asked for, each once, in their usual order; all of them if none is named.

    Example:
        >>> select(["merging", "matrices"])
        ['matrices', 'merging']
    """
    for name in names:
        if name not in QUESTIONS:
            raise BadInput(f"there is no question {name!r}", found=", ".join(QUESTIONS), fix="hardmax explore --list")
    return [name for name in QUESTIONS if not names or name in names]


def module(name: str) -> ModuleType:
    """The module of a question: `Setting`, `QUESTION`, `explore`."""
    return import_module(f"hardmax.experiments.questions.{name.replace('-', '_')}")
