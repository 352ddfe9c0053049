"""A group of small experiments, to test the framework without any of the real ones."""

import sys
from types import ModuleType

from hardmax.errors import BadInput, MissingExtra
from hardmax.experiments import item as registry
from hardmax.experiments.case import Case
from hardmax.experiments.item import Group, Outcome, item
from hardmax.experiments.table import Share, interval

PACKAGE = "toys"
CALLS: list[str] = []  # names of the toys that ran, and what they computed


def dice(context, *, trials: int = 15, sides: tuple[int, ...] = (4, 6)):
    """A table, data, an exact case and a computation that is worth remembering."""
    CALLS.append("dice")
    context.tell(1, 2, "throwing")
    sixes = context.memo({"trials": trials, "seed": context.seed}, lambda: CALLS.append("throws") or trials // 6)
    rows = [(f"d{n} <b>|*", Share(sixes, trials), interval([0.5, 1.5])) for n in sides]
    context.table("sixes", "How many sixes", rows, ("die", "share", "mean"))
    context.table("hidden", "Not in the report", [{"x": 1}], show=False)
    context.data("throws", {"sixes": sixes})
    context.case(Case("cycle", {"name": "a-die", "period": 2}))
    return Outcome(f"{sixes} sixes.", paper="1 in 6.", differs="Chance & luck.", numbers={"sixes": sixes})


def coin(context, *, trials: int = 1):
    """The shortest item there can be."""
    CALLS.append("coin")
    return Outcome("Heads.")


def broken(context):
    raise BadInput("the coin is bent", fix="take another")


def lonely(context):
    raise MissingExtra("torch", "torch", "the lonely toy")


def interrupted(context):
    raise KeyboardInterrupt


def partial(context):
    return Outcome("half of it.", complete=False)


def install(monkeypatch):
    """Register the toys for one test."""
    CALLS.clear()
    group, home = (
        Group("toy", "toys", "play", "All <toys>", ("box",), (("[T]", "a toy"),)),
        f"hardmax.experiments.{PACKAGE}",
    )
    monkeypatch.setitem(registry.GROUPS, PACKAGE, group)
    monkeypatch.setitem(sys.modules, home, ModuleType(home))
    monkeypatch.setitem(sys.modules, f"{home}.box", sys.modules[__name__])
    monkeypatch.setattr(registry, "_ITEMS", {})
    about = {
        "dice": {"aliases": ("cubes",), "source": "[T, Fig. 1]", "quick": {"trials": 6}, "minutes": 3, "shares": True},
        "coin-flip": {"minutes": 2, "shares": True},
        "broken": {"minutes": 4},
    }
    toys = {"dice": dice, "coin-flip": coin, "broken": broken, "lonely": lonely, "interrupted": interrupted,
            "partial": partial}  # fmt: skip
    for name, run in toys.items():
        monkeypatch.setattr(run, "__module__", f"{home}.box")
        item(PACKAGE, name, f"The {name}?", **about.get(name, {}))(run)
