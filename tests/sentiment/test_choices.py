"""What is chosen by held-out texts: penalty, depth, calibration."""

from dataclasses import replace

import numpy as np
import pytest

from corpus import reviews
from hardmax.sentiment import choices
from hardmax.sentiment.calibration import calibrate
from hardmax.sentiment.choices import FOLDS, Measured, prepare, split
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.sentiment.fitting import usual_min_df
from hardmax.sentiment.recipe import Recipe
from hardmax.sentiment.training_loop import Watch
from hardmax.sentiment.word_scores import Examples, problem
from hardmax.text.vocabulary import Bags, Vocabulary

TEXTS, LABELS = reviews(300, seed=8)


def test_every_text_of_small_data_is_held_out_once_and_classes_keep_their_parts():
    labels = np.array([0] * 60 + [1] * 30 + [2] * 7)
    examples = Examples(Bags.of(np.arange(97), np.ones(97)), labels, np.ones(97))
    folds = split(examples)
    assert len(folds) == FOLDS
    assert sorted(np.concatenate([held.bags.ids for _, held in folds]).tolist()) == list(range(97))
    for learn, held in folds:
        assert set(learn.bags.ids.tolist()).isdisjoint(held.bags.ids.tolist())
        assert len(learn.bags) + len(held.bags) == 97
        assert 1 <= np.count_nonzero(held.labels == 2) <= 2
        assert abs(np.count_nonzero(held.labels == 0) - 12) <= 1


def test_the_only_text_of_a_class_is_never_held_out():
    labels = np.concatenate([np.repeat(np.arange(8), 5), np.arange(8, 20)])
    examples = Examples(Bags.of(np.arange(52), np.ones(52)), labels, np.ones(52))
    folds = split(examples)
    assert [len(held.bags) for _, held in folds] == [8] * FOLDS
    assert all(set(labels[40:]) <= set(learn.labels) for learn, _ in folds)


def test_where_nothing_can_be_held_out_nothing_is_chosen_and_every_class_is_learned():
    texts = [f"word{k} and other{k} things" for k in range(60)]
    clf = HardmaxClassifier().fit(texts, np.arange(60))
    assert clf.choices_ == {}
    assert clf.score(texts, np.arange(60)) == 1.0


def test_a_model_of_a_few_texts_whose_words_say_nothing_is_not_sure():
    losses = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        texts = [" ".join(f"w{w}" for w in rng.integers(100, size=20)) for _ in range(216)]
        labels = np.arange(216) % 2
        p = HardmaxClassifier().fit(texts[:16], labels[:16]).predict_proba(texts[16:])
        losses.append(-np.log(p[np.arange(200), labels[16:]]).mean())
    assert np.mean(losses) < 1.2 * np.log(2)


def test_a_difference_by_chance_does_not_change_a_setting():
    rng = np.random.default_rng(0)
    first = rng.exponential(size=400)
    noise = rng.standard_normal(400)
    noise -= noise.mean()
    one, lucky, clear = (Measured(0.9, first + d, None) for d in (0.0, noise - 0.02, 0.1 * noise - 0.02))
    assert not lucky.better(one)  # 0.02 with a standard error of 0.05
    assert clear.better(one)  # with one of 0.005
    assert not one.better(clear)


def test_the_penalty_is_sought_upward_and_downward_from_the_usual_one(monkeypatch):
    from hardmax.sentiment import choices

    tried = []

    def best_at(wanted):
        def attempt(task, folds, penalty, smoothing, before):
            tried.append(penalty)
            loss = abs(np.log(penalty / wanted))
            return choices.Tried(penalty, smoothing, [], [], Measured(0.0, np.array([loss]), None))

        return attempt

    class Open:
        recipe = Recipe()

    for wanted in (1e-3, 3e-5, 1e-5, 3e-6, 3e-7):
        monkeypatch.setattr(choices, "_try", best_at(wanted))
        assert choices._best_penalty(Open, []).penalty == wanted
    assert tried[:5] == [1e-5, 3e-5, 1e-4, 3e-4, 1e-3]


def test_large_data_holds_out_one_part_in_blocks_of_neighbors():
    labels = np.zeros(25_000, np.int64)
    examples = Examples(Bags.of(np.arange(25_000), np.ones(25_000)), labels, np.ones(25_000))
    [(_, held)] = split(examples)
    assert len(held.bags) == 5000
    assert np.count_nonzero(np.diff(held.bags.ids) > 1) == 3  # four blocks


def test_attention_is_used_only_where_it_helps_and_the_classifier_says_why():
    clf = HardmaxClassifier(epochs=2).fit(TEXTS, LABELS)  # short texts
    assert set(clf.choices_) == {"penalty", "smoothing", "layers"}
    assert (clf.model_.layers, clf.choices_["layers"][:2]) == (0, "0:")
    long = [" ".join(f"w{(37 * i + 7 * k) % 400}" for k in range(150)) + " " + text for i, text in enumerate(TEXTS)]
    clf = HardmaxClassifier(epochs=2).fit(long, LABELS)
    assert clf.choices_["layers"].startswith(f"{clf.model_.layers}")
    assert "held-out texts" in clf.choices_["layers"]
    assert (clf.model_.layers == 0) == ("attention does not help" in clf.choices_["layers"])
    assert "layers" not in HardmaxClassifier(layers=0).fit(TEXTS, LABELS).choices_


@pytest.mark.parametrize("layers", [0, 4])
def test_probabilities_are_those_of_held_out_texts(layers):
    # A third of the labels are wrong: an overconfident model is near 1, an honest one knows how often it is right.
    rng = np.random.default_rng(0)
    texts, labels = reviews(1500, seed=2)
    wrong = rng.random(1500) < 1 / 3
    noisy = [("neg" if c == "pos" else "pos") if w else c for c, w in zip(labels, wrong, strict=True)]
    clf = HardmaxClassifier(layers=layers).fit(texts[:1000], noisy[:1000])
    sure = clf.predict_proba(texts[1000:]).max(axis=1)
    assert 0.55 < sure.mean() < 0.75
    assert abs(sure.mean() - clf.score(texts[1000:], noisy[1000:])) < 0.06


@pytest.mark.parametrize(("sign", "used"), [(1, True), (-1, False)])
def test_all_words_are_shifted_towards_a_rare_class_where_that_lowers_the_log_loss(monkeypatch, sign, used):
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], [200, 160, 40])  # two words of a text are of its class, eight say nothing
    words = [[f"w{rng.integers(400)}" for _ in range(8)] + [f"{'abc'[k]}{rng.integers(60)}" for _ in range(2)]
             for k in labels]  # fmt: skip
    texts = [" ".join(some) for some in words]
    vocabulary = Vocabulary.count(texts, (1, 1))

    def calibrated(*given):
        found = calibrate(*given)
        return replace(found, every=sign * found.every)

    monkeypatch.setattr(choices, "calibrate", calibrated)
    data = Examples(vocabulary.bags(texts), labels, np.ones(400))
    trainer = prepare(data, vocabulary, (0, 1, 2), Recipe(layers=0, penalty=1e-5))
    every = trainer.calibration.every
    assert every.any() == used
    assert not used or every[2] > 0.3
    said = "all words, toward or away from each class; it lowers" if used else "none; it would not lower"
    assert trainer.choices["shift"] == f"{said} the log-loss on 400 held-out texts"


@pytest.mark.parametrize(("layers", "words", "power"), [(0, 99, 0.7), ("auto", 0, 0.7), ("auto", 99, 1.0), (2, 0, 1.0)])
def test_distinctive_words_are_trusted_less_where_there_is_no_attention(monkeypatch, layers, words, power):
    texts, labels = reviews(60, seed=1)
    texts = [" ".join([text, *(f"v{i}" for i in range(words))]) for text in texts]
    used = set()

    def noted(*given):
        used.add(given[-1])
        return problem(*given)

    monkeypatch.setattr(choices, "problem", noted)
    HardmaxClassifier(layers=layers, epochs=1).fit(texts, labels)
    assert used == {power}


def test_a_text_without_known_words_has_the_frequencies_of_the_classes():
    texts, labels = reviews(400, seed=3)
    seldom = [i for i, c in enumerate(labels) if c == "pos"][:40] + [i for i, c in enumerate(labels) if c == "neg"]
    clf = HardmaxClassifier().fit([texts[i] for i in seldom], [labels[i] for i in seldom])
    part = 40 / len(seldom)
    assert clf.predict_proba(["zxqw"])[0, 1] == pytest.approx(part, abs=0.03)
    assert clf.predict_proba(["qwertz zxqw"])[0, 1] == clf.predict_proba(["zxqw"])[0, 1]


def test_dimensions_and_min_df_follow_the_data():
    texts = [f"{word} {word}s thing {i % 7}" for i, word in enumerate(["apple", "train", "river", "chess"] * 20)]
    labels = ["fruit", "rail", "water", "game"] * 20
    clf = HardmaxClassifier().fit(texts, labels)
    assert clf.model_.dim == 4
    assert clf.score(texts, labels) == 1.0
    assert usual_min_df(["one two three"] * 10) == 1
    assert usual_min_df(["word " * 200] * 10) == 2
    assert usual_min_df(["word " * 200] * 20_000) == 3


def test_with_many_classes_the_vocabulary_has_fewer_terms(monkeypatch):
    from hardmax.sentiment import fitting

    monkeypatch.setattr(fitting, "MOST_NUMBERS", 30 * 40)
    monkeypatch.setattr(fitting, "LEAST_TERMS", 10)
    texts = [f"word{k % 30} rare{i}x{k}" for i in range(4) for k in range(40)]
    clf = HardmaxClassifier(layers=0, ngram_range=(1, 1)).fit(texts, [k for _ in range(4) for k in range(40)])
    assert sorted(clf.get_feature_names_out()) == sorted(f"word{k}" for k in range(30))
    assert len(HardmaxClassifier(ngram_range=(1, 1)).fit(texts, ["a", "b"] * 80).get_feature_names_out()) == 190


def test_many_classes_share_dimensions_and_can_still_be_told_apart(monkeypatch):
    from hardmax.sentiment import recipe

    monkeypatch.setattr(recipe, "MOST_NUMBERS", 900)
    monkeypatch.setattr(recipe, "LEAST_TERMS", 10)
    texts = [f"word{k} common{i % 3}" for i in range(6) for k in range(40)]
    clf = HardmaxClassifier(layers=0, ngram_range=(1, 1)).fit(texts, [k for _ in range(6) for k in range(40)])
    assert clf.model_.dim < 40
    assert clf.score(texts, [k for _ in range(6) for k in range(40)]) > 0.95


def test_with_many_classes_and_scores_one_part_is_held_out_and_fewer_settings_are_tried(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(30), 40)
    texts = [f"word{k} " + " ".join(f"w{i}" for i in rng.integers(0, 50, 12)) for k in labels]
    vocabulary = Vocabulary.count(texts, (1, 1))
    given = Examples(vocabulary.bags(texts), labels, np.ones(1200)), vocabulary, tuple(range(30)), Recipe(layers=0)
    usual = prepare(*given)
    monkeypatch.setattr(choices, "WIDE", 100)
    monkeypatch.setattr(choices, "HELD", 3000)
    trainer = prepare(*given)
    assert "on 80 held-out texts" in trainer.choices["penalty"]  # every third of a fifth
    for one in (usual, trainer):
        assert one.accuracy(given[0]) > 0.95


def test_a_stream_holds_nothing_out():
    vocabulary = Vocabulary.count(TEXTS)
    examples = Examples(vocabulary.bags(TEXTS), np.array([c == "pos" for c in LABELS], np.int64), np.ones(len(TEXTS)))
    trainer = prepare(examples, vocabulary, ("neg", "pos"), Recipe(), stream=True)
    assert trainer.choices == {}
    assert trainer.calibration is None
    trainer.train(examples, Watch(examples))
    assert trainer.accuracies[-1] > 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_a_beginning_weighs_a_third_of_its_text_in_the_calibration(monkeypatch, classes):
    seen = []

    def calibrated(examples, *given):
        seen.append((examples.sizes, examples.weight))
        return calibrate(examples, *given)

    monkeypatch.setattr(choices, "calibrate", calibrated)
    vocabulary = Vocabulary([f"w{k}" for k in range(20)], 1)
    labels = np.arange(120) % classes
    ids = (np.arange(120 * 10) + np.repeat(labels, 10)) % 20  # ten terms in every text
    prepare(Examples(Bags.of(ids, np.full(120, 10)), labels, np.ones(120)), vocabulary, tuple(range(classes)),
            Recipe(layers=0, penalty=1e-5, smoothing=1.0))  # fmt: skip
    assert all((given[sizes > 6] == 1).all() and (given[sizes == 6] == 1 / 3).all() for sizes, given in seen)
    assert all({6, 10} <= set(sizes.tolist()) for sizes, _ in seen)


def test_words_are_not_shifted_for_more_classes_than_the_held_out_texts_can_judge():
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(40), 4)
    texts = [f"a{k} b{rng.integers(3 * k, 3 * k + 3)} w{rng.integers(9)}" for k in labels]
    vocabulary = Vocabulary.count(texts, (1, 1))
    trainer = prepare(Examples(vocabulary.bags(texts), labels, np.ones(160)), vocabulary, tuple(range(40)),
                      Recipe(layers=0, penalty=1e-5, smoothing=1.0))  # fmt: skip
    assert not trainer.calibration.every.any()
    assert trainer.choices["shift"] == "none; 160 held-out texts are too few for 40 classes"
