"""The three studies: their measures against hand-made cases and other code, and small runs of each."""

import numpy as np
import pytest

from corpus import reviews
from hardmax import limit, simulate
from hardmax.experiments.context import Context, Journal
from hardmax.experiments.reviews import Rows, Sample, sample
from hardmax.experiments.studies import classifier as classifiers
from hardmax.experiments.studies import finite_depth, variants
from hardmax.experiments.studies.classifier import Classifier, Variant, explained, train_all

SIZE = {"learn": 60, "aside": 20, "words": 20, "min_texts": 1}
SMALL = {"seeds": (0, 1), "sizes": {**SIZE, "epochs": 2, "explain": 5}}


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
    monkeypatch.setattr(classifiers, "imdb", lambda: data)


def test_a_cloud_that_is_decided_at_once_follows_the_prediction_exactly():
    Z = np.array([[2.0, 0.0], [-2.0, 0.0], [1.0, 0.1]])
    for at, k in zip(finite_depth.measure_cloud(Z, 0.5), finite_depth.DEPTHS, strict=True):
        assert at["actual / predicted"] == pytest.approx(1.0, rel=1e-9)
        assert at["largest distance"] == pytest.approx(np.hypot(1, 0.1) * 1.5**-k / 2, rel=1e-9)
        assert at["polytope there"] == at["tokens decided"] == 1.0
        assert at["leaders / tokens"] == pytest.approx(2 / 3)


def test_a_late_leader_leaves_the_polytope_unfinished():
    Z = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1.05, 0.5], [1.05, -0.5], [0.5, 0]], float)
    assert limit(Z, 1.0, exact=True).leader_since[6] == 11  # 12 for 21/20; as a float64 it is a little more
    at = finite_depth.measure_cloud(Z, 1.0)
    assert [x["polytope there"] for x in at][:2] == [0.0, 0.0]


@pytest.mark.parametrize("family", ["gaussian", "cube", "ball"])
def test_clouds_are_of_their_family(family):
    Z = finite_depth.draw(family, 500, 3, np.random.default_rng(0))
    reach = {"gaussian": 6.0, "cube": 1.0, "ball": 3**-0.5 * 3**0.5}[family]
    size = np.abs(Z).max() if family != "ball" else np.linalg.norm(Z, axis=1).max()
    assert 0.9 * min(reach, 3) < size <= reach


def test_finite_depth_agrees_with_its_closed_form():
    context, kinds = Context(), {"families": ("gaussian",), "dims": (2,), "sizes": (16,), "alphas": (0.5,)}
    outcome = finite_depth.finite_depth(context, clouds=3, **kinds)
    assert outcome.numbers["closed_form_error"] < 1e-14
    assert [len(table.rows) for table in context.tables] == [1, 3]


def test_clusters_are_counted_up_to_the_scale_of_the_cloud():
    Z = np.array([[1.0, 0.0], [1.0 + 1e-5, 0.0], [2.0, 0.0], [0.0, 1.0]])
    assert variants.clusters(Z) == 3
    assert variants.clusters(Z, directions=True) == 2
    assert variants.clusters(1e9 * Z) == 3


def test_without_normalization_directions_cluster_as_in_the_paper():
    rows = {name: variants._fates(0, 2, name, 2) for name in ("none", "paper")}
    assert rows["none"][3].mean == rows["paper"][3].mean
    assert rows["none"][6] == 1.0  # growing
    assert rows["paper"][5] == 1.0  # settled


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
    logits, own, weights = classifier.look(drawn.aside, weights=True)
    assert np.allclose(float(classifier.bias.detach()) + (weights * own).sum(1), logits, atol=2e-3)


def test_uniform_attention_is_no_attention(imdb):
    context = Context()
    variants.ablation(context, **SMALL)
    rows = {row[0]: row for row in context.tables[0].rows}
    assert rows["uniform"][1].mean == rows["none (K = 0)"][1].mean
    assert rows["hardmax"][3].mean < rows["none (K = 0)"][3].mean  # few words carry the logit


def test_the_right_words_matter_more_than_random_ones(drawn):
    classifier = Classifier(drawn, Variant(layers=0), seed=0).fit(drawn.learn, epochs=3)
    found = explained(classifier, drawn.aside, top=3, seed=0)
    assert found["comprehensiveness score"] > found["comprehensiveness random"]
    assert found["comprehensiveness parts"] == pytest.approx(found["comprehensiveness score"])


def test_training_is_repeatable_and_a_finished_run_is_not_repeated(imdb, tmp_path, monkeypatch):
    kinds = {"hardmax": Variant(), "random": Variant("random")}

    def train(journal=None):
        context = Context(journal=Journal(journal))
        return train_all(context, kinds, SMALL["seeds"], **SMALL["sizes"])

    first = train(tmp_path / "runs.jsonl")
    assert train() == first
    monkeypatch.setattr(classifiers, "imdb", lambda: pytest.fail("finished runs need no reviews"))
    assert train(tmp_path / "runs.jsonl") == first


@pytest.mark.parametrize("name", ["robustness", "ablation"])
def test_every_study_is_drawn(name, imdb, tmp_path):
    context = Context("studies", name, tmp_path)
    clouds = {"clouds": 2} if name == "robustness" else {}
    outcome = getattr(variants, name)(context, **clouds, **SMALL)
    assert outcome.answer
    assert {path.rpartition(".")[2] for path in context.files} == {"csv", "png", "pdf"}
    assert len(context.pictures) == len(context.tables) == 2
