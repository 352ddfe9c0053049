"""The paper's mechanism over many seeds: does its recipe produce leaders that carry the meaning?

docs/studies/mechanism.md says what is measured. Beside each run the same start is trained without attention (K = 0).
The logit is exactly b + sum_j c_j <v, z_j>, where attention moves the weights c_j toward the words that are followed:
what leaders carry needs no approximation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.experiments import Context, Outcome, gains, interval, study
from hardmax.experiments.reproduce.models import PAPER_ALPHA, Models
from hardmax.experiments.reproduce.recipe import LAYERS, PaperRun, read
from hardmax.experiments.reviews import Reviews

TOPS = (1, 3, 5, 10, 20)
Run = dict[str, Any]


def without(reviews: Reviews, which: Iterable[int], kept: NDArray[np.bool_]) -> Reviews:
    """Some reviews with only the words p for which kept[p] is true, in the order of `which`."""
    places = [np.arange(*reviews.offsets[t : t + 2]) for t in which]
    left = [place[kept[place]] for place in places]
    every, offsets = np.concatenate(left), np.concatenate([[0], np.cumsum(list(map(len, left)))])
    return replace(reviews, ids=reviews.ids[every], counts=reviews.counts[every], offsets=offsets)


def without_words(
    places: Mapping[str, NDArray[np.int64]], logits: NDArray[np.float64], logits_of: Callable[[Any], Any]
) -> dict[str, float]:
    """Comprehensiveness and sufficiency of the first k words of every ranking, k in TOPS.

    Args:
        places: the place of every word in each ranking.   logits: of the whole reviews.
        logits_of: the logits that the model gives to the words that are kept, a mask.
    """
    sign, found = np.where(logits > 0, 1.0, -1.0), {}
    sure = 1 / (1 + np.exp(-np.abs(logits)))
    for name, place in places.items():
        for top in TOPS:
            for what, kept in (("comprehensiveness", place >= top), ("sufficiency", place < top)):
                found[f"{what} {name} {top}"] = float((sure - 1 / (1 + np.exp(-logits_of(kept) * sign))).mean())
    return found


def faithfulness(run: PaperRun, reviews: Reviews, which: NDArray[np.int64], seed: int) -> dict[str, float]:
    """Comprehensiveness and sufficiency of the first k words, k in TOPS, by four rankings.

    The rankings are the exact part c_j <v, z_j> of a word in favor of the label, leaders before all others by the same
    part, the word's own <v, z_j>, and chance. Words are left out, and the model reads what remains.
    """
    found = read(run, reviews, which)
    own = run.E[reviews.ids] @ run.few[: run.dim]
    here = {t: slice(*reviews.offsets[t : t + 2]) for t in which.tolist()}
    side = np.zeros(len(own))
    for words, logit in zip(here.values(), found.logits, strict=True):
        side[words] = 1.0 if logit > 0 else -1.0
    part = side * found.weights * own
    rankings = {
        "parts": part,
        "leaders": part + np.where((found.leads >= 0) & (part > 0), 1e6, 0.0),
        "score": side * own,
        "random": np.random.default_rng(seed).random(len(own)),
    }
    if not run.layers:
        del rankings["leaders"]
    places = {name: np.full(len(own), len(own)) for name in rankings}
    for (name, value), words in product(rankings.items(), here.values()):
        places[name][words] = np.argsort(np.argsort(-value[words], kind="stable"))
    everyone = np.arange(len(which))
    return without_words(places, found.logits, lambda kept: read(run, without(reviews, which, kept), everyone).logits)


def carried(run: PaperRun, reviews: Reviews) -> dict[str, float]:
    """What the leaders of the held-out reviews carry, and what they would carry without attention."""
    found = read(run, reviews, reviews.aside)
    there, leads = found.leads > -2, found.leads >= 0
    own = np.abs(run.E[reviews.ids] @ run.few[: run.dim])
    share = reviews.counts / np.add.reduceat(reviews.counts, reviews.offsets[:-1]).repeat(np.diff(reviews.offsets))
    rest = there & ~leads

    def part(weight: NDArray[np.float64]) -> float:
        every = np.add.reduceat(np.where(there, weight, 0.0), reviews.offsets[:-1])[reviews.aside]
        lead = np.add.reduceat(np.where(leads, weight, 0.0), reviews.offsets[:-1])[reviews.aside]
        return float((lead / every).mean())

    off = replace(run, layers=0)
    labels = reviews.labels[reviews.aside]
    return {
        "leaders": float(leads.sum() / len(reviews.aside)),
        "weight on leaders": part(found.weights),
        "their share of the words": part(share),
        "their part of the logit": part(found.weights * own),
        "their part without attention": part(share * own),
        "strength of leaders": float(own[leads].mean()),
        "strength of others": float(own[rest].mean()),
        "accuracy, attention off": float(((read(off, reviews, reviews.aside).logits > 0) == (labels == 1)).mean()),
    }


def paper_runs(
    context: Context, *, runs: int, epochs: int, reviews: int | None, explained: int, dims: Sequence[int]
) -> dict[tuple[int, int], list[Run]]:
    """Measurements of the paper's recipe by (dimension, layers) and seed, with 8 layers and with none."""
    found: dict[tuple[int, int], list[Run]] = {(d, layers): [] for d in dims for layers in (LAYERS, 0)}
    for seed in range(context.seed, context.seed + runs):
        made = Models(replace(context, seed=seed), reviews, epochs)
        for (d, layers), list_of_runs in found.items():
            key = {"recipe": "paper", "d": d, "layers": layers, "epochs": epochs, "reviews": reviews, "seed": seed}
            list_of_runs.append(context.memo({**key, "explained": explained}, _measure, made, d, layers, explained))
    return found


def _measure(made: Models, d: int, layers: int, explained: int) -> Run:
    run, reviews = made.paper(d, layers), made.reviews
    test = run.history["test_accuracy"]
    measured = {"accuracy": test[-1], "best": max(test), "loss": run.history["loss"][-1], "alpha": run.alpha}
    measured |= carried(run, reviews) if layers else {}
    return measured | faithfulness(run, reviews, reviews.aside[:explained], made.context.seed)


@study(
    "mechanism",
    "The paper's recipe over ten seeds: where does alpha end, what do leaders carry, does attention help?",
    minutes=25,
    quick={"runs": 2, "epochs": 2, "reviews": 600, "explained": 50},
)
def mechanism(
    context: Context, *, runs: int = 10, epochs: int = 100, reviews: int = 6000, explained: int = 300,
    dims: tuple[int, ...] = (2,),
) -> Outcome:  # fmt: skip
    """Train every seed with and without attention, and compare them in pairs."""
    found = paper_runs(context, runs=runs, epochs=epochs, reviews=reviews, explained=explained, dims=dims)
    names = ("accuracy", "best", "accuracy, attention off", "alpha", "leaders", "weight on leaders",
             "their share of the words", "their part of the logit", "their part without attention",
             "strength of leaders", "strength of others")  # fmt: skip
    rows = [(d, name, interval(run[name] for run in found[d, LAYERS])) for d in dims for name in names]
    each: list[dict[str, Any]] = []
    for d in dims:
        rows += [
            (d, "accuracy of K = 0, trained by itself", interval(zero["accuracy"] for zero in found[d, 0])),
            (d, "attention against its own K = 0, points", gains(found[d, LAYERS], found[d, 0], scale=100)),
            (d, "the same at the best epochs, points", gains(found[d, LAYERS], found[d, 0], "best", 100)),
        ]
        each += [
            {"d": d, "seed": seed, "alpha": run["alpha"], "(1+alpha)^-8": (1 + run["alpha"]) ** -LAYERS,
             "accuracy": run["accuracy"], "accuracy of K = 0": zero["accuracy"]}
            for seed, (run, zero) in enumerate(zip(found[d, LAYERS], found[d, 0], strict=True), context.seed)
        ]  # fmt: skip
    context.table("mechanism", f"The paper's recipe, {runs} seeds", rows, ("d", "measure", "value"))
    context.table("by-seed", "Every seed", each)
    named = {f"paper's recipe, d = {d}, K = {k}": runs_ for (d, k), runs_ in found.items()}
    context.table("faithfulness", FAITHFULNESS, faithfulness_rows(named))
    first = {name: value for d, name, value in rows if d == dims[0]}
    gain = first["attention against its own K = 0, points"]
    return Outcome(
        f"In d = {dims[0]} alpha ends at {first['alpha']} (the paper's saved model: {PAPER_ALPHA}). Leaders carry "
        f"{first['their part of the logit']} of the logit, against {first['their part without attention']} for the "
        f"same words without attention. Attention changes the accuracy by {gain} points against the same start trained "
        f"without it ({runs} seeds, paired).",
        numbers={"alphas": {str(d): [run["alpha"] for run in found[d, LAYERS]] for d in dims}},
    )


FAITHFULNESS = "Leaving out, or keeping only, the first k words of a ranking"


def faithfulness_rows(found: dict[str, list[Run]]) -> list[dict[str, Any]]:
    """Comprehensiveness and sufficiency at every k of TOPS."""
    return [
        {"model": name, "ranking": ranking, "measure": what}
        | {f"k = {k}": interval(run[f"{what} {ranking} {k}"] for run in runs) for k in TOPS}
        for name, runs in found.items()
        for ranking in ("parts", "leaders", "score", "random")
        for what in ("comprehensiveness", "sufficiency")
        if f"{what} {ranking} {TOPS[0]}" in runs[0]
    ]
