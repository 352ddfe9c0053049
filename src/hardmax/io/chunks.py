"""Clouds too large for memory, read in parts: an .npy file, or a folder of Parquet files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, need

Floats = NDArray[np.float64]


class Chunks:
    """Tokens start..stop-1 of a file at a time, checked, as float64 in C order and without -0.0.

    Attributes:
        n, dim: how many tokens, and of which dimension.
        stamp: sizes and times of the files, by which a later run sees that they are the same.

    Raises:
        BadInput: the file is missing or not an (n, d) array of numbers; `read` names a token that is not finite.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            self._open_parquet()
        elif self.path.suffix.lower() == ".npy" and self.path.is_file():
            self._open_npy()
        else:
            raise BadInput(
                f"{self.path} {'cannot be read in parts' if self.path.exists() else 'does not exist'}",
                fix="give an .npy file, or a folder of .parquet files",
            )
        if self.n == 0 or self.dim == 0:
            raise BadInput(f"{self.path} is empty: shape ({self.n}, {self.dim})")

    @property
    def stamp(self) -> list[list[Any]]:
        """Name, size and time of change of each file."""
        files = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]
        return [[f.name, f.stat().st_size, f.stat().st_mtime_ns] for f in files]

    def read(self, start: int, stop: int) -> Floats:
        """Tokens start..stop-1."""
        raw = self._read_parquet(start, stop) if self.path.is_dir() else self._read_npy(start, stop)
        tokens = np.asarray(raw, np.float64, order="C")  # a new array in any case
        flat = tokens.reshape(-1)
        if not np.vdot(flat, flat) < 1e299:  # one pass accepts nearly everything: NaN is not smaller
            bad = np.argwhere(~(np.abs(tokens) <= 1e150))
            if len(bad):
                i, k = bad[0]
                raise BadInput(
                    f"{self.path}: token {start + i}, coordinate {k} is {tokens[i, k]}; tokens must be finite, and "
                    "not larger than 1e150"
                )
        tokens += 0.0  # -0.0 and 0.0 are one value
        return tokens

    # -- .npy ------------------------------------------------------------------------------------------------------

    def _open_npy(self) -> None:
        try:
            with self.path.open("rb") as file:
                old = np.lib.format.read_magic(file) == (1, 0)
                read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
                shape, fortran, self._dtype = read(file)
                self._offset = file.tell()
        except Exception as error:  # a damaged header is parsed as Python, which raises nearly anything
            raise BadInput(f"{self.path} cannot be read as .npy: {error}") from error
        if len(shape) != 2 or min(shape) < 0 or self._dtype.kind not in "fiu":
            raise BadInput(f"{self.path} holds an array of {self._dtype} of shape {shape}; expected (n, d) numbers")
        if fortran and shape[1] > 1:
            raise BadInput(f"{self.path} is in Fortran order", fix="save it as np.ascontiguousarray(Z)")
        self.n, self.dim = shape
        if self.path.stat().st_size < self._offset + self.n * self.dim * self._dtype.itemsize:
            raise BadInput(f"{self.path} is shorter than its header says: it was cut off")

    def _read_npy(self, start: int, stop: int) -> NDArray[Any]:
        # Not a memory map: its pages would count as memory of this process for as long as the system keeps them.
        with self.path.open("rb") as file:
            file.seek(self._offset + start * self.dim * self._dtype.itemsize)
            flat = np.fromfile(file, self._dtype, (stop - start) * self.dim)
        return flat.reshape(-1, self.dim)

    # -- Parquet ---------------------------------------------------------------------------------------------------

    def _open_parquet(self) -> None:
        parquet = need("pyarrow.parquet", "parquet", "reading a parquet file")
        files = sorted(self.path.glob("*.parquet"))
        if not files:
            raise BadInput(f"{self.path} holds no .parquet files")
        self._groups: list[tuple[Path, int, int]] = []  # file, row group, number of its first token
        self.n, self.dim, self._open = 0, 0, parquet.ParquetFile
        for file in files:
            try:
                opened = parquet.ParquetFile(file)
            except (OSError, ValueError) as error:
                raise BadInput(f"{file} cannot be read as Parquet: {error}") from error
            columns = opened.schema_arrow
            wrong = [f.name for f in columns if not str(f.type).startswith(("double", "float", "int", "uint"))]
            if wrong or (self.dim and len(columns) != self.dim):
                raise BadInput(
                    f"{file} has {len(columns)} columns" + (f", and {wrong[0]!r} holds no numbers" if wrong else ""),
                    fix="give files with one column of numbers for each coordinate, the same in every file",
                )
            self.dim = len(columns)
            for group in range(opened.num_row_groups):
                self._groups.append((file, group, self.n))
                self.n += opened.metadata.row_group(group).num_rows

    def _read_parquet(self, start: int, stop: int) -> NDArray[Any]:
        starts = [first for _, _, first in self._groups]
        at, rows = int(np.searchsorted(starts, start, side="right")) - 1, []
        while at < len(starts) and starts[at] < stop:
            file, group, first = self._groups[at]
            table = self._open(file).read_row_group(group)
            rows.append(
                np.column_stack([column.to_numpy() for column in table.columns])[max(0, start - first) : stop - first]
            )
            at += 1
        return np.concatenate(rows)
