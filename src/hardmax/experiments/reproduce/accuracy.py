"""Accuracy by epoch in 2, 4, 8, 16 dimensions: the paper's recipe and ours on the same reviews [AFZ24, section 6]."""

from typing import Any

from hardmax.experiments.reproduce import paper_numbers, trained
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table


def settings(context: Context) -> dict[str, Any]:
    """What decides about the models."""
    return trained.settings(context)


def run(context: Context) -> Outcome:
    """Train both recipes in all dimensions and draw the accuracies."""
    from hardmax.plot.figures_training import plot_accuracies

    reviews = trained.the_reviews(context)
    paper = {d: trained.paper_model(context, d) for d in trained.DIMS}
    ours = {d: trained.our_model(context, d) for d in trained.DIMS}
    histories = {d: model.history for d, model in paper.items()}
    curves = {d: history["accuracy"] for d, (_, history) in ours.items()}
    figures = write_figure(context, "accuracy", plot_accuracies(histories, curves, paper_numbers.ACCURACY))
    summary = [_summary(d, histories[d]["test_accuracy"], curves[d], paper[d].alpha) for d in trained.DIMS]
    rows = [
        *(["paper", d, e, *values] for d in trained.DIMS for e, values in enumerate(_by_epoch(histories[d]), 1)),
        *(["ours", d, e, "", "", "", value, ""] for d in trained.DIMS for e, value in enumerate(curves[d], 1)),
    ]
    head = ["recipe", "dim", "epoch", "train_loss", "train_accuracy", "test_loss", "test_accuracy", "alpha"]
    data = {
        "reviews": {"learn": len(reviews.learn), "test": len(reviews.aside), "words": len(reviews.words)},
        "truncated": reviews.truncated,
        "summary": summary,
    }
    files = [write_table(context, "accuracy", head, rows), write_data(context, "accuracy", settings(context), data)]
    shown = ", ".join(f"{row['best']:.3f}" for row in summary)
    last = ", ".join(f"{row['last']:.3f}" for row in summary)
    mine = ", ".join(f"{row['ours']:.3f}" for row in summary)
    epochs = trained.plan(context).epochs
    return Outcome(
        paper=", ".join(f"{paper_numbers.ACCURACY[d]:.3f}" for d in trained.DIMS)
        + " for d = 2, 4, 8, 16: the best of 101 epochs, chosen on the test set.",
        ours=f"The paper's recipe: {shown} at the best epoch on the test set, {last} at the last (epoch {epochs}). "
        f"Our recipe: {mine} at its last epoch, nothing chosen on the test set.",
        differs=f"{len(reviews.learn):,} reviews to learn from in place of {0.7 * paper_numbers.REVIEWS:,.0f} and "
        f"{len(reviews.words):,} words in place of {paper_numbers.WORDS:,} (words by a regular expression, no "
        "lemmatising); trained by the exact gradient of hardmax in place of softmax with T = 0.001 (training-loss "
        "compares the two). Ours keeps negations, lower-cases, reads "
        "whole reviews as words and pairs of words, has no padding, and gives words prescribed radii; with its default "
        "settings it uses a plane in any dimension, so that its numbers do not depend on d. The best epoch on the test "
        "set flatters; the last epoch does not." + ("" if not context.quick else quick_note(context)),
        numbers={"paper": paper_numbers.ACCURACY, "summary": summary},
        files=(*figures, *files),
        pictures=(Picture(figures[0], "Test accuracy by epoch for d = 2, 4, 8, 16; the paper's recipe and ours."),),
        tables=(
            Table(
                "Accuracy on the reviews kept aside",
                ["d", "paper, best epoch", "its recipe, best epoch", "last epoch", "alpha", "ours, last epoch"],
                [
                    [
                        row["dim"], f"{row['paper']:.3f}", f"{row['best']:.4f} (epoch {row['best_epoch']})",
                        f"{row['last']:.4f}", f"{row['alpha']:.2f}", f"{row['ours']:.4f}",
                    ]
                    for row in summary
                ],
            ),
        ),
    )  # fmt: skip


def _summary(dim: int, test: list[float], ours: list[float], alpha: float) -> dict[str, Any]:
    best = max(range(len(test)), key=test.__getitem__)
    return {
        "dim": dim,
        "paper": paper_numbers.ACCURACY[dim],
        "best": test[best],
        "best_epoch": best + 1,
        "last": test[-1],
        "alpha": alpha,
        "ours": ours[-1],
    }


def _by_epoch(history: dict[str, list[float]]) -> list[tuple[float, ...]]:
    names = ("loss", "accuracy", "test_loss", "test_accuracy", "alpha")
    return list(zip(*(history[name] for name in names), strict=True))


def quick_note(context: Context) -> str:
    """What --quick leaves out, for the report."""
    plan = trained.plan(context)
    return (
        f" This is the quick run: {plan.reviews:,} reviews in all, {plan.epochs} epochs with hardmax and "
        f"{plan.softmax_epochs} with softmax; its numbers are not meant to be compared."
    )
