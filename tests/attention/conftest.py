"""The tests of this folder are about the compiled searches, also on clouds that are small enough for the plain way."""

import pytest

from hardmax.jit.ways import COMPILED, forced


@pytest.fixture(autouse=True)
def compiled():
    with forced(COMPILED):
        yield
