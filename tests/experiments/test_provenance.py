"""Results say where they come from."""

import numpy

from hardmax import __version__
from hardmax.experiments.context import provenance


def test_it_names_versions_seed_and_machine():
    found = provenance(seed=3)
    assert found["version"] == __version__
    assert found["packages"]["numpy"] == numpy.__version__
    assert found["seed"] == 3
    assert "cores" in found["machine"]


def test_it_is_the_same_every_time():
    assert provenance(1) == provenance(1)
