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
    train,
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


def test_the_authors_block_interpolates_and_each_eps_starts_where_the_one_before_ended():
    setting = Setting(sequences=3, dim=4, tokens=6, width=4, steps=200, rate=1e-3, rank=1, attention_first=True)
    X, Y, exact = tikhonov.authors_data(setting)
    assert float(block_loss(torch, tensors(exact), torch.tensor(X), torch.tensor(Y), True)) < 1e-28
    free = tensors(random_start(setting))
    first, then = (tikhonov.block(torch, free, torch.tensor(X), order) for order in (True, False))
    assert float((first - then).abs().max()) > 1e-3
    rows, curve, norm = tikhonov.measure_authors(setting)
    assert norm == pytest.approx(1 + 4 + sum((exact[name] ** 2).sum() for name in "UbW"))
    assert [(row.eps, row.start) for row in rows] == [(1e-1, "warm"), (1e-2, "warm"), (1e-3, "warm"), (1e-4, "fresh")]
    for row in rows:
        assert row.objective == pytest.approx(row.loss + row.penalty)
        assert row.threshold == pytest.approx(row.eps / 2 * norm)
        assert row.least <= row.loss
    assert rows[1].penalty < rows[0].penalty  # a tenth of the weight on parameters that hardly moved
    assert curve[0][0] == 0
    assert curve[-1][1] < curve[0][1]
    start = tikhonov.authors_start(setting)
    assert start["Q"].shape == (1, 4)
    assert start["rho"] == start["eta"] == 0
    assert 0 < np.abs(start["V"]).max() <= 0.5


def test_weight_decay_of_adam_is_half_the_penalty():
    setting = Setting(sequences=3, dim=4, tokens=6, width=4, steps=5, rank=1, attention_first=True)
    X, Y, _ = tikhonov.authors_data(setting)
    start = tikhonov.authors_start(setting)
    flat = np.array(train(X, Y, start, 0.05, setting)["end"])
    theta = {name: torch.tensor(start[name], requires_grad=True) for name in setting.shapes()}
    adam = torch.optim.Adam(theta.values(), lr=setting.rate, weight_decay=0.1)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 5)
    for _ in range(5):
        adam.zero_grad()
        block_loss(torch, theta, torch.tensor(X), torch.tensor(Y), True).backward()
        adam.step()
        falling.step()
    for name, part in tikhonov.named(flat, start).items():
        np.testing.assert_allclose(part, theta[name].detach().numpy(), atol=1e-9, err_msg=name)


def test_too_many_sequences_for_the_dimension_are_refused():
    with pytest.raises(BadInput, match="5 sequences in dimension 4"):
        interpolator(np.ones((5, 2, 4)), np.ones((5, 4)), 3)


@pytest.mark.slow
def test_figure_and_tables_are_written(tmp_path):
    context = Context("reproduce", "tikhonov-curves", tmp_path, seed=3, quick=True)
    outcome = tikhonov.tikhonov_curves(context, steps=40, authors_steps=20)
    folder = tmp_path / "tikhonov-curves"
    rows = list(csv.DictReader((folder / "tikhonov-curves.csv").read_text().splitlines()))
    expected, _ = measure(Setting(steps=40, seed=3))
    assert [float(row["loss"]) for row in rows] == [row.loss for row in expected]
    assert "objective falls as eps^" in outcome.answer
    assert (folder / "tikhonov-curves.png").read_bytes().startswith(b"\x89PNG")
