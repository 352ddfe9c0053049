"""The words of reviews in the plane [AFZ24, section 6]: two reviews layer by layer, and which words lead; d = 2.

The two reviews are chosen by a rule among the held-out ones, see `choose`. Leaders are counted in reviews that are
labeled right with confidence, if they have an opinion; for the paper's recipe and for ours.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput
from hardmax.experiments import Context, Outcome, reproduction
from hardmax.experiments.reproduce import models
from hardmax.experiments.reproduce.models import CLASSES, TRAINED, Models
from hardmax.experiments.reproduce.recipe import LAYERS, PaperRun, read
from hardmax.experiments.reviews import Reviews

DIM = 2
WORDS = (20, 45)  # distinct words of a review that can be drawn
MOST = 15
NAMES = {"paper": "the paper's recipe", "ours": "our recipe"}
Found = tuple[list[dict[str, Any]], int]


@dataclass(frozen=True, eq=False)
class WordCloud:
    """The words of one review on their way through the layers."""

    label: str  # of the review
    logit: float  # of the model
    words: tuple[str, ...]  # n of them
    counts: Floats  # (n,) how often each occurs
    states: Floats  # (K + 1, n, 2)
    leader: Any  # (n,) the index of the word each one ends at
    since: Any  # (n,) the layer since which each word leads, or -1
    # The decoder: <v, z> + b > 0 is the positive side.
    v: Floats
    b: float

    @property
    def probability(self) -> float:
        """Of the class positive."""
        return float(1 / (1 + np.exp(-self.logit)))

    def mean(self, layer: int) -> Floats:
        """The mean of all words, counted as often as they occur."""
        return np.asarray(self.counts @ self.states[layer] / self.counts.sum())


def paper_cloud(model: PaperRun, reviews: Reviews, t: int) -> WordCloud:
    """A review in the paper's model."""
    from hardmax.experiments.reproduce.recipe_kernel import follow_all

    here, alpha = slice(*reviews.offsets[t : t + 2]), model.alpha
    ids, counts = reviews.ids[here], reviews.counts[here]
    follow, since = np.empty((LAYERS + 1, ids.size), np.int64), np.empty(ids.size, np.int64)
    states = [model.E[ids].astype(np.float64)]
    follow_all(states[0].copy(), ids.size, LAYERS, alpha, follow, since)
    for k in range(LAYERS):
        states.append((states[-1] + alpha * states[-1][follow[k]]) / (1 + alpha))
    v, b = model.few[: model.dim].copy(), float(model.few[model.dim])
    logit, words = float(counts @ states[-1] @ v / counts.sum() + b), tuple(reviews.words[i] for i in ids)
    return WordCloud(CLASSES[reviews.labels[t]], logit, words, counts, np.stack(states), follow[LAYERS], since, v, b)


def our_cloud(model: Any, reviews: Reviews, t: int) -> WordCloud:
    """A review in our model."""
    from hardmax.sentiment.explain import explain

    ex = explain(model, reviews.texts[t])
    terms, label = ex.term_names, CLASSES[reviews.labels[t]]
    return WordCloud(
        label, ex.logit, tuple(terms), np.ones(len(terms)), ex.flow.states, ex.flow.leader, ex.flow.since,
        model.scores[0].copy(), float(model.bias[0]),
    )  # fmt: skip


def choose(paper: PaperRun, ours: Any, reviews: Reviews) -> tuple[int, int]:
    """A positive and a negative review to draw: of 20 to 45 distinct words if there is one, and of these the one for
    which the less confident of the two models is most confident."""
    aside = reviews.aside
    both = np.array([read(paper, reviews, aside).logits, ours.logits([reviews.texts[i] for i in aside])[:, 0]])
    sizes = np.diff(reviews.offsets)[aside]
    fits = (sizes >= WORDS[0]) & (sizes <= WORDS[1])

    def best(label: int) -> int:
        mine = reviews.labels[aside] == label
        if not mine.any():
            raise BadInput(f"there is no {CLASSES[label]} review among the {len(aside)} held out")
        readable = mine & fits if (mine & fits).any() else mine
        sure = (both if label else -both).min(axis=0)
        return int(aside[np.argmax(np.where(readable, sure, -np.inf))])

    return best(1), best(0)


@reproduction("review-clouds", "Two reviews in the plane", aliases=("clouds",), minutes=3, **TRAINED)
def review_clouds(context: Context, *, epochs: int = 100, reviews: int | None = None) -> Outcome:
    """Draw both reviews in both models, and their movies."""
    made = Models(context, reviews, epochs)
    texts, paper, (ours, _) = made.reviews, made.paper(DIM), made.ours(DIM)
    context.tell(0, None, "choosing two reviews")
    chosen = choose(paper, ours, texts)
    every = [("paper", paper_cloud(paper, texts, t)) for t in chosen]
    every += [("ours", our_cloud(ours, texts, t)) for t in chosen]
    for recipe, name in NAMES.items():
        both = [cloud for of, cloud in every if of == recipe]
        context.tell(0, None, f"drawing the reviews, {name}")
        text = f"Words of two reviews at layers 0 and 8, {name}."
        context.figure(f"review-clouds-{recipe}", "reviews:plot_clouds", both, name, text=text)
        for cloud in both:
            context.tell(0, None, f"a movie, {name}, {cloud.label}")
            text = f"Words of a {cloud.label} review moving, {name}."
            context.movie(f"review-{recipe}-{cloud.label}", "reviews:cloud_movie", cloud, text=text, width=460)
    rows = [
        (recipe, c.label, c.words[i], *c.states[0, i], *c.states[-1, i], int(c.since[i]), c.words[int(c.leader[i])])
        for recipe, c in every
        for i in range(len(c.words))
    ]
    columns = ("recipe", "review", "word", "x_0", "y_0", "x_K", "y_K", "leader_since", "ends_at")
    context.table("review-clouds", "", rows, columns, show=False)
    summary = [_summary(recipe, cloud) for recipe, cloud in every]
    shown = [{**row, "leader_words": ", ".join(row["leader_words"])} for row in summary]
    context.table("summary", "The two reviews", shown, csv=False)
    said = "; ".join(
        f"{NAMES[row['recipe']]}, {row['review']}: {row['leaders']} leaders of {row['words']} words, "
        f"probability of its label {row['probability_of_label']:.3f}"
        for row in summary
    )
    left = [f"{(1 + alpha) ** -LAYERS:.2%}" for alpha in (paper.alpha, ours.alpha, models.PAPER_ALPHA)]
    return Outcome(
        f"{said}. alpha = {paper.alpha:.2f} and {len(texts.words):,} words in the paper's recipe.",
        "Words of a positive and of a negative review at K = 0 and K = 8: they gather at leaders, most of them on the "
        f"side of the review's label. Saved d = 2 model: alpha = {models.PAPER_ALPHA}, {models.PAPER_WORDS:,} words.",
        "The reviews are not the paper's; they are chosen by a rule (20 to 45 distinct words, both models as confident "
        f"as possible). After 8 layers a follower still has {left[0]} of its way to go in the paper's recipe, "
        f"{left[1]} in ours; with the paper's alpha it is {left[2]}.",
        {"clouds": summary, "alpha": paper.alpha, "words": len(texts.words)},
    )


def _summary(recipe: str, cloud: WordCloud) -> dict[str, Any]:
    heads = [cloud.words[i] for i in range(len(cloud.words)) if cloud.since[i] >= 0]
    sure = cloud.probability if cloud.label == "positive" else 1 - cloud.probability
    return {
        "recipe": recipe, "review": cloud.label, "words": len(cloud.words), "leaders": len(heads), "logit": cloud.logit,
        "probability_of_label": sure, "leader_words": heads,
    }  # fmt: skip


def most_frequent(words: tuple[str, ...], ids: NDArray[Any], scores: NDArray[np.float64]) -> list[dict[str, Any]]:
    """The most frequent of some leaders: [{word, count, score}], the score being the mean of <v, z> + b.

    Example:
        >>> most_frequent(("a", "b"), np.array([1, 0, 1]), np.array([3.0, -4.0, 5.0]))[0]
        {'word': 'b', 'count': 2, 'score': 4.0}
    """
    counts = np.bincount(ids, minlength=len(words))
    sums = np.bincount(ids, weights=scores, minlength=len(words))
    order = [i for i in np.argsort(-counts, kind="stable")[:MOST] if counts[i]]
    return [{"word": words[i], "count": int(counts[i]), "score": float(sums[i] / counts[i])} for i in order]


def paper_leaders(model: PaperRun, reviews: Reviews) -> Found:
    """Of the paper's model: the most frequent leaders, and the number of reviews that were counted."""
    found = read(model, reviews, reviews.aside)
    sure = _sure(found.logits, reviews.labels[reviews.aside])
    here = np.repeat(np.isin(np.arange(len(reviews.labels)), reviews.aside[sure]), np.diff(reviews.offsets))
    score = found.ends + model.few[model.dim]
    heads = here & (found.leads >= 0) & (np.abs(score) > models.OPINION)
    return most_frequent(reviews.words, reviews.ids[heads], score[heads]), int(sure.sum())


def our_leaders(model: Any, reviews: Reviews) -> Found:
    """The same for our model."""
    from hardmax.sentiment.batches import trace

    traced = trace(model, [reviews.texts[i] for i in reviews.aside])
    sure = _sure(traced.logits[:, 0], reviews.labels[reviews.aside])
    sizes = np.diff(traced.bags.offsets)
    score = traced.contributions[:, 0] * np.repeat(sizes + model.neutral_words, sizes) + model.bias[0]
    heads = np.repeat(sure, sizes) & (traced.since >= 0) & (np.abs(score) > models.OPINION)
    return most_frequent(model.vocabulary.terms, traced.bags.ids[heads], score[heads]), int(sure.sum())


def _sure(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Reviews that are labeled right with the paper's confidence."""
    least = np.log(models.CONFIDENT / (1 - models.CONFIDENT))
    return np.where(labels == 1, logits, -logits) > least


@reproduction("leader-words", "Which words lead", aliases=("histogram",), minutes=3, **TRAINED)
def leader_words(context: Context, *, epochs: int = 100, reviews: int | None = None) -> Outcome:
    """Count the leaders of both models."""
    made = Models(context, reviews, epochs)
    texts = made.reviews
    both = {"paper": paper_leaders(made.paper(DIM), texts), "ours": our_leaders(made.ours(DIM)[0], texts)}
    found, counted = {r: words for r, (words, _) in both.items()}, {r: n for r, (_, n) in both.items()}
    plot = "reviews:plot_leader_words", found, models.PAPER_LEADERS, counted
    context.figure("leader-words", *plot, text="Bars: the fifteen most frequent leaders of both recipes.")
    rows = [(r, k + 1, *word.values()) for r, words in found.items() for k, word in enumerate(words)]
    context.table("leader-words", "", rows, ("recipe", "rank", "word", "reviews", "score"), show=False)
    shown = [(k + 1, *_cells(found["paper"], k), *_cells(found["ours"], k)) for k in range(MOST)]
    caption = "The most frequent leaders (reviews in which they lead; mean score)"
    columns = ("rank", "the paper's recipe", "reviews", "score", "ours", "reviews", "score")
    context.table("summary", caption, shown, columns, csv=False)
    same = {r: [w["word"] for w in words if w["word"].lower() in models.PAPER_LEADERS] for r, words in found.items()}
    return Outcome(
        f"The paper's recipe: {_list(found['paper'])}; {len(same['paper'])} of the {len(found['paper'])} are among the "
        f"paper's ten. Ours: {_list(found['ours'])}; {len(same['ours'])} among them.",
        "Frequent leaders in confident reviews: " + ", ".join(models.PAPER_LEADERS) + ".",
        "Counted as in the paper: reviews labeled right with probability above 0.95, leaders with |<v, z> + b| > 2. "
        "Which words lead depends on the random start: the gradient moves words along v only, across it they stay "
        "where they began. Our terms are in lower case and may be pairs of words.",
        {"shared_with_the_paper": same, "reviews": counted},
    )


def _list(words: list[dict[str, Any]], most: int = 8) -> str:
    return ", ".join(word["word"] for word in words[:most]) + (", ..." if len(words) > most else "")


def _cells(words: list[dict[str, Any]], k: int) -> list[Any]:
    return [words[k]["word"], words[k]["count"], f"{words[k]['score']:+.1f}"] if k < len(words) else ["", "", ""]
