"""The paper's softmax training: the same model comes out; and torch as an oracle for the gradient of the kernel."""

import sys

import numpy as np
import pytest
import torch

from corpus import reviews
from hardmax.errors import BadInput, MissingExtra
from hardmax.sentiment.batches import run_batch
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.sentiment.files import load_model
from hardmax.sentiment.layers_numpy import Parameters, flow, powers
from hardmax.sentiment.relaxation import relaxed_mean
from hardmax.text.vocabulary import Bags

TEXTS, LABELS = reviews(160, seed=7)
MORE, MORE_LABELS = reviews(80, seed=8)


def softmax(**settings):
    few = {
        "method": "softmax",
        "ngram_range": (1, 1),
        "layers": 2,
        "epochs": 12,
        "learning_rate": 0.05,
        "batch_size": 32,
    }
    return HardmaxClassifier(**few | settings)


def hard_mean(z, alpha, layers):
    """Mean of the last layer with exact argmax, in torch: the gradient goes through the selected values."""
    for _ in range(layers):
        chosen = (z @ z.T).detach().argmax(dim=1)
        z = (z + alpha * z[chosen]) / (1 + alpha)
    return z.mean(dim=0)


@pytest.mark.parametrize("layers", [1, 3, 8])
@pytest.mark.parametrize("dim", [2, 5])
def test_the_kernels_gradient_is_that_of_torch_in_float64(dim, layers):
    rng = np.random.default_rng(dim + layers)
    E, v = rng.normal(size=(80, dim)), rng.normal(size=dim)
    ids = np.concatenate([rng.permutation(80)[:n] for n in (40, 1, 13, 25)]).astype(np.int32)
    bags, alpha = Bags.of(ids, [40, 1, 13, 25]), 0.37
    batch, out = run_batch(bags, np.arange(4), Parameters(E, powers(alpha, layers), layers, v[None], np.zeros(1)))
    weights, places, logits = out.weights, batch.places, out.logits
    for t in range(4):
        mine = slice(int(bags.offsets[t]), int(bags.offsets[t + 1]))
        z = torch.tensor(E[ids[mine]], dtype=torch.float64, requires_grad=True)
        logit = hard_mean(z, alpha, layers) @ torch.from_numpy(v)
        logit.backward()
        assert logits[t, 0] == pytest.approx(float(logit.detach()), abs=1e-12)
        c = weights[places[t] : places[t] + len(z)]
        np.testing.assert_allclose(c[:, None] * v, z.grad.numpy(), rtol=0, atol=1e-14)


def test_the_relaxed_layers_are_those_of_hardmax_where_nothing_is_close():
    z = np.array([[1.0, 0.2], [0.3, 0.4], [-1.0, 0.5], [-0.2, 0.6], [9.0, 9.0]])
    mask = np.array([[True] * 4 + [False]])  # the last place holds no word
    found = relaxed_mean(torch, torch.from_numpy(z)[None], torch.from_numpy(mask), torch.tensor(0.5), 3)
    expected = flow(z[:4], powers(0.5, 3), 3).states[-1].mean(axis=0)
    np.testing.assert_allclose(found[0].numpy(), expected, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_it_learns_and_gives_the_same_model_file(tmp_path):
    seen = []
    clf = softmax().fit(TEXTS, LABELS, validation=(MORE, MORE_LABELS), progress=seen.append)
    assert clf.score(MORE, MORE_LABELS) > 0.85
    assert clf.history_["loss"][-1] < 0.7 * clf.history_["loss"][0]
    assert [p.step for p in seen] == list(range(1, 61))
    assert seen[-1].validation == clf.history_["accuracy"][-1] == clf.score(MORE, MORE_LABELS)
    again = load_model(clf.save_pretrained(tmp_path / "model"))
    assert (again.logits(MORE)[:, 0] == clf.decision_function(MORE)).all()
    assert again.card["settings"]["method"] == "softmax"
    assert again.alpha == clf.model_.alpha != clf.alpha


def test_seeds_decide_everything_and_the_callers_generator_is_left_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, second, third = (softmax(epochs=1, random_state=s).fit(TEXTS, LABELS).model_.embedding for s in (0, 0, 1))
    assert (first == second).all()
    assert (first != third).any()
    assert (torch.get_rng_state() == before).all()


@pytest.mark.parametrize("stop_at", [3, 5, 8])  # five batches an epoch
def test_a_run_that_is_stopped_continues_to_the_same_bits(tmp_path, stop_at, monkeypatch):
    whole = softmax(epochs=2).fit(TEXTS, LABELS)
    monkeypatch.setattr("hardmax.sentiment.training_loop.Watch.checkpoint_seconds", 0.0)
    monkeypatch.setattr("hardmax.sentiment.training_loop.Watch.__init__.__defaults__", (None, None, None, False, 0.0))

    class Stop(Exception):
        pass

    def stop(p):
        if p.step == stop_at:
            raise Stop

    path = tmp_path / "state.npz"
    with pytest.raises(Stop):
        softmax(epochs=2).fit(TEXTS, LABELS, progress=stop, checkpoint=path)
    steps = []
    rest = softmax(epochs=2).fit(TEXTS, LABELS, progress=lambda p: steps.append(p.step), checkpoint=path, resume=True)
    assert steps[0] == stop_at  # the step that was told of but not yet stored
    assert (rest.model_.embedding == whole.model_.embedding).all()
    assert rest.history_ == whole.history_


@pytest.mark.slow
def test_three_classes_and_texts_without_a_known_word():
    texts = [*TEXTS, *["plain and ordinary"] * 60, ""]
    clf = softmax(dim=3).fit(texts, [*LABELS, *["so-so"] * 61])
    assert clf.predict(["ordinary"]).tolist() == ["so-so"]
    assert np.isfinite(clf.predict_proba(["", "zxqw"])).all()


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"hardmax\[torch\]"):
        softmax().fit(TEXTS, LABELS)


def test_a_stream_is_not_for_the_relaxation():
    with pytest.raises(BadInput, match=r"partial_fit needs method=.hardmax"):
        softmax().partial_fit(TEXTS, LABELS)
