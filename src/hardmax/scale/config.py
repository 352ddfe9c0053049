"""What a sweep runs: a TOML file becomes numbered runs.

    [sweep]               [fixed]               [grid]                [random]
    kind = "dynamics"     cloud = "normal"      n = [50, 100]         alpha = {low = 0.1, high = 10, scale = "log"}
    seeds = 200           matrix = "random"     d = [2, 3]
    points = 500

`[grid]` makes every combination of its values; `[random]` draws `points` values for each combination. Each resulting
point is run for every seed. Run number r is seed r mod S of point r div S, so a run can be repeated by its number.
"""

import difflib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput

CONFIGS = Path(__file__).parent / "configs"
MOST_RUNS = 10**9
MOST_POINTS = 10**6
CLOUDS = ("normal", "ball", "sphere", "cube")
RULES = ("hardmax", "softmax", "localmax", "uniform")
NORMALIZATIONS = ("rescale", "none", "sphere")
MATRICES = ("identity", "random")
KINDS_OF_VALUES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


@dataclass(frozen=True)
class Parameter:
    """A setting: its type, default and least value, the words that are allowed, and how to fix a wrong value."""

    kind: type
    default: Any
    least: float = -math.inf
    words: tuple[str, ...] = ()
    fix: str | None = None

    def check(self, name: str, value: Any) -> Any:
        """The value, converted to its type; BadInput if the parameter cannot have it."""
        if self.words and value not in self.words:
            raise BadInput(f"{name} is {value!r}", fix="use " + ", ".join(self.words))
        good = isinstance(value, int | float) and not isinstance(value, bool) if self.kind is float else False
        if not (good or type(value) is self.kind or (value is None and self.default is None)):
            raise BadInput(f"{name} must be {KINDS_OF_VALUES[self.kind]}", found=repr(value), fix=self.fix)
        if self.kind in (int, float) and value is not None and not value >= self.least:
            raise BadInput(f"{name} must be at least {self.least:g}", found=repr(value))
        return float(value) if good else value


HEAD = {
    "seeds": Parameter(int, 1, 1, fix="give the number of runs of every point; first_seed is where they begin"),
    "first_seed": Parameter(int, 0, 0, fix="give the first seed; seeds is how many there are"),
    "points": Parameter(int, 100, 1, fix="give the number of draws of [random]"),
}
DYNAMICS = {
    "n": Parameter(int, 100, 1),
    "d": Parameter(int, 2, 1),
    "alpha": Parameter(float, 0.5, 1e-12),
    "layers": Parameter(float, math.inf, 0),
    "cloud": Parameter(str, "normal", words=CLOUDS),
    "matrix": Parameter(str, "identity", words=MATRICES),
    "condition": Parameter(float, 10.0, 1),
    "rule": Parameter(str, "hardmax", words=RULES),
    "beta": Parameter(float, 1.0, 0),
    "eps": Parameter(float, 0.1, 0),
    "heads": Parameter(int, 1, 1),
    "normalization": Parameter(str, "rescale", words=NORMALIZATIONS),
    "causal": Parameter(bool, False),
    "cluster_tolerance": Parameter(float, 0.02, 0),
}
TRAINING = {
    "data": Parameter(str, "imdb"),
    "test": Parameter(str, None),
    "texts": Parameter(int, None, 2),
    "dim": Parameter(int, None, 1),
    "layers": Parameter(int, None, 0),
    "ngrams": Parameter(int, None, 1),
    "min_df": Parameter(int, None, 1),
    "alpha": Parameter(float, None, 1e-12),
    "epochs": Parameter(int, None, 1),
    "batch_size": Parameter(int, None, 1),
    "learning_rate": Parameter(float, None, 1e-12),
    "dropout": Parameter(float, None, 0),
}
KINDS = {"dynamics": DYNAMICS, "training": TRAINING}
BATCHED = {"rule": "hardmax", "normalization": "rescale", "heads": 1, "causal": False, "matrix": "identity"}


def is_batched(settings: Mapping[str, Any]) -> bool:
    """Whether these are the paper's dynamics, which run for many seeds in one call."""
    return all(settings[name] == value for name, value in BATCHED.items())


@dataclass(frozen=True)
class Sweep:
    """Numbered runs.

    Example:
        >>> s = read_sweep({"sweep": {"kind": "dynamics", "seeds": 3}, "grid": {"n": [10, 20]}})
        >>> len(s), s.run(4)["n"], s.run(4)["seed"]
        (6, 20, 1)
    """

    name: str
    kind: str  # "dynamics" or "training"
    points: tuple[dict[str, Any], ...]  # the settings of every point, complete
    seeds: int  # the number of runs of each point, with the seeds first_seed, first_seed + 1, ...
    first_seed: int = 0
    layers: tuple[int, ...] = ()  # depths of the rows of each run; empty for the one depth that its point names
    plot: dict[str, Any] = field(default_factory=dict)  # how the study is drawn: {"kind", "x", "y", "by", ...}

    def __len__(self) -> int:
        return len(self.points) * self.seeds

    @property
    def rows(self) -> int:
        """How many rows the table of results has."""
        return len(self) * max(1, len(self.layers))

    def run(self, number: int) -> dict[str, Any]:
        """The settings of one run, with its seed."""
        point, seed = divmod(number, self.seeds)
        return {**self.points[point], "seed": self.first_seed + seed}

    @property
    def digest(self) -> str:
        """A fingerprint of everything that decides the results."""
        parts = [self.kind, self.points, self.seeds, self.first_seed, self.layers]
        return sha256(dumps(parts, sort_keys=True).encode()).hexdigest()


def read_sweep(config: str | Path | Mapping[str, Any]) -> Sweep:
    """A sweep from a TOML file, from the name of a shipped configuration, or from the same as a dict.

    Raises:
        BadInput: the file is missing or not TOML, or a setting is unknown or out of bounds.

    Example:
        >>> read_sweep("leaders").kind
        'dynamics'
    """
    given, name = (config, "sweep") if isinstance(config, Mapping) else _read(Path(config))
    if not given:
        raise BadInput(f"{name}: there is nothing to run", fix="give a [grid] of parameters, such as n = [50, 100]")
    _known("section", given, ("sweep", "fixed", "grid", "random", "plot"))
    for name_of, section in given.items():
        if not isinstance(section, Mapping):
            raise BadInput(f"{name_of}: expected a table of settings", found=repr(section))
    usual = {key: setting.default for key, setting in HEAD.items()}
    head = {"kind": "dynamics", **usual, "name": name} | given.get("sweep", {})
    _known("setting of [sweep]", head, ("kind", *HEAD, "name"))
    if head["kind"] not in list(KINDS):  # a list, which has no hash, is not a kind either
        raise BadInput(f"kind is {head['kind']!r}", fix="use " + " or ".join(KINDS))
    for key, setting in HEAD.items():
        setting.check(key, head[key])
    table = KINDS[head["kind"]]
    grid = {key: values if isinstance(values, list) else [values] for key, values in given.get("grid", {}).items()}
    for section in (given.get("fixed", {}), grid, given.get("random", {})):
        _known("parameter", section, tuple(table))
    depths: tuple[int, ...] = ()
    if head["kind"] == "dynamics" and len(grid.get("layers", [])) > 1:
        depths = tuple(Parameter(int, 0, 0).check("layers", k) for k in grid.pop("layers"))
    points = _points(table, given.get("fixed", {}), grid, given.get("random", {}), head["points"])
    if len(points) * head["seeds"] > MOST_RUNS:
        raise BadInput(f"the sweep has {len(points) * head['seeds']:,} runs", fix=f"make at most {MOST_RUNS:,}")
    return Sweep(
        str(head["name"]), head["kind"], points, head["seeds"], head["first_seed"], depths, given.get("plot", {})
    )


def _points(
    table: Mapping[str, Parameter], fixed: Mapping[str, Any], grid: Mapping[str, list[Any]],
    random: Mapping[str, Any], count: int,
) -> tuple[dict[str, Any], ...]:  # fmt: skip
    """The settings of every point, in the order of the table."""
    for name, values in grid.items():
        if not values:
            raise BadInput(f"[grid] {name} has no value", fix=f"list some, or leave {name} out")
    points = math.prod(len(values) for values in grid.values()) * (count if random else 1)
    if points > MOST_POINTS:
        raise BadInput(f"the sweep has {points:,} points", fix=f"make at most {MOST_POINTS:,}; use more seeds instead")
    usual = {name: parameter.default for name, parameter in table.items()} | dict(fixed)
    combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    draws = _draws(random, count) if random else [{}]
    return tuple(
        {name: table[name].check(name, {**usual, **values, **drawn}[name]) for name in table}
        for values in combinations
        for drawn in draws
    )


def _draws(random: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """`count` draws of all random parameters; the same file gives the same draws."""
    rng = np.random.default_rng(0)
    drawn: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, how in random.items():
        if isinstance(how, list) and how:
            values = [how[k] for k in rng.integers(len(how), size=count)]
        elif isinstance(how, Mapping) and set(how) <= {"low", "high", "scale"} and {"low", "high"} <= set(how):
            low, high, scale = how["low"], how["high"], how.get("scale", "linear")
            numbers = all(isinstance(x, int | float) and abs(x) <= 1e18 for x in (low, high))
            if not numbers or not low <= high or scale not in ("linear", "log") or (scale == "log" and low <= 0):
                raise BadInput(f"[random] {name} has no valid range", found=repr(dict(how)))
            u = rng.random(count)
            x = low * (high / low) ** u if scale == "log" else low + (high - low) * u
            whole = isinstance(low, int) and isinstance(high, int)
            values = [round(v) if whole else float(v) for v in x.tolist()]
        else:
            fix = 'use a list, or {low = ..., high = ..., scale = "linear" or "log"}'
            raise BadInput(f"[random] {name} is neither a list nor a range", found=repr(how), fix=fix)
        for one, value in zip(drawn, values, strict=True):
            one[name] = value
    return drawn


def _known(what: str, given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(str(name), names, 1)
            raise BadInput(
                f"unknown {what} {name!r}", found=", ".join(names), fix=f"did you mean {close[0]!r}?" if close else None
            )


def _read(path: Path) -> tuple[dict[str, Any], str]:
    if not path.exists() and not path.suffix and (CONFIGS / f"{path.name}.toml").is_file():
        path = CONFIGS / f"{path.name}.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), path.stem
    except OSError:
        shipped = ", ".join(sorted(p.stem for p in CONFIGS.glob("*.toml")))
        raise BadInput(f"there is no file {path}", found=f"shipped: {shipped}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not TOML", found=str(error)) from None
