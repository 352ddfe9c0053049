"""The model card: what a model was made from, what it reaches, what it cannot do. Figures come from `model.card`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

LIMITS = """- A text is the set of its known n-grams. Word order beyond an n-gram, irony, and what is not said are lost.
- Names of people and films carry weight when they did in the training data.
- The score is a mean over the terms of a text. Over few terms it is extreme: probabilities of texts much shorter than
  those of the training data are too sure, and should be read as a ranking only.
- In other fields or languages than those of the training data expect less, or nothing.
- Who can lead is decided by radii that are prescribed between two phases of training: the words with the strongest
  scores so far, and a few frequent words without opinion (poles), at which the words that say little gather. That
  strong words lead is built in, not discovered. What is exact is the sum: bias + contributions = logit.
- A leader's contribution is that of its whole cluster. What the prediction loses without the leader is its effect;
  explanations give both and rank the leaders by effect."""


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
        *(line for title, rows in card.get("tables", {}).items() for line in (f"## {title}", *_rows(rows), "")),
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


def _rows(rows: list[dict[str, Any]]) -> list[str]:
    """A table whose columns are the keys of its first row."""
    columns = list(rows[0]) if rows else []
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return [
        *head,
        *("| " + " | ".join(str(row.get(c, "")).replace("|", "\\|") for c in columns) + " |" for row in rows),
    ]
