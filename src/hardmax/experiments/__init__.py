"""Experiments on the papers: claims, reproductions, open questions and studies, all in one framework.

An experiment is an *item*: a function with a decorator. It gets a `Context` (seed, quick or full, folder, progress,
writers for tables, figures, data and cases) and its settings as keyword-only arguments, whose defaults are those of the
full run; `quick=` holds what differs in a quick run. It returns an `Outcome`. To add one, write the function into a
module of its group; a new module is listed in `item.GROUPS`. Running, resuming, records, reports and the list of names
need no further code.

A claim of the papers (`claims/`, hardmax verify) checks one case; its cases come from a generator:

    @claim("fact-3", "[AFZ24], fact 3", trials=60, cases=small_clouds, kinds=KINDS, fields=("tokens", "alpha"))
    def hull_never_grows(case: Case) -> str | None:
        'Every token of layer k+1 lies in the convex hull of the tokens of layer k.'  # the statement
        return None if holds(case) else "token 2 of layer 1 lies outside the hull of layer 0"

A figure or table of the papers (`reproduce/`, hardmax reproduce) stands beside the paper's numbers:

    @reproduction("accuracy", "Accuracy by epoch", source="[AFZ24] section 6", minutes=11, quick={"epochs": 4})
    def accuracy(context: Context, *, epochs: int = 100) -> Outcome:
        context.figure("accuracy", "training:plot_accuracies", curves, text="Test accuracy by epoch.")
        return Outcome("0.87 at the last epoch.", paper="0.88", differs="We use fewer reviews.")

An open question (`questions/`, hardmax explore) is answered in a sentence, with tables and exact cases:

    @question("one-head", "Can one head cycle?", quick={"trials": 2})
    def one_head(context: Context, *, trials: int = 15) -> Outcome:
        context.table("drawn", "Random leaders", [{"d": 2, "cycles": Share(0, trials)}])
        return Outcome("Yes, with ties.")

A study (`studies/`, hardmax study) measures; `context.sweep` tells where it is and keeps finished cells, as
`context.memo` keeps a single value:

    @study("ablation", "What does attention bring?", quick={"seeds": (0, 1)})
    def ablation(context: Context, *, seeds: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Outcome:
        runs = context.sweep([(seed,) for seed in seeds], "seed {}", measure)
        context.table("accuracy", "Accuracy", [{"runs": len(runs), "accuracy": interval(runs.values())}])
        return Outcome("Attention costs 0.3 points.")
"""

from hardmax.experiments.case import Case
from hardmax.experiments.context import Context
from hardmax.experiments.item import Outcome, question, reproduction, study
from hardmax.experiments.table import Share, gains, interval

__all__ = ["Case", "Context", "Outcome", "Share", "gains", "interval", "question", "reproduction", "study"]
