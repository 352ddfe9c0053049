"""How much memory the limit of a large cloud needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PEAK = """
import sys
import numpy as np
import hardmax as hx

n, d = 400_000, int(sys.argv[1])
rng = np.random.default_rng(d)
hx.limit(rng.uniform(-1, 1, (n // 8, d)))  # loads what is needed
Z = rng.uniform(-1, 1, (n, d))

def megabytes(name):
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith(name)).split()[1]) / 1024

with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # the largest size so far is the present one
before = megabytes("VmRSS:")
found = hx.limit(Z)
print((megabytes("VmHWM:") - before) / (Z.nbytes / 2**20))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="only Linux tells the peak of a process")
@pytest.mark.parametrize(("dim", "most"), [(2, 3.4), (3, 6.4)])
def test_a_limit_takes_a_few_times_the_memory_of_its_tokens(dim, most):
    """The result, in which limits take as much as tokens, is counted; what malloc keeps of freed arrays is not.

    In space more than half of the tokens of this cube are not ordinary.
    """
    one = {"MALLOC_MMAP_THRESHOLD_": "65536", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **one, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", PEAK, str(dim)]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert float(told) <= most
