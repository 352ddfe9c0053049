"""Effects of words are those of the model on the edited text, whatever the way they are computed."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.jit.ways import COMPILED, PLAIN, Job, forced
from hardmax.sentiment import word_effects
from hardmax.sentiment.editing import edited
from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_model
from hardmax.sentiment.model import SentimentModel, probabilities
from hardmax.sentiment.study_numpy import Without
from hardmax.sentiment.word_effects import log_odds, study_texts, without_each
from hardmax.text.vocabulary import Vocabulary
from hardmax.text.words import split
from tiny_models import random_model, two_classes

LETTERS = "abcdefgh"


def ngram_model(seed=0, dim=2, layers=3, classes=2, longest=3, grid=False, neutral=1.5):
    """Terms of one to three letters, half of all there are: deleting a letter makes new ones."""
    rng = np.random.default_rng(seed)
    every = [*LETTERS, "!", "a !", "! ?"]
    every += [f"{a} {b}" for a in LETTERS for b in LETTERS if rng.random() < 0.5]
    every += [f"{a} {b} {c}" for a in LETTERS for b in LETTERS for c in LETTERS if rng.random() < 0.3]
    known = [term for term in every if term.count(" ") < longest and (" " in term or rng.random() < 0.9)]
    places = rng.normal(size=(len(known), dim))
    rows = 1 if classes == 2 else classes
    return SentimentModel(
        Vocabulary(known, longest), np.round(places) if grid else places, rng.normal(size=(rows, dim)) * 3,
        rng.normal(size=rows), 0.7, layers, tuple(range(classes)), {}, neutral,
    )  # fmt: skip


def edited_logits(model, text):
    """The model on the text without each of its words, edited as a person would do it."""
    words = split(text)
    forms = dict.fromkeys(word.form for word in words)
    return model.logits([edited(text, [(w.start, w.end) for w in words if w.form == form]) for form in forms])


# x is not known; some words are joined by stops, some end a sentence.
BETWEEN = [*" " * 5, ". ", ".", " .", ".电", "电", ", ", "! ", "\u00ad!", "?!", "-", "\n"]
WORDS = st.tuples(st.sampled_from(LETTERS + "x!"), st.sampled_from(BETWEEN))
TEXTS = st.lists(WORDS, max_size=30).map(lambda words: "".join(a + b for a, b in words))


@pytest.mark.parametrize("way", [PLAIN, COMPILED])
@settings(derandomize=True, deadline=None, max_examples=150)
@given(TEXTS, st.integers(0, 5), st.sampled_from([1, 2, 3]), st.sampled_from([0, 1, 4]), st.sampled_from([2, 3]),
       st.sampled_from([1, 2, 3]), st.booleans())  # fmt: skip
def test_every_effect_is_that_of_the_edited_text(way, text, seed, dim, layers, classes, longest, grid):
    model = ngram_model(seed, dim, layers, classes, longest, grid)
    with forced(way):
        found, left = without_each(study_texts(model, [text])[0])
    assert found == pytest.approx(edited_logits(model, text), abs=1e-11)
    assert len(left) == len(found)


@pytest.mark.parametrize("layers", [0, 4])
def test_an_effect_is_the_change_of_the_log_odds_of_the_damped_probability(layers):
    model = replace(ngram_model(2, 3, layers, 3), damping=0.6)
    text = "a b c, d a! e f. g x h a b"
    ex = explain(model, text)
    p = model.probabilities([text, *(ex.without(word.word).text for word in ex.words)])
    k = model.classes.index(ex.label)
    odds = np.log(p[:, k]) - np.log1p(-p[:, k])
    assert ex.probability == p[0, k]
    assert [word.effect for word in ex.words] == pytest.approx(odds[0] - odds[1:], abs=1e-11)
    assert ex.bias + sum(word.contribution for word in ex.words) == pytest.approx(ex.logit, abs=1e-12)


def same_bits_both_ways(model, texts):
    """Study texts in NumPy and in compiled code, compare all arrays, and return what NumPy found."""
    found = []
    for way in (PLAIN, COMPILED):
        with forced(way):
            study, names = study_texts(model, texts)
            study.given = without_each(study)
            found.append((study, list(names)))
    (plain, names), (compiled, same_names) = found
    assert names == same_names
    for name in ("contributions", "logits", "leader", "since", "busy"):
        assert np.array_equal(getattr(plain, name), getattr(compiled, name)), name
    for one, other in zip(plain.given, compiled.given, strict=True):
        assert np.array_equal(one, other)
    for part in ("words", "deletions"):
        for field in fields(getattr(plain, part)):
            one, other = (getattr(getattr(study, part), field.name) for study in (plain, compiled))
            if field.name == "new":
                assert np.array_equal(one.offsets, other.offsets)
                one, other = one.ids, other.ids
            assert np.array_equal(one, other), field.name
    return plain


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.integers(0, 5), st.sampled_from([1, 2, 3, 4]),
       st.sampled_from([0, 1, 4, 8]), st.sampled_from([2, 3]), st.sampled_from([1, 2, 3]), st.booleans())  # fmt: skip
def test_both_ways_have_the_same_bits(texts, seed, dim, layers, classes, longest, grid):
    same_bits_both_ways(ngram_model(seed, dim, layers, classes, longest, grid), texts)


@pytest.mark.parametrize("name", ["imdb", "imdb-words"])
def test_both_ways_have_the_same_bits_for_a_text_with_thousands_of_terms(name):
    """Among so many terms some follow one that is on its way, and layers run on parts of the text."""
    model = load_model(name)
    rng = np.random.default_rng(0)
    terms = [term for term in model.vocabulary.terms[:40_000] if " " in term or name == "imdb-words"]
    study = same_bits_both_ways(model, [" ".join(rng.choice(terms, 12_000))])
    assert study.bases[0].outer is not None


def test_many_texts_at_once_are_as_one_by_one():
    model = ngram_model()
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(list(LETTERS + "x"), rng.integers(0, 25))) for _ in range(20)]
    study = study_texts(model, texts)[0]
    found, _ = without_each(study)
    for text, (a, b) in zip(texts, pairwise(study.words.forms.tolist()), strict=True):
        assert found[a:b] == pytest.approx(edited_logits(model, text), abs=1e-11)


def test_most_deletions_need_no_new_run(monkeypatch):
    model = random_model(terms=300, layers=4)
    text = " ".join(f"w{i}" for i in range(300))
    with forced(PLAIN):
        study = study_texts(model, [text])[0]
    ran = []
    again = Without.run
    monkeypatch.setattr(Without, "run", lambda *given: ran.append(1) or again(*given))
    with forced(PLAIN):
        found, _ = without_each(study)
    assert 0 < len(ran) <= 60
    assert found == pytest.approx(edited_logits(model, text), abs=1e-11)


def circle_model(terms, leading, ties):
    """Most words on a circle, some a little farther out: those lead. Pairs of words two apart are terms too."""
    rng = np.random.default_rng(5)
    turns = rng.uniform(0, 2 * np.pi, 2 * terms)
    radius = np.where(rng.random(2 * terms) < leading, 1.0, 0.98) * (1 + 1e-7 * rng.normal(size=2 * terms))
    if ties:  # words in the middle of two that lead
        turns[:30] = np.repeat(np.arange(10) * 0.6, 3) + np.tile([0.0, 0.01, -0.01], 10)
        radius[:30] = np.tile([0.98, 1.0001, 1.0001], 10)
    places = radius[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    known = [f"w{i}" for i in range(terms)] + [f"w{i} w{i + 2}" for i in range(terms)]
    return SentimentModel(
        Vocabulary(known, 2), places, rng.normal(size=(1, 2)) * 30, np.zeros(1), 0.08, 8, (0, 1), {}, 400.0
    )


@pytest.mark.parametrize("leading", [0.005, 0.05])
@pytest.mark.parametrize("ties", [False, True])
def test_in_a_long_text_every_effect_is_that_of_the_edited_text(leading, ties):
    model, words = circle_model(2000, leading, ties), [f"w{i}" for i in range(2000)]
    study = same_bits_both_ways(model, [" ".join(words)])
    assert study.busy.all() == ties
    found, _ = without_each(study)
    followed = np.unique(study.leader[study.leader != np.arange(2000)])
    some = np.unique(np.concatenate([followed[:20], np.arange(0, 2000, 200), np.arange(15)]))
    edited_texts = [" ".join(words[:i] + words[i + 1 :]) for i in some]
    assert found[some] == pytest.approx(model.logits(edited_texts), abs=1e-11)


def test_a_text_of_ten_pages_is_explained_without_compiling_anything(monkeypatch, tmp_path):
    """Followers of a deleted word look again; only a few deletions let the layers run."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # nothing is stored
    monkeypatch.setattr(word_effects, "TRACER", Job("study_compiled.study_bags"))
    monkeypatch.setattr(word_effects, "_compiled", None)
    model, words = circle_model(6000, 0.01, False), [f"w{i}" for i in range(6000)]
    study = study_texts(model, [" ".join(words)])[0]
    found, _ = without_each(study)
    followed = np.unique(study.leader[study.leader != np.arange(6000)])
    some = np.unique(np.concatenate([followed, np.arange(0, 6000, 500)]))
    edited_texts = [" ".join(words[:i] + words[i + 1 :]) for i in some]
    assert found[some] == pytest.approx(model.logits(edited_texts), abs=1e-11)


def test_a_long_text_is_explained_without_compiling_anything_in_a_new_installation(tmp_path):
    code = """if True:
        import sys
        import hardmax as hx
        terms = hx.load("imdb").model_.vocabulary.terms[:30_000]
        found = hx.load("imdb").explain(". ".join(terms * 4))
        assert len(found.text) > 1_200_000 and len(found.reasons) > 50
        assert "numba" not in sys.modules"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)


def test_many_copies_are_left_to_the_compiled_code(monkeypatch):
    ran, compiled, model = [], word_effects._compiled, random_model(terms=200)
    monkeypatch.setattr(word_effects, "_compiled", lambda *given: ran.append(1) or compiled(*given))
    monkeypatch.setattr(word_effects, "MANY", 100)
    for copies in (False, True):
        monkeypatch.setattr(word_effects, "TRACER", Job("nothing.of_this_name"))
        some = replace(model, embedding=model.embedding[np.arange(200) % 60]) if copies else model
        study_texts(some, [" ".join(f"w{i}" for i in range(200))])
        assert bool(ran) == copies


def test_plain_work_that_would_take_long_is_left_to_the_compiled_code(monkeypatch):
    model, text = random_model(terms=200, dim=6), " ".join(f"w{i}" for i in range(200))  # many leaders
    with forced(PLAIN):
        study = study_texts(model, [text])[0]
        every, _ = without_each(study)
    monkeypatch.setattr(word_effects.TRACER, "plain", lambda work: work < 10_000)
    found, _ = without_each(study)
    assert study.given is not None
    assert found == pytest.approx(every, abs=1e-11)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.lists(st.floats(-5, 5), min_size=3, max_size=5), st.integers(0, 2))
def test_log_odds_are_those_of_the_probability(scores, label):
    p = probabilities(np.array([scores]))[0, label]
    assert log_odds(np.array([scores]), np.array([label]))[0] == pytest.approx(np.log(p / (1 - p)), abs=1e-9)


def test_a_text_of_one_word_loses_everything_but_the_bias():
    model = two_classes()
    ex = explain(model, "great")
    assert ex.words[0].effect == pytest.approx(ex.logit - ex.bias)
