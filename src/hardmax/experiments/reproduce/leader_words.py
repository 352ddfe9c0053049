"""Which words lead: the most frequent leaders with an opinion, in reviews that are labeled right with confidence.

The histogram of [AFZ24, section 6] for d = 2, for the paper's recipe and for ours.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.experiments.reproduce import paper_numbers, trained
from hardmax.experiments.reproduce.accuracy import quick_note
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table
from hardmax.experiments.reproduce.paper_training import PaperRun, read
from hardmax.experiments.reproduce.reviews import Reviews

MOST = 15
DIM = 2
Found = tuple[list[dict[str, Any]], int]


def settings(context: Context) -> dict[str, Any]:
    """What decides about the models and the counting."""
    rule = {"confident": paper_numbers.CONFIDENT, "opinion": paper_numbers.OPINION, "most": MOST}
    return {**trained.settings(context), "dims": [DIM], **rule}


def most_frequent(words: tuple[str, ...], ids: NDArray[Any], scores: NDArray[np.float64]) -> list[dict[str, Any]]:
    """The most frequent of some leaders: [{word, count, score}], the score being the mean of <v, z> + b.

    Example:
        >>> most_frequent(("a", "b"), np.array([1, 0, 1]), np.array([3.0, -4.0, 5.0]))[0]
        {'word': 'b', 'count': 2, 'score': 4.0}
    """
    counts = np.bincount(ids, minlength=len(words))
    sums = np.bincount(ids, weights=scores, minlength=len(words))
    order = np.argsort(-counts, kind="stable")[:MOST]
    return [
        {"word": words[i], "count": int(counts[i]), "score": float(sums[i] / counts[i])} for i in order if counts[i]
    ]


def paper_leaders(model: PaperRun, reviews: Reviews) -> Found:
    """Of the paper's model: the most frequent leaders, and the number of reviews that were counted."""
    found = read(model, reviews, reviews.aside)
    sure = _sure(found.logits, reviews.labels[reviews.aside])
    counted = np.zeros(len(reviews.labels), bool)
    counted[reviews.aside[sure]] = True
    here = np.repeat(counted, np.diff(reviews.offsets))
    score = found.ends + model.few[model.dim]
    heads = here & (found.leads >= 0) & (np.abs(score) > paper_numbers.OPINION)
    return most_frequent(reviews.words, reviews.ids[heads], score[heads]), int(sure.sum())


def our_leaders(model: Any, reviews: Reviews) -> Found:
    """The same for our model."""
    from hardmax.sentiment.tracing import trace

    traced = trace(model, [reviews.texts[i] for i in reviews.aside])
    sure = _sure(traced.logits[:, 0], reviews.labels[reviews.aside])
    sizes = np.diff(traced.bags.offsets)
    score = traced.contributions[:, 0] * np.repeat(sizes, sizes) + model.bias[0]
    heads = np.repeat(sure, sizes) & (traced.since >= 0) & (np.abs(score) > paper_numbers.OPINION)
    return most_frequent(model.vocabulary.terms, traced.bags.ids[heads], score[heads]), int(sure.sum())


def _sure(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Reviews that are labeled right with the paper's confidence."""
    least = np.log(paper_numbers.CONFIDENT / (1 - paper_numbers.CONFIDENT))
    return np.where(labels == 1, logits, -logits) > least


def run(context: Context) -> Outcome:
    """Count the leaders of both models."""
    from hardmax.plot.figures_leaders import plot_leader_words

    reviews = trained.the_reviews(context)
    both = {
        "paper": paper_leaders(trained.paper_model(context, DIM), reviews),
        "ours": our_leaders(trained.our_model(context, DIM)[0], reviews),
    }
    found, texts = {r: words for r, (words, _) in both.items()}, {r: n for r, (_, n) in both.items()}
    figures = write_figure(context, "leader-words", plot_leader_words(found, paper_numbers.LEADERS, texts))
    rows = [[r, k + 1, w["word"], w["count"], w["score"]] for r, words in found.items() for k, w in enumerate(words)]
    files = [
        write_table(context, "leader-words", ["recipe", "rank", "word", "reviews", "score"], rows),
        write_data(context, "leader-words", settings(context), {"leaders": found, "reviews": texts}),
    ]
    same = {r: [w["word"] for w in words if w["word"].lower() in paper_numbers.LEADERS] for r, words in found.items()}
    return Outcome(
        paper="Frequent leaders in confident reviews: " + ", ".join(paper_numbers.LEADERS) + ".",
        ours=f"The paper's recipe: {_list(found['paper'])}; {len(same['paper'])} of the {len(found['paper'])} are "
        f"among the paper's ten. Ours: {_list(found['ours'])}; {len(same['ours'])} among them.",
        differs="Counted as in the paper: reviews labeled right with probability above 0.95, leaders with "
        "|<v, z> + b| > 2. Which words lead depends on the random start: the gradient moves words along v only, across "
        "it they stay where they began. Our terms are in lower case and may be pairs of words."
        + (quick_note(context) if context.quick else ""),
        numbers={"shared_with_the_paper": same, "reviews": texts},
        files=(*figures, *files),
        pictures=(Picture(figures[0], "Bars: the fifteen most frequent leaders of both recipes."),),
        tables=(
            Table(
                "The most frequent leaders (reviews in which they lead; mean score)",
                ["rank", "the paper's recipe", "reviews", "score", "ours", "reviews", "score"],
                [[k + 1, *_cells(found["paper"], k), *_cells(found["ours"], k)] for k in range(MOST)],
            ),
        ),
    )


def _list(words: list[dict[str, Any]], most: int = 8) -> str:
    return ", ".join(word["word"] for word in words[:most]) + (", ..." if len(words) > most else "")


def _cells(words: list[dict[str, Any]], k: int) -> list[Any]:
    return [words[k]["word"], words[k]["count"], f"{words[k]['score']:+.1f}"] if k < len(words) else ["", "", ""]
