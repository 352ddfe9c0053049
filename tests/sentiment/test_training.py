"""Training: the gradient, reproducibility, and runs that are stopped."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from corpus import reviews
from hardmax.errors import BadInput
from hardmax.sentiment import training
from hardmax.sentiment.batches import run_bags
from hardmax.sentiment.calibration import Calibration
from hardmax.sentiment.choices import prepare
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.sentiment.layers_numpy import flow, powers
from hardmax.sentiment.placing import positions
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.training_loop import Examples, Watch
from hardmax.text.vocabulary import Vocabulary

TEXTS, LABELS = reviews(200, seed=4)


@cache
def vocabulary():
    return Vocabulary.count(TEXTS, (1, 2))


@cache
def examples():
    labels = np.array([v == "pos" for v in LABELS], np.int64)
    return Examples(vocabulary().bags(TEXTS), labels, np.ones(len(TEXTS)))


def trainer(**settings):
    recipe = Recipe(**{"layers": 8, "epochs": 1, "batch_size": 32, **settings})
    return prepare(examples(), vocabulary(), ("neg", "pos"), recipe)


@pytest.mark.parametrize(("classes", "several", "dim"), [(3, False, 3), (3, False, 5), (4, True, 5), (3, False, 2)])
def test_a_calibration_becomes_part_of_the_words(classes, several, dim):
    labels = np.random.default_rng(0).integers(0, 2 if several else classes, (len(TEXTS), classes))
    data = replace(examples(), labels=labels if several else labels[:, 0])
    t = prepare(data, vocabulary(), tuple("abcd"[:classes]), Recipe(layers=0, dim=dim))
    assert t.shifts == (dim > 2)
    before, sizes = run_bags(data.bags, t.model_parameters)[0], data.sizes
    sums = (before - t.bias) * (sizes + t.neutral)[:, None]
    damping = 0.0 if several else 0.25
    found = Calibration(1.7, 4.0, np.array([0.5, -0.2, -0.3, 0.0])[:classes] * t.shifts, damping)
    t.calibrate(found)
    assert t.model().damping == damping
    np.testing.assert_allclose(run_bags(data.bags, t.model_parameters)[0], found.logits(sizes, sums, t.bias), atol=1e-9)
    assert np.sqrt((t.x**2).sum(axis=1)).max() <= 1


def loss_of(t, x, alpha=None, scores=None):
    """Mean loss over all texts by the plain layers."""
    data = examples()
    vectors = positions(x, t.radius, t.begin.sideways)
    scores = t.scores if scores is None else scores
    total = 0.0
    for k, label in enumerate(data.labels):
        z = vectors[data.bags.ids[data.bags.offsets[k] : data.bags.offsets[k + 1]]]
        K = t.layers
        f = flow(z, powers(alpha or t.alpha, K), K, t.neutral)
        logit = float(f.weights @ z[:, : x.shape[1]] @ scores[0] + t.bias[0])
        total += np.log1p(np.exp(-logit if label else logit))
    return total / len(data.labels)


@pytest.mark.parametrize("layers", [0, 1, 8])
def test_the_gradient_is_that_of_the_loss(layers, monkeypatch):
    t = trainer(layers=layers, dropout=0.0, train_alpha=True)
    t.place()
    seen = {}

    def remember_words(batch, c, pull, *others):
        seen["pull"], seen["c"], seen["places"] = pull, c, batch.places

    monkeypatch.setattr(training, "step_words", remember_words)
    monkeypatch.setattr(t, "_few", lambda gradient, fade: seen.update(few=gradient))
    data, every = examples(), np.arange(len(TEXTS))
    t.batch(data, every, 1.0)
    gradient = np.zeros_like(t.x)
    for k in every:
        a, b = data.bags.offsets[k], data.bags.offsets[k + 1]
        np.add.at(gradient, data.bags.ids[a:b], seen["c"][seen["places"][k] :][: b - a, None] * seen["pull"][k])
    h = 1e-6
    for word in np.argsort(-np.abs(gradient[:, 0]))[:6]:
        up, down = t.x.copy(), t.x.copy()
        up[word] += h
        down[word] -= h
        assert np.isclose((loss_of(t, up) - loss_of(t, down)) / (2 * h), gradient[word, 0], rtol=1e-4, atol=1e-9)
    numeric = (loss_of(t, t.x, scores=t.scores + h) - loss_of(t, t.x, scores=t.scores - h)) / (2 * h)
    assert np.isclose(numeric, seen["few"][0], rtol=1e-5)
    if layers:
        numeric = (loss_of(t, t.x, alpha=t.alpha + h) - loss_of(t, t.x, alpha=t.alpha - h)) / (2 * h)
        assert np.isclose(numeric, seen["few"][-1], rtol=1e-3, atol=1e-8)


def test_training_lowers_the_loss_and_words_keep_their_radius():
    t = trainer(epochs=20)
    t.train(examples(), Watch(examples()))
    assert t.losses[1] < t.losses[0]
    assert t.accuracies[-1] > 0.95
    assert len(t.accuracies) == 20
    np.testing.assert_allclose(np.sqrt((t.vectors**2).sum(axis=1)), t.radius, rtol=1e-12)
    assert t.radius.min() < 1.0 < t.radius.max()


def test_alpha_can_be_trained():
    t = trainer(train_alpha=True)
    t.train(examples(), Watch())
    assert t.alpha != t.recipe.alpha
    assert t.alpha > 0


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_no_bit(threads, monkeypatch):
    from hardmax.jit import threads as search_threads

    here = trainer()
    here.train(examples(), Watch())
    monkeypatch.setattr(search_threads, "threads", lambda: threads)
    monkeypatch.setattr(search_threads, "PARALLEL_FROM", 1)
    monkeypatch.setattr(search_threads, "_pools", {})
    there = trainer()
    there.train(examples(), Watch())
    assert (here.vectors == there.vectors).all()
    assert here.losses == there.losses


@pytest.mark.parametrize("stop_at", [1, 3, 7, 10])  # seven batches an epoch
def test_a_run_that_is_stopped_continues_to_the_same_bits(tmp_path, stop_at):
    whole = trainer(epochs=2)
    whole.train(examples(), Watch())
    path = tmp_path / "state.npz"

    class Stop(Exception):
        pass

    def stop(p):
        if p.step == stop_at:
            raise Stop

    with pytest.raises(Stop):
        trainer(epochs=2).train(examples(), Watch(None, stop, path, checkpoint_seconds=0.0))
    rest = trainer(epochs=2)
    rest.train(examples(), Watch(checkpoint=path, resume=True))
    assert (rest.vectors == whole.vectors).all()
    assert rest.losses == whole.losses


def test_a_kill_at_any_moment_leaves_a_good_checkpoint(tmp_path):
    path = tmp_path / "state.npz"
    script = (
        "from corpus import reviews\nfrom hardmax.sentiment.estimator import HardmaxClassifier\n"
        "texts, labels = reviews(19, seed=4)\n"  # so few that nothing is held out before the second phase
        "clf = HardmaxClassifier(layers=8, epochs=100000, batch_size=3)\n"
        f"clf.fit(texts, labels, progress=lambda p: print(p.step, flush=True), checkpoint={str(path)!r})\n"
    )
    folders = [str(Path(__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment, text=True)
    for line in child.stdout:
        if int(line) >= 60:
            break
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with np.load(path) as state:
        assert state["step"] >= 7
        assert np.isfinite(state["x"]).all()
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith(".")] == ["state.npz"]


def test_a_checkpoint_of_other_data_or_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    trainer().train(examples(), Watch(checkpoint=path))
    with pytest.raises(BadInput, match="different data or settings"):
        trainer(alpha=0.9).train(examples(), Watch(checkpoint=path, resume=True))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(BadInput, match="damaged"):
        trainer().train(examples(), Watch(checkpoint=path, resume=True))


def test_progress_tells_every_step_once():
    steps = []
    HardmaxClassifier(layers=8, warm_epochs=1, epochs=2, batch_size=64).fit(
        TEXTS, LABELS, progress=steps.append, validation=(TEXTS, LABELS)
    )
    assert {p.what for p in steps if p.epochs == 0} == {
        "choosing the penalty on held-out texts", "trying attention on held-out texts", "learning the words",
        "learning the words that lead",
    }  # fmt: skip
    steps = [p for p in steps if p.epochs]
    assert [p.step for p in steps] == list(range(1, 9))
    assert steps[-1].epoch == steps[-1].epochs == 2
    assert 0.5 < steps[-1].validation <= 1
