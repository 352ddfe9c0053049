"""How many words lead in a review: average, standard deviation, extremes, and the part that lead from layer 0.

The table of [AFZ24, section 6] for both recipes. Departs: a leader is a word with C_i = {i} at some layer, found
exactly (Def. 1.1); copies of a word count once. <PAD> counts when it leads, as in the paper; how often is told.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.experiments.reproduce import trained
from hardmax.experiments.reproduce.accuracy import quick_note
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table
from hardmax.experiments.reproduce.paper_training import read
from hardmax.experiments.reproduce.reviews import Reviews

Ints = NDArray[np.int64]


def statistics(leaders: Ints, initial: Ints) -> dict[str, Any]:
    """The rows of the table for numbers of leaders by review, and of those that lead from layer 0.

    Example:
        >>> statistics(np.array([2, 4]), np.array([2, 3]))["initial_fraction"]
        0.875
    """
    some = leaders > 0
    return {
        "mean": float(leaders.mean()),
        "std": float(leaders.std()),
        "min": int(leaders.min()),
        "max": int(leaders.max()),
        "initial_fraction": float((initial[some] / leaders[some]).mean()) if some.any() else None,
    }


def count(leads: Ints, offsets: Ints, which: Ints) -> tuple[Ints, Ints]:
    """Numbers of leaders, and of leaders from layer 0, of some reviews; leads[p] is -1 where a word does not lead.

    Example:
        >>> leaders, initial = count(np.array([0, -1, 2, 0]), np.array([0, 3, 4]), np.array([0, 1]))
        >>> leaders.tolist(), initial.tolist()
        ([2, 1], [1, 1])
    """
    ever = np.concatenate([[0], np.cumsum(leads >= 0)])
    first = np.concatenate([[0], np.cumsum(leads == 0)])
    begin, end = offsets[which], offsets[which + 1]
    return ever[end] - ever[begin], first[end] - first[begin]


def settings(context: Context) -> dict[str, Any]:
    """What decides about the models."""
    return trained.settings(context)


def run(context: Context) -> Outcome:
    """Count the leaders of the reviews kept aside in all models."""
    from hardmax.plot.figures_leaders import plot_leader_counts

    reviews = trained.the_reviews(context)
    counts: dict[str, dict[int, Ints]] = {"paper": {}, "ours": {}}
    rows: list[dict[str, Any]] = []
    for dim in trained.DIMS:
        model = trained.paper_model(context, dim)
        leads = read(model, reviews, reviews.aside).leads
        found = count(leads, reviews.offsets, reviews.aside)
        counts["paper"][dim] = found[0]
        padding = _padding_leads(reviews, leads)
        rows.append(
            {"recipe": "paper", "dim": dim, "alpha": model.alpha, "padding_leads": padding, **statistics(*found)}
        )
    for dim in trained.DIMS:
        ours, _ = trained.our_model(context, dim)
        context.tell(0, None, f"leaders of our model, d = {dim}")
        found = _ours(ours, reviews)
        counts["ours"][dim] = found[0]
        rows.append({"recipe": "ours", "dim": dim, "alpha": ours.alpha, "padding_leads": None, **statistics(*found)})
    figures = write_figure(context, "leader-statistics", plot_leader_counts(counts))
    head = list(rows[0])
    files = [
        write_table(context, "leader-statistics", head, [list(row.values()) for row in rows]),
        write_data(context, "leader-statistics", settings(context), {"rows": rows, "leaders_by_review": counts}),
    ]
    means = {r: ", ".join(f"{row['mean']:.1f}" for row in rows if row["recipe"] == r) for r in ("paper", "ours")}
    least = {r: min(row["initial_fraction"] for row in rows if row["recipe"] == r) for r in ("paper", "ours")}
    return Outcome(
        paper="Average, standard deviation, minimum, maximum of leaders by review and the fraction that lead from "
        "layer 0, for d = 2, 4, 8, 16. Its values are printed there; this package holds no copy.",
        ours=f"The paper's recipe: {means['paper']} leaders on average for d = 2, 4, 8, 16, at least "
        f"{least['paper']:.1%} of them from layer 0. Ours: {means['ours']}, at least {least['ours']:.1%} from layer 0.",
        differs="Exact leaders (C_i = {i} at some layer) in place of the first index of a floating-point maximum. "
        "More dimensions, more leaders: random vectors are almost orthogonal there and few words have anybody to "
        "follow. In our recipe the radii decide who can lead, and with its default settings it uses a plane in any "
        "dimension."
        + (quick_note(context) if context.quick else ""),
        numbers={"rows": rows},
        files=(*figures, *files),
        pictures=(Picture(figures[0], "Distribution of the number of leaders by review, both recipes."),),
        tables=(
            Table(
                f"Leaders of {len(reviews.aside):,} reviews kept aside",
                ["recipe", "d", "average", "std", "min", "max", "from layer 0", "<PAD> leads", "alpha"],
                [
                    [
                        row["recipe"], row["dim"], f"{row['mean']:.1f}", f"{row['std']:.1f}", row["min"], row["max"],
                        f"{row['initial_fraction']:.4f}",
                        "none" if row["padding_leads"] is None else f"{row['padding_leads']:.1%}",
                        f"{row['alpha']:.2f}",
                    ]
                    for row in rows
                ],
            ),
        ),
    )  # fmt: skip


def _padding_leads(reviews: Reviews, leads: Ints) -> float:
    """Part of the padded reviews read in which <PAD> is a leader."""
    there = (reviews.ids == 0) & (leads > -2)
    return float((leads[there] >= 0).mean()) if there.any() else 0.0


def _ours(model: Any, reviews: Reviews) -> tuple[Ints, Ints]:
    from hardmax.sentiment.tracing import trace

    traced = trace(model, [reviews.texts[i] for i in reviews.aside])
    return count(traced.since, traced.bags.offsets, np.arange(len(reviews.aside)))
