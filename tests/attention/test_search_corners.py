"""Dropping inner points never drops one that matters."""

import numpy as np
import pytest

from hardmax.attention import search_shells
from hardmax.attention.search_corners import outer_points
from search_oracle import KINDS, agree, cloud


@pytest.mark.parametrize("d", [3, 4])
def test_the_two_best_points_of_any_query_are_outer_points(d):
    rng = np.random.default_rng(d)
    Z = rng.uniform(-1, 1, (4000, d)) + 0.3
    kept = outer_points(Z)
    assert len(kept) < 3000
    order = np.argsort(rng.standard_normal((2000, d)) @ Z.T, axis=1)
    assert set(order[:, -2:].ravel()) <= set(kept)


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
    monkeypatch.setattr(search_shells.Shells, "drop_inner", lambda self: (calls.append(kind), drop(self)))
    monkeypatch.setattr(search_shells, "FIRST_SHELLS", (1, 2))
    rng = np.random.default_rng([8, KINDS.index(kind), d])
    Z = np.unique(cloud(kind, 9000, d, rng), axis=0)
    agree(Z, rows=rng.permutation(len(Z))[:150])
    assert calls or kind not in ("cube", "sphere", "fine lattice")
