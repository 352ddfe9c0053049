"""The matrix of the scores is checked once, and refused by name."""

import warnings

import numpy as np
import pytest

from hardmax.cloud.metric import metric
from hardmax.errors import BadInput


@pytest.mark.parametrize(
    ("A", "words"),
    [
        (np.eye(3), r"shape \(3, 3\), but the tokens have dimension 2"),
        ([[1, 2], [3, 4]], r"not symmetric: A\[0, 1\] = 2 but A\[1, 0\] = 3"),
        ([[1, 0], [0, -2]], "smallest eigenvalue is -2"),
        ([[1, 1], [1, 1]], "smallest eigenvalue|ill-conditioned"),
        ([[1, 0], [0, 1e-15]], "too ill-conditioned"),
        ([[1, np.nan], [np.nan, 1]], r"A\[0, 1\] is nan"),
        ("x", "not a matrix"),
    ],
)
def test_bad_matrices_are_refused_by_name(A, words):
    with pytest.raises(BadInput, match=words):
        metric(A, 2)


def test_definite_false_takes_any_real_matrix():
    assert not metric([[0, 1], [-1, 0]], 2, definite=False).definite
    assert metric([[2, 1], [1, 2]], 2, definite=False).definite


def test_the_condition_number_is_known():
    assert metric(np.diag([4.0, 1.0]), 2).condition == pytest.approx(4.0)
    assert metric(None, 2).A is None
    assert metric(np.eye(2), 2).A is None


def test_a_tensor_is_a_matrix_without_a_warning():
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metric(torch.tensor([[2.0, 1.0], [1.0, 1.0]]), 2).A.tolist() == [[2.0, 1.0], [1.0, 1.0]]
