"""The paper's recipe and ours by dimension: training losses, accuracies and numbers of leaders [AFZ24, section 6].

Losses, for d = 2 and 4: softmax with temperature 0.001, hardmax with the same weights, and a third curve: the same
start and the same batches, trained by the exact gradient of hardmax.

Leaders: average, standard deviation, extremes, and the part that lead from layer 0. Departs: a leader is a word with
C_i = {i} at some layer, found exactly (Def. 1.1); copies of a word count once. <PAD> counts when it leads, as in the
paper; the table says how often.
"""

from itertools import zip_longest
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Ints
from hardmax.experiments import Context, Outcome, reproduction
from hardmax.experiments.reproduce import models
from hardmax.experiments.reproduce.models import DIMS, QUICK, TRAINED, Dims, Models
from hardmax.experiments.reproduce.recipe import read

TABLE_1 = {**TRAINED, "source": "[AFZ24] Table 1"}


@reproduction(
    "training-loss", "Training loss: softmax against hardmax", aliases=("loss",), source="[AFZ24] section 6",
    minutes=90, quick={**QUICK, "softmax_epochs": 5},
)  # fmt: skip
def training_loss(
    context: Context, *, epochs: int = 100, softmax_epochs: int | None = None, reviews: int | None = None,
    dims: Dims = (2, 4),
) -> Outcome:  # fmt: skip
    """Train with softmax and with hardmax, and draw the losses; `softmax_epochs` None: as many as with hardmax."""
    made = Models(context, reviews, epochs, softmax_epochs)
    soft = {d: made.softmax(d).history for d in dims}
    hard = {d: made.paper(d).history for d in dims}
    text = "Training loss by epoch: softmax, hardmax with the same weights, hardmax."
    context.figure("training-loss", "training:plot_losses", soft, hard, text=text)
    curves = {
        "softmax_loss": (soft, "loss"), "hardmax_loss_of_the_same_weights": (soft, "hardmax_loss"),
        "hardmax_trained_loss": (hard, "loss"), "softmax_trained_test_accuracy": (soft, "test_accuracy"),
        "hardmax_trained_test_accuracy": (hard, "test_accuracy"),
    }  # fmt: skip
    rows: list[Any] = []
    for d in dims:
        by_epoch = zip_longest(*(history[d][name] for history, name in curves.values()), fillvalue="")
        rows += [(d, epoch, *values) for epoch, values in enumerate(by_epoch, 1)]
    context.table("training-loss", "", rows, ("dim", "epoch", *curves), show=False)
    summary = [_losses(d, soft[d], hard[d]) for d in dims]
    last = summary[0]["epochs"]
    context.table("summary", f"At epoch {last} (the paper: at epoch 100)", summary, csv=False)
    losses = ", ".join(f"{row['softmax']:.3f} (d = {row['dim']})" for row in summary)
    exact = ", ".join(f"{row['hardmax_trained']:.3f}" for row in summary)
    return Outcome(
        f"{losses} at epoch {last} with softmax; hardmax with the same weights within "
        f"{max(row['gap'] for row in summary):.1g} at every epoch. Trained by the exact gradient of hardmax from the "
        f"same start: {exact} at the same epoch.",
        " and ".join(f"{loss:.3f} (d = {d})" for d, loss in models.PAPER_LOSS.items())
        + f" at epoch 100, hardmax within {models.PAPER_LOSS_GAP} of softmax.",
        "With half of the reviews the training set is memorized sooner. The paper measures the hardmax loss at every "
        "tenth epoch; here it is measured at every epoch.",
        {"paper": models.PAPER_LOSS, "summary": summary},
    )


def _losses(dim: int, soft: dict[str, list[float]], hard: dict[str, list[float]]) -> dict[str, Any]:
    last = len(soft["loss"]) - 1
    other = min(last, len(hard["loss"]) - 1)
    gap = float(np.abs(np.subtract(soft["loss"], soft["hardmax_loss"])).max())
    return {
        "dim": dim, "paper": models.PAPER_LOSS[dim], "epochs": last + 1, "softmax": soft["loss"][last],
        "hardmax": soft["hardmax_loss"][last], "gap": gap, "hardmax_trained": hard["loss"][other],
        "softmax_accuracy": soft["test_accuracy"][last], "hardmax_accuracy": hard["test_accuracy"][other],
    }  # fmt: skip


@reproduction("accuracy", "Accuracy by epoch in 2, 4, 8, 16 dimensions", minutes=11, **TRAINED)
def accuracy(context: Context, *, epochs: int = 100, reviews: int | None = None, dims: Dims = DIMS) -> Outcome:
    """Train both recipes in all dimensions and draw the accuracies."""
    made = Models(context, reviews, epochs)
    texts = made.reviews
    paper, ours = {d: made.paper(d) for d in dims}, {d: made.ours(d)[1]["accuracy"] for d in dims}
    histories = {d: run.history for d, run in paper.items()}
    text = "Test accuracy by epoch for d = 2, 4, 8, 16; the paper's recipe and ours."
    context.figure("accuracy", "training:plot_accuracies", histories, ours, models.PAPER_ACCURACY, text=text)
    names = ("loss", "accuracy", "test_loss", "test_accuracy", "alpha")
    rows: list[Any] = []
    for d in dims:
        by_epoch = zip(*(histories[d][name] for name in names), strict=True)
        rows += [("paper", d, epoch, *values) for epoch, values in enumerate(by_epoch, 1)]
    rows += [("ours", d, epoch, "", "", "", value, "") for d in dims for epoch, value in enumerate(ours[d], 1)]
    columns = ("recipe", "dim", "epoch", "train_loss", "train_accuracy", "test_loss", "test_accuracy", "alpha")
    context.table("accuracy", "", rows, columns, show=False)
    summary = [_best(d, histories[d]["test_accuracy"], ours[d], paper[d].alpha) for d in dims]
    caption = "Accuracy on the held-out reviews: the paper's best, its recipe here, and ours at the last epoch"
    context.table("summary", caption, summary, csv=False)
    best, last, mine = (", ".join(f"{row[name]:.3f}" for row in summary) for name in ("best", "last", "ours"))
    sizes = {"learn": len(texts.learn), "test": len(texts.aside), "words": len(texts.words)}
    return Outcome(
        f"The paper's recipe: {best} at the best epoch on the test set, {last} at the last (epoch {epochs}). Our "
        f"recipe: {mine} at its last epoch, nothing chosen on the test set.",
        ", ".join(f"{models.PAPER_ACCURACY[d]:.3f}" for d in dims)
        + " for d = 2, 4, 8, 16: the best of 101 epochs, chosen on the test set.",
        f"{len(texts.learn):,} reviews to learn from instead of {0.7 * models.PAPER_REVIEWS:,.0f} and "
        f"{len(texts.words):,} words instead of {models.PAPER_WORDS:,} (words by a regular expression, no "
        "lemmatizing); trained by the exact gradient of hardmax instead of softmax with T = 0.001 (training-loss "
        "compares the two). Ours keeps negations, lower-cases, reads whole reviews as words and pairs of words, has no "
        "padding, and gives words prescribed radii; with its default settings it uses a plane in any dimension, so "
        "that its numbers do not depend on d. The best epoch on the test set flatters; the last epoch does not.",
        {"paper": models.PAPER_ACCURACY, "reviews": sizes, "truncated": texts.truncated, "summary": summary},
    )


def _best(dim: int, test: list[float], ours: list[float], alpha: float) -> dict[str, Any]:
    best = max(range(len(test)), key=test.__getitem__)
    return {
        "dim": dim, "paper": models.PAPER_ACCURACY[dim], "best": test[best], "best_epoch": best + 1, "last": test[-1],
        "alpha": alpha, "ours": ours[-1],
    }  # fmt: skip


def statistics(leaders: Ints, initial: Ints) -> dict[str, Any]:
    """The rows of the table for numbers of leaders by review, and of those that lead from layer 0.

    Example:
        >>> statistics(np.array([2, 4]), np.array([2, 3]))["initial_fraction"]
        0.875
    """
    some = leaders > 0
    return {
        "mean": float(leaders.mean()), "std": float(leaders.std()),
        "min": int(leaders.min()), "max": int(leaders.max()),
        "initial_fraction": float((initial[some] / leaders[some]).mean()) if some.any() else None,
    }  # fmt: skip


def count(leads: Ints, offsets: Ints, which: Ints) -> tuple[Ints, Ints]:
    """Numbers of leaders, and of leaders from layer 0, of some reviews; leads[p] is -1 where a word does not lead.

    Example:
        >>> leaders, initial = count(np.array([0, -1, 2, 0]), np.array([0, 3, 4]), np.array([0, 1]))
        >>> leaders.tolist(), initial.tolist()
        ([2, 1], [1, 1])
    """
    ever, first = (np.append(0, np.cumsum(some)) for some in (leads >= 0, leads == 0))
    begin, end = offsets[which], offsets[which + 1]
    return ever[end] - ever[begin], first[end] - first[begin]


@reproduction("leader-statistics", "How many words lead", aliases=("table1",), minutes=11, **TABLE_1)
def leader_statistics(context: Context, *, epochs: int = 100, reviews: int | None = None, dims: Dims = DIMS) -> Outcome:
    """Count the leaders of the held-out reviews in all models."""
    from hardmax.sentiment.batches import trace

    made = Models(context, reviews, epochs)
    texts = made.reviews
    counts: dict[str, dict[int, Ints]] = {"paper": {}, "ours": {}}
    rows: list[dict[str, Any]] = []

    def add(recipe: str, dim: int, alpha: float, padding_leads: float | None, leaders: Ints, initial: Ints) -> None:
        counts[recipe][dim] = leaders
        about = {"recipe": recipe, "dim": dim, "alpha": alpha, "padding_leads": padding_leads}
        rows.append({**about, **statistics(leaders, initial)})

    for dim in dims:
        run = made.paper(dim)
        leads = read(run, texts, texts.aside).leads
        padding = leads[(texts.ids == 0) & (leads > -2)]  # of the reviews that were read
        padding_leads = float((padding >= 0).mean()) if padding.size else 0.0
        add("paper", dim, run.alpha, padding_leads, *count(leads, texts.offsets, texts.aside))
    for dim in dims:
        ours, _ = made.ours(dim)
        context.tell(0, None, f"leaders of our model, d = {dim}")
        traced = trace(ours, [texts.texts[i] for i in texts.aside])
        add("ours", dim, ours.alpha, None, *count(traced.since, traced.bags.offsets, np.arange(len(texts.aside))))
    text = "Distribution of the number of leaders by review, both recipes."
    context.figure("leader-statistics", "reviews:plot_leader_counts", counts, text=text)
    context.table("leader-statistics", f"Leaders of {len(texts.aside):,} held-out reviews", rows)
    context.data("leader-statistics", {"rows": rows, "leaders_by_review": counts})
    means = {r: ", ".join(f"{row['mean']:.1f}" for row in rows if row["recipe"] == r) for r in ("paper", "ours")}
    least = {r: min(row["initial_fraction"] for row in rows if row["recipe"] == r) for r in ("paper", "ours")}
    return Outcome(
        f"The paper's recipe: {means['paper']} leaders on average for d = 2, 4, 8, 16, at least {least['paper']:.1%} "
        f"of them from layer 0. Ours: {means['ours']}, at least {least['ours']:.1%} from layer 0.",
        "Average, standard deviation, minimum, maximum of leaders by review and the fraction that lead from layer 0, "
        "for d = 2, 4, 8, 16. Its values are printed there; this package holds no copy.",
        "Exact leaders (C_i = {i} at some layer) instead of the first index of a floating-point maximum. More "
        "dimensions, more leaders: random vectors are almost orthogonal there, and few words have another word to "
        "follow. In our recipe the radii decide who can lead, and with its default settings it uses a plane in any "
        "dimension.",
        {"rows": rows},
    )
