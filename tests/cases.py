"""How many random cases a test takes: few in the suite, many where HARDMAX_CASES=many is set, as `make fuzz` does."""

import os
from typing import TypeVar

T = TypeVar("T")


def cases(few: T, many: T) -> T:
    """One of the two, as the environment says."""
    return many if os.environ.get("HARDMAX_CASES") == "many" else few
