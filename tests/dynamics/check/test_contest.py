"""Queries of about one direction are compared with few keys: against all scores in float64."""

import numpy as np
import pytest

from hardmax.dynamics.check.contest import KEYS, QUERIES, Contest, directions, play_by_cones
from hardmax.dynamics.check.strongest import all_gaps
from search_oracle import with_guesses


def by_cones(q, x, slack, guess):
    """Best scores, keys and gaps, as `strongest` finds them among very many pairs."""
    length = np.linalg.norm(q, axis=1)
    best = np.einsum("ij,ij->i", q, x[guess])
    turn, starts = directions((q / length[:, None]).astype(np.float32), (best - slack) / length)
    keys = np.argsort(-np.linalg.norm(x, axis=1))
    place = np.argsort(keys)
    contest = Contest(q[turn], x[keys], best[turn], slack[turn], place[guess[turn]])
    play_by_cones(contest, starts)
    back = np.argsort(turn)
    return contest.best[back], keys[contest.top][back], (contest.best - contest.second)[back]


def cloud(kind, dim):
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(4000, dim))
    if kind == "sphere":
        x /= np.linalg.norm(x, axis=1)[:, None]
    if kind == "off the origin":
        x += 3.0
    if kind == "clusters":
        x = 4 * rng.normal(size=(12, dim))[rng.integers(0, 12, 4000)] + 0.2 * x
    return x * {"tiny": 1e-70, "huge": 1e70}.get(kind, 1.0)


@pytest.mark.parametrize("dim", [1, 3, 12])
@pytest.mark.parametrize("kind", ["normal", "sphere", "off the origin", "clusters", "tiny", "huge"])
@pytest.mark.parametrize("guesses", ["right", "random", "the shortest"])
def test_the_best_of_all_is_found_whatever_is_guessed(kind, dim, guesses):
    rng = np.random.default_rng(1)
    x = cloud(kind, dim)
    q = np.concatenate((x[:1000], rng.normal(size=(300, dim))))
    norm, q_norm, best, top, gap, guess, slack = with_guesses(all_gaps, rng, q, x, guesses)
    found = by_cones(q, x, slack, guess)
    assert np.allclose(found[0], best, rtol=1e-13, atol=1e-13 * (q_norm * norm.max()).max())
    same = gap > 1e-12 * q_norm * norm.max()
    assert (found[1] == top)[same].all()
    small = gap <= 0.999 * slack
    assert np.allclose(found[2][small], gap[small], rtol=0, atol=1e-12 * norm.max() * q_norm.max())
    assert (found[2][~small] > 0.99 * slack[~small]).all()


def test_a_key_at_the_edge_of_what_a_cone_can_see_is_found():
    """Queries at angles of up to theta around c; one key ends exactly where the outermost query scores its best.

    For each query u at the angle theta there is a key beyond it, at the angle theta + psi from c and of a score of t:
    the others are shorter, and score less. It is left out if the bound is only a little too high.
    """
    rng = np.random.default_rng(3)
    for theta, psi in ((0.3, 0.2), (0.7, 0.4), (1.0, 0.5)):
        angles = np.append(rng.uniform(-theta, theta, 300), [theta, -theta])
        q = np.column_stack((np.cos(angles), np.sin(angles)))
        beyond = np.array([theta + psi, -theta - psi])
        t = 1.0
        far = np.column_stack((np.cos(beyond), np.sin(beyond))) * t / np.cos(psi)
        ring = np.column_stack((np.cos(angles), np.sin(angles))) * 0.99  # each query has a guess that is a little worse
        x = np.concatenate((far, ring, rng.normal(size=(3 * KEYS, 2)) * 0.1))
        guess = np.arange(len(q)) + 2
        best, top, _ = all_gaps(q, x)
        found = by_cones(q, x, np.full(len(q), 1e-6), guess)
        assert (found[1] == top).all()
        assert top[-2:].tolist() == [0, 1]
        assert np.allclose(found[0], best, rtol=1e-14)


@pytest.mark.parametrize("count", [1, 2, QUERIES - 1, 2 * QUERIES, 2 * QUERIES + 1, 5000])
def test_blocks_hold_every_query_once_and_are_small_enough(count):
    rng = np.random.default_rng(count)
    unit = rng.normal(size=(count, 3))
    unit[: count // 2] = unit[0]  # a crowd in one direction
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    order, starts = directions(unit.astype(np.float32), rng.random(count))
    assert sorted(order.tolist()) == list(range(count))
    sizes = np.diff(np.append(starts, count))
    assert starts[0] == 0
    assert sizes.min() >= 1
    assert sizes.max() <= QUERIES
