"""A run that is killed is resumed to the output of an undisturbed one; `benchmarks/kill.py` does this 20 times each."""

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from kill import disturbed, jobs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train", "predict", "sweep", "limit"])
def test_a_killed_run_resumes_to_the_same_output(name, tmp_path):
    (tmp_path / name).mkdir()
    size = 0.1 if name == "sweep" else 0.4
    killed, wrong = disturbed(jobs(tmp_path, size)[name], tmp_path / name, 1, random.Random(1))
    assert wrong == []
    assert killed == 1
