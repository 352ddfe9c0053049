"""Tokens inside a body are behind the best score of every query, by its depth."""

import numpy as np
import pytest

from hardmax.cloud.metric import metric
from hardmax.dynamics.bodies import Ball, Hull, best_body
from large_clouds import clouds_in_space

A = np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])


def leaders_of(Z, matrix):
    scores = Z @ matrix @ Z.T
    return Z[scores.argmax(axis=1) == np.arange(len(Z))]


@pytest.mark.parametrize("name", ["normal", "cube", "ball"])
@pytest.mark.parametrize("matrix", [np.eye(3), A])
def test_tokens_inside_are_behind_for_every_token_that_looks(name, matrix):
    Z = clouds_in_space(3)[name][:3000]
    of_A = metric(matrix, 3).normalized
    queries, norms = Z @ matrix, np.sqrt(((Z @ matrix) * Z).sum(axis=1))
    best = (queries @ Z.T).max(axis=1)
    for body in (Ball(of_A, Z), Hull(of_A, Z)):
        body.settle(leaders_of(Z, matrix))
        inside = np.setdiff1d(np.arange(len(Z)), body.outer(Z))
        assert len(inside) > 20
        behind = (best - (queries @ Z[inside].T).max(axis=1)) / norms
        assert (behind > body.depth(best / norms) - 1e-9).all()
        assert (body.depth(best / norms) > 0).all()


def test_a_polytope_holds_what_it_held_before_its_leaders_were_known():
    Z = clouds_in_space(3)["cube"]
    polytope = Hull(metric(None, 3), Z[:500])
    held = np.setdiff1d(np.arange(len(Z)), polytope.outer(Z))
    polytope.settle(leaders_of(Z, np.eye(3)))
    assert np.isin(held, np.setdiff1d(np.arange(len(Z)), polytope.outer(Z))).all()


def test_a_body_that_is_loosened_is_smaller_when_it_begins_again():
    Z = clouds_in_space(3)["cube"][:3000]
    of_A = metric(None, 3)
    norms = of_A.norms(Z)
    best = (Z @ Z.T).max(axis=1) / norms
    for body in (Ball(of_A, Z), Hull(of_A, Z)):
        body.settle(leaders_of(Z, np.eye(3)))
        needed = np.full(len(Z), 0.3)
        assert not (body.depth(best) > needed).all()
        body.loosen(best, needed)
        body.begin()
        body.settle(leaders_of(Z, np.eye(3)))
        assert (body.depth(best) > needed).all()


def test_a_state_is_restored():
    Z = clouds_in_space(3)["cube"]
    for kind in (Ball, Hull):
        body, other = kind(metric(None, 3), Z[:500]), kind(metric(None, 3), Z[:500])
        body.fit(Z)
        other.restore({name: np.array(value) for name, value in body.state().items()})
        assert np.array_equal(body.outer(Z), other.outer(Z))


def test_the_shape_of_the_cloud_chooses_the_body():
    bodies = {name: best_body(metric(None, 3), Z) for name, Z in clouds_in_space(3).items()}
    assert isinstance(bodies["cube"], Hull)
    assert isinstance(bodies["ball"], Ball)
    assert isinstance(best_body(metric(None, 8), clouds_in_space(8)["cube"]), Ball)


def test_nobody_is_inside_a_flat_polytope():
    Z = clouds_in_space(3)["normal"] * [1.0, 1.0, 0.0]
    assert len(Hull(metric(None, 3), Z).outer(Z)) == len(Z)
