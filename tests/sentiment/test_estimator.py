"""The scikit-learn contract, and what the classifier refuses."""

import json
import pickle
import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from corpus import reviews
from hardmax.errors import BadInput
from hardmax.sentiment.estimator import HardmaxClassifier, load
from hardmax.sentiment.model import probabilities
from hardmax.sentiment.recipe import Tuning
from hardmax.text.vocabulary import Vocabulary
from tiny_models import random_model

TEXTS, LABELS = reviews(240, seed=0)
MORE, MORE_LABELS = reviews(120, seed=1)


def small(**settings):
    return HardmaxClassifier(**{"layers": 8, "warm_epochs": 5, "epochs": 10, "batch_size": 32, **settings})


class OnNumbers(HardmaxClassifier):
    """The classifier for tables of numbers, each number a word: scikit-learn's checks know no texts."""

    def _texts(self, X, first):
        X = validate_data(self, X, reset=first, dtype="numeric")
        # Coarse words that many rows share, and finer ones.
        grains = (0.5, 1, 2)
        return [
            " ".join(
                f"c{k}g{g}v{int(np.floor(v * grain))}" for k, v in enumerate(row) for g, grain in enumerate(grains)
            )
            for row in X
        ]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False
        tags.no_validation = False
        return tags


NOT_FOR_TEXTS = {
    "check_sample_weight_equivalence_on_dense_data": "batches are drawn by position: a text given twice changes them",
}


def checks(estimator, **options):
    """Names of scikit-learn's checks by what came out; the warning that there is no base class is beside the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(estimator, on_fail=None, on_skip=None, **options)
    return {
        status: {d["check_name"] for d in done if d["status"] == status} for status in ("passed", "failed", "xfail")
    }


class Forced(HardmaxClassifier):
    """The classifier, but its tags do not tell scikit-learn that its checks on numbers are in vain."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


@pytest.mark.parametrize(
    ("weight", "what"), [([1.0], "shape"), ([0.0, 0.0], "all be zero"), ([-1.0, 1.0], "at least 0")]
)
def test_the_weights_of_a_score_are_checked(weight, what):
    with pytest.raises(BadInput, match=what):
        load("imdb-words").score(["a great film", "so dull"], ["positive", "negative"], sample_weight=weight)


def test_a_run_without_a_checkpoint_is_not_resumed():
    with pytest.raises(BadInput, match="resume needs a checkpoint"):
        HardmaxClassifier().fit(["good", "bad"] * 9, [1, 0] * 9, resume=True)


@pytest.mark.parametrize("given", [["fine", "dull"], {"fine": 0}, 3])
def test_a_vocabulary_of_another_kind_is_refused(given):
    with pytest.raises(BadInput, match="vocabulary must be a Vocabulary") as caught:
        HardmaxClassifier(vocabulary=given).fit(["fine", "dull"] * 5, ["p", "n"] * 5)
    assert "Vocabulary(terms" in caught.value.fix


@pytest.mark.slow
def test_scikit_learns_own_checks_pass():
    """On words made of numbers all pass; on the class itself all that apply; forced, only those on numbers fail."""
    numbers = OnNumbers(dim=3, layers=2, ngram_range=(1, 1), warm_epochs=50, epochs=20)
    done = checks(numbers, expected_failed_checks=NOT_FOR_TEXTS)
    assert len(done["passed"]) > 40
    assert done["failed"] == set()
    assert done["xfail"] == set(NOT_FOR_TEXTS)
    assert checks(HardmaxClassifier())["failed"] == set()
    forced = checks(Forced(warm_epochs=1, epochs=1))
    assert forced["failed"] <= done["passed"] | done["xfail"]
    assert {
        "check_estimator_cloneable", "check_estimator_tags_renamed", "check_estimator_repr", "check_valid_tag_types",
        "check_no_attributes_set_in_init", "check_estimators_unfitted", "check_mixin_order", "check_set_params",
        "check_do_not_raise_errors_in_init_or_set_params", "check_parameters_default_constructible",
        "check_get_params_invariance",
    } <= forced["passed"]  # fmt: skip


def test_it_learns_and_scores():
    clf = small().fit(TEXTS, LABELS)
    assert clf.score(MORE, MORE_LABELS) > 0.9
    assert clf.classes_.tolist() == ["neg", "pos"]
    p = clf.predict_proba(MORE)
    assert p.shape == (120, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-15)
    assert (clf.predict(MORE) == clf.classes_[p.argmax(axis=1)]).all()
    assert ((clf.decision_function(MORE) > 0) == (p[:, 1] > 0.5)).all()


def test_clone_and_parameters_go_round():
    clf = small(dim=3, layers=4, ngram_range=(1, 1), alpha=0.7, tuning=Tuning(leaders=4.0))
    twin = clone(clf)
    assert twin.get_params() == clf.get_params()
    assert twin.set_params(dim=5).dim == 5
    assert not hasattr(twin, "model_")


def test_pipeline_grid_search_and_cross_validation_work():
    pipe = Pipeline([("same", FunctionTransformer()), ("clf", small())])
    search = GridSearchCV(pipe, {"clf__layers": [0, 2]}, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ > 0.8
    assert cross_val_score(small(), TEXTS, LABELS, cv=2).min() > 0.7


def test_it_works_in_scikit_learns_other_meta_estimators():
    voting = VotingClassifier([("a", small()), ("b", small(layers=0))], voting="soft").fit(TEXTS, LABELS)
    assert voting.score(MORE, MORE_LABELS) > 0.9
    calibrated = CalibratedClassifierCV(small(), cv=2).fit(TEXTS, LABELS)
    assert calibrated.predict_proba(MORE).shape == (120, 2)
    assert "HardmaxClassifier" in Pipeline([("clf", small())])._repr_html_()


def test_sample_weights_are_routed_when_asked_for():
    wrong = np.arange(len(TEXTS)) % 4 < 2
    labels = np.where(wrong, [{"pos": "neg", "neg": "pos"}[v] for v in LABELS], LABELS)
    with config_context(enable_metadata_routing=True):
        clf = small().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(clf, {"layers": [1]}, cv=2).fit(TEXTS, labels, sample_weight=(~wrong).astype(float))
        assert clone(clf).get_metadata_routing().fit.requests == {"sample_weight": True}
    assert search.best_score_ > 0.8
    assert search.best_estimator_.score(MORE, MORE_LABELS) > 0.9


def test_a_pickled_estimator_predicts_the_same_bits():
    clf = small().fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(clf))
    assert (again.decision_function(MORE) == clf.decision_function(MORE)).all()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_before_fit_there_is_an_error(method):
    with pytest.raises(NotFittedError):
        getattr(HardmaxClassifier(), method)(["a"])


@pytest.mark.parametrize("layers", [0, 1, 8])
@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("ngrams", [1, 3])
def test_any_dimension_depth_and_ngrams(dim, layers, ngrams):
    clf = small(dim=dim, layers=layers, ngram_range=(1, ngrams), tuning=Tuning(sideways_noise=0.2)).fit(TEXTS, LABELS)
    assert clf.model_.embedding.shape == (len(clf.model_.vocabulary), dim)
    assert clf.score(MORE, MORE_LABELS) > 0.85


def test_three_classes_have_one_score_each():
    texts = TEXTS + ["a plain and ordinary thing"] * 60 + ["ordinary and plain film"] * 60
    labels = [*LABELS, *["so-so"] * 120]
    clf = small(dim=3).fit(texts, labels)
    assert clf.decision_function(["good"]).shape == (1, 3)
    assert clf.score(texts, labels) > 0.9
    assert clf.predict(["plain and ordinary"]).tolist() == ["so-so"]


def test_weights_of_zero_leave_texts_out():
    flipped = ["pos" if v == "neg" else "neg" for v in LABELS]
    weight = np.r_[np.ones(len(TEXTS)), np.zeros(len(TEXTS))]
    clf = small().fit(TEXTS + TEXTS, [*LABELS, *flipped], sample_weight=weight)
    assert clf.score(MORE, MORE_LABELS) > 0.9
    alone = small().fit(TEXTS, LABELS)
    assert (clf.decision_function(MORE) == alone.decision_function(MORE)).all()


def test_words_of_texts_without_weight_are_not_learned():
    clf = small(ngram_range=(1, 1)).fit([*TEXTS, "zebra"], [*LABELS, "pos"], sample_weight=[1.0] * len(TEXTS) + [0.0])
    assert clf.model_.vocabulary.find("zebra") == -1


def test_a_stream_can_be_learned_in_parts():
    vocabulary = Vocabulary.count(TEXTS, (1, 2))
    clf = small(vocabulary=vocabulary, learning_rate=0.02)
    for _ in range(6):
        for i in range(0, 240, 60):
            clf.partial_fit(TEXTS[i : i + 60], LABELS[i : i + 60], classes=["neg", "pos"])
    assert clf.score(MORE, MORE_LABELS) > 0.9
    with pytest.raises(BadInput, match="classes"):
        clf.partial_fit(TEXTS[:2], ["neg", "other"])
    with pytest.raises(BadInput, match="classes differ") as caught:
        clf.partial_fit(TEXTS[:2], LABELS[:2], classes=iter(["neg", "other"]))
    assert caught.value.found == "['neg', 'other']"
    with pytest.raises(BadInput, match="no text"):
        small().partial_fit([], [], classes=["neg", "pos"])


def test_partial_fit_continues_with_the_fitted_model():
    clf = small(ngram_range=(1, 1)).partial_fit(["old words", "other words"], ["neg", "pos"])
    clf.fit(TEXTS, LABELS)
    fitted = clf.model_
    clf.partial_fit(TEXTS[:20], LABELS[:20])
    assert clf.model_.vocabulary == fitted.vocabulary
    assert clf.model_ != fitted
    assert clf.score(MORE, MORE_LABELS) > 0.9


@pytest.mark.parametrize("layers", [0, 2])
def test_partial_fit_continues_a_loaded_model(layers, tmp_path):
    fitted = small(layers=layers).fit(TEXTS, LABELS)
    clf = HardmaxClassifier.from_pretrained(fitted.save(tmp_path / "m"))
    before, words = clf.model_, set(clf.model_.vocabulary.terms)
    clf.partial_fit(["a good and brandnew film", "a dull film"] * 4, ["neg", "pos"] * 4)
    assert set(clf.model_.vocabulary.terms) == words
    assert clf.model_.layers == layers
    assert before == fitted.model_  # the loaded model itself is not changed
    assert clf.score(MORE, MORE_LABELS) > 0.85
    changed = np.flatnonzero((clf.model_.embedding != before.embedding).any(axis=1))
    assert {before.vocabulary.terms[i] for i in changed} >= {"dull"}
    assert len(changed) < 20  # words that did not occur stay where they are
    good = before.vocabulary.terms.index("good")
    assert clf.coef_[0, good] < fitted.coef_[0, good]
    with pytest.raises(BadInput, match="'other' is not among the classes"):
        clf.partial_fit(["a"], ["other"])


def test_the_shipped_model_goes_on_learning_with_all_its_words():
    clf = load("imdb-words")
    before = clf.decision_function(["a dull film"])[0]
    clf.partial_fit(["a dull film"] * 8, ["positive"] * 8)
    assert len(clf.model_.vocabulary) == len(load("imdb-words").model_.vocabulary) > 10_000
    assert clf.decision_function(["a dull film"])[0] > before
    assert load("imdb-words").decision_function(["a dull film"])[0] == before


def test_a_model_with_scores_in_any_direction_continues_with_the_same_predictions():
    """The axes are turned, which changes no prediction; a pass over no texts changes nothing else."""
    model = small(dim=3).fit(TEXTS, LABELS).model_
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    turned = replace(model, embedding=model.embedding @ turn, scores=model.scores @ turn, neutral_words=2.5)
    clf = HardmaxClassifier.from_model(turned)
    before = clf.decision_function(MORE)
    clf.partial_fit([], [])
    np.testing.assert_allclose(clf.decision_function(MORE), before, rtol=1e-4, atol=1e-4)
    assert clf.model_.neutral_words == 2.5
    assert not clf.model_.scores[:, 1:].any()


def test_warm_start_continues_and_a_new_fit_starts_again():
    clf = small(epochs=2, warm_start=True).fit(TEXTS, LABELS)
    first = clf.model_
    clf.fit(MORE, MORE_LABELS)
    assert clf.model_.vocabulary == first.vocabulary
    assert clf.n_iter_ == 2
    assert clf.score(MORE, MORE_LABELS) > 0.9
    with pytest.raises(BadInput, match="warm_start needs"):
        clf.fit(["x", "y"], ["left", "right"])
    clf.set_params(warm_start=False).fit(TEXTS, LABELS)
    assert clf.model_ == first


def test_early_stopping_keeps_the_best_epoch():
    clf = small(layers=1, warm_epochs=2, epochs=60, early_stopping=True, n_iter_no_change=2).fit(TEXTS, LABELS)
    accuracies = clf.history_["accuracy"]
    assert 1 <= len(accuracies) < 60
    assert accuracies[-1] == max(accuracies)
    assert clf.score(MORE, MORE_LABELS) > 0.85
    for bad in (
        {"validation_fraction": "a"},
        {"n_iter_no_change": None},
        {"n_iter_no_change": 0},
        {"validation_fraction": 1e-9},
    ):
        with pytest.raises(BadInput):
            small(early_stopping=True, **bad).fit(TEXTS, LABELS)
    with pytest.raises(BadInput, match="checkpoint"):
        small(early_stopping=True).fit(TEXTS, LABELS, checkpoint="x.npz")


def test_class_weights_are_sample_weights():
    rare = [i for i, label in enumerate(LABELS) if label == "neg" or i % 24 == 1]
    texts, labels = [TEXTS[i] for i in rare], [LABELS[i] for i in rare]
    mine = small(class_weight="balanced").fit(texts, labels)
    theirs = small().fit(texts, labels, sample_weight=compute_sample_weight("balanced", labels))
    np.testing.assert_allclose(mine.decision_function(MORE), theirs.decision_function(MORE), rtol=1e-6)
    same, seldom = ["a film", "a film", "a film", "a film"] * 8, ["usual", "usual", "usual", "rare"] * 8
    assert small().fit(same, seldom).predict(["a film"]) == "usual"
    for weight in ({"rare": 20.0}, {"usual": 0.05}):
        assert small(class_weight=weight).fit(same, seldom).predict(["a film"]) == "rare"


def test_verbose_prints_a_line_for_every_epoch(capsys):
    small(verbose=True).fit(TEXTS, LABELS, validation=(MORE, MORE_LABELS))
    *before, _ = lines = capsys.readouterr().out.splitlines()
    assert before[0] == "choosing the penalty on held-out texts ..."
    lines = [line for line in lines if line.startswith("epoch")]
    assert len(lines) == 10
    assert lines[0].startswith("epoch 1 of 10: loss 0.")
    assert "accuracy" in lines[-1]
    HardmaxClassifier(verbose=True).fit(TEXTS, LABELS)
    assert capsys.readouterr().out.splitlines()[-1] == "learning the words ..."


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"validation": (MORE, MORE_LABELS[:3])}, "120 texts but 3 labels"),
        ({"validation": 5}, "validation must be a pair"),
        ({"sample_weight": ["a"] * 240}, "every sample_weight must be a number"),
    ],
)
def test_validation_texts_and_weights_are_checked(more, what):
    with pytest.raises(BadInput, match=what):
        small().fit(TEXTS, LABELS, **more)


@pytest.mark.parametrize(
    ("texts", "labels", "what"),
    [
        (MORE, [None] * len(MORE), "label 0 is missing"),
        (MORE, [0] * len(MORE), "the label 0, the class '"),
        (MORE, ["pos"], "120 texts but 1 labels"),
        ([], [], "no text to score"),
    ],
)
def test_a_score_needs_labels_of_the_kind_of_the_classes(texts, labels, what):
    with pytest.raises(BadInput, match=what):
        small().fit(TEXTS, LABELS).score(texts, labels)


def test_any_number_of_threads_gives_the_same_bits():
    many = TEXTS * 40  # enough work to start threads
    labels = LABELS * 40
    one, two = (small(n_jobs=n, warm_epochs=1, epochs=1, batch_size=4096).fit(many, labels) for n in (1, 2))
    assert one.model_ == two.model_
    assert (one.decision_function(many) == two.decision_function(many)).all()
    for bad in (0, -2, 1.5):
        with pytest.raises(BadInput, match="n_jobs"):
            small(n_jobs=bad).fit(TEXTS, LABELS)


@pytest.mark.parametrize("labels", [LABELS, [f"{v}{len(t) % 2}" for t, v in zip(TEXTS, LABELS, strict=True)]])
def test_coefficients_are_the_whole_model_without_attention(labels):
    clf = small(layers=0, dim=4).fit(TEXTS, labels)
    names = clf.get_feature_names_out().tolist()
    assert names == list(clf.model_.vocabulary.terms)
    assert clf.coef_.shape == (len(clf.model_.bias), len(names))
    for text in MORE[:5]:
        bag = clf.model_.vocabulary.bag(text)
        expected = clf.intercept_ + clf.coef_[:, bag].sum(axis=1) / (len(bag) + clf.model_.neutral_words)
        np.testing.assert_allclose(np.ravel(clf.decision_function([text])), expected, rtol=1e-9, atol=1e-9)
    new = HardmaxClassifier()
    assert not hasattr(new, "coef_")
    assert not hasattr(new, "intercept_")


def test_a_classifier_may_abstain():
    clf = small().fit(TEXTS, LABELS)
    texts = [*MORE, "unknownword", ""]
    sure = clf.predict_proba(texts).max(axis=1)
    level = float(np.median(sure))
    labels = clf.predict(texts, abstain_below=level)
    assert labels[-2:].tolist() == [None, None]  # without a known word there is no label, whatever the prior
    assert [label is None for label in labels[:-2]] == (sure[:-2] < level).tolist()
    assert [v for v in labels if v is not None] == [
        v for v, w in zip(clf.predict(texts), labels, strict=True) if w is not None
    ]
    assert clf.predict([], abstain_below=0.5).shape == (0,)
    assert clf.predict(MORE, abstain_below=0.0).tolist() == clf.predict(MORE).tolist()
    with pytest.raises(BadInput, match="from 0 to 1"):
        clf.predict(MORE, abstain_below=50)


@pytest.mark.parametrize("names", [["neg", "pos"], ["bad", "good", "so-so"]])
def test_no_texts_give_results_of_the_right_shape(names):
    texts = [f"{name} {word}" for name in names for word in ("film", "plot", "end")]
    clf = small(dim=3).fit(texts, [name for name in names for _ in range(3)])
    assert clf.predict([]).shape == (0,)
    assert clf.predict([]).dtype == clf.classes_.dtype
    assert clf.predict_proba([]).shape == (0, len(names))
    assert clf.decision_function([]).shape == ((0,) if len(names) == 2 else (0, 3))
    assert clf.model_.predict([]) == []
    assert clf.model_.probabilities([]).shape == (0, len(names))
    assert clf.leaders([]) == {name: [] for name in names}
    assert clf.explain("").words == ()


@pytest.mark.parametrize("fitted", [False, True])
def test_classifiers_are_equal_after_a_pickle_a_copy_and_their_file(fitted, tmp_path):
    clf = small(tuning=Tuning(leaders=3.0))
    assert clf != small()
    if fitted:
        clf.fit(TEXTS, LABELS)
        assert HardmaxClassifier.from_pretrained(clf.save(tmp_path / "m")) == clf
        assert clf != small().fit(MORE, MORE_LABELS)
    for again in (pickle.loads(pickle.dumps(clf)), deepcopy(clf)):
        assert again == clf
        assert again.get_params() == clf.get_params()
        assert hash(again) == hash(clf)
    assert clf != "a classifier"


def test_a_copy_of_a_classifier_can_go_on_learning():
    clf = small().partial_fit(TEXTS[:60], LABELS[:60])
    again = pickle.loads(pickle.dumps(clf))
    assert again.partial_fit(TEXTS[60:], LABELS[60:]) == clf.partial_fit(TEXTS[60:], LABELS[60:])


def test_min_df_and_max_features_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import CountVectorizer

    for options in ({"min_df": 40}, {"min_df": 0.25}, {"ngram_range": (2, 2)}, {"min_df": 1}):
        theirs = CountVectorizer(token_pattern=r"[\w']+|[!?]", **{"ngram_range": (1, 2), **options}).fit(TEXTS)
        mine = small(**options)._vocabulary(TEXTS, 2)
        assert set(mine.terms) == set(theirs.vocabulary_), options
    assert len(small(max_features=10).fit(TEXTS, LABELS).model_.vocabulary) == 10


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    first, second, third = (small(random_state=s).fit(TEXTS, LABELS).model_.embedding for s in (0, 0, 1))
    assert (first == second).all()
    assert (first != third).any()


@pytest.mark.parametrize(
    ("texts", "labels", "what"),
    [
        (["a", "b"], ["x", "x"], "only one class"),
        (["a", "b"], ["x"], "2 texts but 1 labels"),
        ([], [], "no text"),
        (["a", None], [0, 1], "text 1 is not a string"),
        ("a text", [0], "got one text"),
        (["!?"[:0], ""], [0, 1], "no word"),
    ],
)
def test_bad_input_is_one_clear_error(texts, labels, what):
    with pytest.raises(BadInput, match=what):
        HardmaxClassifier().fit(texts, labels)


@pytest.mark.parametrize(
    "settings",
    [
        {"dim": 0},
        {"layers": -1},
        {"alpha": 0.0},
        {"alpha": None},
        {"dim": 10**9},
        {"layers": 10**9},
        {"layers": 8, "alpha": 1e60},
        {"ngram_range": (1, 4)},
        {"ngram_range": (2, 1)},
        {"ngram_range": 2},
        {"epochs": 0},
        {"method": "other"},
        {"min_df": 0},
        {"min_df": 1.5},
        {"max_features": 0},
        {"tuning": 5},
    ],
)
def test_settings_out_of_range_are_refused_at_fit(settings):
    with pytest.raises(BadInput):
        HardmaxClassifier(**settings).fit(TEXTS, LABELS)


def test_any_bytes_are_a_text():
    clf = small().fit(TEXTS, LABELS)
    odd = ["", "\x00\x00", "\ud800 good", "unknownword", "é" * 100, b"\xff\xfegood"]
    assert np.isfinite(clf.predict_proba(odd)).all()
    prior = clf.predict_proba(["unknownword"])[0, 1]
    assert prior == clf.predict_proba([""])[0, 1]
    assert np.isclose(prior, 1 / (1 + np.exp(-clf.model_.bias[0])))


def test_a_fitted_classifier_explains_itself():
    texts, labels = ["a fine film", "a dull film", "fine fine fun", "dull and bad"] * 6, ["good", "bad"] * 12
    clf = HardmaxClassifier(ngram_range=(1, 1), random_state=0)
    for method, argument in ((clf.explain, "fine"), (clf.leaders, ["fine"]), (clf.words, 3)):
        with pytest.raises(NotFittedError):
            method(argument)
    clf.fit(texts, labels)
    why = clf.explain("a fine film")
    assert why.label == clf.predict(["a fine film"])[0]
    assert abs(why.bias + sum(w.contribution for w in why.words) - why.logit) < 1e-9
    assert set(clf.leaders(texts)) == {"bad", "good"}
    assert len(clf.words(2)) == 2


def test_all_ways_to_a_probability_agree_on_a_damped_model(tmp_path, capsys):
    from hardmax.cli.main import run
    from hardmax.scale.labels import Wanted, label
    from hardmax.sentiment.scoring import scores_of
    from hardmax.text.tables import Row

    model = random_model(classes=4, layers=2, neutral_words=1.5, damping=0.5)
    clf, rng = HardmaxClassifier.from_model(model), np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(60, size=n)) for n in rng.integers(1, 20, 30)]
    labels = rng.integers(4, size=30)
    p = clf.predict_proba(texts)
    assert not np.allclose(p, probabilities(clf.decision_function(texts)))
    assert (p.argmax(axis=1) == clf.predict(texts)).all()
    assert [clf.explain(text).probability for text in texts] == p.max(axis=1).tolist()
    table = clf.explain_many(texts, as_="arrow").to_pydict()
    assert dict(zip(table["text"], table["probability"], strict=True)) == dict(enumerate(p.max(axis=1).tolist()))
    assert [text is None for text in clf.predict(texts, abstain_below=0.5)] == (p.max(axis=1) < 0.5).tolist()
    report = clf.report(texts, labels).as_dict()
    assert report["log_loss"] == pytest.approx(scores_of(p, labels)["log_loss"], abs=1e-12)
    folder = clf.save(tmp_path / "model")
    found = label([Row(text, None, None, k) for k, text in enumerate(texts)], Wanted(str(folder)))
    assert [record["probability"] for record in found] == p.max(axis=1).tolist()
    rows = [json.dumps({"text": text, "label": int(k)}) for text, k in zip(texts, labels, strict=True)]
    (tmp_path / "texts.jsonl").write_text("\n".join(rows))
    with pytest.raises(SystemExit) as done:
        run(["evaluate", str(folder), str(tmp_path / "texts.jsonl"), "--json"])
    assert done.value.code == 0
    assert json.loads(capsys.readouterr().out)["loss"] == pytest.approx(report["log_loss"], abs=1e-12)


def test_several_classes_are_damped_and_learning_goes_on_from_there():
    # Some texts of many words, all of one class, are labeled with another one: no scale suits these and the others.
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=400)
    named = np.where(rng.random(400) < 0.15, rng.integers(4, size=400), labels)
    texts = [" ".join(f"c{k}w{i}" for i in rng.integers(9, size=rng.integers(1, 9))) for k in named]
    clf = HardmaxClassifier().fit(texts, labels)
    assert 0 < clf.model_.damping < 1
    p = clf.predict_proba([""])[0]
    assert p == pytest.approx((np.unique(labels, return_counts=True)[1] + 1) / (len(labels) + len(p)), abs=1e-9)
    before = clf.predict_proba(texts)
    going_on = clf.partial_fit(texts[:50], labels[:50])
    assert going_on.model_.damping > 0
    assert np.abs(going_on.predict_proba(texts) - before).max() < 0.2
