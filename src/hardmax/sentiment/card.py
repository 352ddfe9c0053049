"""The model card: what a model was made from, what it reaches, what it cannot do. Figures come from `model.card`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

LIMITS = """- A text is the set of its known n-grams. Word order beyond an n-gram, irony, and what is not said are lost.
- Names of people and films carry weight when they did in the training data.
- The mean over few words is extreme: probabilities of texts much shorter than those of the training data are too sure.
- In other fields or languages than those of the training data expect less, or nothing.
- Leaders are words with large radii, and the radii are prescribed from word statistics before training: that strong
  words lead is built in, not discovered. What is exact is the sum: bias + contributions = logit."""


def card_text(model: "SentimentModel") -> str:
    """The model card in Markdown."""
    card = model.card
    lines = [
        f"# {card.get('name', 'A hardmax sentiment model')}",
        "",
        f"{len(model.vocabulary):,} n-grams of up to {model.vocabulary.ngrams} word(s) -> {model.dim} dimensions -> "
        f"{model.layers} hardmax layers (alpha = {model.alpha:.4g}) -> mean -> linear score.",
        f"{model.parameters:,} numbers; classes: {', '.join(map(str, model.classes))}.",
        "",
        "## Data",
        str(card.get("data", "not recorded")),
        "",
        "## Figures",
        *(_table(card["figures"]) if card.get("figures") else ["not measured"]),
        "",
        "## Settings",
        *(f"- {name}: {value}" for name, value in sorted(card.get("settings", {}).items())),
        "",
        "## Limits",
        LIMITS,
        "",
    ]
    return "\n".join(lines)


def _table(figures: dict[str, Any]) -> list[str]:
    return ["| figure | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in figures.items())]
