"""While tests run, arrays of the wrong shape are refused; otherwise nothing is checked and nothing is imported."""

import subprocess
import sys

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from hardmax.attention.ties import pair_scores
from hardmax.dynamics.polytope import Polytope


def test_a_call_with_shapes_that_do_not_match_is_refused():
    assert pair_scores(np.ones((3, 2)), np.ones((3, 2))).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeCheckError):
        pair_scores(np.ones((3, 2)), np.ones((2, 2)))


def test_a_result_with_fields_that_do_not_match_is_refused():
    with pytest.raises(TypeCheckError):
        Polytope(np.ones((3, 2)), np.arange(2), None, 2)


def test_without_the_tests_jaxtyping_is_not_imported():
    code = "import hardmax as hx, sys; hx.limit([[1, 0], [-1, 0]]); print('jaxtyping' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
