"""The fused kernel against the definition, token by token."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from hardmax.attention.fused import Fused, run_fused
from hardmax.attention.fused_search import WORTH
from hardmax.attention.ties import Band, rounding_bound, tie_band, wider
from hardmax.cloud.metric import Metric, metric
from hardmax.errors import BadInput
from hardmax.jit import threads as search_threads
from hardmax.jit.vectors import TILE

EPS = 2.0**-52
FOLLOWER = [[1.0, 0.0], [-1.0, 0.0], [0.5, 0.1]]  # the last token follows the first


def flag_band(dim: int, A: np.ndarray | None = None) -> Band:
    return wider(tie_band(0.0), rounding_bound(dim, Metric(None) if A is None else metric(A, dim)))


def run_one(Z: np.ndarray, alpha: float, layers: int | None, A: Any = None, **options: Any) -> Fused:
    Z = np.ascontiguousarray(Z, dtype=float) + 0.0
    flag = options.pop("flag", None) or flag_band(Z.shape[1], A)
    return run_fused(Z, np.array([0, len(Z)]), alpha, layers, A, flag, **options)


def spd(rng: np.random.Generator, d: int) -> np.ndarray:
    R = rng.standard_normal((d, d))
    return R @ R.T + 0.3 * np.eye(d)


def random_clouds(rng: np.random.Generator, count: int, d: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian clouds of random lengths; in every second one tokens are repeated."""
    lengths = rng.integers(1, longest + 1, count)
    parts = []
    for b, n in enumerate(lengths):
        Z = rng.standard_normal((n, d))
        parts.append(Z[rng.integers(0, n, n)] if b % 2 else Z)
    return np.concatenate(parts), np.concatenate([[0], np.cumsum(lengths)])


def first_copies(Z: np.ndarray) -> list[int]:
    return [next(j for j in range(i + 1) if (Z[j] == Z[i]).all()) for i in range(len(Z))]


def check_cloud(Z: np.ndarray, alpha: float, layers: int, A: Any, got: dict[str, np.ndarray]) -> None:
    """Everything the kernel says about one cloud that it did not flag."""
    states, sets = reference.run(Z, alpha, layers, A, tol=64 * EPS)
    first = first_copies(Z)
    since = reference.leader_since(states, sets)
    lock_layer, lock_target = [-1] * len(Z), [-1] * len(Z)
    for k in range(layers + 1):
        np.testing.assert_allclose(got["history"][k], states[k], rtol=0, atol=1e-13 * np.abs(Z).max())
        for i, followed in enumerate(sets[k]):
            target = followed[0]
            assert got["targets"][k, i] == target
            assert all(first[j] == target for j in followed)  # one point: otherwise it should have been flagged
            if lock_layer[i] < 0 and since.get(target, layers + 1) <= k:
                lock_layer[i], lock_target[i] = k, target
    assert got["lock_layer"].tolist() == lock_layer
    assert got["lock_target"].tolist() == lock_target
    leaders = [i for i in range(len(Z)) if lock_target[i] == first[i]]
    assert {i: lock_layer[i] for i in leaders} == since
    np.testing.assert_array_equal(got["tokens"], got["history"][-1])
    assert got["stopped"] == (max(lock_layer) if min(lock_layer) >= 0 else layers)


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 17])
def test_agrees_with_the_definition(d: int, general: bool) -> None:
    rng = np.random.default_rng(100 * d + general)
    A = spd(rng, d) if general else None
    unflagged = 0
    for longest, count, layers in ((8, 120, 4), (3 * TILE, 20, 3), (200, 2, 1)):
        tokens, offsets = random_clouds(rng, count, d, longest)
        alpha = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        run = run_fused(tokens, offsets, alpha, layers, A, flag_band(d, A), history=True)
        for b in range(count):
            if run.flagged[b]:
                continue
            unflagged += 1
            part = slice(offsets[b], offsets[b + 1])
            names = ("tokens", "lock_layer", "lock_target")
            got = {name: getattr(run, name)[part] for name in names}
            got |= {"history": run.history[:, part], "targets": run.targets[:, part], "stopped": run.stopped[b]}
            check_cloud(tokens[part], alpha, layers, A, got)
    assert unflagged == 142  # no two scores of Gaussian tokens are that close: nothing was flagged, all was compared


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.integers(1, 3), st.integers(1, 12), st.integers(0, 2**32))
def test_a_cloud_is_flagged_exactly_when_some_token_has_a_tie(d: int, n: int, seed: int) -> None:
    Z = np.random.default_rng(seed).integers(-3, 4, (n, d)).astype(float)  # scores are exact
    first = first_copies(Z)
    tie = any(len({first[j] for j in followed}) > 1 for followed in reference.follow_sets(reference.fractions(Z)))
    assert run_one(Z, 0.5, 0).flagged[0] == tie


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(2, 30), st.integers(0, 3), st.integers(0, 2**32))
def test_the_band_is_honored_at_every_layer(n: int, layers: int, seed: int) -> None:
    Z = np.random.default_rng(seed).standard_normal((n, 2))
    flag = Band(0.002, 0.001, 0.0005)
    quiet = run_one(Z, 1.0, layers, flag=Band(0.0, 0.0, 0.0), history=True)
    locked = np.full(n, False)
    narrowest, inside = np.inf, False
    for k in range(layers + 1):
        now = quiet.history[k]
        norms = np.linalg.norm(now, axis=1)
        scores = np.sort(now @ now.T, axis=1)
        gaps = (scores[:, -1] - scores[:, -2])[~locked]  # a locked token decides nothing any more
        scale = (norms * norms.max())[~locked]
        narrowest = min(narrowest, (gaps / scale).min(initial=np.inf))
        inside |= bool((gaps <= (0.002 + 0.001 * k) * scale + 0.0005 * k * norms.max() ** 2).any())
        locked |= (quiet.lock_layer >= 0) & (quiet.lock_layer <= k)
    assert run_one(Z, 1.0, layers, flag=flag).flagged[0] == inside
    assert quiet.margin[0] == pytest.approx(narrowest, rel=1e-9, abs=1e-14)


def test_a_gap_at_the_edge_of_the_band() -> None:
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [0.5, 0.125]])  # scores of the last token: 0.625, 0.375, 0.265625
    scale = np.sqrt(2.0) * np.hypot(0.5, 0.125)
    assert run_one(Z, 0.5, 0, flag=Band(0.25 / scale * (1 + 4 * EPS), 0.0, 0.0)).flagged[0]
    assert not run_one(Z, 0.5, 0, flag=Band(0.25 / scale * (1 - 4 * EPS), 0.0, 0.0)).flagged[0]


def test_infinite_depth_is_where_a_long_run_ends() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        Z = rng.standard_normal((int(rng.integers(1, 60)), 3))
        run = run_one(Z, 1.0, None)
        assert not run.flagged[0]
        assert (run.lock_layer >= 0).all()
        np.testing.assert_array_equal(run.tokens, run.tokens[run.lock_target])
        np.testing.assert_allclose(run.tokens, run_one(Z, 1.0, 200).tokens, atol=1e-14)
        states, _ = reference.run(Z, 1.0, int(run.stopped[0]) + 45, tol=64 * EPS)
        np.testing.assert_allclose(run.tokens, states[-1], atol=1e-11)


def test_tokens_still_active_at_the_last_layer_are_said_to_be() -> None:
    # Token 2 follows token 1, which follows token 0: with a small step nothing changes for a while.
    Z = np.array([[2.0, 0.0], [1.0, 0.95], [0.1, 0.9], [0.0, -1.0]])
    _, sets = reference.run(Z, 0.01, 2)
    assert sets[2] == ((0,), (0,), (1,), (3,))
    for layers, options in ((2, {}), (None, {"max_layers": 2})):
        run = run_one(Z, 0.01, layers, **options)
        assert run.lock_target.tolist() == [0, 0, -1, 3]
        assert run.lock_layer.tolist() == [0, 0, -1, 0]
        assert run.stopped[0] == 2


def test_a_closed_form_follower_never_overshoots_in_deep_networks() -> None:
    run = run_one(FOLLOWER, 0.5, 3000)
    assert run.tokens[2].tolist() == [1.0, 0.0]
    assert run_one(FOLLOWER, 0.5, 1).tokens[2] == pytest.approx([2 / 3, 1 / 15], rel=1e-15)


def test_one_token_leads_itself() -> None:
    run = run_one([[0.3, -0.2]], 0.5, 4, history=True)
    assert (run.lock_layer[0], run.lock_target[0], run.stopped[0], run.flagged[0]) == (0, 0, 0, False)
    assert run.margin[0] == np.inf
    assert (run.history == [0.3, -0.2]).all()


def test_copies_of_one_token_lead_together() -> None:
    run = run_one([[1.0, 0.0], [0.2, 0.1], [1.0, 0.0]], 0.5, 1)
    assert run.lock_target.tolist() == [0, 0, 0]
    assert run.leads.tolist() == [True, False, True]
    assert run.tokens[0].tolist() == run.tokens[2].tolist() == [1.0, 0.0]


def test_a_zero_token_ties_with_everybody() -> None:
    assert run_one([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]], 0.5, 0).flagged[0]
    assert not run_one([[0.0, 0.0]], 0.5, 3).flagged[0]


def test_tokens_whose_products_underflow_are_left_to_the_careful_engine() -> None:
    faint = [[1e-162, 3e-162], [1e-162, 2e-162]]  # products of coordinates near the smallest float64
    assert run_one([*faint, [3.0, 1.0], [-1.0, 2.0]], 0.5, 0).flagged[0]
    assert run_one(faint, 0.5, 0).flagged[0]
    small = np.array([*faint, [3e-162, 1e-162]]) * 1e30
    assert run_one(small, 0.5, 0).lock_target.tolist() == run_one(small * 1e130, 0.5, 0).lock_target.tolist()


def test_scores_that_overflow_are_left_to_the_careful_engine() -> None:
    Z = np.random.default_rng(0).standard_normal((300, 2)) * 1e140
    assert not run_one(Z, 0.5, 1).flagged[0]
    assert run_one(Z, 0.5, 1, A=np.array([[1e40, 0.0], [0.0, 1e40]])).flagged[0]


@pytest.mark.parametrize("shape", ["gauss", "ball", "ring", "outlier", "line"])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_large_clouds_agree_with_a_dense_comparison(d: int, shape: str) -> None:
    rng = np.random.default_rng(d)
    A = spd(rng, d)
    for n in (WORTH - 1, WORTH, 700):
        Z = rng.standard_normal((n, d))
        if shape in ("ball", "ring"):
            Z /= np.linalg.norm(Z, axis=1, keepdims=True)
            Z *= rng.uniform(0.9999 if shape == "ring" else 0, 1, (n, 1))
        elif shape == "outlier":
            Z[n // 2] *= 1e6
        elif shape == "line":
            Z[:, 1:] *= 1e-3
        for matrix in (None, A):
            run = run_one(Z, 0.7, 1, A=matrix, flag=Band(0.0, 0.0, 0.0), history=True)
            assert not run.flagged[0]
            narrowest = np.inf
            for k, state in enumerate(run.history):
                scores = state @ (np.eye(d) if matrix is None else matrix) @ state.T
                assert (run.targets[k] == scores.argmax(axis=1)).all()
                norms = np.sqrt(np.diagonal(scores))
                two = np.sort(scores, axis=1)[:, -2:]
                deciding = np.full(n, True) if k == 0 else (run.lock_layer < 0) | (run.lock_layer == 1)
                gaps = (two[:, 1] - two[:, 0]) / (norms * norms.max())
                narrowest = min(narrowest, gaps[deciding].min(initial=np.inf))
            assert run.margin[0] == pytest.approx(narrowest, rel=1e-6, abs=1e-14)
            assert run.leads.tolist() == (run.lock_target == np.arange(n)).tolist()


def test_a_flagged_cloud_spoils_no_other() -> None:
    clear = np.random.default_rng(3).standard_normal((9, 2))
    tied = np.array([[1.0, 1.0], [1.0, -1.0], [0.5, 0.0]])
    run = run_fused(
        np.concatenate([clear, tied, clear]), np.array([0, 9, 12, 21]), 0.5, 5, None, flag_band(2), history=True
    )
    assert run.flagged.tolist() == [False, True, False]
    alone = run_one(clear, 0.5, 5, history=True)
    for part in (slice(0, 9), slice(12, 21)):
        np.testing.assert_array_equal(run.history[:, part], alone.history)
        np.testing.assert_array_equal(run.targets[:, part], alone.targets)


def same_bits(one: Fused, other: Fused) -> None:
    for name in ("tokens", "lock_layer", "lock_target", "stopped", "flagged", "leads", "margin", "history", "targets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("d", [2, 6])
def test_bits_depend_neither_on_threads_nor_on_the_batch(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, offsets = random_clouds(np.random.default_rng(d), 300, d, 60)
    flag = flag_band(d)
    monkeypatch.setattr(search_threads, "PARALLEL_FROM", 0)
    monkeypatch.setattr(search_threads, "_pools", {})
    monkeypatch.setattr(search_threads, "threads", lambda: 1)
    serial = run_fused(tokens, offsets, 0.5, 3, None, flag, history=True)
    monkeypatch.setattr(search_threads, "threads", lambda: 3)
    same_bits(serial, run_fused(tokens, offsets, 0.5, 3, None, flag, history=True))
    for b in range(300):
        part = slice(offsets[b], offsets[b + 1])
        alone = run_one(tokens[part], 0.5, 3, history=True)
        np.testing.assert_array_equal(serial.history[:, part], alone.history)
        np.testing.assert_array_equal(serial.targets[:, part], alone.targets)
        assert serial.margin[b] == alone.margin[0]


def test_callers_in_several_threads_do_not_disturb_one_another() -> None:
    tokens, offsets = random_clouds(np.random.default_rng(5), 400, 2, 128)

    def call(_: int) -> Fused:
        return run_fused(tokens, offsets, 0.5, 4, None, flag_band(2), history=True)

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(call, range(8))
    for other in others:
        same_bits(first, other)


def test_infinitely_many_layers_cannot_be_kept() -> None:
    with pytest.raises(BadInput, match="history=True with layers=None"):
        run_one([[1.0, 0.0]], 0.5, None, history=True)
