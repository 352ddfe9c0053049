"""The paper's recipe: its reading of reviews, its model with padding, its gradient, its training."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus import reviews as made_up
from hardmax.errors import BadInput
from hardmax.experiments.reproduce import recipe, recipe_kernel
from hardmax.experiments.reproduce.recipe import SoftmaxTrainer, begin, load_run, mark_of, save_run, train_epoch
from hardmax.experiments.reviews import prepare


@pytest.fixture(scope="module")
def reviews():
    texts, labels = made_up(120, seed=4)
    return prepare(texts, [int(label == "pos") for label in labels])


def literal_layers(z, alpha, layers):
    """All states by the definition, one copy of a word at a time, with means over exact ties."""
    states = [np.array(z, float)]
    for _ in range(layers):
        now = states[-1]
        scores = now @ now.T
        rows = []
        for i in range(len(now)):
            ties = scores[i] >= scores[i].max() - 1e-12
            rows.append((now[i] + alpha * now[ties].mean(axis=0)) / (1 + alpha))
        states.append(np.array(rows))
    return states


def spelled_out(reviews, t):
    """The 128 word numbers of a review, padding included."""
    here = slice(reviews.offsets[t], reviews.offsets[t + 1])
    return np.repeat(reviews.ids[here], reviews.counts[here].astype(int))


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(2, 4), st.floats(0.05, 5.0), st.integers(0, 10**6))
def test_logits_and_leaders_are_those_of_the_definition(dim, alpha, seed):
    rng = np.random.default_rng(seed)
    n, layers = int(rng.integers(1, 12)), 8
    E = rng.standard_normal((20, dim)).astype(np.float32)
    few = np.concatenate([rng.standard_normal(dim + 1), [alpha]])
    ids, counts = rng.choice(20, n, replace=False), rng.integers(1, 5, n).astype(float)
    logits, leads, ends, weights = np.empty(1), np.empty(n, np.int64), np.empty(n), np.empty(n)
    where = ids, counts, np.array([0, n]), np.array([0])
    recipe_kernel.read_reviews(*where, E, few, layers, logits, leads, ends, weights)
    assert logits[0] == pytest.approx(float(weights @ (E[ids] @ few[:dim]) + few[dim]), rel=1e-6, abs=1e-6)
    copies = np.repeat(np.arange(n), counts.astype(int))
    states = literal_layers(E[ids[copies]], alpha, layers)
    assert logits[0] == pytest.approx(float(states[-1].mean(axis=0) @ few[:dim] + few[dim]), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(ends[copies], states[-1] @ few[:dim], rtol=1e-9, atol=1e-9)
    own = literal_layers(E[ids], alpha, layers)  # without copies a leader is C_i = {i}
    for i in range(n):
        others = [np.delete(z @ z[i], i).max(initial=-np.inf) for z in own]
        since = [k for k, z in enumerate(own) if others[k] < z[i] @ z[i] - 1e-12]
        assert leads[i] == (since[0] if since else -1)


@pytest.mark.slow
def test_the_gradient_is_that_of_torch_through_the_selected_words(reviews):
    dim, layers = 3, 8
    run = begin(len(reviews.words), dim, seed=5)
    E64 = run.E.astype(np.float64)
    slopes, other = np.zeros_like(E64), np.empty(dim + 2)
    texts = reviews.learn[:20]
    loss, _ = recipe_kernel.gradient(
        reviews.ids, reviews.counts, reviews.offsets, reviews.labels, texts, E64, run.few, layers, slopes, other
    )
    E = torch.tensor(E64, requires_grad=True)
    few = torch.tensor(run.few, requires_grad=True)
    total = 0.0
    for t in texts:
        z = E[torch.from_numpy(spelled_out(reviews, t))]
        for _ in range(layers):
            chosen = (z @ z.T).detach().argmax(dim=1)
            z = (z + few[-1] * z[chosen]) / (1 + few[-1])
        logit = z.mean(dim=0) @ few[:dim] + few[dim]
        label = torch.tensor(float(reviews.labels[t]), dtype=torch.float64)
        total = total + torch.nn.functional.binary_cross_entropy_with_logits(logit, label)
    (total / len(texts)).backward()
    assert loss == pytest.approx(total.item(), rel=1e-10)
    np.testing.assert_allclose(slopes, E.grad.numpy(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(other, few.grad.numpy(), rtol=1e-8, atol=1e-12)


def test_an_epoch_is_adam_with_clipping_as_torch_does_it(reviews):
    """Dense Adam on every word; the gradient of torch (the test above) fed to the optimizer of torch."""
    run = begin(len(reviews.words), 2, seed=1)
    E = torch.tensor(run.E, requires_grad=True)
    few = torch.tensor(run.few, requires_grad=True)
    adam = torch.optim.Adam([E, few], lr=recipe.RATE)
    order = recipe.order_of(reviews, 1, 0)
    for start in range(0, len(order), recipe.BATCH):
        texts = order[start : start + recipe.BATCH]
        slopes, other = np.zeros((len(reviews.words), 2)), np.empty(4)
        recipe_kernel.gradient(
            reviews.ids, reviews.counts, reviews.offsets, reviews.labels, texts, E.detach().numpy().astype(float),
            few.detach().numpy(), recipe.LAYERS, slopes, other,
        )  # fmt: skip
        E.grad, few.grad = torch.tensor(slopes, dtype=torch.float32), torch.tensor(other)
        torch.nn.utils.clip_grad_norm_([E, few], recipe.CLIP)
        adam.step()
    train_epoch(run, reviews, seed=1)
    np.testing.assert_allclose(run.E, E.detach().numpy(), atol=2e-6)
    np.testing.assert_allclose(run.few, few.detach().numpy(), atol=1e-6)
    assert run.step == 2


def test_a_long_gradient_is_cut_to_its_limit(reviews):
    run = begin(len(reviews.words), 2, seed=1)
    run.few[:2] *= 1e4  # a decoder this steep gives slopes far beyond the limit
    before = run.few.copy()
    data = reviews.ids, reviews.counts, reviews.offsets, reviews.labels
    first, moments = np.zeros_like(run.E), (np.zeros_like(run.few), np.zeros_like(run.few))
    recipe_kernel.train_part(*data, reviews.learn[:64], 64, 8, run.E, first, np.zeros_like(run.E), run.few, *moments,
                             0, 1e-3, 5.0, 1e-3)  # fmt: skip
    norm = np.sqrt((first.astype(float) ** 2).sum() + (moments[0] ** 2).sum()) / 0.1
    assert norm == pytest.approx(5.0, rel=1e-3)
    assert not np.array_equal(before, run.few)


def test_training_learns_the_made_up_reviews(reviews):
    run = begin(len(reviews.words), 4)
    for _ in range(2000):
        train_epoch(run, reviews, seed=0)
    assert run.history["loss"][-1] < 0.5 * run.history["loss"][0]
    assert run.history["test_accuracy"][-1] > 0.85
    assert run.alpha >= recipe.LEAST_ALPHA


def test_softmax_training_stays_close_to_hardmax_training(reviews):
    """The same start and batches: at temperature 0.001 the two attentions agree far beyond what training changes."""
    soft, hard = begin(len(reviews.words), 2, seed=3), begin(len(reviews.words), 2, seed=3)
    trainer = SoftmaxTrainer(soft, reviews, 3)
    for _ in range(3):
        trainer.epoch()
        train_epoch(hard, reviews, 3)
    assert np.abs(np.subtract(soft.history["loss"], soft.history["hardmax_loss"])).max() < 1e-3
    np.testing.assert_allclose(soft.history["loss"], hard.history["loss"], atol=5e-3)
    assert soft.step == hard.step == 6


def test_softmax_on_counts_is_softmax_on_all_128_words(reviews):
    run = begin(len(reviews.words), 2, seed=2)
    trainer = SoftmaxTrainer(run, reviews, 0)
    texts = reviews.learn[:4]
    for t, logit in zip(texts, trainer.logits(texts).detach(), strict=True):
        z = torch.from_numpy(run.E[spelled_out(reviews, t)]).double()
        for _ in range(recipe.LAYERS):
            z = (z + run.alpha * (torch.softmax(z @ z.T / 0.001, dim=-1) @ z)) / (1 + run.alpha)
        expected = z.mean(dim=0).numpy() @ run.few[:2] + run.few[2]
        assert float(logit) == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize("method", ["hardmax", "softmax"])
def test_a_stopped_run_goes_on_to_the_same_bits(reviews, tmp_path, method):
    def epochs(run, count):
        trainer = SoftmaxTrainer(run, reviews, 0) if method == "softmax" else None
        for _ in range(count):
            trainer.epoch() if trainer else train_epoch(run, reviews, 0)
        return run

    whole = epochs(begin(len(reviews.words), 2), 4)
    half = epochs(begin(len(reviews.words), 2), 2)
    save_run(half, tmp_path / "half.safetensors", "a mark")
    again = epochs(load_run(tmp_path / "half.safetensors", "a mark"), 2)
    assert again.history == whole.history
    for name in recipe.ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_a_checkpoint_of_other_data_is_not_used_and_a_damaged_one_is_named(reviews, tmp_path):
    path = tmp_path / "run.safetensors"
    assert load_run(path, "a") is None
    save_run(begin(4, 2), path, "a")
    assert load_run(path, "b") is None
    assert load_run(path, "a").E.shape == (4, 2)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(BadInput, match=r"run\.safetensors"):
        load_run(path, "a")
    assert mark_of(reviews, {"dim": 2}) != mark_of(reviews, {"dim": 4})
    assert json.dumps(mark_of(reviews, {"dim": 2}))
