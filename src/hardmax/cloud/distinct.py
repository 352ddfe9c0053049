"""The distinct rows of an array in linear time: equal tokens become one point with a multiplicity."""

import numpy as np

from hardmax.jit.ways import Job
from hardmax.shapes import Array, Float, Int, checked

FEW = 32  # up to this many rows a dictionary is as fast as compiled code
_ROW = 10_000  # the work that a row in a dictionary counts for, in products of coordinates: plain up to 53,000 rows
_JOB = Job("distinct_table.by_table")


@checked
def distinct_rows(tokens: Float[Array, "n d"]) -> tuple[Int[Array, " p"], Int[Array, " n"]]:
    """Distinct rows by bit pattern, in order of first appearance.

    Args:
        tokens: (n, d), without -0.0 (its bits differ from those of 0.0).

    Returns:
        first: (m,) the index of the first row of each distinct point.
        point_of: (n,) the distinct point of each row, so that tokens[first][point_of] equals tokens.

    Example:
        >>> first, point_of = distinct_rows(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
        >>> first.tolist(), point_of.tolist()
        ([0, 1], [0, 1, 0])
    """
    tokens = np.ascontiguousarray(tokens)
    n, d = tokens.shape
    if n > FEW and not _JOB.plain(_ROW * n):
        from hardmax.cloud.distinct_table import KEY, by_table

        found: tuple[Int[Array, " p"], Int[Array, " n"]] = by_table(tokens.view(np.uint64), KEY)
        _JOB.ready = True
        return found
    with _JOB.counted():
        number: dict[bytes, int] = {}
        rows = tokens.view(np.dtype((np.void, 8 * d))).reshape(n).tolist()
        point_of = np.array([number.setdefault(row, len(number)) for row in rows], dtype=np.int64)
        first = np.full(len(number), n, np.int64)
        np.minimum.at(first, point_of, np.arange(n))
        return first, point_of
