"""The effect of a term is what the prediction loses without it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.sentiment import leave_one_out
from hardmax.sentiment.explain import explain
from hardmax.sentiment.leave_one_out import effects, leader_effects, log_odds, without_each
from hardmax.sentiment.model import probabilities
from hardmax.text.vocabulary import Bags
from tiny_models import random_model


def logits_of(model, ids):
    return model.run(Bags.of(ids, [len(ids)]))[0][0]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 59), min_size=1, max_size=25, unique=True), st.sampled_from([2, 3, 4]))
def test_effects_are_falls_of_the_log_odds_of_the_label(ids, classes):
    model = random_model(classes=classes)
    full = logits_of(model, ids)
    label = int(probabilities(full[None])[0].argmax())
    p = probabilities(full[None])[0, label]
    found = effects(model, np.array(ids, np.int32), range(len(ids)), full)
    for i, effect in enumerate(found):
        q = probabilities(logits_of(model, ids[:i] + ids[i + 1 :])[None])[0, label]
        assert effect == pytest.approx(np.log(p / (1 - p)) - np.log(q / (1 - q)), abs=1e-6)


def test_plain_and_compiled_agree_to_the_bit(monkeypatch):
    model, ids = random_model(dim=3, classes=3), np.arange(30, dtype=np.int32)
    monkeypatch.setattr("hardmax.sentiment.layers_numpy.Compiled.ready", False)
    plain = without_each(model, ids, range(30))
    monkeypatch.setattr(leave_one_out, "_FEW", 0)
    monkeypatch.setattr(leave_one_out, "_TERMS", 100)  # several portions
    assert (without_each(model, ids, range(30)) == plain).all()


def test_leaders_of_an_explanation_carry_their_effect():
    model = random_model()
    ex = explain(model, " ".join(f"w{i}" for i in range(20)))
    sign = 1 if ex.logit > 0 else -1
    for leader in ex.leaders:
        assert leader.effect == pytest.approx(sign * (ex.logit - ex.without(leader.word).logit), abs=1e-12)
    assert [leader.effect for leader in ex.leaders] == sorted((x.effect for x in ex.leaders), reverse=True)


def test_of_very_many_leaders_only_the_largest_are_worked_out(monkeypatch):
    monkeypatch.setattr(leave_one_out, "MOST_LEADERS", 2)
    model = random_model(layers=0)  # every word leads itself
    reading = model.read(" ".join(f"w{i}" for i in range(9)))
    found = leader_effects(model, reading.ids, reading.leader, reading.contributions, reading.logits)
    assert sorted(found) == sorted(np.argsort(-np.abs(reading.contributions[:, 0]))[:2].tolist())
    ex = explain(model, " ".join(f"w{i}" for i in range(9)))
    assert [leader.effect is None for leader in ex.leaders] == [False] * 2 + [True] * 7


def test_log_odds_of_two_classes_are_the_logit():
    assert log_odds(np.array([[3.0]]), 1).tolist() == [3.0]
    assert log_odds(np.array([[3.0]]), 0).tolist() == [-3.0]


def test_a_text_of_one_term_loses_everything_but_the_bias():
    model = random_model()
    full = logits_of(model, [5])
    sign = 1 if full[0] > 0 else -1
    assert effects(model, np.array([5], np.int32), [0], full)[0] == pytest.approx(sign * (full[0] - model.bias[0]))
