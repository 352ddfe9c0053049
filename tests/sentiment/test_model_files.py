"""Model folders: what is written can be read, and nothing else is."""

import json
from hashlib import sha256

import numpy as np
import pytest

from corpus import reviews
from hardmax.errors import BadInput
from hardmax.sentiment.estimator import HardmaxClassifier, load
from hardmax.sentiment.files import load_model, save_model

TEXTS, LABELS = reviews(120, seed=5)


@pytest.fixture(scope="module")
def clf():
    return HardmaxClassifier(warm_epochs=1, epochs=1, batch_size=32).fit(TEXTS, LABELS)


@pytest.fixture
def folder(clf, tmp_path):
    return clf.save_pretrained(tmp_path / "model")


def test_a_model_comes_back_to_the_bit(clf, folder):
    for again in (HardmaxClassifier.from_pretrained(folder), load(folder)):
        assert (again.decision_function(TEXTS) == clf.decision_function(TEXTS)).all()
        assert again.classes_.tolist() == ["neg", "pos"]
        assert again.get_params()["ngrams"] == 2
    assert {p.name for p in folder.iterdir()} == {"config.json", "model.safetensors", "vocabulary.txt", "README.md"}


def test_the_same_model_is_the_same_bytes(clf, folder, tmp_path):
    twin = clf.save_pretrained(tmp_path / "twin")
    assert all((twin / p.name).read_bytes() == p.read_bytes() for p in folder.iterdir())


def test_an_old_model_is_replaced_as_a_whole_and_other_folders_are_not_touched(clf, folder, tmp_path):
    clf.save_pretrained(folder)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model"]
    with pytest.raises(BadInput, match="exists"):
        clf.save_pretrained(folder, force=False)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    with pytest.raises(BadInput, match="not written by hardmax"):
        clf.save_pretrained(tmp_path / "precious")


def _edit(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))


def test_a_newer_schema_is_refused_with_a_sentence(folder):
    _edit(folder, schema="hardmax.model/2")
    with pytest.raises(BadInput, match="newer version of hardmax"):
        load_model(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.txt"])
def test_a_damaged_file_is_named(folder, name):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(BadInput, match=name):
        load_model(folder)
    (folder / name).unlink()
    with pytest.raises(BadInput, match=f"{name} is missing"):
        load_model(folder)


@pytest.mark.parametrize("name", ["weights.pkl", "a/b.pickle", "model.pt"])
def test_a_folder_with_a_pickle_is_refused(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"")
    with pytest.raises(BadInput, match="may hold code"):
        load_model(folder)


def test_a_path_that_leaves_the_folder_is_refused(folder, tmp_path):
    outside = tmp_path / "vocabulary.txt"
    outside.write_bytes((folder / "vocabulary.txt").read_bytes())
    config = json.loads((folder / "config.json").read_text())
    digests = {**config["sha256"], "../vocabulary.txt": sha256(outside.read_bytes()).hexdigest()}
    _edit(folder, files={**config["files"], "terms": "../vocabulary.txt"}, sha256=digests)
    with pytest.raises(BadInput, match="leaves the folder"):
        load_model(folder)


def test_a_link_that_leaves_the_folder_is_refused(folder, tmp_path):
    (folder / "vocabulary.txt").rename(tmp_path / "elsewhere.txt")
    (folder / "vocabulary.txt").symlink_to(tmp_path / "elsewhere.txt")
    with pytest.raises(BadInput, match="leaves the folder"):
        load_model(folder)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"schema": 3}', '{"schema": "hardmax.net/1"}', '{"schema": "hardmax.model/x"}']
)
def test_a_config_that_is_none_is_refused(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(BadInput):
        load_model(folder)


def test_an_unknown_name_lists_what_there_is(tmp_path):
    with pytest.raises(BadInput, match="no model 'nosuch'"):
        load_model("nosuch")


def test_half_precision_models_are_exact_to_their_file(clf, tmp_path):
    from dataclasses import replace

    half = replace(clf.model_, embedding=clf.model_.embedding.astype(np.float16))
    again = load_model(save_model(half, tmp_path / "half"))
    assert again.embedding.dtype == np.float16
    assert (again.logits(TEXTS) == half.logits(TEXTS)).all()
    assert (again.run(again.vocabulary.bags(TEXTS))[0] == np.array([again.read(t).logits for t in TEXTS])).all()
