"""The studies: their measures against hand-made cases and other code, and small runs of each."""

import numpy as np
import pytest

from corpus import reviews
from hardmax import limit, simulate
from hardmax.experiments.context import Context, Journal
from hardmax.experiments.reproduce import models
from hardmax.experiments.reproduce.recipe import begin, read
from hardmax.experiments.reviews import Rows, Sample, prepare, sample
from hardmax.experiments.studies import classifier as classifiers
from hardmax.experiments.studies import finite_depth, mechanism, variants
from hardmax.experiments.studies.classifier import Classifier, Variant, explained, train_all

SIZE = {"learn": 60, "aside": 20, "words": 20, "min_texts": 1}
SMALL = {"runs": 2, "tuning": 1, "sizes": {**SIZE, "epochs": 2, "explain": 5}}
RECIPE = {"epochs": 2, "reviews": 200, "explained": 10}


@pytest.fixture(scope="module")
def data():
    texts, labels = reviews(200, seed=1)
    order = np.argsort(labels, kind="stable")
    return [texts[i] for i in order], (np.array(labels)[order] == "pos").astype(int)


@pytest.fixture(scope="module")
def drawn(data):
    return sample(*data, seed=0, **SIZE)


@pytest.fixture
def imdb(data, monkeypatch):
    """The made-up reviews in place of those of IMDb."""
    for module in (classifiers, models):
        monkeypatch.setattr(module, "imdb", lambda: data)
    models._reviews.cache_clear()
    yield
    models._reviews.cache_clear()


def test_a_cloud_that_is_decided_at_once_follows_the_prediction_exactly():
    Z = np.array([[2.0, 0.0], [-2.0, 0.0], [1.0, 0.1]])
    for at, k in zip(finite_depth.measure_cloud(Z, 0.5), finite_depth.DEPTHS, strict=True):
        assert at["actual / predicted"] == pytest.approx(1.0, rel=1e-9)
        assert at["Hausdorff distance"] == pytest.approx(0.1 * 1.5**-k / 2, rel=1e-9)  # K is the segment
        assert at["median distance"] == pytest.approx(np.hypot(1, 0.1) * 1.5**-k / 2, rel=1e-9)
        assert at["polytope there"] == at["tokens decided"] == 1.0
        assert at["leaders / tokens"] == pytest.approx(2 / 3)


def test_a_late_leader_leaves_the_polytope_unfinished():
    Z = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1.05, 0.5], [1.05, -0.5], [0.5, 0]], float)
    assert limit(Z, 1.0, exact=True).leader_since[6] == 11  # 12 for 21/20; as a float64 it is a little more
    at = finite_depth.measure_cloud(Z, 1.0)
    assert [x["polytope there"] for x in at][:2] == [0.0, 0.0]


@pytest.mark.parametrize(("family", "reach"), [("gaussian", 6.0), ("cube", 1.0)])
def test_clouds_are_of_their_family(family, reach):
    Z = finite_depth.draw(family, 500, 3, np.random.default_rng(0))
    assert 0.9 * min(reach, 3) < np.abs(Z).max() <= reach


def test_the_hausdorff_distance_is_that_of_a_quadratic_program():
    from scipy.optimize import nnls

    rng = np.random.default_rng(3)
    for d in (2, 4):
        V, Z = rng.standard_normal((6, d)), 2 * rng.standard_normal((20, d))
        heavy = np.vstack([V.T, 1e6 * np.ones(6)])  # weights that sum up to 1
        best = max(nnls(heavy, np.append(z, 1e6))[1] for z in Z)
        assert finite_depth.hausdorff(Z, np.full_like(Z, 1e3), V) == pytest.approx(best, abs=1e-5)


@pytest.mark.slow
def test_finite_depth_agrees_with_its_closed_form(tmp_path):
    context = Context("studies", "finite-depth", tmp_path)
    kinds = {"families": ("gaussian",), "sizes": ((2, 16), (3, 20)), "alphas": (0.5, 1.0), "trained": ()}
    outcome = finite_depth.finite_depth(context, clouds=3, **kinds)
    assert outcome.numbers["closed_form_error"] < 1e-14
    assert [len(table.rows) for table in context.tables] == [4, 12]
    assert len(context.pictures) == 2


def test_words_of_reviews_become_clouds(imdb, tmp_path):
    context = Context("studies", "finite-depth", tmp_path)
    clouds = list(finite_depth.trained_clouds(context, "paper", 4, 1, 200))
    assert len(clouds) == 4
    assert all(Z.shape[1] == 2 and len(Z) > 3 for Z in clouds)


def test_clusters_are_counted_up_to_the_scale_of_the_cloud():
    Z = np.array([[1.0, 0.0], [1.0 + 1e-5, 0.0], [2.0, 0.0], [0.0, 1.0]])
    assert variants.clusters(Z) == 3
    assert variants.clusters(Z, directions=True) == 2
    assert variants.clusters(1e9 * Z) == 3


def test_without_normalization_directions_cluster_as_in_the_paper():
    found = {name: variants._fates(0, 2, 64, 0.5, name, 2) for name in ("none", "paper")}
    assert found["none"]["clusters"] == found["paper"]["clusters"]
    assert found["none"]["kinds"] == ["growing", "growing"]
    assert found["paper"]["kinds"] == ["settled", "settled"]


@pytest.mark.slow
def test_what_float64_cannot_decide_is_decided_exactly_or_called_undecided():
    rng = np.random.default_rng((0, 2, 64, 0))
    Z, options = rng.standard_normal((64, 2)), variants.LAYERS["2 heads"](2, rng)
    assert simulate(Z, 0.5, layers=variants.DEPTH, **options).outcome.kind == "undecided"
    assert variants._fates(0, 2, 64, 0.5, "2 heads", 1)["kinds"] == ["settled"]
    found = variants._fates(0, 2, 16, 0.5, "LayerNorm", 2)  # a square root has no rational values
    assert found["kinds"] == ["undecided", "undecided"]
    row = variants._row(2, 16, 0.5, "LayerNorm", found)
    assert [row[kind] for kind in variants.FATES] == [0, 0, 0, 0, 1]


def test_layer_norm_is_that_of_torch():
    import torch

    rng = np.random.default_rng(0)
    Z, gain = rng.standard_normal((5, 8)), rng.random(8)
    expected = torch.nn.functional.layer_norm(torch.tensor(Z), (8,), torch.tensor(gain), eps=0.0).numpy()
    assert np.allclose(variants.layer_norm(gain)(Z), expected, atol=1e-12)


def _hand_sample(rows):
    odds = np.array([2.0, -2.0, 0.3, -0.4, 1.0])
    empty = Rows(np.array(rows), np.zeros(len(rows), int))
    return Sample(empty, empty, odds, np.array([9, 8, 50, 40, 3]))


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        (Variant(), {}),
        (Variant(causal=True), {"causal": True}),
        (Variant(normalization="sphere"), {"normalization": "sphere"}),
        (Variant("uniform"), {"rule": "Uniform"}),
        (Variant("softmax", temperature=0.1), {"rule": "Softmax"}),
    ],
)
def test_the_classifier_moves_words_as_simulate_does(variant, options):
    import hardmax as hx

    rule = {"Uniform": hx.Uniform(), "Softmax": hx.Softmax(beta=10.0)}.get(options.pop("rule", None))
    made = _hand_sample([[4, 2, 0, 3, 1]])
    classifier = Classifier(made, variant, seed=0)
    angle, radius = classifier.angle.detach().numpy()[made.learn.rows[0]], classifier.radius.numpy()[made.learn.rows[0]]
    Z = (radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)).astype(float)
    end = simulate(Z, variant.alpha, layers=variant.layers, rule=rule, **options).tokens[-1]
    assert classifier.look(made.learn)[0][0] == pytest.approx(60 * end[:, 0].mean(), rel=2e-4)


@pytest.mark.parametrize("variant", [*variants.ATTENTIONS.values(), *variants.CLASSIFIERS.values()])
def test_parts_sum_to_the_logit_for_every_variant(drawn, variant):
    classifier = Classifier(drawn, variant, seed=0).fit(drawn.learn, epochs=1)
    logits, own, weights, _ = classifier.look(drawn.aside, weights=True)
    assert np.allclose(float(classifier.bias.detach()) + (weights * own).sum(1), logits, atol=2e-3)


def test_uniform_attention_is_no_attention(drawn):
    none, uniform = (Classifier(drawn, v, 0).fit(drawn.learn, 1) for v in (Variant(layers=0), Variant("uniform")))
    assert np.allclose(none.look(drawn.aside)[0], uniform.look(drawn.aside)[0], atol=1e-3)


def test_the_right_words_matter_more_than_random_ones(drawn):
    classifier = Classifier(drawn, Variant(layers=0), seed=0).fit(drawn.learn, epochs=3)
    found = explained(classifier, drawn.aside, seed=0)
    assert found["comprehensiveness score 3"] > found["comprehensiveness random 3"]
    assert found["comprehensiveness parts 3"] == pytest.approx(found["comprehensiveness score 3"])


def test_matrices_of_hardmax_heads_are_trained(drawn):
    classifier = Classifier(drawn, Variant(heads=2, learned=True), seed=0)
    before = classifier.factors.detach().clone()
    classifier.fit(drawn.learn, epochs=1)
    assert not np.allclose(before, classifier.factors.detach())


@pytest.mark.slow
def test_training_is_repeatable_and_a_finished_run_is_not_repeated(imdb, tmp_path, monkeypatch):
    kinds = {"hardmax": Variant(), "random": Variant("random")}

    def train(journal=None, seed=0):
        context = Context(seed=seed, journal=Journal(journal))
        return train_all(context, kinds, runs=2, tuning=1, **SMALL["sizes"])

    first = train(tmp_path / "runs.jsonl")
    assert train() == first
    assert train(seed=7) != first  # the seed of the command reaches the classifiers
    monkeypatch.setattr(classifiers, "imdb", lambda: pytest.fail("finished runs need no reviews"))
    assert train(tmp_path / "runs.jsonl") == first


def test_tuning_never_sees_what_is_measured(data):
    held = {tuple(row) for row in sample(*data, seed=0, **SIZE).aside.rows}
    tuned = sample(*data, seed=0, inside=True, **SIZE).aside.rows
    learned = {tuple(row) for row in sample(*data, seed=0, inside=True, **SIZE).learn.rows}
    assert not {tuple(row) for row in tuned} & held
    assert not {tuple(row) for row in tuned} & learned


def test_the_weights_of_the_paper_model_add_up_to_its_logit(data):
    given = prepare(*data)
    for layers in (0, 8):
        run = begin(len(given.words), 3, seed=1, layers=layers)
        found = read(run, given, given.aside)
        parts = found.weights * (run.E[given.ids] @ run.few[:3])
        sums = [parts[given.offsets[t] : given.offsets[t + 1]].sum() + run.few[3] for t in given.aside]
        assert np.allclose(sums, found.logits, atol=1e-9)


def test_words_that_are_left_out_are_not_read(data):
    given = prepare(*data)
    kept = np.ones(given.ids.size, bool)
    kept[given.offsets[3]] = False
    shorter = mechanism.without(given, [5, 3], kept)
    a, b = given.offsets[3], given.offsets[4]
    assert shorter.ids[shorter.offsets[1] :].tolist() == given.ids[a + 1 : b].tolist()
    assert shorter.offsets[1] == given.offsets[6] - given.offsets[5]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["robustness", "ablation", "mechanism"])
def test_every_study_is_drawn(name, imdb, tmp_path):
    context = Context("studies", name, tmp_path)
    given = {
        "robustness": {"cases": ((2, 12, 0.5), (3, 8, 2.0)), "clouds": 2, **SMALL, "tuning": 0},
        "ablation": {**SMALL, "recipe": RECIPE},
        "mechanism": {"runs": 2, **RECIPE},
    }
    module = mechanism if name == "mechanism" else variants
    assert getattr(module, name)(context, **given[name]).answer
    drawn = {"csv"} if name == "mechanism" else {"csv", "png", "pdf"}
    assert {path.rpartition(".")[2] for path in context.files} == drawn
    assert len(context.tables) == {"robustness": 2, "ablation": 3, "mechanism": 3}[name]
