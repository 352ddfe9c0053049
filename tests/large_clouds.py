"""Clouds of all kinds, large enough for the ways of large clouds."""

from functools import cache

import numpy as np

N = 9000
SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]


def clouds():
    """Name -> cloud in the plane; copies, which a test may change."""
    return {name: Z.copy() for name, Z in _clouds().items()}


@cache
def _clouds():
    rng = np.random.default_rng(7)
    gaussian, cube = rng.normal(size=(N, 2)), rng.uniform(-1, 1, (N, 2))
    angle = rng.uniform(0, 2 * np.pi, N)
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    steps = np.linspace(-1, 1, 96)
    hexagon = np.arange(6) * np.pi / 3
    return {
        "gaussian": gaussian,
        "disc": circle * np.sqrt(rng.random(N))[:, None],
        "cube": cube,
        "grid": np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2),
        "grid off the origin": np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2) + 1.5,
        "clusters": 3 * rng.normal(size=(9, 2))[rng.integers(0, 9, N)] + 0.05 * gaussian,
        "copies": gaussian[rng.integers(0, N // 3, N)],
        "two digits": np.round(gaussian, 2) + 0.001,
        "flat": gaussian * [1, 0.01],
        "heavy tails": rng.standard_cauchy((N, 2)),
        "mixed scales": gaussian * np.exp(rng.uniform(-600, 0, (N, 1))),
        "one side": gaussian + np.array([10.0, 0.0]),
        "square with ties": np.concatenate((SQUARE, SQUARE, 0.9 * cube, 0.9 * cube[:20] * [1, 0])),
        "nearly tied": np.concatenate(([[1, 1], [-1, 1 + 1e-9], [1, -1], [-1, -1]], 0.9 * cube)),
        "hexagon": np.concatenate(
            (np.column_stack((np.cos(hexagon), np.sin(hexagon))), 0.8 * cube, 0.5 * cube[:99] * [1, 0])
        ),
    }


def clouds_in_space(dim):
    """Name -> cloud of any dimension; copies, which a test may change."""
    return {name: Z.copy() for name, Z in _clouds_in_space(dim).items()}


@cache
def _clouds_in_space(dim):
    rng = np.random.default_rng(dim)
    normal, cube = rng.normal(size=(N, dim)), rng.uniform(-1, 1, (N, dim))
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * dim), -1).reshape(-1, dim)
    axis = np.eye(dim)[0]
    steps = np.linspace(-1, 1, round(N ** (1 / dim)) + 1)
    return {
        "normal": normal,
        "ball": normal / np.linalg.norm(normal, axis=1, keepdims=True) * rng.random((N, 1)) ** (1 / dim),
        "cube": cube,
        "shifted cube": cube + 1.5,
        "grid": np.stack(np.meshgrid(*[steps] * dim), -1).reshape(-1, dim) + 2.0**-9,
        "copies": normal[rng.integers(0, N // 3, N)],
        "two digits": np.round(normal, 2) + 0.001,
        "one side": normal + 10 * axis,
        "corners with ties": np.concatenate((corners, corners, 0.7 * cube, 0.7 * cube[:20] * axis)),
        "nearly tied": np.concatenate((corners * (1 + 1e-9 * (np.arange(len(corners)) == 0)[:, None]), 0.7 * cube)),
        "flat": normal * np.where(axis, 1e-7, 1.0),
        "mixed scales": normal * np.exp(rng.uniform(-200, 0, (N, 1))),
    }
