"""Planar clouds with a token at the origin, for the ways of large clouds with `LARGE` set to theirs."""

import numpy as np

LARGE = 1500
ROWS = np.arange(-22.0, 23.0)
A = np.array([[2.0, -1.0], [-1.0, 3.0]])


def grid(x, y=None):
    return np.stack(np.meshgrid(x, x if y is None else y, indexing="ij"), -1).reshape(-1, 2)


STAYS = {
    "grid": grid(ROWS),
    "copies": np.concatenate((grid(ROWS), np.zeros((2, 2)), grid([-3.0, 3.0]))),
    "not exact": grid(np.linspace(-1, 1, 45)) * [1.0, 0.3],
}
MOVES = {
    "one-sided": grid(np.linspace(0, 1, 45)),
    "even": grid(np.arange(-22.0, 22.0)),
    "with ties": np.concatenate((grid(ROWS), [[35.0, 0.0]])),
    "inside": np.concatenate((np.random.default_rng(0).uniform(-1, 1.2, (2000, 2)), np.zeros((3, 2)))),
}
CLOUDS = STAYS | MOVES


def mirrored():
    """The cloud is its own mirror image, but not all of its tokens are decided at layer 0."""
    half = np.random.default_rng(3).uniform(-1, 1, (1000, 2))
    return np.concatenate((half, -half, np.zeros((1, 2))))
