"""Tables of measurements: means and shares with their 95 % intervals, as Markdown, csv and plain data."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.io.files import write_file

STUDENT_95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % interval, mean +- t s / sqrt(n) with Student's t.

    Example:
        >>> str(interval([0.8, 0.9, 1.0]))
        '0.9 ± 0.25'
    """

    mean: float
    half: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.3g}" if self.count < 2 else f"{self.mean:.3g} ± {self.half:.2g}"


def interval(values: Iterable[float]) -> Interval:
    """The mean of independent runs with its 95 % interval."""
    x = np.asarray(list(values), np.float64)
    if len(x) < 2:
        return Interval(float(x.mean()), float("nan"), len(x))
    t = STUDENT_95.get(len(x) - 1, 1.96 + 2.4 / (len(x) - 1))
    return Interval(float(x.mean()), float(t * x.std(ddof=1) / sqrt(len(x))), len(x))


@dataclass(frozen=True)
class Share:
    """`count` of `trials`, with the 95 % interval of Wilson, which stays inside [0, 1] and is honest at 0 and at 1.

        (p + q/2 +- z sqrt(p(1-p)/n + q/(4n))) / (1 + q),      z = 1.96, q = z^2/n

    Example:
        >>> str(Share(0, 100)), str(Share(3, 4))
        ('0/100 (0-3.7 %)', '3/4 (30.1-95.4 %)')
    """

    count: int
    trials: int

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.trials or self.trials < 1:
            raise BadInput(f"{self.count} of {self.trials} is not a share", fix="0 <= count <= trials, trials >= 1")

    @property
    def part(self) -> float:
        """count / trials."""
        return self.count / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval."""
        q = NORMAL_95**2 / self.trials
        middle, p = self.part + q / 2, self.part
        half = NORMAL_95 * sqrt(p * (1 - p) / self.trials + q / (4 * self.trials))
        # At the ends the formula is exact, but its rounding is not.
        low = 0.0 if self.count == 0 else (middle - half) / (1 + q)
        return low, 1.0 if self.count == self.trials else (middle + half) / (1 + q)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count}/{self.trials} ({_percent(low)}-{_percent(high)} %)"


@dataclass(frozen=True)
class Table:
    """Rows of one table; a cell is a text, a number, an `Interval` or a `Share`."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def markdown(self) -> str:
        """The table for a page of the manual."""
        lines = [f"| {' | '.join(self.columns)} |", "|" + "---|" * len(self.columns)]
        lines += [f"| {' | '.join(_cell(x) for x in row)} |" for row in self.rows]
        return "\n".join(lines)

    def column(self, name: str) -> list[Any]:
        """One column."""
        return [row[self.columns.index(name)] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain data."""
        return [dict(zip(self.columns, map(plain, row), strict=True)) for row in self.rows]

    def write_csv(self, path: Path) -> Path:
        """Write the table; intervals and shares take a column for each of their numbers."""

        def write(to: Path) -> None:
            with to.open("w", newline="", encoding="utf-8") as handle:
                writer = csv.writer(handle, lineterminator="\n")
                first = self.rows[0] if self.rows else self.columns
                writer.writerow([h for c, x in zip(self.columns, first, strict=True) for h in _heads(c, x)])
                writer.writerows([[part for x in row for part in _parts(x)] for row in self.rows])

        return write_file(path, write)


def plain(x: Any) -> Any:
    """A cell as plain data."""
    if isinstance(x, Interval):
        return {"mean": x.mean, "half": x.half if x.count > 1 else None, "count": x.count}
    if isinstance(x, Share):
        low, high = x.interval
        return {"count": x.count, "trials": x.trials, "low": low, "high": high}
    return x


def _heads(name: str, x: Any) -> Sequence[str]:
    if isinstance(x, Share):
        return name, f"{name}: trials", f"{name}: low", f"{name}: high"
    return (name, f"{name} (95 %)") if isinstance(x, Interval) else (name,)


def _parts(x: Any) -> Sequence[Any]:
    if isinstance(x, Share):
        return x.count, x.trials, *x.interval
    return (x.mean, x.half) if isinstance(x, Interval) else (x,)


def _cell(x: Any) -> str:
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def _percent(part: float) -> str:
    return f"{100 * part:.2g}" if part < 0.1 else f"{100 * part:.3g}"
