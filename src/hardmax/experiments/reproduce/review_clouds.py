"""The words of a positive and of a negative review in the plane, before the first layer and after the last, and moving.

The figures of [AFZ24, section 6] for d = 2, for the paper's recipe and for ours. The two reviews are chosen by a rule
among those kept aside, see `choose`.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput
from hardmax.experiments.reproduce import paper_numbers, trained
from hardmax.experiments.reproduce.accuracy import quick_note
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table
from hardmax.experiments.reproduce.paper_training import LAYERS, PaperRun, read
from hardmax.experiments.reproduce.reviews import Reviews
from hardmax.io.files import write_file

DIM = 2
WORDS = (20, 45)  # distinct words of a review that can be drawn


@dataclass(frozen=True, eq=False)
class WordCloud:
    """The words of one review on their way through the layers.

    Attributes:
        label: of the review.   logit: of the model.
        words: n of them.   counts: (n,) how often each occurs.
        states: (K + 1, n, 2).   leader: (n,) index of the word each one ends at.   since: (n,) layer, -1: leads never.
        v, b: the decoder; <v, z> + b > 0 is the positive side.
    """

    label: str
    logit: float
    words: tuple[str, ...]
    counts: Floats
    states: Floats
    leader: Any
    since: Any
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
    from hardmax.experiments.reproduce.padded_kernel import follow_all

    here = slice(int(reviews.offsets[t]), int(reviews.offsets[t + 1]))
    ids, counts, alpha = reviews.ids[here], reviews.counts[here], model.alpha
    n = ids.size
    follow, since = np.empty((LAYERS + 1, n), np.int64), np.empty(n, np.int64)
    states = [model.E[ids].astype(np.float64)]
    follow_all(states[0].copy(), n, LAYERS, alpha, follow, since)
    for k in range(LAYERS):
        states.append((states[-1] + alpha * states[-1][follow[k]]) / (1 + alpha))
    v, b = model.few[: model.dim].copy(), float(model.few[model.dim])
    words = tuple(reviews.words[i] for i in ids)
    logit = float(counts @ states[-1] @ v / counts.sum() + b)
    label = trained.CLASSES[reviews.labels[t]]
    return WordCloud(label, logit, words, counts, np.stack(states), follow[LAYERS], since, v, b)


def our_cloud(model: Any, reviews: Reviews, t: int) -> WordCloud:
    """A review in our model."""
    reading = model.read(reviews.texts[t])
    label = trained.CLASSES[reviews.labels[t]]
    return WordCloud(
        label, float(reading.logits[0]), tuple(reading.forms), np.ones(len(reading.ids)), reading.states,
        reading.leader, reading.since, model.scores[0].copy(), float(model.bias[0]),
    )  # fmt: skip


def choose(paper: PaperRun, ours: Any, reviews: Reviews) -> tuple[int, int]:
    """A positive and a negative review to draw: of 20 to 45 distinct words if there is one, and of these the one of
    which the less sure of the two models is surest."""
    labels = reviews.labels[reviews.aside]
    both = [read(paper, reviews, reviews.aside).logits, ours.logits([reviews.texts[i] for i in reviews.aside])[:, 0]]
    sizes = np.diff(reviews.offsets)[reviews.aside]
    fits = (sizes >= WORDS[0]) & (sizes <= WORDS[1])
    chosen = []
    for label, sign in ((1, 1.0), (0, -1.0)):
        mine = labels == label
        if not mine.any():
            raise BadInput(f"there is no {trained.CLASSES[label]} review among the {len(labels)} kept aside")
        readable = mine & fits if (mine & fits).any() else mine
        sure = np.minimum(sign * both[0], sign * both[1])
        chosen.append(int(reviews.aside[np.argmax(np.where(readable, sure, -np.inf))]))
    return chosen[0], chosen[1]


def settings(context: Context) -> dict[str, Any]:
    """What decides about the models and the choice of reviews."""
    return {**trained.settings(context), "dims": [DIM], "words": list(WORDS)}


def run(context: Context) -> Outcome:
    """Draw both reviews in both models, and their movies."""
    from hardmax.plot.figures_review import cloud_movie, plot_clouds

    reviews = trained.the_reviews(context)
    paper, (ours, _) = trained.paper_model(context, DIM), trained.our_model(context, DIM)
    context.tell(0, None, "choosing two reviews")
    chosen = choose(paper, ours, reviews)
    clouds = {
        "paper": [paper_cloud(paper, reviews, t) for t in chosen],
        "ours": [our_cloud(ours, reviews, t) for t in chosen],
    }
    files: list[str] = []
    pictures: list[Picture] = []
    names = {"paper": "the paper's recipe", "ours": "our recipe"}
    for recipe, both in clouds.items():
        context.tell(0, None, f"drawing the reviews, {names[recipe]}")
        figures = write_figure(context, f"review-clouds-{recipe}", plot_clouds(both, names[recipe]))
        files += figures
        pictures.append(Picture(figures[0], f"Words of two reviews at layers 0 and 8, {names[recipe]}."))
        for cloud in both:
            context.tell(0, None, f"a movie, {names[recipe]}, {cloud.label}")
            movie = f"review-{recipe}-{cloud.label}.gif"
            write_file(context.folder / movie, partial(cloud_movie, cloud))
            files.append(movie)
            pictures.append(Picture(movie, f"Words of a {cloud.label} review moving, {names[recipe]}.", width=460))
    rows = [
        [recipe, c.label, c.words[i], *c.states[0, i], *c.states[-1, i], int(c.since[i]), c.words[int(c.leader[i])]]
        for recipe, both in clouds.items()
        for c in both
        for i in range(len(c.words))
    ]
    head = ["recipe", "review", "word", "x_0", "y_0", "x_K", "y_K", "leader_since", "ends_at"]
    summary = [_summary(recipe, c) for recipe, both in clouds.items() for c in both]
    files += [
        write_table(context, "review-clouds", head, rows),
        write_data(context, "review-clouds", settings(context), {"clouds": summary}),
    ]
    said = "; ".join(
        f"{names[row['recipe']]}, {row['review']}: {row['leaders']} leaders of {row['words']} words, "
        f"probability of its label {row['probability_of_label']:.3f}"
        for row in summary
    )
    return Outcome(
        paper="Words of a positive and of a negative review at K = 0 and K = 8: they gather at leaders, most of them "
        f"on the side of the review's label. Saved d = 2 model: alpha = {paper_numbers.ALPHA}, "
        f"{paper_numbers.WORDS:,} words.",
        ours=f"{said}. alpha = {paper.alpha:.2f} and {len(reviews.words):,} words in the paper's recipe.",
        differs="Other reviews than the paper's, chosen by a rule (20 to 45 distinct words, both models as sure as can "
        f"be). After 8 layers a follower still has {(1 + paper.alpha) ** -LAYERS:.2%} of its way ahead in the paper's "
        f"recipe, {(1 + ours.alpha) ** -LAYERS:.2%} in ours; with the "
        f"paper's alpha it is {(1 + paper_numbers.ALPHA) ** -LAYERS:.2%}."
        + (quick_note(context) if context.quick else ""),
        numbers={"clouds": summary, "alpha": paper.alpha, "words": len(reviews.words)},
        files=tuple(files),
        pictures=tuple(pictures),
        tables=(
            Table(
                "The two reviews",
                ["recipe", "review", "words", "leaders", "probability of its label", "leaders are"],
                [
                    [
                        row["recipe"], row["review"], row["words"], row["leaders"],
                        f"{row['probability_of_label']:.4f}", ", ".join(row["leader_words"]),
                    ]
                    for row in summary
                ],
            ),
        ),
    )  # fmt: skip


def _summary(recipe: str, cloud: WordCloud) -> dict[str, Any]:
    heads = [i for i in range(len(cloud.words)) if cloud.since[i] >= 0]
    positive = cloud.probability
    return {
        "recipe": recipe,
        "review": cloud.label,
        "words": len(cloud.words),
        "leaders": len(heads),
        "leader_words": [cloud.words[i] for i in heads],
        "logit": cloud.logit,
        "probability_of_label": positive if cloud.label == "positive" else 1 - positive,
    }
