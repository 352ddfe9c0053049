"""The Tikhonov experiment: the interpolator interpolates, and training stays below the threshold."""

import csv

import numpy as np
import pytest
import torch

from hardmax.errors import BadInput
from hardmax.experiments.context import Context
from hardmax.experiments.reproduce import tikhonov
from hardmax.experiments.reproduce.tikhonov import (
    EPSILONS,
    Setting,
    best,
    block_loss,
    data,
    interpolator,
    measure,
    random_start,
    slopes,
)

SMALL = Setting(sequences=3, dim=4, tokens=6, width=5, steps=40)


def tensors(theta):
    return {name: torch.tensor(value) for name, value in theta.items()}


def test_the_interpolator_has_no_loss_and_the_norm_it_claims():
    X, Y = data(Setting())
    theta = interpolator(X, Y, 32)
    assert float(block_loss(torch, tensors(theta), torch.tensor(X), torch.tensor(Y))) < 1e-24
    V = theta["V"] * theta["eta"]
    assert sum((part**2).sum() for part in theta.values()) == pytest.approx(2 * np.linalg.norm(V))
    np.testing.assert_allclose(X.mean(axis=1) @ V.T, Y, atol=1e-12)


def test_the_loss_is_the_definition_token_by_token():
    X, Y = data(SMALL)
    theta = random_start(SMALL)
    worst = []
    for x, y in zip(X, Y, strict=True):
        moved = [theta["eta"] * t + theta["W"] @ np.maximum(theta["U"] @ t + theta["b"], 0) for t in x]
        distances = []
        for t in moved:
            scores = np.array([(theta["Q"] @ t) @ (theta["K"] @ other) for other in moved])
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            out = theta["rho"] * t + sum(w * (theta["V"] @ other) for w, other in zip(weights, moved, strict=True))
            distances.append(((out - y) ** 2).sum())
        worst.append(max(distances))
    found = float(block_loss(torch, tensors(theta), torch.tensor(X), torch.tensor(Y)))
    assert found == pytest.approx(np.mean(worst), rel=1e-12)


def test_training_from_the_interpolator_stays_below_the_threshold():
    rows, norm = measure(SMALL)
    assert [row.eps for row in rows] == [1e-1, 1e-1, 1e-2, 1e-2, 1e-3, 1e-3]
    for row in rows:
        assert row.threshold == pytest.approx(row.eps * norm)
        assert row.objective == pytest.approx(row.loss + row.penalty)
        if row.start == "interpolator":
            assert row.below
    losses = [best(rows, eps).loss for eps in EPSILONS]
    assert losses[0] > losses[1] > losses[2]
    assert 0.5 < slopes(rows)["objective_slope"] < 1.5


def test_the_same_seed_gives_the_same_numbers():
    assert measure(SMALL, (1e-2,)) == measure(SMALL, (1e-2,))


def test_the_authors_set_up_starts_each_eps_where_the_one_before_ended():
    setting = Setting(sequences=3, dim=4, tokens=6, width=4, steps=200, rate=1e-3, rank=1, falling=False)
    rows = tikhonov.measure_authors(setting, (1e-1, 1e-2))
    assert [row[0] for row in rows] == [1e-1, 1e-2]
    assert [row[5] for row in rows] == [40, 200]
    for eps, loss, penalty, objective, threshold, _ in rows:
        assert objective == pytest.approx(loss + penalty)
        assert threshold / eps == pytest.approx(rows[0][4] / rows[0][0])
    assert rows[1][2] < rows[0][2]  # a tenth of the weight on parameters that hardly moved
    assert {name: part.shape for name, part in random_start(setting).items()}["Q"] == (1, 4)


def test_too_many_sequences_for_the_dimension_are_refused():
    with pytest.raises(BadInput, match="5 sequences in dimension 4"):
        interpolator(np.ones((5, 2, 4)), np.ones((5, 4)), 3)


def test_figure_and_tables_are_written(tmp_path):
    context = Context("reproduce", "tikhonov-curves", tmp_path, seed=3, quick=True)
    outcome = tikhonov.tikhonov_curves(context, steps=40, authors_steps=50)
    folder = tmp_path / "tikhonov-curves"
    rows = list(csv.DictReader((folder / "tikhonov-curves.csv").read_text().splitlines()))
    expected, _ = measure(Setting(steps=40, seed=3))
    assert [float(row["loss"]) for row in rows] == [row.loss for row in expected]
    assert "objective falls as eps^" in outcome.answer
    assert "40 steps instead of 6,000" in outcome.differs
    assert (folder / "tikhonov-curves.png").read_bytes().startswith(b"\x89PNG")
