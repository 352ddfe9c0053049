"""Queries of about one direction, compared at once, find what a look at all scores finds."""

import numpy as np
import pytest

from hardmax.dynamics.check import directions
from hardmax.dynamics.check.directions import compare_by_direction
from hardmax.jit import plain
from hardmax.jit.vectors import GROUP, SEEKERS


def crowd(kind, n, d, rng):
    if kind == "normal":
        return rng.normal(size=(n, d))
    if kind == "cube":
        return rng.uniform(-1, 1, (n, d))
    if kind == "ball":
        x = rng.normal(size=(n, d))
        return x / np.linalg.norm(x, axis=1)[:, None]
    if kind == "integers":
        return np.unique(rng.integers(-4, 5, (n, d)).astype(float), axis=0)
    return rng.uniform(-1, 1, (n, d)) * 10.0 ** rng.uniform(-30, 0, (n, d))


def compared(x, q, slack, guess, seen=None):
    """What is found, with guesses to begin with."""
    found, best = guess.copy(), np.einsum("ij,ij->i", q, x[guess])
    second, unit = np.full(len(q), -np.inf), 1 / np.abs(x).max()
    compare_by_direction(
        np.arange(len(q)), q, x, np.arange(len(x)) if seen is None else seen, unit, slack, found, best, second
    )
    return found, best, second


@pytest.mark.parametrize("guessed", ["the best", "the worst"])
@pytest.mark.parametrize("d", [3, 4, 5])
@pytest.mark.parametrize("kind", ["normal", "cube", "ball", "integers", "all scales"])
def test_the_best_and_every_second_best_within_the_slack_are_found(kind, d, guessed):
    rng = np.random.default_rng([d, len(kind)])
    x = crowd(kind, 3000, d, rng)
    q = np.concatenate((x[:500], rng.normal(size=(500, d))))
    q = q[q.any(axis=1)]
    scores = sum(np.multiply.outer(q[:, k], x[:, k]) for k in range(d))
    slack = (1e-3 if d < 5 else 3e-2) * np.abs(q).max(axis=1) * np.abs(x).max()
    guess = scores.argmax(axis=1) if guessed == "the best" else scores.argmin(axis=1)
    found, best, second = compared(x, q, slack, guess)
    top = scores.max(axis=1)
    assert np.abs(best - top).max() <= 1e-13 * np.abs(scores).max()
    assert np.abs(scores[np.arange(len(q)), found] - top).max() <= 1e-13 * np.abs(scores).max()
    scores[np.arange(len(q)), found] = -np.inf
    rest = scores.max(axis=1)
    close = rest >= top - slack
    assert close.sum() > (0 if kind == "normal" else 5)
    np.testing.assert_allclose(second[close], rest[close], rtol=0, atol=1e-13 * np.abs(top).max())
    assert (second[~close] <= rest[~close] + 1e-13 * np.abs(top).max()).all()


@pytest.mark.parametrize("d", [3, 4, 5])
@pytest.mark.parametrize("beside", [-1e-9, 1e-9])
def test_a_second_key_at_the_end_of_the_slack_is_found_wherever_it_stands(d, beside):
    """One key is just within or just beyond the slack of a query; its place among the keys goes around."""
    rng = np.random.default_rng(d)
    q = np.eye(d)[:1]
    for place in range(SEEKERS + GROUP):
        x = rng.uniform(-0.5, 0.5, (SEEKERS + GROUP + 3, d))
        x[-1], x[place] = q[0], (0.9 + beside) * q[0]
        found, best, second = compared(x, q, np.full(1, 0.1), np.array([len(x) - 1]))
        assert (found[0], best[0]) == (len(x) - 1, 1.0)
        # A score that is not within the slack may be found as well.
        assert second[0] == pytest.approx(0.9 + beside, abs=1e-12) or (beside < 0 and second[0] == -np.inf)


def test_only_the_keys_that_are_seen_are_compared():
    rng = np.random.default_rng(2)
    x, seen = rng.uniform(-1, 1, (2000, 3)), np.arange(0, 2000, 3)
    found, best, _ = compared(x, x[:300], np.full(300, 1e-6), np.zeros(300, np.int64), seen)
    scores = x[:300] @ x[seen].T
    assert (seen[scores.argmax(axis=1)] == found).all()
    np.testing.assert_allclose(best, scores.max(axis=1), rtol=1e-12)


@pytest.mark.parametrize(("name", "value"), [("PART", 16), ("DEPTH", 3)])
def test_parts_end_anywhere_and_boxes_need_not_be_halved(name, value, monkeypatch):
    """In plain Python, where constants can be changed."""
    rng = np.random.default_rng(3)
    x, q = rng.uniform(-1, 1, (333, 3)), rng.normal(size=(60, 3))
    for function in ("by_octant", "longest_first", "longest_from", "leading", "add_scores", "keep", "halve", "settle"):
        monkeypatch.setattr(directions, function, getattr(directions, function).py_func)
    for vectors in ("seek", "SEEKERS", "GROUP"):
        monkeypatch.setattr(directions, vectors, getattr(plain, vectors))
    monkeypatch.setattr(directions, name, value)
    found, best, second = np.zeros(60, np.int64), q @ x[0], np.full(60, -np.inf)
    unit = 1 / np.abs(x).max()
    with np.errstate(invalid="ignore"):
        directions.compare_by_direction.py_func(
            np.arange(60), q, x, np.arange(333), unit, np.full(60, 1e-4), found, best, second
        )
    assert (found == (q @ x.T).argmax(axis=1)).all()
