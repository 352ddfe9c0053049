"""Dropping inner points never drops one that matters."""

import numpy as np
import pytest

from hardmax.attention import search_shells
from hardmax.attention.search_corners import outer_points
from search_oracle import KINDS, agree, cloud


@pytest.mark.parametrize("d", [3, 4, 5])
@pytest.mark.parametrize("depth", [0.0, 0.05])
def test_points_within_the_depth_of_a_best_score_are_outer_points(d, depth):
    rng = np.random.default_rng(d)
    Z = rng.uniform(-1, 1, (4000, d)) + 0.3
    kept = outer_points(Z, depth)
    assert len(kept) < 3000
    directions = rng.standard_normal((2000, d))
    scores = directions / np.linalg.norm(directions, axis=1)[:, None] @ Z.T
    assert set(np.nonzero(scores >= scores.max(axis=1)[:, None] - depth)[1]) <= set(kept)
    some = rng.permutation(len(Z))[:500]
    assert set(outer_points(Z, depth, among=some)) >= set(kept) & set(some)


def test_with_little_work_fewer_points_are_left_out():
    Z = np.random.default_rng(0).uniform(-1, 1, (4000, 4))
    assert len(outer_points(Z, work=0.0)) == len(Z)
    assert len(outer_points(Z)) < len(outer_points(Z, work=3e5)) <= len(Z)


def test_points_on_the_faces_of_a_grid_are_kept():
    side = np.linspace(-1, 1, 15)
    Z = np.stack(np.meshgrid(side, side, side), -1).reshape(-1, 3)
    kept = outer_points(Z)
    faces = np.flatnonzero(np.abs(Z).max(axis=1) == 1)
    assert set(faces) <= set(kept)
    assert len(kept) < len(Z)


def test_a_flat_cloud_has_no_inner_points():
    Z = np.random.default_rng(0).standard_normal((500, 3))
    Z[:, 2] = 0.25
    assert outer_points(Z) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 4])
def test_search_agrees_when_inner_points_are_dropped(kind, d, monkeypatch):
    calls = []
    drop = search_shells.Shells.drop_inner
    monkeypatch.setattr(search_shells, "CORNERS_FROM", 0)
    monkeypatch.setattr(search_shells, "CORNERS_QUERIES", 64)
    monkeypatch.setattr(search_shells.Shells, "drop_inner", lambda self, *a: (calls.append(kind), drop(self, *a)))
    monkeypatch.setattr(search_shells, "FIRST_SHELLS", (1, 2))
    rng = np.random.default_rng([8, KINDS.index(kind), d])
    Z = np.unique(cloud(kind, 9000, d, rng), axis=0)
    agree(Z, rows=rng.permutation(len(Z))[:150])
    assert calls or kind not in ("cube", "sphere", "fine lattice")
