"""The three studies: their measures against hand-made cases and other code, and small runs of each."""

import json

import numpy as np
import pytest

from corpus import reviews
from hardmax import limit, simulate
from hardmax.experiments.journal import Journal
from hardmax.experiments.studies import __main__ as command
from hardmax.experiments.studies import ablation, finite_depth, robustness, trained
from hardmax.experiments.studies.classifier import Budget, Classifier, Variant, explained
from hardmax.experiments.studies.reviews import Reviews, Sample, Size, log_odds, sample
from hardmax.experiments.studies.study import Study
from hardmax.experiments.tables import Table, interval

SMALL = trained.Setting((0, 1), Size(learn=60, aside=20, words=20, min_texts=1), Budget(epochs=2), explained=5)


@pytest.fixture(scope="module")
def data():
    texts, labels = reviews(200, seed=1)
    order = np.argsort(labels, kind="stable")
    return [texts[i] for i in order], (np.array(labels)[order] == "pos").astype(int)


@pytest.fixture(scope="module")
def drawn(data):
    return sample(*data, SMALL.size, seed=0)


def test_intervals_are_those_of_student():
    found = interval([0.8, 0.9, 1.0])
    assert (found.mean, found.count) == (pytest.approx(0.9), 3)
    assert found.half == pytest.approx(4.303 * 0.1 / np.sqrt(3))


def test_a_journal_forgets_only_the_line_that_was_cut(tmp_path):
    path = tmp_path / "runs.jsonl"
    Journal(path).put({"seed": 1}, {"accuracy": 0.5})
    path.write_text(path.read_text() + '{"key": "half a li')
    again = Journal(path)
    assert again.get({"seed": 1}) == {"accuracy": 0.5}
    assert again.get({"seed": 2}) is None


def test_a_cloud_that_is_decided_at_once_follows_the_prediction_exactly():
    Z = np.array([[2.0, 0.0], [-2.0, 0.0], [1.0, 0.1]])
    for at, k in zip(finite_depth.measure_cloud(Z, 0.5), finite_depth.DEPTHS, strict=True):
        assert at["from_input"] == pytest.approx(1.0, rel=1e-9)
        assert at["largest_distance"] == pytest.approx(np.hypot(1, 0.1) * 1.5**-k / 2, rel=1e-9)
        assert at["polytope_there"] == at["tokens_decided"] == 1.0
        assert at["leading"] == pytest.approx(2 / 3)


def test_a_late_leader_leaves_the_polytope_unfinished():
    Z = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1.05, 0.5], [1.05, -0.5], [0.5, 0]], float)
    assert limit(Z, 1.0, exact=True).leader_since[6] == 11  # 12 for 21/20; as a float64 it is a little more
    at = finite_depth.measure_cloud(Z, 1.0)
    assert [x["polytope_there"] for x in at][:2] == [0.0, 0.0]


@pytest.mark.parametrize("family", ["gaussian", "cube", "ball"])
def test_clouds_are_of_their_family(family):
    Z = finite_depth.draw(family, 500, 3, np.random.default_rng(0))
    reach = {"gaussian": 6.0, "cube": 1.0, "ball": 3**-0.5 * 3**0.5}[family]
    size = np.abs(Z).max() if family != "ball" else np.linalg.norm(Z, axis=1).max()
    assert 0.9 * min(reach, 3) < size <= reach


def test_finite_depth_agrees_with_its_closed_form():
    study = finite_depth.run(finite_depth.Setting(("gaussian",), (2,), (16,), (0.5,), clouds=3))
    assert study.settings["closed_form_error"] < 1e-14
    assert len(study.table("by-depth").rows) == 3


def test_clusters_are_counted_up_to_the_scale_of_the_cloud():
    Z = np.array([[1.0, 0.0], [1.0 + 1e-5, 0.0], [2.0, 0.0], [0.0, 1.0]])
    assert robustness.clusters(Z) == 3
    assert robustness.clusters(Z, directions=True) == 2
    assert robustness.clusters(1e9 * Z) == 3


def test_without_normalization_directions_cluster_as_in_the_paper():
    table = robustness.dynamics(robustness.Setting((2,), tokens=12, clouds=2))
    rows = {row[1]: row for row in table.rows}
    assert rows["none"][3].mean == rows["paper"][3].mean
    assert rows["none"][table.columns.index("growing")] == 1.0
    assert rows["paper"][table.columns.index("settled")] == 1.0


def test_log_odds_are_counted_by_hand():
    got = log_odds(Reviews(np.array([[0, 1], [1, -1]]), np.array([0, 1])), 2, smoothing=1.0)
    assert got[1].tolist() == [1, 2]
    expected = [np.log((0 + 1) / 3) - np.log((1 + 1) / 4), np.log((1 + 1) / 3) - np.log((1 + 1) / 4)]
    assert np.allclose(got[0], expected)


def _hand_sample(rows):
    odds = np.array([2.0, -2.0, 0.3, -0.4, 1.0])
    empty = Reviews(np.array(rows), np.zeros(len(rows), int))
    return Sample(empty, empty, tuple("abcde"), odds, np.array([9, 8, 50, 40, 3]))


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
    classifier = Classifier(made, variant, Budget(), seed=0)
    angle, radius = classifier.angle.detach().numpy()[made.learn.rows[0]], classifier.radius.numpy()[made.learn.rows[0]]
    Z = (radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)).astype(float)
    end = simulate(Z, variant.alpha, layers=variant.layers, rule=rule, **options).tokens[-1]
    assert classifier.look(made.learn)[0][0] == pytest.approx(60 * end[:, 0].mean(), rel=2e-4)


@pytest.mark.parametrize("variant", [*ablation.VARIANTS.values(), *robustness.LAYERS.values()])
def test_parts_sum_to_the_logit_for_every_variant(drawn, variant):
    classifier = Classifier(drawn, variant, Budget(epochs=1), seed=0).fit(drawn.learn)
    logits, own, weights = classifier.look(drawn.aside, weights=True)
    assert np.allclose(float(classifier.bias.detach()) + (weights * own).sum(1), logits, atol=2e-3)


def test_uniform_attention_is_no_attention(data):
    study = ablation.run(SMALL, data=data)
    rows = {row[0]: row for row in study.table("accuracy").rows}
    assert rows["uniform"][1].mean == rows["none (K = 0)"][1].mean
    assert rows["hardmax"][3].mean < rows["none (K = 0)"][3].mean  # few words carry the logit


def test_the_right_words_matter_more_than_random_ones(drawn):
    classifier = Classifier(drawn, Variant(layers=0), Budget(epochs=3), seed=0).fit(drawn.learn)
    found = explained(classifier, drawn.aside, top=3, seed=0)
    assert found["comprehensiveness score"] > found["comprehensiveness random"]
    assert found["comprehensiveness parts"] == pytest.approx(found["comprehensiveness score"])


def test_training_is_repeatable_and_a_finished_run_is_not_repeated(data, tmp_path):
    journal = tmp_path / "runs.jsonl"
    variants = {"hardmax": Variant(), "random": Variant("random")}
    first = trained.train_all(variants, SMALL, journal, data=data)
    assert trained.train_all(variants, SMALL, data=data) == first
    assert trained.train_all(variants, SMALL, journal, data=([], None)) == first


def test_the_command_writes_tables_and_figures(tmp_path, capsys):
    assert command.main(["finite-depth", "--quick", "-o", str(tmp_path)]) == 0
    written = capsys.readouterr().out.split()
    assert all((tmp_path / name).exists() for name in ("finite-depth.json", "finite-depth-distance.png"))
    assert len(written) == len(list(tmp_path.iterdir()))
    document = json.loads((tmp_path / "finite-depth.json").read_text())
    assert document["source"]["seed"] == 0
    assert document["tables"]["summary"][0]["polytope there at 6"] == 1.0


def test_an_unknown_study_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(["width", "-o", str(tmp_path)])
    assert "finite-depth, robustness, ablation" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["robustness", "ablation"])
def test_every_study_is_drawn(name, data, tmp_path):
    if name == "robustness":
        study = robustness.run(robustness.Setting((2,), tokens=8, layers=10, clouds=2), training=SMALL, data=data)
    else:
        study = ablation.run(SMALL, data=data)
    files = study.save(tmp_path)
    assert {path.suffix for path in files} == {".csv", ".json", ".md", ".png", ".pdf"}


def test_a_table_is_markdown_with_its_intervals():
    table = Table("t", "caption", ("a", "b"), ((1, interval([1.0, 1.0])), (0.25, "x")))
    assert table.markdown().splitlines() == ["| a | b |", "|---|---|", "| 1 | 1 ± 0 |", "| 0.25 | x |"]
    assert Study("s", "?", {}, {}, (table,)).table("t").column("a") == [1, 0.25]
