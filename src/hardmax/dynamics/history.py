"""The tokens of a run while it goes on: of every layer, or only of the last ones."""

import os
from math import inf
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput, counted

KEPT = ("all", "last")
WINDOW = 2**22  # coordinates of the last layers, by which the outcome of a run is judged that keeps only its end


def memory() -> float:
    """The bytes of memory that this machine has; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return inf


def check_room(layers: int, n: int, dim: int) -> None:
    """Refuse to keep the tokens of all layers where they take more memory than the machine has.

    Without this the system would end the process without a message.
    """
    size, room = 8.0 * (layers + 1) * n * dim, memory()
    if size > room:
        raise BadInput(
            f"{layers + 1:,} layers of {counted(n, 'token')} take {size / 1e9:.2g} GB; this machine has "
            f"{room / 1e9:.2g} GB",
            fix='run fewer layers, or use keep="last"',
        )


class TokenHistory:
    """Z^0..Z^K by layer. With keep="last", a layer takes the place of one that is no longer needed.

    Example:
        >>> history = TokenHistory(1000, 1, 1, "last")
        >>> for layer in range(1001):
        ...     history[layer] = layer
        >>> history.last_layers()[-1].item(), history.first_layer, history.kept().shape
        (1000.0, 1000, (1, 1, 1))
    """

    def __init__(self, layers: int, n: int, dim: int, keep: str = "all") -> None:
        if keep == "all":
            check_room(layers, n, dim)
        self.layers, self.keep = layers, keep
        most = layers + 1 if keep == "all" else max(3, min(WINDOW // (n * dim), 128))
        self._rows: Floats = np.empty((min(layers + 1, most), n, dim))

    @property
    def first_layer(self) -> int:
        """The first layer that the result keeps."""
        return 0 if self.keep == "all" else self.layers

    @property
    def oldest(self) -> int:
        """The first layer that will still be there at the end of the run."""
        return self.layers + 1 - len(self._rows)

    def __getitem__(self, layer: int) -> Floats:
        row: Floats = self._rows[layer % len(self._rows)]
        return row

    def __setitem__(self, layer: int, tokens: Any) -> None:
        self._rows[layer % len(self._rows)] = tokens

    def __len__(self) -> int:
        return self.layers + 1

    def last_layers(self) -> Floats:
        """The layers that are still there, in order."""
        return np.roll(self._rows, -((self.layers + 1) % len(self._rows)), axis=0) if self.first_layer else self._rows

    def kept(self) -> Floats:
        """The tokens of the result: of all layers, or of the last one."""
        return self._rows if self.keep == "all" else self[self.layers][None].copy()
