"""Polytopes spanned by a few points, in three or four dimensions: which of many points are inside, each with a proof.

A point p is inside by a share if p = c + sum_i s_i (v_i - c) with numbers s_i >= 0 of a sum of at most 1 - SHARE, for
the mean c and some vertices v_i of the polytope. Then for every direction q, with the largest score h = max_i <q, v_i>,

    h - <q, p> = (1 - sum s) (h - <q, c>) + sum_i s_i (h - <q, v_i>) >= SHARE (h - <q, c>).

The s_i are found by way of the facets, but nothing rests on these: whoever has no such s_i is not called inside.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

VERTICES = {3: 48, 4: 24}  # by dimension, so few that facets are too; in more dimensions these are too many
SHARE = 2.0**-10
BLURRED = 1e-8  # |q| max|p|: more than what rounding adds to <q, p>
STEEPEST = 1e4  # facets that are thinner are left out
BUMPS = 1e-3  # by which vertices are drawn towards the center
FAR = 1e6  # in units of the polytope: not inside, and no number for float32
SCORES = 1 << 17  # compared at once: they stay in the cache


class Solid:
    """The polytope of some points; nobody is inside if it is flat."""

    def __init__(self, vertices: Floats) -> None:
        from scipy.spatial import ConvexHull, QhullError  # not in the plane, where it is not needed

        self.center = vertices.mean(axis=0)
        self.corners = self.slopes = np.empty((0, vertices.shape[1]))
        self.size = float(np.abs(vertices - self.center).max())
        if not self.size > 0:
            return
        # Of two facets in one plane, float32 could not tell in which of them a ray ends: no two are.
        away = (vertices - self.center) / self.size
        bumps = 1 - BUMPS * np.random.default_rng(0).random(len(away))
        try:
            hull = ConvexHull(away * bumps[:, None])
        except (QhullError, ValueError):  # flat, or too few
            return
        normals, height = hull.equations[:, :-1], -hull.equations[:, -1:]
        corners = away[hull.simplices].swapaxes(1, 2)
        good = (height[:, 0] > 0) & (np.linalg.cond(corners) < STEEPEST)
        self.corners, self.slopes = np.linalg.inv(corners[good]), normals[good] / height[good]

    def inside(self, points: Floats) -> NDArray[np.bool_]:
        inside = np.zeros(len(points), bool)
        if not len(self.slopes):
            return inside
        slopes, step = self.slopes.astype(np.float32).T.copy(), max(1, SCORES // len(self.slopes))
        for start in range(0, len(points), step):
            away = (points[start : start + step] - self.center) / self.size
            facet = (np.clip(away, -FAR, FAR).astype(np.float32) @ slopes).argmax(axis=1)
            s = np.einsum("nij,nj->ni", self.corners.take(facet, axis=0), away)
            inside[start : start + step] = (s.min(axis=1) >= -1e-10) & (s.sum(axis=1) <= 1 - SHARE)
        return inside


def farthest(points: Floats) -> NDArray[np.int64]:
    """The points that are farthest in the directions of the axes and of the diagonals between them."""
    dim = points.shape[1]
    signs = np.array(list(product((-1.0, 1.0), repeat=dim)))
    return np.unique((points @ np.concatenate((np.eye(dim), -np.eye(dim), signs)).T).argmax(axis=0))
