"""Tables of measurements: intervals agree with published quantiles; every form of a table has the same numbers."""

import csv
from io import StringIO

import numpy as np
import pytest

from hardmax.errors import BadInput
from hardmax.experiments.table import Interval, Share, Table, interval, markdown_text, plain, read_table

# Two-sided 95 % quantiles of Student's distribution by degrees of freedom, from the printed tables (three decimals).
PUBLISHED = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 30: 2.042, 120: 1.980}


@pytest.mark.parametrize("degrees", PUBLISHED)
def test_intervals_have_the_published_quantiles_of_student(degrees):
    values = np.arange(degrees + 1.0)
    found = interval(values)
    assert (found.mean, found.count) == (degrees / 2, degrees + 1)
    variance = sum((x - found.mean) ** 2 for x in values) / degrees
    assert found.half / np.sqrt(variance / (degrees + 1)) == pytest.approx(PUBLISHED[degrees], abs=6e-4)


def test_a_students_interval_covers_the_mean_in_95_of_100_samples():
    rng = np.random.default_rng(0)
    samples = [interval(rng.normal(3, 2, size=4)) for _ in range(2000)]
    covered = sum(abs(found.mean - 3) <= found.half for found in samples)
    assert 0.935 <= covered / len(samples) <= 0.965


def test_one_run_has_no_interval():
    found = interval([0.25])
    assert (str(found), plain(found)) == ("0.25", {"mean": 0.25, "half": None, "count": 1})


def test_a_share_has_wilsons_interval():
    z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
    for count, trials in ((0, 7), (3, 10), (40, 41), (5, 5)):
        low, high = Share(count, trials).interval
        for p in (low, high):
            if 0 < p < 1:  # the ends are where a normal test of p just rejects
                assert abs(count / trials - p) == pytest.approx(z * np.sqrt(p * (1 - p) / trials))
        assert 0 <= low <= count / trials <= high <= 1
    assert Share(0, 7).interval[0] == 0
    assert Share(5, 5).interval[1] == 1


def test_a_share_of_nothing_is_refused():
    for count, trials in ((3, 2), (-1, 2), (0, 0)):
        with pytest.raises(BadInput, match=f"{count} of {trials} is not a share"):
            Share(count, trials)


TABLE = Table(
    "t", "caption", ("name", "part", "mean"),
    (("a", Share(1, 4), interval([1.0, 2.0])), ("b", Share(0, 4), interval([0.25, 0.75]))),
)  # fmt: skip


def test_csv_has_a_column_for_each_number():
    rows = list(csv.reader(StringIO(TABLE.csv())))
    assert rows[0] == ["name", "part", "part: trials", "part: low", "part: high", "mean", "mean (95 %)"]
    assert [row[:3] for row in rows[1:]] == [["a", "1", "4"], ["b", "0", "4"]]
    assert float(rows[1][3]) == Share(1, 4).interval[0]
    assert Table("t", "", ("x", "y"), ()).csv() == "x,y\n"


def test_a_table_reads_back_from_its_document():
    again = read_table(TABLE.document())
    assert again == TABLE
    assert again.records() == TABLE.records()
    single = read_table(Table("t", "", ("x",), ((interval([1.0]),),)).document())
    assert isinstance(single.rows[0][0], Interval)
    for change in ({"rows": [[1]]}, {"columns": None}, {"rows": [[{}, 1, 2]]}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            read_table(TABLE.document() | change)


def test_a_table_is_markdown_with_its_intervals():
    text = Table("t", "", ("a", "b"), ((1, interval([1.0, 1.0])), (0.123456, "x"))).markdown()
    assert text == "| a | b |\n|---|---|\n| 1 | 1 ± 0 |\n| 0.1235 | x |"
    assert Table("t", "", ("a",), (("1|2",),)).markdown().endswith("| 1\\|2 |")
    assert markdown_text("a\nb <script>") == "a b &lt;script&gt;"


def test_a_column_is_found_by_its_name():
    assert TABLE.column("name") == ["a", "b"]


def test_an_empty_cell_takes_the_columns_of_its_interval():
    table = Table("t", "", ("name", "gain"), [("none", ""), ("some", interval([1.0, 3.0]))])
    head, first, second = (line.split(",") for line in table.csv().splitlines())
    assert head == ["name", "gain", "gain (95 %)"]
    assert first == ["none", "", ""]
    assert second[:2] == ["some", "2.0"]
    assert len(second) == 3
