"""Tables of measurements: means and shares with their 95 % intervals, as Markdown, csv, HTML rows and plain data."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from io import StringIO
from math import sqrt
from typing import Any

import numpy as np

from hardmax.errors import BadInput

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """The mean of `count` independent runs and half the width of its 95 % interval.

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
    """The mean of independent runs with its 95 % interval: mean ± t s / sqrt(n), Student's t with n - 1 degrees.

    Example:
        >>> interval([1.0, 3.0]).mean
        2.0
    """
    x = np.asarray(list(values), np.float64)
    if len(x) < 2:
        return Interval(float(x.mean()), float("nan"), len(x))
    from scipy.stats import t

    quantile = t.ppf((1 + LEVEL) / 2, len(x) - 1)
    return Interval(float(x.mean()), float(quantile * x.std(ddof=1) / sqrt(len(x))), len(x))


def gains(
    runs: Iterable[dict[str, Any]], base: Iterable[dict[str, Any]], name: str = "accuracy", scale: int = 1
) -> Interval:
    """The mean difference between runs and the runs that they are paired with.

    Example:
        >>> gains([{"accuracy": 0.75}], [{"accuracy": 0.5}], scale=100).mean
        25.0
    """
    return interval(scale * (run[name] - other[name]) for run, other in zip(runs, base, strict=True))


@dataclass(frozen=True)
class Share:
    """`count` of `trials` with Wilson's 95 % interval, which stays inside [0, 1] and is valid at 0 and at 1.

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
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval."""
        from scipy.stats import binomtest

        found = binomtest(self.count, self.trials).proportion_ci(LEVEL, method="wilson")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        low, high = (f"{100 * part:.2g}" if part < 0.1 else f"{100 * part:.3g}" for part in self.interval)
        return f"{self.count}/{self.trials} ({low}-{high} %)"


@dataclass(frozen=True)
class Table:
    """A table of a report."""

    name: str  # of its csv file
    caption: str  # what it shows
    columns: Sequence[str]  # the heads of the columns
    rows: Sequence[Sequence[Any]]  # the cells: texts, numbers, an `Interval` or a `Share`

    def column(self, name: str) -> list[Any]:
        """One column."""
        return [row[list(self.columns).index(name)] for row in self.rows]

    def texts(self) -> list[list[str]]:
        """The rows as they are read: floats with four digits."""
        return [[f"{x:.4g}" if isinstance(x, float) else str(x) for x in row] for row in self.rows]

    def markdown(self) -> str:
        """The table in Markdown.

        Example:
            >>> print(Table("t", "", ("x", "half of x"), [(1, 0.5)]).markdown())
            | x | half of x |
            |---|---|
            | 1 | 0.5 |
        """
        lines = [_line(self.columns), "|" + "---|" * len(self.columns), *map(_line, self.texts())]
        return "\n".join(lines)

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain data, by column."""
        return [dict(zip(self.columns, map(plain, row), strict=True)) for row in self.rows]

    def csv(self) -> str:
        """The table as csv; intervals and shares take one column for each of their numbers, empty cells as well."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        cells = [list(map(_parts, row)) for row in self.rows]
        ends = [max((list(row[c]) for row in cells), key=len, default=[""]) for c in range(len(self.columns))]
        writer.writerow([name + end for name, some in zip(self.columns, ends, strict=True) for end in some])
        for row in cells:
            writer.writerow([parts.get(end, "") for parts, some in zip(row, ends, strict=True) for end in some])
        return text.getvalue()

    def document(self) -> dict[str, Any]:
        """The table as plain data; `read_table` reads it back."""
        rows = [list(map(plain, row)) for row in self.rows]
        return {"name": self.name, "caption": self.caption, "columns": list(self.columns), "rows": rows}


def table_of(name: str, caption: str, rows: Iterable[Any], columns: Sequence[str] = ()) -> Table:
    """A table of rows with these columns, or of dicts, whose keys are the columns.

    Example:
        >>> table_of("t", "", [{"x": 1, "y": 2}, {"x": 3, "y": 4}]).rows
        [(1, 2), (3, 4)]
    """
    every = list(rows)
    if every and isinstance(every[0], dict):
        columns = tuple(every[0])
        every = [tuple(row[column] for column in columns) for row in every]
    return Table(name, caption, columns, every)


def read_table(document: dict[str, Any]) -> Table:
    """A table from its plain data; KeyError, TypeError or ValueError if it is not one."""
    columns = tuple(map(str, document["columns"]))
    rows = tuple(tuple(_cell(x) for x in row) for row in document["rows"])
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"the table {document['name']} has rows of different length")
    return Table(str(document["name"]), str(document["caption"]), columns, rows)


def plain(x: Any) -> Any:
    """A cell as plain data.

    Example:
        >>> plain(Interval(0.5, 0.1, 3))
        {'mean': 0.5, 'half': 0.1, 'count': 3}
    """
    if isinstance(x, Interval):
        return {**asdict(x), "half": x.half if x.count > 1 else None}
    if isinstance(x, Share):
        return {**asdict(x), **dict(zip(("low", "high"), x.interval, strict=True))}
    return x


def _cell(x: Any) -> Any:
    if not isinstance(x, dict):
        return x
    if "trials" in x:
        return Share(int(x["count"]), int(x["trials"]))
    half = float("nan") if x["half"] is None else float(x["half"])
    return Interval(float(x["mean"]), half, int(x["count"]))


def markdown_text(value: Any) -> str:
    """Text for Markdown, with everything escaped that would be read as markup or as the end of a cell.

    Example:
        >>> markdown_text("a|b <i> *c*")
        'a\\\\|b &lt;i&gt; \\\\*c\\\\*'
    """
    text = escape(" ".join(str(value).split()), quote=False)
    return "".join("\\" + c if c in "\\|*_`[]#" else c for c in text)


def _line(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"


def _parts(x: Any) -> dict[str, Any]:
    """The numbers of a cell in a csv file, by what each of them adds to the head of the column."""
    if isinstance(x, Share):
        low, high = x.interval
        return {"": x.count, ": trials": x.trials, ": low": low, ": high": high}
    return {"": x.mean, " (95 %)": x.half} if isinstance(x, Interval) else {"": x}
